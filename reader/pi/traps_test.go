package pi

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/yorehq/yore/fault"
	"github.com/yorehq/yore/reader"
	"github.com/yorehq/yore/reader/readertest"
	"github.com/yorehq/yore/session"
)

// nine is 2026-01-01T09:00:00Z.
const nine = 1767258000000

var testTime = time.UnixMilli(nine)

const header = `{"type":"session","version":3,"id":"s1","timestamp":"2026-01-01T09:00:00.000Z","cwd":"/w"}`

// at is a second of the hour as logs write it.
func at(second int) string {
	return fmt.Sprintf("2026-01-01T09:%02d:%02d.000Z", second/60, second%60)
}

// entry is a record of the tree; parent "" is null.
func entry(id, parent, typ, rest string) string {
	up := "null"
	if parent != "" {
		up = `"` + parent + `"`
	}
	second := 0
	for _, c := range id {
		second = (second*7 + int(c)) % 3600
	}
	return fmt.Sprintf(`{"type":"%s","id":"%s","parentId":%s,"timestamp":"%s"%s}`, typ, id, up, at(second), rest)
}

func said(id, parent, role, text string) string {
	return entry(id, parent, "message", fmt.Sprintf(`,"message":{"role":"%s","content":[{"type":"text","text":"%s"}]}`, role, text))
}

func lines(records ...string) string { return strings.Join(records, "\n") + "\n" }

// source writes a log and identifies it.
func source(t testing.TB, content string) reader.Source {
	t.Helper()
	root := t.TempDir()
	path := filepath.Join(root, "--w--", "2026-01-01T09-00-00-000Z_s1.jsonl")
	put(t, path, content)
	h, err := New().Identify(context.Background(), root, path)
	if err != nil {
		t.Fatal(err)
	}
	return reader.Source{Agent: session.Pi, Root: root, Path: path, Header: h}
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

func readAll(t testing.TB, src reader.Source, from reader.Position) ([]session.Event, reader.Tail) {
	t.Helper()
	events, tail, err := readertest.ReadFrom(New(), src, from)
	if err != nil {
		t.Fatal(err)
	}
	return events, tail
}

// What the sample log of the real client says, read off it by hand.
func TestSample(t *testing.T) {
	found := readertest.Discover(t, New(), "testdata/sample")
	if len(found) != 1 {
		t.Fatalf("%d sessions", len(found))
	}
	want := session.Header{Agent: session.Pi, ID: "01a22bac-03f0-74bd-8e58-22346fc28344", CreatedAt: 1796029023218, Cwd: "/home/dev/proj"}
	if found[0].Header != want {
		t.Errorf("header %+v", found[0].Header)
	}
	events, tail := readAll(t, found[0], reader.Position{})
	got := strings.Split(strings.ReplaceAll(strings.Join(readertest.Outline(events), "\x00"), "\n", " "), "\x00")
	if diff := cmp.Diff([]string{
		"0 pi/model_change", "1 pi/thinking_level_change", "2 request/header",
		`3 user/message append title="Fix the greeting in hello.txt, then check with the probe." human: Fix the greeting in hello.txt, then check with the probe.`,
		"4 assistant/message step append assistant: I create the greeting file first.",
		`5 tool/call #call_t00_0 action: write({"path":"hello.txt","content":"helo wörld 🚀\n"})`,
		"6 tool/result append from [5] #call_t00_0 tool: Successfully wrote to hello.txt",
		"7 assistant/message step append assistant: There is a typo, I fix it.",
		`8 tool/call #call_t01_0 action: edit({"path":"hello.txt","edits":[{"oldText":"helo","newText":"hello"}]})`,
		"9 tool/result append from [8] #call_t01_0 tool: Successfully replaced 1 block(s) in hello.txt.",
		"10 assistant/message step append assistant: Two checks at once.",
		`11 tool/call #call_t02_0 action: bash({"command":"cat missing.txt"})`,
		`12 tool/call #call_t02_1 action: read({"path":"hello.txt"})`,
		"13 tool/result append from [11] #call_t02_0 !error tool: cat: missing.txt: No such file or directory   Command exited with code 1",
		"14 tool/result append from [12] #call_t02_1 tool: hello wörld 🚀 ",
		"15 assistant/message step append assistant: Asking the probe.",
		"16 tool/call #call_t03_0 action: mcp__probe__probe_struct({})",
		"17 tool/result append from [16] #call_t03_0 tool: TEXT-PART n is seven",
		"18 assistant/message step append assistant: I fixed the spelling in hello.txt: helo → hello. The probe server answered too.",
		"19 user/message append human: Thanks. What did you change?",
		"20 assistant/message step append assistant: I changed one word in hello.txt.",
	}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if len(tail.Skips) > 0 || len(tail.Position.State) > 1000 {
		t.Errorf("skips %+v, %d bytes of state", tail.Skips, len(tail.Position.State))
	}
	// The call is a block of its record, and its native value is that block.
	raw := window(t, found[0], 5)
	if want := `{"type":"toolCall","id":"call_t00_0","name":"write","arguments":{"path":"hello.txt","content":"helo wörld 🚀\n"}}`; string(raw.Native) != want {
		t.Errorf("the call's own bytes are %s", raw.Native)
	}
}

func window(t testing.TB, src reader.Source, seq int64) session.Raw {
	t.Helper()
	var got session.Raw
	_, err := New().Window(context.Background(), src, session.Checkpoint{}, seq, seq, session.Every(), func(r session.Raw) error {
		got = r
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return got
}

func TestTraps(t *testing.T) {
	for _, tc := range []struct {
		name    string
		log     []string
		events  []string
		surface []string
	}{
		{
			name: "the leaf is the last line even if it is a label",
			log: []string{
				said("a", "", "user", "one"), said("b", "a", "assistant", "two"), said("c", "b", "user", "three"),
				entry("l", "b", "label", `,"targetId":"a","label":"x"`),
			},
			events: []string{
				`0 user/message append title="one" human: one`, "1 assistant/message step append assistant: two",
				"2 user/message append human: three", "3 pi/rewind keep 1 []", "4 pi/label",
			},
			surface: []string{"human: one", "assistant: two"},
		},
		{
			name: "going back to an abandoned branch makes it current again",
			log: []string{
				said("a", "", "user", "one"), said("b", "a", "assistant", "two"), said("c", "b", "user", "three"),
				said("d", "a", "assistant", "other"), said("e", "c", "assistant", "four"),
			},
			events: []string{
				`0 user/message append title="one" human: one`, "1 assistant/message step append assistant: two",
				"2 user/message append human: three", "3 pi/rewind keep 0 []", "4 assistant/message step append assistant: other",
				"5 pi/branch keep 0 [1 2]", "6 assistant/message step append assistant: four",
			},
			surface: []string{"human: one", "assistant: two", "human: three", "assistant: four"},
		},
		{
			name: "a compaction that keeps nothing, another that keeps two entries",
			log: []string{
				said("a", "", "user", "one"), said("b", "a", "assistant", "two"),
				entry("c", "b", "compaction", `,"summary":"S1","firstKeptEntryId":"c"`), said("d", "c", "user", "three"), said("e", "d", "assistant", "four"),
				said("f", "e", "user", "five"), entry("g", "f", "compaction", `,"summary":"S2","firstKeptEntryId":"e"`),
			},
			events: []string{
				`0 user/message append title="one" human: one`, "1 assistant/message step append assistant: two",
				"2 user/message replace 0-1 from [0 1] summary: S1", "3 user/message append human: three", "4 assistant/message step append assistant: four",
				"5 user/message append human: five", "6 user/message replace 2-3 from [2 3] summary: S2",
			},
			surface: []string{"summary: S2", "assistant: four", "human: five"},
		},
		{
			name: "a compaction that brings entries back which an earlier one had summed up",
			log: []string{
				said("a", "", "user", "one"), said("b", "a", "assistant", "two"),
				entry("c", "b", "compaction", `,"summary":"S1","firstKeptEntryId":"c"`), said("d", "c", "user", "three"),
				entry("e", "d", "compaction", `,"summary":"S2","firstKeptEntryId":"b"`),
			},
			events: []string{
				`0 user/message append title="one" human: one`, "1 assistant/message step append assistant: two",
				"2 user/message replace 0-1 from [0 1] summary: S1", "3 user/message append human: three",
				"4 user/message append summary: S2", "5 pi/compaction keep -1 [4 1 3]",
			},
			surface: []string{"summary: S2", "assistant: two", "human: three"},
		},
		{
			name: "edits omit and replace; going back before them shows the entry again",
			log: []string{
				said("a", "", "user", "one"), said("b", "a", "assistant", "two"), said("c", "b", "toolResult", "long"),
				entry("d", "c", "context_edit", `,"targetId":"c","replacement":{"content":"short"}`), entry("e", "d", "context_edit", `,"targetId":"a","replacement":null`),
				said("f", "c", "user", "three"),
			},
			events: []string{
				`0 user/message append title="one" human: one`, "1 assistant/message step append assistant: two", "2 tool/result append tool: long",
				"3 tool/result replace 2-2 from [2] tool: short", "4 pi/context_edit keep -1 [1 3]",
				"5 pi/rewind keep -1 [0 1 2]", "6 user/message append human: three",
			},
			surface: []string{"human: one", "assistant: two", "tool: long", "human: three"},
		},
		{
			name:    "several roots",
			log:     []string{said("a", "", "user", "one"), said("b", "", "user", "again"), said("c", "gone", "user", "orphan")},
			events:  []string{`0 user/message append title="one" human: one`, "1 pi/reset keep -1 []", "2 user/message append human: again", "3 pi/reset keep -1 []", "4 user/message append human: orphan"},
			surface: []string{"human: orphan"},
		},
		{
			name: "failed and aborted answers are never sent again; their words stay searchable",
			log: []string{
				said("a", "", "user", "one"),
				entry("b", "a", "message", `,"message":{"role":"assistant","content":[{"type":"text","text":"part"}],"stopReason":"error","errorMessage":"overloaded"}`),
				said("c", "b", "assistant", "two"),
			},
			events:  []string{`0 user/message append title="one" human: one`, "1 pi/assistant/error step assistant: part | overloaded", "2 assistant/message step append assistant: two"},
			surface: []string{"human: one", "assistant: two"},
		},
		{
			name: "own commands, with and without the model knowing; extensions; what is not known",
			log: []string{
				entry("a", "", "message", `,"message":{"role":"bashExecution","command":"ls","output":"x.txt"}`),
				entry("b", "a", "message", `,"message":{"role":"bashExecution","command":"pwd","output":"/w","excludeFromContext":true}`),
				entry("c", "b", "custom_message", `,"customType":"ext","content":"note","display":true`), entry("d", "c", "custom", `,"customType":"ext","data":{"text":"silent"}`),
				entry("e", "d", "message", `,"message":{"role":"hookMessage","content":"hook"}`), entry("f", "e", "future kind", `,"text":"?"`),
				entry("g", "f", "branch_summary", `,"fromId":"x","summary":"left"`), entry("h", "g", "branch_summary", `,"fromId":"x","summary":""`),
			},
			events: []string{
				"0 user/message append injected: ls | x.txt", "1 pi/bashExecution injected: pwd | /w", "2 user/message append injected: note", "3 pi/custom",
				"4 user/message append injected: hook", "5 pi/future_kind", "6 user/message append summary: left", "7 pi/branch_summary",
			},
			surface: []string{"injected: ls | x.txt", "injected: note", "injected: hook", "summary: left"},
		},
		{
			name: "the last name wins, an empty one gives the first prompt's title back",
			log: []string{
				entry("a", "", "session_info", `,"name":"  Named\n before "`), said("b", "a", "user", "the prompt"), entry("c", "b", "session_info", `,"name":""`),
				entry("d", "c", "session_info", `,"name":"Last"`),
			},
			events: []string{
				`0 session/title title="Named before"`, "1 user/message append human: the prompt", `2 session/title title="the prompt"`, `3 session/title title="Last"`,
			},
			surface: []string{"human: the prompt"},
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			src := source(t, lines(append([]string{header}, tc.log...)...))
			events, _ := readAll(t, src, reader.Position{})
			if diff := cmp.Diff(tc.events, readertest.Outline(events)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tc.surface, readertest.Surface(t, events)); diff != "" {
				t.Errorf("surface (-want +got):\n%s", diff)
			}
		})
	}
}

// Version 1 has no ids: entries are a chain, and a compaction names an index
// that counts the header. When the agent opens such a file it writes it anew with
// ids of chance; what the model sees is the same, and nothing is told twice.
func TestFirstVersionIsRewritten(t *testing.T) {
	old := lines(
		`{"type":"session","id":"s1","timestamp":"2026-01-01T09:00:00.000Z","cwd":"/w","provider":"p","modelId":"m","thinkingLevel":"off","branchedFrom":"/x/2026-01-01T08-00-00-000Z_s0.jsonl"}`,
		`{"type":"message","timestamp":"2026-01-01T09:00:01.000Z","message":{"role":"user","content":"one"}}`,
		`{"type":"message","timestamp":"2026-01-01T09:00:02.000Z","message":{"role":"assistant","content":[{"type":"text","text":"two"}]}}`,
		`{"type":"message","timestamp":"2026-01-01T09:00:03.000Z","message":{"role":"user","content":"three"}}`,
		`{"type":"compaction","timestamp":"2026-01-01T09:00:04.000Z","summary":"S","firstKeptEntryIndex":3,"tokensBefore":1}`,
	)
	src := source(t, old)
	want := session.Header{Agent: session.Pi, ID: "s1", CreatedAt: nine, Cwd: "/w", ParentSession: "s0"}
	if src.Header != want {
		t.Errorf("header %+v", src.Header)
	}
	events, tail := readAll(t, src, reader.Position{})
	surface := []string{"summary: S", "human: three"}
	if diff := cmp.Diff(surface, readertest.Surface(t, events)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	put(t, src.Path, lines(
		`{"type":"session","id":"s1","timestamp":"2026-01-01T09:00:00.000Z","cwd":"/w","provider":"p","modelId":"m","thinkingLevel":"off","branchedFrom":"/x/2026-01-01T08-00-00-000Z_s0.jsonl","version":3}`,
		`{"type":"message","timestamp":"2026-01-01T09:00:01.000Z","message":{"role":"user","content":"one"},"id":"11111111","parentId":null}`,
		`{"type":"message","timestamp":"2026-01-01T09:00:02.000Z","message":{"role":"assistant","content":[{"type":"text","text":"two"}]},"id":"22222222","parentId":"11111111"}`,
		`{"type":"message","timestamp":"2026-01-01T09:00:03.000Z","message":{"role":"user","content":"three"},"id":"33333333","parentId":"22222222"}`,
		`{"type":"compaction","timestamp":"2026-01-01T09:00:04.000Z","summary":"S","tokensBefore":1,"id":"44444444","parentId":"33333333","firstKeptEntryId":"33333333"}`,
		`{"type":"message","timestamp":"2026-01-01T09:01:00.000Z","message":{"role":"user","content":"four"},"id":"55555555","parentId":"44444444"}`,
	))
	if revision, _, err := New().Revise(context.Background(), src, tail.Position); err != nil || revision != reader.Replaced {
		t.Errorf("revision %d, %v", revision, err)
	}
	events, _ = readAll(t, src, reader.Position{})
	if diff := cmp.Diff(append(surface, "human: four"), readertest.Surface(t, events)); diff != "" || len(events) != 5 {
		t.Errorf("%d events (-want +got):\n%s", len(events), diff)
	}
}

func TestBrokenLines(t *testing.T) {
	// A torn line that another entry was glued to, a line of NULs, and an entry
	// without the end of its line, which the agent takes for one.
	log := lines(header, said("a", "", "user", "one"), `{"type":"message","id":"torn`, "\x00\x00", said("b", "a", "assistant", "two")+said("c", "b", "user", "three")) +
		said("d", "c", "assistant", "four")
	src := source(t, log)
	events, tail := readAll(t, src, reader.Position{})
	if diff := cmp.Diff([]string{
		`0 user/message append title="one" human: one`, "1 x/unparsed", "2 x/unparsed", "3 assistant/message step append assistant: two",
		"4 user/message append human: three", "5 assistant/message step append assistant: four",
	}, readertest.Outline(events)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if len(tail.Skips) != 2 || tail.Skips[0].Line != 3 || tail.Skips[1].Line != 4 || tail.Position.Offset != int64(len(log)) {
		t.Errorf("%+v", tail)
	}
	last := events[len(events)-1].Time
	put(t, src.Path, log+"\nno record\n"+said("e", "d", "user", "five")+"\n"+`{"type":"message","id":"half`)
	more, tail := readAll(t, src, tail.Position)
	if diff := cmp.Diff([]string{"6 x/unparsed", "7 user/message append human: five"}, readertest.Outline(more)); diff != "" || len(tail.Skips) != 1 {
		t.Errorf("skips %v (-want +got):\n%s", tail.Skips, diff)
	}
	if more[0].Time != last || tail.Skips[0].Line != 7 {
		t.Errorf("what is no record has the time %d, want %d; %+v", more[0].Time, last, tail.Skips)
	}
}

func TestIdentify(t *testing.T) {
	forked := strings.Replace(header, `"cwd"`, `"parentSession":"/home/u/.pi/agent/sessions/--w--/2026-01-01T08-00-00-000Z_s0.jsonl","cwd"`, 1)
	early := `{"type":"message","id":"p","parentId":null,"timestamp":"2026-01-01T08:30:00.000Z","message":{"role":"user","content":"old"}}`
	calls := `{"type":"message","id":"q","parentId":"p","timestamp":"2026-01-01T08:31:00.000Z","message":{"role":"assistant","content":[{"type":"toolCall","id":"x","name":"n","arguments":{}}]}}`
	plain := session.Header{Agent: session.Pi, ID: "s1", CreatedAt: nine, Cwd: "/w"}
	child := plain
	child.ParentSession = "s0"
	seeded := child
	seeded.SeedLength = 3
	for _, tc := range []struct {
		name, log string
		want      session.Header
		err       error
	}{
		{name: "plain", log: lines(header), want: plain},
		{name: "behind a torn line", log: lines(`{"ty`, header), want: plain},
		{name: "without its newline", log: header, want: plain},
		{name: "empty", log: "", err: reader.ErrPending, want: session.Header{Agent: session.Pi}},
		{name: "torn", log: header[:50], err: reader.ErrPending, want: session.Header{Agent: session.Pi}},
		{name: "another program's", log: lines(`{"role":"user"}`), err: fault.Persistence, want: session.Header{Agent: session.Pi}},
		{name: "a fork with nothing of its own", log: lines(forked, early, calls), err: reader.ErrPending, want: seeded},
		{name: "a fork", log: lines(forked, early, calls, said("r", "q", "user", "new")), want: seeded},
		{name: "a child that copied nothing", log: lines(forked, said("r", "", "user", "new")), want: child},
	} {
		t.Run(tc.name, func(t *testing.T) {
			root := t.TempDir()
			path := filepath.Join(root, "x.jsonl")
			put(t, path, tc.log)
			got, err := New().Identify(context.Background(), root, path)
			if !errors.Is(err, tc.err) || got != tc.want {
				t.Errorf("%+v, %v; want %+v, %v", got, err, tc.want, tc.err)
			}
		})
	}
}

// A parent whose file was named by hand is found by its header; nothing outside
// of the root is opened for it.
func TestParentByItsHeader(t *testing.T) {
	root := t.TempDir()
	inside, outside := filepath.Join(root, "mine.jsonl"), filepath.Join(t.TempDir(), "theirs.jsonl")
	for _, p := range []string{inside, outside} {
		put(t, p, lines(strings.Replace(header, `"s1"`, `"s0"`, 1)))
	}
	for parent, want := range map[string]session.ID{inside: "s0", outside: "", filepath.Join(root, "gone.jsonl"): ""} {
		path := filepath.Join(root, "child.jsonl")
		put(t, path, lines(strings.Replace(header, `"cwd"`, `"parentSession":"`+parent+`","cwd"`, 1), said("a", "", "user", "x")))
		if got, err := New().Identify(context.Background(), root, path); err != nil || got.ParentSession != want {
			t.Errorf("%s: %+v, %v; want %q", parent, got, err, want)
		}
	}
}

func TestPlaces(t *testing.T) {
	home := t.TempDir()
	def := filepath.Join(home, ".pi", "agent", "sessions")
	put(t, filepath.Join(home, "other", "settings.json"), `{"sessionDir":"~/mine"}`)
	for _, tc := range []struct {
		env  map[string]string
		want []string
	}{
		{nil, []string{def}},
		{map[string]string{"PI_CODING_AGENT_DIR": "/x"}, []string{"/x/sessions"}},
		{map[string]string{"PI_CODING_AGENT_SESSION_DIR": "~/all"}, []string{filepath.Join(home, "all"), def}},
		{map[string]string{"PI_CODING_AGENT_DIR": "~/other"}, []string{filepath.Join(home, "mine"), filepath.Join(home, "other", "sessions")}},
	} {
		if diff := cmp.Diff(tc.want, New().DefaultRoots(func(name string) string { return tc.env[name] }, home)); diff != "" {
			t.Errorf("%v (-want +got):\n%s", tc.env, diff)
		}
	}
	for rel, want := range map[string]reader.Kind{
		".": reader.Folder, "--w--": reader.Folder, "any": reader.Folder, "any/deep": reader.Ignore, "s.jsonl": reader.File,
		"--w--/t_s.jsonl": reader.File, "--w--/t.json": reader.Ignore, "any/deep/s.jsonl": reader.Ignore,
	} {
		if got := New().Classify(rel, !strings.Contains(rel, ".json")); got != want {
			t.Errorf("%s is %d, want %d", rel, got, want)
		}
	}
	if folders, _ := New().Places("/home/dev/proj", testTime); !cmp.Equal(folders, []string{".", "--home-dev-proj--"}) {
		t.Errorf("folders %v", folders)
	}
	if got := New().ResumeCommand(session.Header{ID: "s1", Cwd: "/w x"}); got != "cd '/w x' && pi --session s1" {
		t.Errorf("resume: %s", got)
	}
}
