package codex

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/klauspost/compress/zstd"

	"github.com/yorehq/yore/reader"
	"github.com/yorehq/yore/reader/jsonl"
	"github.com/yorehq/yore/session"
)

// maxWindow bounds the memory that a compressed file can ask of the decoder. The
// writer's own level stays far below.
const maxWindow = 64 << 20

// maxDocument bounds a file of the oldest layout, which is read as a whole.
const maxDocument = 64 << 20

// kept is what is kept of a long line. A record has depth 1, its payload 2, a
// compaction's list 3, an item 4, its content 5, a block 6: lists may end early
// from depth 5 on, objects from 6 on.
func kept() jsonl.Bounds { return jsonl.Kept(5, 6) }

// value is one JSON value of a file, or what is none. Its text is valid until
// the next one is asked for.
type value struct {
	text       []byte
	x          *jsonl.Index // of its line; nil: none
	start, end int64        // offsets in the decoded text
	line       int64        // 1 is the first
	clipped    bool         // text is shorter than what is there
	none       bool         // no JSON object
	full       bool         // there is more than can be kept of it
}

// whyNot says why a value that is none is none.
func (v *value) whyNot() string {
	if v.full {
		return "the line holds more than can be kept of it"
	}
	return "the line is no JSON record"
}

// text yields the values of one file from an offset on: whole lines, and behind
// the last newline what is a whole object, for that cannot grow.
type text struct {
	f     *os.File
	stamp reader.Stamp
	form  form
	dec   *zstd.Decoder
	taken *counter // of the compressed file
	lines *jsonl.Lines
	x     jsonl.Index // of the latest line

	queue []value
	first [1]value // room for the queue
	at    int64    // behind the latest value, or behind its line if it was the last one there
	after int64    // what at becomes when the queue is empty
	line  int64
	ended bool
	bytes int64  // of the file that were parsed
	torn  string // why a compressed file ended before its end
	early bool   // because the rest is not there
}

// openText opens a file at an offset of its text; limit bounds how much text is
// given, -1 is all there is.
func openText(path string, offset, line, limit int64) (*text, error) {
	f, stamp, err := reader.OpenRegular(path)
	if err != nil {
		return nil, err
	}
	t := &text{f: f, stamp: stamp, form: formOf(path), at: offset, after: offset, line: line}
	switch t.form {
	case document:
		err = t.openDocument(path)
	case packed:
		err = t.openPacked(limit)
	default:
		end := stamp.Size
		if limit >= 0 {
			end = min(end, limit)
		}
		t.lines = jsonl.NewLines(io.NewSectionReader(f, offset, max(0, end-offset)), kept())
		t.lines.Reset(io.NewSectionReader(f, offset, max(0, end-offset)), offset)
	}
	if err != nil {
		t.close()
		return nil, err
	}
	return t, nil
}

func (t *text) openPacked(limit int64) error {
	var err error
	t.taken = &counter{in: t.f}
	t.dec, err = zstd.NewReader(t.taken,
		zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxWindow(maxWindow))
	if err != nil {
		return err
	}
	t.bytes = t.stamp.Size
	in := reader.NewInflation().Reader(t.dec, t.stamp.Size)
	if limit >= 0 {
		in = io.LimitReader(in, limit)
	}
	if _, err := io.CopyN(io.Discard, in, t.at); err != nil {
		t.ended = true // it is shorter than it was, or damaged
	}
	t.lines = jsonl.NewLines(in, kept())
	t.lines.Reset(in, t.at)
	return nil
}

func (t *text) openDocument(path string) error {
	if t.stamp.Size > maxDocument {
		return reader.Unreadable(path, 0, 0, "the document is larger than %d bytes", maxDocument)
	}
	all, err := io.ReadAll(io.LimitReader(t.f, maxDocument))
	if err != nil {
		return err
	}
	start := jsonl.SkipSpace(all, 0)
	if !jsonl.Valid(all) || !jsonl.IsObject(all[start:]) {
		return reader.Unreadable(path, 0, 0, "the document is no JSON object")
	}
	t.ended = true
	add := func(v []byte) {
		// Slices of one array: the capacities tell where.
		from := int64(cap(all) - cap(v))
		t.queue = append(t.queue, value{text: v, start: from, end: from + int64(len(v)), none: !jsonl.IsObject(v)})
	}
	if v := jsonl.Field(all[start:], "session"); v != nil {
		add(v)
	}
	if items := jsonl.Field(all[start:], "items"); jsonl.IsArray(items) {
		c := jsonl.Enter(items)
		for v, ok := c.Element(); ok; v, ok = c.Element() {
			add(v)
		}
	}
	for i := range t.queue {
		t.queue[i].line = int64(i + 1)
	}
	for len(t.queue) > 0 && t.queue[0].start < t.at {
		t.queue = t.queue[1:]
	}
	t.after = max(t.at, t.stamp.Size)
	t.bytes = t.stamp.Size
	return nil
}

// counter counts the bytes that were read.
type counter struct {
	in io.Reader
	n  int64
}

func (c *counter) Read(p []byte) (int, error) {
	n, err := c.in.Read(p)
	c.n += int64(n)
	return n, err
}

// tear says where a compressed file ended before its end: behind the last whole
// line. What is not decoded is counted as it lies in the file.
func (t *text) tear(k int) *reader.Skip {
	rest := t.stamp.Size - t.taken.n
	if rest <= 0 {
		rest = -1 // all was taken in and could not be decoded: how much it held is not known
	}
	return &reader.Skip{
		Place: session.Place{Part: int64(k), Offset: t.at}, Line: t.line + 1, Length: t.lines.Rest(),
		Rest: rest, Reason: t.torn,
	}
}

// extent is how much of the file lies before an offset of its text: of a file
// that only makes sense as a whole, all.
func (t *text) extent(offset int64) int64 {
	if t.form == plain {
		return offset
	}
	return t.stamp.Size
}

func (t *text) close() {
	if t.dec != nil {
		t.dec.Close()
	}
	t.f.Close()
}

// next returns the next value, or io.EOF at the end of what is complete.
func (t *text) next(ctx context.Context) (value, error) {
	if err := ctx.Err(); err != nil {
		return value{}, err
	}
	for len(t.queue) == 0 {
		if t.ended {
			return value{}, io.EOF
		}
		if err := t.more(); err != nil {
			return value{}, err
		}
	}
	v := t.queue[0]
	t.queue = t.queue[1:]
	end := v.end
	if len(t.queue) == 0 {
		end = t.after
	}
	t.move(end)
	return v, nil
}

func (t *text) move(to int64) {
	if t.form == plain {
		t.bytes += to - t.at
	}
	t.at = to
}

// more queues the values of the next line.
func (t *text) more() error {
	l, err := t.lines.Next()
	switch {
	case err == nil:
		t.line++
		t.after = l.End
		t.split(l)
		if len(t.queue) == 0 {
			t.move(l.End) // blank
		}
		return nil
	case errors.Is(err, io.EOF):
		t.ended = true
		t.unfinished()
		return nil
	case t.form == packed:
		t.ended, t.torn = true, "the compressed stream is damaged"
		if errors.Is(err, reader.ErrInflated) {
			t.torn = err.Error()
		}
		if t.early = errors.Is(err, io.ErrUnexpectedEOF); t.early {
			t.torn = "the compressed stream ends early"
		}
		return nil
	}
	return err
}

// padding is what may stand around a record without being part of one; power
// failures leave NUL.
const padding = "\x00 \t\r\n"

// bom is what some editors put before a file's first line.
const bom = "\xEF\xBB\xBF"

// split takes a line apart that should be one value, and may be several or none.
func (t *text) split(l jsonl.Line) {
	long := l.End-l.Start > int64(kept().Line)
	if long {
		// What was clipped has no offsets within.
		v := value{text: bytes.Trim(l.Text, padding), start: l.Start, end: l.End - 1, line: t.line, clipped: l.Clipped, full: l.Full, x: &t.x}
		v.none = l.Full || !t.x.Valid(v.text) || !jsonl.IsObject(v.text)
		t.queue = append(t.first[:0], v)
		return
	}
	t.queue = t.first[:0]
	line, start := l.Text, l.Start
	if start == 0 && bytes.HasPrefix(line, []byte(bom)) {
		line, start = line[len(bom):], int64(len(bom))
	}
	values, rest := t.x.Values(line)
	t.place(line, start, values, rest)
}

func (t *text) place(line []byte, start int64, values [][]byte, rest []byte) {
	at := 0
	add := func(v []byte, none bool) {
		at += len(line[at:]) - len(bytes.TrimLeft(line[at:], padding))
		t.queue = append(t.queue, value{
			text: v, start: start + int64(at), end: start + int64(at+len(v)), line: t.line, none: none, x: &t.x,
		})
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
func (t *text) unfinished() {
	tail, whole := t.lines.Unfinished()
	if !whole {
		return
	}
	start := t.lines.Offset()
	values, _ := t.x.Values(tail)
	n := 0
	for n < len(values) && jsonl.IsObject(values[n]) {
		n++
	}
	if n == 0 {
		return
	}
	t.line++
	t.place(tail, start, values[:n], nil)
	t.after = t.queue[n-1].end
}

// raw reads the bytes of a value again, as they stand.
func raw(path string, v *value) ([]byte, error) {
	if !v.clipped && !(v.none && len(v.text) == 0) {
		return append([]byte(nil), v.text...), nil
	}
	f, _, err := reader.OpenRegular(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var in io.Reader = io.NewSectionReader(f, v.start, v.end-v.start)
	if formOf(path) == packed {
		dec, err := zstd.NewReader(f,
			zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxWindow(maxWindow))
		if err != nil {
			return nil, err
		}
		defer dec.Close()
		if _, err := io.CopyN(io.Discard, dec, v.start); err != nil {
			return nil, fmt.Errorf("reading %s again: %w", path, err)
		}
		in = dec
	}
	all, err := reader.Room(path, v.start, v.end)
	if err != nil {
		return nil, err
	}
	if _, err := io.ReadFull(in, all); err != nil {
		return nil, fmt.Errorf("reading %s again: %w", path, err)
	}
	return bytes.Trim(all, padding), nil
}
