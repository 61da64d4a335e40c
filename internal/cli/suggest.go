package cli

import (
	"cmp"
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/yorehq/yore"
	"github.com/yorehq/yore/fault"
	"github.com/yorehq/yore/internal/render"
	"github.com/yorehq/yore/reader/archive"
	"github.com/yorehq/yore/session"
)

// agentNames are the agents whose sessions there can be.
func agentNames() []string {
	var known []string
	for _, r := range yore.Readers() {
		if r.Agent() != archive.Agent { // whose sessions are of the others
			known = append(known, string(r.Agent()))
		}
	}
	return known
}

// knownAgent returns the agent of a name. The list is closed: a misspelled one
// must not look like an agent without sessions.
func knownAgent(name string) (session.Agent, error) {
	if err := oneOf("--agent", name, agentNames()); err != nil {
		return "", err
	}
	return session.Agent(name), nil
}

// oneOf refuses a value that is not in a closed list, and says which was likely meant.
func oneOf(what, given string, known []string) error {
	if slices.Contains(known, given) {
		return nil
	}
	return fault.New(fault.InvalidFilter, "%s is %q: want %s%s", what, given, orList(known), didYouMean(given, known))
}

// orList joins words as a sentence does.
func orList(words []string) string {
	if len(words) < 2 {
		return strings.Join(words, "")
	}
	return strings.Join(words[:len(words)-1], ", ") + " or " + words[len(words)-1]
}

// didYouMean is the end of a sentence that names what was likely meant, "" if
// nothing is near.
func didYouMean(given string, known []string) string {
	if near := nearest(given, known); near != "" {
		return "; did you mean " + render.Name(near) + "?"
	}
	return ""
}

// nearest returns the word that was likely meant, the first of the nearest
// ones; "" if none is near.
func nearest(given string, known []string) string {
	given = strings.ToLower(given)
	best, least := "", 0
	for _, k := range known {
		lower := strings.ToLower(k)
		if !close(given, lower) {
			continue
		}
		if d := distance(given, lower); best == "" || d < least {
			best, least = k, d
		}
	}
	return best
}

// close reports whether a word was likely meant: one begins with the other, or
// few characters would have to be changed, put in or taken out: two, of long
// words one in six.
func close(given, meant string) bool {
	if len(given) > 1 && (strings.HasPrefix(meant, given) || strings.HasPrefix(given, meant)) {
		return true
	}
	return distance(given, meant) <= min(max(2, len(meant)/6), len(meant)-1)
}

// maxCompared bounds the words that are compared, for the sake of time.
const maxCompared = 200

// distance is how many characters have to be changed, put in, taken out or
// exchanged with a neighbour.
func distance(a, b string) int {
	if len(a) > maxCompared || len(b) > maxCompared {
		return max(len(a), len(b))
	}
	above, before := make([]int, len(b)+1), make([]int, len(b)+1) // the last rows of Levenshtein's table
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		above, before, row = before, row, above
		row[0] = i + 1
		for j := range len(b) {
			cost := before[j]
			if a[i] != b[j] {
				cost++
			}
			row[j+1] = min(cost, before[j+1]+1, row[j]+1)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				row[j+1] = min(row[j+1], above[j-1]+1)
			}
		}
	}
	return row[len(b)]
}

// nothingIn says, of a workspace without a session, which one was likely meant,
// and where there is no session at all, who lists the places that were looked at.
// It is asked by the person whose history it is.
func (a *app) nothingIn(ctx context.Context, c *corpus) {
	owner, err := c.OwnerView()
	if err != nil {
		return
	}
	all, err := owner.AsIndexed().Workspaces(ctx)
	if err != nil {
		return
	}
	if len(all) == 0 {
		a.note("No agent has left a session where yore looks: `yore doctor --quick` lists the places, `yore demo` shows samples.")
		return
	}
	if c.scope.All {
		return
	}
	here := c.scope.Workspaces[0]
	if slices.Contains(all, here) {
		return
	}
	a.note("No session was recorded in %s%s", render.Name(here), cmp.Or(didYouMean(here, among(here, all)), "; --all shows every workspace."))
}

// among leaves out of paths what only begins like another one, as a folder
// begins like all below it, unless they are next to each other.
func among(path string, all []string) []string {
	near := []string{filepath.Dir(path)}
	var out []string
	for _, w := range all {
		inside := strings.HasPrefix(w, path+string(filepath.Separator)) || strings.HasPrefix(path, w+string(filepath.Separator))
		if !inside || slices.Contains(near, w) || filepath.Dir(w) == path {
			out = append(out, w)
		}
	}
	return out
}

// unknownCommand refuses a command that is not there.
func unknownCommand(root *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	var known []string
	for _, c := range root.Commands() {
		if c.IsAvailableCommand() {
			known = append(known, c.Name())
		}
	}
	return fmt.Errorf("unknown command %q for %q%s", args[0], root.CommandPath(), didYouMean(args[0], known))
}
