package query

import (
	"cmp"
	"context"
	"slices"
)

// The partial part of a search: the documents that hold some of the tokens, the
// more and the rarer the better. Tokens are matched one after the other, rarest
// first, and their scores added up for each document. What a document is like
// beside its score is read for the best alone.
//
// A token adds less than its idf times k1+1, so what the tokens still to come can
// add is known beforehand. Once the sessions that are wanted have more, documents
// that hold none of the tokens so far are passed over, and of those that do, only
// the ones that can still be among the best are looked for in the lists of the
// last and longest tokens.

// sums are the scores of a view's documents while they add up.
type sums struct {
	view *view
	of   map[int64]*share // by the session's number
	all  []sum
}

// share is one session's part of them.
type share struct {
	en       *entry
	sums     []sum
	best     float64 // highest weighted score of its documents
	plain    bool
	eligible bool // counts for the floor: it is neither found already nor among those whose hits may be hidden
	whole    bool // nothing of it may be passed over
}

// sum is what a document came to.
type sum struct {
	score float64
	count int32 // occurrences of any token; 0: holds none; below 0: does not pass
	role  Role
}

func (t *sum) total() int64 { return round(t.score, t.role) }

// total is the highest of a session's documents; -1: none holds a token.
func (t *share) total() int64 {
	if t.best == 0 {
		return -1
	}
	return round(t.best, RoleOther) // it is weighted already
}

// tops are the highest of the numbers that were offered, descending.
type tops struct {
	most int
	all  []float64
}

func (t *tops) offer(v float64) {
	if n := len(t.all); n == t.most && (n == 0 || v <= t.all[n-1]) {
		return
	}
	at, _ := slices.BinarySearchFunc(t.all, v, func(have, v float64) int { return cmp.Compare(v, have) })
	t.all = slices.Insert(t.all, at, v)
	t.all = t.all[:min(len(t.all), t.most)]
}

// floor is what the last of those wanted has; 0: there are not so many. It is a
// little lower, because scores are rounded before they are compared.
func (t *tops) floor() float64 {
	const rounding = 2e-6
	if len(t.all) < t.most || t.most == 0 {
		return 0
	}
	return t.all[t.most-1] - rounding
}

// sharing is which part of the lists an addition needs: the best sessions of those
// that are neither in skip nor kin, and all of kin. want 0: everything.
type sharing struct {
	skip, kin map[*entry]bool
	want      int
}

// add matches the distinct tokens of the query and adds their scores up, view by
// view. It returns nil if there is but one token.
func (s *search) add(ctx context.Context, of sharing) ([]*sums, error) {
	terms := slices.Compact(slices.Sorted(slices.Values(s.phrase)))
	if len(terms) < 2 {
		return nil, nil
	}
	terms = terms[:min(len(terms), maxTerms)]
	df, err := s.total(ctx, terms)
	if err != nil {
		return nil, err
	}
	slices.SortFunc(terms, func(a, b string) int { return cmp.Or(cmp.Compare(df[a], df[b]), cmp.Compare(a, b)) })
	s.rarest = terms
	idf, rest := make([]float64, len(terms)), make([]float64, len(terms)+1) // rest: the most that the terms from one on can add
	for i := len(terms) - 1; i >= 0; i-- {
		idf[i] = s.stats.idf(df[terms[i]])
		rest[i] = rest[i+1] + idf[i]*(bm25K1+1)
	}
	var all []*sums
	earlier := tops{most: of.want}
	for _, v := range s.views {
		t := s.newSums(v, of)
		if t == nil {
			continue
		}
		for i, term := range terms {
			if df[term] == 0 {
				continue
			}
			now := tops{most: of.want, all: slices.Clone(earlier.all)}
			t.offer(&now)
			within := s.within()
			if within == nil {
				within = t.worth(rest[i], now.floor(), df[term])
			}
			if err := s.addTerm(ctx, t, term, within, idf[i], rest[i+1], now.floor()); err != nil {
				return nil, err
			}
		}
		t.offer(&earlier)
		all = append(all, t)
	}
	return all, nil
}

// newSums makes room for the documents of a view; nil: none may be shown.
func (s *search) newSums(v *view, of sharing) *sums {
	t := &sums{view: v, of: map[int64]*share{}}
	n := 0
	for num, en := range v.sessions {
		if s.allow(en) {
			n += int(en.row.Documents)
			t.of[num] = &share{en: en, plain: s.plain(en), eligible: !of.skip[en] && !of.kin[en], whole: of.kin[en]}
		}
	}
	if n == 0 {
		return nil
	}
	t.all = make([]sum, n)
	for _, one := range t.of {
		k := int(one.en.row.Documents)
		one.sums, t.all = t.all[:k:k], t.all[k:]
	}
	return t
}

// offer says what the sessions have come to.
func (t *sums) offer(to *tops) {
	for _, one := range t.of {
		if one.eligible && one.best > 0 {
			to.offer(one.best)
		}
	}
}

// few is how many times shorter than its list the documents are that are looked
// for in a list one by one.
const few = 16

// worth returns where a term has to be looked for that, with those after it, can
// add so much; nil: everywhere.
func (t *sums) worth(more, floor float64, df int64) []Span {
	if more*maxWeight >= floor {
		return nil // a document that holds no term so far may do
	}
	var spans []Span
	for num, one := range t.of {
		if one.whole {
			spans = append(spans, SpanOf(num))
			continue
		}
		if one.best == 0 {
			continue
		}
		for n := range one.sums {
			if d := &one.sums[n]; d.count > 0 && (d.score+more)*d.role.Weight() >= floor {
				id := NewDocID(num, int64(n))
				if spans = append(spans, Span{id, id}); int64(len(spans)) > df/few {
					return nil
				}
			}
		}
	}
	if spans == nil {
		return []Span{}
	}
	return spans
}

// addTerm adds the scores of one term, where what comes after it can add so much.
func (s *search) addTerm(ctx context.Context, t *sums, term string, within []Span, idf, more, floor float64) error {
	v := t.view
	return v.snap.Match(ctx, []string{term}, within, nil, func(r *Run) error {
		one := t.of[r.Session]
		if one == nil {
			return nil
		}
		for i, n := range r.Docs {
			d := &one.sums[n]
			if d.count < 0 {
				continue
			}
			score, weight := s.stats.term(idf, int32(r.Counts[i]), r.Tokens[i]), r.Roles[i].Weight()
			if d.count == 0 {
				if (score+more)*weight < floor && !one.whole {
					continue
				}
				if !one.plain {
					ok, err := s.allows(ctx, v, one.en, r, i)
					if err != nil {
						return err
					}
					if !ok {
						d.count = -1
						continue
					}
				}
			}
			d.score += score
			d.count += int32(r.Counts[i])
			d.role = r.Roles[i]
			one.best = max(one.best, d.score*weight)
		}
		return nil
	})
}

// resolve returns the documents of a session that score at least so much and are
// not in skip, in order; want 0: all of them, else the best.
func (s *search) resolve(ctx context.Context, t *sums, one *share, skip map[DocID]bool, least int64, want int) ([]*hit, error) {
	type scored struct {
		doc   DocID
		sum   *sum
		score int64
	}
	var all []scored
	for n := range one.sums {
		d := &one.sums[n]
		if d.count <= 0 {
			continue
		}
		if id, score := NewDocID(one.en.row.Num, int64(n)), d.total(); score >= least && !skip[id] {
			all = append(all, scored{id, d, score})
		}
	}
	slices.SortFunc(all, func(a, b scored) int { return cmp.Or(cmp.Compare(b.score, a.score), cmp.Compare(a.doc, b.doc)) })
	var out []*hit
	for len(all) > 0 && (want == 0 || len(out) < want) {
		n := 1 // as many as tie
		for n < len(all) && (all[n].score == all[0].score || want == 0) {
			n++
		}
		group := all[:n]
		all = all[n:]
		slices.SortFunc(group, func(a, b scored) int { return cmp.Compare(a.doc, b.doc) })
		ids := make([]DocID, n)
		for i := range group {
			ids[i] = group[i].doc
		}
		docs, err := t.view.snap.Documents(ctx, ids)
		if err != nil {
			return nil, err
		}
		for i, d := range docs {
			out = append(out, &hit{view: t.view, session: one.en, doc: d, count: group[i].sum.count, score: group[i].score})
		}
	}
	slices.SortFunc(out, compareHits)
	if want > 0 {
		out = out[:min(len(out), want)]
	}
	return out, nil
}

// partialSessions returns the best sessions but for those in skip, by their best
// document, in order.
func (s *search) partialSessions(ctx context.Context, skip map[*entry]bool, want int) ([]*hit, error) {
	kin := s.kin()
	all, err := s.add(ctx, sharing{skip, kin, want})
	if err != nil {
		return nil, err
	}
	p := podium{want: want, best: map[*entry]*hit{}}
	type candidate struct {
		of    *sums
		one   *share
		score int64
	}
	var candidates []candidate
	for _, t := range all {
		for _, one := range t.of {
			if best := one.total(); best >= 0 && one.eligible {
				candidates = append(candidates, candidate{t, one, best})
			}
		}
	}
	slices.SortFunc(candidates, func(a, b candidate) int { return cmp.Compare(b.score, a.score) })
	for _, c := range candidates {
		if len(p.best) >= want {
			if p.raise(); c.score < p.floor {
				break
			}
		}
		hits, err := s.resolve(ctx, c.of, c.one, nil, c.score, 0)
		if err != nil {
			return nil, err
		}
		for _, h := range hits {
			p.offer(h)
		}
	}
	if len(p.best) >= want {
		p.raise()
	}
	hits, err := s.related(ctx, all, kin, p.floor)
	if err != nil {
		return nil, err
	}
	for _, h := range hits {
		if !skip[h.session] {
			p.offer(h)
		}
	}
	return p.ranked(), nil
}

// related returns the hits of forks and their ancestors, without those that an
// ancestor shows itself, of families one of whose documents scores at least so
// much: what is shown and for whom depends on all of a family.
func (s *search) related(ctx context.Context, all []*sums, kin map[*entry]bool, least int64) (hits []*hit, err error) {
	above := map[*entry]*entry{} // of one family
	family := func(en *entry) *entry {
		for above[en] != nil {
			en = above[en]
		}
		return en
	}
	for en := range kin {
		s.ancestors(en, func(parent *entry) bool {
			if a, b := family(en), family(parent); a != b {
				above[a] = b
			}
			return false // the parent's parent is its own business
		})
	}
	good := map[*entry]bool{}
	for _, t := range all {
		for _, one := range t.of {
			if kin[one.en] && one.total() >= least {
				good[family(one.en)] = true
			}
		}
	}
	for _, t := range all {
		for _, one := range t.of {
			if !kin[one.en] || !good[family(one.en)] {
				continue
			}
			some, err := s.resolve(ctx, t, one, nil, 0, 0)
			if err != nil {
				return nil, err
			}
			hits = append(hits, some...)
		}
	}
	return s.withoutInherited(hits), nil
}

// partialDocuments returns the best documents of the one session but for those
// in skip, in order.
func (s *search) partialDocuments(ctx context.Context, skip map[DocID]bool, want int) ([]*hit, error) {
	all, err := s.add(ctx, sharing{})
	if err != nil {
		return nil, err
	}
	for _, t := range all {
		if one := t.of[s.only.row.Num]; one != nil && one.en == s.only {
			return s.resolve(ctx, t, one, skip, 0, want)
		}
	}
	return nil, nil
}
