package e2e

import (
	"fmt"
	"path/filepath"
	"strings"

	"github.com/yorehq/yore/internal/mockmodel"
	"github.com/yorehq/yore/reader/qwen"
)

func qwenEnv(url string) []string {
	return []string{"OPENAI_API_KEY=dummy", "OPENAI_BASE_URL=" + url + "/v1", "OPENAI_MODEL=mock-1", "NO_BROWSER=1"}
}

func (h *home) qwenSettings() {
	h.file(filepath.Join(".qwen", "settings.json"), `{
  // my own
  "security": { "auth": { "selectedType": "openai" } },
  "general": { "disableAutoUpdate": true },
  "privacy": { "usageStatisticsEnabled": false }
}
`)
}

func (h *home) qwen(env []string, prompt string, more ...string) {
	h.exec(h.here, env, "qwen", append([]string{"-p", prompt, "--approval-mode", "yolo"}, more...)...)
}

var qwenClient = client{
	name:    "qwen",
	env:     qwenEnv,
	prepare: func(h *home) { h.qwenSettings() },
	check: func(h *home) {
		h.want("qwen mcp list", h.says(h.here, qwenEnv("http://127.0.0.1:9"), "qwen", "mcp", "list"), "yore: "+h.yore+" mcp (stdio) - Connected")
	},
	ask: func(h *home, dir, url, prompt string) {
		h.exec(dir, qwenEnv(url), "qwen", "-p", prompt, "--approval-mode", "yolo")
	},
	names: "mcp__yore__",
	// It begins before its servers have answered, and tells of their tools when it
	// is asked for them.
	before: []mockmodel.Turn{{Calls: []mockmodel.Call{{Tool: "run_shell_command", Args: `{"command":"sleep 5","is_background":false}`}}}, {Calls: []mockmodel.Call{{Tool: "tool_search", Args: `{"query":"select:` +
		`mcp__yore__session_search,mcp__yore__session_event_search,mcp__yore__session_trace,mcp__yore__session_event_trace,mcp__yore__session_event_read"}`}}}},
	run: qwenRun,
	sessions: func(h *home) []string {
		return h.stems(filepath.Join(".qwen", "projects", "*", "chats", "*.jsonl"), 0)
	},
}

// qwenRun drives the client as editors do, and on the command line when it is
// taken up again.
func qwenRun(h *home) {
	model, url := h.run(func(command string) mockmodel.Call {
		return mockmodel.Call{Tool: "run_shell_command", Args: fmt.Sprintf(`{"command":%q,"is_background":false}`, command)}
	})
	env := qwenEnv(url)
	h.qwenSettings()
	editor := h.acp(h.here, env, "qwen", "--acp", "--approval-mode", "yolo")
	id := editor.open(h.here)
	editor.prompt(id, counts)
	editor.prompt(id, resumes)
	fork, _ := editor.call("qwen/control/session/branch", map[string]any{"sessionId": id, "name": "The doors"})["newSessionId"].(string)
	editor.load(fork, h.here)
	editor.prompt(fork, copies)
	editor.call("qwen/control/session/rewind", map[string]any{"sessionId": fork, "targetTurnIndex": 2, "rewindFiles": false})
	editor.prompt(fork, forgets)
	editor.prompt(id, "/compress")
	editor.prompt(id, shortens)
	editor.promptAndKill(model, id, dies)
	h.qwen(env, returns, "--resume", id)

	all := h.keeps(qwen.New())
	h.family(all, member{title: counts}, member{title: "The doors(1)", parent: id})
	h.compare(all, model.Sent(), wire{sent: rewritten(func(m *mockmodel.Message) {
		if strings.HasPrefix(m.Text, "<system-reminder>") {
			m.Text = ""
		}
	})})
}
