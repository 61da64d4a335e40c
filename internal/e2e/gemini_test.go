package e2e

import (
	"fmt"
	"path/filepath"
	"strings"

	"github.com/yorehq/yore/internal/mockmodel"
	"github.com/yorehq/yore/reader/gemini"
)

func geminiEnv(url string) []string {
	return []string{"GOOGLE_GEMINI_BASE_URL=" + url, "GEMINI_API_KEY=dummy", "GEMINI_CLI_TRUST_WORKSPACE=true", "GEMINI_TELEMETRY_ENABLED=false", "NO_BROWSER=1"}
}

// geminiSettings writes the client's settings. threshold is the part of the
// model's window that a conversation may fill before it is shortened.
func (h *home) geminiSettings(threshold string) {
	h.file(filepath.Join(".gemini", "settings.json"), fmt.Sprintf(`{
  // my own
  "security": { "auth": { "selectedType": "gemini-api-key" } },
  "general": { "disableAutoUpdate": true, "disableUpdateNag": true, "sessionRetention": { "enabled": false } },
  "privacy": { "usageStatisticsEnabled": false },
  "model": { "compressionThreshold": %s }
}
`, threshold))
}

func (h *home) gemini(env []string, prompt string, more ...string) {
	h.exec(h.here, env, "gemini", append([]string{"-p", prompt, "-m", "gemini-2.5-flash", "--approval-mode", "yolo"}, more...)...)
}

var geminiClient = client{
	name:     "gemini",
	env:      geminiEnv,
	nameless: true,
	prepare:  func(h *home) { h.geminiSettings("0.5") },
	check: func(h *home) {
		h.want("gemini mcp list", h.says(h.here, geminiEnv("http://127.0.0.1:9"), "gemini", "mcp", "list"), "yore: "+h.yore+" mcp (stdio) - Connected")
	},
	ask: func(h *home, dir, url, prompt string) { h.gemini(geminiEnv(url), prompt) },
	run: geminiRun,
	sessions: func(h *home) []string {
		return h.stems(filepath.Join(".gemini", "tmp", "*", "chats", "session-*.jsonl"), 0)
	},
}

// geminiRun drives the client as editors do, and on the command line when it is
// taken up again. It compacts when a conversation has become long for its
// settings; it has no forks without a person.
func geminiRun(h *home) {
	model, url := h.run(func(command string) mockmodel.Call {
		return mockmodel.Call{Tool: "run_shell_command", Args: fmt.Sprintf(`{"command":%q}`, command)}
	})
	env := geminiEnv(url)
	h.geminiSettings("0.5")
	editor := h.acp(h.here, env, "gemini", "--acp", "-m", "gemini-2.5-flash", "--approval-mode", "yolo")
	id := editor.open(h.here)
	editor.prompt(id, counts)
	editor.prompt(id, resumes)
	editor.promptAndKill(model, id, dies)
	h.geminiSettings("0.0001")
	h.gemini(env, shortens, "--resume", "latest")
	h.geminiSettings("0.5")
	h.gemini(env, returns, "--resume", "latest")

	all := h.keeps(gemini.New())
	h.family(all, member{title: counts})
	h.compare(all, model.Sent(), wire{sent: rewritten(func(m *mockmodel.Message) {
		if strings.HasPrefix(m.Text, "<session_context>") {
			m.Text = ""
		}
		if within, ok := strings.CutPrefix(m.Text, "<untrusted_context>\n"); ok {
			m.Text = strings.TrimSuffix(within, "\n</untrusted_context>")
		}
	})})
}
