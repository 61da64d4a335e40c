package kimi

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/yorehq/yore/reader"
	"github.com/yorehq/yore/reader/readertest"
	"github.com/yorehq/yore/session"
)

// md5 of /srv/app, by md5sum.
const srvApp = "8d9fbf108f79c6229f0b59258b273b63"

// python lays down a session as the client in Python did, by its published source
// (context.py, wire/file.py, metadata.py and compaction.py of kimi-cli 1.x).
func python(t testing.TB) (root, dir string) {
	t.Helper()
	root = t.TempDir()
	dir = filepath.Join(root, "sessions", srvApp, "0b2e9f6c-1")
	put(t, filepath.Join(root, "kimi.json"), `{"work_dirs":[{"path":"/srv/other","last_session_id":null},{"path":"/srv/app","last_session_id":"0b2e9f6c-1"}],"thinking":false}`)
	put(t, filepath.Join(dir, "wire.jsonl"), `{"type": "metadata", "protocol_version": "1.3"}
{"timestamp": 1767258000.25, "message": {"type": "TurnBegin", "payload": {"user_input": "find the leak"}}}
{"timestamp": 1767258009.5, "message": {"type": "TurnEnd", "payload": {}}}
`)
	put(t, filepath.Join(dir, "context_1.jsonl"), pythonTalk)
	put(t, filepath.Join(dir, "context.jsonl"), `{"role": "_system_prompt", "content": "You are Kimi"}
{"role":"user","content":[{"type":"text","text":"<system>Previous context has been compacted. Here is the compaction output:</system>"},{"type":"text","text":"a leak was found"}]}
{"role":"assistant","content":[{"type":"text","text":"it is the pump"}]}
`)
	put(t, filepath.Join(dir, "context_sub_1.jsonl"), `{"role":"user","content":"look at the pump"}
`)
	put(t, filepath.Join(dir, "subagents", "a7", "context.jsonl"), `{"role":"user","content":"<git-context/>\n\nlook at the valve"}
`)
	put(t, filepath.Join(root, "sessions", srvApp, "early.jsonl"), `{"role":"user","content":"an early one"}
`)
	put(t, filepath.Join(root, "sessions", srvApp, "empty", "context.jsonl"), `{"role": "_checkpoint", "id": 0}
`)
	return root, dir
}

const pythonTalk = `{"role": "_system_prompt", "content": "You are Kimi"}
{"role": "_checkpoint", "id": 0}
{"role":"user","content":[{"type":"text","text":"<system>CHECKPOINT 0</system>"}]}
{"role":"user","content":"find the leak"}
{"role":"assistant","content":[{"type":"think","think":"hm"},{"type":"text","text":"looking"}],"tool_calls":[{"type":"function","id":"t1","function":{"name":"Shell","arguments":"{\"command\": \"ls\"}"}},{"type":"function","id":"t2","function":{"name":"ReadFile","arguments":"{}"}}]}
{"role":"tool","content":[{"type":"text","text":"<system>ERROR: no such file</system>"}],"tool_call_id":"t2"}
{"role":"tool","content":"pump.c","tool_call_id":"t1"}
{"role": "_usage", "token_count": 10}
{"role":"assistant","content":"it is the pump"}
`

func TestPythonClient(t *testing.T) {
	root, dir := python(t)
	found := map[session.ID]session.Header{}
	var talk reader.Source
	for _, src := range readertest.Discover(t, New(), root) {
		found[src.Header.ID] = src.Header
		if strings.HasSuffix(src.Path, "context_1.jsonl") {
			talk = src
		}
	}
	early, err := os.Stat(filepath.Join(root, "sessions", srvApp, "early.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	const own, made = session.ID("0b2e9f6c-1"), 1767258000250
	want := map[session.ID]session.Header{
		own:                {Agent: session.Kimi, ID: own, CreatedAt: made, Cwd: "/srv/app", ParentSession: own + "/context-1", SeedLength: 1},
		own + "/context-1": {Agent: session.Kimi, ID: own + "/context-1", CreatedAt: made, Cwd: "/srv/app"},
		own + "/sub-1":     {Agent: session.Kimi, ID: own + "/sub-1", CreatedAt: made, Cwd: "/srv/app", ParentSession: own, Origin: session.OriginSubagent, DelegationDepth: 1},
		own + "/agent-a7":  {Agent: session.Kimi, ID: own + "/agent-a7", CreatedAt: made, Cwd: "/srv/app", ParentSession: own, Origin: session.OriginSubagent, DelegationDepth: 1},
		"early":            {Agent: session.Kimi, ID: "early", CreatedAt: early.ModTime().UnixMilli(), Cwd: "/srv/app"},
	}
	if diff := cmp.Diff(want, found); diff != "" {
		t.Errorf("headers (-want +got):\n%s", diff)
	}
	events, tail := readAll(t, talk)
	var lines []string
	for i := range events {
		e := &events[i]
		line := e.Type + " " + readertest.Said(e)
		if e.Body.Title != nil {
			line += " [" + *e.Body.Title + "]"
		}
		if len(e.Sources) > 0 {
			line += " <" + string(rune('0'+e.Sources[0])) + ">"
		}
		if e.Body.ErrorName != "" {
			line += " !"
		}
		lines = append(lines, line)
	}
	if diff := cmp.Diff([]string{
		"request/header ", "kimi/_checkpoint ", "user/message injected: <system>CHECKPOINT 0</system>", "user/message human: find the leak [find the leak]",
		"assistant/message assistant: looking", `tool/call action: Shell({"command": "ls"})`, "tool/call action: ReadFile({})",
		"tool/result tool: <system>ERROR: no such file</system> <6> !", "tool/result tool: pump.c <5>", "kimi/_usage ", "assistant/message assistant: it is the pump",
	}, lines); diff != "" || len(tail.Skips) != 0 {
		t.Errorf("events (-want +got):\n%s", diff)
	}
	if _, err := New().Identify(context.Background(), root, filepath.Join(root, "sessions", srvApp, "empty", "context.jsonl")); !errors.Is(err, reader.ErrPending) {
		t.Errorf("a context without a message: %v", err)
	}
	put(t, filepath.Join(dir, "state.json"), `{"custom_title":"Leaks"}`)
	if title, ok, err := New().Title(context.Background(), talk); title != "Leaks" || !ok || err != nil {
		t.Errorf("%q, %t, %v", title, ok, err)
	}
	if got := New().ResumeCommand(found[own]); got != "" {
		t.Errorf("an archived client resumes with %s", got)
	}
	readertest.Run(t, New(), root)
}

// A revert begins anew with what stays, which is the seed of what follows.
func TestPythonRevert(t *testing.T) {
	root := t.TempDir()
	dir := filepath.Join(root, "sessions", srvApp, "s")
	put(t, filepath.Join(dir, "context_1.jsonl"), pythonTalk)
	kept := strings.Join(strings.SplitAfter(pythonTalk, "\n")[:4], "")
	put(t, filepath.Join(dir, "context_2.jsonl"), kept+`{"role":"assistant","content":"else"}`+"\n")
	put(t, filepath.Join(dir, "context.jsonl"), kept+`{"role":"assistant","content":"looking elsewhere"}`+"\n")
	h, err := New().Identify(context.Background(), root, filepath.Join(dir, "context.jsonl"))
	if err != nil || h.ParentSession != "s/context-2" || h.SeedLength != 4 || h.Cwd != "" {
		t.Errorf("%+v, %v", h, err)
	}
	h, err = New().Identify(context.Background(), root, filepath.Join(dir, "context_2.jsonl"))
	if err != nil || h.ParentSession != "s/context-1" || h.SeedLength != 4 {
		t.Errorf("%+v, %v", h, err)
	}
}

// A session that Kimi Code took over names the one that it was, and what was there
// then is inherited. Its state as the migration of kimi-code writes it.
func TestTakenOver(t *testing.T) {
	old := func(text string) string {
		return `{"type":"context.append_message","message":{"role":"user","content":[{"type":"text","text":"` + text + `"}]}}`
	}
	text := strings.Join([]string{
		`{"type":"metadata","protocol_version":"1.0","created_at":1767258000000}`, old("one"), strings.Replace(old("two"), `}}`, `},"time":1767258000000}`, 1), user("of today"),
	}, "\n") + "\n"
	state := `{"id":"ses_0b2e9f6c-1","cwd":"/srv/app","custom":{"imported_from_kimi_cli":true,"kimi_cli_session_id":"0b2e9f6c-1","imported_at":"2026-01-01T09:00:00.500Z"}}`
	src := source(t, rel, text, state)
	want := session.Header{Agent: session.Kimi, ID: "ses_0b2e9f6c-1", CreatedAt: nine, Cwd: "/srv/app", ParentSession: "0b2e9f6c-1", SeedLength: 2}
	if src.Header != want {
		t.Errorf("header %+v", src.Header)
	}
	if got := New().ResumeCommand(src.Header); got != "cd /srv/app && kimi --session ses_0b2e9f6c-1" {
		t.Errorf("resume: %s", got)
	}
	state = strings.Replace(state, `,"imported_at":"2026-01-01T09:00:00.500Z"`, "", 1)
	if h := source(t, rel, text, state).Header; h.ParentSession != "0b2e9f6c-1" || h.SeedLength != 0 {
		t.Errorf("header %+v", h)
	}
}
