package yore

import (
	"context"

	"github.com/yorehq/yore/reader"
	"github.com/yorehq/yore/session"
)

// Resume returns the command that takes a session up again in its agent, for a
// POSIX shell: it goes to the session's workspace first. It is "" where the
// agent has no such command, for sessions that it does not resume (subagents of
// some) or has no more (those that only an archive holds), and where an id or a
// workspace holds what could not be pasted into a terminal safely.
func (h *History) Resume(header session.Header) string {
	r, ok := readerOf(header.Agent)
	if !ok {
		return ""
	}
	resumer, ok := r.(reader.Resumer)
	if !ok {
		return ""
	}
	command := resumer.ResumeCommand(header)
	if command == "" || h.ingest == nil {
		return command
	}
	copied, err := h.ingest.OnlyCopied(context.Background(), header.Key())
	if err != nil {
		h.logger.Warn("whether an agent still has a session cannot be told", "error", err)
	}
	if copied {
		return ""
	}
	return command
}
