package claude

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"

	"github.com/yorehq/yore/fault"
	"github.com/yorehq/yore/reader"
	"github.com/yorehq/yore/reader/jsonl"
	"github.com/yorehq/yore/session"
)

// kept is what is kept of a long line. A record has depth 1, its message 2, the
// content list 3, a block 4 and the content of a block 5: what lies deeper may
// end early.
func kept() jsonl.Bounds { return jsonl.Kept(5, 5) }

// glued is how the places of values on one clipped line are told apart: where
// each begins is not known then.
const glued = 1 << 32

// keyOfPlace is the identity of a record that has none.
func keyOfPlace(p session.Place) uint64 {
	return key("\x00" + strconv.FormatInt(p.Offset, 10) + ":" + strconv.FormatInt(p.Inner, 10))
}

// line is one line, or the unfinished last one that is a whole record already.
type line struct {
	jsonl.Line
	ended bool // by a newline
}

// feed reads lines of a transcript into a decoder.
type feed struct {
	lines *jsonl.Lines
	x     jsonl.Index
	d     *decoder
	at    int64 // behind the latest line
	ended bool  // nothing more can be taken
}

func newFeed(f io.ReaderAt, d *decoder, at, size int64) *feed {
	lines := jsonl.NewLines(nil, kept())
	lines.Reset(io.NewSectionReader(f, at, max(0, size-at)), at)
	return &feed{lines: lines, d: d, at: at}
}

// next returns the next line, or io.EOF. A tail without a newline is taken when
// it is made of whole objects, for a closed object cannot grow: what follows on
// the same line is read as if it stood on its own.
func (s *feed) next(ctx context.Context) (line, error) {
	if err := ctx.Err(); err != nil {
		return line{}, err
	}
	if s.ended {
		return line{}, io.EOF
	}
	l, err := s.lines.Next()
	if err == nil {
		s.at = l.End
		return line{l, true}, nil
	}
	if !errors.Is(err, io.EOF) {
		return line{}, err
	}
	s.ended = true
	text, whole := s.lines.Unfinished()
	if !whole || !closed(text) {
		return line{}, io.EOF
	}
	start := s.lines.Offset()
	s.at = start + int64(len(text))
	return line{jsonl.Line{Text: text, Start: start, End: s.at}, false}, nil
}

// closed reports whether a text is made of whole objects.
func closed(text []byte) bool {
	if text = bytes.TrimRight(text, " \t\r"); len(text) == 0 || text[len(text)-1] != '}' {
		return false
	}
	values, rest := jsonl.Values(text)
	for _, v := range values {
		if !jsonl.IsObject(v) {
			return false
		}
	}
	return len(values) > 0 && len(rest) == 0
}

// decode hands the events of a line's values to visit, with the bytes of the
// value; nil: the line is not there as a whole.
func (s *feed) decode(l *line, visit func(value []byte, events []made) error) error {
	d := s.d
	d.clipped = l.Clipped
	text := bytes.TrimPrefix(l.Text, []byte("\xef\xbb\xbf"))
	values, rest := s.x.Values(text)
	d.x = &s.x
	lost := l.Text == nil && l.End-l.Start > 1
	if len(values) == 0 && len(rest) == 0 && (lost || len(bytes.TrimSpace(text)) > 0) {
		// Nothing but NULs, or nothing that could be kept.
		if err := visit(text, d.unparsed(session.Place{Offset: l.Start})); err != nil {
			return err
		}
	}
	place := func(v []byte, number int) session.Place {
		if l.Clipped {
			return session.Place{Offset: l.Start, Inner: int64(number) * glued}
		}
		// Slices of one array: the capacities tell where.
		return session.Place{Offset: l.Start + int64(cap(l.Text)-cap(v))}
	}
	for i, v := range values {
		p := place(v, i)
		d.line, d.end, d.glued = l.Start, l.End, values[:i]
		events, err := d.value(v, p)
		if err != nil {
			return err
		}
		if err := visit(native(v, l), events); err != nil {
			return err
		}
	}
	if len(rest) > 0 {
		if err := visit(native(rest, l), d.unparsed(place(rest, len(values)))); err != nil {
			return err
		}
	}
	if l.ended {
		d.small.Line++
	}
	return nil
}

func native(v []byte, l *line) []byte {
	if l.Clipped {
		return nil
	}
	return v
}

// noTexts as the start of texts means that none are made.
const noTexts = 1<<63 - 1

// start returns a decoder for a source from its beginning.
func start(src reader.Source) *decoder {
	_, one := partOf(src.Path)
	return &decoder{sub: isSubagent(src.Root, src.Path), run: one, side: sideOf(src.Root, src.Path), g: newGraph()}
}

// replay goes through a file up to an offset without making texts.
func replay(ctx context.Context, f io.ReaderAt, src reader.Source, offset int64) (*decoder, error) {
	d := start(src)
	d.from = noTexts
	s := newFeed(f, d, d.run.Start, offset)
	for {
		l, err := s.next(ctx)
		if errors.Is(err, io.EOF) {
			return d, nil
		}
		if err == nil {
			err = s.decode(&l, func([]byte, []made) error { return nil })
		}
		if err != nil {
			return nil, err
		}
	}
}

// Read implements reader.Reader. Nothing a transcript holds makes it unsound.
func (*Reader) Read(ctx context.Context, src reader.Source, from reader.Position, emit func(session.Event) error) (reader.Tail, error) {
	return read(ctx, src, from, room{whole: wholeBytes, tail: tailNodes, marks: true}, emit)
}

// read is Read with a given room for positions.
func read(ctx context.Context, src reader.Source, from reader.Position, most room, emit func(session.Event) error) (reader.Tail, error) {
	if err := ctx.Err(); err != nil {
		return reader.Tail{}, err
	}
	file := reader.FileOf(src.Path)
	f, stamp, err := reader.OpenRegular(file)
	if err != nil {
		return reader.Tail{}, err
	}
	defer f.Close()
	if stamp.Size < from.Offset {
		return reader.Tail{}, reader.Unreadable(file, 0, from.Offset, "the file is shorter than what was read of it")
	}
	st, err := parseState(from.State)
	if err != nil {
		return reader.Tail{}, fmt.Errorf("%w: the state of a position in %s: %w", fault.Persistence, src.Path, err)
	}
	d, err := resume(st, from.Next)
	if err != nil {
		return reader.Tail{}, err
	}
	fresh := start(src)
	d.sub, d.side, d.run = fresh.sub, fresh.side, fresh.run
	if most.marks {
		if d.marks, err = resumeMarks(st.Marks, d); err != nil {
			return reader.Tail{}, err
		}
	}
	begin, size := max(from.Offset, d.run.Start), stamp.Size
	if size < begin {
		return reader.Tail{}, reader.ErrPending
	}
	if src.End > 0 {
		size = min(size, max(src.End, begin))
	}
	again := int64(0)
	d.expand = func() error {
		again = d.line - d.run.Start
		whole, err := replay(ctx, f, src, d.line)
		for _, v := range d.glued {
			if err == nil {
				_, err = whole.value(v, session.Place{Offset: d.line})
			}
		}
		switch {
		case err != nil:
			return err
		case whole.next != d.next:
			return reader.Unreadable(file, 0, d.line, "the file is not the one that was read before")
		}
		d.g, d.small, d.runs = whole.g, whole.small, whole.runs
		return nil
	}
	tail, err := d.readAll(ctx, newFeed(f, d, begin, size), emit)
	if err != nil {
		return reader.Tail{}, err
	}
	tail.Bytes += again
	p := &tail.Position
	p.Next, p.Stamp = d.next, stamp
	if p.Check, err = reader.CheckBefore(f, p.Offset); err != nil {
		return reader.Tail{}, err
	}
	kept := d.save(most)
	kept.Meta = describedBy(src)
	kept.Marks = d.marks.save()
	if p.State, err = json.Marshal(kept); err != nil {
		return reader.Tail{}, fmt.Errorf("state of %s: %w", src.Path, err)
	}
	return tail, nil
}

// readAll decodes to the end of what is complete.
func (d *decoder) readAll(ctx context.Context, s *feed, emit func(session.Event) error) (reader.Tail, error) {
	var tail reader.Tail
	from, stopped := s.at, false
	for !stopped {
		l, err := s.next(ctx)
		if errors.Is(err, io.EOF) {
			break
		}
		if err == nil {
			err = s.decode(&l, func(_ []byte, events []made) error {
				for i := range events {
					e := &events[i].event
					if e.Type == unparsed {
						tail.Skips = append(tail.Skips, reader.Skip{
							Place: e.Place, Line: d.small.Line + 1, Length: l.End - e.Place.Offset, Reason: whyNot(&l),
						})
					}
					// A line is the unit: its events go out to the last one.
					switch err := emit(*e); {
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

// whyNot says why a line gives no record.
func whyNot(l *line) string {
	if l.Full {
		return "the line holds more than can be kept of it"
	}
	return "the line is no JSON record"
}
