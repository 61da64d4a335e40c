package e2e

import (
	"fmt"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/yorehq/yore/internal/mockmodel"
	"github.com/yorehq/yore/reader/pi"
	"github.com/yorehq/yore/session"
)

var piEnv = []string{"PI_OFFLINE=1", "PI_TELEMETRY=0"}

var piClient = client{
	name:    "pi",
	env:     func(string) []string { return piEnv },
	prepare: func(h *home) { h.file(filepath.Join(".pi", "agent", "mcp.json"), "{\n  \"mcpServers\": {}\n}\n") },
	check: func(h *home) {
		h.want("pi mcp list", h.says(h.here, piEnv, "pi", "mcp", "list"), "yore: connected, 5 tools (direct, global)", h.yore+" mcp")
	},
	ask: func(h *home, dir, url, prompt string) {
		h.piModel(url)
		h.exec(dir, piEnv, "pi", "-p", prompt, "--provider", "mock", "--model", "mock-1")
	},
	run: piRun,
	sessions: func(h *home) []string {
		return h.stems(filepath.Join(".pi", "agent", "sessions", "*", "*.jsonl"), len("019e0000-0000-7000-8000-000000000000"))
	},
}

// piModel points Pi at a model's address.
func (h *home) piModel(url string) {
	h.file(filepath.Join(".pi", "agent", "models.json"), fmt.Sprintf(
		`{"providers":{"mock":{"api":"openai-completions","baseUrl":"%s/v1","apiKey":"dummy","models":[{"id":"mock-1","contextWindow":200000,"maxTokens":4096}]}}}`, url))
}

// rpc gives Pi a command and returns the data of its answer.
func (t *talk) rpc(command string, with map[string]any) map[string]any {
	t.t.Helper()
	v := map[string]any{"type": command, "id": command}
	for k, w := range with {
		v[k] = w
	}
	t.say(v)
	answer := t.await("the answer to "+command, func(v map[string]any) bool { return v["type"] == "response" && v["id"] == command })
	if answer["success"] != true {
		t.t.Fatalf("%s: %v", command, answer)
	}
	if command == "prompt" {
		t.await("the end of the prompt", func(v map[string]any) bool { return v["type"] == "agent_settled" })
	}
	data, _ := answer["data"].(map[string]any)
	return data
}

// piRun drives the client in its mode for other programs, which has compactions, and
// on the command line.
func piRun(h *home) {
	model, url := h.run(func(command string) mockmodel.Call {
		return mockmodel.Call{Tool: "bash", Args: fmt.Sprintf(`{"command":%q}`, command)}
	})
	h.piModel(url)
	// So that a compaction keeps something and sums up something.
	h.file(filepath.Join(".pi", "agent", "settings.json"), `{"compaction":{"keepRecentTokens":20}}`)
	ask := func(prompt string, more ...string) {
		h.exec(h.here, piEnv, "pi", append([]string{"-p", prompt, "--provider", "mock", "--model", "mock-1"}, more...)...)
	}
	rpc := func(more ...string) *talk {
		return h.talk(h.here, piEnv, "pi", append([]string{"--mode", "rpc", "--provider", "mock", "--model", "mock-1"}, more...)...)
	}

	first := rpc()
	first.rpc("prompt", map[string]any{"message": counts})
	id, _ := first.rpc("get_state", nil)["sessionId"].(string)
	first.rpc("set_session_name", map[string]any{"name": "The hall"})
	first.rpc("bash", map[string]any{"command": "echo three windows"})
	first.close()
	ask(resumes, "--continue")
	second := rpc("--continue")
	second.rpc("compact", nil)
	second.rpc("prompt", map[string]any{"message": shortens})
	second.close()
	ask(copies, "--fork", id)
	h.kill(model, h.here, piEnv, "pi", "-p", dies, "--provider", "mock", "--model", "mock-1", "--session", id)
	ask(returns, "--session", id)

	all := h.keeps(pi.New())
	h.family(all, member{title: "The hall"}, member{title: "The hall", parent: id})
	h.compare(all, model.Sent(), wire{
		sent: rewritten(func(m *mockmodel.Message) {
			if _, within, ok := strings.Cut(m.Text, "was compacted into the following summary:\n\n<summary>\n"); ok {
				m.Text = strings.TrimSuffix(within, "\n</summary>")
			}
			if ran := commandOfUser.FindStringSubmatch(m.Text); ran != nil {
				m.Text = ran[1] + "\n" + ran[2]
			}
		}),
		said: func(e *session.Event) ([]string, bool) {
			if e.Type == session.UserMessage && len(e.Body.Blocks) == 2 { // a command and its output
				return []string{"user: " + e.Body.Blocks[0].Text + "\n" + strings.TrimSpace(e.Body.Blocks[1].Text)}, true
			}
			return nil, false
		},
	})
}

// commandOfUser is how Pi tells the model of a command that the user ran.
var commandOfUser = regexp.MustCompile("(?s)^Ran `(.*?)`\n```\n(.*?)\n+```$")
