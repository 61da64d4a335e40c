package gemini

import (
	"context"
	"encoding/json"
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

// A log of any bytes is read without a failure once it has a header, folds, reads
// the same in two pieces, however little is kept between them, and by windows.
func FuzzLog(f *testing.F) {
	head := headerLine(idA, 55)
	call := modelCalls("m1", "I look.", returned("c1", "one"))
	sum := user("k1", "<state_snapshot>s</state_snapshot>")
	f.Add([]byte(lines(head, user("u1", "go"), model("m1", "I look."), call, responses("r1", response("c1", "one")), model("m2", "Done."))), 300)
	f.Add([]byte(lines(head, user("u1", "go"), call, setMessages(user("u1", "go"), model("m1", "Other."), responses("x", response("c1", "masked")), user("u1", "go")))), 400)
	f.Add([]byte(lines(head, user("u1", "go"), model("m1", "a"), sum, model("k2", "ack"), user("k3", "go"), setMessages(sum, user("k3", "go")), rewindTo("k3"), rewindTo(""))), 500)
	f.Add([]byte(lines(`{"sessionId":"s","projectHash":"","messages":[`+user("u1", "x")+`]}`, `{"$set":{"summary":"t","messages":[{"id":"u1"},{"id":"u1"},7]}}`)), 90)
	f.Fuzz(func(t *testing.T, content []byte, cut int) {
		root := home(t, map[string]string{chat: string(content)})
		path := filepath.Join(root, filepath.FromSlash(chat))
		h, err := New().Identify(context.Background(), root, path)
		if err != nil {
			if _, ok := fault.Of(err); !ok && !errors.Is(err, reader.ErrPending) {
				t.Errorf("a failure without a code: %v", err)
			}
			return
		}
		src := reader.Source{Agent: session.Gemini, Root: root, Path: path, Header: h}
		events := read(t, src)
		surface(t, events)
		cut = max(0, min(cut, len(content)))
		if err := os.WriteFile(path, content[:cut], 0o600); err != nil {
			t.Fatal(err)
		}
		first, half, err := readertest.ReadFrom(New(), src, reader.Position{})
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, content, 0o600); err != nil {
			t.Fatal(err)
		}
		for _, state := range []json.RawMessage{half.Position.State, forgetful(t, half.Position)} {
			at := half.Position
			at.State = state
			rest, _, err := readertest.ReadFrom(New(), src, at)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(events, append(append([]session.Event(nil), first...), rest...)); diff != "" {
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

// forgetful makes a state that knows the last message alone.
func forgetful(t testing.TB, at reader.Position) json.RawMessage {
	d, line, err := restore(at.State, at.Next)
	if err != nil {
		t.Fatal(err)
	}
	st := state{flags: d.flags, Line: line, Seen: make(filter, minFilter), Memory: d.pack(d.list[max(0, len(d.list)-1):], false)}
	for k := range d.byID {
		st.Seen.add(k)
	}
	for k := range d.byCall {
		st.Seen.add(k)
	}
	raw, err := json.Marshal(st)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

// A position's state may be anything: it is refused or read on from, never a panic.
func FuzzState(f *testing.F) {
	src := chatOf(f, headerLine(idA, 55), user("u1", "go"), modelCalls("m1", "", returned("c1", "one")), rewindTo("u1"))
	_, tail, err := readertest.ReadFrom(New(), src, reader.Position{})
	if err != nil {
		f.Fatal(err)
	}
	f.Add([]byte(tail.Position.State), int64(2), int64(200))
	f.Add([]byte(`{"memory":"AQMA","seen":"AA=="}`), int64(0), int64(0))
	f.Fuzz(func(t *testing.T, state []byte, next, offset int64) {
		at := reader.Position{Next: max(next, 0), Offset: max(offset, 0), State: state}
		if _, _, err := readertest.ReadFrom(New(), src, at); err != nil {
			if _, ok := fault.Of(err); !ok {
				t.Errorf("a failure without a code: %v", err)
			}
		}
	})
}
