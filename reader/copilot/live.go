package copilot

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"github.com/yorehq/yore/reader"
	"github.com/yorehq/yore/reader/jsonl"
	"github.com/yorehq/yore/session"
)

// Running implements reader.Liveness. A process that has a session open keeps a
// file inuse.<pid>.lock in the session's folder; one that was killed leaves it, so
// each is checked against the process.
func (r *Reader) Running(ctx context.Context, root string) (map[session.ID]reader.Process, error) {
	running := map[session.ID]reader.Process{}
	locks, err := filepath.Glob(filepath.Join(globbed(root), stateDir, "*", "inuse.*.lock"))
	if err != nil {
		return nil, err
	}
	for _, lock := range locks {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		name := strings.TrimSuffix(strings.TrimPrefix(filepath.Base(lock), "inuse."), ".lock")
		pid, err := strconv.Atoi(name)
		if err != nil || pid <= 0 || !alive(pid) {
			continue
		}
		log := filepath.Join(filepath.Dir(lock), logName)
		h, err := r.Identify(ctx, root, log)
		if err != nil {
			continue
		}
		running[h.ID] = reader.Process{PID: pid, Busy: busy(log)}
	}
	return running, ctx.Err()
}

// globbed takes the meaning of patterns out of a path.
func globbed(path string) string {
	return strings.NewReplacer(`*`, `[*]`, `?`, `[?]`, `[`, `[[]`).Replace(path)
}

// alive reports whether a process runs that may be the agent: a number may have
// been given to another program since. Where the system does not say what a
// process runs, that is not checked.
func alive(pid int) bool {
	line, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/cmdline")
	if err == nil {
		return bytes.Contains(bytes.ToLower(line), []byte("copilot"))
	}
	if _, err := os.Stat("/proc/self/cmdline"); err == nil {
		return false
	}
	p, err := os.FindProcess(pid)
	if err != nil {
		return false
	}
	defer p.Release()
	err = p.Signal(syscall.Signal(0))
	return err == nil || errors.Is(err, fs.ErrPermission)
}

// tailBytes is how much of a log's end is looked at.
const tailBytes = 256 << 10

// busy reports whether the latest call of the model has not ended.
func busy(path string) bool {
	f, stamp, err := reader.OpenRegular(path)
	if err != nil {
		return false
	}
	defer f.Close()
	from := max(0, stamp.Size-tailBytes)
	tail, err := io.ReadAll(io.NewSectionReader(f, from, stamp.Size-from))
	if err != nil {
		return false
	}
	open := false
	for line := range bytes.Lines(tail) {
		if !jsonl.Valid(line) || !jsonl.IsObject(line) || jsonl.Field(line, "agentId") != nil {
			continue
		}
		switch jsonl.Text(jsonl.Field(line, "type")) {
		case "user.message", "assistant.turn_start", "assistant.message", "tool.execution_start", "tool.execution_complete":
			open = true
		case "assistant.turn_end":
			// Another turn follows at once while there are results to tell.
			open = false
		case "abort", "session.shutdown", "session.error":
			open = false
		}
	}
	return open
}
