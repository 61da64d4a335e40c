package dsh

import (
	"context"
	"errors"
	"io"

	"github.com/yorehq/yore/reader"
	"github.com/yorehq/yore/reader/jsonl"
	"github.com/yorehq/yore/session"
)

// tear is a line that is not the next record: the log ends before it, unless a
// turn ends behind it. How far the end of a turn was looked for is kept, so that
// a log that grows behind a tear costs what is new.
type tear struct {
	Length int64  `json:"length"` // of the line, in bytes of text
	Reason string `json:"reason"`
	Looked int64  `json:"looked"` // offset of a line of a raw file, or of a frame: nothing before it ends a turn
	Rest   int64  `json:"rest"`   // bytes of text between the line and Looked
	Check  uint64 `json:"check"`  // over the bytes from the position's offset to Looked
}

// same reports whether what was looked at is unchanged, the line itself
// included; offset is that of the position before it. Of no tear nothing is.
func (t *tear) same(f io.ReaderAt, offset, size int64) (bool, error) {
	if t == nil || t.Looked <= offset || t.Looked > size {
		return false, nil
	}
	check, err := t.checkOf(f, offset)
	return check == t.Check, err
}

func (t *tear) checkOf(f io.ReaderAt, offset int64) (uint64, error) {
	length := t.Looked - offset
	return reader.CheckBefore(io.NewSectionReader(f, offset, length), length)
}

// behindTear looks for the end of a turn in what s gives, which lies behind a
// line at which the log ends; at is the place before that line.
func (d *Decoder) behindTear(ctx context.Context, s *source, at mark, t tear) (reader.Tail, error) {
	place := session.Place{Offset: at.offset, Inner: at.inner}
	rest := t.Rest
	x := new(jsonl.Index)
	for {
		rec, err := s.next(ctx)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return reader.Tail{}, err
		}
		if rec.before.inner == 0 {
			t.Looked, t.Rest = rec.before.offset, rest
		}
		rest += rec.End - rec.Start
		if e, bad := parseEnvelope(x, rec.Text); bad == nil && jsonl.Is(e.typ, session.TurnEnd) {
			return reader.Tail{}, torn(t.Reason+", and a turn ends behind it").problem(s.path, d.st.Line+1, at.offset)
		}
	}
	if s.at.inner == 0 {
		t.Looked, t.Rest = s.at.offset, rest
	}
	tail := d.finish(s, at)
	tail.Skips = []reader.Skip{{
		Place: place, Line: d.st.Line + 1, Length: t.Length, Rest: rest + s.lines.Rest(), Reason: t.Reason,
	}}
	if t.Looked > at.offset {
		d.st.Tear = &t
	}
	return tail, nil
}
