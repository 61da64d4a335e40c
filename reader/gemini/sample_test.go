package gemini

import (
	"slices"
	"strings"
	"testing"

	"github.com/yorehq/yore/reader/readertest"
	"github.com/yorehq/yore/session"
)

// The sample is a genuine log of 0.61.0 whose long texts are cut. What happened in
// it was read off by hand: five answers with seven calls, a resumption, one more
// prompt with its answer.
func TestSample(t *testing.T) {
	found := readertest.Discover(t, New(), genuine)
	if len(found) != 1 {
		t.Fatalf("%d sessions", len(found))
	}
	want := session.Header{Agent: session.Gemini, ID: "070a80a5-b046-4c87-9604-38b901127ddc", CreatedAt: 1796028945468, Cwd: "/home/dev/proj"}
	if found[0].Header != want {
		t.Errorf("the header is %+v", found[0].Header)
	}
	events := read(t, found[0])
	beginnings := []string{
		"0 user/message", "1 user/message Fix the greeting in hello.txt, then check with the p",
		"2 assistant/message I create the greeting file first.", "3 tool/call write_file(write_file__call_t00_0)", "4 tool/result write_file__call_t00_0=Successfully created and wr",
		"5 assistant/message There is a typo, I fix it.", "6 tool/call replace(replace__call_t01_0)", "7 tool/result replace__call_t01_0=Successfully modified file: ",
		"8 assistant/message Two checks at once.", "9 tool/call run_shell_command(run_shell_command__call_t02_0)", "10 tool/result run_shell_command__call_t02_0=Output: cat: missi",
		"11 tool/call read_file(read_file__call_t02_1)", "12 tool/result read_file__call_t02_1=hello wörld 🚀",
		"13 assistant/message Asking the probe.", "14 tool/call mcp_probe_probe_struct(mcp_probe_probe_struct__cal", "15 tool/result mcp_probe_probe_struct__call_t03_0=TEXT-PART n is",
		"16 tool/call mcp_probe_probe_link(mcp_probe_probe_link__call_t0", "17 tool/result mcp_probe_probe_link__call_t03_1=<untrusted_conte",
		"18 assistant/message I fixed the spelling in hello.txt: helo → hello",
		"19 gemini/resume", "20 user/message instead of 0", "21 gemini/history keeps 20, takes []", "22 gemini/history keeps 20, takes [1 2 4 5 7 8 10 12 13 15 17 1",
		"23 user/message Thanks. What did you change?", "24 assistant/message I changed one word in hello.txt.",
	}
	got := toldAll(events)
	if len(got) != len(beginnings) {
		t.Fatalf("%d events, want %d", len(got), len(beginnings))
	}
	for i, want := range beginnings {
		if !strings.HasPrefix(got[i], want) {
			t.Errorf("%q, want %q…", got[i], want)
		}
	}
	if got := surface(t, events); !slices.Equal(got, []int64{20, 1, 2, 4, 5, 7, 8, 10, 12, 13, 15, 17, 18, 23, 24}) {
		t.Errorf("the surface is %v", got)
	}
	if title := events[1].Body.Title; title == nil || *title != "Fix the greeting in hello.txt, then check with the probe." {
		t.Error("the first prompt is not the title")
	}
}
