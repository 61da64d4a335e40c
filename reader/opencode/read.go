package opencode

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"

	"github.com/yorehq/yore/reader"
	"github.com/yorehq/yore/session"
)

// tries is how often a session is begun anew that was written over while it was
// read.
const tries = 5

// Revise implements reader.Reader. A session is replaced when its title, its
// revert or one of the emitted rows is another one than before.
func (r *Reader) Revise(ctx context.Context, src reader.Source, at reader.Position) (reader.Revision, reader.Stamp, error) {
	if err := ctx.Err(); err != nil {
		return reader.Replaced, reader.Stamp{}, err
	}
	var st state
	known := json.Unmarshal(at.State, &st) == nil
	inTree := formOf(src.Root, src.Path) != inDatabase
	if known && inTree {
		if rev, stamp, ok := r.glance(src, at.Stamp, st); ok {
			return rev, stamp, nil
		}
	}
	kept, e, err := r.open(ctx, src)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return reader.Gone, reader.Stamp{}, nil
	case err != nil:
		return reader.Replaced, reader.Stamp{}, err
	}
	defer kept.close()
	switch {
	case !inTree && e.Stamp == at.Stamp:
		return reader.Unchanged, e.Stamp, nil
	case inTree && src.Header != (session.Header{}) && e.Header != src.Header:
		return reader.Replaced, e.Stamp, nil
	case !known || st.Title != e.state().Title || st.Revert != e.state().Revert || st.Idle && !e.idle:
		return reader.Replaced, e.Stamp, nil
	}
	sum, ok, err := digestOf(ctx, kept, at.Offset)
	switch {
	case err == nil && !kept.steady():
		return reader.Replaced, e.Stamp, reader.ErrRetry
	case err != nil:
		return reader.Replaced, e.Stamp, shelfFault(src.Path, err)
	case !ok || sum != at.Check:
		return reader.Replaced, e.Stamp, nil
	}
	return reader.Grown, e.Stamp, nil
}

// errOther says that what was read of a session has become another one.
var errOther = errors.New("the session is being rewritten")

// pass runs over a session, begun anew where it was written over, and hands on
// the events from a seq on, each once. It returns the last walk, and whether it
// came to its end.
func (r *Reader) pass(ctx context.Context, src reader.Source, from int64, emit func(*walk, *made) error) (w *walk, whole bool, err error) {
	passed, sum := 0, uint64(0) // messages whose events were handed on
	for range tries {
		kept, e, err := r.open(ctx, src)
		if errors.Is(err, reader.ErrRetry) {
			continue
		}
		if err != nil {
			return w, false, err
		}
		if w != nil && w.e.state().row() != e.state().row() {
			kept.close()
			return w, false, nil
		}
		next := newWalk(ctx, kept, e, nil)
		next.emit = func(x *made) error {
			if x.event.Seq < from {
				return nil
			}
			from = x.event.Seq + 1
			return emit(next, x)
		}
		err = next.run(func() error {
			if next.done == passed && next.sum != sum {
				return errOther
			}
			if next.done > passed {
				passed, sum = next.done, next.sum
			}
			return ctx.Err()
		})
		failure := shelfFault(src.Path, err)
		kept.close()
		switch {
		case errors.Is(err, errOther):
			if w == nil {
				w = next
			}
			return w, false, nil
		case errors.Is(failure, reader.ErrRetry):
			w = next
			continue
		}
		return next, err == nil, failure
	}
	return w, false, nil
}

// Read implements reader.Reader.
func (r *Reader) Read(ctx context.Context, src reader.Source, from reader.Position, emit func(session.Event) error) (reader.Tail, error) {
	if err := ctx.Err(); err != nil {
		return reader.Tail{}, err
	}
	tail := reader.Tail{Position: from}
	stopped := false
	w, complete, err := r.pass(ctx, src, from.Next, func(w *walk, x *made) error {
		if err := ctx.Err(); err != nil {
			return err
		}
		err := emit(x.event)
		if x.event.Type == unparsed {
			tail.Skips = append(tail.Skips, reader.Skip{Place: x.event.Place, Reason: "a row's data is no JSON object of a known shape"})
		}
		if err == nil || errors.Is(err, reader.ErrStop) {
			tail.Position.Next = x.event.Seq + 1
		}
		return err
	})
	if errors.Is(err, reader.ErrStop) {
		stopped, err = true, nil
	}
	if err != nil {
		return reader.Tail{}, err
	}
	p := &tail.Position
	p.Stamp = reader.Stamp{}
	if w == nil {
		return tail, nil // nothing for now
	}
	if src.Header != (session.Header{}) && w.e.Header != src.Header {
		return reader.Tail{}, reader.Unreadable(src.Path, 0, 0, "the header is not the one that was identified")
	}
	p.Offset, p.Check = int64(w.done), w.sum
	if complete && !stopped {
		p.Stamp = w.e.Stamp
	}
	tail.Bytes = w.bytes
	st := w.e.state()
	st.Quiet = st.Quiet && complete && !stopped
	if p.State, err = json.Marshal(st); err != nil {
		return reader.Tail{}, fmt.Errorf("state of %s: %w", src.Path, err)
	}
	return tail, nil
}

// errPast ends a walk behind a window.
var errPast = errors.New("behind the window")

// Window implements reader.Reader. What the model sees, and with it what an event
// does, follows from everything before, so that the session is passed over from
// its beginning; the bytes of no more than the wanted rows are fetched.
func (r *Reader) Window(ctx context.Context, src reader.Source, _ session.Checkpoint, from, to int64, natives session.Range, emit func(session.Raw) error) (session.Header, error) {
	if err := ctx.Err(); err != nil {
		return session.Header{}, err
	}
	w, complete, err := r.pass(ctx, src, from, func(w *walk, x *made) error {
		if x.event.Seq > to {
			return errPast
		}
		raw := session.Raw{Event: x.event}
		if natives.Has(x.event.Seq) {
			raw.Native = bytes.Clone(x.native)
			if x.from != nil {
				var err error
				if raw.Native, err = w.kept.native(ctx, x.from); err != nil {
					return err
				}
			}
		}
		return emit(raw)
	})
	var h session.Header
	if w != nil {
		h = w.e.Header
	}
	switch {
	case errors.Is(err, errPast):
		err = nil
	case err == nil && !complete:
		err = reader.ErrRetry
	}
	return h, err
}
