package kimi

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
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/yorehq/yore/reader"
	"github.com/yorehq/yore/reader/readertest"
	"github.com/yorehq/yore/session"
)

const (
	id   = "session_1"
	nine = 1767258000000 // 2026-01-01T09:00:00Z
	dir  = "sessions/wd_w_0/" + id
	rel  = dir + "/agents/main/wire.jsonl"
	meta = `{"type":"metadata","protocol_version":"1.5","created_at":1767258000000}`
)

func TestConformance(t *testing.T) {
	readertest.Run(t, New(), "testdata/2.1.0")
}

// op is one record; rest begins with a comma.
func op(typ, rest string) string { return `{"type":"` + typ + `"` + rest + `,"time":1767258001000}` }

func inserted(id, role, text, origin string) string {
	return op("context.append_message", fmt.Sprintf(`,"message":{"role":"%s","content":[{"type":"text","text":"%s"}],"id":"%s","origin":%s}`, role, text, id, origin))
}

func user(text string) string { return inserted("m-"+text, "user", text, `{"kind":"user"}`) }

func reminder(text, owner string) string {
	return inserted("", "user", text, `{"kind":"injection","ownerPromptId":"`+owner+`"}`)
}

func event(rest string) string { return op("context.append_loop_event", `,"event":{`+rest+`}`) }

// step is one answer without calls.
func step(text string) []string {
	return []string{
		event(`"type":"step.begin","uuid":"` + text + `"`), event(`"type":"content.part","uuid":"p","part":{"type":"think","think":"hm"}`),
		event(`"type":"content.part","uuid":"p","part":{"type":"text","text":"` + text + `"}`), event(`"type":"step.end","uuid":"` + text + `"`),
	}
}

func log(parts ...any) string {
	lines := []string{meta}
	for _, p := range parts {
		switch p := p.(type) {
		case string:
			lines = append(lines, p)
		case []string:
			lines = append(lines, p...)
		}
	}
	return strings.Join(lines, "\n") + "\n"
}

func put(t testing.TB, path, content string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}

func source(t testing.TB, rel, content, state string) reader.Source {
	t.Helper()
	root := t.TempDir()
	path := filepath.Join(root, filepath.FromSlash(rel))
	put(t, path, content)
	if state != "" {
		put(t, filepath.Join(root, filepath.FromSlash(dir), stateName), state)
	}
	h, err := New().Identify(context.Background(), root, path)
	if err != nil {
		t.Fatal(err)
	}
	return reader.Source{Agent: session.Kimi, Root: root, Path: path, Header: h}
}

func readAll(t testing.TB, src reader.Source) ([]session.Event, reader.Tail) {
	t.Helper()
	events, tail, err := readertest.ReadFrom(New(), src, reader.Position{})
	if err != nil {
		t.Fatal(err)
	}
	return events, tail
}

// What the client (2.1.0) sent to its model is the proof of the surface: each
// request, in order, is what a session or its subagent showed at some moment. The
// wire adds to results how long they took, so only their places are compared.
func TestRequestsOfTheClient(t *testing.T) {
	var requests [][]string
	text, err := os.ReadFile("testdata/requests.json")
	if err == nil {
		err = json.Unmarshal(text, &requests)
	}
	if err != nil {
		t.Fatal(err)
	}
	var sources [][][]string
	for _, src := range readertest.Discover(t, New(), "testdata/2.1.0") {
		if src.Header.ParentSession != "" && src.Header.Origin == "" {
			continue // the fork asked nothing
		}
		events, _ := readAll(t, src)
		var moments [][]string
		var f session.Fold
		for i := range events {
			if _, err := f.Apply(&events[i]); err != nil {
				t.Fatal(err)
			}
			list := []string{}
			for _, seq := range f.Surface() {
				who, said, _ := strings.Cut(readertest.Said(&events[seq]), ": ")
				runes := []rune(said)
				switch said = string(runes[:min(len(runes), 30)]); who {
				case "tool":
					list = append(list, "tool")
				case "assistant":
					list = append(list, "assistant: "+said)
				default:
					list = append(list, "user: "+said)
				}
			}
			moments = append(moments, list)
		}
		sources = append(sources, moments)
	}
	next := make([]int, len(sources))
	for i, want := range requests {
		found := false
		for k, moments := range sources {
			if at := slices.IndexFunc(moments[next[k]:], func(m []string) bool { return slices.Equal(m, want) }); at >= 0 && !found {
				next[k] += at + 1
				found = true
			}
		}
		if !found {
			t.Errorf("request %d was never on a surface: %q", i, want)
		}
	}
	if len(requests) != 9 || len(sources) < 2 {
		t.Errorf("%d requests, %d sessions", len(requests), len(sources))
	}
}

func TestTraps(t *testing.T) {
	for _, tc := range []struct {
		name    string
		log     []any
		surface []string
	}{
		{
			name: "one half of a conversation is in each family of records; copies say nothing",
			log: []any{
				op("turn.prompt", `,"input":[{"type":"text","text":"one"}]`), user("one"), `{"message":{"message":{"role":"user","content":[{"type":"text","text":"one"}]}},"type":"agent.message.appended","kind":"event"}`,
				step("two"), `{"message":{"message":{"role":"assistant","content":[{"type":"text","text":"two"}]}},"type":"agent.message.appended","kind":"event"}`,
			},
			surface: []string{"human: one", "assistant: two"},
		},
		{
			name: "a compaction keeps what the user asked before the summary",
			log: []any{
				user("one"), reminder("r", "m-one"), step("two"), user("three"), step("four"),
				op("full_compaction.begin", ``), op("context.apply_compaction", `,"summary":"raw","contextSummary":"whole","compactedCount":5,"keptUserMessageCount":2`), user("five"),
			},
			surface: []string{"human: one", "human: three", "summary: raw", "human: five"},
		},
		{
			name: "a compaction that keeps the first and the last of what was asked",
			log: []any{
				user("a"), user("b"), user("c"), user("d"),
				op("context.apply_compaction", `,"summary":"S","compactedCount":4,"keptUserMessageCount":2,"keptHeadUserMessageCount":1`),
			},
			surface: []string{"human: a", "human: d", "summary: S"},
		},
		{
			name: "the older compaction counts messages from the head; a step is one, whatever its parts",
			log: []any{
				user("one"), event(`"type":"step.begin","uuid":"s"`), event(`"type":"content.part","uuid":"p","part":{"type":"text","text":"two"}`),
				event(`"type":"content.part","uuid":"q","part":{"type":"text","text":"and"}`), event(`"type":"step.end","uuid":"s"`),
				user("three"), step("four"), op("context.apply_compaction", `,"summary":"S","compactedCount":2`),
			},
			surface: []string{"summary: S", "human: three", "assistant: four"},
		},
		{
			name: "an older summary is a message; a step with calls alone is one as well",
			log: []any{
				user("one"), event(`"type":"step.begin","uuid":"s"`), event(`"type":"tool.call","uuid":"c","toolCallId":"x","name":"Bash","args":{"command":"ls"}`),
				event(`"type":"tool.result","toolCallId":"x","result":{"output":"out"}`), event(`"type":"step.end","uuid":"s"`),
				op("context.apply_compaction", `,"summary":{"role":"user","content":[{"type":"text","text":"S"}]},"count":2`),
			},
			surface: []string{"summary: S", "tool: out"},
		},
		{
			name: "an undo takes back a prompt and what belongs to it, and passes over reminders",
			log: []any{
				user("one"), step("two"), reminder("owned", "m-three"), user("three"), step("four"), reminder("late", ""), op("context.undo", `,"count":1`), user("five"),
			},
			surface: []string{"human: one", "assistant: two", "human: five"},
		},
		{
			name: "an undo of more than there is, or beyond a summary, does nothing; one that was put in during a turn does not count",
			log: []any{
				user("one"), op("context.undo", `,"count":2`),
				op("context.apply_compaction", `,"summary":"S","compactedCount":1,"keptUserMessageCount":1`), op("context.undo", `,"count":1`),
				user("two"), inserted("m", "user", "steered", `{"kind":"user","inTurn":true}`), op("context.undo", `,"count":1`),
			},
			surface: []string{"human: one", "summary: S"},
		},
		{
			name:    "a cleared context",
			log:     []any{user("one"), step("two"), op("context.clear", ``), user("three")},
			surface: []string{"human: three"},
		},
		{
			// Line 1 is the metadata: "one" is line 2, its answer 3 to 6, "three" 7.
			name: "a switch goes on from a line, also of a branch that was left",
			log: []any{
				user("one"), step("two"), user("three"), op("agent.switched", `,"branch":"b2","base":{"branch":"main","line":6},"reason":"undo"`), user("four"),
				op("agent.switched", `,"branch":"b3","base":{"branch":"main","line":7}`), user("five"),
				op("agent.switched", `,"branch":"b4","base":{"branch":"unknown","line":1}`),
			},
			surface: []string{"human: one", "assistant: two", "human: three", "human: five"},
		},
		{
			name: "who speaks in the user's name",
			log: []any{
				inserted("", "user", "slash", `{"kind":"skill_activation","trigger":"user-slash"}`), inserted("", "user", "skill", `{"kind":"skill_activation","trigger":"model"}`),
				inserted("", "user", "hook", `{"kind":"hook_result"}`),
			},
			surface: []string{"human: slash", "injected: skill", "injected: hook"},
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			events, _ := readAll(t, source(t, rel, log(tc.log...), ""))
			if diff := cmp.Diff(tc.surface, readertest.Surface(t, events)); diff != "" {
				t.Errorf("surface (-want +got):\n%s\n%s", diff, strings.Join(readertest.Outline(events), "\n"))
			}
		})
	}
}

// What one step gives, read off by hand.
func TestStep(t *testing.T) {
	events, _ := readAll(t, source(t, rel, log(user("one"),
		event(`"type":"step.begin","uuid":"s"`), event(`"type":"content.part","uuid":"p","part":{"type":"think","think":"hm"}`),
		event(`"type":"tool.call","uuid":"c","toolCallId":"x","name":"mcp__yore__session_search","args":{"query":"q"}`),
		event(`"type":"tool.result","toolCallId":"x","result":{"output":[{"type":"text","text":"no"}],"isError":true}`), event(`"type":"step.end","uuid":"s"`),
		op("turn.ended", `,"reason":"failed","error":{"message":"overloaded"}`), op("turn.ended", `,"reason":"completed"`), op("brand.new", ``)), ""))
	if diff := cmp.Diff([]string{
		`0 user/message append title="one" human: one`, "1 step/start step", "2 kimi/content.part.think", "3 assistant/message append assistant",
		`4 tool/call #x action: mcp__yore__session_search({"query":"q"})`, "5 tool/result append from [4] #x !error tool: no", "6 step/end",
		"7 turn/end : failed: overloaded", "8 turn/end", "9 kimi/brand.new",
	}, readertest.Outline(events)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestIdentify(t *testing.T) {
	state := `{"id":"session_1","version":2,"cwd":"/w","createdAt":1767257999000,"title":" Named\nso ","agents":{"main":{"type":"main"},
		"agent-0":{"type":"sub","parentAgentId":"main","labels":{"profileName":"explore"}},"agent-1":{"type":"sub","parentAgentId":"agent-0"}}}`
	main := source(t, rel, log(user("one")), state)
	if want := (session.Header{Agent: session.Kimi, ID: id, CreatedAt: nine - 1000, Cwd: "/w"}); main.Header != want {
		t.Errorf("header %+v", main.Header)
	}
	if title, ok, err := New().Title(context.Background(), main); title != "Named so" || !ok || err != nil {
		t.Errorf("title %q, %v", title, err)
	}
	sub := source(t, dir+"/agents/agent-0/wire.jsonl", log(user("one")), state)
	if want := (session.Header{
		Agent: session.Kimi, ID: id + "/agent-0", CreatedAt: nine, Cwd: "/w", ParentSession: id, Origin: session.OriginSubagent, DelegationDepth: 1, AgentPreset: "explore",
	}); sub.Header != want {
		t.Errorf("header %+v", sub.Header)
	}
	events, _ := readAll(t, sub)
	if got := readertest.Surface(t, events); !cmp.Equal(got, []string{"injected: one"}) {
		t.Errorf("a subagent's prompt: %q", got)
	}
	nested := source(t, dir+"/agents/agent-1/wire.jsonl", log(user("one")), state)
	if h := nested.Header; h.ParentSession != id+"/agent-0" || h.DelegationDepth != 2 {
		t.Errorf("header %+v", h)
	}
	old := source(t, rel, log(user("one")), `{"workDir":"/old"}`)
	if want := (session.Header{Agent: session.Kimi, ID: id, CreatedAt: nine, Cwd: "/old"}); old.Header != want {
		t.Errorf("header %+v", old.Header)
	}
	put(t, filepath.Join(main.Root, indexName), `{"sessionId":"session_1","workDir":"/first"}`+"\n"+`{"sessionId":"session_1","workDir":"/indexed"}`+"\n")
	if err := os.Remove(filepath.Join(main.Root, filepath.FromSlash(dir), stateName)); err != nil {
		t.Fatal(err)
	}
	if h, err := New().Identify(context.Background(), main.Root, main.Path); err != nil || h.Cwd != "/indexed" {
		t.Errorf("%+v, %v", h, err)
	}
	put(t, main.Path, meta[:20])
	if _, err := New().Identify(context.Background(), main.Root, main.Path); !errors.Is(err, reader.ErrPending) {
		t.Errorf("a torn header: %v", err)
	}
}

// The real client's fork copies the journal, with its first record, and says so
// in a record behind the copies.
func TestForkOfTheClient(t *testing.T) {
	for _, src := range readertest.Discover(t, New(), "testdata/2.1.0") {
		if src.Header.Origin != "" || src.Header.ParentSession == "" {
			continue
		}
		events, _ := readAll(t, src)
		want := session.Header{
			Agent: session.Kimi, ID: "session_a166a6ea-6da4-4fba-bf51-8421bf0adde7", CreatedAt: 1796061925774, Cwd: "/home/dev/proj",
			ParentSession: "session_0cd70ed6-9228-42d2-b13e-baa1107fe180", SeedLength: int64(len(events)) - 1,
		}
		if src.Header != want || events[len(events)-1].Type != "kimi/forked" {
			t.Errorf("header %+v of %d events", src.Header, len(events))
		}
		if title, ok, _ := New().Title(context.Background(), src); ok {
			t.Errorf("the title is %q", title)
		}
		return
	}
	t.Error("no fork")
}

func TestPlaces(t *testing.T) {
	env := map[string]string{}
	get := func(name string) string { return env[name] }
	if got := New().DefaultRoots(get, "/home/u"); !cmp.Equal(got, []string{"/home/u/.kimi-code", "/home/u/.kimi"}) {
		t.Error(got)
	}
	env["KIMI_CODE_HOME"] = "/k"
	if got := New().DefaultRoots(get, "/home/u"); !cmp.Equal(got, []string{"/k", "/home/u/.kimi"}) {
		t.Error(got)
	}
	env["KIMI_SHARE_DIR"] = "~/share"
	if got := New().DefaultRoots(get, "/home/u"); !cmp.Equal(got, []string{"/k", "/home/u/share"}) {
		t.Error(got)
	}
	const old = "sessions/0a1b/5f2e-1"
	for rel, want := range map[string]reader.Kind{
		old + ".jsonl": reader.File, old + "/context.jsonl": reader.File, old + "/context_12.jsonl": reader.File, old + "/context_sub.jsonl": reader.File,
		old + "/context_sub_2.jsonl": reader.File, old + "/context_x.jsonl": reader.Ignore, old + "/context.tmp": reader.Ignore, old + "/subagents/": reader.Folder,
		old + "/subagents/a7/": reader.Leaf, old + "/subagents/a7/context.jsonl": reader.File, old + "/subagents/a7/wire.jsonl": reader.Ignore, old + "/agents/a7/context.jsonl": reader.Ignore,
		"./": reader.Folder, "sessions/": reader.Folder, "sessions/wd_w_0/": reader.Folder, "sessions/.index-dirty/": reader.Ignore,
		dir + "/": reader.Folder, dir + "/agents/": reader.Folder, dir + "/logs/": reader.Ignore, dir + "/agents/main/": reader.Leaf,
		rel: reader.File, dir + "/wire.jsonl": reader.Ignore, dir + "/agents/main/tools/": reader.Ignore, "telemetry/": reader.Ignore,
	} {
		name, folder := strings.CutSuffix(rel, "/")
		if got := New().Classify(name, folder); got != want {
			t.Errorf("%s is %d, want %d", rel, got, want)
		}
	}
	// The client named the folder of its workspace by the same rule.
	if got, _ := New().Places("/home/dev/proj", time.UnixMilli(nine)); !slices.Contains(got, "sessions/wd_proj_bb97ae4cdb5b") {
		t.Error(got)
	}
	if got := New().ResumeCommand(session.Header{ID: id + "/agent-0", Cwd: "/w"}); got != "cd /w && kimi --session session_1" {
		t.Errorf("resume: %s", got)
	}
	if got := New().ResumeCommand(session.Header{ID: "5f2e-1", Cwd: "/w"}); got != "" {
		t.Errorf("the client that is no more resumes with %s", got)
	}
}

// A log may hold anything: it is read to its end, its events fold, in two pieces
// as at once.
func FuzzLog(f *testing.F) {
	f.Add([]byte(log(user("one"), step("two"), op("context.apply_compaction", `,"summary":"S","compactedCount":1,"keptUserMessageCount":1`), op("context.undo", `,"count":1`))), 500)
	f.Add([]byte(log(user("one"), op("agent.switched", `,"branch":"b","base":{"branch":"main","line":1}`), op("context.apply_compaction", `,"summary":"S","compactedCount":9`), "{}{", "\x00")), 90)
	f.Fuzz(func(t *testing.T, content []byte, cut int) {
		whole := meta + "\n" + string(content)
		src := source(t, rel, whole, "")
		want, _ := readAll(t, src)
		readertest.Surface(t, want)
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

// The state of a position may be anything: it is refused or read on from.
func FuzzState(f *testing.F) {
	src := source(f, rel, log(user("one"), step("two"), op("agent.switched", `,"branch":"b","base":{"branch":"main","line":2}`), user("three")), "")
	_, tail := readAll(f, src)
	f.Add([]byte(tail.Position.State), int64(4), int64(90))
	f.Fuzz(func(t *testing.T, state []byte, next, offset int64) {
		if next < 0 || offset < 0 {
			return
		}
		if _, _, err := readertest.ReadFrom(New(), src, reader.Position{Next: next, Offset: offset, State: state}); err != nil {
			t.Logf("refused: %v", err)
		}
	})
}
