package cli

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Who is calling, from what Claude Code leaves behind: the session that calls is
// not among its own hits, and a session that does not call is.
func TestCallerOfClaude(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), deadline)
	defer cancel()
	const one, both = "1 session, best first:\nother ", "2 sessions, best first:\n"
	named := func(id string) mcp.Meta { return mcp.Meta{"claudecode/toolUseId": id} }
	for _, tc := range []struct {
		name     string
		client   string
		meta     mcp.Meta
		age      time.Duration // of the log that ends in an open call
		registry string        // the session that the server's parent has open
		want     string
	}{
		{"an open call in a log that is being written", "claude-code", nil, 0, "", one},
		{"an open call that nobody ever answered", "claude-code", nil, 20 * 24 * time.Hour, "", both},
		{"another agent, while that log is being written", "codex-mcp-client", nil, 0, "", both},
		{"an agent without readable logs", "gemini-cli-mcp-client", nil, 0, "", both},
		{"the id of the call, however old the log", "claude-code", named("toolu_takahe"), 20 * 24 * time.Hour, "", one},
		{"the id of another call", "claude-code", named("toolu_kakapo"), 0, "", both},
		{"the registry's entry of the parent", "claude-code", nil, 20 * 24 * time.Hour, "caller", one},
		{"the entry of a session elsewhere", "claude-code", nil, 20 * 24 * time.Hour, "foreign", both},
		{"the entry of another agent's parent", "pi", nil, 20 * 24 * time.Hour, "caller", both},
	} {
		t.Run(tc.name, func(t *testing.T) {
			dir := t.TempDir()
			put := func(path, text string, age time.Duration) {
				path = filepath.Join(dir, path)
				if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
				at := time.Now().Add(-age)
				if err := os.Chtimes(path, at, at); err != nil {
					t.Fatal(err)
				}
			}
			prompt := func(id string) string {
				return fmt.Sprintf(`{"type":"user","uuid":"u-%[1]s","parentUuid":null,"sessionId":%[1]q,"cwd":"/srv/code/alpha","timestamp":"2026-11-30T08:00:00.000Z","message":{"role":"user","content":"where is the takahe"}}`+"\n", id)
			}
			open := `{"type":"assistant","uuid":"a-1","parentUuid":"u-caller","sessionId":"caller","cwd":"/srv/code/alpha","timestamp":"2026-11-30T08:00:01.000Z","message":{"id":"m1","role":"assistant","content":[{"type":"tool_use","id":"toolu_takahe","name":"mcp__yore__session_search","input":{"query":"takahe"}}]}}` + "\n"
			put("projects/alpha/caller.jsonl", prompt("caller")+open, tc.age)
			put("projects/alpha/other.jsonl", prompt("other"), time.Hour)
			if tc.registry != "" {
				put("sessions/1.json", fmt.Sprintf(`{"pid":%d,"sessionId":%q}`, os.Getpid(), tc.registry), 0)
			}
			cmd := server(t)
			cmd.Env = append(cmd.Env, "YORE_ROOTS=claude-code="+filepath.Join(dir, "projects"), "CLAUDE_CODE_SESSION_ID=")
			s, err := mcp.NewClient(&mcp.Implementation{Name: tc.client, Version: "1"}, nil).Connect(ctx, &mcp.CommandTransport{Command: cmd}, nil)
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			r, err := s.CallTool(ctx, &mcp.CallToolParams{Meta: tc.meta, Name: "session_search", Arguments: map[string]any{"query": "takahe"}})
			if err != nil {
				t.Fatal(err)
			}
			if text := r.Content[0].(*mcp.TextContent).Text; !strings.HasPrefix(text, tc.want) {
				t.Errorf("got %s", text)
			}
		})
	}
}
