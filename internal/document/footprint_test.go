package document

import (
	"testing"

	"github.com/yorehq/yore/session"
)

func TestFootprint(t *testing.T) {
	for _, c := range []struct {
		name, args string
		want       bool
	}{
		{"session_search", `{"query":"x"}`, true},
		{"mcp__yore__session_search", `{"query":"x","match":"auto"}`, true},
		{"mcp_yore_session_event_search", `{"query":"x"}`, true},
		{"yore-session_search", `{"query":"x"}`, true}, // Copilot CLI
		{"yore_session_trace", `{}`, true},
		{"mcp__yore.session_event_read", `{"seq":1}`, true},
		{"mcp__yore__session_event_trace", `{"seq":1,"session_id":"a"}`, true},
		{"CallMcpTool", `{"server":"user-yore","toolName":"session_search","arguments":{"query":"x"}}`, true}, // Cursor
		{"CallMcpTool", `{"server":"user-files","toolName":"read","arguments":{"query":"x"}}`, false},
		{"CallMcpTool", `{"toolName":"CallMcpTool","arguments":{"toolName":"session_search","arguments":{"query":"x"}}}`, false},
		{"CallMcpTool", `{"toolName":"session_search"}`, false},
		{"CallMcpTool", `{"toolName":"session_trace"}`, true},
		{"session_search", `{}`, false},                // not our arguments
		{"session_event_read", `{"query":"x"}`, false}, // somebody else's tool
		{"session_search", `not json`, false},
		{"session_search", `["query"]`, false},
		{"session_search", `null`, false},
		{"obsession_search", `{"query":"x"}`, false}, // no border before the name
		{"session_search_all", `{"query":"x"}`, false},
		{"session_event", `{"query":"x"}`, false},
		{"", `{"query":"x"}`, false},

		// A script that calls tools, as Codex writes one in its code mode.
		{"exec", `await tools.mcp__yore__session_search({query:"x"})`, true},
		{"functions.exec", "const r = await tools.mcp__yore__session_event_read ({seq: 3});\ntext(r)", true},
		{"codex_exec", "tools.yore.session_trace\n\t(\n{})", true},
		{"exec", `session_event_search({query:"x"})`, true},
		{"codemode", `{"code":"text(await tools.mcp__yore__session_search({query: \"x\"}))"}`, true},
		{"codemode", `{"code":"text(await tools.read({path: \"session_search\"}))"}`, false},
		{"codemode", `session_search({query:"x"})`, false},
		{"exec", `await(session_event_trace({seq:1}))`, true},
		{"exec", `x = {session_search: 1}; await tools.session_search({query:"x"})`, true}, // the second one is the call
		{"exec", `await tools.exec_command({cmd:"ls"})`, false},
		{"exec", `const session_search = 1; text(session_search)`, false}, // no call
		{"exec", `await tools.obsession_search({query:"x"})`, false},      // another name
		{"exec", `await tools.ésession_search({query:"x"})`, false},       // another name
		{"exec", `await tools.session_search_all({query:"x"})`, false},    // another name
		{"exec", `await tools.session_search`, false},                     // cut off
		{"exec", `{"command":"session_search(1)"}`, false},                // arguments, no script
		{"exec", ``, false},
		{"shell", `session_search({query:"x"})`, false},  // runs no scripts of tools
		{"myexec", `session_search({query:"x"})`, false}, // no border before the name
		{"exec_command", `session_search({query:"x"})`, false},
	} {
		if got := Footprint(c.name, c.args); got != c.want {
			t.Errorf("Footprint(%q, %s) = %v", c.name, c.args, got)
		}
	}
}

func TestWithoutFootprints(t *testing.T) {
	body := session.Body{Blocks: []session.Block{
		{Text: "let me look"},
		{Kind: session.CallBlock, Name: "mcp__yore__session_search", Text: `{"query":"hidden"}`},
		{Kind: session.CallBlock, Name: "bash", Text: `{"command":"ls"}`},
	}}
	clean, calls := WithoutFootprints(body)
	if text, _ := Extract(clean); calls != 1 || text != "let me look\nbash\n{\"command\":\"ls\"}" {
		t.Errorf("%d calls, %q", calls, text)
	}
	if len(body.Blocks) != 3 {
		t.Error("the given body was changed")
	}
}
