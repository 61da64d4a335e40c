package e2e

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/yorehq/yore/internal/mockmodel"
)

// shipped is what agents/ holds for a client, taken as its page says.
type shipped struct {
	client  client
	what    string
	install func(h *home, repository string)
	ask     func(h *home, url, prompt string)
	before  []mockmodel.Turn
	// skilled: a skill comes with it.
	skilled bool
}

const brought = "mcp__plugin_yore_yore__"

var packages = []shipped{
	{claude, "plugin", claudePlugin, func(h *home, url, prompt string) { h.withPlugin(url, prompt) }, fromPlugin, true},
	{claude, "plugin-dir", func(h *home, _ string) {}, func(h *home, url, prompt string) {
		h.withPlugin(url, prompt, "--plugin-dir", filepath.Join(h.repository(), "agents", "claude-code"))
	}, fromPlugin, true},
	{codex, "plugin", func(h *home, repository string) {
		h.exec(h.here, nil, "codex", "plugin", "marketplace", "add", repository)
		h.exec(h.here, nil, "codex", "plugin", "add", "yore@yore")
		h.want("codex plugin list", h.exec(h.here, nil, "codex", "plugin", "list"), "yore@yore  installed, enabled")
	}, codex.asks, nil, true},
	{codex, "snippet", func(h *home, repository string) {
		h.append(filepath.Join(".codex", "config.toml"), filepath.Join(repository, "agents", "codex", "config.toml"))
		h.skill(repository, "codex", ".agents")
		h.want("codex mcp list", h.exec(h.here, nil, "codex", "mcp", "list"), "yore", "enabled")
	}, codex.asks, nil, true},
	{geminiClient, "extension", func(h *home, repository string) {
		h.says(h.here, geminiEnv("http://127.0.0.1:9"), "gemini", "extensions", "install", filepath.Join(repository, "agents", "gemini-cli"), "--consent", "--skip-settings")
		h.want("gemini mcp list", h.says(h.here, geminiEnv("http://127.0.0.1:9"), "gemini", "mcp", "list"), "yore", "yore mcp (stdio) - Connected")
	}, geminiClient.asks, nil, true},
	{openCodeClient, "snippet", func(h *home, repository string) {
		// Beside the user's own settings, which are in a file of another name.
		h.append(filepath.Join(".config", "opencode", "opencode.json"), filepath.Join(repository, "agents", "opencode", "opencode.json"))
		h.skill(repository, "opencode", filepath.Join(".config", "opencode"))
		h.want("opencode mcp list", h.says(h.here, openCodeEnv("http://127.0.0.1:9"), "opencode", "mcp", "list"), "yore", "connected")
	}, openCodeClient.asks, nil, true},
	{piClient, "package", func(h *home, repository string) {
		h.says(h.here, piEnv, "pi", "install", filepath.Join(repository, "agents", "pi"))
	}, piClient.asks, nil, true},
	{dshClient, "patch", func(h *home, repository string) {
		if err := os.Remove(filepath.Join(h.dir, dshPatch)); err != nil {
			h.t.Fatal(err)
		}
		h.append(dshPatch, filepath.Join(repository, "agents", "dsh", "cordis.patch.yml"))
	}, dshClient.asks, nil, false},
}

// fromPlugin is how Claude Code's model loads the tools of a plugin's server.
var fromPlugin = []mockmodel.Turn{{Calls: []mockmodel.Call{{Tool: "ToolSearch",
	Args: `{"query":"select:` + brought + `session_search,` + brought + `session_trace,` + brought + `session_event_read"}`}}}}

func claudePlugin(h *home, repository string) {
	env := claudeEnv("http://127.0.0.1:9")
	for _, path := range []string{repository, filepath.Join(repository, "agents", "claude-code")} {
		h.want("claude plugin validate", h.exec(h.here, env, "claude", "plugin", "validate", path), "Validation passed")
	}
	h.exec(h.here, env, "claude", "plugin", "marketplace", "add", repository)
	h.exec(h.here, env, "claude", "plugin", "install", "yore@yore")
	h.want("claude mcp list", h.exec(h.here, env, "claude", "mcp", "list"), "plugin:yore:yore: yore mcp", "Connected")
}

func (h *home) withPlugin(url, prompt string, more ...string) {
	args := append(more, "-p", prompt, "--allowedTools", strings.TrimSuffix(brought, "__"), "--output-format", "json", "--model", "claude-sonnet-4-5")
	h.exec(h.here, claudeEnv(url), "claude", args...)
}

// asks is ask in the project.
func (c client) asks(h *home, url, prompt string) { c.ask(h, h.here, url, prompt) }

func (h *home) repository() string {
	h.t.Helper()
	path, err := filepath.Abs("../..")
	if err != nil {
		h.t.Fatal(err)
	}
	return path
}

// append puts a file of the repository behind what a user's file holds.
func (h *home) append(name, from string) {
	h.t.Helper()
	text, err := os.ReadFile(from)
	if err != nil {
		h.t.Fatal(err)
	}
	there, err := os.ReadFile(filepath.Join(h.dir, name))
	if err != nil && !os.IsNotExist(err) {
		h.t.Fatal(err)
	}
	h.file(name, string(there)+string(text))
}

// skill copies an agent's skill into a folder that holds skills.
func (h *home) skill(repository, agent, folder string) {
	h.append(filepath.Join(folder, "skills", "session-history", "SKILL.md"), filepath.Join(repository, "agents", agent, "skills", "session-history", "SKILL.md"))
}

// TestPackages: the clients take what agents/ holds for them from this repository
// as from a clone, start the server that it brings, and tell the model of the
// skill.
func TestPackages(t *testing.T) {
	for _, c := range clients {
		t.Run(c.name, func(t *testing.T) {
			need(t, c.name)
			for _, p := range packages {
				if p.client.name == c.name {
					t.Run(p.what, func(t *testing.T) { p.try(newHome(t)) })
				}
			}
		})
	}
}

func (p shipped) try(h *home) {
	h.withYoreOnPath()
	p.client.prepare(h)
	p.install(h, h.repository())
	record := h.plant("planted", h.here, "The wombat ledger closes at dusk.")
	// The calling session is known, by most clients' servers.
	itself, fault := "ancestors, nearest first: none", "SESSION_QUERY"
	if p.client.nameless {
		itself, fault = "session_id", ""
	}
	// Nobody ever says this; it stands in calls of the tools alone, which are no
	// history under the names that plugins give them either.
	const sought = "zyzzyva quorum"
	steps := []struct{ tool, args, want, lack string }{
		{"session_search", search(sought), none, sought + " "},
		{"session_search", search(sought), none, sought + " "},
		{"session_search", search("wombat ledger"), "planted ", none},
		{"session_event_read", `{"session_id":"planted","seq":1}`, record, ""},
		{"session_trace", `{}`, itself, fault},
	}
	turns := append([]mockmodel.Turn{}, p.before...)
	for _, s := range steps {
		turns = append(turns, mockmodel.Turn{Calls: []mockmodel.Call{{Tool: p.client.names + s.tool, Args: s.args}}})
	}
	model := mockmodel.New(append(turns, mockmodel.Turn{Text: "That is all."}))
	var told atomic.Bool
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			h.t.Error(err)
		}
		if bytes.Contains(body, []byte("session-history")) && bytes.Contains(body, []byte("earlier sessions of this workspace")) {
			told.Store(true)
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		model.ServeHTTP(w, r)
	}))
	defer server.Close()
	p.ask(h, server.URL, "Where were we?")
	for i, s := range steps {
		got, _ := model.Result(len(p.before)+i, 0)
		h.want(s.tool+" "+s.args, got, s.want)
		if s.lack != "" && strings.Contains(got, s.lack) {
			h.t.Errorf("%s %s: %q in\n%s", s.tool, s.args, s.lack, got)
		}
	}
	if told.Load() != p.skilled {
		h.t.Errorf("a request to the model names the skill: %v", told.Load())
	}
}

// withYoreOnPath lets the clients find the program as a user's do, by its name.
func (h *home) withYoreOnPath() {
	h.also = ":" + filepath.Dir(h.yore)
}
