package opencode

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/yorehq/yore/fault"
	"github.com/yorehq/yore/reader"
	"github.com/yorehq/yore/reader/readertest"
	"github.com/yorehq/yore/session"
)

// Whatever stands in the files of a tree of either age: it is read without a failure
// once it states a session, folds, and reads the same by windows.
func FuzzTree(f *testing.F) {
	f.Add(`,"revert":{"messageID":"msg_2"}`, answered, `{"type":"text","text":"x"}`, tool("completed", `,"output":"y"`), false)
	f.Add(`,"parentID":"ses_a"`, `{"role":"assistant","summary":true,"parentID":"msg_1","time":{"completed":NOW}}`, `{"type":"compaction","auto":true}`, `{"type":"subtask","prompt":"p"}`, true)
	f.Add(``, `{"role":"user","parts":[{"type":"text","text":"old"},7,{"type":"tool-invocation"}]}`, `{"type":"file","mime":"image/png","url":"data:,x"}`, `[`, true)
	f.Fuzz(func(t *testing.T, more, message, one, two string, old bool) {
		for _, text := range []string{more, message, one, two} {
			if len(text) > 4<<10 || strings.ContainsAny(text, "\x00") {
				return
			}
		}
		form := inStorage
		if old {
			form = inProject
		}
		g := newGrove(t, form)
		path := g.session("ses_a", more)
		g.user("ses_a", "msg_1", "first")
		g.message("ses_a", "msg_2", message, one, two)
		g.message("ses_a", "msg_3", answered, two, one)
		h, err := g.r.Identify(context.Background(), g.root, path)
		if err != nil {
			if _, ok := fault.Of(err); !ok && !errors.Is(err, reader.ErrPending) {
				t.Errorf("a failure without a code: %v", err)
			}
			return
		}
		src := reader.Source{Agent: session.OpenCode, Root: g.root, Path: path, Header: h}
		events, tail, err := readertest.ReadFrom(g.r, src, reader.Position{})
		if err != nil {
			t.Fatal(err)
		}
		readertest.Surface(t, events)
		if again, _, err := g.r.Revise(context.Background(), src, tail.Position); err != nil || again != reader.Unchanged {
			t.Errorf("nothing changed, and it is %d, %v", again, err)
		}
		for i := range events {
			e := events[i]
			_, err := g.r.Window(context.Background(), src, session.Checkpoint{Seq: e.Seq, Place: e.Place}, e.Seq, e.Seq, session.Every(), func(raw session.Raw) error {
				if diff := cmp.Diff(e, raw.Event); diff != "" {
					t.Errorf("window %d (-read +window):\n%s", e.Seq, diff)
				}
				return nil
			})
			if err != nil {
				t.Fatalf("window %d: %v", e.Seq, err)
			}
		}
	})
}
