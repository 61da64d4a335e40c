package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/ncruces/go-sqlite3"

	"github.com/yorehq/yore/internal/mockmodel"
	"github.com/yorehq/yore/reader/openclaw"
	"github.com/yorehq/yore/session"
)

// openClawSettings leave the address to the environment. Tools are offered as they
// are, and nothing happens by itself.
const openClawSettings = `{
  // my own
  gateway: { mode: "local", bind: "loopback", auth: { mode: "none" } },
  update: { checkOnStart: false },
  models: {
    mode: "replace",
    providers: {
      mock: {
        baseUrl: "${MOCK_URL}/v1", apiKey: "dummy", api: "openai-completions",
        models: [{ id: "mock-1", name: "Mock", contextWindow: 200000, maxTokens: 4096, input: ["text"], reasoning: false }],
      },
    },
  },
  tools: { toolSearch: false },
  agents: { defaults: { model: { primary: "mock/mock-1" }, workspace: "~/src/here", skipBootstrap: true, heartbeat: { every: "0m" } } },
}
`

func openClawEnv(url string) []string {
	return []string{"MOCK_URL=" + url, "OPENCLAW_NO_RESPAWN=1", "OPENCLAW_DISABLE_BONJOUR=1", "OPENCLAW_SKIP_CHANNELS=1"}
}

func (h *home) openClawSettings() {
	h.file(filepath.Join(".openclaw", "openclaw.json"), openClawSettings)
}

var openClawClient = client{
	name:     "openclaw",
	env:      openClawEnv,
	unlisted: true,
	started:  func(h *home) string { return " --workspace " + h.here },
	prepare:  func(h *home) { h.openClawSettings() },
	check: func(h *home) {
		h.want("openclaw mcp list", h.says(h.here, openClawEnv("http://127.0.0.1:9"), "openclaw", "mcp", "list"), "yore")
	},
	ask: func(h *home, dir, url, prompt string) {
		h.exec(dir, openClawEnv(url), "openclaw", "agent", "--local", "--agent", "main", "--message", prompt)
	},
	run: openClawRun,
	sessions: func(h *home) (ids []string) {
		return h.openClawRows(`SELECT session_id FROM session_windows`)
	},
}

// openClawRows asks the client's database.
func (h *home) openClawRows(query string) (column []string) {
	h.t.Helper()
	paths, err := filepath.Glob(filepath.Join(h.dir, ".openclaw", "agents", "main", "agent", "openclaw-agent.sqlite"))
	if err != nil || len(paths) == 0 {
		return nil // it has not run yet
	}
	c, err := sqlite3.OpenFlags(paths[0], sqlite3.OPEN_READWRITE)
	if err != nil {
		h.t.Fatal(err)
	}
	defer c.Close()
	rows, _, err := c.Prepare(query)
	if err != nil {
		h.t.Fatal(err)
	}
	defer rows.Close()
	for rows.Step() {
		column = append(column, rows.ColumnText(0))
	}
	if err := rows.Err(); err != nil {
		h.t.Fatal(err)
	}
	return column
}

// openClawEntry finds the id of the entry of a session in which a person said something.
func (h *home) openClawEntry(id, said string) string {
	h.t.Helper()
	for _, text := range h.openClawRows(`SELECT event_json FROM transcript_events WHERE session_id = '` + id + `'`) {
		var e struct {
			ID      string
			Message struct{ Role string }
		}
		if json.Unmarshal([]byte(text), &e) == nil && e.Message.Role == "user" && strings.Contains(text, said) {
			return e.ID
		}
	}
	h.t.Fatalf("nobody says %q in %s", said, id)
	return ""
}

// openClawRun drives the client through its gateway: a fork that is rewound, a
// compaction, a chat that begins anew, the gateway killed while an answer streams,
// and a turn without one after that.
func openClawRun(h *home) {
	model, url := h.run(func(command string) mockmodel.Call {
		return mockmodel.Call{Tool: "exec", Args: fmt.Sprintf(`{"command":%q}`, command)}
	})
	h.openClawSettings()
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		h.t.Fatal(err)
	}
	_, port, _ := net.SplitHostPort(free.Addr().String())
	free.Close()
	env := append(openClawEnv(url), "OPENCLAW_GATEWAY_PORT="+port)
	gateway := h.serveUntil(regexp.MustCompile(`\[gateway\] ready`), h.here, env, "openclaw", "gateway", "run", "--port", port, "--auth", "none", "--bind", "loopback")
	ask := func(key, prompt string) {
		h.exec(h.here, env, "openclaw", "agent", "--session-key", key, "--message", prompt)
	}
	call := func(method string, params map[string]any) (key string) {
		text, err := json.Marshal(params)
		if err != nil {
			h.t.Fatal(err)
		}
		var answer struct{ SessionKey string }
		out := h.exec(h.here, env, "openclaw", "gateway", "call", method, "--params", string(text), "--timeout", "60000", "--json")
		if err := json.Unmarshal([]byte(out), &answer); err != nil {
			h.t.Fatalf("%s: %v\n%s", method, err, out)
		}
		return answer.SessionKey
	}
	const main = "agent:main:main"
	ask(main, counts)
	ask(main, resumes)
	ids := h.openClawRows(`SELECT session_id FROM session_windows`)
	if len(ids) != 1 {
		h.t.Fatalf("sessions %v", ids)
	}
	id := ids[0]
	fork := call("sessions.fork", map[string]any{"sessionKey": main, "entryId": h.openClawEntry(id, resumes)})
	ask(fork, copies)
	copied := h.openClawRows(`SELECT session_id FROM session_windows WHERE session_id <> '` + id + `'`)
	if len(copied) != 1 {
		h.t.Fatalf("forks %v", copied)
	}
	call("sessions.rewind", map[string]any{"sessionKey": fork, "entryId": h.openClawEntry(copied[0], copies)})
	ask(fork, forgets)
	call("sessions.compact", map[string]any{"key": main})
	ask(main, shortens)
	call("sessions.reset", map[string]any{"key": fork})
	ask(fork, shortens)

	ctx, cancel := context.WithTimeout(h.t.Context(), patience)
	defer cancel()
	asking := h.command(ctx, h.here, env, "openclaw", "agent", "--session-key", main, "--message", dies)
	if err := asking.Start(); err != nil {
		h.t.Fatal(err)
	}
	gateway.kill(model)
	cancel()
	_ = asking.Wait() // it was killed, too, if it did not notice
	h.exec(h.here, env, "openclaw", "agent", "--local", "--session-id", id, "--message", returns)

	all := h.keeps(openclaw.New())
	h.family(all, member{title: counts}, member{title: counts, parent: id})
	h.compare(all, model.Sent(), wire{sent: openClawSent, said: func(e *session.Event) ([]string, bool) {
		if e.Type != session.ToolResult {
			return nil, false
		}
		said := lines(e)[0]
		_, said, _ = strings.Cut(said, ": ")
		return []string{"result of " + signless(e.Body.CallID) + ": " + said}, true
	}})
}

// openClawSent takes out what the client adds on the wire alone: the time and the
// state of things around a prompt, and how a summary is to be read. It takes the
// signs out of the ids of calls.
func openClawSent(m mockmodel.Message) []mockmodel.Message {
	m.Call = signless(m.Call)
	if m.Role == "user" {
		if strings.HasPrefix(m.Text, "<<<BEGIN_OPENCLAW_INTERNAL_CONTEXT>>>") || strings.HasPrefix(m.Text, "Runtime: agent=") {
			return nil
		}
		m.Text, _, _ = strings.Cut(promptTime.ReplaceAllString(m.Text, ""), "\n\nRuntime: agent=")
		if _, within, ok := strings.Cut(m.Text, "was compacted into the following summary:\n\n<summary>\n"); ok {
			m.Text = strings.TrimSuffix(within, "\n</summary>")
		}
	}
	return []mockmodel.Message{m}
}

var promptTime = regexp.MustCompile(`^\[[A-Z][a-z]{2} \d{4}-\d\d-\d\d \d\d:\d\d [A-Z]+\] `)

func signless(id string) string {
	return strings.TrimPrefix(strings.NewReplacer("_", "", "-", "").Replace(id), "call")
}
