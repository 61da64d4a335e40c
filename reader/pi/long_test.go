package pi

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/yorehq/yore/reader"
	"github.com/yorehq/yore/reader/readertest"
	"github.com/yorehq/yore/session"
)

// chance makes a log of n entries with everything in it that moves the surface.
func chance(seed uint64, n int) string {
	random := rand.New(rand.NewPCG(seed, 1))
	var b strings.Builder
	b.WriteString(header + "\n")
	var path []string
	var others [][]string // paths of earlier entries
	for i := range n {
		id := fmt.Sprintf("%08x", random.Uint32())
		if random.IntN(60) == 0 && len(others) > 0 {
			path = others[random.IntN(len(others))]
		}
		parent := ""
		if len(path) > 0 {
			parent = path[len(path)-1]
		}
		switch k := random.IntN(80); {
		case k == 0 && parent != "":
			b.WriteString(entry(id, parent, "compaction", fmt.Sprintf(`,"summary":"S%d","firstKeptEntryId":"%s"`, i, path[random.IntN(len(path))])))
		case k == 1 && parent != "":
			b.WriteString(entry(id, parent, "context_edit", fmt.Sprintf(`,"targetId":"%s","replacement":null`, path[random.IntN(len(path))])))
		case k < 40:
			b.WriteString(said(id, parent, "user", fmt.Sprint("u", i)))
		default:
			b.WriteString(said(id, parent, "assistant", fmt.Sprint("a", i)))
		}
		b.WriteByte('\n')
		path = append(path[:len(path):len(path)], id)
		if random.IntN(40) == 0 {
			others = append(others, path)
		}
	}
	return b.String()
}

// Of a tree that is too large for a position only its end is kept; reading on
// gives the same, and so do windows at marks.
func TestLongLog(t *testing.T) {
	log := chance(1, 6000)
	src := source(t, log)
	want, tail := readAll(t, src, reader.Position{})
	if n := len(tail.Position.State); n > 400 {
		t.Errorf("%d bytes of state", n)
	}
	random := rand.New(rand.NewPCG(2, 2))
	var at reader.Position
	var got []session.Event
	for n := len(log) * 9 / 10; ; n = min(len(log), n+random.IntN(len(log)/40)) {
		rewrite(t, src.Path, log[:n])
		events, tail := readAll(t, src, at)
		got, at = append(got, events...), tail.Position
		if n == len(log) {
			break
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("in pieces (-at once +in pieces):\n%.2000s", diff)
	}
	readertest.Surface(t, want)
	checkpoint := readertest.Checkpoints(t, New(), src)
	for range 40 {
		from := random.Int64N(int64(len(want)))
		next := from
		_, err := New().Window(context.Background(), src, checkpoint(from), from, from+20, session.Range{}, func(r session.Raw) error {
			if diff := cmp.Diff(want[next], r.Event); diff != "" {
				t.Errorf("window at %d (-read +window):\n%s", from, diff)
			}
			next++
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if c := checkpoint(3000); c.State == "" || c.Seq < 2900 {
		t.Errorf("the mark before 3000 is %+v", c)
	}
}

// rewrite writes in place, as an agent that appends: the file keeps its identity.
func rewrite(t *testing.T, path, content string) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_TRUNC, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteString(content); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
}

// A log may hold anything: it is read to its end, its events fold, and reading in
// two pieces gives the same.
func FuzzLog(f *testing.F) {
	f.Add([]byte(lines(header, said("a", "", "user", "one"), entry("b", "a", "compaction", `,"summary":"S","firstKeptEntryId":"b"`), said("c", "a", "user", "x"))), 60)
	f.Add([]byte(lines(header, entry("a", "a", "context_edit", `,"targetId":"a","replacement":{"content":[]}`), `{"type":"session"}{"type":1}`, "null", "\x00")), 9)
	f.Add([]byte(chance(3, 30)), 2000)
	f.Fuzz(func(t *testing.T, content []byte, cut int) {
		root := t.TempDir()
		path := root + "/s.jsonl"
		put(t, path, lines(header)+string(content))
		h, err := New().Identify(context.Background(), root, path)
		if err != nil {
			t.Fatal(err)
		}
		src := reader.Source{Agent: session.Pi, Root: root, Path: path, Header: h}
		want, _ := readAll(t, src, reader.Position{})
		readertest.Surface(t, want)
		whole := lines(header) + string(content)
		rewrite(t, path, whole[:max(0, min(len(whole), cut))])
		first, tail := readAll(t, src, reader.Position{})
		rewrite(t, path, whole)
		rest, _ := readAll(t, src, tail.Position)
		if diff := cmp.Diff(want, append(first, rest...)); diff != "" && len(want) > 0 {
			t.Errorf("in two pieces (-at once +in pieces):\n%s", diff)
		}
	})
}

// The state of a position may be anything: it is refused or read on from.
func FuzzState(f *testing.F) {
	src := source(f, chance(4, 40))
	_, tail := readAll(f, src, reader.Position{})
	f.Add([]byte(tail.Position.State), int64(7), int64(100))
	f.Fuzz(func(t *testing.T, state []byte, next, offset int64) {
		if next < 0 || offset < 0 {
			return
		}
		_, _, err := readertest.ReadFrom(New(), src, reader.Position{Next: next, Offset: offset, State: state})
		if err != nil {
			t.Logf("refused: %v", err)
		}
	})
}
