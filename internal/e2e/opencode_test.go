package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/yorehq/yore/internal/mockmodel"
	"github.com/yorehq/yore/reader/opencode"
)

// openCodeSettings leave the address to the environment. No registry is asked.
const openCodeSettings = `{
  "model": "mock/mock-1",
  "small_model": "mock/mock-1",
  "autoupdate": false,
  "share": "disabled",
  "provider": { // my own
    "mock": {
      "npm": "@ai-sdk/openai-compatible",
      "options": { "baseURL": "{env:MOCK_URL}/v1", "apiKey": "dummy" },
      "models": { "mock-1": { "limit": { "context": 200000, "output": 4096 } } }
    }
  }
}
`

func openCodeEnv(url string) []string {
	return []string{"MOCK_URL=" + url, "OPENCODE_DISABLE_AUTOUPDATE=1", "OPENCODE_DISABLE_MODELS_FETCH=1", "npm_config_registry=http://127.0.0.1:9", "npm_config_fetch_retries=0"}
}

func (h *home) openCodeSettings() {
	h.file(filepath.Join(".config", "opencode", "opencode.jsonc"), openCodeSettings)
}

var openCodeClient = client{
	name:    "opencode",
	env:     openCodeEnv,
	prepare: func(h *home) { h.openCodeSettings() },
	check: func(h *home) {
		h.want("opencode mcp list", h.says(h.here, openCodeEnv("http://127.0.0.1:9"), "opencode", "mcp", "list"), "yore", "connected", h.yore+" mcp")
	},
	ask: func(h *home, dir, url, prompt string) {
		h.exec(dir, openCodeEnv(url), "opencode", "run", prompt)
	},
	run: openCodeRun,
	sessions: func(h *home) (ids []string) {
		for _, s := range h.openCodeSessions() {
			ids = append(ids, s.ID)
		}
		return ids
	},
}

type openCodeSession struct {
	ID    string
	Title string
}

// openCodeSessions asks the client for what it has kept.
func (h *home) openCodeSessions() (all []openCodeSession) {
	h.t.Helper()
	if _, err := os.Stat(filepath.Join(h.dir, ".local", "share", "opencode", "opencode.db")); err != nil {
		return nil // it has not run yet
	}
	out := h.exec(h.here, openCodeEnv("http://127.0.0.1:9"), "opencode", "session", "list", "--format", "json")
	if strings.TrimSpace(out) == "" {
		return nil // it has a database and no session yet
	}
	if err := json.Unmarshal([]byte(out), &all); err != nil {
		h.t.Fatalf("%v\n%s", err, out)
	}
	return all
}

// openCodeRun drives the client through its server, and on the command line
// when it is taken up again.
func openCodeRun(h *home) {
	model, url := h.run(func(command string) mockmodel.Call {
		return mockmodel.Call{Tool: "bash", Args: fmt.Sprintf(`{"command":%q,"description":"looks"}`, command)}
	})
	h.openCodeSettings()
	env := openCodeEnv(url)
	server := h.serve(h.here, env, "opencode", "serve", "--port", "0")
	open := func(path string) (id string) {
		made, _ := server.post(path, map[string]any{}).(map[string]any)
		id, _ = made["id"].(string)
		return id
	}
	chosen := map[string]any{"providerID": "mock", "modelID": "mock-1"}
	message := func(prompt string) map[string]any {
		return map[string]any{"model": chosen, "parts": []any{map[string]any{"type": "text", "text": prompt}}}
	}
	ask := func(id, prompt string) (of string) {
		answer, _ := server.post("/session/"+id+"/message", message(prompt)).(map[string]any)
		info, _ := answer["info"].(map[string]any)
		of, _ = info["parentID"].(string)
		return of
	}
	id := open("/session")
	ask(id, counts)
	ask(id, resumes)
	fork := open("/session/" + id + "/fork")
	doors := ask(fork, copies)
	before, sent := h.keeps(opencode.New()), len(model.Sent())
	server.post("/session/"+fork+"/revert", map[string]any{"messageID": doors})
	ask(fork, forgets)
	server.post("/session/"+id+"/summarize", chosen)
	ask(id, shortens)
	server.postAndKill(model, "/session/"+id+"/message", message(dies))
	h.exec(h.here, env, "opencode", "run", returns, "--session", id)

	all := h.keeps(opencode.New())
	var want []member
	for _, s := range h.openCodeSessions() {
		want = append(want, member{title: s.Title})
	}
	slices.SortFunc(want, func(a, b member) int { return len(a.title) - len(b.title) }) // a fork's says more
	h.family(all, want...)
	// What a revert takes back leaves the database.
	h.compare(before, model.Sent()[:sent], wire{})
	h.compare(all, model.Sent()[sent:], wire{sent: rewritten(func(m *mockmodel.Message) {
		// A summary goes out as the answer to a question that nobody asked.
		switch strings.TrimSpace(m.Text) {
		case "What did we do so far?":
			m.Text = ""
		case summary:
			m.Role = "user"
		}
	})})
}
