package query

import (
	"cmp"
	"context"
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

	stats  statistics
	rarest []string                 // the query's distinct tokens, rarest first, once the partial part has run
	known  map[session.ID][]*entry  // sessions that may be shown, once they were looked for
	heirs  map[record][]session.Key // of the hits that stand for inherited ones: who inherited them
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

// found is what a view holds of a phrase.
type found struct {
	view *view
	runs []*Run
}

// collect finds the phrase in all views and returns a function that scores the
// i-th document of a run.
func (s *search) collect(ctx context.Context) (all []found, score func(r *Run, i int) int64, err error) {
	if len(s.phrase) == 0 {
		return nil, nil, nil
	}
	if _, err := s.total(ctx, nil); err != nil {
		return nil, nil, err
	}
	df := int64(0)
	for _, v := range s.views {
		f := found{view: v}
		err := s.match(ctx, v, func(r *Run) error {
			df += int64(len(r.Docs))
			f.runs = append(f.runs, r)
			return nil
		})
		if err != nil {
			return nil, nil, err
		}
		all = append(all, f)
	}
	if s.order == Matches {
		return all, func(r *Run, i int) int64 { return int64(r.Counts[i]) }, nil
	}
	idf := s.stats.idf(df)
	return all, func(r *Run, i int) int64 {
		return round(s.stats.term(idf, int32(r.Counts[i]), r.Tokens[i]), r.Roles[i])
	}, nil
}

// literal returns every document that holds the whole phrase and passes, scored.
func (s *search) literal(ctx context.Context) ([]*hit, error) {
	all, score, err := s.collect(ctx)
	if err != nil {
		return nil, err
	}
	var hits []*hit
	for _, f := range all {
		for _, r := range f.runs {
			en := f.view.sessions[r.Session]
			if en == nil || !s.allow(en) {
				continue
			}
			for i := range r.Docs {
				h, err := s.take(ctx, f.view, en, r, i)
				if err != nil {
					return nil, err
				}
				if h != nil {
					h.score = score(r, i)
					hits = append(hits, h)
				}
			}
		}
	}
	return s.withoutInherited(hits), nil
}

// take makes a hit of a document, nil if it does not pass.
func (s *search) take(ctx context.Context, v *view, en *entry, r *Run, i int) (*hit, error) {
	d, err := r.At(i)
	if err != nil {
		return nil, err
	}
	if !s.plain(en) {
		if pass, err := s.passes(ctx, v, en, d); !pass || err != nil {
			return nil, err
		}
	}
	return &hit{view: v, session: en, doc: d, count: int32(r.Counts[i])}, nil
}

// literalSessions returns the best sessions that hold the phrase, by their best
// document, in order. What forks inherited comes last: most of it scores too
// little to matter, and the rest is compared with what its origins hold.
func (s *search) literalSessions(ctx context.Context, want int) ([]*hit, error) {
	all, score, err := s.collect(ctx)
	if err != nil {
		return nil, err
	}
	p := podium{want: want, best: map[*entry]*hit{}}
	var copies []*hit
	for _, f := range all {
		for _, r := range f.runs {
			en := f.view.sessions[r.Session]
			if en == nil || !s.allow(en) {
				continue
			}
			h := &en.row.Header
			fork := s.hideInherited && h.Inherited(0)
			least := p.least(en)
			for i := range r.Docs {
				n := score(r, i)
				if n < least && !(fork && n >= p.floor) {
					continue
				}
				hit, err := s.take(ctx, f.view, en, r, i)
				if err != nil {
					return nil, err
				}
				if hit == nil {
					continue
				}
				if hit.score = n; fork && h.Inherited(hit.doc.Seq) {
					copies = append(copies, hit)
				} else {
					least = p.offer(hit)
				}
			}
		}
	}
	copies = slices.DeleteFunc(copies, func(h *hit) bool { return h.score < p.floor })
	if len(copies) > 0 {
		origins, err := s.origins(ctx, all, copies)
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
func (s *search) origins(ctx context.Context, all []found, copies []*hit) (hits []*hit, err error) {
	ancestors := map[*entry]bool{}
	for _, h := range copies {
		s.ancestors(h.session, func(en *entry) bool {
			seen := ancestors[en]
			ancestors[en] = true
			return !seen
		})
	}
	for _, f := range all {
		for _, r := range f.runs {
			en := f.view.sessions[r.Session]
			if en == nil || !ancestors[en] || !s.allow(en) {
				continue
			}
			for i := range r.Docs {
				h, err := s.take(ctx, f.view, en, r, i)
				if err != nil {
					return nil, err
				}
				if h != nil && !en.row.Header.Inherited(h.doc.Seq) {
					hits = append(hits, h)
				}
			}
		}
	}
	return hits, nil
}

// podium keeps the best hit of each session, for the best sessions.
type podium struct {
	want  int
	best  map[*entry]*hit
	floor int64 // what a session's best hit scores at least to be among those wanted
	since int   // hits that were kept since the floor was found
}

// least is what a hit of a session must score to matter.
func (p *podium) least(en *entry) int64 {
	if b := p.best[en]; b != nil {
		return max(b.score, p.floor)
	}
	return p.floor
}

// offer considers a hit and returns what the next one of its session must score.
func (p *podium) offer(h *hit) int64 {
	if b := p.best[h.session]; b == nil || compareHits(h, b) < 0 {
		p.best[h.session] = h
		if p.since++; p.since >= p.want && p.since >= len(p.best)/4 && len(p.best) > p.want {
			p.raise()
		}
	}
	return p.least(h.session)
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
	all, score, err := s.collect(ctx)
	if err != nil {
		return nil, err
	}
	var best []*hit
	floor := int64(0)
	for _, f := range all {
		for _, r := range f.runs {
			en := f.view.sessions[r.Session]
			if en == nil || !s.allow(en) {
				continue
			}
			for i := range r.Docs {
				n := score(r, i)
				if n < floor {
					continue
				}
				h, err := s.take(ctx, f.view, en, r, i)
				if err != nil {
					return nil, err
				}
				if h == nil {
					continue
				}
				h.score = n
				if best = append(best, h); len(best) >= 4*want {
					slices.SortFunc(best, compareHits)
					best = best[:want]
					floor = best[want-1].score
				}
			}
		}
	}
	slices.SortFunc(best, compareHits)
	return best[:min(len(best), want)], nil
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
func (s *search) match(ctx context.Context, v *view, found func(*Run) error) error {
	if len(s.phrase) <= maxTerms {
		return v.snap.Match(ctx, s.phrase, s.within(), found)
	}
	var common []Posting
	pieces, last := min(maxPieces, (len(s.phrase)+maxTerms-1)/maxTerms), len(s.phrase)-maxTerms
	for i := range pieces {
		at := last * i / (pieces - 1) // spread from the first token to the last
		piece, err := Collect(ctx, v.snap, s.phrase[at:at+maxTerms], s.within())
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
			Tokens: []int32{d.Tokens}, Roles: []Role{d.Role}, At: func(int) (Document, error) { return d, nil },
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
func (s *search) plain(en *entry) bool {
	f := &s.events
	return f.Seq == Range{} && f.Time == Range{} && f.Types == nil && f.States == nil && (en.row.Provisional == 0 || !s.own && !en.open())
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
