package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"

	"github.com/yorehq/yore/internal/mockmodel"
)

// patience is how long one run of a client may take. YORE_E2E_PATIENCE
// multiplies it, on machines that are busy.
var patience = func() time.Duration {
	times, err := strconv.Atoi(os.Getenv("YORE_E2E_PATIENCE"))
	if err != nil {
		times = 1
	}
	return time.Duration(times) * 90 * time.Second
}()

// home is a user's home folder with two projects in it, and nothing of the
// machine's own user.
type home struct {
	t    *testing.T
	dir  string
	here string // the project the clients work in
	away string // another one
	yore string
	also string // what else is on the path, with a colon before it
	zstd bool   // sessions of DSH are planted compressed: the client wants all of them in one form
}

// clientsDir is where Node and the clients are, each in a folder of its own.
func clientsDir() string { return os.Getenv("YORE_E2E_DIR") }

// need skips a test whose client could not be installed.
func need(t *testing.T, name string) {
	t.Helper()
	if !slices.Contains(strings.Fields(os.Getenv("YORE_E2E_CLIENTS")), name) {
		t.Skip(name + " is not installed")
	}
}

func newHome(t *testing.T) *home {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	h := &home{t: t, dir: dir, here: filepath.Join(dir, "src", "here"), away: filepath.Join(dir, "src", "away")}
	for _, d := range []string{h.here, h.away} {
		if err := os.MkdirAll(d, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if h.yore, err = exec.LookPath("yore"); err != nil {
		t.Fatal(err)
	}
	return h
}

// command is a program of the clients or of the product, in an environment that
// holds only what is named.
func (h *home) command(ctx context.Context, dir string, env []string, name string, args ...string) *exec.Cmd {
	path, search := name, filepath.Join(clientsDir(), "node", "node_modules", ".bin")
	if !filepath.IsAbs(name) {
		own := filepath.Join(clientsDir(), name, "node_modules", ".bin")
		path, search = filepath.Join(own, name), own+string(os.PathListSeparator)+search
	}
	cmd := exec.CommandContext(ctx, path, args...)
	cmd.Dir = dir
	cmd.Env = append([]string{"PATH=" + search + h.also + ":/usr/bin:/bin", "HOME=" + h.dir, "LANG=C.UTF-8", "TERM=dumb", "PWD=" + dir}, env...)
	// A client's own children may keep its output open.
	cmd.WaitDelay = 5 * time.Second
	return cmd
}

// says runs a command and returns what a person gets to read of it.
func (h *home) says(dir string, env []string, name string, args ...string) string {
	h.t.Helper()
	ctx, cancel := context.WithTimeout(h.t.Context(), patience)
	defer cancel()
	out, err := h.command(ctx, dir, env, name, args...).CombinedOutput()
	if err != nil {
		h.t.Fatalf("%s %s: %v\n%s", name, strings.Join(args, " "), err, out)
	}
	return string(out)
}

// exec runs a command and returns its output.
func (h *home) exec(dir string, env []string, name string, args ...string) string {
	h.t.Helper()
	ctx, cancel := context.WithTimeout(h.t.Context(), patience)
	defer cancel()
	cmd := h.command(ctx, dir, env, name, args...)
	var errs strings.Builder
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil {
		h.t.Fatalf("%s %s: %v\n%s\n%s", name, strings.Join(args, " "), err, out, errs.String())
	}
	return string(out)
}

// eventually waits until something is so.
func (h *home) eventually(what string, so func() bool) {
	h.t.Helper()
	for late := time.Now().Add(patience); !so(); time.Sleep(200 * time.Millisecond) {
		if time.Now().After(late) {
			h.t.Fatalf("%s never came", what)
		}
	}
}

func (h *home) file(name, text string) {
	h.t.Helper()
	path := filepath.Join(h.dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		h.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		h.t.Fatal(err)
	}
}

// plant writes a session of DSH in which a person said something, and returns
// the record of that message, event 1.
func (h *home) plant(id, cwd, said string) string {
	h.t.Helper()
	quote := func(s string) string {
		out, err := json.Marshal(s)
		if err != nil {
			h.t.Fatal(err)
		}
		return string(out)
	}
	record := fmt.Sprintf(`{"type":"user/message","seq":1,"time":1772442002000,"data":{"id":"u-1","role":"user","content":[{"type":"text","text":%s}],"source":{"kind":"user"}, "odd":1.50},"surfaceOp":"append"}`, quote(said))
	log := fmt.Sprintf(`{"type":"session","version":0,"id":%s,"createdAt":1772442000000,"cwd":%s,"delegationDepth":0}
{"type":"turn/start","seq":0,"time":1772442001000,"data":{"turn":1}}
%s
{"type":"turn/end","seq":2,"time":1772442003000,"data":{"turn":1,"reason":{"kind":"completed"}}}
`, quote(id), quote(cwd), record)
	key := "--" + strings.ReplaceAll(strings.TrimLeft(cwd, "/"), "/", "-") + "--"
	name := "session.jsonl"
	if h.zstd {
		enc, err := zstd.NewWriter(nil)
		if err != nil {
			h.t.Fatal(err)
		}
		head, rest, _ := strings.Cut(log, "\n") // the header's line is a frame of its own
		name, log = name+".zstd", string(enc.EncodeAll([]byte(rest), enc.EncodeAll([]byte(head+"\n"), nil)))
	}
	h.file(filepath.Join(".dsh", "sessions", key, id, name), log)
	return record
}

// clients are those that are tested.
var clients = []client{claude, codex, piClient, openCodeClient, geminiClient, qwenClient, copilotClient, kimiClient, dshClient}

// client is one of the real ones.
type client struct {
	name string
	// env is what the client needs of an environment to reach a model's address.
	env func(url string) []string
	// args stands behind "mcp" where setup starts the server with more.
	args string
	// unlisted: the client has no command that lists its servers.
	unlisted bool
	// nameless: nobody can say which of the client's sessions makes a call.
	nameless bool
	// prepare writes the client's own configuration, as a user may have it.
	prepare func(h *home)
	// check asks the client itself what it makes of the entry.
	check func(h *home)
	// ask runs one prompt against a model's address.
	ask func(h *home, dir, url, prompt string)
	// names stands before a tool's name where a request does not offer them all.
	names string
	// before are turns that the client needs before it calls the tools.
	before []mockmodel.Turn
	// run drives the client through a session, and holds what it leaves to what
	// it sent; nil: nobody does yet.
	run func(h *home)
	// sessions lists the ids of the sessions that the client has kept.
	sessions func(h *home) []string
}

var claude = client{
	name:    "claude",
	env:     claudeEnv,
	prepare: func(h *home) { h.file(".claude.json", "{\n  \"hasCompletedOnboarding\": true\n}\n") },
	check: func(h *home) {
		h.want("claude mcp get yore", h.exec(h.here, claudeEnv("http://127.0.0.1:9"), "claude", "mcp", "get", "yore"),
			"Scope: User config", "Command: "+h.yore, "Args: mcp", "Connected")
	},
	ask: func(h *home, dir, url, prompt string) {
		h.exec(dir, claudeEnv(url), "claude", "-p", prompt, "--allowedTools", "mcp__yore", "--output-format", "json", "--model", "claude-sonnet-4-5")
	},
	before: []mockmodel.Turn{{Calls: []mockmodel.Call{{Tool: "ToolSearch", Args: `{"query":"select:` +
		`mcp__yore__session_search,mcp__yore__session_event_search,mcp__yore__session_trace,mcp__yore__session_event_trace,mcp__yore__session_event_read"}`}}}},
	sessions: func(h *home) []string {
		return h.stems(filepath.Join(".claude", "projects", "*", "*.jsonl"), 0)
	},
}

func claudeEnv(url string) []string {
	return []string{"ANTHROPIC_BASE_URL=" + url, "ANTHROPIC_API_KEY=dummy", "DISABLE_AUTOUPDATER=1", "DISABLE_TELEMETRY=1", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1"}
}

var codex = client{
	name: "codex",
	env:  func(string) []string { return []string{"MOCK_KEY=dummy"} },
	prepare: func(h *home) {
		h.file(filepath.Join(".codex", "config.toml"), `# my own settings
model = "mock-1"
model_provider = "mock"
approval_policy = "never"
sandbox_mode = "read-only"

[model_providers.mock]
name = "mock"
base_url = "http://127.0.0.1:9/v1" # the command line says where
wire_api = "responses"
env_key = "MOCK_KEY"
`)
	},
	check: func(h *home) {
		var entry struct {
			Enabled   bool
			Transport struct {
				Command string
				Args    []string
			}
		}
		out := h.exec(h.here, nil, "codex", "mcp", "get", "yore", "--json")
		if err := json.Unmarshal([]byte(out), &entry); err != nil || !entry.Enabled || entry.Transport.Command != h.yore || strings.Join(entry.Transport.Args, " ") != "mcp" {
			h.t.Errorf("codex mcp get yore: %v\n%s", err, out)
		}
		text, err := os.ReadFile(filepath.Join(h.dir, ".codex", "config.toml"))
		if err != nil {
			h.t.Fatal(err)
		}
		h.want("config.toml", string(text), "# my own settings\n", "# the command line says where\n")
	},
	ask: func(h *home, dir, url, prompt string) {
		provider := fmt.Sprintf("model_providers.mock.base_url=%q", url+"/v1")
		h.exec(dir, []string{"MOCK_KEY=dummy"}, "codex", "exec", "-c", provider, "--skip-git-repo-check", "--json", prompt)
	},
	sessions: func(h *home) []string {
		return h.stems(filepath.Join(".codex", "sessions", "*", "*", "*", "rollout-*.jsonl"), len("019e0000-0000-7000-8000-000000000000"))
	},
}

// stems lists the names of files without their ending, or as many bytes of it
// from behind.
func (h *home) stems(pattern string, bytes int) []string {
	h.t.Helper()
	paths, err := filepath.Glob(filepath.Join(h.dir, pattern))
	if err != nil {
		h.t.Fatal(err)
	}
	var all []string
	for _, p := range paths {
		stem := strings.TrimSuffix(filepath.Base(p), ".jsonl")
		if bytes > 0 {
			stem = stem[max(0, len(stem)-bytes):]
		}
		all = append(all, stem)
	}
	return all
}

// setUp configures a client by the product's own command.
func (h *home) setUp(c client) {
	h.t.Helper()
	c.prepare(h)
	h.want("setup "+c.name, h.exec(h.here, nil, h.yore, "setup", c.name, "--write"), "added: ", "backup: ")
	h.want("setup again", h.exec(h.here, nil, h.yore, "setup", c.name, "--write"), "unchanged: ")
	c.check(h)
}

func (h *home) want(what, got string, all ...string) {
	h.t.Helper()
	for _, w := range all {
		if !strings.Contains(got, w) {
			h.t.Errorf("%s: no %q in\n%s", what, w, got)
		}
	}
}

// takeDown undoes setUp, and asks the client whether it knows.
func (h *home) takeDown(c client) {
	h.t.Helper()
	h.want("doctor", h.exec(h.here, nil, h.yore, "doctor"), "  "+c.name+": starts "+h.yore+" mcp"+c.args+" as yore ", "\nNo problem was found.\n")
	out := h.exec(h.here, nil, h.yore, "setup", c.name, "--undo")
	if !strings.HasPrefix(out, "removed: ") && !strings.HasPrefix(out, "restored: ") {
		h.t.Errorf("undo: %s", out)
	}
	h.want("undo again", h.exec(h.here, nil, h.yore, "setup", c.name, "--undo"), "unchanged: ")
	if !c.unlisted {
		h.want(c.name+" mcp list", h.says(h.here, c.env("http://127.0.0.1:9"), c.name, "mcp", "list"), "No MCP servers configured")
	}
}

// own stands for the id of the session that makes a call, known only afterwards.
const own = "<own>"

// step is one call of the model, and what it must and must not get to read.
type step struct {
	tool, args string
	want, lack []string
}

// converse lets a client work in a folder: the model makes one call a turn.
// It returns the id of the session that this made.
func (h *home) converse(c client, dir, prompt string, steps ...step) string {
	h.t.Helper()
	turns := append([]mockmodel.Turn{}, c.before...)
	for _, s := range steps {
		turns = append(turns, mockmodel.Turn{Calls: []mockmodel.Call{{Tool: c.names + s.tool, Args: s.args}}})
	}
	model := mockmodel.New(append(turns, mockmodel.Turn{Text: "That is all."}))
	server := httptest.NewServer(model)
	defer server.Close()
	before := c.sessions(h)
	c.ask(h, dir, server.URL, prompt)
	n, unknown := model.Requests()
	if n < len(turns)+1 {
		h.t.Errorf("%s asked the model %d times, want %d or more; not understood: %v", c.name, n, len(turns)+1, unknown)
	}
	known := map[string]bool{}
	for _, id := range before {
		known[id] = true
	}
	var made []string
	for _, id := range c.sessions(h) {
		if !known[id] {
			made = append(made, id)
		}
	}
	if len(made) != 1 {
		h.t.Fatalf("%s made the sessions %v, want one", c.name, made)
	}
	for i, s := range steps {
		got, ok := model.Result(len(c.before)+i, 0)
		if !ok {
			h.t.Errorf("%s: %s %s has no result", c.name, s.tool, s.args)
			continue
		}
		for _, w := range s.want {
			h.want(fmt.Sprintf("%s: %s %s", c.name, s.tool, s.args), got, strings.ReplaceAll(w, own, made[0]))
		}
		for _, l := range s.lack {
			if l = strings.ReplaceAll(l, own, made[0]); strings.Contains(got, l) {
				h.t.Errorf("%s: %s %s: %q in\n%s", c.name, s.tool, s.args, l, got)
			}
		}
	}
	return made[0]
}
