package claude

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// A summary of a leaf on the path is the session's own title, one of a leaf that
// was left is nobody's, and one of a leaf that is not here is another session's.
func TestSummariesAreForWhoHoldsTheLeaf(t *testing.T) {
	long := strings.Repeat("é", maxSummary)
	src := project(t, lines(
		meta("summary", object{"summary": "of another", "leafUuid": "elsewhere"}),
		user("u1", "", "hello"), answer("a1", "u1", "m1", textBlock("yes")), user("u2", "u1", "again"),
		meta("summary", object{"summary": "left", "leafUuid": "a1"}),
		meta("summary", object{"summary": long, "leafUuid": "far"}),
		meta("summary", object{"summary": "no leaf"}),
		meta("summary", object{"summary": "long leaf", "leafUuid": strings.Repeat("x", maxLeaf+1)}),
		meta("summary", object{"summary": " own ", "leafUuid": "u2"}),
	))
	events, _, _ := readAll(t, src)
	var got []string
	for i := range events {
		if b := &events[i].Body; b.Title != nil {
			got = append(got, events[i].Type+" "+b.TitleOf+": "+*b.Title)
			if b.Makeshift != (events[i].Type == "user/message") {
				t.Errorf("event %d: makeshift is %t", i, b.Makeshift)
			}
		}
	}
	want := []string{
		"claude/summary elsewhere: of another", "user/message : hello", "claude/summary far: " + strings.Repeat("é", maxSummary/2),
		"session/title : own",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("titles (-want +got):\n%s", diff)
	}
}
