package yore

import (
	"context"

	"github.com/yorehq/yore/internal/ingest"
	"github.com/yorehq/yore/reader"
	"github.com/yorehq/yore/session"
)

// Running returns the sessions that processes of their agents have open now, by
// the agents' own registries, and the process of each. What cannot be read is
// left out. The index is not asked.
func (h *History) Running(ctx context.Context) (map[session.Key]reader.Process, error) {
	return ingest.Processes(ctx, h.roots, h.logger)
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
