package yore_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/yorehq/yore"
	"github.com/yorehq/yore/query"
	"github.com/yorehq/yore/session"
)

// What an agent was told by the product's own tools is not found again, in any
// agent's form of a log: neither what was asked nor what was answered. What its
// other tools said is.
func TestOwnCallsAreNotFound(t *testing.T) {
	const at = `"timestamp":"2026-01-01T09:00:01.000Z"`
	pi := func(id string) string {
		return `{"type":"session","version":3,"id":"` + id + `","timestamp":"2026-01-01T09:00:00.000Z","cwd":"/srv/app"}
{"type":"message","id":"a","parentId":null,` + at + `,"message":{"role":"user","content":"go"}}
{"type":"message","id":"b","parentId":"a",` + at + `,"message":{"role":"assistant","content":[{"type":"toolCall","id":"c1","name":"OURS","arguments":{"query":"asked"}},{"type":"toolCall","id":"c2","name":"read","arguments":{"path":"medlar"}}]}}
{"type":"message","id":"c","parentId":"b",` + at + `,"message":{"role":"toolResult","toolCallId":"c1","toolName":"OURS","content":[{"type":"text","text":"answered"}]}}
{"type":"message","id":"d","parentId":"c",` + at + `,"message":{"role":"toolResult","toolCallId":"c2","toolName":"read","content":[{"type":"text","text":"quince"}]}}
`
	}
	kimi := func(rest string) string {
		return `{"type":"context.append_loop_event","event":{` + rest + `},"time":1767258001000}`
	}
	qwen := func(id, parent, kind, parts string) string {
		role := map[string]string{"user": "user", "assistant": "model", "tool_result": "user"}[kind]
		return fmt.Sprintf(`{"uuid":%q,"parentUuid":%s,"sessionId":"q1",%s,"type":%q,"cwd":"/srv/app","version":"0.24.4","message":{"role":%q,"parts":[%s]}}`, id, parent, at, kind, role, parts)
	}
	response := func(id, name, text string) string {
		return `{"functionResponse":{"id":"` + id + `","name":"` + name + `","response":{"output":"` + text + `"}}}`
	}
	copilot := func(kind, data string) string {
		return `{"type":"` + kind + `","data":` + data + `,"id":"` + kind + fmt.Sprint(len(data)) + `",` + at + `,"parentId":null}`
	}
	for agent, c := range map[session.Agent]struct{ path, ours, text string }{
		session.Pi:       {"--srv-app--/2026-01-01T09-00-00-000Z_p1.jsonl", "mcp__yore__session_search", pi("p1")},
		session.OpenClaw: {"agents/main/sessions/o1.jsonl", "yore__session_search", pi("o1")},
		session.Copilot: {"session-state/c1/events.jsonl", "yore-session_search", strings.Join([]string{
			copilot("session.start", `{"sessionId":"c1","version":1,"startTime":"2026-01-01T09:00:00.000Z","context":{"cwd":"/srv/app"}}`), copilot("user.message", `{"content":"go"}`),
			copilot("assistant.message", `{"content":"","toolRequests":[{"toolCallId":"c1","name":"OURS","arguments":{"query":"asked"}},{"toolCallId":"c2","name":"view","arguments":{"path":"medlar"}}]}`),
			copilot("tool.execution_complete", `{"toolCallId":"c1","success":true,"result":{"content":"answered"}}`),
			copilot("tool.execution_complete", `{"toolCallId":"c2","success":true,"result":{"content":"quince "}}`),
		}, "\n") + "\n"},
		session.Kimi: {"sessions/wd_app_0/session_1/agents/main/wire.jsonl", "mcp__yore__session_search", strings.Join([]string{
			`{"type":"metadata","protocol_version":"1.5","created_at":1767258000000}`, kimi(`"type":"step.begin","uuid":"s"`),
			kimi(`"type":"tool.call","uuid":"a","toolCallId":"c1","name":"OURS","args":{"query":"asked"}`), kimi(`"type":"tool.call","uuid":"b","toolCallId":"c2","name":"Read","args":{"path":"medlar"}`),
			kimi(`"type":"tool.result","toolCallId":"c1","result":{"output":"answered"}`), kimi(`"type":"tool.result","toolCallId":"c2","result":{"output":"quince"}`),
		}, "\n") + "\n"},
		session.Gemini: {"tmp/app/chats/session-2026-01-01T09-00-g1.jsonl", "mcp_yore_session_search", `{"sessionId":"g1","projectHash":"x","startTime":"2026-01-01T09:00:00.000Z","lastUpdated":"2026-01-01T09:00:00.000Z","kind":"main"}
{"id":"u",` + at + `,"type":"user","content":[{"text":"go"}]}
{"id":"m",` + at + `,"type":"gemini","content":"","toolCalls":[{"id":"c1","name":"OURS","args":{"query":"asked"},"status":"success","result":[` + response("c1", "OURS", "answered") + `]},{"id":"c2","name":"read_file","args":{"file_path":"medlar"},"status":"success","result":[` + response("c2", "read_file", "quince") + `]}]}
{"id":"r",` + at + `,"type":"user","content":[` + response("c1", "OURS", "answered") + `,` + response("c2", "read_file", "quince") + `]}
`},
		session.Qwen: {"projects/-srv-app/chats/q1.jsonl", "mcp__yore__session_search", strings.Join([]string{
			qwen("a", `null`, "user", `{"text":"go"}`),
			qwen("b", `"a"`, "assistant", `{"functionCall":{"id":"c1","name":"OURS","args":{"query":"asked"}}},{"functionCall":{"id":"c2","name":"read_file","args":{"file_path":"medlar"}}}`),
			qwen("c", `"b"`, "tool_result", response("c1", "OURS", "answered")), qwen("d", `"c"`, "tool_result", response("c2", "read_file", "quince")),
		}, "\n") + "\n"},
		session.Cursor: {"projects/srv-app/agent-transcripts/u1/u1.jsonl", "CallMcpTool", `{"role":"user","message":{"content":"go"}}
{"role":"assistant","message":{"content":[{"type":"tool_use","name":"OURS","input":{"server":"user-yore","toolName":"session_search","arguments":{"query":"asked"}}},{"type":"tool_use","name":"Read","input":{"path":"medlar"}}]}}
{"role":"user","message":{"content":[{"type":"tool_result","content":"answered"},{"type":"tool_result","content":"quince"}]}}
`},
	} {
		t.Run(string(agent), func(t *testing.T) {
			root := t.TempDir()
			path := filepath.Join(root, filepath.FromSlash(c.path))
			if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, []byte(strings.ReplaceAll(c.text, "OURS", c.ours)), 0o600); err != nil {
				t.Fatal(err)
			}
			h, err := yore.Open(t.Context(), yore.Options{Sources: []yore.Source{{Agent: agent, Root: root}}, IndexDir: filepath.Join(t.TempDir(), "index")})
			if err != nil {
				t.Fatal(err)
			}
			defer h.Close()
			view, err := h.OwnerView()
			if err != nil {
				t.Fatal(err)
			}
			for words, want := range map[string]int{"medlar": 1, "quince": 1, "asked": 0, "answered": 0} {
				page, err := view.SearchSessions(t.Context(), query.SessionSearch{Query: words, Limit: 10})
				if err != nil || len(page.Hits) != want {
					t.Errorf("%s is found in %d sessions, want %d: %v", words, len(page.Hits), want, err)
				}
			}
		})
	}
}
