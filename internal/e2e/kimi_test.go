package e2e

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/yorehq/yore/internal/mockmodel"
	"github.com/yorehq/yore/reader/kimi"
	"github.com/yorehq/yore/session"
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

// kimiRun drives the client as editors do, and on the command line for a fork and
// when it is taken up again.
func kimiRun(h *home) {
	model, url := h.run(func(command string) mockmodel.Call {
		return mockmodel.Call{Tool: "Bash", Args: fmt.Sprintf(`{"command":%q}`, command)}
	})
	env := kimiEnv(url)
	editor := h.acp(h.here, env, "kimi", "acp")
	id := editor.open(h.here)
	editor.prompt(id, counts)
	editor.prompt(id, resumes)
	h.exec(h.here, env, "kimi", "fork", id, "--yes")
	fork := ""
	for _, s := range kimiSessions(h) {
		if s != id {
			fork = s
		}
	}
	editor.prompt(id, "/compact")
	h.eventually("the end of the compaction", func() bool { // it runs by itself
		paths, err := filepath.Glob(filepath.Join(h.dir, ".kimi-code", "sessions", "*", id, "agents", "main", "wire.jsonl"))
		if err != nil || len(paths) != 1 {
			return false
		}
		log, err := os.ReadFile(paths[0])
		return err == nil && bytes.Contains(log, []byte(`"full_compaction.complete"`))
	})
	editor.prompt(id, shortens)
	editor.promptAndKill(model, id, dies)
	h.kimi(env, copies, "--session", fork)
	h.kimi(env, returns, "--session", id)

	all := h.keeps(kimi.New())
	h.family(all, member{title: counts}, member{title: counts, parent: id})
	h.compare(all, model.Sent(), wire{
		sent: kimiSent,
		said: func(e *session.Event) ([]string, bool) {
			return nil, e.Type == session.UserMessage && len(e.Body.Blocks) > 0 && strings.HasPrefix(e.Body.Blocks[0].Text, "<system-reminder>")
		},
	})
}

// kimiSent takes out what the client adds on the wire alone: reminders, how long
// a command took, and how a summary is to be read. It joins what a person asked
// when nothing stands between.
func kimiSent(m mockmodel.Message) (out []mockmodel.Message) {
	if strings.HasPrefix(m.Text, "<system-reminder>") {
		return nil
	}
	if m.Role == "result" {
		m.Text = wallTime.ReplaceAllString(m.Text, "")
	}
	if m.Role != "user" {
		return append(out, m)
	}
	if _, within, ok := strings.Cut(m.Text, "which earlier requests were already addressed.\n"); ok {
		m.Text, _, _ = strings.Cut(within, "\n\n## Context Recovery")
		return append(out, m)
	}
	for part := range strings.SplitSeq(m.Text, "\n\n") {
		out = append(out, mockmodel.Message{Role: "user", Text: part})
	}
	return out
}

var wallTime = regexp.MustCompile(`^Wall time: [0-9.]+ seconds\n(<system>ERROR: Tool execution failed\.</system>\n)?`)
