package attack

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/yorehq/yore/authz"
	"github.com/yorehq/yore/internal/cli"
	"github.com/yorehq/yore/session"
)

// command makes up a command line within one workspace.
func (a *asker) command(workspace string) []string {
	id, seq := a.id(), fmt.Sprint(a.IntN(9))
	line := pick(a.Rand,
		[]string{"search", a.words()}, []string{"search", "--json", a.words()}, []string{"search", "--parent", id, a.words()}, []string{"search", "--session", id, a.words()},
		[]string{"list"}, []string{"list", "--json"}, []string{"list", "--text", a.words()}, []string{"stats"}, []string{"stats", "--json"},
		[]string{"events", id}, []string{"events", id, a.words()}, []string{"events", id, "--json"},
		[]string{"show", id}, []string{"show", id, "--format", "markdown"}, []string{"show", id, "--format", "html"}, []string{"show", id, "--format", "jsonl"},
		[]string{"read", id, seq}, []string{"read", id, seq, "-C", "2"}, []string{"read", id, seq, "--raw"}, []string{"read", id, seq, "--json"},
		[]string{"trace", id}, []string{"trace", id, "--json"}, []string{"event-trace", id, seq}, []string{"event-trace", id, seq, "--format", "svg"},
		[]string{"__complete", "read", "--workspace", workspace, ""}, []string{"__complete", "show", "--workspace", workspace, id[:min(len(id), 1)]},
		[]string{"index"},
	)
	if line[0] != "__complete" {
		line = append(line, "--workspace", workspace)
	}
	return line
}

var stamp = regexp.MustCompile(`(?m)^time=\S+ `)

// TestAuthorityOfTheCommandLine runs commands within one workspace over an index
// that holds everything already.
func TestAuthorityOfTheCommandLine(t *testing.T) {
	home(t)
	total, words := max(10, *calls/100), 0
	for n := uint64(0); total > 0; n++ {
		world := newWorld(*seed + n)
		dir, a := t.TempDir(), newAsker(world, 4)
		world.write(t, dir, nil)
		run := func(dir string, line []string) string {
			var out, errs strings.Builder
			code := cli.Main(append(where(dir), line...), strings.NewReader(""), &out, &errs)
			text := fmt.Sprintf("%s\n%s\nexit code %d", out.String(), stamp.ReplaceAllString(errs.String(), ""), code)
			return strings.ReplaceAll(text, dir, "DIR")
		}
		run(dir, []string{"index", "--all"})
		for _, workspace := range a.workspaces() {
			c := authz.Caller{Workspace: workspace}
			twin := t.TempDir()
			world.write(t, twin, func(h session.Header) bool { return visible(c, h) })
			a.now = c
			for range 12 {
				total--
				line := a.command(workspace)
				got, want := run(dir, line), run(twin, line)
				if word := leaked(got, world.foreign(c, strings.Join(line, " "), false)); word != "" {
					t.Errorf("seed %d: %q gives %q away:\n%s", world.seed, line, word, got)
				}
				if line[0] == "trace" {
					got, want = boundaries(got), boundaries(want)
				}
				if got != want {
					mine, theirs := apart(got, want)
					t.Errorf("seed %d: %q:\n%s\nand where nothing else exists:\n%s", world.seed, line, mine, theirs)
				}
				words += strings.Count(got, "qz")
			}
			if t.Failed() {
				return
			}
		}
	}
	t.Logf("%d words", words)
	if words == 0 {
		t.Error("nothing was found at all")
	}
}

var outside = regexp.MustCompile(`\{"depth":\d+,"outside":true\},?`)

// boundaries takes the markers of invisible descendants out of a trace in any form.
func boundaries(text string) string {
	return strings.ReplaceAll(outside.ReplaceAllString(unmarked(text), ""), ",]", "]")
}
