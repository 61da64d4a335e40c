package identity

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/yorehq/yore/fault"
	"github.com/yorehq/yore/session"
)

// corpus knows sessions by workspace; the last of an agent is its newest.
type corpus struct {
	keys map[string][]session.Key
	err  error
}

func (c corpus) HasSession(_ context.Context, workspace string, key session.Key) (bool, error) {
	for _, k := range c.keys[workspace] {
		if k == key {
			return true, c.err
		}
	}
	return false, c.err
}

// living is a corpus that also knows which session is the newest.
type living struct{ corpus }

func (l living) NewestSession(_ context.Context, workspace string, agent session.Agent) (session.Key, bool, error) {
	var newest session.Key
	for _, k := range l.keys[workspace] {
		if k.Agent == agent {
			newest = k
		}
	}
	return newest, newest.ID != "", l.err
}

// calls finds fixed sessions, with and without the id of the call.
type calls struct {
	byID, byArgs []session.Key
	err          error
}

func (c calls) FindCall(_ context.Context, _ string, call PendingCall) ([]session.Key, error) {
	if call.ID != "" {
		return c.byID, c.err
	}
	var found []session.Key
	for _, k := range c.byArgs {
		if call.Agent == "" || k.Agent == call.Agent {
			found = append(found, k)
		}
	}
	return found, c.err
}

func environment(pairs ...string) func(string) string {
	return func(name string) string {
		for i := 0; i < len(pairs); i += 2 {
			if pairs[i] == name {
				return pairs[i+1]
			}
		}
		return ""
	}
}

func sandboxed(v any) map[string]any { return map[string]any{"codex/sandbox-state-meta": v} }

func TestWorkspace(t *testing.T) {
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	dir, other, link := filepath.Join(base, "my proj"), filepath.Join(base, "other"), filepath.Join(base, "link")
	for _, d := range []string{dir, other} {
		if err := os.Mkdir(d, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(dir, link); err != nil {
		t.Fatal(err)
	}
	root := filepath.VolumeName(base) + string(filepath.Separator)
	for _, tc := range []struct {
		name   string
		host   Options
		call   Call
		want   string
		refuse string // a part of the sentence
	}{
		{name: "the working directory", want: dir},
		{name: "a flag before the working directory", host: Options{Workspace: other}, want: other},
		{name: "a relative flag", host: Options{Workspace: "."}, want: dir},
		{name: "a flag is cleaned", host: Options{Workspace: other + "/x/../"}, want: other},
		{name: "a flag for a folder that is gone", host: Options{Workspace: filepath.Join(base, "gone")}, want: filepath.Join(base, "gone")},
		{name: "a flag is not resolved", host: Options{Workspace: link}, want: link},
		{name: "the root folder", host: Options{Dir: root}, refuse: "root folder"},
		{name: "the root folder by flag", host: Options{Dir: root, Workspace: root}, want: root},
		{name: "the root folder spelled oddly", host: Options{Dir: root + "x/.."}, refuse: "root folder"},

		{name: "DSH", call: Call{Client: "dsh-mcp-client"}, refuse: "several workspaces"},
		{name: "DSH with a flag", host: Options{Workspace: other}, call: Call{Client: "dsh-mcp-client"}, want: other},
		{name: "DSH that takes the process's folder on purpose", host: Options{Workspace: "."}, call: Call{Client: "dsh-mcp-client"}, want: dir},
		{name: "OpenClaw", call: Call{Client: "openclaw-bundle-mcp"}, refuse: "several workspaces"},
		{name: "OpenClaw with a flag", host: Options{Workspace: other}, call: Call{Client: "openclaw-bundle-mcp"}, want: other},

		{name: "Claude's project", host: Options{Getenv: environment("CLAUDE_PROJECT_DIR", dir)}, want: dir},
		{name: "Claude's project by a link", host: Options{Getenv: environment("CLAUDE_PROJECT_DIR", link)}, want: dir},
		{name: "Claude's project elsewhere", host: Options{Getenv: environment("CLAUDE_PROJECT_DIR", other)}, refuse: "another project folder"},
		{name: "Claude's project gone", host: Options{Getenv: environment("CLAUDE_PROJECT_DIR", filepath.Join(base, "gone"))}, refuse: "another project folder"},
		{name: "Claude's project elsewhere, with a flag", host: Options{Workspace: dir, Getenv: environment("CLAUDE_PROJECT_DIR", other)}, want: dir},

		{name: "Codex sends a path", call: Call{Meta: sandboxed(map[string]any{"sandboxCwd": other})}, want: other},
		{name: "Codex sends a URL", call: Call{Meta: sandboxed(map[string]any{"sandboxCwd": "file://" + strings.ReplaceAll(dir, " ", "%20")})}, want: dir},
		{name: "Codex sends a URL with a host of its own", call: Call{Meta: sandboxed(map[string]any{"sandboxCwd": "file://localhost" + other})}, want: other},
		{name: "a URL of another machine", call: Call{Meta: sandboxed(map[string]any{"sandboxCwd": "file://elsewhere" + other})}, refuse: "cannot be read"},
		{name: "a URL with a query", call: Call{Meta: sandboxed(map[string]any{"sandboxCwd": "file://" + other + "?x"})}, refuse: "cannot be read"},
		{name: "a URL that is none", call: Call{Meta: sandboxed(map[string]any{"sandboxCwd": "file://%zz"})}, refuse: "cannot be read"},
		{name: "Codex in the root folder", call: Call{Meta: sandboxed(map[string]any{"sandboxCwd": root})}, refuse: "root folder"},
		{name: "Codex sends a relative path", call: Call{Meta: sandboxed(map[string]any{"sandboxCwd": "proj"})}, refuse: "cannot be read"},
		{name: "Codex sends a path with NUL", call: Call{Meta: sandboxed(map[string]any{"sandboxCwd": other + "\x00"})}, refuse: "cannot be read"},
		{name: "Codex sends nothing", call: Call{Meta: sandboxed(map[string]any{})}, refuse: "cannot be read"},
		{name: "Codex sends a number", call: Call{Meta: sandboxed(7.0)}, refuse: "cannot be read"},
		{name: "Codex does not move a flag", host: Options{Workspace: dir}, call: Call{Meta: sandboxed(map[string]any{"sandboxCwd": other})}, want: dir},

		{name: "over a network", call: Call{Remote: true}, refuse: "--workspace"},
		{name: "over a network with Codex's folder", call: Call{Remote: true, Meta: sandboxed(map[string]any{"sandboxCwd": other})}, refuse: "--workspace"},
		{name: "over a network with a flag", host: Options{Workspace: other}, call: Call{Remote: true}, want: other},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if tc.host.Dir == "" {
				tc.host.Dir = dir
			}
			r, err := New(tc.host)
			if err != nil {
				t.Fatal(err)
			}
			got, err := r.Caller(t.Context(), tc.call)
			if tc.refuse != "" {
				if !errors.Is(err, fault.MissingAgent) || !strings.Contains(fault.SafeText(err), tc.refuse) {
					t.Fatalf("got %+v, %v; want a refusal with %q", got, err, tc.refuse)
				}
				if strings.Contains(fault.SafeText(err), base) {
					t.Errorf("the refusal %q gives a path away", fault.SafeText(err))
				}
				return
			}
			if err != nil || got.Workspace != tc.want {
				t.Errorf("got %q, %v; want %q", got.Workspace, err, tc.want)
			}
			if got.Session != nil {
				t.Errorf("a session from nowhere: %v", got.Session)
			}
		})
	}
}

// The system is asked, not $PWD, which may name the folder by another way.
func TestWorkingDirectoryIsTheSystems(t *testing.T) {
	real, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(real, link); err != nil {
		t.Fatal(err)
	}
	t.Chdir(link) // sets $PWD to the link
	if os.Getenv("PWD") != link {
		t.Fatalf("the test's premise fails: PWD is %s", os.Getenv("PWD"))
	}
	r, err := New(Options{})
	if err != nil {
		t.Fatal(err)
	}
	if got, err := r.Caller(t.Context(), Call{}); err != nil || got.Workspace != real {
		t.Errorf("got %q, %v; want %q", got.Workspace, err, real)
	}
}

func TestRelativeWorkspaceNeedsAFolder(t *testing.T) {
	if _, err := New(Options{Dir: "not/absolute", Workspace: "."}); !errors.Is(err, fault.InvalidConfig) {
		t.Errorf("got %v", err)
	}
	r, err := New(Options{Dir: "not/absolute"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.Caller(t.Context(), Call{}); !errors.Is(err, fault.MissingAgent) {
		t.Errorf("got %v", err)
	}
}

func TestSession(t *testing.T) {
	key := func(agent, id string) session.Key {
		return session.Key{Agent: session.Agent(agent), ID: session.ID(id)}
	}
	known := corpus{keys: map[string][]session.Key{
		"/w": {key("codex", "t1"), key("claude-code", "c0"), key("claude-code", "c1"), key("qwen-code", "q0"), key("qwen-code", "q1"), key("copilot", "p1"), key("dsh", "d1"), key("dsh", "d2"), key("pi", "i1"), key("kilo", "k1"), key("opencode", "o1")},
		"/v": {key("codex", "foreign"), key("claude-code", "foreign"), key("qwen-code", "foreign"), key("dsh", "foreign")},
	}}
	env := environment("CLAUDE_CODE_SESSION_ID", "c1", "QWEN_CODE_SESSION_ID", "q1", "COPILOT_AGENT_SESSION_ID", "p1")
	broken := errors.New("the index is gone")
	for _, tc := range []struct {
		name string
		host Options
		call Call
		want string // agent:id; "": unknown
	}{
		{name: "nothing is told"},
		{name: "Codex's thread", call: Call{Meta: map[string]any{"threadId": "t1"}}, want: "codex:t1"},
		{name: "Codex's thread of another workspace", call: Call{Meta: map[string]any{"threadId": "foreign"}}},
		{name: "Codex's thread that is not there", call: Call{Meta: map[string]any{"threadId": "t2"}}},
		{name: "a thread that is no string", call: Call{Meta: map[string]any{"threadId": 1.0}}},
		{name: "a thread with another agent's id", call: Call{Meta: map[string]any{"threadId": "c1"}}},
		{name: "Codex's thread lies where its folder says", call: Call{Meta: map[string]any{"threadId": "foreign", "codex/sandbox-state-meta": map[string]any{"sandboxCwd": "/v"}}}, want: "codex:foreign"},
		{name: "Codex's thread of a pinned server's neighbour", host: Options{Workspace: "/w"}, call: Call{Meta: map[string]any{"threadId": "foreign", "codex/sandbox-state-meta": map[string]any{"sandboxCwd": "/v"}}}},

		{name: "Claude's variable, its newest session", host: Options{Getenv: env, Finder: living{known}}, call: Call{Client: "claude-code"}, want: "claude-code:c1"},
		{name: "Claude's variable, gone stale", host: Options{Getenv: environment("CLAUDE_CODE_SESSION_ID", "c0"), Finder: living{known}}, call: Call{Client: "claude-code"}},
		{name: "Claude's variable, age not known", host: Options{Getenv: env}, call: Call{Client: "claude-code"}},
		{name: "Claude's variable of another workspace", host: Options{Getenv: environment("CLAUDE_CODE_SESSION_ID", "foreign"), Finder: living{known}}, call: Call{Client: "claude-code"}},
		{name: "Claude's variable that is empty", host: Options{Finder: living{known}}, call: Call{Client: "claude-code"}},
		{name: "Claude's call id before its variable", host: Options{Getenv: env, Finder: living{known}, Calls: calls{byID: []session.Key{key("claude-code", "c0")}}},
			call: Call{Client: "claude-code", Meta: map[string]any{"claudecode/toolUseId": "toolu_1"}}, want: "claude-code:c0"},
		{name: "Claude's call id that is not written yet", host: Options{Getenv: env, Finder: living{known}, Calls: calls{}},
			call: Call{Client: "claude-code", Meta: map[string]any{"claudecode/toolUseId": "toolu_1"}}, want: "claude-code:c1"},
		{name: "Qwen's variable, its newest session", host: Options{Getenv: env, Finder: living{known}}, call: Call{Client: "qwen-cli-mcp-client-yore"}, want: "qwen-code:q1"},
		{name: "Qwen's variable, gone stale", host: Options{Getenv: environment("QWEN_CODE_SESSION_ID", "q0"), Finder: living{known}}, call: Call{Client: "qwen-cli-mcp-client-yore"}},
		{name: "Qwen's variable gone stale, the call in the log of the new session", host: Options{Getenv: environment("QWEN_CODE_SESSION_ID", "q0"), Finder: living{known}, Calls: calls{byArgs: []session.Key{key("qwen-code", "q1")}}},
			call: Call{Client: "qwen-cli-mcp-client-yore"}, want: "qwen-code:q1"},
		{name: "Qwen's variable of another workspace", host: Options{Getenv: environment("QWEN_CODE_SESSION_ID", "foreign")}, call: Call{Client: "qwen-cli-mcp-client-yore"}},
		{name: "Copilot's variable", host: Options{Getenv: env}, call: Call{Client: "GitHub-Copilot-CLI"}, want: "copilot:p1"},
		{name: "variables that an outer agent handed on", host: Options{Getenv: env, Finder: living{known}}, call: Call{Client: "opencode"}},
		{name: "variables over a network", host: Options{Getenv: env, Workspace: "/w"}, call: Call{Client: "qwen-cli-mcp-client-yore", Remote: true}},

		{name: "one pending call", host: Options{Calls: calls{byArgs: []session.Key{key("dsh", "d1")}}}, want: "dsh:d1"},
		{name: "two pending calls", host: Options{Calls: calls{byArgs: []session.Key{key("dsh", "d1"), key("dsh", "d2")}}}},
		{name: "a pending call of another workspace", host: Options{Calls: calls{byArgs: []session.Key{key("dsh", "foreign")}}}},
		{name: "a client's own agent", host: Options{Calls: calls{byArgs: []session.Key{key("dsh", "d1"), key("claude-code", "c0")}}, Workspace: "/w"}, call: Call{Client: "dsh-mcp-client"}, want: "dsh:d1"},
		{name: "Claude's own log", host: Options{Calls: calls{byArgs: []session.Key{key("claude-code", "c0"), key("codex", "t1")}}}, call: Call{Client: "claude-code"}, want: "claude-code:c0"},
		{name: "Codex is no session of Claude", host: Options{Calls: calls{byArgs: []session.Key{key("claude-code", "c0")}}}, call: Call{Client: "codex-mcp-client"}},
		{name: "an agent without readable logs", host: Options{Calls: calls{byArgs: []session.Key{key("claude-code", "c0")}}}, call: Call{Client: "some-client"}},
		{name: "Pi's own log", host: Options{Calls: calls{byArgs: []session.Key{key("pi", "i1"), key("codex", "t1")}}}, call: Call{Client: "pi"}, want: "pi:i1"},
		{name: "another agent without readable logs", host: Options{Calls: calls{byArgs: []session.Key{key("claude-code", "c0")}}}, call: Call{Client: "gemini-cli-mcp-client"}},
		{name: "Kilo calls itself as OpenCode does", host: Options{Calls: calls{byArgs: []session.Key{key("kilo", "k1")}}}, call: Call{Client: "opencode"}, want: "kilo:k1"},
		{name: "OpenCode", host: Options{Calls: calls{byArgs: []session.Key{key("opencode", "o1"), key("pi", "i1")}}}, call: Call{Client: "opencode"}, want: "opencode:o1"},
		{name: "OpenCode or Kilo", host: Options{Calls: calls{byArgs: []session.Key{key("opencode", "o1"), key("kilo", "k1")}}}, call: Call{Client: "opencode"}},
		{name: "a call id that is not found", host: Options{Calls: calls{byArgs: []session.Key{key("claude-code", "c0")}}},
			call: Call{Client: "claude-code", Meta: map[string]any{"claudecode/toolUseId": "toolu_1"}}},
		{name: "a thread that is not found", host: Options{Calls: calls{byArgs: []session.Key{key("codex", "t1")}}},
			call: Call{Client: "codex-mcp-client", Meta: map[string]any{"threadId": "t9"}}},
		{name: "a variable before a pending call", host: Options{Getenv: env, Finder: living{known}, Calls: calls{byArgs: []session.Key{key("dsh", "d1")}}}, call: Call{Client: "qwen-cli-mcp-client-yore"}, want: "qwen-code:q1"},

		{name: "a lookup that fails says nothing", host: Options{Finder: corpus{keys: known.keys, err: broken}}, call: Call{Meta: map[string]any{"threadId": "t1"}}},
		{name: "a log that cannot be read says nothing", host: Options{Calls: calls{byArgs: []session.Key{key("dsh", "d1")}, err: broken}}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			tc.host.Dir = "/w"
			if tc.host.Finder == nil {
				tc.host.Finder = known
			}
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

// Without a finder nothing that comes over a wire is believed.
func TestNoFinder(t *testing.T) {
	r, err := New(Options{Dir: "/w", Calls: calls{byArgs: []session.Key{{Agent: "dsh", ID: "d1"}}}})
	if err != nil {
		t.Fatal(err)
	}
	got, err := r.Caller(t.Context(), Call{Meta: map[string]any{"threadId": "t1"}})
	if diff := cmp.Diff(Caller{Workspace: "/w"}, got); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
}

func TestContextEnds(t *testing.T) {
	r, err := New(Options{Dir: "/w", Finder: corpus{err: context.Canceled}})
	if err != nil {
		t.Fatal(err)
	}
	call := Call{Meta: map[string]any{"threadId": "t1"}}
	ctx, cancel := context.WithCancel(t.Context())
	// The lookup's own end is not the call's.
	if got, err := r.Caller(ctx, call); err != nil || got.Workspace != "/w" || got.Session != nil {
		t.Errorf("got %+v, %v", got, err)
	}
	cancel()
	if _, err := r.Caller(ctx, call); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

func TestIsTool(t *testing.T) {
	for _, tc := range []struct {
		recorded, tool string
		want           bool
	}{
		{"session_search", "session_search", true},
		{"mcp__yore__session_search", "session_search", true},
		{"mcp_yore_session_search", "session_search", true},
		{"yore_session_search", "session_search", true},
		{"yore.session_search", "session_search", true},
		{"mysession_search", "session_search", false},
		{"session_search_x", "session_search", false},
		{"session_event_search", "session_search", false},
		{"session_event_trace", "session_trace", false},
		{"Session_Search", "session_search", false},
		{"", "session_search", false},
		{"x_", "", false},
	} {
		if got := isTool(tc.recorded, tc.tool); got != tc.want {
			t.Errorf("isTool(%q, %q) = %v", tc.recorded, tc.tool, got)
		}
	}
}

func TestSameJSON(t *testing.T) {
	for _, tc := range []struct {
		a, b string
		want bool
	}{
		{`{"a":1,"b":"x"}`, ` {"b":"\u0078", "a":1.0} `, true},
		{`{"a":1e999}`, `{"a":1e999}`, true},
		{`{"a":1e999}`, `{"a":1e998}`, false},
		{`[1, [2.0]]`, `[1.0,[2]]`, true},
		{`{"a":[1,2]}`, `{"a":[2,1]}`, false},
		{`{"a":1}`, `{"a":"1"}`, false},
		{`{"a":null}`, `{}`, false},
		{``, `{}`, true},
		{` `, ``, true},
		{`null`, `{}`, false},
		{`{"a":`, `{"a":`, false},
	} {
		if got := sameJSON([]byte(tc.a), []byte(tc.b)); got != tc.want {
			t.Errorf("%s and %s: %v", tc.a, tc.b, got)
		}
	}
}

func FuzzSameJSON(f *testing.F) {
	f.Add([]byte(`{"a":1}`), []byte(`{"a":1.0}`))
	f.Fuzz(func(t *testing.T, a, b []byte) {
		if sameJSON(a, b) != sameJSON(b, a) {
			t.Fatal("depends on the side")
		}
		if json.Valid(a) && !sameJSON(a, a) {
			t.Fatal("does not equal itself")
		}
	})
}
