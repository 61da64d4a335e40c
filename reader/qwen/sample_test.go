package qwen

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/yorehq/yore/reader/readertest"
	"github.com/yorehq/yore/session"
)

// The sample is a genuine chat of 0.24.4, continued once, with a subagent. What was
// said in it was read off by hand.
func TestSample(t *testing.T) {
	const id = "9b207d5b-f7f3-4f5b-af21-9a7bae1e51c1"
	found := readertest.Discover(t, New(), genuine)
	if len(found) != 2 {
		t.Fatalf("%d sessions", len(found))
	}
	for i, want := range []session.Header{
		{Agent: session.Qwen, ID: id, CreatedAt: 1796028964271, Cwd: "/home/dev/proj"},
		{
			Agent: session.Qwen, ID: id + "/agent-general-purpose-call_t05_0", CreatedAt: 1796028966633, Cwd: "/home/dev/proj",
			ParentSession: id, Origin: session.OriginSubagent, DelegationDepth: 1, AgentPreset: "general-purpose",
		},
	} {
		if found[i].Header != want {
			t.Errorf("the header is %+v", found[i].Header)
		}
	}
	for i, want := range [][]string{
		{
			"user/message Fix the greeting in hello.txt, then check with the probe.", "assistant/message I create the greeting file first.", "tool/call write_file(call_t00_0)",
			"tool/result call_t00_0=Successfully created and wrote to new file: /home/dev/proj/hello.txt.", "assistant/message There is a typo, I fix it.", "tool/call edit(call_t01_0)",
			"tool/result call_t01_0=The file: /home/dev/proj/hello.txt has been updated. Showing lines 1-2 of 2 from the edited file:", "assistant/message Two checks at once.",
			"tool/call run_shell_command(call_t02_0)", "tool/call read_file(call_t02_1)", "tool/result call_t02_0=Command: cat missing.txt", "tool/result call_t02_1=hello wörld 🚀",
			"assistant/message Loading the probe tools.", "tool/call tool_search(call_t03_0)", "tool/result call_t03_0=[trimmed 360 chars]", "assistant/message Asking the probe.",
			"tool/call mcp__probe__probe_struct(call_t04_0)", `tool/result call_t04_0={"n":7,"note":"STRUCT-PART"}`, "assistant/message A subagent may look too.", "tool/call agent(call_t05_0)",
			"tool/result call_t05_0=[trimmed 1087 chars]", "assistant/message I fixed the spelling in hello.txt: helo → hello. The probe server answered too.",
			"user/message [trimmed 567 chars]", "assistant/message I changed one word in hello.txt.", "user/message Thanks. What did you change?", "assistant/message I would add a test next.",
		},
		{
			"user/message SUBTASK-ALPHA: read hello.txt and report its text.", "assistant/message Reading.", "assistant/message", "tool/call read_file(call_t00_0)",
			"tool/result call_t00_0=hello wörld 🚀", "assistant/message It says: hello wörld 🚀",
		},
	} {
		var got []string
		for _, line := range toldAll(read(t, found[i])) {
			_, line, _ = strings.Cut(line, " ")
			if line, _, _ = strings.Cut(line, "\n"); !strings.HasPrefix(line, "qwen/") {
				got = append(got, line)
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", found[i].Path, diff)
		}
	}
}
