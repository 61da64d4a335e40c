package yore

import (
	"context"
	"strings"

	"github.com/yorehq/yore/fault"
	"github.com/yorehq/yore/internal/ingest"
	"github.com/yorehq/yore/reader/dsh"
	"github.com/yorehq/yore/session"
)

// Live is a session that a host registered: it shadows the stored log of the
// same id until it is released.
type Live struct {
	log     *ingest.LiveLog
	decoder *dsh.Decoder
}

// Register adds a live session without events. If a stored log of the same
// agent and id in the same workspace states another header, the two contradict
// each other: searches leave the session out and direct targets fail. A header
// that no DSH log may have is refused: a workspace is an absolute path.
func (h *History) Register(header session.Header) (*Live, error) {
	if header.Agent == "" {
		header.Agent = session.DSH
	}
	if header.Cwd != "" && !absolute(header.Cwd) {
		return nil, fault.New(fault.CorruptSession, "the workspace is no absolute path")
	}
	l, err := h.live.Register(context.Background(), header)
	if err != nil {
		return nil, err
	}
	return &Live{l, dsh.NewDecoder(header)}, nil
}

// absolute takes the paths of every system, as a reader of DSH logs does.
func absolute(p string) bool {
	drive := len(p) > 2 && p[1] == ':' && (p[2] == '/' || p[2] == '\\') && 'a' <= p[0]|0x20 && p[0]|0x20 <= 'z'
	return drive || strings.HasPrefix(p, "/") || strings.HasPrefix(p, `\`)
}

// Append adds one event, or one packed row of stream chunks, written as a line
// of a DSH log. A line that breaks the rules is refused and nothing of it is kept.
func (l *Live) Append(line []byte) error {
	events, err := l.decoder.Event(line)
	if err != nil {
		return err
	}
	return l.log.Append(events...)
}

// Header returns what the session was registered with.
func (l *Live) Header() session.Header { return l.log.Header() }

// Release takes the session out again; its stored log, if any, shows again.
func (l *Live) Release() error { return l.log.Release(context.Background()) }
