package codex

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/yorehq/yore/fault"
	"github.com/yorehq/yore/reader"
	"github.com/yorehq/yore/reader/readertest"
	"github.com/yorehq/yore/session"
)

// A log of any bytes is read without a failure once it has a header, folds, and
// reads the same in two pieces and by windows.
func FuzzLog(f *testing.F) {
	f.Add([]byte(lines(append([]string{metaLine(idA, "")}, talk...)...)), 200)
	f.Add([]byte(lines(append(append([]string{metaLine(idA, "")}, talk...), compacted(7, "sum", userItem("u3", "second"), userItem("s", "sum")))...)), 900)
	f.Add([]byte(lines(append([]string{metaLine(idA, ""), eventLine(1, `{"type":"thread_rolled_back","num_turns":1}`)}, talk...)...)), 300)
	f.Add([]byte(lines(append(append([]string{metaLine(idA, "")}, talk...), compacted(7, "sum", userItem("u3", "second"), userItem("s", "sum")),
		eventLine(8, `{"type":"task_started"}`), itemLine(8, userItem("", "third")), eventLine(9, `{"type":"thread_rolled_back","num_turns":1}`),
		itemLine(9, userItem("", "fourth")), eventLine(10, `{"type":"thread_rolled_back","num_turns":3}`), itemLine(11, userItem("", "fifth")))...)), 1900)
	f.Add([]byte(lines(`{"id":"`+idA+`","timestamp":"2025-06-01T10:00:00Z"}`, userItem("", "hello"))), 80)
	f.Add([]byte(lines(segmentB()...)), 10)
	f.Fuzz(func(t *testing.T, content []byte, cut int) {
		root := home(t, map[string]string{rollout(idA): string(content)})
		path := filepath.Join(root, rollout(idA))
		h, err := New().Identify(context.Background(), root, path)
		if err != nil {
			if _, ok := fault.Of(err); !ok && !errors.Is(err, reader.ErrPending) {
				t.Errorf("a failure without a code: %v", err)
			}
			return
		}
		src := reader.Source{Agent: session.Codex, Root: root, Path: path, Header: h}
		events, _ := readAll(t, src)
		surface(t, events)
		if h.SeedLength > int64(len(events)) {
			t.Errorf("%d events, of which %d are inherited", len(events), h.SeedLength)
		}
		cut = max(0, min(cut, len(content)))
		write := func(content []byte) {
			if err := os.WriteFile(path, content, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		write(content[:cut])
		// A file whose header is still to come is not read; the workspace may come
		// later than the rest of the header.
		early, err := New().Identify(context.Background(), root, path)
		if err == nil && (early.ID != h.ID || early.CreatedAt != h.CreatedAt) {
			t.Errorf("the header was %+v and is %+v", early, h)
		}
		part := src
		part.Header = early
		var first []session.Event
		var half reader.Tail
		if err == nil {
			first, half, err = readertest.ReadFrom(New(), part, reader.Position{})
		}
		write(content)
		if err == nil {
			rest, _, err := readertest.ReadFrom(New(), src, half.Position)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(events, append(first, rest...)); diff != "" {
				t.Errorf("in two pieces (-at once +in pieces):\n%s", diff)
			}
		}
		for i := 0; i < len(events); i += 1 + len(events)/5 {
			e := events[i]
			_, err := New().Window(context.Background(), src, session.Checkpoint{Seq: e.Seq, Place: e.Place}, e.Seq, e.Seq, session.Every(), func(raw session.Raw) error {
				if diff := cmp.Diff(e, raw.Event); diff != "" || len(raw.Native) == 0 {
					t.Errorf("window %d (-read +window):\n%s", e.Seq, diff)
				}
				return nil
			})
			if err != nil {
				t.Errorf("window %d: %v", e.Seq, err)
			}
		}
	})
}

// A position's state may be anything: it is refused or read on from, never a panic.
func FuzzState(f *testing.F) {
	root := home(f, map[string]string{rollout(idA): lines(parent()...), rollout(idA, idB): lines(segmentB()...)})
	src := source(f, root, rollout(idA, idB))
	_, tail := readAll(f, src)
	f.Add([]byte(tail.Position.State), int64(7), int64(100))
	f.Add([]byte(`{"parts":[{"path":"x"}],"known":true,"surface":"AQAB"}`), int64(0), int64(0))
	f.Fuzz(func(t *testing.T, state []byte, next, offset int64) {
		at := reader.Position{Next: next, Offset: offset, State: state}
		_, _, err := readertest.ReadFrom(New(), src, at)
		if _, ok := fault.Of(err); err != nil && !ok && !errors.Is(err, os.ErrNotExist) && !strings.Contains(err.Error(), "no plain file") {
			t.Logf("refused: %v", err)
		}
		if _, _, err := New().Revise(context.Background(), src, at); err != nil {
			t.Logf("refused: %v", err)
		}
	})
}

func FuzzSurface(f *testing.F) {
	f.Add("")
	f.Add(packSurface([]node{{seq: 3, user: true, id: 7}, {seq: 1, human: true, content: 9}}))
	f.Fuzz(func(t *testing.T, text string) {
		list, ok := unpackSurface(text)
		if !ok || len(list) == 0 {
			return
		}
		again, ok := unpackSurface(packSurface(list))
		if !ok || !cmp.Equal(list, again, cmp.AllowUnexported(node{})) {
			t.Errorf("%q: %+v becomes %+v", text, list, again)
		}
	})
}
