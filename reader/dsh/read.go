package dsh

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/yorehq/yore/fault"
	"github.com/yorehq/yore/reader"
	"github.com/yorehq/yore/reader/jsonl"
	"github.com/yorehq/yore/session"
)

// Read implements reader.Reader. Packed rows become one event with a span. A
// log ends before the first line that is not the next record; if a turn ends
// behind such a line, history would be lost and the log is refused.
func (*Reader) Read(ctx context.Context, src reader.Source, from reader.Position, emit func(session.Event) error) (reader.Tail, error) {
	if err := ctx.Err(); err != nil {
		return reader.Tail{}, err
	}
	if onShelf(src) {
		return readRows(ctx, src, from, emit)
	}
	f, stamp, err := reader.OpenRegular(src.Path)
	if err != nil {
		return reader.Tail{}, err
	}
	defer f.Close()
	d, at, err := resume(f, src, from, stamp.Size)
	if err != nil {
		return reader.Tail{}, err
	}
	tail, s, err := d.readFrom(ctx, f, src.Path, stamp.Size, at, emit)
	defer s.close()
	if err != nil {
		return reader.Tail{}, err
	}
	p := &tail.Position
	p.Next, p.Stamp = d.next, stamp
	if p.Check, err = reader.CheckBefore(f, p.Offset); err != nil {
		return reader.Tail{}, err
	}
	if d.st.Inner > 0 {
		d.st.Seen = s.frameEnd(p.Offset) - p.Offset
		if d.st.Check, err = reader.CheckBefore(io.NewSectionReader(f, p.Offset, d.st.Seen), d.st.Seen); err != nil {
			return reader.Tail{}, err
		}
	}
	if t := d.st.Tear; t != nil {
		if t.Check, err = t.checkOf(f, p.Offset); err != nil {
			return reader.Tail{}, err
		}
	}
	if p.State, err = json.Marshal(&d.st); err != nil {
		return reader.Tail{}, fmt.Errorf("state of %s: %w", src.Path, err)
	}
	if s.stop {
		return tail, nil // not the end: nothing is to be closed
	}
	for _, c := range d.st.closers(d.next) {
		tail.Closers = append(tail.Closers, c.Event)
	}
	return tail, nil
}

// resume returns a decoder and the mark where a position stands.
func resume(f io.ReaderAt, src reader.Source, from reader.Position, size int64) (*Decoder, mark, error) {
	if from.Offset == 0 {
		h, end, err := readHeader(f, src.Path, size)
		if err != nil {
			return nil, mark{}, err
		}
		if src.Header != (session.Header{}) && src.Header != h.Header {
			return nil, mark{}, reader.Unreadable(src.Path, 1, 0, "the header is not the one that was identified")
		}
		return NewDecoder(h.Header), mark{offset: end}, readable(h.Header, src.Path)
	}
	st, err := parseState(from.State)
	switch {
	case err != nil:
		return nil, mark{}, fmt.Errorf("%w: the state of a position in %s: %w", fault.Persistence, src.Path, err)
	case size < from.Offset:
		return nil, mark{}, reader.Unreadable(src.Path, 0, from.Offset, "the file is shorter than what was read of it")
	}
	d := &Decoder{header: src.Header, next: from.Next, rooted: true, st: st, x: new(jsonl.Index)}
	at := mark{from.Offset, st.Inner}
	d.st.Inner, d.st.Seen, d.st.Check = 0, 0, 0
	return d, at, readable(src.Header, src.Path)
}

// readFrom reads from a mark on; if the log ended there before a tear that is
// still the same, it looks at no more than what is new behind it. The source
// must be closed whatever is returned.
func (d *Decoder) readFrom(ctx context.Context, f io.ReaderAt, path string, size int64, at mark, emit func(session.Event) error) (reader.Tail, *source, error) {
	t := d.st.Tear
	d.st.Tear = nil
	same, err := t.same(f, at.offset, size)
	if !same || err != nil {
		s := newSource(f, path, size, at, d.st.Line)
		if err != nil {
			return reader.Tail{}, s, err
		}
		tail, err := d.readAll(ctx, s, emit)
		return tail, s, err
	}
	s := newSource(f, path, size, mark{offset: t.Looked}, unknown)
	tail, err := d.behindTear(ctx, s, at, *t)
	return tail, s, err
}

// readAll decodes to the end of what is complete.
func (d *Decoder) readAll(ctx context.Context, s *source, emit func(session.Event) error) (reader.Tail, error) {
	for {
		rec, err := s.next(ctx)
		if errors.Is(err, io.EOF) {
			return d.finish(s, s.at), nil
		}
		if err != nil {
			return reader.Tail{}, err
		}
		got, bad := decoded{}, (*failure)(nil)
		if rec.Full {
			bad = tooFull()
		} else {
			got, bad = d.decode(rec.Text, rec.Clipped, rec.place)
		}
		switch {
		case bad == nil:
			d.st.Line = rec.number
			err := emit(got.event)
			s.stop = s.stop || errors.Is(err, reader.ErrStop)
			if err != nil && !s.stop {
				return reader.Tail{}, err
			}
		case bad.torn:
			s.stop = false
			return d.behindTear(ctx, s, rec.before, tear{Length: rec.End - rec.Start, Reason: bad.reason})
		default:
			return reader.Tail{}, bad.problem(s.path, rec.number, rec.place.Offset)
		}
	}
}

// finish says where to go on.
func (d *Decoder) finish(s *source, at mark) reader.Tail {
	d.st.Inner = at.inner
	return reader.Tail{Position: reader.Position{Offset: at.offset}, Bytes: s.bytes}
}
