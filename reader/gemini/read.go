package gemini

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/yorehq/yore/fault"
	"github.com/yorehq/yore/reader"
	"github.com/yorehq/yore/session"
)

func newDecoder() *decoder { return &decoder{memory: newMemory()} }

// feed decodes the records of a log one after the other.
type feed struct {
	path string
	l    *log
	d    *decoder
	more int64 // bytes that were read again
}

// decode takes the next record apart. Where the decoder knows too little of what
// came before, one that reads all of it takes its place.
func (f *feed) decode(ctx context.Context) (value, []made, error) {
	v, err := f.l.next(ctx)
	if err != nil {
		return v, nil, err
	}
	r := parseRecord(f.l.index(), &v)
	next := f.d.next
	events, err := f.d.decode(&v, &r)
	if err != errPartial {
		return v, events, err
	}
	if f.d, err = f.anew(ctx, v.Start); err != nil {
		return v, nil, err
	}
	if f.d.next != next {
		return v, nil, reader.Unreadable(f.path, v.Line, v.Start, "what stands before the position is not what was read")
	}
	events, err = f.d.decode(&v, &r)
	return v, events, err
}

// anew decodes the log from its start up to an offset.
func (f *feed) anew(ctx context.Context, until int64) (*decoder, error) {
	again := feed{path: f.path, l: &log{f: f.l.f, stamp: f.l.stamp}, d: newDecoder()}
	again.l.lines = newLineValues(f.l.f, 0, 0, until, kept())
	for {
		if _, _, err := again.decode(ctx); errors.Is(err, io.EOF) {
			f.more += again.l.parsed()
			return again.d, nil
		} else if err != nil {
			return nil, err
		}
	}
}

// Read implements reader.Reader. It never refuses a log for what it says: what is
// no record becomes an event of the type x/unparsed.
func (*Reader) Read(ctx context.Context, src reader.Source, from reader.Position, emit func(session.Event) error) (reader.Tail, error) {
	if err := ctx.Err(); err != nil {
		return reader.Tail{}, err
	}
	d, line := newDecoder(), int64(0)
	if len(from.State) > 0 {
		var err error
		if d, line, err = restore(from.State, from.Next); err != nil {
			return reader.Tail{}, fmt.Errorf("%w: %s: %w", fault.Persistence, src.Path, err)
		}
	}
	l, err := openLog(src.Path, from.Offset, line)
	if err != nil {
		return reader.Tail{}, err
	}
	defer l.close()
	if l.stamp.Size < from.Offset {
		return reader.Tail{}, reader.Unreadable(src.Path, 0, from.Offset, "the file is shorter than what was read of it")
	}
	l.taken = whole(src.Path) && from.Offset > 0
	f := &feed{path: src.Path, l: l, d: d}
	var tail reader.Tail
	for stopped := false; !stopped; {
		v, events, err := f.decode(ctx)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return reader.Tail{}, err
		}
		if v.None {
			tail.Skips = append(tail.Skips, reader.Skip{Place: session.Place{Offset: v.Start}, Line: v.Line, Length: v.End - v.Start, Reason: v.WhyNot()})
		}
		for i := range events {
			if err := ctx.Err(); err != nil { // one record may be a whole session
				return reader.Tail{}, err
			}
			switch err := emit(events[i].event); {
			case err == reader.ErrStop:
				stopped = true
			case err != nil:
				return reader.Tail{}, err
			}
		}
	}
	offset, line := l.at()
	tail.Bytes = l.parsed() + f.more
	tail.Position = reader.Position{Next: f.d.next, Offset: offset, Stamp: l.stamp}
	if tail.Position.Check, err = reader.CheckBefore(l.f, offset); err != nil {
		return reader.Tail{}, err
	}
	if tail.Position.State, err = json.Marshal(f.d.save(line)); err != nil {
		return reader.Tail{}, fmt.Errorf("state of %s: %w", src.Path, err)
	}
	return tail, nil
}

// Window implements reader.Reader. What an event is depends on the messages
// before it, so the log is decoded from its start up to the window's end.
func (r *Reader) Window(ctx context.Context, src reader.Source, _ session.Checkpoint, from, to int64, natives session.Range, emit func(session.Raw) error) (session.Header, error) {
	if err := ctx.Err(); err != nil {
		return session.Header{}, err
	}
	l, err := openLog(src.Path, 0, 0)
	if err != nil {
		return session.Header{}, err
	}
	defer l.close()
	h, err := r.identify(ctx, l, src.Root, src.Path)
	if err != nil {
		return h, err
	}
	if l.lines != nil {
		l.lines = newLineValues(l.f, 0, 0, l.stamp.Size, kept())
	}
	l.taken = false
	f := &feed{path: src.Path, l: l, d: newDecoder()}
	for f.d.next <= to {
		v, events, err := f.decode(ctx)
		if errors.Is(err, io.EOF) {
			return h, nil
		}
		if err != nil {
			return h, err
		}
		var record []byte
		for i := range events {
			raw := session.Raw{Event: events[i].event}
			if raw.Event.Seq < from || raw.Event.Seq > to {
				continue
			}
			if natives.Has(raw.Event.Seq) {
				if record == nil {
					if record, err = v.Bytes(l.f, src.Path); err != nil {
						return h, err
					}
				}
				if raw.Native = bytes.Clone(events[i].spot.find(record)); len(raw.Native) == 0 {
					raw.Native = bytes.Clone(record)
				}
			}
			if err := emit(raw); err != nil {
				return h, err
			}
		}
	}
	return h, nil
}
