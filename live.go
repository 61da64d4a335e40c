package yore

import (
	"context"

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
// each other: searches leave the session out and direct targets fail.
func (h *History) Register(header session.Header) (*Live, error) {
	if header.Agent == "" {
		header.Agent = session.DSH
	}
	l, err := h.live.Register(context.Background(), header)
	if err != nil {
		return nil, err
	}
	return &Live{l, dsh.NewDecoder(header)}, nil
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
