package cursor

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/yorehq/yore/fault"
	"github.com/yorehq/yore/reader"
	"github.com/yorehq/yore/reader/readertest"
	"github.com/yorehq/yore/session"
)

// plainText is a transcript as releases before the one with JSON lines wrote it.
const plainText = `user:
<user_query>
What does this mean?
assistant:
it is a quotation
</user_query>

assistant:
[Thinking] The user asks.

I look.
[Tool call] Shell
  command: ls
  cwd: /x

[Tool result] Shell
a
b

Two files.

user:
Thanks
`

const plainJSON = `{"id":"x","messages":[
 {"role":"user","content":"<timestamp>Friday, Sep 18, 2026, 9:02 PM (UTC-7)</timestamp>\n<user_query>\nFix it\n</user_query>"},
 {"role":"assistant","message":{"content":[{"type":"text","text":"I look."},{"type":"tool_use","id":"t","name":"Shell","input":{"command":"ls"}}]}},
 {"role":"user","content":[{"type":"tool_result","tool_use_id":"t","content":"a"}]}
]}
`

// Transcripts of earlier releases, read by hand.
func TestPlain(t *testing.T) {
	root := home(t, map[string]string{dir + "t1.txt": plainText, dir + "j1/j1.json": plainJSON, dir + "none.txt": "no transcript\n", dir + "none.json": `{"a":1}`})
	changed := time.UnixMilli(born)
	if err := os.Chtimes(filepath.Join(root, filepath.FromSlash(dir), "t1.txt"), changed, changed); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string][]string{
		dir + "t1.txt": {
			"0 user/message |What does this mean?\nassistant:\nit is a quotation =What does this mean? assistant: it is a quotation",
			"0 assistant/message |I look. |Two files.",
			"0 tool/call #call-1 Shell|command: ls\n  cwd: /x",
			"0 tool/result #call-1 |a\nb",
			"0 user/message |Thanks",
		},
		dir + "j1/j1.json": {
			"-6209480000 user/message |Fix it =Fix it",
			"-6209480000 assistant/message |I look.",
			`-6209480000 tool/call #t Shell|{"command":"ls"}`,
			"-6209480000 tool/result #t |a",
		},
	} {
		src := sourceOf(t, root, name)
		events, tail, err := readertest.ReadFrom(New(), src, reader.Position{})
		if diff := cmp.Diff(want, lines(events)); diff != "" || err != nil {
			t.Errorf("%s: %v (-want +got):\n%s", name, err, diff)
		}
		seq := int64(0)
		h, err := New().Window(context.Background(), src, session.Checkpoint{}, 1, 2, session.Every(), func(r session.Raw) error {
			if seq++; r.Event.Seq != seq || len(r.Native) == 0 {
				t.Errorf("%s: event %d has %d bytes", name, r.Event.Seq, len(r.Native))
			}
			return nil
		})
		if err != nil || seq != 2 || h != src.Header {
			t.Errorf("%s: a window of %d, %+v, %v", name, seq, h, err)
		}
		readertest.Stop(t, New(), src)
		readertest.Cancel(t, New(), src)
		expect := func(what string, want reader.Revision) {
			t.Helper()
			if got, _, err := New().Revise(context.Background(), src, tail.Position); got != want || err != nil {
				t.Errorf("%s, %s: %d, %v", name, what, got, err)
			}
		}
		expect("the same", reader.Unchanged)
		text, _ := os.ReadFile(src.Path)
		if err := os.WriteFile(src.Path, append(text, "\nassistant:\nmore\n"...), 0o600); err != nil {
			t.Fatal(err)
		}
		expect("longer", reader.Replaced)
		os.Remove(src.Path)
		expect("away", reader.Gone)
	}
	for _, empty := range []string{"none.txt", "none.json"} {
		if _, err := New().Identify(context.Background(), root, filepath.Join(root, filepath.FromSlash(dir), empty)); !errors.Is(err, reader.ErrPending) {
			t.Errorf("%s: %v", empty, err)
		}
	}
}

// A transcript that tells no time is of the time of its latest change: it is read
// anew when it grows, and never of 1970.
func TestUndated(t *testing.T) {
	const line = `{"role":"user","content":"Go"}` + "\n"
	root := home(t, map[string]string{name: line, ".config/x": ""})
	path := filepath.Join(root, filepath.FromSlash(name))
	set := func(ms int64) {
		if err := os.Chtimes(path, time.UnixMilli(ms), time.UnixMilli(ms)); err != nil {
			t.Fatal(err)
		}
	}
	set(born)
	src := sourceOf(t, root, name)
	events, tail, err := readertest.ReadFrom(New(), src, reader.Position{})
	if src.Header.CreatedAt != born || err != nil || events[0].Time != born {
		t.Fatalf("%+v, %v", src.Header, err)
	}
	if err := os.WriteFile(path, []byte(line+line), 0o600); err != nil {
		t.Fatal(err)
	}
	set(born + 5000)
	if got, _, err := New().Revise(context.Background(), src, tail.Position); got != reader.Replaced || err != nil {
		t.Errorf("grown: %d, %v", got, err)
	}
	if h, err := New().Window(context.Background(), src, session.Checkpoint{}, 0, 0, session.Every(), func(session.Raw) error { return nil }); h != src.Header || err != nil {
		t.Errorf("a window of what has grown: %+v, %v", h, err)
	}
}

// Where nothing beside a transcript states its folder, the workspaces that the
// editor knows do, if only one of them has the project's name.
func TestFolderOfProject(t *testing.T) {
	const storage = ".config/Cursor/User/workspaceStorage/"
	base := home(t, map[string]string{
		".cursor/" + name: talk, ".cursor/projects/c-Users-dev-x/agent-transcripts/w.jsonl": talk, ".cursor/projects/a-b/agent-transcripts/two.jsonl": talk,
		storage + "1/workspace.json": `{"folder":"file:///home/dev/my%20proj"}`, storage + "2/workspace.json": `{"folder":"file:///c%3A/Users/dev/x"}`,
		storage + "3/workspace.json": `{"folder":"file:///a/b"}`, storage + "4/workspace.json": `{"folder":"file:///a-b"}`, storage + "5/workspace.json": `{"workspace":"file:///x"}`,
	})
	root := filepath.Join(base, ".cursor")
	for rel, want := range map[string]string{
		name: "/home/dev/my proj", "projects/c-Users-dev-x/agent-transcripts/w.jsonl": `C:\Users\dev\x`, "projects/a-b/agent-transcripts/two.jsonl": "",
	} {
		if got := sourceOf(t, root, rel).Header.Cwd; got != want {
			t.Errorf("%s: %q, want %q", rel, got, want)
		}
	}
}

// Any text is a transcript or none, and its numbers do not depend on where a read began.
func FuzzPlain(f *testing.F) {
	f.Add([]byte(plainText), true)
	f.Add([]byte(plainJSON), false)
	f.Fuzz(func(t *testing.T, text []byte, isText bool) {
		file := dir + "x.json"
		if isText {
			file = dir + "x.txt"
		}
		root := home(t, map[string]string{file: string(text)})
		path := filepath.Join(root, filepath.FromSlash(file))
		h, err := New().Identify(context.Background(), root, path)
		if err != nil {
			if _, ok := fault.Of(err); !ok && !errors.Is(err, reader.ErrPending) {
				t.Errorf("a failure without a code: %v", err)
			}
			return
		}
		src := reader.Source{Agent: session.Cursor, Root: root, Path: path, Header: h}
		readsInPieces(t, New(), src)
	})
}

// readsInPieces checks that a session stopped at any event goes on there.
func readsInPieces(t *testing.T, r reader.Reader, src reader.Source) {
	t.Helper()
	all, _, err := readertest.ReadFrom(r, src, reader.Position{})
	if err != nil {
		t.Fatal(err)
	}
	var fold session.Fold
	for i := range all {
		if _, err := fold.Apply(&all[i]); err != nil {
			t.Fatal(err)
		}
	}
	var got []session.Event
	var at reader.Position
	for range len(all) + 1 {
		tail, err := r.Read(context.Background(), src, at, func(ev session.Event) error {
			got = append(got, ev)
			return reader.ErrStop
		})
		if err != nil {
			t.Fatal(err)
		}
		at = tail.Position
	}
	if diff := cmp.Diff(lines(all), lines(got)); diff != "" {
		t.Errorf("one by one (-at once +one by one):\n%s", diff)
	}
}

// A database of any values gives sessions or problems.
func FuzzComposer(f *testing.F) {
	f.Add([]byte(`{"createdAt":1796000000000,"name":"x","fullConversationHeadersOnly":[{"bubbleId":"b"},{"bubbleId":"c"}]}`), []byte(`{"type":1,"text":"x"}`), []byte(`{"type":2,"toolFormerData":{"name":"n","status":"completed","result":"r"}}`))
	f.Add([]byte(`{"conversation":[{"type":1,"text":"x"},{"type":2}]}`), []byte(`{`), []byte(``))
	f.Add([]byte(`{"createdAt":-1,"workspaceIdentifier":{"id":"..","uri":"file:///x"},"fullConversationHeadersOnly":[{"bubbleId":"b"}]}`), []byte(`[]`), []byte(`{"type":9}`))
	f.Fuzz(func(t *testing.T, composer, one, two []byte) {
		e := newEditor(t)
		e.put("composerData:id", string(composer))
		e.put("bubbleId:id:b", string(one))
		e.put("bubbleId:id:c", string(two))
		for _, l := range e.list() {
			if l.Problem == nil {
				readsInPieces(t, e.reader(), reader.Source{Agent: session.Cursor, Root: e.root, Path: reader.PartPath(e.path, l.Name), Header: l.Header})
			}
		}
	})
}
