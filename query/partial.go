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

// sums are the scores of a view's documents while they add up.
type sums struct {
	view   *view
	first  map[int64]int // where each session's documents begin, by its number
	scores []float64
	counts []int32 // occurrences of any token; 0: holds none; below 0: does not pass
	roles  []Role
}

// add matches the distinct tokens of the query and adds their scores up, view by
// view. It returns nil if there is but one token.
func (s *search) add(ctx context.Context) ([]*sums, error) {
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
	var all []*sums
	for _, v := range s.views {
		t := &sums{view: v, first: map[int64]int{}}
		n := 0
		for num, en := range v.sessions {
			if s.allow(en) {
				t.first[num] = n
				n += int(en.row.Documents)
			}
		}
		if n == 0 {
			continue
		}
		t.scores, t.counts, t.roles = make([]float64, n), make([]int32, n), make([]Role, n)
		for _, term := range terms {
			if df[term] == 0 {
				continue
			}
			idf := s.stats.idf(df[term])
			err := v.snap.Match(ctx, []string{term}, s.within(), func(r *Run) error {
				first, ok := t.first[r.Session]
				if !ok {
					return nil
				}
				en := v.sessions[r.Session]
				plain := s.plain(en)
				for i, d := range r.Docs {
					at := first + int(d)
					if t.counts[at] < 0 {
						continue
					}
					if !plain && t.counts[at] == 0 {
						_, ok, err := s.look(ctx, v, en, r, i)
						if err != nil {
							return err
						}
						if !ok {
							t.counts[at] = -1
							continue
						}
					}
					t.scores[at] += s.stats.term(idf, int32(r.Counts[i]), r.Tokens[i])
					t.counts[at] += int32(r.Counts[i])
					t.roles[at] = r.Roles[i]
				}
				return nil
			})
			if err != nil {
				return nil, err
			}
		}
		all = append(all, t)
	}
	return all, nil
}

// score is what a document came to.
func (t *sums) score(at int) int64 { return round(t.scores[at], t.roles[at]) }

// best is the highest score of a session's documents; -1: none holds a token.
func (t *sums) best(en *entry) int64 {
	best, first := int64(-1), t.first[en.row.Num]
	for at := first; at < first+int(en.row.Documents); at++ {
		if t.counts[at] > 0 {
			best = max(best, t.score(at))
		}
	}
	return best
}

// resolve returns the best documents of a session that are not in skip, in
// order; want 0: all of them.
func (s *search) resolve(ctx context.Context, t *sums, en *entry, skip map[DocID]bool, want int) ([]*hit, error) {
	type scored struct {
		doc   DocID
		at    int
		score int64
	}
	var all []scored
	first := t.first[en.row.Num]
	for n := range en.row.Documents {
		at := first + int(n)
		if id := NewDocID(en.row.Num, n); t.counts[at] > 0 && !skip[id] {
			all = append(all, scored{id, at, t.score(at)})
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
			out = append(out, &hit{view: t.view, session: en, doc: d, count: t.counts[group[i].at], score: group[i].score})
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
	all, err := s.add(ctx)
	if err != nil {
		return nil, err
	}
	kin := s.kin()
	p := podium{want: want, best: map[*entry]*hit{}}
	var related []*hit
	type candidate struct {
		of    *sums
		en    *entry
		score int64
	}
	var candidates []candidate
	for _, t := range all {
		for num := range t.first {
			en := t.view.sessions[num]
			switch best := t.best(en); {
			case best < 0:
			case kin[en]: // what is hidden depends on all of them
				hits, err := s.resolve(ctx, t, en, nil, 0)
				if err != nil {
					return nil, err
				}
				related = append(related, hits...)
			case !skip[en]:
				candidates = append(candidates, candidate{t, en, best})
			}
		}
	}
	for _, h := range s.withoutInherited(related) {
		if !skip[h.session] {
			p.offer(h)
		}
	}
	slices.SortFunc(candidates, func(a, b candidate) int { return cmp.Compare(b.score, a.score) })
	for _, c := range candidates {
		if len(p.best) >= want {
			if p.raise(); c.score < p.floor {
				break
			}
		}
		hits, err := s.resolve(ctx, c.of, c.en, nil, 1)
		if err != nil {
			return nil, err
		}
		for _, h := range hits {
			p.offer(h)
		}
	}
	return p.ranked(), nil
}

// partialDocuments returns the best documents of the one session but for those
// in skip, in order.
func (s *search) partialDocuments(ctx context.Context, skip map[DocID]bool, want int) ([]*hit, error) {
	all, err := s.add(ctx)
	if err != nil {
		return nil, err
	}
	for _, t := range all {
		if _, ok := t.first[s.only.row.Num]; ok && t.view.sessions[s.only.row.Num] == s.only {
			return s.resolve(ctx, t, s.only, skip, want)
		}
	}
	return nil, nil
}
