package postgres_test

import (
	"fmt"
	"testing"

	"github.com/yorehq/yore/internal/ingest"
	"github.com/yorehq/yore/postgres"
	"github.com/yorehq/yore/postgres/postgrestest"
	"github.com/yorehq/yore/query"
	"github.com/yorehq/yore/session"
)

// TestWindow makes a workspace of 40 sessions with 10 documents each, one a second,
// all of which hold "often", and one in fifty "seldom". The budget is 20 candidates,
// the window 100 documents: the last ten sessions, from second 300 on.
func TestWindow(t *testing.T) {
	db := postgrestest.Open(t, postgres.Options{Budget: postgres.Budget{Candidates: 20, Window: 100}})
	tenant := db.Tenant("acme")
	err := tenant.Write(t.Context(), "/w", func(w ingest.Writer) error {
		for s := range 40 {
			st := ingest.Stored{Source: fmt.Sprint(s), Header: session.Header{Agent: session.DSH, ID: session.ID(fmt.Sprintf("s%02d", s)), Cwd: "/w"}, LastStep: -1}
			if err := w.Put(t.Context(), &st); err != nil {
				return err
			}
			var b ingest.Batch
			for n := range 10 {
				at := int64(s*10 + n)
				e := entry(int64(n), "often often")
				e.Time = at * 1000
				if at%50 == 0 {
					e.Text += " seldom"
				}
				b.Entries = append(b.Entries, e)
			}
			if err := w.Append(t.Context(), st.Num, &b); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	e, err := query.New(query.Config{Disk: query.Corpus{Store: tenant, Refresher: settled{}, Logs: tenant}})
	if err != nil {
		t.Fatal(err)
	}
	scope := query.SessionFilter{Scope: session.Scope{Workspaces: []string{"/w"}}}
	for round := range 2 { // the second time the word is known to be common
		for _, c := range []struct {
			query string
			order query.Order
			match query.Match
			hits  int
			since int64
		}{
			{"often", query.Matches, query.Literal, 10, 300_000},
			{"often", query.Relevance, query.Literal, 10, 300_000},
			{"often often", query.Relevance, query.Literal, 10, 300_000}, // matches may share a token: counted here
			{"seldom", query.Relevance, query.Auto, 8, 0},
			{"often seldom", query.Relevance, query.Literal, 8, 0},
			{"absent", query.Relevance, query.Auto, 0, 0},
			// Few hold the phrase; of its words one is common: of that the newest are counted.
			{"seldom often", query.Relevance, query.Auto, 10, 300_000},
		} {
			page, err := e.SearchSessions(t.Context(), query.SessionSearch{Query: c.query, Order: c.order, Match: c.match, Limit: 50, Sessions: scope})
			if err != nil {
				t.Fatal(err)
			}
			if len(page.Hits) != c.hits || page.Coverage.Since != c.since {
				t.Errorf("round %d, %q by %s: %d sessions since %d, want %d since %d", round, c.query, c.order, len(page.Hits), page.Coverage.Since, c.hits, c.since)
			}
			if c.since > 0 && c.match == query.Literal {
				for _, h := range page.Hits {
					if h.Best.Time < c.since {
						t.Errorf("%q: a hit of %d, before the window", c.query, h.Best.Time)
					}
				}
			}
		}
	}
	facets, err := e.Facets(t.Context(), query.SessionSearch{Query: "often", Sessions: scope}, nil)
	if err != nil || facets.Documents != 100 || facets.Coverage.Since != 300_000 {
		t.Errorf("facets of %d documents since %d, %v", facets.Documents, facets.Coverage.Since, err)
	}
	// Within a session everything counts, however old it is and however small the budget.
	events, err := e.SearchEvents(t.Context(), query.Located{Header: session.Header{Agent: session.DSH, ID: "s03", Cwd: "/w"}, Persisted: true},
		query.EventSearch{Target: query.Target{Workspace: "/w", Key: session.Key{Agent: session.DSH, ID: "s03"}}, Query: "often", Limit: 50})
	if err != nil || len(events.Hits) != 10 || events.Coverage.Since != 0 {
		t.Errorf("%d events of an old session since %d, %v", len(events.Hits), events.Coverage.Since, err)
	}
}
