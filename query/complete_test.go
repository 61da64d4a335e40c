package query_test

import (
	"testing"

	"github.com/yorehq/yore/query"
	"github.com/yorehq/yore/session"
)

func TestTheWordThatIsTyped(t *testing.T) {
	m := newMemory(t)
	m.put(header("a", "/w"), "compaction keeps the tail", "compaction again", "a compass")
	m.put(header("b", "/other"), "companion companion", "companion", "one companion more", "and a companion")
	m.put(header("c", "/w"), "全文検索 naïveté")
	e := engine(t, query.Config{Disk: m.Corpus})
	if _, err := e.SearchSessions(t.Context(), query.SessionSearch{Query: "any", Sessions: query.SessionFilter{Scope: session.Scope{All: true}}, Limit: 1}); err != nil {
		t.Fatal(err) // it completes from what is indexed
	}
	w, all := session.Scope{Workspaces: []string{"/w"}}, session.Scope{All: true}
	for _, c := range []struct {
		scope session.Scope
		typed string
		want  string // what finishes it
	}{
		{w, "comp", "action"},
		{all, "comp", "anion"},
		{w, "the COMP", "action"},
		{w, "compas", "s"},
		{w, "compass", ""},   // it is there
		{w, "the", ""},       // likewise
		{w, "comp ", ""},     // the word is over
		{w, "c", ""},         // too short
		{w, "companion", ""}, // nothing here begins with it
		{w, "NAÏV", "ete"},   // as it is indexed
		{w, "全文", ""},        // every character is a word of its own
		{w, "", ""},
		{w, "zz", ""},
		{w, "comp\"*", ""},
	} {
		got, err := e.Complete(t.Context(), c.scope, c.typed)
		if got != c.want || err != nil {
			t.Errorf("%q is finished by %q, %v; want %q", c.typed, got, err, c.want)
		}
	}
}
