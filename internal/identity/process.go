package identity

import (
	"bytes"
	"context"
	"os"
	"strconv"

	"github.com/yorehq/yore/session"
)

// byRegistry takes the session that the nearest process above this one has
// open, by the registry of the client's own agent. A process with two sessions
// in the workspace is no answer, and neither is one further up then; nor is
// there another answer than the session that a client names itself.
func (r *Resolver) byRegistry(ctx context.Context, workspace string, call Call) (*session.Key, error) {
	agent, readable := call.agent()
	if call.Remote || call.thread() != "" || r.running == nil || !readable {
		return nil, nil
	}
	running, err := r.running(ctx)
	if err != nil || len(running) == 0 {
		return nil, err
	}
	for _, pid := range r.ancestors() {
		var found []session.Key
		open := false
		for key, p := range running {
			if p.PID != pid || agent != "" && key.Agent != agent {
				continue
			}
			open = true
			here, err := r.known(ctx, workspace, key)
			if err != nil {
				return nil, err
			}
			if here != nil {
				found = append(found, *here)
			}
		}
		switch {
		case len(found) == 1:
			return &found[0], nil
		case open:
			return nil, nil
		}
	}
	return nil, nil
}

// maxAncestors is how far up an agent may be: wrappers such as npx and a shell
// stand between it and its server.
const maxAncestors = 4

// ancestors returns the parent of this process and those above it, as far as
// the system tells.
func ancestors() []int {
	var all []int
	for pid := os.Getppid(); pid > 0 && len(all) < maxAncestors; pid = parent(pid) {
		all = append(all, pid)
	}
	return all
}

// parent returns the parent of a process, 0 where the system does not say.
func parent(pid int) int {
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return 0
	}
	return parentIn(stat)
}

// parentIn reads the parent out of what Linux says of a process: pid (name)
// state parent … The name may hold anything, brackets too.
func parentIn(stat []byte) int {
	fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
	if len(fields) < 2 {
		return 0
	}
	pid, err := strconv.Atoi(string(fields[1]))
	if err != nil {
		return 0
	}
	return pid
}
