package pitree

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/yorehq/yore/reader"
	"github.com/yorehq/yore/reader/linelog"
	"github.com/yorehq/yore/reader/readertest"
	"github.com/yorehq/yore/session"
)

// entries makes a log of a plan: four bytes choose what an entry is, its id, what
// it hangs on and what it names. Ids are few, so that entries come twice, hang on
// themselves and on later ones, and name what is not there.
func entries(plan []byte) string {
	var b strings.Builder
	for n := 0; len(plan) >= 4; plan, n = plan[4:], n+1 {
		named := func(c byte) string {
			switch c %= 16; {
			case c == 0:
				return "null"
			case c < 12:
				return fmt.Sprintf(`"e%d"`, c)
			}
			return fmt.Sprintf(`"e%d"`, max(0, n-int(c)+11)) // one of the latest
		}
		id := fmt.Sprintf("e%d", n)
		if plan[1]%4 == 0 {
			id = fmt.Sprintf("e%d", plan[1]%12)
		}
		other := named(plan[3])
		fmt.Fprintf(&b, `{"id":%q,"parentId":%s,"timestamp":"2026-09-21T13:13:20.000Z",`, id, named(plan[2]))
		switch plan[0] % 16 {
		case 0, 1, 2:
			fmt.Fprintf(&b, `"type":"message","message":{"role":"user","content":"u%d"}}`, n)
		case 3, 4:
			fmt.Fprintf(&b, `"type":"message","message":{"role":"assistant","content":[{"type":"text","text":"a%d"},{"type":"toolCall","id":"c","name":"n","arguments":{}}]}}`, n)
		case 5:
			fmt.Fprintf(&b, `"type":"message","message":{"role":"toolResult","toolCallId":"c","content":[{"type":"text","text":"r%d"}]}}`, n)
		case 6:
			b.WriteString(`"type":"message","message":{"role":"assistant","stopReason":"aborted","content":[]}}`)
		case 7:
			fmt.Fprintf(&b, `"type":"compaction","summary":"s%d","firstKeptEntryId":%s}`, n, other)
		case 8:
			fmt.Fprintf(&b, `"type":"compaction","summary":"s%d","firstKeptEntryIndex":%d}`, n, int(plan[3])-3)
		case 9:
			fmt.Fprintf(&b, `"type":"context_edit","targetId":%s,"replacement":null}`, other)
		case 10:
			fmt.Fprintf(&b, `"type":"context_edit","targetId":%s,"replacement":{"content":"x%d"}}`, other, n)
		case 11:
			fmt.Fprintf(&b, `"type":"branch_summary","summary":"b%d"}`, n)
		case 12:
			fmt.Fprintf(&b, `"type":"leaf","targetId":%s,"appendParentId":%s}`, other, named(plan[3]>>4))
		case 13:
			fmt.Fprintf(&b, `"type":"reset","firstKeptEntryId":%s}`, other)
		case 14:
			fmt.Fprintf(&b, `"type":"message","appendMode":"side","message":{"role":"user","content":"aside%d"}}`, n)
		default:
			b.WriteString(`"type":"plugin"}`)
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// Whatever a tree looks like: its events fold to the surface that the tree itself
// has in the end, reading on gives what reading at once gives, and so do windows.
func FuzzTree(f *testing.F) {
	f.Add([]byte("\x00\x01\x00\x00\x03\x01\x0c\x00\x07\x01\x0c\x01\x00\x01\x0c\x00"), 5, false)
	f.Add([]byte("\x00\x01\x00\x00\x03\x01\x0c\x00\x0a\x01\x0c\x01\x0c\x01\x0c\x01\x00\x01\x0c\x00\x0d\x01\x0c\x02\x00\x01\x01\x00"), 9, true)
	f.Add([]byte("\x00\x04\x04\x00\x07\x04\x04\x04\x0f\x00\x01\x00\x00\x01\x08\x00\x03\x04\x04\x00\x0a\x04\x04\x04"), 3, false)
	f.Add([]byte("\x00\x04\x04\x04\x07\x04\x04\x04\x09\x08\x04\x04\x0e\x01\x0c\x0f\x0c\x01\x02\x21"), 2, true)
	f.Fuzz(func(t *testing.T, plan []byte, cut int, steered bool) {
		if len(plan) > 400 {
			return
		}
		log := entries(plan)
		path := filepath.Join(t.TempDir(), "x.jsonl")
		src := reader.Source{Root: filepath.Dir(path), Path: path}
		var made []*Decoder
		format := &linelog.Format{
			New: func(reader.Source) linelog.Decoder {
				d := New("x")
				if steered {
					d = NewSteered("x")
				}
				made = append(made, d)
				return d
			},
			Identify: func(context.Context, io.ReaderAt, int64, string, string) (session.Header, error) {
				return session.Header{}, nil
			},
			Block: Block,
		}
		read := func(from reader.Position) (all []session.Event, tail reader.Tail) {
			tail, err := format.Read(t.Context(), src, from, func(e session.Event) error {
				e.Resume, e.Breaks = "", false
				all = append(all, e)
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
			return all, tail
		}
		write := func(text string) {
			file, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
			if err == nil {
				_, err = file.WriteString(text)
				file.Close()
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		write(log)
		all, tail := read(reader.Position{})
		var fold session.Fold
		for i := range all {
			if _, err := fold.Apply(&all[i]); err != nil {
				t.Fatalf("event %d of\n%s%v", i, log, err)
			}
		}
		if got := made[len(made)-1].tree.surface; len(made) != 1 || !slices.Equal(got, fold.Surface()) {
			t.Fatalf("of\n%sthe tree has %v, the events fold to %v", log, got, fold.Surface())
		}
		seen := int64(0)
		if _, err := format.Window(t.Context(), src, session.Checkpoint{}, 0, session.MaxSafe, session.Every(), func(raw session.Raw) error {
			if raw.Event.Seq != seen || len(raw.Native) == 0 {
				t.Errorf("event %d stands at %d, with %d bytes", raw.Event.Seq, seen, len(raw.Native))
			}
			seen++
			return nil
		}); err != nil || seen != tail.Position.Next {
			t.Errorf("%d of %d events in a window: %v", seen, tail.Position.Next, err)
		}
		write(log[:max(0, min(len(log), cut*16))])
		first, half := read(reader.Position{})
		write(log)
		rest, _ := read(half.Position)
		if diff := cmp.Diff(readertest.Outline(all), readertest.Outline(append(first, rest...))); diff != "" {
			t.Errorf("of\n%s(-at once +in pieces):\n%s", log, diff)
		}
	})
}
