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

// line is one line, or the unfinished last one that is a whole record already.
type line struct {
	jsonl.Line
	ended bool // by a newline
}

// feed cuts a part of a file into lines.
type feed struct {
	lines *jsonl.Lines
	x     jsonl.Index
	at    int64 // behind the latest line
	ended bool
}

func newFeed(f io.ReaderAt, at, size int64) *feed {
	lines := jsonl.NewLines(nil, Kept())
	lines.Reset(io.NewSectionReader(f, at, max(0, size-at)), at)
	return &feed{lines: lines, at: at}
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

// piece is one value of a line, or what is left of it that is none.
type piece struct {
	value  []byte
	place  session.Place
	object bool
}

// pieces takes a line apart. An empty line has none. The values are valid until
// the next line.
func (s *feed) pieces(l *line) []piece {
	text := bytes.TrimPrefix(l.Text, byteOrderMark)
	values, rest := s.x.Values(text)
	if len(values) == 0 && len(rest) == 0 {
		if lost := l.Text == nil && l.End-l.Start > 1; lost || len(bytes.TrimSpace(text)) > 0 {
			// Nothing but NULs, or nothing that could be kept.
			return []piece{{value: text, place: session.Place{Offset: l.Start}}}
		}
		return nil
	}
	list := make([]piece, 0, len(values)+1)
	add := func(v []byte, object bool) {
		p := session.Place{Offset: l.Start, Inner: int64(len(list)) * glued}
		if !l.Clipped {
			// Slices of one array: the capacities tell where.
			p = session.Place{Offset: l.Start + int64(cap(l.Text)-cap(v))}
		}
		list = append(list, piece{v, p, object})
	}
	for _, v := range values {
		add(v, jsonl.IsObject(v))
	}
	if len(rest) > 0 {
		add(rest, false)
	}
	return list
}

// Each visits the objects of a file's lines from an offset to a size, lines
// counted from there, until
// visit says no or the file ends. It returns where it ended, behind a line.
func Each(ctx context.Context, f io.ReaderAt, at, size int64, visit func(r *Record) (more bool, err error)) (int64, error) {
	s := newFeed(f, at, size)
	for number := int64(1); ; number++ {
		l, err := s.next(ctx)
		if errors.Is(err, io.EOF) {
			return s.at, nil
		}
		if err != nil {
			return s.at, err
		}
		for _, p := range s.pieces(&l) {
			if !p.object {
				continue
			}
			more, err := visit(&Record{Value: p.value, X: &s.x, Place: p.place, End: l.End, Line: number, Clipped: l.Clipped})
			if err != nil || !more {
				return s.at, err
			}
		}
	}
}
