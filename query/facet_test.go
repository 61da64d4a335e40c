package query_test

import (
	"cmp"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/yorehq/yore/query"
	"github.com/yorehq/yore/session"
)

// said is one event of a corpus as the counting model knows it.
type said struct {
	agent        session.Agent
	cwd, id, typ string
	at           int64
	state        session.State
	text         string
}

// facetCorpus puts random sessions into memory and returns every event of them.
func facetCorpus(t *testing.T, r *rand.Rand) (*memory, []said) {
	t.Helper()
	m := newMemory(t)
	var all []said
	for i := range 14 {
		h := header(fmt.Sprintf("s%02d", i), []string{"/w/one", "/w/two", ""}[r.IntN(3)])
		h.Agent = []session.Agent{session.DSH, session.Claude, session.Codex}[r.IntN(3)]
		l, err := m.set.Register(t.Context(), h)
		if err != nil {
			t.Fatal(err)
		}
		first := len(all)
		for seq := range int64(1 + r.IntN(7)) {
			var words []string
			for range 1 + r.IntN(4) {
				words = append(words, []string{"retry", "budget", "walnut", "quota"}[r.IntN(4)])
			}
			e := said{agent: h.Agent, cwd: h.Cwd, id: string(h.ID), text: strings.Join(words, " "), state: session.LogOnly,
				at: time.Date(2026, 3, 1, 20, 0, 0, 0, time.UTC).UnixMilli() + int64(r.IntN(5))*3*3600*1000}
			raw := session.Raw{Native: []byte(`{}`), Event: session.Event{Seq: seq, Time: e.at,
				Body: session.Body{Speaker: session.Human, Blocks: []session.Block{{Text: e.text}}}}}
			switch r.IntN(4) {
			case 0:
				raw.Event.Type = session.ToolCall
			case 1: // takes out everything before
				var start, end int64 = -1, -1
				for i := first; i < len(all); i++ {
					if all[i].state == session.Current {
						if raw.Event.Sources = append(raw.Event.Sources, int64(i-first)); start < 0 {
							start = int64(i - first)
						}
						end = int64(i - first)
						all[i].state = session.Shadowed
					}
				}
				raw.Event.Type, raw.Event.Op, e.state = session.UserMessage, session.Op{Kind: session.OpAppend}, session.Current
				if start >= 0 {
					raw.Event.Op = session.Op{Kind: session.OpReplace, Start: start, End: end}
				}
			default:
				raw.Event.Type, raw.Event.Op, e.state = session.AssistantMessage, session.Op{Kind: session.OpAppend}, session.Current
			}
			e.typ = raw.Event.Type
			if err := l.Append(raw); err != nil {
				t.Fatal(err)
			}
			all = append(all, e)
		}
	}
	return m, all
}

// tally counts by looking at every event.
func tally(all []said, value func(said) string, holds func(said) bool) []query.Facet {
	docs, sessions := map[string]int{}, map[string]map[string]bool{}
	for _, e := range all {
		if !holds(e) {
			continue
		}
		v := value(e)
		docs[v]++
		if sessions[v] == nil {
			sessions[v] = map[string]bool{}
		}
		sessions[v][e.id] = true
	}
	var out []query.Facet
	for _, v := range slices.Sorted(maps.Keys(docs)) {
		out = append(out, query.Facet{Value: v, Documents: docs[v], Sessions: len(sessions[v])})
	}
	return out
}

// TestFacetsAgreeWithCountingByHand asks for facets of random corpora under
// random filters and counts the same by a scan over what was put in.
func TestFacetsAgreeWithCountingByHand(t *testing.T) {
	zone := time.FixedZone("east", 5*3600)
	day := func(e said) string { return time.UnixMilli(e.at).In(zone).Format(time.DateOnly) }
	counted := 0
	for seed := range uint64(30) {
		r := rand.New(rand.NewPCG(seed, 3))
		m, all := facetCorpus(t, r)
		e := engine(t, query.Config{Disk: m.Corpus})
		for range 8 {
			req := query.SessionSearch{Query: []string{"retry", "retry budget", "walnut"}[r.IntN(3)]}
			req.Sessions.Scope.Workspaces = []string{"/w/one", "/w/two", ""}[:1+r.IntN(3)]
			if r.IntN(2) == 0 {
				req.Sessions.Agents = []session.Agent{session.Claude, session.DSH}[:1+r.IntN(2)]
			}
			if r.IntN(2) == 0 {
				req.Events.Types = []string{session.AssistantMessage}
			}
			if r.IntN(2) == 0 {
				req.Events.States = []session.State{session.Current, session.LogOnly}[:1+r.IntN(2)]
			}
			if r.IntN(2) == 0 {
				from := time.Date(2026, 3, 2, 0, 0, 0, 0, zone).UnixMilli()
				req.Events.Time.From = &from
			}
			agent := func(s said) bool {
				return req.Sessions.Agents == nil || slices.Contains(req.Sessions.Agents, s.agent)
			}
			typ := func(s said) bool { return req.Events.Types == nil || slices.Contains(req.Events.Types, s.typ) }
			state := func(s said) bool { return req.Events.States == nil || slices.Contains(req.Events.States, s.state) }
			at := func(s said) bool { return req.Events.Time.Holds(s.at) }
			base := func(s said) bool {
				return spans(naive(s.text), naive(req.Query)) > 0 && slices.Contains(req.Sessions.Scope.Workspaces, s.cwd)
			}
			pass := func(tests ...func(said) bool) func(said) bool {
				return func(s said) bool {
					return !slices.ContainsFunc(append(tests, base), func(test func(said) bool) bool { return !test(s) })
				}
			}
			want := query.Facets{
				Agents:     tally(all, func(s said) string { return string(s.agent) }, pass(typ, state, at)),
				Workspaces: tally(all, func(s said) string { return s.cwd }, pass(agent, typ, state, at)),
				Types:      tally(all, func(s said) string { return s.typ }, pass(agent, state, at)),
				States:     tally(all, func(s said) string { return s.state.String() }, pass(agent, typ, at)),
				Days:       tally(all, day, pass(agent, typ, state)),
			}
			for _, f := range want.Workspaces {
				want.Documents += f.Documents
				want.Sessions += f.Sessions
			}
			for _, list := range [][]query.Facet{want.Agents, want.Workspaces, want.Types, want.States} {
				slices.SortStableFunc(list, func(a, b query.Facet) int { return cmp.Compare(b.Documents, a.Documents) })
			}
			got, err := e.Facets(t.Context(), req, zone)
			if err != nil {
				t.Fatal(err)
			}
			got.Coverage = session.Coverage{}
			if d := gocmp.Diff(want, got); d != "" {
				t.Fatalf("seed %d, %+v (-want +got):\n%s", seed, req, d)
			}
			counted += got.Documents
		}
	}
	if counted < 500 {
		t.Errorf("only %d events were counted", counted)
	}
}

// A fork's copies are counted once, as the search shows them once.
func TestFacetsCountInheritedEventsOnce(t *testing.T) {
	m := newMemory(t)
	m.put(header("origin", "/w"), "walnut", "other")
	fork := header("fork", "/w")
	fork.ParentSession, fork.SeedLength = "origin", 2
	m.put(fork, "walnut", "other", "walnut of its own")
	e := engine(t, query.Config{Disk: m.Corpus})
	req := query.SessionSearch{Query: "walnut", Sessions: workspaces("/w")}
	f, err := e.Facets(t.Context(), req, nil)
	if err != nil || f.Documents != 2 || f.Sessions != 2 || len(f.Days) != 1 || f.Days[0].Value != "1970-01-01" {
		t.Errorf("%+v, %v", f, err)
	}
	req.Inherited = true
	if f, err = e.Facets(t.Context(), req, nil); err != nil || f.Documents != 3 {
		t.Errorf("with inherited: %+v, %v", f, err)
	}
}

func TestReplacementsAreRuns(t *testing.T) {
	m := newMemory(t)
	l := m.put(header("s", "/w"), "a", "b", "c", "d")
	sum := session.Event{Seq: 4, Time: 9, Type: session.UserMessage, Sources: []int64{1, 2},
		Op:   session.Op{Kind: session.OpReplace, Start: 1, End: 2},
		Body: session.Body{Speaker: session.Summary, Blocks: []session.Block{{Text: "sum"}}}}
	if err := l.Append(session.Raw{Event: sum, Native: []byte(`{}`)}); err != nil {
		t.Fatal(err)
	}
	e := engine(t, query.Config{Disk: m.Corpus})
	found, err := e.Find(t.Context(), session.Key{Agent: session.DSH, ID: "s"}, nil)
	if err != nil || len(found) != 1 {
		t.Fatal(found, err)
	}
	info, runs, err := e.Replacements(t.Context(), found[0], false)
	if err != nil || info.Events != 5 || !slices.Equal(runs, []query.Shadow{{From: 1, To: 2, By: 4}}) {
		t.Errorf("%+v %v %v", info, runs, err)
	}
}
