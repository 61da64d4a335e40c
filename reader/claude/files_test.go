package claude

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/yorehq/yore/reader"
	"github.com/yorehq/yore/reader/readertest"
	"github.com/yorehq/yore/session"
)

func TestClassify(t *testing.T) {
	const id = "383185b8-6109-4b67-8987-327d41cf174f"
	for _, c := range []struct {
		rel  string
		dir  bool
		want reader.Kind
	}{
		{"", true, reader.Folder},
		{"-home-dev", true, reader.Folder},
		{"-home-dev", false, reader.Ignore},
		{"stray.jsonl", false, reader.Ignore},
		{"-home-dev/" + id + ".jsonl", false, reader.File},
		{"-home-dev/agent-a1.jsonl", false, reader.File},
		{"-home-dev/.jsonl", false, reader.Ignore},
		{"-home-dev/sessions-index.json", false, reader.Ignore},
		{"-home-dev/" + id + ".jsonl.compact.tmp.0a1b", false, reader.Ignore},
		{"-home-dev/" + id, true, reader.Folder},
		{"-home-dev/" + id + "/subagents", true, reader.Folder},
		{"-home-dev/" + id + "/subagents/workflows/run", true, reader.Folder},
		{"-home-dev/" + id + "/subagents/agent-a1.jsonl", false, reader.File},
		{"-home-dev/" + id + "/subagents/agent-a1.meta.json", false, reader.Ignore},
		{"-home-dev/" + id + "/subagents/workflows/run/agent-a1.jsonl", false, reader.File},
		{"-home-dev/" + id + "/subagents/workflows/run/journal.jsonl", false, reader.Ignore},
		{"-home-dev/" + id + "/tool-results", true, reader.Ignore},
		{"-home-dev/" + id + "/tool-results/toolu_1.txt", false, reader.Ignore},
		{"-home-dev/" + id + "/before-cleanup/x.jsonl.replaced", false, reader.Ignore},
		{"-home-dev/" + id + "/subagents", false, reader.Ignore},
	} {
		if got := New().Classify(c.rel, c.dir); got != c.want {
			t.Errorf("%q, dir %t: %d, want %d", c.rel, c.dir, got, c.want)
		}
	}
}

func TestDefaultRoots(t *testing.T) {
	home := filepath.FromSlash("/home/ada")
	for set, want := range map[string]string{"": "/home/ada/.claude/projects", "/etc/c": "/etc/c/projects"} {
		got := New().DefaultRoots(func(name string) string {
			if name == "CLAUDE_CONFIG_DIR" {
				return set
			}
			return ""
		}, home)
		if diff := cmp.Diff([]string{filepath.FromSlash(want)}, got); diff != "" {
			t.Errorf("CLAUDE_CONFIG_DIR=%q (-want +got):\n%s", set, diff)
		}
	}
}

func TestResumeCommand(t *testing.T) {
	for _, c := range []struct {
		h    session.Header
		want string
	}{
		{session.Header{ID: "s1"}, "claude --resume s1"},
		{session.Header{ID: "s1", Cwd: "/w/it's here"}, `cd '/w/it'\''s here' && claude --resume s1`},
		{session.Header{ID: "s1/agent-a1", Cwd: "/w"}, "cd /w && claude --resume s1"},
		{session.Header{ID: "$(touch x)"}, "claude --resume '$(touch x)'"},
		{session.Header{ID: "-x"}, ""},
		{session.Header{ID: "s1", Cwd: "/w\nrm -rf x"}, ""},
		{session.Header{}, ""},
	} {
		if got := New().ResumeCommand(c.h); got != c.want {
			t.Errorf("%+v: %s, want %s", c.h, got, c.want)
		}
	}
}

const ten = 1793527200000 // 2026-11-01T10:00:00Z

func TestHeaders(t *testing.T) {
	copied := object{"forkedFrom": object{"sessionId": "parent", "messageUuid": "u1"}}
	elsewhere := object{"sessionId": "owner"}
	for _, c := range []struct {
		name, rel, text, meta string
		want                  session.Header
	}{
		{
			"metadata before the first record of the tree; the first time and workspace count",
			"-w/s.jsonl", lines(meta("mode", object{"timestamp": "2026-11-01T09:00:00.000Z"}), user("u1", "", "hi"),
				user("u2", "u1", "ho", object{"cwd": "/elsewhere", "timestamp": "2026-11-01T09:59:59.000Z"})), "",
			session.Header{Agent: session.Claude, ID: "s", CreatedAt: ten, Cwd: "/w"},
		},
		{
			"notes that are younger than the first record: a copy, made then",
			"-w/s.jsonl", lines(meta("queue-operation", object{"timestamp": "2026-11-01T10:00:03.000Z"}), user("u1", "", "hi")), "",
			session.Header{Agent: session.Claude, ID: "s", CreatedAt: ten + 3000, Cwd: "/w"},
		},
		{
			"the name of the file is the identity", "-w/s.jsonl", lines(user("u1", "", "hi", elsewhere)), "",
			session.Header{Agent: session.Claude, ID: "s", CreatedAt: ten, Cwd: "/w"},
		},
		{
			"a first record that says little", "-w/s.jsonl",
			lines(user("u1", "", "hi", object{"cwd": nil, "timestamp": nil}), user("u2", "u1", "ho")), "",
			session.Header{Agent: session.Claude, ID: "s", CreatedAt: ten, Cwd: "/w"},
		},
		{
			"records that never name a workspace", "-w/s.jsonl",
			strings.Repeat(lines(user("u1", "", "hi", object{"cwd": nil})), 8), "",
			session.Header{Agent: session.Claude, ID: "s", CreatedAt: ten},
		},
		{
			"a fork that says so",
			"-w/s.jsonl", lines(meta("mode", object{}), user("u1", "", "hi", copied), with(answer("a1", "u1", "m", textBlock("a"), callBlock("c", "T", object{})), []object{copied}),
				meta("mode", object{}), user("u2", "a1", "own", object{"timestamp": "2026-11-01T10:00:07.000Z", "cwd": "/w2"})), "",
			session.Header{Agent: session.Claude, ID: "s", CreatedAt: ten + 7000, Cwd: "/w2", ParentSession: "parent", SeedLength: 4},
		},
		{
			"a copy that does not say so has no parent here",
			"-w/s.jsonl", lines(user("u1", "", "hi", object{"sessionKind": "bg"})), "",
			session.Header{Agent: session.Claude, ID: "s", CreatedAt: ten, Cwd: "/w"},
		},
		{
			"a subagent", "-w/own/subagents/agent-a1.jsonl", lines(user("u1", "", "task", object{"isSidechain": true})),
			`{"agentType":"Explore","spawnDepth":1}`,
			session.Header{
				Agent: session.Claude, ID: "own/agent-a1", CreatedAt: ten, Cwd: "/w", ParentSession: "own",
				Origin: "subagent", DelegationDepth: 1, AgentPreset: "Explore",
			},
		},
		{
			"a subagent's subagent", "-w/own/subagents/workflows/r/agent-a2.jsonl", lines(user("u1", "", "task")),
			`{"parentAgentId":"a1","spawnDepth":3}`,
			session.Header{
				Agent: session.Claude, ID: "own/agent-a2", CreatedAt: ten, Cwd: "/w", ParentSession: "own/agent-a1",
				Origin: "subagent", DelegationDepth: 3,
			},
		},
		{
			"a subagent without a description, or one that is broken", "-w/own/subagents/agent-a1.jsonl", lines(user("u1", "", "task")),
			`{"agentType":7,`,
			session.Header{
				Agent: session.Claude, ID: "own/agent-a1", CreatedAt: ten, Cwd: "/w", ParentSession: "own", Origin: "subagent", DelegationDepth: 1,
			},
		},
		{
			"a subagent as old releases kept it", "-w/agent-a1.jsonl", lines(user("u1", "", "task", elsewhere)), "",
			session.Header{
				Agent: session.Claude, ID: "owner/agent-a1", CreatedAt: ten, Cwd: "/w", ParentSession: "owner", Origin: "subagent", DelegationDepth: 1,
			},
		},
		{
			"a first record of more than a megabyte", "-w/s.jsonl", lines(user("u1", "", strings.Repeat("long ", 1<<20))), "",
			session.Header{Agent: session.Claude, ID: "s", CreatedAt: ten, Cwd: "/w"},
		},
	} {
		root := filepath.Join(t.TempDir(), "projects")
		src := place(t, root, c.rel, c.text)
		if c.meta != "" {
			place(t, root, strings.TrimSuffix(c.rel, ".jsonl")+".meta.json", c.meta)
		}
		got, err := New().Identify(t.Context(), root, src.Path)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, diff)
		}
		if err := got.Validate(); err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}

func TestHeadersThatMayStillCome(t *testing.T) {
	copied := object{"forkedFrom": object{"sessionId": "parent"}}
	for name, text := range map[string]string{
		"nothing":             "",
		"metadata alone":      lines(meta("mode", object{}), meta("summary", object{"summary": "x", "leafUuid": "y"})),
		"half a record":       lines(user("u1", "", "hi"))[:50],
		"copied records only": lines(user("u1", "", "hi", copied)),
	} {
		src := project(t, text)
		if _, err := New().Identify(t.Context(), src.Root, src.Path); !errors.Is(err, reader.ErrPending) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// The whole text of a moved result is found beside the transcript, by its name
// alone; whatever else the text says leads nowhere.
func TestMovedResults(t *testing.T) {
	root := filepath.Join(t.TempDir(), "projects")
	secret := place(t, root, "secret.txt", "secret").Path
	place(t, root, "-w/s/tool-results/toolu_1.txt", "the whole output\n")
	place(t, root, "-w/s/tool-results/toolu_2.json", `[{"type":"text","text":"from a list"}]`)
	place(t, root, "-w/s/tool-results/huge.txt", strings.Repeat("x", maxMoved+10))
	if err := os.Symlink(secret, filepath.Join(root, "-w", "s", "tool-results", "link.txt")); err != nil {
		t.Fatal(err)
	}
	moved := func(path string) string {
		return "<persisted-output>\nOutput too large. Full output saved to: " + path + "\n\nPreview:\nthe wh\n</persisted-output>"
	}
	for _, c := range []struct {
		name, text, want string
	}{
		{"a text", moved("/other/home/-w/s/tool-results/toolu_1.txt"), "the whole output\n"},
		{"a path of another system", moved(`C:\u\.claude\projects\-w\s\tool-results\toolu_1.txt`), "the whole output\n"},
		{"a list", moved("/x/tool-results/toolu_2.json"), "from a list"},
		{"not there", moved("/x/tool-results/toolu_9.txt"), ""},
		{"another folder", moved(secret), ""},
		{"upwards", moved("/x/tool-results/../../../secret.txt"), ""},
		{"a link", moved("/x/tool-results/link.txt"), ""},
		{"a hidden name", moved("/x/tool-results/.."), ""},
		{"not in a result's beginning", "look: " + moved("/x/tool-results/toolu_1.txt"), ""},
	} {
		for _, rel := range []string{"-w/s.jsonl", "-w/s/subagents/agent-a.jsonl"} {
			src := place(t, root, rel, lines(result("r", "", "c", c.text)))
			events, _, _ := readAll(t, src)
			want := c.want
			if want == "" {
				want = c.text
			}
			if got := events[0].Body.Blocks[0].Content[0].Text; got != want {
				t.Errorf("%s: %q, want %q", c.name, got, want)
			}
		}
	}
	src := place(t, root, "-w/s.jsonl", lines(result("r", "", "c", moved("tool-results/huge.txt"))))
	events, _, _ := readAll(t, src)
	if got := events[0].Body; len(got.Blocks[0].Content[0].Text) != maxMoved || !got.Clipped {
		t.Errorf("a huge result gives %d bytes, clipped %t", len(got.Blocks[0].Content[0].Text), got.Clipped)
	}
}

func TestRemindersAreNoResult(t *testing.T) {
	const reminder = "\n<system-reminder>be careful</system-reminder>"
	for in, want := range map[string]string{
		"out" + reminder + reminder + "\n":              "out\n",
		"a <system-reminder>quoted</system-reminder> b": "a <system-reminder>quoted</system-reminder> b",
		"</system-reminder>":                            "</system-reminder>",
	} {
		events, _, _ := readAll(t, project(t, lines(result("r", "", "c", in))))
		if got := events[0].Body.Blocks[0].Content[0].Text; got != want {
			t.Errorf("%q becomes %q, want %q", in, got, want)
		}
	}
}

func TestRunning(t *testing.T) {
	config := t.TempDir()
	root := filepath.Join(config, "projects")
	if got, err := New().Running(t.Context(), root); err != nil || len(got) != 0 {
		t.Errorf("without a registry: %v, %v", got, err)
	}
	mine := os.Getpid()
	entry := func(name string, m object) {
		text, err := json.Marshal(m)
		if err != nil {
			t.Fatal(err)
		}
		place(t, config, filepath.Join("sessions", name), string(text))
	}
	began := ""
	if stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", mine)); err == nil {
		// As a person reads it: the name holds no space here.
		began = strings.Fields(string(stat))[21]
	}
	entry("1.json", object{"pid": mine, "sessionId": "busy", "status": "busy", "procStart": began})
	entry("2.json", object{"pid": mine, "sessionId": "idle", "status": "idle"})
	entry("3.json", object{"pid": 1 << 29, "sessionId": "dead", "status": "busy"})
	entry("4.json", object{"pid": -1, "sessionId": "odd"})
	entry("5.txt", object{"pid": mine, "sessionId": "no entry"})
	entry("6.json", object{"pid": mine})
	place(t, config, "sessions/7.json", "{")
	want := map[session.ID]reader.Process{"busy": {PID: mine, Busy: true}, "idle": {PID: mine}}
	if began != "" {
		entry("8.json", object{"pid": mine, "sessionId": "another process of that number", "procStart": began + "1"})
	}
	got, err := New().Running(t.Context(), root)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestFindCall(t *testing.T) {
	root := filepath.Join(t.TempDir(), "projects")
	call := func(id string) string {
		return lines(user("u1", "", "hi"), answer("a1", "u1", "m1", callBlock(id, "T", object{"quoted": `"id":"toolu_quoted"`})))
	}
	old := place(t, root, "-w/old.jsonl", call("toolu_1")+call("toolu_2"))
	fork := place(t, root, "-w/new.jsonl", call("toolu_1"))
	place(t, root, "-w/old/subagents/agent-a.jsonl", call("toolu_3"))
	place(t, root, "-v/other.jsonl", strings.ReplaceAll(call("toolu_4"), `"/w"`, `"/v"`))
	place(t, root, "-w/answer.jsonl", lines(result("r", "", "toolu_5", "out")))
	now := time.Now()
	for path, at := range map[string]time.Time{old.Path: now.Add(-time.Hour), fork.Path: now} {
		if err := os.Chtimes(path, at, at); err != nil {
			t.Fatal(err)
		}
	}
	for call, want := range map[string]session.ID{
		"toolu_1": "new", "toolu_2": "old", "toolu_3": "old/agent-a", "toolu_4": "", "toolu_5": "", "toolu_quoted": "", "": "",
	} {
		got, ok, err := New().FindCall(t.Context(), root, "/w", call)
		if err != nil || ok != (want != "") || got != want {
			t.Errorf("%s: %q, %t, %v; want %q", call, got, ok, err, want)
		}
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, _, err := New().FindCall(ended, root, "/w", "toolu_1"); !errors.Is(err, context.Canceled) {
		t.Errorf("an ended context gives %v", err)
	}
}

func TestTitlesOutsideOfTheLog(t *testing.T) {
	root := filepath.Join(t.TempDir(), "projects")
	src := place(t, root, "-w/s/subagents/agent-a.jsonl", lines(user("u1", "", "task")))
	if title, ok, err := New().Title(t.Context(), src); ok || err != nil {
		t.Errorf("without a description: %q, %v", title, err)
	}
	place(t, root, "-w/s/subagents/agent-a.meta.json", `{"description":"Check the\n greeting"}`)
	if title, ok, err := New().Title(t.Context(), src); title != "Check the greeting" || !ok || err != nil {
		t.Errorf("description: %q, %t, %v", title, ok, err)
	}
	main := place(t, root, "-w/s.jsonl", lines(user("u1", "", "hi")))
	if title, ok, err := New().Title(t.Context(), main); ok || err != nil {
		t.Errorf("a session: %q, %v", title, err)
	}
}

// The samples hold a session with a compaction that kept one answer, its
// subagent, and a copy of its beginning that went on. The seqs were counted
// from the lines: a call follows its message, everything else is one event a line.
func TestSamples(t *testing.T) {
	type facts struct {
		ID      session.ID
		Created string
		Events  int
		Surface []int64
		Title   string
		Steps   int
	}
	var got []facts
	for _, src := range readertest.Discover(t, New(), samples) {
		events, fold, tail := readAll(t, src)
		f := facts{ID: src.Header.ID, Created: time.UnixMilli(src.Header.CreatedAt).UTC().Format("15:04:05.000"), Events: len(events), Surface: fold.Surface()}
		for i := range events {
			if events[i].Body.Title != nil {
				f.Title = *events[i].Body.Title
			}
			if events[i].Step {
				f.Steps++
			}
		}
		if len(tail.Skips) > 0 {
			t.Errorf("%s: skips %v", src.Path, tail.Skips)
		}
		got = append(got, f)
	}
	fix := "Fix the greeting in hello.txt, then check with the probe."
	want := []facts{
		{
			"383185b8-6109-4b67-8987-327d41cf174f/agent-a8b18abb66e9e2359", "08:53:12.346", 23,
			[]int64{0, 1, 2, 3, 4, 5, 6, 7, 12, 13, 15, 17, 18, 19, 22}, "SUBTASK-ALPHA: read hello.txt and report its text.", 2,
		},
		// 110 lines and 8 calls; the summary is line 97, what was kept line 88.
		{"383185b8-6109-4b67-8987-327d41cf174f", "08:53:11.142", 118, []int64{105, 96, 106, 107, 108, 109, 110, 111, 112, 113, 114, 115}, fix, 9},
		// 74 lines and 8 calls; nothing is left out but hidden attachments and metadata.
		{"7624157f-e99f-4018-9d2b-6855b7b6092a", "08:53:18.670", 82, []int64{
			5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 17, 18, 19, 21, 23, 24, 25, 27, 28, 29, 30, 32, 33, 34, 35, 37, 39, 40, 41,
			42, 43, 45, 46, 47, 49, 50, 52, 53, 54, 55, 57, 58, 59, 60, 61, 62, 63, 64, 80,
		}, fix, 10},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
