package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/yorehq/yore/internal/mockmodel"
	"github.com/yorehq/yore/reader/copilot"
)

func copilotEnv(url string) []string {
	return []string{
		"COPILOT_OFFLINE=true", "COPILOT_PROVIDER_BASE_URL=" + url + "/v1", "COPILOT_PROVIDER_API_KEY=dummy", "COPILOT_MODEL=mock-1",
		"COPILOT_AUTO_UPDATE=false",
	}
}

func (h *home) copilot(env []string, prompt string, more ...string) {
	h.exec(h.here, env, "copilot", append([]string{"-p", prompt, "--allow-all-tools"}, more...)...)
}

var copilotClient = client{
	name:    "copilot",
	env:     copilotEnv,
	prepare: func(h *home) { h.file(filepath.Join(".copilot", "mcp-config.json"), "{\n  \"mcpServers\": {}\n}\n") },
	check: func(h *home) {
		h.want("copilot mcp list", h.says(h.here, copilotEnv("http://127.0.0.1:9"), "copilot", "mcp", "list"), "yore (local)")
	},
	ask: func(h *home, dir, url, prompt string) {
		h.exec(dir, copilotEnv(url), "copilot", "-p", prompt, "--allow-all-tools")
	},
	run:      copilotRun,
	sessions: copilotSessions,
}

func copilotSessions(h *home) (ids []string) {
	h.t.Helper()
	paths, err := filepath.Glob(filepath.Join(h.dir, ".copilot", "session-state", "*", "events.jsonl"))
	if err != nil {
		h.t.Fatal(err)
	}
	for _, p := range paths {
		ids = append(ids, filepath.Base(filepath.Dir(p)))
	}
	return ids
}

// copilotRun drives the client as editors do, as its own library does for a fork
// and a rewind, and on the command line when it is taken up again.
func copilotRun(h *home) {
	model, url := h.run(func(command string) mockmodel.Call {
		return mockmodel.Call{Tool: "bash", Args: fmt.Sprintf(`{"command":%q,"description":"looks"}`, command)}
	})
	env := copilotEnv(url)
	editor := h.acp(h.here, env, "copilot", "--acp", "--allow-all-tools")
	id := editor.open(h.here)
	editor.prompt(id, counts)
	editor.prompt(id, resumes)
	editor.prompt(id, "/compact")
	editor.prompt(id, shortens)
	editor.promptAndKill(model, id, dies)

	library := &acp{talk: h.talkIn(true, h.here, env, "copilot", "--headless", "--no-auto-update", "--no-auto-login", "--stdio")}
	fork, _ := library.call("sessions.fork", map[string]any{"sessionId": id, "name": "The doors"})["sessionId"].(string)
	library.close()
	h.copilot(env, copies, "--resume="+fork)
	before, sent := h.keeps(copilot.New()), len(model.Sent())
	library = &acp{talk: h.talkIn(true, h.here, env, "copilot", "--headless", "--no-auto-update", "--no-auto-login", "--stdio")}
	library.call("session.resume", map[string]any{"sessionId": fork})
	library.call("session.history.truncate", map[string]any{"sessionId": fork, "eventId": h.copilotEvent(fork, "user.message", copies)})
	library.close()
	h.copilot(env, forgets, "--resume="+fork)
	h.copilot(env, returns, "--resume="+id)

	all := h.keeps(copilot.New())
	h.family(all, member{title: counts}, member{title: counts})
	// Its name lies beside the log, and its origin is known by what it copied.
	h.want("yore list", h.exec(h.here, nil, h.yore, "list"), "The doors")
	h.want("yore trace", h.exec(h.here, nil, h.yore, "trace", fork), id)
	// What a rewind takes back leaves the log.
	h.compare(before, model.Sent()[:sent], copilotWire)
	h.compare(all, model.Sent()[sent:], copilotWire)
}

var copilotWire = wire{sent: rewritten(func(m *mockmodel.Message) {
	if _, within, ok := strings.Cut(m.Text, "Here is a summary of the prior context:\n<summary>\n"); ok {
		m.Text, _, _ = strings.Cut(within, "\n</summary>")
	}
	if _, behind, ok := strings.Cut(m.Text, "</current_datetime>\n\n"); ok {
		m.Text = behind
	}
})}

// copilotEvent finds the id of the event of a type that holds a text.
func (h *home) copilotEvent(session, kind, said string) string {
	h.t.Helper()
	log, err := os.ReadFile(filepath.Join(h.dir, ".copilot", "session-state", session, "events.jsonl"))
	if err != nil {
		h.t.Fatal(err)
	}
	for line := range bytes.Lines(log) {
		var e struct{ ID, Type string }
		if json.Unmarshal(line, &e) == nil && e.Type == kind && bytes.Contains(line, []byte(said)) {
			return e.ID
		}
	}
	h.t.Fatalf("%s has no %s that says %q", session, kind, said)
	return ""
}
