package query_test

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/yorehq/yore/fault"
	"github.com/yorehq/yore/internal/document"
	"github.com/yorehq/yore/internal/ingest"
	"github.com/yorehq/yore/query"
	"github.com/yorehq/yore/session"
	"github.com/yorehq/yore/sqlite"
)

// memory is a corpus whose sessions are put in by hand.
type memory struct {
	t    *testing.T
	set  *ingest.LiveSet
	logs map[session.ID]*ingest.LiveLog
	query.Corpus
}

func newMemory(t *testing.T) *memory {
	t.Helper()
	index, err := sqlite.OpenMemory(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { index.Close() })
	set := ingest.NewLiveSet(index, index)
	return &memory{t, set, map[session.ID]*ingest.LiveLog{}, query.Corpus{Store: index, Refresher: set, Logs: set}}
}

func header(id, cwd string) session.Header {
	return session.Header{Agent: session.DSH, ID: session.ID(id), Cwd: cwd, CreatedAt: 1000}
}

func (m *memory) put(h session.Header, texts ...string) *ingest.LiveLog {
	m.t.Helper()
	l, err := m.set.Register(m.t.Context(), h)
	if err != nil {
		m.t.Fatal(err)
	}
	m.logs[h.ID] = l
	m.say(l, session.Human, texts...)
	return l
}

func (m *memory) say(l *ingest.LiveLog, who session.Speaker, texts ...string) {
	m.t.Helper()
	for _, text := range texts {
		seq := l.Len()
		e := session.Event{
			Seq: seq, Time: 1000 + seq, Type: session.UserMessage, Op: session.Op{Kind: session.OpAppend},
			Body: session.Body{Speaker: who, Blocks: []session.Block{{Text: text}}},
		}
		if err := l.Append(session.Raw{Event: e, Native: []byte(`{}`)}); err != nil {
			m.t.Fatal(err)
		}
	}
}

func engine(t *testing.T, c query.Config) *query.Engine {
	t.Helper()
	e, err := query.New(c)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func workspaces(w ...string) query.SessionFilter {
	return query.SessionFilter{Scope: session.Scope{Workspaces: w}}
}

func ids(page query.SessionPage) []string {
	out := []string{}
	for _, h := range page.Hits {
		id := string(h.Info.Header.ID)
		if h.Best.Partial {
			id = "~" + id
		}
		out = append(out, id)
	}
	return out
}

func TestAutoFillsUpWithPartialHits(t *testing.T) {
	m := newMemory(t)
	m.put(header("exact", "/w"), "the retry budget is spent")
	m.put(header("both", "/w"), "a budget for every retry")
	m.put(header("one", "/w"), "retry it")
	m.put(header("none", "/w"), "nothing of the kind")
	m.put(header("foreign", "/x"), "the retry budget of others")
	e := engine(t, query.Config{Disk: m.Corpus})
	req := query.SessionSearch{Query: "retry budget", Sessions: workspaces("/w"), Limit: 20}
	page, err := e.SearchSessions(t.Context(), req)
	if err != nil {
		t.Fatal(err)
	}
	if diff := gocmp.Diff([]string{"exact", "~both", "~one"}, ids(page)); diff != "" {
		t.Error(diff)
	}
	req.Match = query.Literal
	if page, err = e.SearchSessions(t.Context(), req); err != nil {
		t.Fatal(err)
	}
	if diff := gocmp.Diff([]string{"exact"}, ids(page)); diff != "" {
		t.Error(diff)
	}
}

func TestInheritedHitsAreShownOnceAndOnlyByWhomTheyBelongTo(t *testing.T) {
	m := newMemory(t)
	m.put(header("origin", "/w"), "a walnut plan", "walnut again")
	fork := header("fork", "/w")
	fork.ParentSession, fork.SeedLength = "origin", 2
	m.put(fork, "a walnut plan", "walnut again", "own words")
	grand := header("grand", "/w")
	grand.ParentSession, grand.SeedLength = "fork", 3
	m.put(grand, "a walnut plan", "walnut again", "own words", "walnut of its own")
	e := engine(t, query.Config{Disk: m.Corpus})
	req := query.SessionSearch{Query: "walnut plan", Match: query.Literal, Sessions: workspaces("/w"), Limit: 20}
	check := func(want []string, wantForks int) {
		t.Helper()
		page, err := e.SearchSessions(t.Context(), req)
		if err != nil {
			t.Fatal(err)
		}
		if diff := gocmp.Diff(want, ids(page)); diff != "" {
			t.Error(diff)
		}
		if len(page.Hits) > 0 && len(page.Hits[0].Forks) != wantForks {
			t.Errorf("forks %v, want %d", page.Hits[0].Forks, wantForks)
		}
	}
	check([]string{"origin"}, 2)
	req.Sessions.Exclude = []query.Target{{Key: session.Key{Agent: session.DSH, ID: "origin"}, Workspace: "/w"}}
	check([]string{"fork"}, 1) // the origin may not be shown: its nearest heir answers
	req.Sessions.Exclude = nil
	req.Inherited = true
	check([]string{"fork", "grand", "origin"}, 0)
}

func TestALiveSessionHidesItsStoredLog(t *testing.T) {
	disk, live := newMemory(t), newMemory(t)
	h := header("s", "/w")
	disk.put(h, "stored zephyr")
	disk.put(header("other", "/w"), "other zephyr")
	l := live.put(h, "live zephyr")
	e := engine(t, query.Config{Disk: disk.Corpus, Live: live.Corpus})
	req := query.SessionSearch{Query: "zephyr", Sessions: workspaces("/w"), Limit: 20}
	page, err := e.SearchSessions(t.Context(), req)
	if err != nil {
		t.Fatal(err)
	}
	var s query.SessionHit
	for _, hit := range page.Hits {
		if hit.Info.Header.ID == "s" {
			s = hit
		}
	}
	if len(page.Hits) != 2 || !s.Info.Live || !s.Info.Persisted || s.Best.Snippet != "live zephyr" {
		t.Errorf("%+v", page.Hits)
	}
	if err := l.Release(t.Context()); err != nil {
		t.Fatal(err)
	}
	req.Query = "stored zephyr"
	if page, err = e.SearchSessions(t.Context(), req); err != nil || len(page.Hits) != 2 || page.Hits[0].Best.Snippet != "stored zephyr" {
		t.Errorf("after the release: %+v, %v", page.Hits, err)
	}
	conflict := h
	conflict.CreatedAt++
	live.put(conflict, "contradicting zephyr")
	req.Query, req.Match = "zephyr", query.Literal
	if page, err = e.SearchSessions(t.Context(), req); err != nil || !slices.Equal(ids(page), []string{"other"}) {
		t.Errorf("in conflict: %v, %v", ids(page), err)
	}
	found, err := e.Find(t.Context(), h.Key(), nil)
	if err != nil || len(found) != 1 || !found[0].Conflict {
		t.Errorf("found %+v, %v", found, err)
	}
}

func TestCursorsAreBoundToRequestAndGeneration(t *testing.T) {
	m := newMemory(t)
	for i := range 7 {
		m.put(header(fmt.Sprintf("s%d", i), "/w"), "zephyr")
	}
	e := engine(t, query.Config{Disk: m.Corpus})
	req := query.SessionSearch{Query: "zephyr", Sessions: workspaces("/w"), Limit: 3}
	var all []string
	for range 3 {
		page, err := e.SearchSessions(t.Context(), req)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, ids(page)...)
		req.Cursor = page.Next
	}
	if diff := gocmp.Diff([]string{"s0", "s1", "s2", "s3", "s4", "s5", "s6"}, all); diff != "" || req.Cursor != "" {
		t.Error(diff, req.Cursor)
	}
	page, err := e.SearchSessions(t.Context(), query.SessionSearch{Query: "zephyr", Sessions: workspaces("/w"), Limit: 3})
	if err != nil {
		t.Fatal(err)
	}
	for name, other := range map[string]query.SessionSearch{
		"another query":     {Query: "mistral", Sessions: workspaces("/w"), Limit: 3, Cursor: page.Next},
		"another workspace": {Query: "zephyr", Sessions: workspaces("/x"), Limit: 3, Cursor: page.Next},
		"garbage":           {Query: "zephyr", Sessions: workspaces("/w"), Limit: 3, Cursor: "bm90IGEgY3Vyc29y"},
		"flipped":           {Query: "zephyr", Sessions: workspaces("/w"), Limit: 3, Cursor: flip(page.Next)},
	} {
		if _, err := e.SearchSessions(t.Context(), other); !errors.Is(err, fault.InvalidCursor) {
			t.Errorf("%s: %v", name, err)
		}
	}
	m.say(m.logs["s0"], session.Human, "growth")
	req = query.SessionSearch{Query: "zephyr", Sessions: workspaces("/w"), Limit: 3, Cursor: page.Next}
	if _, err := e.SearchSessions(t.Context(), req); !errors.Is(err, fault.StaleCursor) {
		t.Errorf("after a change: %v", err)
	}
}

func flip(s string) string {
	b := []byte(s)
	if b[5] == 'A' {
		b[5] = 'B'
	} else {
		b[5] = 'A'
	}
	return string(b)
}

// doc is a document of the brute-force ranking.
type doc struct {
	id   string
	seq  int64
	text string
	role float64
}

// TestBothOrdersAgreeWithABruteForceScan ranks random corpora by the formulas
// as search.md states them, on the texts alone.
func TestBothOrdersAgreeWithABruteForceScan(t *testing.T) {
	words := strings.Fields("red green blue lamp lamp lamp door window 数据 数 库 a a b")
	for seed := range uint64(12) {
		r := rand.New(rand.NewPCG(seed, 1))
		m := newMemory(t)
		var docs []doc
		// Several workspaces must rank as one store would.
		for i := range 12 {
			id := fmt.Sprintf("s%02d", i)
			l := m.put(header(id, []string{"/w", "/x", "/y"}[i%3]))
			for n := range 1 + r.IntN(6) {
				var text []string
				for range 1 + r.IntN(12) {
					text = append(text, words[r.IntN(len(words))])
				}
				speaker := []session.Speaker{session.Human, session.Assistant, session.Tool}[r.IntN(3)]
				first := speaker == session.Human && !slices.ContainsFunc(docs, func(d doc) bool { return d.id == id && (d.role == 2.2 || d.role == 1.5) })
				role := map[session.Speaker]float64{session.Human: 1.5, session.Assistant: 1.3, session.Tool: 0.8}[speaker]
				if first {
					role = 2.2
				}
				docs = append(docs, doc{id, int64(n), strings.Join(text, " "), role})
				m.say(l, speaker, strings.Join(text, " "))
			}
		}
		e := engine(t, query.Config{Disk: m.Corpus})
		for range 15 {
			phrase := words[r.IntN(len(words))]
			for range r.IntN(3) {
				phrase += " " + words[r.IntN(len(words))]
			}
			for _, order := range []query.Order{query.Relevance, query.Matches} {
				page, err := e.SearchSessions(t.Context(), query.SessionSearch{
					Query: phrase, Match: query.Literal, Order: order, Limit: 100,
					Sessions: workspaces("/w", "/x", "/y"),
				})
				if err != nil {
					t.Fatal(err)
				}
				var got []string
				for _, h := range page.Hits {
					got = append(got, fmt.Sprintf("%s/%d %d %d", h.Info.Header.ID, h.Best.Seq, h.Best.Count, h.Best.Score))
				}
				if diff := gocmp.Diff(bruteForce(docs, phrase, order), got); diff != "" {
					t.Fatalf("seed %d, %q by %s:\n%s", seed, phrase, order, diff)
				}
			}
		}
	}
}

// bruteForce ranks by scanning texts.
func bruteForce(docs []doc, phrase string, order query.Order) []string {
	want := naive(phrase)
	var n, tokens, df float64
	for _, d := range docs {
		n++
		tokens += float64(len(naive(d.text)))
		if spans(naive(d.text), want) > 0 {
			df++
		}
	}
	type ranked struct {
		doc
		count int
		score float64
	}
	var all []ranked
	for _, d := range docs {
		count := spans(naive(d.text), want)
		if count == 0 {
			continue
		}
		score := float64(count)
		if order == query.Relevance {
			tf, length := float64(count), float64(len(naive(d.text)))
			idf := math.Log(1 + (n-df+0.5)/(df+0.5))
			score = math.Round(idf*tf*2.2/(tf+1.2*(0.25+0.75*length/(tokens/n)))*d.role*1e6) / 1e6
		}
		all = append(all, ranked{d, count, score})
	}
	slices.SortFunc(all, func(a, b ranked) int {
		return cmp.Or(cmp.Compare(b.score, a.score), cmp.Compare(len([]rune(a.text)), len([]rune(b.text))),
			cmp.Compare(b.seq, a.seq), cmp.Compare(a.id, b.id)) // time is 1000 + seq
	})
	var out []string
	seen := map[string]bool{}
	for _, r := range all {
		if !seen[r.id] {
			seen[r.id] = true
			millionths := int64(0)
			if order == query.Relevance {
				millionths = int64(math.Round(r.score * 1e6))
			}
			out = append(out, fmt.Sprintf("%s/%d %d %d", r.id, r.seq, r.count, millionths))
		}
	}
	return out
}

// naive is an independent tokenizer for the words of the test.
func naive(text string) []string {
	var out []string
	for _, w := range strings.Fields(text) {
		if w[0] < 0x80 {
			out = append(out, w)
			continue
		}
		for _, r := range w {
			out = append(out, string(r))
		}
	}
	return out
}

// spans counts matches, overlapping ones as one.
func spans(text, phrase []string) int {
	n, end := 0, 0
	for i := range text {
		if i+len(phrase) <= len(text) && slices.Equal(text[i:i+len(phrase)], phrase) {
			if i >= end {
				n++
			}
			end = i + len(phrase)
		}
	}
	return n
}

func TestALongLiteralIsExact(t *testing.T) {
	m := newMemory(t)
	var words []string
	for i := range 150 {
		words = append(words, fmt.Sprintf("w%d", i%7))
	}
	text := strings.Join(words, " ")
	m.put(header("whole", "/w"), "before "+text+" after")
	m.put(header("pieces", "/w"), strings.Join(words[:100], " ")+" gap "+strings.Join(words[60:], " "))
	e := engine(t, query.Config{Disk: m.Corpus})
	page, err := e.SearchSessions(t.Context(), query.SessionSearch{Query: text, Match: query.Literal, Sessions: workspaces("/w"), Limit: 5})
	if err != nil {
		t.Fatal(err)
	}
	if diff := gocmp.Diff([]string{"whole"}, ids(page)); diff != "" {
		t.Error(diff)
	}
	if n := document.CountSpans("before "+text+" after", document.Terms(text)); page.Hits[0].Best.Count != n {
		t.Errorf("count %d, want %d", page.Hits[0].Best.Count, n)
	}
}

func TestTextFilterIsLiteralWithFlexibleWhiteSpace(t *testing.T) {
	m := newMemory(t)
	m.put(header("a", "/w"), "line one\n\tline two", "line  one", "Line one", "a.b", "axb")
	e := engine(t, query.Config{Disk: m.Corpus})
	found, err := e.Find(t.Context(), session.Key{ID: "a"}, nil)
	if err != nil || len(found) != 1 {
		t.Fatal(found, err)
	}
	for text, want := range map[string][]int64{"one line two": {0}, "line one": {0, 1}, "a.b": {3}, "absent": nil} {
		list, err := e.Events(t.Context(), found[0], false, query.EventFilter{Text: text}, 10, "")
		if err != nil {
			t.Fatal(err)
		}
		var got []int64
		for _, en := range list.Entries {
			got = append(got, en.Seq)
		}
		if diff := gocmp.Diff(want, got); diff != "" {
			t.Errorf("%q: %s", text, diff)
		}
		sessions, err := e.Sessions(t.Context(), query.SessionFilter{Scope: session.Scope{Workspaces: []string{"/w"}}, Text: text}, 10, "")
		if err != nil || (len(sessions.Sessions) == 1) != (want != nil) {
			t.Errorf("%q: sessions %v, %v", text, sessions.Sessions, err)
		}
	}
	var paged []int64
	for cursor, i := "", 0; i == 0 || cursor != ""; i++ {
		list, err := e.Events(t.Context(), found[0], false, query.EventFilter{}, 2, cursor)
		if err != nil {
			t.Fatal(err)
		}
		for _, en := range list.Entries {
			paged = append(paged, en.Seq)
		}
		cursor = list.Next
	}
	if diff := gocmp.Diff([]int64{0, 1, 2, 3, 4}, paged); diff != "" {
		t.Error(diff)
	}
}

func TestSearchTurnedOff(t *testing.T) {
	m := newMemory(t)
	m.put(header("a", "/w"), "zephyr")
	e := engine(t, query.Config{Disk: m.Corpus, Search: query.SearchNever})
	if _, err := e.SearchSessions(t.Context(), query.SessionSearch{Query: "zephyr", Sessions: workspaces("/w"), Limit: 5}); !errors.Is(err, fault.SearchDisabled) {
		t.Error(err)
	}
	found, err := e.Find(t.Context(), session.Key{ID: "a"}, nil)
	if err != nil || len(found) != 1 {
		t.Fatal(err)
	}
	if w, err := e.Read(t.Context(), found[0], false, 0, 0, 0); err != nil || w.Entry.Text != "zephyr" {
		t.Errorf("%+v, %v", w, err)
	}
}
