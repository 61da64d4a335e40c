package yore

import (
	"context"

	"github.com/yorehq/yore/fault"
	"github.com/yorehq/yore/reader"
	"github.com/yorehq/yore/session"
)

// Running returns the sessions that processes of their agents have open now, by
// the agents' own registries, and the process of each. What cannot be read is
// left out. The index is not asked.
func (h *History) Running(ctx context.Context) (map[session.Key]reader.Process, error) {
	all := map[session.Key]reader.Process{}
	for _, r := range h.roots {
		l, ok := r.Reader.(reader.Liveness)
		if !ok {
			continue
		}
		running, err := l.Running(ctx, r.Path)
		if fault.IsContext(err) {
			return nil, err
		}
		if err != nil {
			h.logger.Warn("which sessions are open cannot be told", "agent", r.Reader.Agent(), "error", err)
		}
		for id, p := range running {
			all[session.Key{Agent: r.Reader.Agent(), ID: id}] = p
		}
	}
	return all, nil
}

// Roots returns the folders below which an agent's sessions are looked for.
func (h *History) Roots(agent session.Agent) []string {
	var all []string
	for _, r := range h.roots {
		if r.Reader.Agent() == agent {
			all = append(all, r.Path)
		}
	}
	return all
}
