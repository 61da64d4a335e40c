package linelog

import (
	"bytes"
	"context"
	"errors"
	"io"

	"github.com/yorehq/yore/reader/jsonl"
	"github.com/yorehq/yore/session"
)

// Kept is what is kept of a long line: what lies deeper than five brackets may
// end early, which spares a record, its message, their blocks and a block's
// content.
func Kept() jsonl.Bounds { return jsonl.Kept(5, 5) }

// glued is how the places of values on one clipped line are told apart: where
// each begins is not known then.
const glued = 1 << 32

var byteOrderMark = []byte("\xef\xbb\xbf")

// Line is one line, or the whole objects of the unfinished last one.
type Line struct {
	jsonl.Line
	Ended bool // by a newline
	later bool // it is the rest of a line: what is before it was taken earlier
}

// Feed cuts a part of a file into lines, and lines into values.
type Feed struct {
	X     jsonl.Index // of the latest line that was taken apart
	lines *jsonl.Lines
	list  []Piece
	at    int64
	later bool // at lies within a line
	ended bool
}

// NewFeed returns the lines of a file from an offset to a size. The offset is
// where an earlier feed ended (At), or the beginning of a line.
func NewFeed(f io.ReaderAt, at, size int64) *Feed {
	lines := jsonl.NewLines(nil, Kept())
	lines.Reset(io.NewSectionReader(f, at, max(0, size-at)), at)
	before := []byte{'\n'}
	if at > 0 {
		_, _ = f.ReadAt(before, at-1) // a file that cannot be read says so at its lines
	}
	return &Feed{lines: lines, at: at, later: before[0] != '\n'}
}

// At is the offset behind the latest line.
func (s *Feed) At() int64 { return s.at }

// Next returns the next line, or io.EOF. Of a tail without a newline the whole
// objects at its beginning are taken, for a closed object cannot grow; the rest
// gives later what it would have given behind them.
func (s *Feed) Next(ctx context.Context) (Line, error) {
	if err := ctx.Err(); err != nil {
		return Line{}, err
	}
	if s.ended {
		return Line{}, io.EOF
	}
	later := s.later
	s.later = false
	l, err := s.lines.Next()
	if err == nil {
		s.at = l.End
		return Line{l, true, later}, nil
	}
	if !errors.Is(err, io.EOF) {
		return Line{}, err
	}
	s.ended = true
	text, whole := s.lines.Unfinished()
	if whole {
		text = text[:s.closed(text, later)]
	}
	if !whole || len(text) == 0 {
		return Line{}, io.EOF
	}
	start := s.lines.Offset()
	s.at = start + int64(len(text))
	return Line{jsonl.Line{Text: text, Start: start, End: s.at}, false, later}, nil
}

// closed returns how many bytes the whole objects at the beginning of a text
// take, with the blanks behind them if nothing else follows.
func (s *Feed) closed(text []byte, later bool) int {
	if later && torn(text) {
		return 0
	}
	values, _ := s.X.Values(text)
	n := 0
	for _, v := range values {
		if !jsonl.IsObject(v) {
			break
		}
		n = cap(text) - cap(v) + len(v)
	}
	if n > 0 && len(bytes.TrimLeft(text[n:], blanks)) == 0 {
		return len(text)
	}
	return n
}

// blanks may stand between values; NULs may not, they stand around a line.
const blanks = " \t\r"

// torn reports whether the rest of a line begins with NULs, behind which nothing
// on that line is read as a value.
func torn(rest []byte) bool {
	rest = bytes.TrimLeft(rest, blanks)
	return len(rest) > 0 && rest[0] == 0
}

// Piece is one value of a line, or what is left of it that is none. Of a clipped
// line the value is what was kept, and its place tells values apart only.
type Piece struct {
	Value  []byte
	Place  session.Place
	Object bool // it is a JSON object
}

// Pieces takes a line apart. An empty line has none. They are valid until the
// next line.
func (s *Feed) Pieces(l *Line) []Piece {
	text := l.Text
	if !l.later {
		text = bytes.TrimPrefix(text, byteOrderMark)
	}
	values, rest := s.X.Values(text)
	if l.later && torn(text) {
		if values, rest = nil, bytes.Trim(text, "\x00\n"+blanks); len(rest) == 0 {
			return nil
		}
	}
	s.list = s.list[:0]
	if len(values) == 0 && len(rest) == 0 {
		if lost := l.Text == nil && l.End-l.Start > 1; lost || len(bytes.TrimSpace(text)) > 0 {
			// Nothing but NULs, or nothing that could be kept.
			s.list = append(s.list, Piece{Value: text, Place: session.Place{Offset: l.Start}})
		}
		return s.list
	}
	add := func(v []byte, object bool) {
		p := session.Place{Offset: l.Start, Inner: int64(len(s.list)) * glued}
		if !l.Clipped {
			// Slices of one array: the capacities tell where.
			p = session.Place{Offset: l.Start + int64(cap(l.Text)-cap(v))}
		}
		s.list = append(s.list, Piece{v, p, object})
	}
	for _, v := range values {
		add(v, jsonl.IsObject(v))
	}
	if len(rest) > 0 {
		add(rest, false)
	}
	return s.list
}

// WhyNot says why a line, or a piece of it, gives no record.
func (l *Line) WhyNot() string {
	if l.Full {
		return "the line holds more than can be kept of it"
	}
	return "the line is no JSON record"
}

// Each visits the objects of a file's lines from an offset to a size, lines
// counted from there, until
// visit says no or the file ends. It returns where it ended, behind a line.
func Each(ctx context.Context, f io.ReaderAt, at, size int64, visit func(r *Record) (more bool, err error)) (int64, error) {
	s := NewFeed(f, at, size)
	for number := int64(1); ; number++ {
		l, err := s.Next(ctx)
		if errors.Is(err, io.EOF) {
			return s.at, nil
		}
		if err != nil {
			return s.at, err
		}
		for _, p := range s.Pieces(&l) {
			if !p.Object {
				continue
			}
			more, err := visit(&Record{Value: p.Value, X: &s.X, Place: p.Place, End: l.End, Line: number, Clipped: l.Clipped})
			if err != nil || !more {
				return s.at, err
			}
		}
	}
}
