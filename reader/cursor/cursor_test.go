package cursor

import (
	"context"
	"errors"
	"fmt"
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

const (
	id   = "11111111-aaaa-4bbb-8ccc-000000000001"
	dir  = "projects/home-dev-my-proj/agent-transcripts/"
	name = dir + id + "/" + id + ".jsonl"
)

const talk = `{"role":"user","message":{"content":[{"type":"text","text":"<timestamp>Friday, Sep 18, 2026, 9:02 PM (UTC-7)</timestamp>\n<user_query>\nFix it\n</user_query>"}]}}
{"role":"assistant","message":{"content":[{"type":"text","text":"I look.\n\n[REDACTED]"},{"type":"tool_use","name":"Read","input":{"path":"a"}},{"type":"tool_use","id":"t2","name":"Shell","input":{"command":"ls"}}]}}
{"role":"user","message":{"content":[{"type":"tool_result","content":"one"},{"type":"tool_result","tool_use_id":"t2","content":[{"type":"text","text":"two"}],"is_error":true}]}}
{"role":"assistant","content":"Done."}
{"type":"turn_ended","status":"success"}
{"role":"system","message":{"content":"x"}}
nonsense
{"role":"user","message":{"content":"And more"}}
`

// home writes files below a root.
func home(t testing.TB, files map[string]string) string {
	t.Helper()
	root := t.TempDir()
	for name, text := range files {
		path := filepath.Join(root, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

func sourceOf(t testing.TB, root, name string) reader.Source {
	t.Helper()
	path := filepath.Join(root, filepath.FromSlash(name))
	h, err := New().Identify(context.Background(), root, path)
	if err != nil {
		t.Fatal(err)
	}
	return reader.Source{Agent: session.Cursor, Root: root, Path: path, Header: h}
}

// A transcript as independent descriptions of the format have it, read by hand.
func TestTranscript(t *testing.T) {
	root := home(t, map[string]string{name: talk, "chats/0123/" + id + "/meta.json": `{"cwd":"/home/dev/my proj","createdAtMs":1796028964271}`})
	src := sourceOf(t, root, name)
	const told = 1789790520000 // date -d '2026-09-19 04:02 UTC' +%s
	want := session.Header{Agent: session.Cursor, ID: id, Version: 1, CreatedAt: 1796028964271, Cwd: "/home/dev/my proj"}
	if src.Header != want {
		t.Errorf("the header is %+v", src.Header)
	}
	if got := New().ResumeCommand(src.Header); got != "cd '/home/dev/my proj' && cursor-agent --resume "+id {
		t.Errorf("it is resumed by %q", got)
	}
	if got := New().ResumeCommand(session.Header{ID: id, Cwd: "/home/dev"}); got != "" {
		t.Errorf("a chat of the editor is resumed by %q", got)
	}
	var got []string
	var f session.Fold
	_, err := New().Window(context.Background(), src, session.Checkpoint{}, 0, 99, session.Every(), func(r session.Raw) error {
		if _, err := f.Apply(&r.Event); err != nil {
			t.Error(err)
		}
		var said []string
		for _, b := range r.Event.Body.Blocks {
			said = append(said, b.Name+b.Text)
			for _, c := range b.Content {
				said = append(said, c.Text)
			}
		}
		got = append(got, fmt.Sprintf("%s %s %s %d", r.Event.Type, r.Event.Body.CallID, strings.Join(said, ""), len(r.Native)))
		if r.Event.Time != told {
			t.Errorf("event %d is of %d", r.Event.Seq, r.Event.Time)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(talk, "\n")
	call := `{"type":"tool_use","name":"Read","input":{"path":"a"}}`
	second := `{"type":"tool_use","id":"t2","name":"Shell","input":{"command":"ls"}}`
	if diff := cmp.Diff([]string{
		fmt.Sprint("user/message  Fix it ", len(lines[0])), fmt.Sprint("assistant/message  I look. ", len(lines[1])),
		fmt.Sprint(`tool/call call-1 Read{"path":"a"} `, len(call)), fmt.Sprint(`tool/call t2 Shell{"command":"ls"} `, len(second)),
		fmt.Sprint("tool/result call-1 one ", len(`{"type":"tool_result","content":"one"}`)),
		fmt.Sprint("tool/result t2 two ", len(`{"type":"tool_result","tool_use_id":"t2","content":[{"type":"text","text":"two"}],"is_error":true}`)),
		fmt.Sprint("assistant/message  Done. ", len(lines[3])), fmt.Sprint("turn/end   ", len(lines[4])), fmt.Sprint("cursor/system   ", len(lines[5])),
		"x/unparsed   8", fmt.Sprint("user/message  And more ", len(lines[7])),
	}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]int64{0, 1, 4, 5, 6, 10}, f.Surface()); diff != "" {
		t.Errorf("the surface (-want +got):\n%s", diff)
	}
	readertest.Run(t, New(), root)
}

// Nothing in a file says whose it is; the project's name alone says nothing.
func TestAround(t *testing.T) {
	sub := dir + id + "/subagents/s1.jsonl"
	flat := dir + "f1.jsonl"
	root := home(t, map[string]string{
		name: talk, sub: talk, flat: talk, dir + "e1.jsonl": `{"type":"turn_ended"}` + "\n", dir + "g1.jsonl": "",
		"projects/home-dev-my-proj/.workspace-trusted": `{"workspacePath":"/home/dev/my-proj"}`,
		"projects/other/.workspace-trusted":            `{"workspacePath":"/home/dev/my-proj"}`,
		"projects/other/agent-transcripts/o1.jsonl":    talk,
	})
	for name, want := range map[string]session.Header{
		name: {ID: id, Cwd: "/home/dev/my-proj"},
		sub:  {ID: "s1", Cwd: "/home/dev/my-proj", ParentSession: id, Origin: session.OriginSubagent, DelegationDepth: 1},
		flat: {ID: "f1", Cwd: "/home/dev/my-proj"},
		"projects/other/agent-transcripts/o1.jsonl": {ID: "o1"},
	} {
		want.Agent, want.CreatedAt = session.Cursor, 1789790520000
		if got := sourceOf(t, root, name).Header; got != want {
			t.Errorf("%s: the header is %+v", name, got)
		}
	}
	for _, empty := range []string{"e1", "g1"} {
		if _, err := New().Identify(context.Background(), root, filepath.Join(root, filepath.FromSlash(dir), empty+".jsonl")); !errors.Is(err, reader.ErrPending) {
			t.Errorf("%s: %v", empty, err)
		}
	}
	if found := readertest.Discover(t, New(), root); len(found) != 4 {
		t.Errorf("%d sessions are found", len(found))
	}
}

// A transcript of any bytes is read without a failure once it is one.
func FuzzTranscript(f *testing.F) {
	f.Add([]byte(talk), 200)
	f.Fuzz(func(t *testing.T, log []byte, cut int) {
		root := home(t, map[string]string{name: string(log)})
		path := filepath.Join(root, filepath.FromSlash(name))
		h, err := New().Identify(context.Background(), root, path)
		if err != nil {
			if _, ok := fault.Of(err); !ok && !errors.Is(err, reader.ErrPending) {
				t.Errorf("a failure without a code: %v", err)
			}
			return
		}
		src := reader.Source{Agent: session.Cursor, Root: root, Path: path, Header: h}
		events, _, err := readertest.ReadFrom(New(), src, reader.Position{})
		if err != nil {
			t.Fatal(err)
		}
		var fold session.Fold
		for i := range events {
			if _, err := fold.Apply(&events[i]); err != nil {
				t.Fatal(err)
			}
		}
		if err := os.WriteFile(path, log[:max(0, min(cut, len(log)))], 0o600); err != nil {
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
		if diff := cmp.Diff(events, append(first, rest...)); diff != "" || err != nil {
			t.Errorf("in two pieces: %v (-at once +in pieces):\n%s", err, diff)
		}
	})
}
