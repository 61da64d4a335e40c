package gemini

import (
	"bytes"
	"context"
	"errors"
	"io"

	"github.com/yorehq/yore/reader"
	"github.com/yorehq/yore/reader/jsonl"
)

// padding is what may stand around values: NUL bytes are what power failures leave.
const padding = "\x00 \t\r\n"

// value is one JSON value of a file of lines, or what is none. Its text is valid
// until the next one is asked for.
type value struct {
	Text       []byte
	Start, End int64 // offsets in the file; of what was clipped, those of its line
	Line       int64 // 1 is the first
	Clipped    bool  // the text is shorter than what is there
	None       bool  // no JSON object
	Full       bool  // there is more than can be kept of it: there is no text
}

// WhyNot says why a record that is none is none.
func (r *value) WhyNot() string {
	if r.Full {
		return "the line holds more than can be kept of it"
	}
	return "the line is no JSON record"
}

// lineValues yields the values of a file of lines from an offset on: several of one
// line where a writer was cut off, and behind the last newline what is a whole
// object, for that cannot grow.
type lineValues struct {
	lines *jsonl.Lines
	line  int64
	most  int // a longer line was clipped
	x     jsonl.Index

	queue []value
	first [1]value // room for the queue
	at    int64    // behind the latest record, or behind its line if it was the last one there
	after int64    // what at becomes when the queue is empty
	ended bool
}

// newLineValues reads a file from an offset up to an end; line is how many lines
// begin before the offset.
func newLineValues(in io.ReaderAt, from, line, end int64, bounds jsonl.Bounds) *lineValues {
	section := io.NewSectionReader(in, from, max(0, end-from))
	r := &lineValues{lines: jsonl.NewLines(section, bounds), line: line, most: bounds.Line, at: from, after: from}
	r.lines.Reset(section, from)
	return r
}

// Index is that of the latest record.
func (r *lineValues) Index() *jsonl.Index { return &r.x }

// At returns the offset behind which to go on, and how many lines begin before it.
func (r *lineValues) At() (offset, line int64) { return r.at, r.line }

// Next returns the next record, or io.EOF at the end of what is complete.
func (r *lineValues) Next(ctx context.Context) (value, error) {
	if err := ctx.Err(); err != nil {
		return value{}, err
	}
	for len(r.queue) == 0 {
		if r.ended {
			return value{}, io.EOF
		}
		if err := r.more(); err != nil {
			return value{}, err
		}
	}
	v := r.queue[0]
	r.queue = r.queue[1:]
	if r.at = v.End; len(r.queue) == 0 {
		r.at = r.after
	}
	return v, nil
}

// more queues the values of the next line.
func (r *lineValues) more() error {
	l, err := r.lines.Next()
	switch {
	case err == nil:
		r.line++
		r.after = l.End
		r.split(l)
		if len(r.queue) == 0 {
			r.at = l.End // blank
		}
		return nil
	case errors.Is(err, io.EOF):
		r.ended = true
		r.unfinished()
		return nil
	}
	return err
}

// bom is what some editors put before a file's first line.
const bom = "\xEF\xBB\xBF"

// split takes a line apart that should be one value, and may be several or none.
func (r *lineValues) split(l jsonl.Line) {
	r.queue = r.first[:0]
	if l.End-l.Start > int64(r.most) {
		// What was clipped has no offsets within.
		v := value{Text: bytes.Trim(l.Text, padding), Start: l.Start, End: l.End - 1, Line: r.line, Clipped: l.Clipped, Full: l.Full}
		v.None = l.Full || !r.x.Valid(v.Text) || !jsonl.IsObject(v.Text)
		r.queue = append(r.queue, v)
		return
	}
	line, start := l.Text, l.Start
	if start == 0 && bytes.HasPrefix(line, []byte(bom)) {
		line, start = line[len(bom):], int64(len(bom))
	}
	values, rest := r.x.Values(line)
	r.place(line, start, values, rest)
}

func (r *lineValues) place(line []byte, start int64, values [][]byte, rest []byte) {
	at := 0
	add := func(v []byte, none bool) {
		at += len(line[at:]) - len(bytes.TrimLeft(line[at:], padding))
		r.queue = append(r.queue, value{Text: v, Start: start + int64(at), End: start + int64(at+len(v)), Line: r.line, None: none})
		at += len(v)
	}
	for _, v := range values {
		add(v, !jsonl.IsObject(v))
	}
	if len(rest) > 0 {
		add(rest, true)
	}
}

// unfinished takes the whole objects at the head of what has no newline yet.
func (r *lineValues) unfinished() {
	tail, whole := r.lines.Unfinished()
	if !whole {
		return
	}
	start := r.lines.Offset()
	values, _ := r.x.Values(tail)
	n := 0
	for n < len(values) && jsonl.IsObject(values[n]) {
		n++
	}
	if n == 0 {
		return
	}
	r.line++
	r.queue = r.first[:0]
	r.place(tail, start, values[:n], nil)
	r.after = r.queue[n-1].End
}

// Bytes reads a record's bytes again, as they stand in the file of a path.
func (r *value) Bytes(in io.ReaderAt, path string) ([]byte, error) {
	if !r.Clipped && !r.Full {
		return bytes.Clone(r.Text), nil
	}
	all, err := reader.Room(path, r.Start, r.End)
	if err != nil {
		return nil, err
	}
	if _, err := io.ReadFull(io.NewSectionReader(in, r.Start, r.End-r.Start), all); err != nil {
		return nil, err
	}
	return bytes.Trim(all, padding), nil
}
