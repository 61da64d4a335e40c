package sqlite

import (
	"context"
	"slices"
	"strings"

	"github.com/ncruces/go-sqlite3/ext/fts5"

	"github.com/yorehq/yore/fault"
	"github.com/yorehq/yore/internal/document"
	"github.com/yorehq/yore/query"
)

// maxPhrase is how many tokens one phrase may have. FTS5 walks one list a token
// side by side, so the cost of a phrase stays close to that of its tokens up to
// here; thousands of tokens would exhaust the driver's memory.
const maxPhrase = 64

// Match finds a phrase with one statement a span. No row leaves SQLite: the
// function collect, called for each matching document, notes it and returns
// NULL, which is a tenth of the price of a row.
func (s *snapshot) Match(ctx context.Context, phrase []string, within []query.Span) ([]query.Posting, error) {
	if err := s.enter(ctx); err != nil {
		return nil, err
	}
	defer s.leave()
	switch {
	case len(phrase) > maxPhrase:
		return nil, fault.New(fault.InvalidQuery, "The query has more than %d words.", maxPhrase)
	case len(phrase) == 0 || slices.ContainsFunc(phrase, foreign):
		return nil, nil
	}
	found := &collector{width: int32(len(phrase)), overlaps: document.SelfOverlaps(phrase)}
	expression := `"` + strings.Join(phrase, " ") + `"`
	s.c.found = found
	defer func() { s.c.found = nil }()
	if within == nil {
		err := s.c.rowsOf(ctx, `SELECT 1 FROM f WHERE f MATCH ? AND collect(f)`, func(row) error { return nil }, expression)
		return found.postings, err
	}
	for _, span := range merged(within) {
		err := s.c.rowsOf(ctx, `SELECT 1 FROM f WHERE f MATCH ? AND rowid BETWEEN ? AND ? AND collect(f)`,
			func(row) error { return nil }, expression, int64(span.From), int64(span.To))
		if err != nil {
			return nil, err
		}
	}
	return found.postings, nil
}

// foreign reports whether a string is no token of ours: the fold makes none
// that is empty, has capitals or other ASCII than letters and digits. Such a
// string is in no document, and would be syntax or several tokens to FTS5.
func foreign(token string) bool {
	for i := range len(token) {
		b := token[i]
		if b < 0x80 && (b < '0' || b > '9') && (b < 'a' || b > 'z') {
			return true
		}
	}
	return token == ""
}

// merged sorts spans and joins those that overlap, so that no document is
// found twice.
func merged(spans []query.Span) []query.Span {
	sorted := slices.Clone(spans)
	slices.SortFunc(sorted, func(a, b query.Span) int {
		switch {
		case a.From < b.From:
			return -1
		case a.From > b.From:
			return 1
		}
		return 0
	})
	var out []query.Span
	for _, s := range sorted {
		if s.From > s.To {
			continue
		}
		if n := len(out); n > 0 && s.From <= out[n-1].To {
			out[n-1].To = max(out[n-1].To, s.To)
			continue
		}
		out = append(out, s)
	}
	return out
}

// collector gathers the documents of one match.
type collector struct {
	width    int32 // tokens of the phrase
	overlaps bool  // matches may share tokens, so positions have to be looked at
	postings []query.Posting
}

func (f *collector) add(fts fts5.Context) error {
	if f == nil {
		return fault.IndexFailed // only Match calls the function
	}
	n, err := fts.InstCount()
	if err != nil {
		return err
	}
	count := int32(n)
	if f.overlaps && n > 1 {
		count = 0
		end := -1 // behind the last token of the span so far
		for i := range n {
			_, _, at, err := fts.Inst(i)
			if err != nil {
				return err
			}
			if at >= end {
				count++
			}
			end = at + int(f.width)
		}
	}
	f.postings = append(f.postings, query.Posting{Doc: query.DocID(fts.RowID()), Count: count})
	return nil
}
