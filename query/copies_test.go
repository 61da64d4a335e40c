package query_test

import (
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/yorehq/yore/query"
	"github.com/yorehq/yore/session"
)

// sayAs appends events that carry their records' own ids.
func (m *memory) sayAs(l interface {
	Append(...session.Raw) error
	Len() int64
}, records ...[2]string) {
	m.t.Helper()
	for _, r := range records {
		seq := l.Len()
		e := session.Event{
			Seq: seq, Time: 1000 + seq, Type: session.UserMessage, Op: session.Op{Kind: session.OpAppend}, NativeID: r[0],
			Body: session.Body{Speaker: session.Human, Blocks: []session.Block{{Text: r[1]}}},
		}
		if err := l.Append(session.Raw{Event: e, Native: []byte(`{}`)}); err != nil {
			m.t.Fatal(err)
		}
	}
}

// TestCopiesAreRecognisedByTheRecordsOwnIds has forks whose numbers are not
// their parent's: notes stand before the copies.
func TestCopiesAreRecognisedByTheRecordsOwnIds(t *testing.T) {
	m := newMemory(t)
	origin := m.put(header("origin", "/w"))
	m.sayAs(origin, [2]string{"r0", "the first walnut"}, [2]string{"r1", "a second walnut"}, [2]string{"r2", "pelican after the fork"})
	h := header("fork", "/w")
	h.ParentSession, h.SeedLength = "origin", 4
	fork := m.put(h)
	m.sayAs(fork, [2]string{"", "a note"}, [2]string{"", "another note"}, [2]string{"r0", "the first walnut"}, [2]string{"r1", "a second walnut"}, [2]string{"f2", "walnut of the fork"})
	e := engine(t, query.Config{Disk: m.Corpus})
	for q, want := range map[string][]string{
		"second walnut": {"origin forks:1"},
		"pelican":       {"origin forks:0"},
		"note":          {"fork forks:0"},
	} {
		page, err := e.SearchSessions(t.Context(), query.SessionSearch{Query: q, Match: query.Literal, Sessions: workspaces("/w"), Limit: 10})
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, hit := range page.Hits {
			got = append(got, string(hit.Info.Header.ID)+" forks:"+string(rune('0'+len(hit.Forks))))
		}
		if diff := gocmp.Diff(want, got); diff != "" {
			t.Errorf("%q: %s", q, diff)
		}
	}
	page, err := e.SearchSessions(t.Context(), query.SessionSearch{Query: "walnut", Match: query.Literal, Sessions: workspaces("/w"), Limit: 10})
	if err != nil || len(page.Hits) != 2 {
		t.Fatal(page.Hits, err)
	}
	for _, hit := range page.Hits {
		if hit.Info.Header.ID == "fork" && hit.Best.Snippet != "walnut of the fork" {
			t.Errorf("the fork shows an inherited event: %+v", hit.Best)
		}
	}
}
