package e2e

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/yorehq/yore/internal/mockmodel"
)

// TestPackages: the clients take the plugins of agents/ from this repository as
// from a clone, start the server that they bring, and tell the model of the
// skill.
func TestPackages(t *testing.T) {
	repository, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	load := mockmodel.Turn{Calls: []mockmodel.Call{{Tool: "ToolSearch", Args: `{"query":"select:mcp__plugin_yore_yore__session_search,mcp__plugin_yore_yore__session_trace,mcp__plugin_yore_yore__session_event_read"}`}}}
	for _, tc := range []struct {
		client  client
		install func(h *home)
		ask     func(h *home, url, prompt string)
		before  []mockmodel.Turn
	}{
		{claude, func(h *home) {
			env := claudeEnv("http://127.0.0.1:9")
			for _, path := range []string{repository, filepath.Join(repository, "agents", "claude-code")} {
				h.want("claude plugin validate", h.exec(h.here, env, "claude", "plugin", "validate", path), "Validation passed")
			}
			h.exec(h.here, env, "claude", "plugin", "marketplace", "add", repository)
			h.exec(h.here, env, "claude", "plugin", "install", "yore@yore")
			h.want("claude mcp list", h.exec(h.here, env, "claude", "mcp", "list"), "plugin:yore:yore: yore mcp", "Connected")
		}, func(h *home, url, prompt string) {
			h.exec(h.here, claudeEnv(url), "claude", "-p", prompt, "--allowedTools", "mcp__plugin_yore_yore", "--output-format", "json", "--model", "claude-sonnet-4-5")
		}, []mockmodel.Turn{load}},
		{codex, func(h *home) {
			h.exec(h.here, nil, "codex", "plugin", "marketplace", "add", repository)
			h.exec(h.here, nil, "codex", "plugin", "add", "yore@yore")
			h.want("codex plugin list", h.exec(h.here, nil, "codex", "plugin", "list"), "yore@yore  installed, enabled")
		}, func(h *home, url, prompt string) { codex.ask(h, h.here, url, prompt) }, nil},
	} {
		t.Run(tc.client.name, func(t *testing.T) {
			need(t, tc.client.name)
			h := newHome(t)
			h.withYoreOnPath()
			tc.client.prepare(h)
			tc.install(h)
			record := h.plant("planted", h.here, "The wombat ledger closes at dusk.")
			// Nobody ever says this; it stands in calls of the tools alone, which are no
			// history under the names that plugins give them either.
			const sought = "zyzzyva quorum"
			steps := []struct{ tool, args, want, lack string }{
				{"session_search", search(sought), none, sought + " "},
				{"session_search", search(sought), none, sought + " "},
				{"session_search", search("wombat ledger"), "planted ", none},
				{"session_event_read", `{"session_id":"planted","seq":1}`, record, ""},
				{"session_trace", `{}`, "Where were we?", "SESSION_QUERY"}, // the calling session is known
			}
			turns := append([]mockmodel.Turn{}, tc.before...)
			for _, s := range steps {
				turns = append(turns, mockmodel.Turn{Calls: []mockmodel.Call{{Tool: s.tool, Args: s.args}}})
			}
			model := mockmodel.New(append(turns, mockmodel.Turn{Text: "That is all."}))
			var told atomic.Bool
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				body, err := io.ReadAll(r.Body)
				if err != nil {
					t.Error(err)
				}
				if bytes.Contains(body, []byte("session-history")) && bytes.Contains(body, []byte("earlier sessions of this workspace")) {
					told.Store(true)
				}
				r.Body = io.NopCloser(bytes.NewReader(body))
				model.ServeHTTP(w, r)
			}))
			defer server.Close()
			tc.ask(h, server.URL, "Where were we?")
			for i, s := range steps {
				got, _ := model.Result(len(tc.before)+i, 0)
				h.want(s.tool+" "+s.args, got, s.want)
				if s.lack != "" && strings.Contains(got, s.lack) {
					t.Errorf("%s %s: %q in\n%s", s.tool, s.args, s.lack, got)
				}
			}
			if !told.Load() {
				t.Errorf("no request to the model names the skill")
			}
		})
	}
}

// withYoreOnPath lets the clients find the program as a user's do, by its name.
func (h *home) withYoreOnPath() {
	h.also = ":" + filepath.Dir(h.yore)
}
