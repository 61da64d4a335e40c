package query

import (
	"cmp"
	"math"
	"strings"
)

// Ranking in a drawing:
//
//	postings (doc, count)   from the store, for the whole phrase or for each token
//	   │  N, df, mean length: over all searched shards together
//	   ▼
//	score(doc) = Σ over terms  idf(df) · tf·(k1+1) / (tf + k1·(1 − b + b·len/mean))
//	   │  times Role.Weight, rounded to millionths so that machines agree
//	   ▼
//	order: score ↓, length in code points ↑, time ↓, session id ↑ (bytes), seq ↓
//	   │
//	   ▼
//	the first hit of a session in this order represents it
//
// In the order matches the score is the number of matched spans instead, and
// all else is the same. Both are exact to the last tie: nothing is sampled, and
// only documents are passed over that cannot be among the best (Least in store.go,
// and partial.go).
const (
	bm25K1 = 1.2
	bm25B  = 0.75
)

// statistics are what BM25 needs of the searched corpus.
type statistics struct {
	documents int64
	mean      float64 // tokens a document
}

func (s *statistics) add(t Totals, tokens *int64) {
	s.documents += t.Documents
	*tokens += t.Tokens
	if s.documents > 0 {
		s.mean = float64(*tokens) / float64(s.documents)
	}
}

// idf is ln(1 + (N − df + 0.5) / (df + 0.5)).
func (s *statistics) idf(df int64) float64 {
	return math.Log(1 + (float64(s.documents-df)+0.5)/(float64(df)+0.5))
}

// term is one term's part of BM25.
func (s *statistics) term(idf float64, count, length int32) float64 {
	norm := 1 - bm25B
	if s.mean > 0 {
		norm += bm25B * float64(length) / s.mean
	}
	tf := float64(count)
	return idf * tf * (bm25K1 + 1) / (tf + bm25K1*norm)
}

// round turns a weighted score into millionths.
func round(score float64, role Role) int64 {
	return int64(math.Round(score * role.Weight() * 1e6))
}

// hit is one matching document while it is ranked.
type hit struct {
	view    *view
	session *entry
	doc     Document
	count   int32
	score   int64
}

// compareHits is the total order of hits.
func compareHits(a, b *hit) int {
	return cmp.Or(
		cmp.Compare(b.score, a.score),
		cmp.Compare(a.doc.Points, b.doc.Points),
		cmp.Compare(b.doc.Time, a.doc.Time),
		strings.Compare(string(a.session.row.Header.ID), string(b.session.row.Header.ID)),
		cmp.Compare(b.doc.Seq, a.doc.Seq),
		strings.Compare(string(a.session.row.Header.Agent), string(b.session.row.Header.Agent)),
		strings.Compare(a.session.row.Header.Cwd, b.session.row.Header.Cwd),
	)
}
