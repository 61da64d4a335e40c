package team_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/yorehq/yore/fault"
	"github.com/yorehq/yore/internal/serve/servetest"
	"github.com/yorehq/yore/internal/team"
	"github.com/yorehq/yore/query"
	"github.com/yorehq/yore/session"
)

// A session of the team answers every question as the same session does where it
// lies: the server's JSON loses nothing that a page shows.
func TestSessionAnswersAsAGrant(t *testing.T) {
	s := servetest.New(t)
	s.Put("long", "app", "The quota \u2028 ledger", "first walnut", "second walnut", strings.Repeat("third walnut ", 400))
	s.Say("long", session.Event{
		Type: session.AssistantMessage, Op: session.Op{Kind: session.OpReplace, Start: 0, End: 1}, Sources: []int64{0, 1},
		Body: session.Body{Blocks: []session.Block{{Text: "a summary"}}},
	})
	s.Put("other", "lib", "", "nothing of this")
	h := s.History(time.Minute)
	ctx := t.Context()

	key := session.Key{Agent: session.DSH, ID: "long"}
	grants, err := s.View().Targets(ctx, key)
	if err != nil || len(grants) != 1 {
		t.Fatal(grants, err)
	}
	g := grants[0]
	key.ID = "team:long"
	far, err := h.Session(query.Target{Key: key, Workspace: "app"})
	if err != nil {
		t.Fatal(err)
	}
	// What differs on purpose: the id, that the sessions of a set in memory are live
	// where they are, and what only the store's own answers have.
	info := cmp.Transformer("info", func(i query.Info) query.Info {
		i.Header.ID = session.ID(strings.TrimPrefix(string(i.Header.ID), team.Prefix))
		i.Live, i.Persisted = false, true
		return i
	})
	once := cmp.FilterPath(func(p cmp.Path) bool {
		tr, ok := p.Index(-2).(cmp.Transform)
		return !ok || tr.Name() != "info"
	}, info)
	same := func(what string, want, got any, err, failed error, more ...cmp.Option) {
		t.Helper()
		if err != nil || failed != nil {
			t.Fatalf("%s: %v, %v", what, err, failed)
		}
		if d := cmp.Diff(want, got, append(more, once, cmpopts.EquateEmpty(), cmpopts.EquateComparable())...); d != "" {
			t.Errorf("%s (- as it is, + over the server):\n%s", what, d)
		}
	}
	for _, at := range [][3]int64{{0, 10, -1}, {1, 2, 5}, {3, 1, 400}, {0, 100, 0}, {9, 3, 5}} {
		want, err := g.Passages(ctx, at[0], at[1], int(at[2]))
		got, failed := far.Passages(ctx, at[0], at[1], int(at[2]))
		// The length of a text that is cut is not told, only that it goes on.
		points := cmp.FilterPath(func(p cmp.Path) bool { return p.Last().String() == ".Points" }, cmp.Comparer(func(a, b int32) bool {
			return a == b || b > 0 && a >= b
		}))
		same("passages", want, got, err, failed, points, cmpopts.IgnoreFields(query.PassageList{}, "Coverage"))
	}
	for seq := range int64(5) {
		want, err := g.OrdinalOf(ctx, seq)
		got, failed := far.OrdinalOf(ctx, seq)
		same("ordinal", want, got, err, failed)
		read, err := g.Read(ctx, seq, 0, 0)
		gotRead, failed := far.Read(ctx, seq, 0, 0)
		same("record", read, gotRead, err, failed, cmpopts.IgnoreFields(session.Raw{}, "Event"))
		trace, err := g.TraceEvent(ctx, seq)
		gotTrace, failed := far.TraceEvent(ctx, seq)
		same("relations", trace, gotTrace, err, failed, cmpopts.IgnoreFields(query.Entry{}, "Text"))
	}
	wantInfo, wantRuns, err := g.Replacements(ctx)
	gotInfo, gotRuns, failed := far.Replacements(ctx)
	same("who they are of", wantInfo, gotInfo, err, failed)
	same("replacements", wantRuns, gotRuns, err, failed)
	if len(gotRuns) != 1 || gotRuns[0] != (query.Shadow{From: 0, To: 1, By: 4}) {
		t.Errorf("replaced are %v, want #0 and #1 by #4", gotRuns)
	}
	lineage, err := g.Trace(ctx)
	gotLineage, failed := far.Trace(ctx)
	same("lineage", lineage, gotLineage, err, failed)
	hits, err := g.SearchEvents(ctx, query.EventSearch{Query: "walnut", Limit: 10})
	gotHits, failed := far.SearchEvents(ctx, query.EventSearch{Query: "walnut", Limit: 10})
	same("hits", hits.Hits, gotHits.Hits, err, failed)

	if _, err := far.OrdinalOf(ctx, 99); !errors.Is(err, fault.EventNotFound) {
		t.Errorf("an event that is not there: %v", err)
	}
	for _, target := range []query.Target{{Key: session.Key{Agent: session.DSH, ID: "team:none"}}, {Key: key, Workspace: "lib"}} {
		nobody, err := h.Session(target)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := nobody.Passages(ctx, 0, 1, 0); !errors.Is(err, fault.Unauthorized) {
			t.Errorf("%v: %v, want that it is not there", target, err)
		}
	}
	if _, err := h.Session(query.Target{Key: session.Key{ID: "long"}}); !errors.Is(err, fault.SessionNotFound) {
		t.Errorf("an id without the prefix: %v", err)
	}
}

// A search and a list name what the team has, narrowed as this machine's are.
func TestHistory(t *testing.T) {
	s := servetest.New(t)
	s.Put("a", "app", "Ledger", "the walnut ledger")
	s.Put("b", "lib", "", "a walnut")
	s.Put("c", "secret", "", "the walnut of others") // not the token's
	h := s.History(time.Minute)
	ctx := t.Context()
	ids := func(f team.Found, err error) (all []string) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		for _, i := range f.Sessions {
			all = append(all, string(i.Header.ID)+" in "+i.Header.Cwd)
		}
		for _, x := range f.Hits {
			all = append(all, string(x.Info.Header.ID)+" in "+x.Info.Header.Cwd+": "+x.Best.Snippet)
		}
		return all
	}
	in := func(w ...string) query.SessionFilter {
		return query.SessionFilter{Scope: session.Scope{All: w == nil, Workspaces: w}}
	}
	for _, c := range []struct {
		what string
		got  []string
		want []string
	}{
		{"all", ids(h.Search(ctx, query.SessionSearch{Query: "walnut ledger", Match: query.Literal, Sessions: in(), Limit: 5})), []string{"team:a in app: the walnut ledger"}},
		{"one of two", ids(h.Search(ctx, query.SessionSearch{Query: "walnut", Sessions: in("/w/lib"), Limit: 5})), []string{"team:b in lib: a walnut"}},
		{"one that is not the token's", ids(h.Search(ctx, query.SessionSearch{Query: "walnut", Sessions: in("/w/secret"), Limit: 5})), nil},
		{"a list", ids(h.List(ctx, in("/w/app", "/w/secret"), 5)), []string{"team:a in app"}},
	} {
		if d := cmp.Diff(c.want, c.got); d != "" {
			t.Errorf("%s: %s", c.what, d)
		}
	}
	if f, err := h.List(ctx, in(), 1); err != nil || len(f.Sessions) != 1 || !f.More {
		t.Errorf("one of two: %v, %v", f, err)
	}
	if _, err := h.Search(ctx, query.SessionSearch{Query: "walnut", Sessions: query.SessionFilter{Agents: []session.Agent{"dsh"}}}); !errors.Is(err, team.ErrFilter) {
		t.Errorf("a filter that the server does not have: %v", err)
	}

	// Every failure comes by the deadline, with a sentence.
	release := s.Hold()
	slow := s.History(50 * time.Millisecond)
	began := time.Now()
	if _, err := slow.List(ctx, in(), 1); !errors.Is(err, fault.Timeout) || !strings.Contains(err.Error(), "within 50ms") {
		t.Errorf("slow: %v", err)
	}
	if took := time.Since(began); took > 10*time.Second {
		t.Errorf("it took %s", took)
	}
	release()
	s.Fail(401)
	if _, err := h.List(ctx, in(), 1); err == nil || !strings.Contains(err.Error(), "refuses the token") {
		t.Errorf("refused: %v", err)
	}
	s.Close()
	if _, err := h.List(ctx, in(), 1); err == nil || !strings.Contains(err.Error(), "cannot be reached") {
		t.Errorf("gone: %v", err)
	}
}
