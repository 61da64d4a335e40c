package dsh

import (
	"bytes"
	"context"
	"errors"
	"io"

	"github.com/yorehq/yore/reader"
	"github.com/yorehq/yore/reader/jsonl"
	"github.com/yorehq/yore/session"
)

// Window implements reader.Reader. What stands before the window is passed over
// without being looked into.
func (*Reader) Window(ctx context.Context, src reader.Source, at session.Checkpoint, from, to int64, natives session.Range, emit func(session.Raw) error) (session.Header, error) {
	if err := ctx.Err(); err != nil {
		return session.Header{}, err
	}
	if onShelf(src) {
		return windowRows(ctx, src, at, from, to, natives, emit)
	}
	f, stamp, err := reader.OpenRegular(src.Path)
	if err != nil {
		return session.Header{}, err
	}
	defer f.Close()
	h, end, err := readHeader(f, src.Path, stamp.Size)
	if err != nil {
		return h.Header, err
	}
	if err := readable(h.Header, src.Path); err != nil {
		return h.Header, err
	}
	w := window{
		f: f, path: src.Path, size: stamp.Size, header: h.Header, start: mark{offset: end}, from: from, to: to, natives: natives,
	}
	if at.Place == (session.Place{}) {
		at.Seq = 0
	}
	return h.Header, w.read(ctx, at, emit)
}

// window is one reading of a range of events.
type window struct {
	f        io.ReaderAt
	table    *table // in the place of f
	path     string
	size     int64
	header   session.Header
	start    mark // behind the header
	from, to int64
	natives  session.Range
}

func (w *window) source(at mark, number int64) *source {
	if w.table != nil {
		return tableSource(w.table, at, number)
	}
	return newSource(w.f, w.path, w.size, at, number)
}

func (w *window) read(ctx context.Context, at session.Checkpoint, emit func(session.Raw) error) error {
	d := NewDecoder(w.header)
	where, number := w.start, int64(1)
	if at.Place != (session.Place{}) {
		where, number = mark{at.Place.Offset, at.Place.Inner}, unknown
		d.next, d.rooted = at.Seq, false
	}
	s := w.source(where, number)
	defer s.close()
	for first := true; d.next <= w.to; first = false {
		rec, err := s.next(ctx)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		bad := w.line(ctx, d, &rec, emit)
		var f *failure
		switch {
		case bad == nil:
		case errors.As(bad, &f) && f.torn && !(first && number == unknown):
			return nil
		case errors.As(bad, &f):
			return f.problem(w.path, rec.number, rec.place.Offset)
		default:
			return bad
		}
	}
	return nil
}

// line emits what one line holds of the window.
func (w *window) line(ctx context.Context, d *Decoder, rec *record, emit func(session.Raw) error) error {
	if rec.Full {
		return tooFull()
	}
	if d.next < w.from {
		before := *d
		r, bad := d.skim(rec.Text)
		switch {
		case bad != nil:
			return bad
		case r == nil || d.next <= w.from:
			return nil
		}
		*d = before
	}
	if !d.rooted {
		if err := w.root(ctx, d, rec.Text); err != nil {
			return err
		}
	}
	got, bad := d.decode(rec.Text, rec.Clipped, rec.place)
	if bad != nil {
		return bad
	}
	return got.each(w.from, w.to, w.natives, func() ([]byte, error) { return w.whole(ctx, rec) }, emit)
}

// whole returns the bytes of a line. Those of a long one are read again, now
// that it is known how many they are.
func (w *window) whole(ctx context.Context, rec *record) ([]byte, error) {
	if !rec.Clipped {
		return bytes.Clone(rec.Text), nil
	}
	if w.table != nil {
		return w.table.wholeRow(ctx, rec.place.Offset, rec.End-rec.Start-1)
	}
	text, err := reader.Room(w.path, rec.Start, rec.End-1)
	if err != nil {
		return nil, err
	}
	if !compressed(w.path) {
		_, err := io.ReadFull(io.NewSectionReader(w.f, rec.Start, int64(len(text))), text)
		return text, err
	}
	s := newSource(w.f, w.path, w.size, mark{rec.place.Offset, rec.place.Inner}, unknown)
	defer s.close()
	err = s.openNext()
	if err == nil {
		_, err = io.ReadFull(s.in, text)
	}
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		err = s.problem("a line is not there any more")
	}
	return text, err
}

// root finds out, where it matters, after which results the rewritten ones of
// the older shape are named. That takes everything before; such logs are rare.
func (w *window) root(ctx context.Context, d *Decoder, text []byte) error {
	e, _, bad := d.open(text)
	if bad != nil || !jsonl.Is(e.typ, session.ToolResult) || d.x.Field(e.data, "message") != nil || !jsonl.IsObject(e.op) {
		return nil
	}
	all := NewDecoder(w.header)
	if w.table != nil {
		defer func(at mark) { w.table.queue, w.table.ended = nil, false }(w.start)
	}
	s := w.source(w.start, 1)
	defer s.close()
	for all.next < d.next {
		rec, err := s.next(ctx)
		if err != nil {
			return err
		}
		if _, bad := all.decode(rec.Text, rec.Clipped, rec.place); bad != nil {
			return bad
		}
	}
	d.st.Root, d.rooted = all.st.Root, true
	return nil
}
