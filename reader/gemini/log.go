package gemini

import (
	"context"
	"io"
	"os"

	"github.com/yorehq/yore/reader"
	"github.com/yorehq/yore/reader/jsonl"
)

// maxDocument bounds a file of the older layout, which is read as a whole.
const maxDocument = 64 << 20

// kept is what is kept of a long line. A record has depth 1, $set 2, its list of
// messages 3, a message 4, its content 5: lists may end early from there on,
// objects from depth 6 on.
func kept() jsonl.Bounds { return jsonl.Kept(5, 6) }

// log yields the records of one file.
type log struct {
	f     *os.File
	stamp reader.Stamp
	start int64 // where reading began
	lines *lineValues

	document []byte // of a file of the older layout, until it is taken
	taken    bool
	x        jsonl.Index
}

// openLog opens a file at an offset; line is how many lines begin before it. A
// document is always read from its start.
func openLog(path string, offset, line int64) (*log, error) {
	f, stamp, err := reader.OpenRegular(path)
	if err != nil {
		return nil, err
	}
	l := &log{f: f, stamp: stamp, start: offset}
	if !whole(path) {
		l.lines = newLineValues(f, offset, line, stamp.Size, kept())
		return l, nil
	}
	l.start = 0
	if err := l.openDocument(path); err != nil {
		l.close()
		return nil, err
	}
	return l, nil
}

func (l *log) openDocument(path string) error {
	if l.stamp.Size > maxDocument {
		return reader.Unreadable(path, 0, 0, "the document is larger than %d bytes", maxDocument)
	}
	all, err := io.ReadAll(io.LimitReader(l.f, maxDocument))
	if err != nil {
		return err
	}
	l.document = all[jsonl.SkipSpace(all, 0):]
	if !l.x.Valid(l.document) || !jsonl.IsObject(l.document) {
		// It is written in one go, and may be looked at meanwhile.
		return reader.Unreadable(path, 0, 0, "the document is no JSON object")
	}
	return nil
}

func (l *log) close() { l.f.Close() }

// next returns the next record, or io.EOF behind what is complete.
func (l *log) next(ctx context.Context) (value, error) {
	if l.lines != nil {
		return l.lines.Next(ctx)
	}
	if l.taken {
		return value{}, io.EOF
	}
	l.taken = true
	return value{Text: l.document, Start: 0, End: l.stamp.Size, Line: 1}, ctx.Err()
}

func (l *log) index() *jsonl.Index {
	if l.lines != nil {
		return l.lines.Index()
	}
	return &l.x
}

// at returns the offset behind which to go on, and how many lines begin before it.
func (l *log) at() (offset, line int64) {
	if l.lines != nil {
		return l.lines.At()
	}
	return l.stamp.Size, 1
}

// parsed is how many bytes were looked at.
func (l *log) parsed() int64 {
	offset, _ := l.at()
	return offset - l.start
}
