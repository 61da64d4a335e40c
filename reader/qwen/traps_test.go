package qwen

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
	idA    = "11111111-aaaa-4bbb-8ccc-000000000001"
	folder = "/home/dev/proj"
	chat   = "projects/-home-dev-proj/chats/" + idA + ".jsonl"
)

func quoted(text string) string {
	out, err := json.Marshal(text)
	if err != nil {
		panic(err)
	}
	return string(out)
}

// line is a record; a parent of "" is none.
func line(id, parent, kind, rest string) string {
	up := "null"
	if parent != "" {
		up = quoted(parent)
	}
	return fmt.Sprintf(`{"uuid":%q,"parentUuid":%s,"sessionId":%q,"timestamp":"2026-11-30T08:56:04.271Z","type":%q,"cwd":%q,"version":"0.24.4"%s}`, id, up, idA, kind, folder, rest)
}

func text(s string) string { return `{"text":` + quoted(s) + `}` }

func calls(id string) string {
	return `{"functionCall":{"id":` + quoted(id) + `,"name":"read_file","args":{"file_path":"a"}}}`
}

func response(id, output string) string {
	return `{"functionResponse":{"id":` + quoted(id) + `,"name":"read_file","response":{"output":` + quoted(output) + `}}}`
}

func message(role string, parts ...string) string {
	return `,"message":{"role":"` + role + `","parts":[` + strings.Join(parts, ",") + `]}`
}

func user(id, parent, s string) string { return line(id, parent, "user", message("user", text(s))) }

func model(id, parent string, parts ...string) string {
	return line(id, parent, "assistant", message("model", parts...))
}

func result(id, parent string, parts ...string) string {
	return line(id, parent, "tool_result", message("user", parts...))
}

func system(id, parent, subtype, payload string) string {
	return line(id, parent, "system", `,"subtype":"`+subtype+`","systemPayload":`+payload)
}

func content(role string, parts ...string) string {
	return `{"role":"` + role + `","parts":[` + strings.Join(parts, ",") + `]}`
}

func compression(id, parent string, contents ...string) string {
	return system(id, parent, "chat_compression", `{"info":{},"compressedHistory":[`+strings.Join(contents, ",")+`]}`)
}

func lines(all ...string) string { return strings.Join(all, "\n") + "\n" }

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
	return reader.Source{Agent: session.Qwen, Root: root, Path: path, Header: h}
}

func read(t testing.TB, src reader.Source) []session.Event {
	t.Helper()
	events, _, err := readertest.ReadFrom(New(), src, reader.Position{})
	if err != nil {
		t.Fatal(err)
	}
	return events
}

// told writes an event down in a line: its number, type and what it says, and
// what it does to the surface beside joining it.
func told(e *session.Event) string {
	var said []string
	for _, b := range e.Body.Blocks {
		switch b.Kind {
		case session.CallBlock:
			said = append(said, b.Name+"("+e.Body.CallID+")")
		case session.ResultBlock:
			for _, c := range b.Content {
				said = append(said, e.Body.CallID+"="+c.Text)
			}
		default:
			said = append(said, b.Text)
		}
	}
	out := strings.TrimSpace(fmt.Sprintf("%d %s %s", e.Seq, e.Type, strings.Join(said, "|")))
	switch e.Op.Kind {
	case session.OpReplace:
		out += fmt.Sprintf(" instead of %d", e.Op.Start)
	case session.OpSelect:
		out += fmt.Sprintf(" keeps %d, takes %v", e.Op.Keep, e.Op.Nodes)
	}
	return out
}

func toldAll(events []session.Event) []string {
	var out []string
	for i := range events {
		out = append(out, told(&events[i]))
	}
	return out
}

func surface(t testing.TB, events []session.Event) []int64 {
	t.Helper()
	var f session.Fold
	for i := range events {
		if _, err := f.Apply(&events[i]); err != nil {
			t.Fatal(err)
		}
	}
	return f.Surface()
}

// Each way in which a chat is not what it seems, with what was said and what the
// model had before it, read off by hand.
func TestTraps(t *testing.T) {
	sum := "<state_snapshot>\nthe goal\n</state_snapshot>"
	for _, tc := range []struct {
		name    string
		log     []string
		want    []string
		surface []int64
	}{
		{
			"two calls at once, thoughts without text, a failure",
			[]string{user("a", "", "go"), model("b", "a", `{"text":"hm","thought":true}`, text("Two."), calls("c1"), calls("c2")), system("t", "b", "ui_telemetry", `{}`),
				result("c", "t", response("c1", "one")), line("d", "c", "tool_result", message("user", `{"functionResponse":{"id":"c2","response":{"error":"no"}}}`)+`,"toolCallResult":{"status":"error"}`)},
			[]string{"0 user/message go", "1 assistant/message Two.", "2 tool/call read_file(c1)", "3 tool/call read_file(c2)", "4 qwen/system/ui_telemetry", "5 tool/result c1=one", "6 tool/result c2=no"},
			[]int64{0, 1, 5, 6},
		},
		{
			"a title that is written again at the end hangs on an old record and does not move the leaf",
			[]string{user("a", "", "go"), model("b", "a", text("Yes.")), user("c", "b", "on"), system("t", "a", "custom_title", `{"customTitle":"A chat"}`), model("d", "c", text("No."))},
			[]string{"0 user/message go", "1 assistant/message Yes.", "2 user/message on", "3 session/title", "4 assistant/message No."},
			[]int64{0, 1, 2, 4},
		},
		{
			"a title in the chain: what follows hangs on it",
			[]string{user("a", "", "go"), system("t", "a", "custom_title", `{"customTitle":"A chat"}`), model("b", "t", text("Yes."))},
			[]string{"0 user/message go", "1 session/title", "2 assistant/message Yes."},
			[]int64{0, 2},
		},
		{
			"a rewind, and what is said after it",
			[]string{user("a", "", "go"), model("b", "a", text("Yes.")), user("c", "b", "on"), model("d", "c", text("No.")), system("r", "b", "rewind", `{}`), user("e", "r", "else")},
			[]string{"0 user/message go", "1 assistant/message Yes.", "2 user/message on", "3 assistant/message No.", "4 qwen/rewind keeps 1, takes []", "5 user/message else"},
			[]int64{0, 1, 5},
		},
		{
			"a record that hangs on an earlier one, and the way back to what was left",
			[]string{user("a", "", "go"), model("b", "a", text("Yes.")), user("c", "a", "else"), model("d", "b", text("Back."))},
			[]string{"0 user/message go", "1 assistant/message Yes.", "2 qwen/rewind keeps 0, takes []", "3 user/message else", "4 qwen/branch keeps 0, takes [1]", "5 assistant/message Back."},
			[]int64{0, 1, 5},
		},
		{
			"fragments of one record",
			[]string{user("a", "", "go"), model("b", "a", text("Half")), model("b", "a", text("way."), calls("c1")), result("c", "b", response("c1", "one"))},
			[]string{"0 user/message go", "1 assistant/message Half", "2 assistant/message way.", "3 tool/call read_file(c1)", "4 tool/result c1=one"},
			[]int64{0, 1, 2, 4},
		},
		{
			"records glued together, and what a crash left of one",
			[]string{user("a", "", "go") + model("b", "a", text("Yes.")) + `{"uuid":"x","par`, user("c", "b", "on")},
			[]string{"0 user/message go", "1 assistant/message Yes.", "2 x/unparsed", "3 user/message on"},
			[]int64{0, 1, 3},
		},
		{
			"a compaction: what it keeps is what was there, its summary is said once",
			[]string{user("a", "", "first"), model("b", "a", text("One."), calls("c1")), result("c", "b", response("c1", "long")), user("d", "c", "second"), model("e", "d", text("Two.")),
				compression("f", "e", content("user", text("<system-reminder>env</system-reminder>")), content("user", text(sum)), content("model", text("Got it.")), content("user", text("second")), content("model", text("Two."))),
				user("g", "f", "third"), system("r", "e", "rewind", `{}`)},
			[]string{"0 user/message first", "1 assistant/message One.", "2 tool/call read_file(c1)", "3 tool/result c1=long", "4 user/message second", "5 assistant/message Two.",
				"6 user/message", "7 user/message " + sum, "8 assistant/message Got it.", "9 qwen/compaction keeps -1, takes [6 7 8 4 5]", "10 user/message third",
				"11 qwen/rewind keeps -1, takes [0 1 3 4 5]"},
			[]int64{0, 1, 3, 4, 5},
		},
		{
			"what programs put there is not typed, and voices are not heard",
			[]string{line("a", "", "user", message("user", text("<system-reminder>\none\n</system-reminder>"), text("go"))), line("b", "a", "user", `,"subtype":"notification"`+message("user", text("done"))),
				line("c", "b", "user", `,"subtype":"realtime_message"`+message("user", text("hello"))), line("d", "c", "system", `,"subtype":"session_artifact_event","systemPayload":{}`), `{"type":"new","uuid":"e","parentUuid":"c"}`},
			[]string{"0 user/message go", "1 user/message done", "2 qwen/realtime_message hello", "3 qwen/system/session_artifact_event", "4 qwen/new"},
			[]int64{0, 1},
		},
		{
			"a parent that is nowhere, and a record that hangs on itself",
			[]string{user("a", "", "go"), user("b", "gone", "new"), user("c", "c", "odd")},
			[]string{"0 user/message go", "1 qwen/rewind keeps -1, takes []", "2 user/message new", "3 qwen/rewind keeps -1, takes []", "4 user/message odd"},
			[]int64{4},
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			src := sourceOf(t, home(t, map[string]string{chat: lines(tc.log...)}), chat)
			events := read(t, src)
			if diff := cmp.Diff(tc.want, toldAll(events)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if got := surface(t, events); !slices.Equal(got, tc.surface) {
				t.Errorf("the surface is %v, want %v", got, tc.surface)
			}
			readertest.Grow(t, New(), src)
			readertest.Cut(t, New(), src)
			readertest.Stop(t, New(), src)
			readertest.Window(t, New(), src)
		})
	}
}

// A fork begins with copies that are marked, bears their ids, and was made when its
// first own record was.
func TestFork(t *testing.T) {
	const idB = "22222222-aaaa-4bbb-8ccc-000000000002"
	copied := func(record string) string {
		return strings.TrimSuffix(strings.ReplaceAll(record, idA, idB), "}") + `,"forkedFrom":{"sessionId":"` + idA + `","messageUuid":"x"}}`
	}
	own := strings.ReplaceAll(strings.ReplaceAll(user("z", "b", "mine"), idA, idB), "08:56:04", "09:00:00")
	name := strings.ReplaceAll(chat, idA, idB)
	root := home(t, map[string]string{name: lines(copied(user("a", "", "go")), copied(model("b", "a", text("Yes."), calls("c1"))))})
	path := filepath.Join(root, filepath.FromSlash(name))
	if _, err := New().Identify(context.Background(), root, path); !errors.Is(err, reader.ErrPending) {
		t.Errorf("without a record of its own: %v", err)
	}
	root = home(t, map[string]string{name: lines(copied(user("a", "", "go")), copied(model("b", "a", text("Yes."), calls("c1"))), own)})
	src := sourceOf(t, root, name)
	want := session.Header{Agent: session.Qwen, ID: idB, CreatedAt: 1796029200271, Cwd: folder, ParentSession: idA, SeedLength: 3}
	if src.Header != want {
		t.Errorf("the header is %+v, want %+v", src.Header, want)
	}
	if events := read(t, src); len(events) != 4 || events[0].NativeID != "a" {
		t.Errorf("the events are %v", toldAll(events))
	}
	readertest.Window(t, New(), src)
}

// Subagents bear their session's id; what started them stands beside their files.
func TestSubagents(t *testing.T) {
	dir := "projects/-home-dev-proj/subagents/" + idA + "/"
	record := func(agent string) string {
		return line("a", "", "user", `,"agentId":"`+agent+`","agentName":"looker","isSidechain":true`+message("user", text("look")))
	}
	root := home(t, map[string]string{
		dir + "agent-x.jsonl": lines(record("x")), dir + "agent-x.meta.json": `{"agentId":"x","parentAgentId":null,"depth":0,"description":" Look at\nit "}`,
		dir + "agent-y.jsonl": lines(record("y")), dir + "agent-y.meta.json": `{"agentId":"y","parentAgentId":"x","depth":1}`,
		dir + "agent-z.jsonl": lines(record("z")),
	})
	for name, want := range map[string]session.Header{
		"agent-x": {ParentSession: idA, DelegationDepth: 1},
		"agent-y": {ParentSession: idA + "/agent-x", DelegationDepth: 2},
		"agent-z": {ParentSession: idA, DelegationDepth: 1},
	} {
		want.Agent, want.ID, want.CreatedAt, want.Cwd, want.Origin, want.AgentPreset = session.Qwen, session.ID(idA+"/"+name), 1796028964271, folder, session.OriginSubagent, "looker"
		src := sourceOf(t, root, dir+name+".jsonl")
		if src.Header != want {
			t.Errorf("%s: the header is %+v", name, src.Header)
		}
		if events := read(t, src); events[0].Body.Speaker != session.Injected || events[0].Body.Title != nil {
			t.Errorf("%s: the task is of speaker %d", name, events[0].Body.Speaker)
		}
		title, ok, err := New().Title(t.Context(), src)
		if described := map[string]string{"agent-x": "Look at it"}[name]; title != described || ok != (described != "") || err != nil {
			t.Errorf("%s: the title is %q, %v, %v", name, title, ok, err)
		}
	}
}

// An exact read gives the record; of several events of one, the part that each was
// made of.
func TestNatives(t *testing.T) {
	asks := model("b", "a", text("Two."), calls("c1"), calls("c2"))
	both := result("c", "b", response("c1", "one"), response("c2", "two"))
	summary := content("user", text("<state_snapshot>s</state_snapshot>"))
	compact := compression("d", "c", summary)
	src := sourceOf(t, home(t, map[string]string{chat: lines(user("a", "", "go"), asks, both, compact)}), chat)
	want := []string{user("a", "", "go"), asks, calls("c1"), calls("c2"), response("c1", "one"), response("c2", "two"), summary, compact}
	var got []string
	_, err := New().Window(context.Background(), src, session.Checkpoint{}, 0, 99, session.Every(), func(r session.Raw) error {
		got = append(got, string(r.Native))
		return nil
	})
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
}

// A chat that is longer than a position holds is read on without another look at
// what came before, and again as a whole where a record needs that.
func TestLongChat(t *testing.T) {
	id := func(i int) string { return fmt.Sprintf("id-%d", i) }
	records := []string{user(id(0), "", "go")}
	for i := 1; i < 5000; i++ {
		records = append(records, user(id(i), id(i-1), "prompt"))
	}
	src := sourceOf(t, home(t, map[string]string{chat: lines(records...)}), chat)
	_, tail, err := readertest.ReadFrom(New(), src, reader.Position{})
	if err != nil {
		t.Fatal(err)
	}
	if n := len(tail.Position.State); n > 64<<10 {
		t.Errorf("the state takes %d bytes", n)
	}
	for i, record := range []string{user("n1", id(4999), "new"), user("n2", "n1", "new"), system("r", id(9), "rewind", `{}`)} {
		f, err := os.OpenFile(src.Path, os.O_APPEND|os.O_WRONLY, 0)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := f.WriteString(record + "\n"); err != nil {
			t.Fatal(err)
		}
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
		events, now, err := readertest.ReadFrom(New(), src, tail.Position)
		if err != nil || len(events) != 1 {
			t.Fatal(len(events), err)
		}
		if again := now.Bytes > int64(len(record))+1; again != (i == 2) {
			t.Errorf("record %d: %d bytes were parsed", i, now.Bytes)
		}
		if tail = now; i == 2 && told(&events[0]) != "5002 qwen/rewind keeps 9, takes []" {
			t.Errorf("the rewind is %s", told(&events[0]))
		}
	}
}

func TestPlaces(t *testing.T) {
	for rel, want := range map[string]reader.Kind{
		"projects/": reader.Folder, "projects/x/": reader.Folder, "projects/x/chats/": reader.Folder, "projects/x/chats/archive/": reader.Folder,
		"projects/x/subagents/": reader.Folder, "projects/x/subagents/s/": reader.Folder, "projects/x/tmp/": reader.Ignore, "tmp/": reader.Folder,
		chat: reader.File, "projects/x/chats/archive/a.jsonl": reader.File, "projects/x/subagents/s/agent-a.jsonl": reader.File,
		"projects/x/subagents/s/agent-a.meta.json": reader.Ignore, "projects/x/chats/.a.b.tmp": reader.Ignore, "projects/x/chats/.a.jsonl": reader.Ignore,
		"projects/x/meta.json": reader.Ignore, "settings.json": reader.Ignore,
	} {
		dir := strings.HasSuffix(rel, "/")
		if got := New().Classify(strings.TrimSuffix(rel, "/"), dir); got != want {
			t.Errorf("%s is %d, want %d", rel, got, want)
		}
	}
	root := home(t, map[string]string{"settings.json": `{"advanced":{"runtimeOutputDir":"~/run"}}`})
	for _, tc := range []struct {
		env  map[string]string
		want []string
	}{
		{nil, []string{"/u/.qwen"}},
		{map[string]string{"QWEN_HOME": "/q"}, []string{"/q"}},
		{map[string]string{"QWEN_HOME": "/q", "QWEN_RUNTIME_DIR": "/r"}, []string{"/r", "/q"}},
		{map[string]string{"QWEN_HOME": root}, []string{"/u/run", root}},
	} {
		got := New().DefaultRoots(func(name string) string { return tc.env[name] }, "/u")
		if !slices.Equal(got, tc.want) {
			t.Errorf("%v: %v, want %v", tc.env, got, tc.want)
		}
	}
	if got, others := New().Places("/home/dev/my proj.1", time.Now()); !slices.Contains(got, "projects/-home-dev-my-proj-1/chats") || others != reader.Possible {
		t.Errorf("a new chat goes to %v", got)
	}
	if got := New().ResumeCommand(session.Header{ID: idA, Cwd: folder}); got != "cd /home/dev/proj && qwen --resume "+idA {
		t.Errorf("it is resumed by %q", got)
	}
}
