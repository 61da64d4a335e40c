package query_test

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/yorehq/yore/internal/document"
	"github.com/yorehq/yore/internal/ingest"
	"github.com/yorehq/yore/internal/storetest"
	"github.com/yorehq/yore/postgres"
	"github.com/yorehq/yore/postgres/postgrestest"
	"github.com/yorehq/yore/query"
	"github.com/yorehq/yore/session"
	"github.com/yorehq/yore/sqlite"
)

// The other ranking: everything that docs/search.md promises of a search, done
// over plain texts with loops and a sort. It shares no line with the engine but
// for the division of a text into tokens.

// fact is a document of the other ranking.
type fact struct {
	seq, time int64
	kind      string
	weight    float64
	tokens    []string
	points    int
	shadowed  bool
	surface   bool
	closing   bool
	native    uint64
}

// history is a session of the other ranking.
type history struct {
	h     session.Header
	num   int64
	facts []fact
}

// hit is a document of an answer.
type answer struct {
	ID      string
	Seq     int64
	Score   int64
	Count   int
	Partial bool
	Forks   string
}

// ranking is one question to the other ranking.
type ranking struct {
	all       []*history // everything in scope
	phrase    []string
	order     query.Order
	auto      bool
	session   func(*history) bool
	event     func(*fact) bool
	only      *history // a search within it
	inherited bool     // inherited hits are shown beside their origin's
}

// candidate is a document that matched.
type candidate struct {
	of    *history
	at    *fact
	score int64
	count int
	forks map[string]bool
}

func occurrences(doc, phrase []string) (count int) {
	end := 0
	for at := 0; at+len(phrase) <= len(doc); at++ {
		if slices.Equal(doc[at:at+len(phrase)], phrase) {
			if at >= end {
				count++
			}
			end = at + len(phrase)
		}
	}
	return count
}

func idf(n, df float64) float64 { return math.Log(1 + (n-df+0.5)/(df+0.5)) }

func saturation(tf, length, mean float64) float64 {
	return tf * (1.2 + 1) / (tf + 1.2*(1-0.75+0.75*length/mean))
}

func better(a, b *candidate) int {
	return cmp.Or(cmp.Compare(b.score, a.score), cmp.Compare(a.at.points, b.at.points), cmp.Compare(b.at.time, a.at.time),
		strings.Compare(string(a.of.h.ID), string(b.of.h.ID)), cmp.Compare(b.at.seq, a.at.seq))
}

// statistics are over everything in scope, whatever is filtered.
func (r *ranking) statistics() (n, mean float64) {
	tokens := 0.0
	for _, h := range r.all {
		for i := range h.facts {
			if l := len(h.facts[i].tokens); l > 0 {
				n, tokens = n+1, tokens+float64(l)
			}
		}
	}
	return n, tokens / n
}

// holding scores, in documents that pass, each of some terms and adds them up.
func (r *ranking) holding(terms [][]string) (found []*candidate) {
	n, mean := r.statistics()
	sums := map[*fact]float64{}
	counts := map[*fact]int{}
	for _, term := range terms {
		df := 0.0
		for _, h := range r.all {
			if len(terms) == 1 && r.only != nil && h != r.only {
				continue // of one phrase in one session, it scales all scores alike
			}
			for i := range h.facts {
				if occurrences(h.facts[i].tokens, term) > 0 {
					df++
				}
			}
		}
		for _, h := range r.all {
			for i := range h.facts {
				f := &h.facts[i]
				if tf := occurrences(f.tokens, term); tf > 0 {
					sums[f] += idf(n, df) * saturation(float64(tf), float64(len(f.tokens)), mean)
					counts[f] += tf
				}
			}
		}
	}
	for _, h := range r.all {
		if r.only != nil && h != r.only || r.only == nil && !r.session(h) {
			continue
		}
		for i := range h.facts {
			f := &h.facts[i]
			if counts[f] == 0 || !r.event(f) {
				continue
			}
			c := &candidate{of: h, at: f, count: counts[f], score: int64(math.Round(sums[f] * f.weight * 1e6)), forks: map[string]bool{}}
			if len(terms) == 1 && r.order == query.Matches {
				c.score = int64(counts[f])
			}
			found = append(found, c)
		}
	}
	return found
}

// shown drops inherited candidates whose origin is among the candidates, and
// names the forks at the origin.
func (r *ranking) shown(found []*candidate) (out []*candidate) {
	if r.inherited || r.only != nil {
		return found
	}
	same := func(a, b *fact) bool {
		if a.native != 0 || b.native != 0 {
			return a.native == b.native
		}
		return a.seq == b.seq
	}
	for _, c := range found {
		var origin *candidate
		at := c.of
		for c.at.seq < c.of.h.SeedLength && at != nil && (c.at.native != 0 || c.at.seq < at.h.SeedLength) {
			parent := at.h.ParentSession
			i := slices.IndexFunc(r.all, func(h *history) bool { return h.h.ID == parent })
			if at = nil; i < 0 {
				break
			}
			at = r.all[i]
			for _, other := range found {
				if other.of == at && same(other.at, c.at) {
					origin = other
				}
			}
		}
		if origin == nil {
			out = append(out, c)
		} else {
			origin.forks[string(c.of.h.ID)] = true
		}
	}
	return out
}

func (r *ranking) best(found []*candidate, skip map[*history]bool) (out []*candidate) {
	slices.SortFunc(found, better)
	seen := map[*history]bool{}
	for _, c := range found {
		if r.only == nil && (seen[c.of] || skip[c.of]) {
			continue
		}
		seen[c.of] = true
		out = append(out, c)
	}
	return out
}

func (r *ranking) answer() (out []answer) {
	say := func(c *candidate, partial bool) {
		forks := []string{}
		for id := range c.forks {
			forks = append(forks, id)
		}
		slices.Sort(forks)
		a := answer{string(c.of.h.ID), c.at.seq, c.score, c.count, partial, strings.Join(forks, " ")}
		if r.order == query.Matches {
			a.Score = 0
		}
		out = append(out, a)
	}
	if len(r.phrase) == 0 {
		return nil
	}
	literal := r.best(r.shown(r.holding([][]string{r.phrase})), nil)
	skip, told := map[*history]bool{}, map[*fact]bool{}
	for _, c := range literal {
		skip[c.of], told[c.at] = true, true
		say(c, false)
	}
	const fill = 10
	terms := slices.Compact(slices.Sorted(slices.Values(r.phrase)))
	if !r.auto || len(literal) >= fill || len(terms) < 2 {
		return out
	}
	var each [][]string
	for _, term := range terms[:min(64, len(terms))] {
		each = append(each, []string{term})
	}
	// Rarest first, as scores are added up: sums of numbers depend on their order.
	df := func(term []string) (n int) {
		for _, h := range r.all {
			for i := range h.facts {
				if slices.Contains(h.facts[i].tokens, term[0]) {
					n++
				}
			}
		}
		return n
	}
	slices.SortStableFunc(each, func(a, b []string) int { return cmp.Compare(df(a), df(b)) })
	partial := r.best(r.shown(r.holding(each)), skip)
	partial = slices.DeleteFunc(partial, func(c *candidate) bool { return told[c.at] })
	for _, c := range partial[:min(len(partial), fill-len(literal))] {
		say(c, true)
	}
	return out
}

// same keeps everything as it is: the store is filled by hand.
type unchanging struct{}

func (unchanging) Refresh(context.Context, session.Scope, func(done, total int)) (session.Coverage, error) {
	return session.Coverage{}, nil
}

// scribe fills a store and the other ranking alike.
type scribe struct {
	t      *testing.T
	random *rand.Rand
	index  storetest.Store
	places []string
	all    map[string][]*history // by workspace
	made   int
	types  []string
}

var oracleWords = strings.Fields("retry retry retry budget budget quota ledger a a a b 数 据 数据库 foo_bar Ünïcode x1 x2 x3 x4")

func (s *scribe) text() string {
	var words []string
	n := 1 + s.random.IntN(6)
	if s.random.IntN(25) == 0 {
		n = 80
	}
	for range n {
		words = append(words, oracleWords[s.random.IntN(len(oracleWords))])
	}
	return strings.Join(words, []string{" ", " ", "-"}[s.random.IntN(3)])
}

func (s *scribe) write(place string, work func(tx ingest.Writer) error) {
	s.t.Helper()
	if err := s.index.Write(s.t.Context(), place, work); err != nil {
		s.t.Fatal(err)
	}
}

var speakers = []struct {
	who    session.Speaker
	weight float64
}{{session.Human, 1.5}, {session.Assistant, 1.3}, {session.Tool, 0.8}, {session.Action, 1}, {session.Injected, 0.5}, {session.Summary, 0.5}}

// add appends random documents to a session, some of which are never on the
// surface, some taken off it.
func (s *scribe) add(place string, h *history, from []fact, texts []string, n int) {
	s.t.Helper()
	next := int64(0)
	if len(h.facts) > 0 {
		next = h.facts[len(h.facts)-1].seq + 1
	}
	var b ingest.Batch
	say := func(f fact, who session.Speaker, text string) {
		f.tokens, f.points = document.Terms(text), document.Points(text)
		h.facts = append(h.facts, f)
		b.Entries = append(b.Entries, ingest.Entry{
			Seq: f.seq, Time: f.time, Type: f.kind, Speaker: who, First: f.weight == 2.2, Text: text, Surface: f.surface, Order: f.seq << 20,
			Native: f.native, Provisional: f.closing,
		})
		next = f.seq + 1
	}
	for i, f := range from { // copies of a parent's events
		who := session.Human
		for _, sp := range speakers {
			if sp.weight == f.weight {
				who = sp.who
			}
		}
		say(f, who, texts[i])
	}
	for range n {
		sp := speakers[s.random.IntN(len(speakers))]
		f := fact{
			seq: next + int64(s.random.IntN(2)), time: 1000 + int64(s.random.IntN(6)), kind: s.types[s.random.IntN(len(s.types))], weight: sp.weight,
			surface: s.random.IntN(4) > 0,
		}
		if s.random.IntN(3) == 0 {
			f.native = s.random.Uint64() | 1
		}
		if f.weight == 1.5 && s.random.IntN(3) == 0 {
			f.weight = 2.2
		}
		say(f, sp.who, s.text())
	}
	// The last event takes some of the others off the surface.
	if last := &h.facts[max(0, len(h.facts)-1)]; n > 2 && last.surface && s.random.IntN(2) == 0 {
		var seqs []int64
		for i := len(h.facts) - n; i < len(h.facts)-1; i++ {
			if f := &h.facts[i]; f.surface && s.random.IntN(2) == 0 {
				f.shadowed = true
				seqs = append(seqs, f.seq)
			}
		}
		if len(seqs) > 0 {
			b.Removals = []ingest.Removal{{By: last.seq, Seqs: seqs}}
		}
	}
	s.write(place, func(tx ingest.Writer) error { return tx.Append(s.t.Context(), h.num, &b) })
}

func (s *scribe) begin(place string) {
	s.t.Helper()
	h := &history{h: session.Header{
		Agent: []session.Agent{session.DSH, session.Claude}[s.random.IntN(2)], ID: session.ID(fmt.Sprintf("s%03d", (s.made*37)%1000)), Cwd: place, CreatedAt: int64(100 + s.made),
	}}
	s.made++
	var from []fact
	var texts []string
	if there := s.all[place]; len(there) > 0 && s.random.IntN(4) == 0 {
		p := there[s.random.IntN(len(there))]
		if n := s.random.IntN(len(p.facts) + 1); n > 0 {
			h.h.Agent, h.h.ParentSession, h.h.SeedLength = p.h.Agent, p.h.ID, p.facts[n-1].seq+1
			for _, f := range p.facts[:n] {
				f.shadowed, f.closing = false, false
				from, texts = append(from, f), append(texts, strings.Join(f.tokens, " "))
			}
		}
	}
	st := ingest.Stored{Source: "/logs/" + string(h.h.ID), Header: h.h, LastStep: -1}
	s.write(place, func(tx ingest.Writer) error { return tx.Put(s.t.Context(), &st) })
	h.num = st.Num
	s.all[place] = append(s.all[place], h)
	s.add(place, h, from, texts, 1+s.random.IntN(7))
}

// change does one random thing to a store.
func (s *scribe) change() {
	s.t.Helper()
	place := s.places[s.random.IntN(len(s.places))]
	there := s.all[place]
	act := s.random.IntN(12)
	if len(there) < 4 || act < 5 {
		s.begin(place)
		return
	}
	i := s.random.IntN(len(there))
	h := there[i]
	switch {
	case act < 9:
		s.add(place, h, nil, nil, 1+s.random.IntN(5))
	case act < 10:
		s.write(place, func(tx ingest.Writer) error { return tx.Clear(s.t.Context(), h.num) })
		h.facts = nil
		s.add(place, h, nil, nil, 1+s.random.IntN(5))
	case act < 11:
		s.write(place, func(tx ingest.Writer) error { return tx.Delete(s.t.Context(), h.num) })
		s.all[place] = slices.Delete(there, i, i+1)
	default:
		if _, err := s.index.Purge(s.t.Context(), place); err != nil {
			s.t.Fatal(err)
		}
	}
}

func bounds(r *rand.Rand, low, high int) (out query.Range) {
	if r.IntN(3) > 0 {
		return out
	}
	from, to := int64(low+r.IntN(high-low)), int64(low+r.IntN(high-low))
	if r.IntN(3) > 0 {
		from = min(from, to)
	}
	if out.From = &from; r.IntN(2) == 0 {
		out.To = &to
	}
	return out
}

func (s *scribe) query() string {
	r := s.random
	if r.IntN(12) == 0 { // what a long text says, or nearly
		for _, place := range s.places {
			for _, h := range s.all[place] {
				for _, f := range h.facts {
					if len(f.tokens) >= 75 && r.IntN(2) == 0 {
						words := slices.Clone(f.tokens[r.IntN(8):])
						if r.IntN(3) == 0 {
							words[r.IntN(len(words))] = "other"
						}
						return strings.Join(words, " ")
					}
				}
			}
		}
	}
	words := []string{oracleWords[r.IntN(len(oracleWords))]}
	for range r.IntN(4) {
		words = append(words, oracleWords[r.IntN(len(oracleWords))])
	}
	return strings.Join(words, " ")
}

func (s *scribe) filter() (query.EventFilter, func(*fact) bool) {
	r := s.random
	f := query.EventFilter{Seq: bounds(r, 0, 12), Time: bounds(r, 1000, 1006)}
	if r.IntN(4) == 0 {
		f.Types = s.types[:1+r.IntN(2)]
	}
	if r.IntN(4) == 0 {
		f.States = []session.State{[]session.State{session.Current, session.Shadowed, session.LogOnly}[r.IntN(3)]}
	}
	inside := func(b query.Range, v int64) bool {
		return (b.From == nil || *b.From <= v) && (b.To == nil || v <= *b.To)
	}
	return f, func(d *fact) bool {
		state := session.LogOnly
		if d.surface {
			if state = session.Current; d.shadowed {
				state = session.Shadowed
			}
		}
		return inside(f.Seq, d.seq) && inside(f.Time, d.time) && (f.Types == nil || slices.Contains(f.Types, d.kind)) && (f.States == nil || slices.Contains(f.States, state))
	}
}

// TestEveryAnswerAgreesWithTheOtherRanking asks thousands of random questions of
// stores that change.
func TestEveryAnswerAgreesWithTheOtherRanking(t *testing.T) {
	agree(t, 12, func() storetest.Store {
		index, err := sqlite.OpenMemory(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { index.Close() })
		return index
	})
}

// TestEveryAnswerOfPostgreSQLAgreesToo asks the same questions of the other store.
func TestEveryAnswerOfPostgreSQLAgreesToo(t *testing.T) {
	db, n := postgrestest.Open(t, postgres.Options{}), 0
	agree(t, 3, func() storetest.Store {
		n++
		return db.Tenant(fmt.Sprint("tenant ", n))
	})
}

func agree(t *testing.T, seeds int, open func() storetest.Store) {
	t.Helper()
	asked, told := 0, 0
	for seed := range uint64(seeds) {
		index := open()
		s := &scribe{
			t: t, random: rand.New(rand.NewPCG(seed, 31)), index: index, places: []string{"/w/one", "/w/two", "/w/three"}[:1+seed%3],
			all: map[string][]*history{}, types: []string{session.UserMessage, session.AssistantMessage, session.ToolResult},
		}
		e := engine(t, query.Config{Disk: query.Corpus{Store: index, Refresher: unchanging{}}})
		for range 12 {
			for range 1 + s.random.IntN(8) {
				s.change()
			}
			for range 20 {
				got, want, about := s.ask(e)
				if diff := gocmp.Diff(want, got); diff != "" && len(want)+len(got) > 0 {
					t.Fatalf("seed %d, %s (-other ranking +engine):\n%s", seed, about, diff)
				}
				asked++
				told += len(want)
			}
		}
	}
	if told < asked {
		t.Errorf("%d questions had %d hits", asked, told)
	}
}

// ask puts one random question to both.
func (s *scribe) ask(e *query.Engine) (got, want []answer, about string) {
	s.t.Helper()
	r := s.random
	other := &ranking{order: []query.Order{query.Relevance, query.Matches}[r.IntN(2)], auto: r.IntN(2) == 0, session: func(*history) bool { return true }}
	match := query.Literal
	if other.auto {
		match = query.Auto
	}
	text := s.query()
	other.phrase = document.Terms(text)
	var events query.EventFilter
	events, other.event = s.filter()
	limit := 1 + r.IntN(15)
	if place := s.places[r.IntN(len(s.places))]; r.IntN(3) == 0 && len(s.all[place]) > 0 {
		other.all = s.all[place]
		other.only = other.all[r.IntN(len(other.all))]
		req := query.EventSearch{Target: query.TargetOf(other.only.h), Query: text, Match: match, Order: other.order, Events: events, Limit: limit}
		return s.events(e, req), other.answer(), fmt.Sprintf("%+v", req)
	}
	var ids []string
	for _, place := range s.places {
		other.all = append(other.all, s.all[place]...)
	}
	req := query.SessionSearch{Query: text, Match: match, Order: other.order, Events: events, Inherited: r.IntN(4) == 0, Limit: limit, Sessions: workspaces(s.places...)}
	other.inherited = req.Inherited
	switch r.IntN(5) {
	case 0:
		for range 1 + r.IntN(5) {
			ids = append(ids, string(other.all[r.IntN(len(other.all))].h.ID))
		}
		req.Sessions.IDs = ids
		other.session = func(h *history) bool { return slices.Contains(ids, string(h.h.ID)) }
	case 1:
		req.Sessions.Agents = []session.Agent{session.Claude}
		other.session = func(h *history) bool { return h.h.Agent == session.Claude }
	case 2:
		req.Sessions.Roots = true
		other.session = func(h *history) bool { return h.h.ParentSession == "" }
	}
	return s.sessions(e, req), other.answer(), fmt.Sprintf("%+v", req)
}

func tell(id session.ID, h query.EventHit, keys []session.Key) answer {
	forks := []string{}
	for _, k := range keys {
		forks = append(forks, string(k.ID))
	}
	slices.Sort(forks)
	return answer{string(id), h.Seq, h.Score, h.Count, h.Partial, strings.Join(forks, " ")}
}

func (s *scribe) sessions(e *query.Engine, req query.SessionSearch) (all []answer) {
	s.t.Helper()
	for {
		page, err := e.SearchSessions(s.t.Context(), req)
		if err != nil {
			s.t.Fatalf("%+v: %v", req, err)
		}
		for _, h := range page.Hits {
			all = append(all, tell(h.Info.Header.ID, h.Best, h.Forks))
		}
		if req.Cursor = page.Next; req.Cursor == "" {
			return all
		}
	}
}

func (s *scribe) events(e *query.Engine, req query.EventSearch) (all []answer) {
	s.t.Helper()
	at := query.Located{Header: s.header(req.Target), Persisted: true}
	for {
		page, err := e.SearchEvents(s.t.Context(), at, req)
		if err != nil {
			s.t.Fatalf("%+v: %v", req, err)
		}
		for _, h := range page.Hits {
			all = append(all, tell(req.Target.Key.ID, h, nil))
		}
		if req.Cursor = page.Next; req.Cursor == "" {
			return all
		}
	}
}

func (s *scribe) header(t query.Target) session.Header {
	for _, h := range s.all[t.Workspace] {
		if query.TargetOf(h.h) == t {
			return h.h
		}
	}
	s.t.Fatalf("no session %v", t)
	return session.Header{}
}
