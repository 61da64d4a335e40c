package qwen

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/yorehq/yore/fault"
	"github.com/yorehq/yore/reader"
	"github.com/yorehq/yore/reader/readertest"
	"github.com/yorehq/yore/session"
)

// A chat of any bytes is read without a failure once it has a header, folds, and
// reads the same in two pieces, by all that a position keeps and by the latest
// record alone.
func FuzzChat(f *testing.F) {
	f.Add([]byte(lines(user("a", "", "go"), model("b", "a", text("Yes."), calls("c1")), result("c", "b", response("c1", "one")), user("d", "a", "else"))), 300)
	f.Add([]byte(lines(user("a", "", "go"), compression("b", "a", content("user", text("go")), content("user", text("sum"))), user("c", "b", "on"), system("r", "a", "rewind", `{}`), user("a", "c", "again"))), 500)
	f.Add([]byte(lines(user("a", "", "go")+model("b", "a", text("x"))+`{"uu`, system("t", "a", "custom_title", `{"customTitle":"x"}`), user("c", "t", "on"))), 100)
	f.Fuzz(func(t *testing.T, log []byte, cut int) {
		root := home(t, map[string]string{chat: string(log)})
		path := filepath.Join(root, filepath.FromSlash(chat))
		h, err := New().Identify(context.Background(), root, path)
		if err != nil {
			if _, ok := fault.Of(err); !ok && !errors.Is(err, reader.ErrPending) {
				t.Errorf("a failure without a code: %v", err)
			}
			return
		}
		src := reader.Source{Agent: session.Qwen, Root: root, Path: path, Header: h}
		events := read(t, src)
		surface(t, events)
		if h.SeedLength > int64(len(events)) {
			t.Errorf("%d events, of which %d are inherited", len(events), h.SeedLength)
		}
		cut = max(0, min(cut, len(log)))
		if err := os.WriteFile(path, log[:cut], 0o600); err != nil {
			t.Fatal(err)
		}
		first, half, err := readertest.ReadFrom(New(), src, reader.Position{})
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, log, 0o600); err != nil {
			t.Fatal(err)
		}
		rest, _, err := readertest.ReadFrom(New(), src, half.Position)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(events, append(first, rest...)); diff != "" {
			t.Errorf("in two pieces (-at once +in pieces):\n%s", diff)
		}
		for i := 0; i < len(events); i += 1 + len(events)/5 {
			e := events[i]
			at := readertest.Checkpoints(t, New(), src)(e.Seq)
			_, err := New().Window(context.Background(), src, at, e.Seq, e.Seq, session.Every(), func(raw session.Raw) error {
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

// A state may be anything: it is refused or gone on from, never a panic.
func FuzzState(f *testing.F) {
	d := freshDecoder()
	saved, err := d.Save()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(saved)
	f.Add([]byte(`{"nodes":"AAECAwQFBgcIAAA=","leaf":0}`))
	f.Fuzz(func(_ *testing.T, state []byte) {
		if d := freshDecoder(); d.Load(state) == nil {
			_, _ = d.Save()
		}
	})
}
