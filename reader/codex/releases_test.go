package codex

import (
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/yorehq/yore/session"
)

// What was said in releases from before rollbacks, and their headers, read off the
// logs by hand. In all of them: a prompt, a call of the shell that prints "one", an
// answer; where there was more, further prompts, and a compaction behind the second
// and the fourth.
func TestOldReleases(t *testing.T) {
	first := []string{"human: first prompt script:ls", "tool: one\n", "assistant: answer 2"}
	second := append(first[:3:3], "human: second prompt", "assistant: answer 3")
	rest := append(second[:5:5], "human: third prompt", "assistant: answer 5", "human: fourth prompt", "assistant: answer 6",
		"human: fifth prompt", "assistant: answer 8")
	const home = "/home/dev/proj"
	for id, want := range map[session.ID]struct {
		dir, cwd string
		created  int64
		surface  []string
	}{
		// The document is written anew under another id after every turn. No folder stands in it.
		"2d558e35-c8b2-44d4-8045-0972270b408a": {"old-typescript-0.1.2504172351", "", 1796046833841, first},
		"f60de5f1-7253-403c-89a6-787c28a4b4fd": {"old-typescript-0.1.2504172351", "", 1796046842948, second},
		// Neither folder nor compactions.
		"5dfecf8b-eff4-4e88-9c41-9bb9a15630f6": {"old-0.8.0", "", 1796046685311, first},
		"f5b4363a-3966-4806-8739-400892784ad5": {"old-0.20.0", "", 1796046731060, rest},
		// An envelope, and still no record of compactions.
		"83c97dec-9921-4dec-8183-81af4db59d51": {"old-0.34.0", home, 1796046740494, append([]string{"injected", "injected"}, rest...)},
		// The client packs prompts and summary into one message, which is in no log.
		"01a22cba-82b7-7673-9cb6-2aa797dc7fb9": {"old-0.39.0", home, 1796046750391, []string{
			"injected", "injected", "human: first prompt script:ls", "human: second prompt", "human: third prompt", "human: fourth prompt",
			"summary: answer 7", "human: fifth prompt", "assistant: answer 8",
		}},
	} {
		t.Run(string(id), func(t *testing.T) {
			for _, src := range threads(t, filepath.Join("testdata", want.dir)) {
				if src.Header.ID != id {
					continue
				}
				if diff := cmp.Diff(session.Header{Agent: session.Codex, ID: id, CreatedAt: want.created, Cwd: want.cwd}, src.Header); diff != "" {
					t.Errorf("header (-want +got):\n%s", diff)
				}
				events, tail := readAll(t, src)
				if diff := cmp.Diff(want.surface, surface(t, events)); diff != "" || len(tail.Skips) > 0 {
					t.Errorf("skips %+v (-want +got):\n%s", tail.Skips, diff)
				}
				everyWay(t, src)
				return
			}
			t.Error("it was not found")
		})
	}
}

// A tool's output that is JSON with its exit code gives what it holds; anything
// else stays as it is.
func TestInnerOutput(t *testing.T) {
	for text, want := range map[string]string{
		`{"output":"a\nb","metadata":{"exit_code":1}}`:                  "a\nb",
		`{"output":"","metadata":{}}`:                                   "",
		`{"output":"a\nb"}`:                                             `{"output":"a\nb"}`,
		`{"output":"a","metadata":7}`:                                   `{"output":"a","metadata":7}`,
		`{"output":{"x":1},"metadata":{}}`:                              `{"output":{"x":1},"metadata":{}}`,
		`{"output":"a","metadata":{}} and more`:                         `{"output":"a","metadata":{}} and more`,
		`{"output":"{\"output\":\"a\",\"metadata\":{}}","metadata":{}}`: `{"output":"a","metadata":{}}`,
		`{"output":`: `{"output":`,
	} {
		if got := inner(text); got != want {
			t.Errorf("%s gives %q, want %q", text, got, want)
		}
	}
}
