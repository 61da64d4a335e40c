package linelog

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/yorehq/yore/fault"
	"github.com/yorehq/yore/reader"
	"github.com/yorehq/yore/session"
)

// noTexts as the start of texts means that none are made.
const noTexts = 1<<63 - 1

// A reading offers a mark for windows after so many records, or so many bytes.
const (
	markRecords = 64
	markBytes   = 128 << 10
)

// state is what a position keeps beside seq and offset.
type state struct {
	Line    int64           `json:"line,omitempty"` // whole lines read
	Time    int64           `json:"time,omitempty"` // of the latest event
	Decoder json.RawMessage `json:"d,omitempty"`
}

// StateOf returns what a decoder saved in a position's state; nil if that holds
// nothing of it.
func StateOf(position json.RawMessage) json.RawMessage {
	var st state
	if len(position) == 0 || json.Unmarshal(position, &st) != nil {
		return nil
	}
	return st.Decoder
}

// run is one way through a file.
type run struct {
	format *Format
	src    reader.Source
	f      io.ReaderAt
	d      Decoder
	out    *Events
	line   int64
	again  int64 // bytes that were gone through once more

	marks          bool
	marked, behind int64 // where the latest mark stands, and records since
}

func (f *Format) start(src reader.Source) int64 {
	if f.Start == nil {
		return 0
	}
	return f.Start(src)
}

func (f *Format) run(file io.ReaderAt, src reader.Source, from int64) *run {
	return &run{format: f, src: src, f: file, d: f.New(src), out: NewEvents(0, from), behind: markRecords}
}

// load goes on where a state was saved.
func (r *run) load(raw []byte, next int64) error {
	if len(raw) == 0 {
		return nil
	}
	var st state
	err := json.Unmarshal(raw, &st)
	if err == nil {
		err = r.d.Load(st.Decoder)
	}
	if err != nil {
		return fmt.Errorf("%w: the state of a position in %s: %w", fault.Persistence, r.src.Path, err)
	}
	r.line, r.out.Time, r.out.next = st.Line, st.Time, next
	return nil
}

// take hands the events of a line's values to visit, with the bytes of each
// value; nil: it is not there as a whole.
func (r *run) take(ctx context.Context, l *Line, pieces []Piece, s *Feed, visit func(value []byte, number int) error) error {
	for i, p := range pieces {
		if err := r.piece(ctx, l, pieces[:i], p, s); err != nil {
			return err
		}
		value := p.Value
		if l.Clipped {
			value = nil
		}
		if err := visit(value, i); err != nil {
			return err
		}
	}
	if l.Ended {
		r.line++
	}
	return nil
}

// piece takes in one value of a line; before are those that stand before it.
func (r *run) piece(ctx context.Context, l *Line, before []Piece, p Piece, s *Feed) error {
	r.out.Begin(p.Place, l.Clipped)
	if !p.Object {
		if _, part := reader.SplitPart(r.src.Path); part == "" {
			r.out.Add(session.Event{Type: Unparsed}, nil)
		}
		return nil
	}
	rec := Record{Value: p.Value, X: &s.X, Place: p.Place, End: l.End, Line: r.line + 1, Clipped: l.Clipped}
	if !r.d.Settled(&rec) {
		if err := r.replay(ctx, l, before); err != nil {
			return err
		}
		r.out.Begin(p.Place, l.Clipped)
	}
	mark := ""
	if r.marks && len(before) == 0 && (r.behind >= markRecords || l.Start-r.marked >= markBytes) {
		text, err := r.d.Mark()
		if err != nil {
			return err
		}
		if text, err = json.Marshal(state{Line: r.line, Time: r.out.Time, Decoder: text}); err != nil {
			return err
		}
		mark = string(text)
	}
	r.d.Take(&rec, r.out)
	r.behind++
	if mark != "" && len(r.out.list) > 0 && p.Place.Offset == l.Start {
		r.out.list[0].Resume = mark
		r.marked, r.behind = l.Start, 0
	}
	return nil
}

// replay makes a decoder that knows everything before a value of a line.
func (r *run) replay(ctx context.Context, l *Line, before []Piece) error {
	whole := r.format.run(r.f, r.src, noTexts)
	begin := r.format.start(r.src)
	if err := whole.through(ctx, begin, l.Start, nil); err != nil {
		return err
	}
	var fresh Feed // the index of the line at hand is in use
	for i, p := range before {
		if err := whole.piece(ctx, l, before[:i], p, &fresh); err != nil {
			return err
		}
	}
	if whole.out.next != r.out.next {
		return reader.Unreadable(reader.FileOf(r.src.Path), 0, l.Start, "the file is not the one that was read before")
	}
	r.d, r.out.Time, r.again = whole.d, whole.out.Time, r.again+l.Start-begin
	return nil
}

// through goes through a file from an offset up to another.
func (r *run) through(ctx context.Context, at, size int64, visit func() (more bool)) error {
	s := NewFeed(r.f, at, size)
	for {
		l, err := s.Next(ctx)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if err := r.take(ctx, &l, s.Pieces(&l), s, func([]byte, int) error { return nil }); err != nil {
			return err
		}
		if visit != nil && !visit() {
			return nil
		}
	}
}

// Count returns how many events the records of a file give that stand before an
// offset.
func (f *Format) Count(ctx context.Context, file io.ReaderAt, src reader.Source, size int64) (int64, error) {
	r := f.run(file, src, noTexts)
	err := r.through(ctx, f.start(src), size, nil)
	return r.out.next, err
}

// Read implements reader.Reader. Nothing a log holds makes it unsound.
func (f *Format) Read(ctx context.Context, src reader.Source, from reader.Position, emit func(session.Event) error) (reader.Tail, error) {
	if err := ctx.Err(); err != nil {
		return reader.Tail{}, err
	}
	path := reader.FileOf(src.Path)
	file, stamp, err := reader.OpenRegular(path)
	if err != nil {
		return reader.Tail{}, err
	}
	defer file.Close()
	if stamp.Size < from.Offset {
		return reader.Tail{}, reader.Unreadable(path, 0, from.Offset, "the file is shorter than what was read of it")
	}
	r := f.run(file, src, 0)
	r.marks = true
	if err := r.load(from.State, from.Next); err != nil {
		return reader.Tail{}, err
	}
	begin, size := max(from.Offset, f.start(src)), stamp.Size
	if size < begin {
		return reader.Tail{}, reader.ErrPending
	}
	if src.End > 0 {
		size = min(size, max(src.End, begin))
	}
	r.marked = begin
	tail, err := r.read(ctx, NewFeed(file, begin, size), emit)
	if err != nil {
		return reader.Tail{}, err
	}
	tail.Bytes += r.again
	p := &tail.Position
	p.Next, p.Stamp = r.out.next, stamp
	if p.Check, err = reader.CheckBefore(file, p.Offset); err != nil {
		return reader.Tail{}, err
	}
	saved, err := r.d.Save()
	if err == nil {
		p.State, err = json.Marshal(state{Line: r.line, Time: r.out.Time, Decoder: saved})
	}
	if err != nil {
		return reader.Tail{}, fmt.Errorf("state of %s: %w", src.Path, err)
	}
	return tail, nil
}

// read decodes to the end of what is complete.
func (r *run) read(ctx context.Context, s *Feed, emit func(session.Event) error) (reader.Tail, error) {
	var tail reader.Tail
	from, stopped := s.at, false
	for !stopped {
		l, err := s.Next(ctx)
		if errors.Is(err, io.EOF) {
			break
		}
		if err == nil {
			err = r.take(ctx, &l, s.Pieces(&l), s, func([]byte, int) error {
				for _, e := range r.out.list {
					if e.Type == Unparsed {
						tail.Skips = append(tail.Skips, reader.Skip{Place: e.Place, Line: r.line + 1, Length: l.End - e.Place.Offset, Reason: l.WhyNot()})
					}
					// A line is the unit: its events go out to the last one.
					switch err := emit(e); {
					case errors.Is(err, reader.ErrStop):
						stopped = true
					case err != nil:
						return err
					}
				}
				return nil
			})
		}
		if err != nil {
			return reader.Tail{}, err
		}
	}
	tail.Position.Offset, tail.Bytes = s.at, s.at-from
	return tail, nil
}

// Revise implements reader.Reader for a file that is only appended to: what is
// rewritten or shortened is read anew. A part is unchanged when what the file
// gained is of others.
func (*Format) Revise(ctx context.Context, src reader.Source, at reader.Position) (reader.Revision, reader.Stamp, error) {
	if err := ctx.Err(); err != nil {
		return reader.Replaced, reader.Stamp{}, err
	}
	revision, stamp, err := reader.ReviseAppended(reader.FileOf(src.Path), at)
	if err == nil && revision == reader.Grown && src.End > 0 && at.Offset >= src.End {
		revision = reader.Unchanged
	}
	return revision, stamp, err
}
