package query

import (
	"cmp"
	"context"
	"math"
	"slices"

	"github.com/yorehq/yore/internal/document"
	"github.com/yorehq/yore/session"
)

// maxTerms is how many tokens a store matches at once.
const maxTerms = 64

// search is one search while it runs.
type search struct {
	views         views
	phrase        []string
	order         Order
	events        EventFilter
	allow         func(*entry) bool
	only          *entry // a search within one session
	own           bool   // whose closing records do not exist
	hideInherited bool

	stats     statistics
	idf       float64                  // of the phrase, once documents come
	frequency int64                    // of the phrase, once it was counted over everything
	rarest    []string                 // the query's distinct tokens, rarest first, once the partial part has run
	known     map[session.ID][]*entry  // sessions that may be shown, once they were looked for
	heirs     map[record][]session.Key // of the hits that stand for inherited ones: who inherited them
}

// sessions ranks sessions by their best document: first those that hold the
// phrase, then, if wanted, partial ones. literal is how many of the former
// there are; at most want are returned.
func (s *search) sessions(ctx context.Context, match Match, want int) (ranked []*hit, literal int, err error) {
	if ranked, err = s.literalSessions(ctx, max(want, fill)); err != nil {
		return nil, 0, err
	}
	literal = len(ranked)
	if match == Auto && literal < fill {
		found := map[*entry]bool{}
		for _, h := range ranked {
			found[h.session] = true
		}
		partial, err := s.partialSessions(ctx, found, fill-literal)
		if err != nil {
			return nil, 0, err
		}
		ranked = append(ranked, partial...)
	}
	return ranked[:min(len(ranked), want)], min(literal, want), nil
}

// documents is sessions for the documents of one session.
func (s *search) documents(ctx context.Context, match Match, want int) (ranked []*hit, literal int, err error) {
	if ranked, err = s.literalDocuments(ctx, max(want, fill)); err != nil {
		return nil, 0, err
	}
	literal = len(ranked)
	if match == Auto && literal < fill {
		found := map[DocID]bool{}
		for _, h := range ranked {
			found[h.doc.Doc] = true
		}
		partial, err := s.partialDocuments(ctx, found, fill-literal)
		if err != nil {
			return nil, 0, err
		}
		ranked = append(ranked, partial...)
	}
	return ranked[:min(len(ranked), want)], min(literal, want), nil
}

func bestPerSession(hits []*hit) []*hit {
	best := map[*entry]*hit{}
	for _, h := range hits {
		if b := best[h.session]; b == nil || compareHits(h, b) < 0 {
			best[h.session] = h
		}
	}
	out := make([]*hit, 0, len(best))
	for _, h := range best {
		out = append(out, h)
	}
	slices.SortFunc(out, compareHits)
	return out
}

// total sums the statistics of the views, and returns how many documents hold
// each of some tokens.
func (s *search) total(ctx context.Context, terms []string) (map[string]int64, error) {
	var tokens int64
	df := make(map[string]int64, len(terms))
	s.stats = statistics{}
	for _, v := range s.views {
		t, err := v.snap.Totals(ctx, terms)
		if err != nil {
			return nil, err
		}
		s.stats.add(t, &tokens)
		for i, n := range t.Holding {
			df[terms[i]] += n
		}
	}
	return df, nil
}

// within is where documents are looked for.
func (s *search) within() []Span {
	if s.only != nil {
		return []Span{SpanOf(s.only.row.Num)}
	}
	return nil
}

// fewViews is how many shards may well stay open during a search. Of more, each is
// asked for as much as possible at once.
const fewViews = 8

// each hands the documents that hold the whole phrase to visit, run by run with
// their scores, those of sessions that may be shown. A run of a single token is
// valid during the call alone; of a phrase all are kept until its frequency is
// known, on which the scores depend. Within one session that is the session's.
// Documents that are of no interest may be left out; see raise.
func (s *search) each(ctx context.Context, within []Span, least *Least, visit func(v *view, en *entry, r *Run, scores []int64) error) error {
	if len(s.phrase) == 0 {
		return nil
	}
	var single []string
	if len(s.phrase) == 1 && s.order == Relevance && s.only == nil && len(s.views) <= fewViews {
		single = s.phrase
	}
	holding, err := s.total(ctx, single)
	if err != nil {
		return err
	}
	s.idf = s.stats.idf(holding[s.phrase[0]])
	var scores []int64
	score := func(v *view, r *Run) error {
		en := v.sessions[r.Session]
		if en == nil || !s.allow(en) {
			return nil
		}
		scores = s.scores(r, s.idf, scores)
		return visit(v, en, r, scores)
	}
	if single != nil || s.order == Matches {
		for _, v := range s.views {
			if err := s.match(ctx, v, within, least, func(r *Run) error { return score(v, r) }); err != nil {
				return err
			}
		}
		return nil
	}
	kept, df := make([][]*Run, len(s.views)), int64(0)
	for i, v := range s.views {
		err := s.match(ctx, v, within, nil, func(r *Run) error {
			kept[i], df = append(kept[i], r.Clone()), df+int64(len(r.Docs))
			return nil
		})
		if err == nil && len(s.views) > fewViews {
			_, err = v.snap.Totals(ctx, s.phrase[:min(len(s.phrase), maxTerms)]) // the partial part will ask, when the shard is closed
		}
		if err != nil {
			return err
		}
	}
	if s.frequency == 0 {
		s.frequency = df
	}
	s.idf = s.stats.idf(s.frequency)
	for i, v := range s.views {
		for _, r := range kept[i] {
			if err := score(v, r); err != nil {
				return err
			}
		}
	}
	return nil
}

// raise says which documents can still score so much: in the order matches those
// with as many spans; by relevance those that would if they were as short as can
// be, which leaves idf·(k1+1)·tf / (tf + k1·(1 − b)), times the role's weight.
func (s *search) raise(least *Least, floor int64) {
	for r := range least {
		if s.order == Matches {
			least[r] = uint32(min(floor, math.MaxUint32))
			continue
		}
		most, want := s.idf*(bm25K1+1)*Role(r).Weight(), float64(floor-1)/1e6 // scores are rounded
		least[r] = math.MaxUint32
		if want < most {
			least[r] = uint32(min(max(0, bm25K1*(1-bm25B)*want/(most-want)*(1-1e-9)), math.MaxUint32))
		}
	}
}

// scores returns what the documents of a run score, in dst.
func (s *search) scores(r *Run, idf float64, dst []int64) []int64 {
	dst = dst[:0]
	if s.order == Matches {
		for _, n := range r.Counts {
			dst = append(dst, int64(n))
		}
		return dst
	}
	for i, n := range r.Counts {
		dst = append(dst, round(s.stats.term(idf, int32(n), r.Tokens[i]), r.Roles[i]))
	}
	return dst
}

// literal returns every document that holds the whole phrase and passes, scored.
func (s *search) literal(ctx context.Context) ([]*hit, error) {
	var hits []*hit
	err := s.each(ctx, s.within(), nil, func(v *view, en *entry, r *Run, scores []int64) error {
		for i, n := range scores {
			d, ok, err := s.look(ctx, v, en, r, i)
			if err != nil {
				return err
			}
			if ok {
				hits = append(hits, &hit{v, en, d, int32(r.Counts[i]), n})
			}
		}
		return nil
	})
	return s.withoutInherited(hits), err
}

// look returns a document and whether it passes; one that does not may be empty.
func (s *search) look(ctx context.Context, v *view, en *entry, r *Run, i int) (d Document, ok bool, err error) {
	if ok, err := s.ofType(r, i); !ok || err != nil {
		return d, false, err
	}
	if d, err = r.At(i); err != nil || s.typed(en) {
		return d, err == nil, err
	}
	ok, err = s.passes(ctx, v, en, d)
	return d, ok, err
}

// allows is look for whether it passes alone.
func (s *search) allows(ctx context.Context, v *view, en *entry, r *Run, i int) (ok bool, err error) {
	if s.typed(en) {
		return s.ofType(r, i)
	}
	_, ok, err = s.look(ctx, v, en, r, i)
	return ok, err
}

func (s *search) ofType(r *Run, i int) (bool, error) {
	if s.events.Types == nil {
		return true, nil
	}
	kind, err := r.Type(r.Places[i])
	return err == nil && slices.Contains(s.events.Types, kind), err
}

// literalSessions returns the best sessions that hold the phrase, by their best
// document, in order. What forks inherited comes last: most of it scores too
// little to matter, and the rest is compared with what its origins hold.
func (s *search) literalSessions(ctx context.Context, want int) ([]*hit, error) {
	p := podium{want: want, best: map[*entry]*hit{}}
	var copies []*hit
	var wanted Least
	err := s.each(ctx, s.within(), &wanted, func(v *view, en *entry, r *Run, scores []int64) error {
		h := &en.row.Header
		fork := s.hideInherited && h.Inherited(0)
		best, least, floor := p.best[en], p.floor, p.floor
		if best != nil {
			least = max(least, best.score)
		}
		for i, n := range scores {
			if n < least && !(fork && n >= p.floor) {
				continue
			}
			if best != nil && n == best.score && !fork { // most that tie are longer
				if points, err := r.Points(r.Places[i]); err != nil || points > best.doc.Points {
					if err != nil {
						return err
					}
					continue
				}
			}
			d, ok, err := s.look(ctx, v, en, r, i)
			if err != nil {
				return err
			}
			if !ok {
				continue
			}
			one := hit{v, en, d, int32(r.Counts[i]), n}
			if fork && h.Inherited(d.Seq) {
				copies = append(copies, &one)
			} else if best == nil || compareHits(&one, best) < 0 {
				best = p.take(&one)
				least = max(p.floor, n)
			}
		}
		if p.floor > floor {
			s.raise(&wanted, p.floor)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	copies = slices.DeleteFunc(copies, func(h *hit) bool { return h.score < p.floor })
	if len(copies) > 0 {
		origins, err := s.origins(ctx, copies)
		if err != nil {
			return nil, err
		}
		for _, h := range s.withoutInherited(append(copies, origins...)) {
			if h.session.row.Header.Inherited(h.doc.Seq) { // the origins' were there before
				p.offer(h)
			}
		}
	}
	return p.ranked(), nil
}

// origins returns the hits of the sessions that forks may have inherited from.
func (s *search) origins(ctx context.Context, copies []*hit) (hits []*hit, err error) {
	ancestors := map[*entry]bool{}
	for _, h := range copies {
		s.ancestors(h.session, func(en *entry) bool {
			seen := ancestors[en]
			ancestors[en] = true
			return !seen
		})
	}
	if len(ancestors) == 0 {
		return nil, nil
	}
	within := s.within()
	if within == nil {
		for en := range ancestors {
			within = append(within, SpanOf(en.row.Num)) // of another shard too, where it is checked below
		}
	}
	err = s.each(ctx, within, nil, func(v *view, en *entry, r *Run, scores []int64) error {
		if !ancestors[en] {
			return nil
		}
		for i, n := range scores {
			d, ok, err := s.look(ctx, v, en, r, i)
			if err != nil {
				return err
			}
			if ok && !en.row.Header.Inherited(d.Seq) {
				hits = append(hits, &hit{v, en, d, int32(r.Counts[i]), n})
			}
		}
		return nil
	})
	return hits, err
}

// podium keeps the best hit of each session, for the best sessions.
type podium struct {
	want  int
	best  map[*entry]*hit
	floor int64 // what a session's best hit scores at least to be among those wanted
	since int   // hits that were kept since the floor was found
}

// offer considers a hit.
func (p *podium) offer(h *hit) {
	if b := p.best[h.session]; b == nil || compareHits(h, b) < 0 {
		p.take(h)
	}
}

// take makes a hit the best of its session.
func (p *podium) take(h *hit) *hit {
	kept := *h
	p.best[h.session] = &kept
	if p.since++; p.since >= p.want && p.since >= len(p.best)/4 && len(p.best) > p.want {
		p.raise()
	}
	return &kept
}

// raise finds the floor: the score of the last session that is wanted.
func (p *podium) raise() {
	p.since = 0
	scores := make([]int64, 0, len(p.best))
	for _, h := range p.best {
		scores = append(scores, h.score)
	}
	slices.Sort(scores)
	p.floor = scores[len(scores)-p.want]
}

func (p *podium) ranked() []*hit {
	out := make([]*hit, 0, len(p.best))
	for _, h := range p.best {
		if h.score >= p.floor {
			out = append(out, h)
		}
	}
	slices.SortFunc(out, compareHits)
	return out[:min(len(out), p.want)]
}

// literalDocuments returns the best documents that hold the phrase, in order.
func (s *search) literalDocuments(ctx context.Context, want int) ([]*hit, error) {
	var best []*hit
	floor := int64(0)
	var wanted Least
	err := s.each(ctx, s.within(), &wanted, func(v *view, en *entry, r *Run, scores []int64) error {
		for i, n := range scores {
			if n < floor {
				continue
			}
			d, ok, err := s.look(ctx, v, en, r, i)
			if err != nil {
				return err
			}
			if !ok {
				continue
			}
			if best = append(best, &hit{v, en, d, int32(r.Counts[i]), n}); len(best) >= 4*want {
				slices.SortFunc(best, compareHits)
				best = best[:want]
				floor = best[want-1].score
				s.raise(&wanted, floor)
			}
		}
		return nil
	})
	slices.SortFunc(best, compareHits)
	return best[:min(len(best), want)], err
}

// What a phrase beyond maxTerms costs: a store walks the lists of all tokens of
// a piece, which is dear for common ones, while a text is looked through at some
// 100 MB a second. So only a few pieces are asked for, and none once so few
// documents are left.
const (
	maxPieces  = 4
	fewMatches = 256
)

// match finds the phrase in a view. Of one that is longer than a store takes,
// some pieces are matched; the documents that hold them are checked and counted
// on their text.
func (s *search) match(ctx context.Context, v *view, within []Span, least *Least, found func(*Run) error) error {
	if len(s.phrase) <= maxTerms {
		return v.snap.Match(ctx, s.phrase, within, least, found)
	}
	var common []Posting
	pieces, last := min(maxPieces, (len(s.phrase)+maxTerms-1)/maxTerms), len(s.phrase)-maxTerms
	for i := range pieces {
		at := last * i / (pieces - 1) // spread from the first token to the last
		piece, err := Collect(ctx, v.snap, s.phrase[at:at+maxTerms], within)
		if err != nil {
			return err
		}
		if common = intersect(common, piece, i == 0); len(common) <= fewMatches {
			break
		}
	}
	for _, p := range common {
		text, err := v.snap.Text(ctx, p.Doc)
		if err != nil {
			return err
		}
		n := document.CountSpans(text, s.phrase)
		if n == 0 {
			continue
		}
		docs, err := v.snap.Documents(ctx, []DocID{p.Doc})
		if err != nil {
			return err
		}
		d := docs[0]
		err = found(&Run{
			Session: p.Doc.Session(), Docs: []uint32{uint32(p.Doc - NewDocID(p.Doc.Session(), 0))}, Counts: []uint32{uint32(n)},
			Tokens: []int32{d.Tokens}, Roles: []Role{d.Role}, Places: []uint32{0},
			Type:   func(uint32) (string, error) { return d.Type, nil },
			Points: func(uint32) (int32, error) { return d.Points, nil },
			Look:   func(uint32, DocID) (Document, error) { return d, nil },
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func intersect(a, b []Posting, first bool) []Posting {
	if first {
		return b
	}
	var out []Posting
	for len(a) > 0 && len(b) > 0 {
		switch c := cmp.Compare(a[0].Doc, b[0].Doc); {
		case c < 0:
			a = a[1:]
		case c > 0:
			b = b[1:]
		default:
			out = append(out, a[0])
			a, b = a[1:], b[1:]
		}
	}
	return out
}

// plain reports whether every document of a session passes.
func (s *search) plain(en *entry) bool { return s.events.Types == nil && s.typed(en) }

// typed reports whether every document of a session passes that is of a type
// that does.
func (s *search) typed(en *entry) bool {
	f := &s.events
	return f.Seq == Range{} && f.Time == Range{} && f.States == nil && (en.row.Provisional == 0 || !s.own && !en.open())
}

func (s *search) passes(ctx context.Context, v *view, en *entry, d Document) (bool, error) {
	f := &s.events
	switch {
	case (s.own || en.open()) && d.Provisional,
		!f.Seq.Holds(d.Seq), !f.Time.Holds(d.Time),
		f.Types != nil && !slices.Contains(f.Types, d.Type):
		return false, nil
	case f.States == nil:
		return true, nil
	}
	state, err := v.stateOf(ctx, d)
	return err == nil && slices.Contains(f.States, state), err
}
