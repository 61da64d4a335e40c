package e2e

import (
	"fmt"
	"path/filepath"
	"strings"

	"github.com/yorehq/yore/internal/mockmodel"
	"github.com/yorehq/yore/reader/kimi"
)

func kimiEnv(url string) []string {
	return []string{
		"KIMI_MODEL_NAME=mock-1", "KIMI_MODEL_PROVIDER_TYPE=openai", "KIMI_MODEL_BASE_URL=" + url + "/v1", "KIMI_MODEL_API_KEY=dummy",
		"KIMI_MODEL_MAX_CONTEXT_SIZE=200000", "KIMI_DISABLE_TELEMETRY=1", "KIMI_CODE_NO_AUTO_UPDATE=1",
	}
}

func (h *home) kimi(env []string, prompt string, more ...string) {
	h.exec(h.here, env, "kimi", append([]string{"-p", prompt}, more...)...)
}

var kimiClient = client{
	name:     "kimi",
	env:      kimiEnv,
	unlisted: true,
	prepare:  func(h *home) { h.file(filepath.Join(".kimi-code", "mcp.json"), "{\n  \"mcpServers\": {}\n}\n") },
	check:    func(*home) {}, // it has no command for that
	ask: func(h *home, dir, url, prompt string) {
		h.exec(dir, kimiEnv(url), "kimi", "-p", prompt)
	},
	run:      kimiRun,
	sessions: kimiSessions,
}

func kimiSessions(h *home) (ids []string) {
	h.t.Helper()
	paths, err := filepath.Glob(filepath.Join(h.dir, ".kimi-code", "sessions", "*", "*", "state.json"))
	if err != nil {
		h.t.Fatal(err)
	}
	for _, p := range paths {
		ids = append(ids, filepath.Base(filepath.Dir(p)))
	}
	return ids
}

// kimiRun drives the client on the command line, and as editors do for a
// compaction.
func kimiRun(h *home) {
	model, url := h.run(func(command string) mockmodel.Call {
		return mockmodel.Call{Tool: "Bash", Args: fmt.Sprintf(`{"command":%q}`, command)}
	})
	env := kimiEnv(url)
	h.kimi(env, counts)
	h.kimi(env, resumes, "--continue")
	id := kimiSessions(h)[0]
	editor := h.acp(h.here, env, "kimi", "acp")
	editor.load(id, h.here)
	editor.prompt(id, "/compact")
	editor.prompt(id, shortens)
	editor.close()
	h.exec(h.here, env, "kimi", "fork", id, "--yes")
	fork := ""
	for _, s := range kimiSessions(h) {
		if s != id {
			fork = s
		}
	}
	h.kimi(env, copies, "--session", fork)
	h.kill(model, h.here, env, "kimi", "-p", dies, "--session", id)
	h.kimi(env, returns, "--session", id)

	all := h.keeps(kimi.New())
	h.family(all, member{title: counts}, member{title: counts, parent: id})
	h.compare(all, model.Sent(), wire{sent: func(m *mockmodel.Message) {
		if strings.HasPrefix(m.Text, "<system-reminder>") {
			m.Text = ""
		}
	}})
}
