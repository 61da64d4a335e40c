package copilot

import (
	"context"
	"errors"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/yorehq/yore/fault"
	"github.com/yorehq/yore/reader"
	"github.com/yorehq/yore/reader/readertest"
	"github.com/yorehq/yore/session"
)

// A document of any messages and any timeline is read without a failure once it
// states a session, folds, reads the same by windows, each event with bytes of its
// own, and gives the same events when a log has imported it.
func FuzzDocument(f *testing.F) {
	f.Add(asked+","+answered, onScreen)
	f.Add(`{"role":"assistant","tool_calls":[{"id":"c","function":{"name":"bash","arguments":"{}"}},7]},{"role":"tool","tool_call_id":"c","content":["x",{"type":"text","text":"y"}]}`,
		`{"type":"tool_call_completed","callId":"c","result":{"type":"failure"},"timestamp":"x"}`)
	f.Add(`{},[],7,null,"x"`, `7,{"type":"error"}`)
	f.Fuzz(func(t *testing.T, messages, timeline string) {
		src, ok := identified(t, former, formerly(messages, timeline))
		if !ok {
			return
		}
		events, _ := readAll(t, src)
		readertest.Surface(t, events)
		for i := range events {
			e := events[i]
			_, err := New().Window(context.Background(), src, session.Checkpoint{Seq: e.Seq, Place: e.Place}, e.Seq, e.Seq, session.Every(), func(raw session.Raw) error {
				if diff := cmp.Diff(e, raw.Event); diff != "" || len(raw.Native) == 0 || len(events) > 1 && string(raw.Native) == formerly(messages, timeline) {
					t.Errorf("window %d, %d bytes (-read +window):\n%s", e.Seq, len(raw.Native), diff)
				}
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
		}
		for _, c := range messages + timeline {
			if c == '\n' || c == '\r' || c == 0 {
				return // a log's record is one line
			}
		}
		log, ok := identified(t, stateDir+"/"+id+".jsonl", lines(first, event(1, "session.import_legacy", `{"legacySession":`+formerly(messages, timeline)+`}`)))
		if !ok {
			t.Fatal("the log is no session")
		}
		imported, _ := readAll(t, log)
		if diff := cmp.Diff(outlineOf(events), outlineOf(imported[2:])); diff != "" {
			t.Errorf("imported (-document +log):\n%s", diff)
		}
	})
}

// outlineOf is what events say, without their numbers.
func outlineOf(events []session.Event) (all []string) {
	for i := range events {
		all = append(all, events[i].Type+" "+readertest.Said(&events[i]))
	}
	return all
}

// identified writes a file and identifies it; false: it is no session, with a code.
func identified(t *testing.T, rel, content string) (reader.Source, bool) {
	t.Helper()
	root := t.TempDir()
	path := filepath.Join(root, filepath.FromSlash(rel))
	put(t, path, content)
	h, err := New().Identify(context.Background(), root, path)
	if err != nil {
		if _, ok := fault.Of(err); !ok && !errors.Is(err, reader.ErrPending) {
			t.Errorf("a failure without a code: %v", err)
		}
		return reader.Source{}, false
	}
	return reader.Source{Agent: session.Copilot, Root: root, Path: path, Header: h}, true
}
