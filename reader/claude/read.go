package claude

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"

	"github.com/yorehq/yore/fault"
	"github.com/yorehq/yore/reader"
	"github.com/yorehq/yore/reader/linelog"
	"github.com/yorehq/yore/session"
)

// keyOfPlace is the identity of a record that has none.
func keyOfPlace(p session.Place) uint64 {
	return key("\x00" + strconv.FormatInt(p.Offset, 10) + ":" + strconv.FormatInt(p.Inner, 10))
}

// feed reads the lines of a transcript into a decoder.
type feed struct {
	*linelog.Feed
	d *decoder
}

func newFeed(f io.ReaderAt, d *decoder, at, size int64) *feed {
	return &feed{linelog.NewFeed(f, at, size), d}
}

// decode hands the events of a line's values to visit, with the bytes of the
// value; nil: the line is not there as a whole.
func (s *feed) decode(l *linelog.Line, visit func(value []byte, events []made) error) error {
	d := s.d
	d.clipped = l.Clipped
	pieces := s.Pieces(l)
	d.x = &s.X
	for i, p := range pieces {
		d.line, d.end, d.glued = l.Start, l.End, pieces[:i]
		var events []made
		if p.Object {
			var err error
			if events, err = d.value(p.Value, p.Place); err != nil {
				return err
			}
		} else {
			events = d.unparsed(p.Place)
		}
		value := p.Value
		if l.Clipped {
			value = nil
		}
		if err := visit(value, events); err != nil {
			return err
		}
	}
	if l.Ended {
		d.small.Line++
	}
	return nil
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
		l, err := s.Next(ctx)
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
		for _, p := range d.glued {
			if err == nil {
				_, err = whole.value(p.Value, session.Place{Offset: d.line})
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
	from, stopped := s.At(), false
	for !stopped {
		l, err := s.Next(ctx)
		if errors.Is(err, io.EOF) {
			break
		}
		if err == nil {
			err = s.decode(&l, func(_ []byte, events []made) error {
				for i := range events {
					e := &events[i].event
					if e.Type == unparsed {
						tail.Skips = append(tail.Skips, reader.Skip{
							Place: e.Place, Line: d.small.Line + 1, Length: l.End - e.Place.Offset, Reason: l.WhyNot(),
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
	tail.Position.Offset, tail.Bytes = s.At(), s.At()-from
	return tail, nil
}
