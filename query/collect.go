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
	known  map[Target]*entry        // sessions that may be shown, once they were looked for
	heirs  map[record][]session.Key // of the hits that stand for inherited ones: who inherited them
}

// sessions ranks sessions by their best document: first those that hold the
// phrase, then, if wanted, partial ones. literal is how many of the former
// there are; at most want are returned.
func (s *search) sessions(ctx context.Context, match Match, want int) (ranked []*hit, literal int, err error) {
	hits, err := s.literal(ctx)
	if err != nil {
		return nil, 0, err
	}
	ranked = bestPerSession(hits)
	literal = len(ranked)
	if match == Auto && literal < fill {
		partial, err := s.partial(ctx)
		if err != nil {
			return nil, 0, err
		}
		found := map[*entry]bool{}
		for _, h := range ranked {
			found[h.session] = true
		}
		rest := bestPerSession(slices.DeleteFunc(partial, func(h *hit) bool { return found[h.session] }))
		ranked = append(ranked, rest[:min(len(rest), fill-literal)]...)
	}
	return ranked[:min(len(ranked), want)], min(literal, want), nil
}

// documents is sessions for the documents of one session.
func (s *search) documents(ctx context.Context, match Match, want int) (ranked []*hit, literal int, err error) {
	ranked, err = s.literal(ctx)
	if err != nil {
		return nil, 0, err
	}
	slices.SortFunc(ranked, compareHits)
	literal = len(ranked)
	if match == Auto && literal < fill {
		partial, err := s.partial(ctx)
		if err != nil {
			return nil, 0, err
		}
		found := map[DocID]bool{}
		for _, h := range ranked {
			found[h.doc.Doc] = true
		}
		partial = slices.DeleteFunc(partial, func(h *hit) bool { return found[h.doc.Doc] })
		slices.SortFunc(partial, compareHits)
		ranked = append(ranked, partial[:min(len(partial), fill-literal)]...)
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

// total sums the statistics of the views once.
func (s *search) total() {
	var tokens int64
	s.stats = statistics{}
	for _, v := range s.views {
		s.stats.add(v.snap.Totals(), &tokens)
	}
}

// literal collects and scores the documents that hold the whole phrase.
func (s *search) literal(ctx context.Context) ([]*hit, error) {
	if len(s.phrase) == 0 {
		return nil, nil
	}
	s.total()
	found := make([][]Posting, len(s.views))
	var df int64
	for i, v := range s.views {
		var err error
		if found[i], err = s.match(ctx, v); err != nil {
			return nil, err
		}
		df += int64(len(found[i]))
	}
	idf := s.stats.idf(df)
	var hits []*hit
	for i, v := range s.views {
		some, err := s.keep(ctx, v, found[i])
		if err != nil {
			return nil, err
		}
		for _, h := range some {
			if h.score = int64(h.count); s.order == Relevance {
				h.score = round(s.stats.term(idf, h.count, h.doc.Tokens), h.doc.Role)
			}
		}
		hits = append(hits, some...)
	}
	return s.withoutInherited(hits), nil
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
func (s *search) match(ctx context.Context, v *view) ([]Posting, error) {
	var within []Span
	if s.only != nil {
		within = []Span{SpanOf(s.only.row.Num)}
	}
	if len(s.phrase) <= maxTerms {
		return v.snap.Match(ctx, s.phrase, within)
	}
	var common []Posting
	pieces, last := min(maxPieces, (len(s.phrase)+maxTerms-1)/maxTerms), len(s.phrase)-maxTerms
	for i := range pieces {
		at := last * i / (pieces - 1) // spread from the first token to the last
		piece, err := v.snap.Match(ctx, s.phrase[at:at+maxTerms], within)
		if err != nil {
			return nil, err
		}
		if common = intersect(common, piece, i == 0); len(common) <= fewMatches {
			break
		}
	}
	kept := common[:0]
	for _, p := range common {
		text, err := v.snap.Text(ctx, p.Doc)
		if err != nil {
			return nil, err
		}
		if n := document.CountSpans(text, s.phrase); n > 0 {
			kept = append(kept, Posting{p.Doc, int32(n)})
		}
	}
	return kept, nil
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

// partial collects and scores the documents that hold some of the tokens,
// token by token.
func (s *search) partial(ctx context.Context) ([]*hit, error) {
	terms := slices.Compact(slices.Sorted(slices.Values(s.phrase)))
	if len(terms) < 2 {
		return nil, nil
	}
	terms = terms[:min(len(terms), maxTerms)]
	type found struct {
		term     string
		postings [][]Posting // by view
		df       int64
	}
	all := make([]found, len(terms))
	for i, t := range terms {
		all[i] = found{term: t, postings: make([][]Posting, len(s.views))}
		for j, v := range s.views {
			p, err := v.snap.Match(ctx, []string{t}, nil)
			if err != nil {
				return nil, err
			}
			all[i].postings[j] = p
			all[i].df += int64(len(p))
		}
	}
	slices.SortFunc(all, func(a, b found) int { return cmp.Or(cmp.Compare(a.df, b.df), cmp.Compare(a.term, b.term)) })
	s.rarest = nil
	for _, f := range all {
		s.rarest = append(s.rarest, f.term)
	}
	var hits []*hit
	for j, v := range s.views {
		var union []Posting
		for _, f := range all {
			union = append(union, f.postings[j]...)
		}
		slices.SortFunc(union, func(a, b Posting) int { return cmp.Compare(a.Doc, b.Doc) })
		union = sumCounts(union)
		kept, err := s.keep(ctx, v, union)
		if err != nil {
			return nil, err
		}
		scores := make([]float64, len(kept))
		for _, f := range all {
			idf, at := s.stats.idf(f.df), 0
			for _, p := range f.postings[j] {
				for at < len(kept) && kept[at].doc.Doc < p.Doc {
					at++
				}
				if at < len(kept) && kept[at].doc.Doc == p.Doc {
					scores[at] += s.stats.term(idf, p.Count, kept[at].doc.Tokens)
				}
			}
		}
		for i, h := range kept {
			h.score = round(scores[i], h.doc.Role)
		}
		hits = append(hits, kept...)
	}
	return s.withoutInherited(hits), nil
}

// sumCounts merges neighbours of the same document.
func sumCounts(sorted []Posting) []Posting {
	out := sorted[:0]
	for _, p := range sorted {
		if n := len(out); n > 0 && out[n-1].Doc == p.Doc {
			out[n-1].Count += p.Count
			continue
		}
		out = append(out, p)
	}
	return out
}

// keep reads the metadata of postings in allowed sessions and applies the event filter.
func (s *search) keep(ctx context.Context, v *view, postings []Posting) ([]*hit, error) {
	ids := make([]DocID, 0, len(postings))
	counts := make([]int32, 0, len(postings))
	var last *entry
	lastNum, ok := int64(-1), false
	for _, p := range postings {
		if num := p.Doc.Session(); num != lastNum {
			lastNum, last = num, v.sessions[num]
			ok = last != nil && s.allow(last)
		}
		if ok {
			ids, counts = append(ids, p.Doc), append(counts, p.Count)
		}
	}
	if len(ids) == 0 {
		return nil, nil
	}
	docs, err := v.snap.Documents(ctx, ids)
	if err != nil {
		return nil, err
	}
	hits := make([]*hit, 0, len(docs))
	for i, d := range docs {
		pass, err := s.passes(ctx, v, v.sessions[d.Doc.Session()], d)
		if err != nil {
			return nil, err
		}
		if pass {
			hits = append(hits, &hit{view: v, session: v.sessions[d.Doc.Session()], doc: d, count: counts[i]})
		}
	}
	return hits, nil
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
