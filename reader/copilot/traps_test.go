package copilot

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/yorehq/yore/fault"
	"github.com/yorehq/yore/reader"
	"github.com/yorehq/yore/reader/readertest"
	"github.com/yorehq/yore/session"
)

const (
	id   = "11111111-1111-4111-8111-111111111111"
	nine = 1767258000000 // 2026-01-01T09:00:00Z
	rel  = stateDir + "/" + id + "/" + logName
)

// event is one record; n makes its id and its time.
func event(n int, typ, data string) string {
	return fmt.Sprintf(`{"type":"%s","data":%s,"id":"e%d","timestamp":"2026-01-01T09:%02d:%02d.000Z","parentId":null}`, typ, data, n, n/60, n%60)
}

// of makes a record that of a subagent.
func of(agent, record string) string { return `{"agentId":"` + agent + `",` + record[1:] }

var first = event(0, "session.start", `{"sessionId":"`+id+`","version":1,"startTime":"2026-01-01T09:00:00.000Z","context":{"cwd":"/w"}}`)

func user(n int, text string) string { return event(n, "user.message", `{"content":"`+text+`"}`) }
func answer(n int, text string) string {
	return event(n, "assistant.message", `{"content":"`+text+`","toolRequests":[]}`)
}

func lines(records ...string) string { return strings.Join(records, "\n") + "\n" }

func put(t testing.TB, path, content string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	// In place: the agent appends, and shortens.
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}

func source(t testing.TB, rel, content string) reader.Source {
	t.Helper()
	root := t.TempDir()
	path := filepath.Join(root, filepath.FromSlash(rel))
	put(t, path, content)
	h, err := New().Identify(context.Background(), root, path)
	if err != nil {
		t.Fatal(err)
	}
	return reader.Source{Agent: session.Copilot, Root: root, Path: path, Header: h}
}

func readAll(t testing.TB, src reader.Source) ([]session.Event, reader.Tail) {
	t.Helper()
	events, tail, err := readertest.ReadFrom(New(), src, reader.Position{})
	if err != nil {
		t.Fatal(err)
	}
	return events, tail
}

// What the client (1.0.102) sent to its model is the proof of the surface: each
// request is, in order, what the session or one of its subagents showed at some
// moment. The requests for a summary are left out.
func TestRequestsOfTheClient(t *testing.T) {
	var requests [][]string
	text, err := os.ReadFile("testdata/requests.json")
	if err == nil {
		err = json.Unmarshal(text, &requests)
	}
	if err != nil {
		t.Fatal(err)
	}
	type showing struct {
		moments [][]string
		next    int
	}
	var sources []*showing
	for _, src := range readertest.Discover(t, New(), "testdata/1.0.102") {
		events, _ := readAll(t, src)
		s := &showing{}
		var f session.Fold
		for i := range events {
			if _, err := f.Apply(&events[i]); err != nil {
				t.Fatal(err)
			}
			list := []string{}
			for _, seq := range f.Surface() {
				who, said, _ := strings.Cut(readertest.Said(&events[seq]), ": ")
				if who != "assistant" && who != "tool" {
					who = "user"
				}
				list = append(list, who+": "+said)
			}
			s.moments = append(s.moments, inOrder(list))
		}
		sources = append(sources, s)
	}
	for i, want := range requests {
		found := false
		for _, s := range sources {
			at := slices.IndexFunc(s.moments[s.next:], func(m []string) bool { return slices.Equal(m, inOrder(want)) })
			if at >= 0 {
				s.next += at + 1
				found = true
				break
			}
		}
		if !found {
			t.Errorf("request %d was never on a surface: %q", i, want)
		}
	}
	if len(requests) < 12 || len(sources) != 3 {
		t.Errorf("%d requests, %d sessions", len(requests), len(sources))
	}
}

// inOrder sorts the results of one answer among themselves: the wire has them in
// the order of the calls, the log in that of their coming.
func inOrder(list []string) []string {
	list = slices.Clone(list)
	for i := 0; i < len(list); i++ {
		j := i
		for j < len(list) && strings.HasPrefix(list[j], "tool: ") {
			j++
		}
		slices.Sort(list[i:j])
		i = max(i, j-1)
	}
	return list
}

func TestTraps(t *testing.T) {
	for _, tc := range []struct {
		name    string
		log     []string
		events  []string
		surface []string
	}{
		{
			name: "what came while a compaction ran stays; the copy of all messages says nothing; a failed one changes nothing",
			log: []string{
				user(1, "one"), answer(2, "two"), event(3, "session.compaction_start", `{}`), user(4, "three"),
				event(5, "model.messages_snapshot", `{"messages":[{"role":"user","content":"one"}]}`),
				event(6, "session.compaction_complete", `{"success":true,"summaryContent":"S"}`),
				event(7, "session.compaction_start", `{}`), event(8, "session.compaction_complete", `{"success":false,"error":"no"}`),
			},
			events: []string{
				"0 copilot/session.start", `1 user/message append title="one" human: one`, "2 assistant/message append assistant: two", "3 compaction/start",
				"4 user/message append human: three", "5 copilot/model.messages_snapshot", "6 user/message replace 1-2 from [1 2] summary: S",
				"7 compaction/start", "8 compaction/end",
			},
			surface: []string{"summary: S", "human: three"},
		},
		{
			name:    "a compaction of a session that has only commands",
			log:     []string{event(1, "session.compaction_start", `{}`), event(2, "session.compaction_complete", `{"success":true,"summaryContent":"S"}`)},
			events:  []string{"0 copilot/session.start", "1 compaction/start", "2 user/message append summary: S"},
			surface: []string{"summary: S"},
		},
		{
			name: "truncation drops the oldest messages, a cleared context all",
			log: []string{
				user(1, "one"), answer(2, "two"), user(3, "three"), event(4, "session.truncation", `{"messagesRemovedDuringTruncation":2}`),
				event(5, "session.context_cleared", `{"messagesCleared":1}`), user(6, "four"),
			},
			events: []string{
				"0 copilot/session.start", `1 user/message append title="one" human: one`, "2 assistant/message append assistant: two", "3 user/message append human: three",
				"4 copilot/session.truncation keep -1 [3]", "5 copilot/session.context_cleared keep -1 []", "6 user/message append human: four",
			},
			surface: []string{"human: four"},
		},
		{
			name: "who speaks in the user's name",
			log: []string{
				event(1, "user.message", `{"content":"a skill","source":"skill-pdf"}`), event(2, "user.message", `{"content":"go on","isAutopilotContinuation":true}`),
				event(3, "user.message", `{"content":"typed","source":"user","transformedContent":"<x>typed</x>"}`), event(4, "system.notification", `{"content":"done"}`),
				event(5, "tool.user_requested", `{"toolCallId":"u1","toolName":"bash","arguments":{"command":"ls"}}`),
				event(6, "tool.execution_complete", `{"toolCallId":"u1","success":true,"result":{"content":"x.txt","detailedContent":"shown"}}`),
				event(7, "session.error", `{"message":"quota"}`), event(8, "abort", `{"reason":"user"}`), event(9, "brand_new", `{"content":"?"}`),
			},
			events: []string{
				"0 copilot/session.start", "1 user/message append injected: a skill", "2 user/message append injected: go on", `3 user/message append title="typed" human: typed`,
				"4 user/message append injected: done", "5 user/message append injected: ls", "6 tool/result append #u1 tool: x.txt", "7 copilot/session.error : quota",
				"8 turn/end : aborted", "9 copilot/brand_new",
			},
			surface: []string{"injected: a skill", "injected: go on", "human: typed", "injected: done", "injected: ls", "tool: x.txt"},
		},
		{
			name: "a failed call, and calls that are not answered in order",
			log: []string{
				event(1, "assistant.message", `{"content":"","toolRequests":[{"toolCallId":"a","name":"bash","arguments":{"command":"x"}},{"toolCallId":"b","name":"yore-session_search","arguments":{"query":"q"}}]}`),
				event(2, "tool.execution_start", `{"toolCallId":"a","toolName":"bash","arguments":{"command":"x"}}`),
				event(3, "tool.execution_complete", `{"toolCallId":"b","success":false,"error":{"message":"denied","code":"rejected"}}`),
				event(4, "tool.execution_complete", `{"toolCallId":"a","success":true,"result":{"content":"y"}}`),
			},
			events: []string{
				"0 copilot/session.start", "1 assistant/message append assistant", `2 tool/call #a action: bash({"command":"x"})`, `3 tool/call #b action: yore-session_search({"query":"q"})`,
				"4 copilot/tool.execution_start", "5 tool/result append from [3] #b !error tool: denied", "6 tool/result append from [2] #a tool: y",
			},
			surface: []string{"assistant", "tool: denied", "tool: y"},
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			events, _ := readAll(t, source(t, rel, lines(append([]string{first}, tc.log...)...)))
			got := readertest.Outline(events)
			if diff := cmp.Diff(tc.events, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tc.surface, readertest.Surface(t, events)); diff != "" {
				t.Errorf("surface (-want +got):\n%s", diff)
			}
		})
	}
}

// Older releases name the call that a subagent works for, newer ones the
// subagent. Either way it is a session of its own, told once.
func TestSubagents(t *testing.T) {
	old := `"parentToolCallId":"call/1"`
	src := source(t, rel, lines(first, user(1, "one"),
		event(2, "assistant.message", `{"content":"","toolRequests":[{"toolCallId":"call/1","name":"task","arguments":{}}]}`),
		event(3, "subagent.started", `{"toolCallId":"call/1","agentName":"explore","agentDisplayName":"Explorer"}`),
		of("n-2", event(4, "subagent.started", `{"toolCallId":"c2","agentName":"review","agentDisplayName":"R","agentDescription":"looks again"}`)),
		event(5, "assistant.message", `{"content":"inside",`+old+`}`),
		of("n-2", event(6, "user.message", `{"content":"look","source":"agent-x"}`)),
		event(7, "subagent.completed", `{"toolCallId":"call/1","agentName":"explore"}`),
		event(8, "tool.execution_complete", `{"toolCallId":"call/1","success":true,"result":{"content":"seen"}}`)))
	events, tail := readAll(t, src)
	if diff := cmp.Diff([]string{
		"0 copilot/session.start", `1 user/message append title="one" human: one`, "2 assistant/message append assistant", "3 tool/call #call/1 action: task({})",
		"4 copilot/agent/subagent.started", "5 copilot/agent/subagent.started", "6 copilot/agent/assistant.message", "7 copilot/agent/user.message",
		"8 copilot/agent/subagent.completed", "9 tool/result append from [3] #call/1 tool: seen",
	}, readertest.Outline(events)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for i, e := range events {
		if want := int64(nine + 1000*max(0, i-1)); i > 2 && e.Time != want {
			t.Errorf("event %d is of %d ms, want %d", i, e.Time, want)
		}
	}
	parts := New().Parts(src, tail.Position.State)
	if len(parts) != 2 {
		t.Fatalf("%d parts", len(parts))
	}
	want := session.Header{
		Agent: session.Copilot, ID: id + "/agent-n-2", CreatedAt: nine + 4000, Cwd: "/w", ParentSession: id,
		Origin: session.OriginSubagent, DelegationDepth: 1, AgentPreset: "review",
	}
	if parts[1].Header != want {
		t.Errorf("header %+v", parts[1].Header)
	}
	for i, want := range [][]string{
		{`0 session/title title="Explorer"`, "1 assistant/message append assistant: inside", "2 copilot/subagent.completed"},
		{`0 session/title title="looks again"`, "1 user/message append injected: look"},
	} {
		events, _ := readAll(t, parts[i])
		if diff := cmp.Diff(want, readertest.Outline(events)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", parts[i].Path, diff)
		}
	}
	if strings.ContainsAny(string(parts[0].Header.ID[len(id)+1:]), "/") {
		t.Errorf("the id %s has a slash of the log's", parts[0].Header.ID)
	}
}

// A rewind shortens the file without a trace, and more is written behind it.
func TestRewind(t *testing.T) {
	long := lines(first, user(1, "one"), answer(2, "two"), user(3, "three"), answer(4, "four"))
	src := source(t, rel, long)
	_, tail := readAll(t, src)
	for _, content := range []string{
		lines(first, user(1, "one"), answer(2, "two")),
		lines(first, user(1, "one"), answer(2, "two"), user(5, "another way that is much longer than what was taken back: "+strings.Repeat("x", 500))),
	} {
		put(t, src.Path, content)
		if revision, _, err := New().Revise(context.Background(), src, tail.Position); err != nil || revision != reader.Replaced {
			t.Errorf("revision %d, %v", revision, err)
		}
	}
	events, _ := readAll(t, src)
	if got := readertest.Surface(t, events); len(got) != 3 || strings.Contains(got[2], "three") {
		t.Errorf("surface %q", got)
	}
}

// A fork's file states the start of its origin; its own is told beside it. So an
// origin that was rewound and went on later stays the origin.
func TestForkIsMadeLater(t *testing.T) {
	src := source(t, rel, lines(first, user(1, "one")))
	for note, want := range map[string]int64{
		"created_at: 2026-01-01T09:30:00.250Z": nine + 30*60_000 + 250,
		"created_at: 2026-01-01T08:59:59.000Z": nine,
		"created_at: yesterday":                nine,
	} {
		put(t, filepath.Join(filepath.Dir(src.Path), notesName), "id: "+id+"\n"+note+"\nname: x\n")
		h, err := New().Identify(context.Background(), src.Root, src.Path)
		if h.CreatedAt != want || err != nil {
			t.Errorf("%s: created at %d, %v, want %d", note, h.CreatedAt, err, want)
		}
	}
}

// A fork keeps the ids and times of what it copies, and its file states the start
// of its origin: copies are found by the ids.
func TestForkKeepsNativeIDs(t *testing.T) {
	origin, _ := readAll(t, source(t, rel, lines(first, user(1, "one"), answer(2, "two"))))
	fork, _ := readAll(t, source(t, strings.ReplaceAll(rel, "1111-", "2222-"), lines(strings.ReplaceAll(first, "1111-", "2222-"), user(1, "one"), user(9, "else"))))
	for i := range 2 {
		if origin[i].NativeID != fork[i].NativeID || origin[i].NativeID == "" {
			t.Errorf("event %d is %q and %q", i, origin[i].NativeID, fork[i].NativeID)
		}
	}
	if origin[2].NativeID == fork[2].NativeID {
		t.Error("what is new looks copied")
	}
}

func TestIdentify(t *testing.T) {
	plain := session.Header{Agent: session.Copilot, ID: id, CreatedAt: nine, Cwd: "/w"}
	named := session.Header{Agent: session.Copilot, ID: "abc", CreatedAt: nine + 1000}
	detached := plain
	detached.ParentSession = "p"
	for _, tc := range []struct {
		name, rel, log string
		want           session.Header
		err            error
	}{
		{name: "plain", rel: rel, log: lines(first), want: plain},
		{name: "a file without a folder", rel: stateDir + "/" + id + ".jsonl", log: lines(first, user(1, "x")), want: plain},
		{name: "without its beginning", rel: stateDir + "/abc.jsonl", log: lines(user(1, "x")), want: named},
		{name: "detached", rel: rel, log: lines(strings.Replace(first, `"version"`, `"detachedFromSpawningParentSessionId":"p","version"`, 1)), want: detached},
		{name: "empty", rel: rel, err: reader.ErrPending, want: session.Header{Agent: session.Copilot}},
		{name: "torn", rel: rel, log: first[:40], err: reader.ErrPending, want: session.Header{Agent: session.Copilot}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			root := t.TempDir()
			path := filepath.Join(root, filepath.FromSlash(tc.rel))
			put(t, path, tc.log)
			got, err := New().Identify(context.Background(), root, path)
			if !errors.Is(err, tc.err) || got != tc.want {
				t.Errorf("%+v, %v; want %+v, %v", got, err, tc.want, tc.err)
			}
		})
	}
	src := source(t, rel, lines(strings.Replace(first, `"cwd":"/w"`, ``, 1)))
	put(t, filepath.Join(filepath.Dir(src.Path), notesName), "id: x\ncwd: /from notes\n")
	if h, err := New().Identify(context.Background(), src.Root, src.Path); err != nil || h.Cwd != "/from notes" {
		t.Errorf("%+v, %v", h, err)
	}
	if _, err := New().Identify(context.Background(), src.Root, reader.PartPath(src.Path, "agent-x@0")); !errors.Is(err, fault.Persistence) {
		t.Errorf("a subagent that is not there: %v", err)
	}
}

func TestTitle(t *testing.T) {
	src := source(t, rel, lines(first))
	for notes, want := range map[string]string{
		"name: Plain words: and more\nsummary: s\n": "Plain words: and more",
		"name: \"Quoted \\\"x\\\"\"\n":              `Quoted "x"`,
		"name: 'It''s'\n":                           "It's",
		"summary: |-\n  two\n  lines\nid: x\n":      "two lines",
		"id: x\n":                                   "",
		"name:\n":                                   "",
	} {
		put(t, filepath.Join(filepath.Dir(src.Path), notesName), notes)
		got, ok, err := New().Title(context.Background(), src)
		if err != nil || got != want || ok != (want != "") {
			t.Errorf("%q: %q, %v, %v", notes, got, ok, err)
		}
	}
}

// A lock counts while its process runs and is the agent.
func TestRunning(t *testing.T) {
	src := source(t, rel, lines(first, user(1, "x"), event(2, "assistant.turn_start", `{}`)))
	dir := filepath.Dir(src.Path)
	put(t, filepath.Join(dir, "inuse.1073741824.lock"), "1073741824")
	put(t, filepath.Join(dir, "inuse.x.lock"), "")
	if got, err := New().Running(context.Background(), src.Root); err != nil || len(got) != 0 {
		t.Errorf("%v, %v", got, err)
	}
	// This process runs a program whose name holds the package's: copilot.test.
	put(t, filepath.Join(dir, fmt.Sprintf("inuse.%d.lock", os.Getpid())), "")
	got, err := New().Running(context.Background(), src.Root)
	if want := map[session.ID]reader.Process{id: {PID: os.Getpid(), Busy: true}}; err != nil || !cmp.Equal(got, want) {
		t.Errorf("%v, %v", got, err)
	}
	put(t, src.Path, lines(first, user(1, "x"), event(2, "assistant.turn_start", `{}`), event(3, "assistant.turn_end", `{}`)))
	if got, _ := New().Running(context.Background(), src.Root); got[id].Busy {
		t.Error("busy behind the end of its turn")
	}
}

func TestPlaces(t *testing.T) {
	home := "/home/u"
	env := map[string]string{}
	get := func(name string) string { return env[name] }
	if got := New().DefaultRoots(get, home); !cmp.Equal(got, []string{"/home/u/.copilot"}) {
		t.Error(got)
	}
	env["COPILOT_HOME"] = "/c"
	if got := New().DefaultRoots(get, home); !cmp.Equal(got, []string{"/c"}) {
		t.Error(got)
	}
	for rel, want := range map[string]reader.Kind{
		"./": reader.Folder, "session-state/": reader.Folder, "session-state/a/": reader.Leaf, "session-state/a/files/": reader.Ignore,
		"session-state/a/events.jsonl": reader.File, "session-state/a.jsonl": reader.File, "session-state/a/other.jsonl": reader.Ignore,
		"session-state/.session-operation-locks/": reader.Ignore, "history-session-state/": reader.Folder, "history-session-state/a.jsonl": reader.File,
		"logs/": reader.Ignore, "events.jsonl": reader.Ignore, "session-store.db": reader.Ignore,
	} {
		name, dir := strings.CutSuffix(rel, "/")
		if got := New().Classify(name, dir); got != want {
			t.Errorf("%s is %d, want %d", rel, got, want)
		}
	}
	if got := New().ResumeCommand(session.Header{ID: id + "/agent-x", Cwd: "/w"}); got != "cd /w && copilot '--resume="+id+"'" {
		t.Errorf("resume: %s", got)
	}
}

// A log may hold anything: it is read to its end, its events fold, in two pieces
// as at once, and so do its subagents'.
func FuzzLog(f *testing.F) {
	f.Add([]byte(lines(user(1, "one"), answer(2, "two"), event(3, "session.compaction_start", `{}`), event(4, "session.compaction_complete", `{"summaryContent":"S"}`))), 300)
	f.Add([]byte(lines(of("a", event(1, "subagent.started", `{"toolCallId":"x"}`)), of("a", event(2, "session.truncation", `{"messagesRemovedDuringTruncation":9}`)), "{}{", "\x00")), 40)
	f.Fuzz(func(t *testing.T, content []byte, cut int) {
		whole := lines(first) + string(content)
		src := source(t, rel, whole)
		want, tail := readAll(t, src)
		readertest.Surface(t, want)
		for _, p := range New().Parts(src, tail.Position.State) {
			events, _ := readAll(t, p)
			readertest.Surface(t, events)
		}
		put(t, src.Path, whole[:max(0, min(len(whole), cut))])
		head, tail := readAll(t, src)
		put(t, src.Path, whole)
		rest, _, err := readertest.ReadFrom(New(), src, tail.Position)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, append(head, rest...)); diff != "" && len(want) > 0 {
			t.Errorf("in two pieces (-at once +in pieces):\n%s", diff)
		}
	})
}
