package codex

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/yorehq/yore/reader/readertest"
	"github.com/yorehq/yore/session"
)

// What the sample logs say, read off them by hand: headers, and the events that
// carry text or change the surface. Everything else is log-only and silent.
func TestSamples(t *testing.T) {
	const (
		main  = "01a22bac-68c9-7c70-baa1-660b3c14b9bd"
		lead  = "01a22bac-7095-76b1-97c1-a22f3156b288"
		child = "01a22bac-717f-7ad2-9a52-b9d39f08cc57"
		code  = "01a22bac-7c75-73b3-9b05-a777d7c21201"
	)
	headers := map[session.ID]session.Header{
		main: {CreatedAt: 1796029049036}, lead: {CreatedAt: 1796029051034}, code: {CreatedAt: 1796029054077},
		child: {CreatedAt: 1796029051264, ParentSession: lead, Origin: session.OriginSubagent, DelegationDepth: 1},
	}
	want := map[session.ID][]string{
		main: {
			"2 user/message append injected", "3 user/message append injected",
			`7 user/message append title="Fix the greeting in hello.txt, then check with the probe." human: Fix the greeting in hello.txt, then check with the probe.`,
			"10 assistant/message step append assistant", "12 assistant/message append assistant: I create the greeting file first.",
			`13 tool/call #call_t00_0 action: exec_command({"cmd": "printf 'helo wörld 🚀\\n' > hello.txt && cat hello.txt"})`,
			"16 tool/result append #call_t00_0 tool: Chunk ID: 6ddc0e Wall time: 0.0000 seconds Process exited with code 0 Original token count: 5 Output: helo wörld 🚀 ",
			"19 assistant/message step append assistant: There is a typo, I fix it.",
			"20 tool/call #call_t01_0 action: apply_patch(*** Begin Patch *** Update File: hello.txt @@ -helo wörld 🚀 +hello wörld 🚀 *** End Patch )",
			"23 tool/result append #call_t01_0 tool: Exit code: 0 Wall time: 0 seconds Output: Success. Updated the following files: M hello.txt ",
			"26 assistant/message step append assistant: Two checks at once.",
			`27 tool/call #call_t02_0 action: exec_command({"cmd": "cat missing.txt"})`,
			`28 tool/call #call_t02_1 action: exec_command({"cmd": "wc -c hello.txt"})`,
			"31 tool/result append #call_t02_0 tool: Chunk ID: c043c6 Wall time: 0.0000 seconds Process exited with code 1 Original token count: 11 Output: cat: missing.txt: No such file or directory ",
			"33 tool/result append #call_t02_1 tool: Chunk ID: 9b5014 Wall time: 0.0000 seconds Process exited with code 0 Original token count: 4 Output: 18 hello.txt ",
			"36 assistant/message step append assistant: Loading the probe tools.",
			`37 tool/call #call_t03_0 action: tool_search({"query":"probe struct echo","limit":8})`,
			"39 tool/result append #call_t03_0 tool",
			"42 assistant/message step append assistant: Asking the probe.",
			"43 tool/call #call_t04_0 action: mcp__probe__probe_struct({})",
			`44 tool/call #call_t04_1 action: mcp__probe__probe_echo({"text": "hello wörld 🚀"})`,
			`48 tool/result append #call_t04_0 tool: Wall time: 0.0041 seconds Output: {"n":7,"note":"STRUCT-PART"}`,
			"49 tool/result append #call_t04_1 tool: Wall time: 0.0042 seconds Output: | echo: hello wörld 🚀",
			"52 assistant/message step append assistant: I fixed the spelling in hello.txt: helo → hello. The probe server answered too.",
			"59 user/message append human: Thanks. What did you change?",
			"62 assistant/message step append assistant: I changed one word in hello.txt.",
			"72 user/message append summary: [trimmed 424 chars]", "73 codex/compacted keep -1 [7 2 3 59 72]",
			"79 user/message append human: And what next?", "82 assistant/message step append assistant: I would add a test next.",
		},
		lead: {
			"2 user/message append injected", "3 user/message append injected",
			`7 user/message append title="Let a subagent look at hello.txt." human: Let a subagent look at hello.txt.`,
			"10 assistant/message step append assistant: A subagent may look.",
			`11 tool/call #call_t00_0 action: spawn_agent({"message": "SUBTASK-ALPHA: read hello.txt and report its text."})`,
			`14 tool/result append #call_t00_0 tool: {"agent_id":"` + child + `","nickname":"Sartre"}`,
			"18 assistant/message step append assistant: Waiting.",
			`19 tool/call #call_t01_0 action: exec_command({"cmd": "sleep 2; echo waited"})`,
			"22 tool/result append #call_t01_0 tool: Chunk ID: 8e2a2b Wall time: 1.8665 seconds Process exited with code 0 Original token count: 2 Output: waited ",
			`24 user/message append injected: <subagent_notification> {"agent_path":"` + child + `","status":{"completed":"It says: hello wörld 🚀"}} </subagent_notification>`,
			"26 assistant/message step append assistant: The subagent has read it.",
		},
		child: {
			"2 user/message append injected", "3 user/message append injected",
			`7 user/message append title="SUBTASK-ALPHA: read hello.txt and report its text." human: SUBTASK-ALPHA: read hello.txt and report its text.`,
			"10 assistant/message step append assistant: Reading.",
			`11 tool/call #call_t00_0 action: exec_command({"cmd": "cat hello.txt"})`,
			"14 tool/result append #call_t00_0 tool: Chunk ID: eda63c Wall time: 0.0000 seconds Process exited with code 0 Original token count: 5 Output: hello wörld 🚀 ",
			"17 assistant/message step append assistant: It says: hello wörld 🚀",
		},
		code: {
			"3 user/message append injected", "4 user/message append injected", "5 user/message append injected", "6 user/message append injected", "7 user/message append injected",
			`11 user/message append title="Check the greeting from code." human: Check the greeting from code.`,
			"14 assistant/message step append assistant", "16 assistant/message append assistant: Calling from code.",
			`17 tool/call #call_t00_0 action: exec(const r = await tools.exec_command({cmd: "cat hello.txt"}); text(r.output); const s = await tools.mcp__probe__probe_struct({}); text(s.structuredContent); )`,
			`21 tool/result append #call_t00_0 tool: Script completed Wall time 0.2 seconds Output: | hello wörld 🚀 | {"n":7,"note":"STRUCT-PART"}`,
			"24 assistant/message step append assistant: I fixed the spelling in hello.txt: helo → hello. The probe server answered too.",
		},
	}
	found := readertest.Discover(t, New(), genuine)
	if len(found) != len(want) {
		t.Fatalf("%d sessions", len(found))
	}
	for _, src := range found {
		h := headers[src.Header.ID]
		h.Agent, h.ID, h.Cwd = session.Codex, src.Header.ID, "/home/dev/proj"
		if src.Header != h {
			t.Errorf("header %+v, want %+v", src.Header, h)
		}
		events, tail := readAll(t, src)
		if lines := strings.Count(readFile(t, src.Path), "\n"); src.Header.ID != main && len(events) != lines {
			t.Errorf("%s: %d events of %d lines", h.ID, len(events), lines)
		}
		var got []string
		for i, line := range outline(events) {
			if e := &events[i]; e.Op.Kind != session.OpNone || said(e) != "" {
				got = append(got, strings.ReplaceAll(strings.ReplaceAll(line, "\n | ", " | "), "\n", " "))
			}
		}
		if diff := cmp.Diff(want[src.Header.ID], got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", h.ID, diff)
		}
		if len(tail.Skips) > 0 || len(tail.Position.State) > 1000 {
			t.Errorf("%s: skips %+v, %d bytes of state", h.ID, tail.Skips, len(tail.Position.State))
		}
	}
}
