package postgres

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/yorehq/yore/query"
)

// Budget bounds what counting one phrase may cost. A phrase that more documents
// may hold than Candidates is counted in the Window newest documents of the
// workspace only, and the snapshot says since when (Since). A search within a
// session, and one of a workspace that is no larger than the window, is always
// exact.
type Budget struct {
	Candidates int // 0: 20,000; negative: no bound
	Window     int // 0: 20,000
}

func (b Budget) resolve() Budget {
	if b.Candidates == 0 {
		b.Candidates = 20_000
	}
	if b.Window <= 0 {
		b.Window = 20_000
	}
	return b
}

// tokenKey is a phrase in a workspace.
type tokenKey struct {
	key  int64
	norm string
}

// mostMuch bounds how many common phrases are remembered.
const mostMuch = 10_000

// Since returns from which time on documents were counted that hold a common
// phrase, in epoch milliseconds; 0: everything was counted that was asked for.
// Rarer phrases of the same search were counted everywhere.
func (s *snapshot) Since() int64 { return s.since }

// whole returns the documents of the workspace that hold a phrase.
func (s *snapshot) whole(ctx context.Context, what sought) (*matches, error) {
	if m := s.phrases[what.norm]; m != nil {
		return m, nil
	}
	m := &matches{}
	budget := s.t.db.budget
	bounded := budget.Candidates > 0 && s.totals.Documents > int64(budget.Window)
	var most *int
	if bounded {
		limit := budget.Candidates + 1
		most = &limit
	}
	err := s.read(ctx, func(tx pgx.Tx) error {
		if !bounded || !s.common(what.norm) {
			candidates, err := s.collect(ctx, tx, what, &m.all, byIndex, s.key, what.norm, what.words, nil, most, what.bordered)
			if err != nil || !bounded || candidates <= budget.Candidates {
				return err
			}
			s.noteCommon(what.norm)
		}
		m.all, m.windowed = m.all[:0], true
		return s.newest(ctx, tx, what, m)
	})
	if err != nil {
		return nil, err
	}
	m.all = ordered(m.all)
	if s.kept += len(m.all); s.kept > mostMatches {
		clear(s.phrases)
		s.kept = len(m.all)
	}
	if s.phrases == nil {
		s.phrases = map[string]*matches{}
	}
	s.phrases[what.norm] = m
	return m, nil
}

// newest counts a phrase in the newest window.
func (s *snapshot) newest(ctx context.Context, tx pgx.Tx, what sought, m *matches) error {
	window := s.t.db.budget.Window
	var since int64
	err := tx.QueryRow(ctx, `SELECT at FROM yore.document WHERE ws_key = $1 ORDER BY at DESC OFFSET $2 LIMIT 1`, s.key, window-1).Scan(&since)
	if err != nil {
		return err
	}
	// Of documents of one and the same time there may be more than the window holds.
	m.size, s.since = int64(window), max(since, s.since)
	_, err = s.collect(ctx, tx, what, &m.all, inWindow, s.key, what.norm, since, 2*window, what.bordered)
	return err
}

const inWindow = `SELECT ` + heldColumns + `, spans, raw FROM (
		SELECT ` + heldColumns + `, CASE WHEN $5 THEN (strpos(norm, $2) > 0)::int ELSE (octet_length(norm) - octet_length(replace(norm, $2, ''))) / octet_length($2) END AS spans,
			CASE WHEN $5 THEN norm END AS raw
		FROM (SELECT * FROM yore.document WHERE ws_key = $1 AND at >= $3 ORDER BY at DESC LIMIT $4) newest OFFSET 0) counted WHERE spans > 0`

// common reports whether a phrase was found to be common when the workspace had
// no more documents than now.
func (s *snapshot) common(norm string) bool {
	d := s.t.db
	d.mu.Lock()
	defer d.mu.Unlock()
	documents, ok := d.much[tokenKey{s.key, norm}]
	return ok && documents <= uint64(s.totals.Documents)
}

func (s *snapshot) noteCommon(norm string) {
	d := s.t.db
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.much) >= mostMuch {
		clear(d.much)
	}
	d.much[tokenKey{s.key, norm}] = uint64(s.totals.Documents)
}

// Totals returns the statistics over all documents. How many hold a common token
// is estimated from the window.
func (s *snapshot) Totals(ctx context.Context, tokens []string) (query.Totals, error) {
	t := s.totals
	if len(tokens) == 0 {
		return t, nil
	}
	t.Holding = make([]int64, len(tokens))
	for i, token := range tokens {
		what, ok := seek([]string{token})
		if !ok {
			continue
		}
		m, err := s.whole(ctx, what)
		if err != nil {
			return t, err
		}
		t.Holding[i] = int64(len(m.all))
		if m.windowed {
			t.Holding[i] = min(t.Documents, max(1, t.Holding[i]*t.Documents/m.size))
		}
	}
	return t, nil
}
