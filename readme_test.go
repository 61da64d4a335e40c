package yore

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// README.md and README.zh.md say the same in two languages: they have the same
// sections, code, pictures, links and rows, in the same order. Only the words
// are nobody's to compare: who changes one page says the same on the other.
func TestReadmesAgree(t *testing.T) {
	english, chinese := outline(t, "README.md"), outline(t, "README.zh.md")
	if len(english) < 60 {
		t.Fatalf("only %d marks found: the test looks for the wrong ones", len(english))
	}
	if diff := cmp.Diff(english, chinese); diff != "" {
		t.Errorf("README.zh.md has another outline than README.md (-en +zh):\n%s", diff)
	}
}

var outlined = regexp.MustCompile("(?ms)^```[a-z]*\n.*?^```$|^#+ |^- |^\\| |\\]\\([^)\\s]+\\)")

// outline lists what a page has that does not depend on its language.
func outline(t *testing.T, name string) (marks []string) {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	page := strings.NewReplacer("README.zh.md", "OTHER", "README.md", "OTHER").Replace(string(text))
	for _, m := range outlined.FindAllString(page, -1) {
		if strings.HasPrefix(m, "```") {
			m = comments.ReplaceAllString(m, "")
		}
		marks = append(marks, m)
	}
	// The order of links within a sentence is the language's own.
	for i := 0; i < len(marks); {
		j := i
		for j < len(marks) && strings.HasPrefix(marks[j], "](") {
			j++
		}
		slices.Sort(marks[i:j])
		i = j + 1
	}
	return marks
}

// comments are those of commands in a block, which are in the page's language.
var comments = regexp.MustCompile(`(?m) +# .*$`)
