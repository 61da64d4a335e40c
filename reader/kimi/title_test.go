package kimi

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/yorehq/yore/reader"
	"github.com/yorehq/yore/reader/readertest"
	"github.com/yorehq/yore/session"
)

// A subagent's title is its task, as the client wrote it down (2.1.0), without what
// stands before it.
func TestTitlesOfSubagents(t *testing.T) {
	paths, err := filepath.Glob("testdata/2.1.0/sessions/*/*/agents/agent-0/wire.jsonl")
	if err != nil || len(paths) != 2 {
		t.Fatalf("%v, %v", paths, err)
	}
	for _, path := range paths {
		events, _, err := readertest.ReadFrom(New(), reader.Source{Agent: session.Kimi, Root: "testdata/2.1.0", Path: path}, reader.Position{})
		if err != nil {
			t.Fatal(err)
		}
		var titles []string
		for _, e := range events {
			if e.Body.Title != nil {
				titles = append(titles, *e.Body.Title)
			}
		}
		if len(titles) != 1 || titles[0] != "SUBTASK-ALPHA: read hello.txt" {
			t.Errorf("%s: %q", path, titles)
		}
	}
	for in, want := range map[string]string{
		"<git-context>\nbranch: x\n</git-context>\n\nFind it": "\n\nFind it", "<git-context": "<git-context", "<git-context>x": "<git-context>x", "plain": "plain",
	} {
		if got := task(in); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}

// What a killed run left of a record is one record that cannot be read; what the
// next run writes behind it is, whether it ended the line before or not.
func TestKilledRun(t *testing.T) {
	half := user("lost")
	half = half[:len(half)/2]
	for name, c := range map[string]struct {
		between string
		want    []string
	}{
		"a line of its own": {"\n", []string{"before", "x", "after", "more"}},
		"glued":             {"", []string{"before", "x", "more"}},
	} {
		text := log(user("before")) + half + c.between + user("after") + "\n" + user("more") + "\n"
		src := source(t, rel, text, "{}")
		events, tail, err := readertest.ReadFrom(New(), src, reader.Position{})
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, e := range events {
			if e.Type == "x/unparsed" {
				got = append(got, "x")
			} else if len(e.Body.Blocks) > 0 {
				got = append(got, e.Body.Blocks[0].Text)
			}
		}
		if strings.Join(got, " ") != strings.Join(c.want, " ") || len(tail.Skips) != 1 {
			t.Errorf("%s: %q, %d skips", name, got, len(tail.Skips))
		}
	}
}
