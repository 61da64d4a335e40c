package codex

import (
	"context"
	"encoding/json"
	"errors"
	"math/rand/v2"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/yorehq/yore/reader"
	"github.com/yorehq/yore/reader/readertest"
	"github.com/yorehq/yore/session"
)

// everyWay checks that a thread reads the same at once, in pieces, in pieces by
// positions that have forgotten the surface, and by windows from any event.
func everyWay(t testing.TB, src reader.Source) {
	t.Helper()
	want, whole := readAll(t, src)
	for _, forget := range []bool{false, true} {
		got, at := inPieces(t, src, forget)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("in pieces, forgetting: %v (-at once +in pieces):\n%s", forget, diff)
		}
		if at.Next != whole.Position.Next || at.Offset != whole.Position.Offset || at.Check != whole.Position.Check {
			t.Errorf("in pieces it ends at %+v, at once at %+v", at, whole.Position)
		}
	}
	for _, e := range want {
		var got []session.Event
		_, err := New().Window(context.Background(), src, session.Checkpoint{Seq: e.Seq, Place: e.Place}, e.Seq, e.Seq+3, session.Every(), func(raw session.Raw) error {
			got = append(got, raw.Event)
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want[e.Seq:min(e.Seq+4, int64(len(want)))], got); diff != "" {
			t.Fatalf("window from %d (-read +window):\n%s", e.Seq, diff)
		}
	}
}

func inPieces(t testing.TB, src reader.Source, forget bool) ([]session.Event, reader.Position) {
	t.Helper()
	random := rand.New(rand.NewPCG(7, 1))
	var all []session.Event
	var at reader.Position
	for {
		left, asked := 1+random.IntN(3), false
		tail, err := New().Read(context.Background(), src, at, func(e session.Event) error {
			all = append(all, e)
			if left--; left <= 0 {
				asked = true
				return reader.ErrStop
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		if rev, _, err := New().Revise(context.Background(), src, tail.Position); err != nil || rev != reader.Unchanged {
			t.Fatalf("behind %d events: revision %d, %v", len(all), rev, err)
		}
		at = tail.Position
		if !asked {
			return all, at
		}
		if forget {
			st, err := parseState(at.State)
			if err != nil {
				t.Fatal(err)
			}
			st.Known, st.Surface = false, ""
			if at.State, err = json.Marshal(st); err != nil {
				t.Fatal(err)
			}
		}
	}
}

func window(t testing.TB, src reader.Source, from, to int64) []session.Raw {
	t.Helper()
	var raws []session.Raw
	_, err := New().Window(context.Background(), src, session.Checkpoint{}, from, to, session.Every(), func(raw session.Raw) error {
		raws = append(raws, raw)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return raws
}

func natives(raws []session.Raw) []string {
	var out []string
	for _, r := range raws {
		out = append(out, string(r.Native))
	}
	return out
}

// grows lets a file grow in steps and checks that reading on gives what reading
// at once gives.
func grows(t testing.TB, root, rel, content string, steps ...int) []session.Event {
	t.Helper()
	var all []session.Event
	var at reader.Position
	var src reader.Source
	for _, n := range append(steps, len(content)) {
		put(t, root, rel, content[:n])
		if src.Path == "" {
			src = reader.Source{Agent: session.Codex, Root: root, Path: root + "/" + rel}
		}
		events, tail, err := readertest.ReadFrom(New(), src, at)
		if errors.Is(err, reader.ErrPending) {
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		src.Header.ID = session.ID(idA)
		all, at = append(all, events...), tail.Position
	}
	want, _ := readAll(t, src)
	if diff := cmp.Diff(want, all); diff != "" {
		t.Errorf("grown to %v (-at once +in steps):\n%s", steps, diff)
	}
	return all
}

func readFile(t testing.TB, path string) string {
	t.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}
