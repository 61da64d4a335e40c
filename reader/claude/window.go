package claude

import (
	"context"
	"errors"
	"io"

	"github.com/yorehq/yore/reader"
	"github.com/yorehq/yore/session"
)

// Window implements reader.Reader. From a checkpoint with a state it reads what
// lies between; else, and where the state is not enough, it goes through the
// file from its start.
func (*Reader) Window(ctx context.Context, src reader.Source, at session.Checkpoint, from, to int64, natives session.Range, emit func(session.Raw) error) (session.Header, error) {
	if err := ctx.Err(); err != nil {
		return session.Header{}, err
	}
	f, stamp, err := reader.OpenRegular(reader.FileOf(src.Path))
	if err != nil {
		return session.Header{}, err
	}
	defer f.Close()
	return windowIn(ctx, f, stamp.Size, src, at, from, to, natives, emit)
}

// windowIn is Window in an open file.
func windowIn(ctx context.Context, f io.ReaderAt, size int64, src reader.Source, at session.Checkpoint, from, to int64, natives session.Range, emit func(session.Raw) error) (session.Header, error) {
	h, err := identify(ctx, f, src.Root, src.Path, size)
	if err != nil {
		return h, err
	}
	w := &viewing{f: f, path: reader.FileOf(src.Path), size: size, from: from, to: to, natives: natives, emit: emit}
	if d, ok := fromMark(src, at); ok && at.Seq <= from {
		last := to
		if at.Until > 0 {
			last = min(to, at.Until-1)
		}
		err := w.read(ctx, d, at.Place.Offset, last)
		switch lost := errors.Is(err, errLost); {
		case err != nil && !lost:
			return h, err
		case w.ended && !lost, w.from > to: // what is glued behind the last event is not asked for
			return h, nil
		}
	}
	d := start(src)
	return h, w.read(ctx, d, d.run.Start, to)
}

// viewing emits events of an open file.
type viewing struct {
	f        io.ReaderAt
	path     string // of it
	size     int64
	from, to int64 // what is still to be emitted
	natives  session.Range
	emit     func(session.Raw) error
	ended    bool // the file has
}

// read decodes from an offset on and emits as far as the event last.
func (w *viewing) read(ctx context.Context, d *decoder, offset, last int64) error {
	d.from = w.from
	s := newFeed(w.f, d, offset, w.size)
	for w.from <= last {
		l, err := s.Next(ctx)
		if errors.Is(err, io.EOF) {
			w.ended = true
			return nil
		}
		if err != nil {
			return err
		}
		number := 0
		err = s.decode(&l, func(value []byte, events []made) error {
			defer func() { number++ }()
			for i := range events {
				if seq := events[i].event.Seq; seq < w.from || seq > last {
					continue
				}
				raw := session.Raw{Event: events[i].event}
				if w.natives.Has(raw.Event.Seq) {
					if raw.Native, err = events[i].bytes(w.f, w.path, &l, value, number); err != nil {
						return err
					}
				}
				w.from = raw.Event.Seq + 1
				if err := w.emit(raw); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}
