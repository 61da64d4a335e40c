package identity

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"runtime"
	"testing"

	"github.com/yorehq/yore/reader"
	"github.com/yorehq/yore/session"
)

func TestRegistry(t *testing.T) {
	key := func(agent, id string) session.Key {
		return session.Key{Agent: session.Agent(agent), ID: session.ID(id)}
	}
	known := corpus{keys: map[string][]session.Key{
		"/w": {key("claude-code", "c0"), key("claude-code", "c1"), key("codex", "t1"), key("codex", "t2")},
		"/v": {key("claude-code", "foreign"), key("codex", "foreign")},
	}}
	type processes = map[session.Key]reader.Process
	at := func(pid int) reader.Process { return reader.Process{PID: pid} }
	const parent, wrapper, top, stranger = 50, 40, 30, 99
	named := map[string]any{"claudecode/toolUseId": "toolu_1"}
	for _, tc := range []struct {
		name    string
		running processes
		host    Options
		call    Call
		want    string
	}{
		{name: "the parent", running: processes{key("claude-code", "c0"): at(parent), key("claude-code", "c1"): at(stranger)}, call: Call{Client: "claude-code"}, want: "claude-code:c0"},
		{name: "behind wrappers", running: processes{key("claude-code", "c0"): at(top)}, call: Call{Client: "claude-code"}, want: "claude-code:c0"},
		{name: "an agent that another one started", running: processes{key("claude-code", "c0"): at(top), key("claude-code", "c1"): at(parent)}, call: Call{Client: "claude-code"}, want: "claude-code:c1"},
		{name: "a process that is none of ours", running: processes{key("claude-code", "c0"): at(stranger)}, call: Call{Client: "claude-code"}},
		{name: "of two sessions one is elsewhere", running: processes{key("codex", "t1"): at(parent), key("codex", "foreign"): at(parent)}, call: Call{Client: "codex-mcp-client"}, want: "codex:t1"},
		{name: "two sessions of one process", running: processes{key("codex", "t1"): at(parent), key("codex", "t2"): at(parent), key("codex", "foreign"): at(top)}, call: Call{Client: "codex-mcp-client"}},
		{name: "the nearest is elsewhere", running: processes{key("claude-code", "foreign"): at(parent), key("claude-code", "c0"): at(top)}, call: Call{Client: "claude-code"}},
		{name: "another agent's process", running: processes{key("claude-code", "c0"): at(parent)}, call: Call{Client: "codex-mcp-client"}},
		{name: "the client's own agent further up", running: processes{key("claude-code", "c0"): at(parent), key("codex", "t1"): at(wrapper)}, call: Call{Client: "codex-mcp-client"}, want: "codex:t1"},
		{name: "an agent without a registry", running: processes{key("claude-code", "c0"): at(parent)}, call: Call{Client: "pi"}},
		{name: "a client without a name", running: processes{key("claude-code", "c0"): at(wrapper)}, want: "claude-code:c0"},
		{name: "over a network", running: processes{key("claude-code", "c0"): at(parent)}, call: Call{Client: "claude-code", Remote: true}, host: Options{Workspace: "/w"}},
		{name: "a thread is named that is not known", running: processes{key("codex", "t1"): at(parent)}, call: Call{Client: "codex-mcp-client", Meta: map[string]any{"threadId": "t9"}}},

		{name: "a call id comes first", running: processes{key("claude-code", "c0"): at(parent)}, host: Options{Calls: calls{byID: []session.Key{key("claude-code", "c1")}}}, call: Call{Client: "claude-code", Meta: named}, want: "claude-code:c1"},
		{name: "a call id that is not found", running: processes{key("claude-code", "c0"): at(parent)}, host: Options{Calls: calls{}}, call: Call{Client: "claude-code", Meta: named}, want: "claude-code:c0"},
		{name: "before the environment", running: processes{key("claude-code", "c0"): at(parent)}, host: Options{Finder: living{known}, Getenv: environment("CLAUDE_CODE_SESSION_ID", "c1")}, call: Call{Client: "claude-code"}, want: "claude-code:c0"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			tc.host.Dir = "/w"
			if tc.host.Finder == nil {
				tc.host.Finder = known
			}
			tc.host.Running = func(context.Context) (map[session.Key]reader.Process, error) { return tc.running, nil }
			tc.host.Ancestors = func() []int { return []int{parent, wrapper, top} }
			r, err := New(tc.host)
			if err != nil {
				t.Fatal(err)
			}
			got, err := r.Caller(t.Context(), tc.call)
			if err != nil {
				t.Fatal(err)
			}
			name := ""
			if got.Session != nil {
				name = got.Session.String()
			}
			if name != tc.want {
				t.Errorf("got %q, want %q", name, tc.want)
			}
		})
	}
}

// A registry that cannot be read says nothing, and the next rule is asked.
func TestRegistryFails(t *testing.T) {
	me := session.Key{Agent: claude, ID: "me"}
	r, err := New(Options{
		Dir: "/w", Finder: corpus{keys: map[string][]session.Key{"/w": {me}}}, Calls: calls{byArgs: []session.Key{me}},
		Running: func(context.Context) (map[session.Key]reader.Process, error) { return nil, errors.New("unreadable") },
	})
	if err != nil {
		t.Fatal(err)
	}
	if got, err := r.Caller(t.Context(), Call{Client: "claude-code"}); err != nil || got.Session == nil || *got.Session != me {
		t.Errorf("got %+v, %v", got, err)
	}
}

func TestParentIn(t *testing.T) {
	for _, tc := range []struct {
		stat string
		want int
	}{
		{"812 (node) S 700 812 700 34816 812 4194304\n", 700},
		{"812 (npm exec (x) 9) S 701 812", 701},
		{"812 (a) R 1 2) S 702 812", 702},
		{"1 (init) S 0 1 1", 0},
		{"812 (node) S", 0},
		{"812 (node) S x 1", 0},
		{"", 0},
	} {
		if got := parentIn([]byte(tc.stat)); got != tc.want {
			t.Errorf("%q: %d, want %d", tc.stat, got, tc.want)
		}
	}
}

// What this process says of a child that it started.
func TestParent(t *testing.T) {
	if all := ancestors(); len(all) == 0 || all[0] != os.Getppid() || len(all) > maxAncestors {
		t.Errorf("above this process: %v", all)
	}
	if runtime.GOOS != "linux" {
		return
	}
	child := exec.Command("cat")
	in, err := child.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	if got := parent(child.Process.Pid); got != os.Getpid() {
		t.Errorf("the child's parent is %d, want %d", got, os.Getpid())
	}
	if err := errors.Join(in.Close(), child.Wait()); err != nil {
		t.Error(err)
	}
}
