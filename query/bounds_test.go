package query_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/yorehq/yore/fault"
	"github.com/yorehq/yore/internal/document"
	"github.com/yorehq/yore/query"
	"github.com/yorehq/yore/session"
)

// counted is a store that counts how often a phrase is looked for.
type counted struct {
	query.Store
	matches *int
}

func (c counted) Snapshot(ctx context.Context, workspace string) (query.Snapshot, error) {
	s, err := c.Store.Snapshot(ctx, workspace)
	if s == nil || err != nil {
		return nil, err
	}
	return countedSnapshot{s, c.matches}, nil
}

type countedSnapshot struct {
	query.Snapshot
	matches *int
}

func (c countedSnapshot) Match(ctx context.Context, phrase []string, within []query.Span, least *query.Least, found func(*query.Run) error) error {
	*c.matches++
	return c.Snapshot.Match(ctx, phrase, within, least, found)
}

// A pasted text costs a few phrases however long it is, and is found exactly.
func TestLongQueries(t *testing.T) {
	m := newMemory(t)
	words := make([]string, 6000)
	for i := range words {
		words[i] = fmt.Sprintf("w%d", i%97*i%89)
	}
	whole := strings.Join(words, " ")
	changed := slices.Clone(words)
	changed[3000] = "other"
	m.put(header("whole", "/w"), whole)
	m.put(header("twice", "/w"), whole+" and "+whole)
	m.put(header("changed", "/w"), strings.Join(changed, " "))
	m.put(header("begun", "/w"), strings.Join(words[:200], " "))
	for i := range 300 { // more than are few
		m.put(header(fmt.Sprintf("frame%03d", i), "/w"), strings.Join(words[:70], " ")+" "+strings.Join(words[5900:], " "))
	}
	matches := 0
	corpus := m.Corpus
	corpus.Store = counted{m.Corpus.Store, &matches}
	e := engine(t, query.Config{Disk: corpus})
	for _, tc := range []struct {
		from, to int
		want     []string
	}{
		{0, 6000, []string{"twice", "whole"}},
		{0, 2000, []string{"changed", "twice", "whole"}},
		{4000, 6000, []string{"changed", "twice", "whole"}},
		{0, 129, []string{"begun", "changed", "twice", "whole"}},
		{1000, 1065, []string{"changed", "twice", "whole"}},
	} {
		matches = 0
		page, err := e.SearchSessions(t.Context(), query.SessionSearch{
			Query: strings.Join(words[tc.from:tc.to], " "), Match: query.Literal, Order: query.Matches, Sessions: workspaces("/w"), Limit: 20,
		})
		if err != nil {
			t.Fatal(err)
		}
		got := ids(page)
		slices.Sort(got)
		if diff := gocmp.Diff(tc.want, got); diff != "" || matches > 4 {
			t.Errorf("words %d to %d: %d phrases\n%s", tc.from, tc.to, matches, diff)
		}
		for _, h := range page.Hits {
			if want := map[bool]int{true: 2, false: 1}[h.Info.Header.ID == "twice"]; h.Best.Count != want {
				t.Errorf("words %d to %d: %d spans in %s, want %d", tc.from, tc.to, h.Best.Count, h.Info.Header.ID, want)
			}
		}
	}
}

func TestTheLongestQuery(t *testing.T) {
	m := newMemory(t)
	m.put(header("s", "/w"), "anything")
	e := engine(t, query.Config{Disk: m.Corpus})
	at := locate(t, e, "s")
	for n, refused := range map[int]bool{query.MaxQuery: false, query.MaxQuery + 1: true} {
		text := strings.Repeat("é", n/2) + strings.Repeat("x", n%2)
		_, sessions := e.SearchSessions(t.Context(), query.SessionSearch{Query: text, Sessions: workspaces("/w"), Limit: 1})
		_, events := e.SearchEvents(t.Context(), at, query.EventSearch{Query: text, Limit: 1})
		_, list := e.Sessions(t.Context(), query.SessionFilter{Scope: session.Scope{Workspaces: []string{"/w"}}, Text: text}, 1, "")
		_, entries := e.Events(t.Context(), at, false, query.EventFilter{Text: text}, 1, "")
		for what, err := range map[string]error{"sessions": sessions, "events": events, "list": list, "entries": entries} {
			if errors.Is(err, fault.InvalidQuery) != refused || !refused && err != nil {
				t.Errorf("%s, %d bytes: %v", what, n, err)
			}
			if refused && !strings.Contains(fault.SafeText(err), "65536") {
				t.Errorf("%s: %q does not say the limit", what, fault.SafeText(err))
			}
		}
	}
}

func locate(t *testing.T, e *query.Engine, id session.ID) query.Located {
	t.Helper()
	found, err := e.Find(t.Context(), session.Key{ID: id}, nil)
	if err != nil || len(found) != 1 {
		t.Fatalf("%s: found %v, %v", id, found, err)
	}
	return found[0]
}

// A cursor belongs to what is asked, not to how it is spelled.
func TestCursorsOfTheSameRequest(t *testing.T) {
	m := newMemory(t)
	for i := range 4 {
		m.put(header(fmt.Sprint("s", i), "/w"), "the same words", "the same words")
	}
	e := engine(t, query.Config{Disk: m.Corpus})
	key := func(id string) session.Key { return session.Key{Agent: session.DSH, ID: session.ID(id)} }
	target := func(id string) query.Target { return query.Target{Key: key(id), Workspace: "/w"} }
	filter := func(swap bool) (query.SessionFilter, query.EventFilter) {
		f := query.SessionFilter{
			Scope: session.Scope{Workspaces: []string{"/v", "/w"}}, IDs: []string{"s0", "s1", "s2"}, Agents: []session.Agent{session.Claude, session.DSH},
			Parents: []session.Key{key("a"), key("b")}, Roots: true, Availability: []query.Availability{query.Live, query.Persisted},
			Exclude: []query.Target{target("x"), target("y")},
		}
		g := query.EventFilter{Types: []string{session.ToolCall, session.UserMessage}, States: []session.State{session.Current, session.Shadowed}}
		if swap {
			f = query.SessionFilter{
				Scope: session.Scope{Workspaces: []string{"/w", "/v", "/w"}}, IDs: []string{"s2", "s1", "s2", "s0"}, Agents: []session.Agent{session.DSH, session.Claude},
				Parents: []session.Key{key("b"), key("a"), key("a")}, Roots: true, Availability: []query.Availability{query.Persisted, query.Live, query.Live},
				Exclude: []query.Target{target("y"), target("x")},
			}
			g = query.EventFilter{Types: []string{session.UserMessage, session.ToolCall, session.UserMessage}, States: []session.State{session.Shadowed, session.Current}}
		}
		return f, g
	}
	f, g := filter(false)
	f2, g2 := filter(true)
	first, err := e.SearchSessions(t.Context(), query.SessionSearch{Query: "same words", Sessions: f, Events: g, Limit: 1})
	if err != nil || first.Next == "" {
		t.Fatalf("%+v, %v", first, err)
	}
	again := query.SessionSearch{Query: " same\t words\n", Match: query.Auto, Order: query.Relevance, Sessions: f2, Events: g2, Limit: 1, Cursor: first.Next}
	second, err := e.SearchSessions(t.Context(), again)
	if err != nil || len(second.Hits) != 1 || second.Hits[0].Info.Header.ID == first.Hits[0].Info.Header.ID {
		t.Errorf("sessions: %v, %v", ids(second), err)
	}
	again.Sessions.IDs = again.Sessions.IDs[:2]
	if _, err := e.SearchSessions(t.Context(), again); !errors.Is(err, fault.InvalidCursor) {
		t.Errorf("a cursor of other ids: %v", err)
	}
	at := locate(t, e, "s0")
	hits, err := e.SearchEvents(t.Context(), at, query.EventSearch{Query: "same words", Events: g, Limit: 1})
	if err != nil || hits.Next == "" {
		t.Fatal(hits, err)
	}
	if more, err := e.SearchEvents(t.Context(), at, query.EventSearch{Query: "same  words ", Events: g2, Limit: 1, Cursor: hits.Next}); err != nil || len(more.Hits) != 1 {
		t.Errorf("events: %v, %v", more, err)
	}
	f.Text, f2.Text, g.Text, g2.Text = "same words", " same  words", "same words", "same \n words "
	list, err := e.Sessions(t.Context(), f, 1, "")
	if err != nil || list.Next == "" {
		t.Fatal(list, err)
	}
	if more, err := e.Sessions(t.Context(), f2, 1, list.Next); err != nil || len(more.Sessions) != 1 {
		t.Errorf("list: %v, %v", more, err)
	}
	entries, err := e.Events(t.Context(), at, false, g, 1, "")
	if err != nil || entries.Next == "" {
		t.Fatal(entries, err)
	}
	if more, err := e.Events(t.Context(), at, false, g2, 1, entries.Next); err != nil || len(more.Entries) != 1 || more.Entries[0].Seq != 1 {
		t.Errorf("entries: %v, %v", more, err)
	}
}

// What could be searched in part only is said even where nothing is found, of
// the sessions that were searched.
func TestClippedTextsAreCounted(t *testing.T) {
	m := newMemory(t)
	m.put(header("long", "/w"), strings.Repeat("x ", document.MaxText/2)+"needle", "short")
	m.put(header("short", "/w"), "short")
	e := engine(t, query.Config{Disk: m.Corpus})
	req := query.SessionSearch{Query: "needle", Sessions: workspaces("/w"), Limit: 5}
	search := func() (int, int) {
		t.Helper()
		page, err := e.SearchSessions(t.Context(), req)
		if err != nil {
			t.Fatal(err)
		}
		return len(page.Hits), page.Coverage.Clipped
	}
	if hits, clipped := search(); hits != 0 || clipped != 1 {
		t.Errorf("%d hits, %d clipped; want 0 and 1", hits, clipped)
	}
	req.Sessions.IDs = []string{"short"}
	if _, clipped := search(); clipped != 0 {
		t.Errorf("%d clipped in a session that is not long", clipped)
	}
	for id, want := range map[session.ID]int{"long": 1, "short": 0} {
		at := locate(t, e, id)
		page, err := e.SearchEvents(t.Context(), at, query.EventSearch{Query: "needle", Limit: 5})
		if err != nil || page.Coverage.Clipped != want {
			t.Errorf("%s: %+v, %v", id, page.Coverage, err)
		}
		list, err := e.Events(t.Context(), at, false, query.EventFilter{Text: "needle"}, 5, "")
		if err != nil || list.Clipped != want {
			t.Errorf("%s: %d clipped in the list, %v", id, list.Clipped, err)
		}
	}
	for text, want := range map[string]int{"": 0, "needle": 1} {
		f := workspaces("/w")
		f.Text = text
		list, err := e.Sessions(t.Context(), f, 5, "")
		if err != nil || list.Coverage.Clipped != want {
			t.Errorf("text %q: %+v, %v", text, list.Coverage, err)
		}
	}
}

// A live session that the stored one contradicts is left out, and counted once.
func TestContestedLiveSessionsAreCounted(t *testing.T) {
	for name, tc := range map[string]struct {
		stored func(*session.Header)
		want   int
	}{
		"same header":  {func(*session.Header) {}, 0},
		"other header": {func(h *session.Header) { h.CreatedAt++ }, 1},
		"other place":  {func(h *session.Header) { h.CreatedAt++; h.Cwd = "/elsewhere" }, 0},
	} {
		live, disk := newMemory(t), newMemory(t)
		live.put(header("s", "/w"), "a needle")
		h := header("s", "/w")
		tc.stored(&h)
		disk.put(h, "a needle")
		e := engine(t, query.Config{Disk: disk.Corpus, Live: live.Corpus})
		req := query.SessionSearch{Query: "needle", Sessions: workspaces("/w"), Limit: 5}
		page, err := e.SearchSessions(t.Context(), req)
		if err != nil || page.Coverage.Unreadable != tc.want || len(page.Hits) != 1-tc.want {
			t.Errorf("%s: %v, %+v, %v", name, ids(page), page.Coverage, err)
		}
		list, err := e.Sessions(t.Context(), req.Sessions, 5, "")
		if err != nil || list.Coverage.Unreadable != tc.want || len(list.Sessions) != 1-tc.want {
			t.Errorf("%s: list %+v, %v", name, list, err)
		}
		// The caller's own session is none that could have been found.
		req.Sessions.Exclude = []query.Target{{Key: h.Key(), Workspace: "/w"}}
		if page, err = e.SearchSessions(t.Context(), req); err != nil || page.Coverage.Unreadable != 0 {
			t.Errorf("%s, excluded: %+v, %v", name, page.Coverage, err)
		}
	}
}

// refreshes counts how often a corpus is brought up to date.
type refreshes struct {
	query.Refresher
	n *int
}

func (r refreshes) Refresh(ctx context.Context, scope session.Scope, progress func(done, total int)) (session.Coverage, error) {
	*r.n++
	return r.Refresher.Refresh(ctx, scope, progress)
}

func TestManyIDs(t *testing.T) {
	m := newMemory(t)
	m.put(header("s1", "/w"), "a needle")
	m.put(header("s2", "/w"), "a needle")
	other := header("s2", "/w")
	other.Agent = session.Claude
	m.put(other, "a needle")
	m.put(header("dsh:s1", "/w"), "a needle")
	n := 0
	corpus := m.Corpus
	corpus.Refresher = refreshes{m.Refresher, &n}
	e := engine(t, query.Config{Disk: corpus})

	list := make([]session.ID, 0, 3000)
	for i := range 3000 {
		list = append(list, session.ID(fmt.Sprint("s", i)))
	}
	found, err := e.FindAll(t.Context(), append(list, list...), nil)
	if err != nil || len(found) != 3 || n != 1 {
		t.Errorf("%d sessions found after %d refreshes, %v; want 3 after 1", len(found), n, err)
	}
	for _, tc := range []struct {
		ids  []string
		want []string
		fail bool
	}{
		{[]string{"s1"}, []string{"s1"}, false},
		{[]string{"nobody", "s1", "s1"}, []string{"s1"}, false},
		{[]string{"claude-code:s2"}, []string{"s2"}, false},
		{[]string{"nobody"}, nil, false},
		{[]string{"s1", "s2"}, nil, true}, // two agents
		{[]string{"dsh:s1"}, nil, true},   // an id of its own, and agent:id of another
		{[]string{"dsh:dsh:s1"}, []string{"dsh:s1"}, false},
	} {
		f := workspaces("/w")
		f.IDs = tc.ids
		page, err := e.SearchSessions(t.Context(), query.SessionSearch{Query: "needle", Sessions: f, Limit: 5})
		if errors.Is(err, fault.InvalidFilter) != tc.fail || !tc.fail && err != nil {
			t.Errorf("%q: %v", tc.ids, err)
		}
		if diff := gocmp.Diff(tc.want, ids(page)); diff != "" && len(tc.want)+len(page.Hits) > 0 {
			t.Errorf("%q: %s", tc.ids, diff)
		}
	}
}

// The literal filter of a list: white space is flexible, everything else counts.
func TestTextOfLists(t *testing.T) {
	m := newMemory(t)
	m.put(header("s", "/w"), "exit\u3000status\n\t 1: Done.", "plain", strings.Repeat("a b ", 50_000))
	e := engine(t, query.Config{Disk: m.Corpus})
	at := locate(t, e, "s")
	for text, want := range map[string][]int64{
		"exit status 1":               {0},
		"\n exit  status\u00a01: D ":  {0},
		"Exit status":                 nil,
		"exitstatus":                  nil,
		"status 1:Done":               nil,
		".":                           {0},
		"lain":                        {1},
		"plain .*":                    nil,
		strings.Repeat("a b ", 16000): {2}, // looked for in time that grows with the text alone
	} {
		list, err := e.Events(t.Context(), at, false, query.EventFilter{Text: text}, 10, "")
		if err != nil {
			t.Fatal(err)
		}
		var got []int64
		for _, entry := range list.Entries {
			got = append(got, entry.Seq)
		}
		if diff := gocmp.Diff(want, got); diff != "" {
			t.Errorf("%.20q: %s", text, diff)
		}
		f := workspaces("/w")
		f.Text = text
		if sessions, err := e.Sessions(t.Context(), f, 10, ""); err != nil || (len(sessions.Sessions) == 1) != (want != nil) {
			t.Errorf("%.20q: %d sessions, %v", text, len(sessions.Sessions), err)
		}
	}
}
