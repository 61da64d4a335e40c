package postgres

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/yorehq/yore/fault"
	"github.com/yorehq/yore/query"
)

// snapshot is a read transaction on a connection of its own. Where more are open
// than may keep one, it has none: each call takes a transaction for itself and
// makes sure that the workspace is still at the snapshot's generation.
type snapshot struct {
	t          *Tenant
	key        int64
	generation int64
	totals     query.Totals
	conn       *pgxpool.Conn // nil: none is kept
	tx         pgx.Tx
	closed     bool
	matcher
}

var (
	_ query.Snapshot = (*snapshot)(nil)
	_ query.Bounded  = (*snapshot)(nil)
)

// Snapshot opens a view of a workspace as of its last commit. It keeps one of the
// pool's connections while there are enough.
func (t *Tenant) Snapshot(ctx context.Context, workspace string) (query.Snapshot, error) {
	for round := 0; ; round++ {
		key, err := t.keyOf(ctx, workspace)
		if key == 0 || err != nil {
			return nil, err
		}
		s := &snapshot{t: t, key: key}
		found, err := s.begin(ctx)
		if err != nil {
			return nil, fail(ctx, err)
		}
		if found {
			return s, nil
		}
		// Nothing was written yet, or it was erased and its key is remembered no more.
		t.db.forget(scopeName{t.name, workspace}, key)
		if round > 0 {
			return nil, nil
		}
	}
}

// begin takes a connection if there is one to be kept, and reads what the
// snapshot is of.
func (s *snapshot) begin(ctx context.Context) (found bool, err error) {
	d := s.t.db
	keep := false
	select {
	case d.held <- struct{}{}:
		keep = true
	default:
	}
	defer func() {
		if keep && s.conn == nil {
			<-d.held
		}
	}()
	c, err := d.pool.Acquire(ctx)
	if err != nil {
		return false, err
	}
	tx, err := d.begin(ctx, c, reading, s.reach())
	if err == nil {
		found, err = s.state(ctx, tx)
	}
	if keep && found && err == nil {
		s.conn, s.tx = c, tx
		return true, nil
	}
	if tx != nil {
		undo(tx)
	}
	c.Release()
	return found, err
}

func (s *snapshot) reach() reach { return reach{s.t.name, []int64{s.key}} }

// state reads the workspace's generation and counters.
func (s *snapshot) state(ctx context.Context, tx pgx.Tx) (found bool, err error) {
	err = tx.QueryRow(ctx, `SELECT generation, documents, tokens FROM yore.shard WHERE ws_key = $1`, s.key).
		Scan(&s.generation, &s.totals.Documents, &s.totals.Tokens)
	if errors.Is(err, pgx.ErrNoRows) {
		return false, nil
	}
	return err == nil, err
}

// read runs one look in the snapshot's transaction.
func (s *snapshot) read(ctx context.Context, look func(pgx.Tx) error) error {
	switch {
	case s.closed:
		return fmt.Errorf("%w: the snapshot is closed", fault.IndexFailed)
	case s.tx != nil:
		return fail(ctx, look(s.tx))
	}
	return s.t.db.within(ctx, reading, s.reach(), func(tx pgx.Tx) error {
		was, totals := s.generation, s.totals
		found, err := s.state(ctx, tx)
		moved := !found || s.generation != was
		if s.generation, s.totals = was, totals; err != nil {
			return err
		}
		if moved {
			return &fault.Error{
				Code: fault.StaleCursor, Cause: query.ErrMoved,
				Safe: "The history changed while more workspaces were searched than are kept open: repeat the call.",
			}
		}
		return look(tx)
	})
}

// Close ends the view. It may be called again.
func (s *snapshot) Close() error {
	s.closed = true
	if s.conn == nil {
		return nil
	}
	undo(s.tx)
	s.conn.Release()
	s.conn, s.tx = nil, nil
	<-s.t.db.held
	return nil
}

// Generation changes whenever the workspace does.
func (s *snapshot) Generation() uint64 { return uint64(s.generation) }

// keptRows are the sessions of a workspace at one generation.
type keptRows struct {
	generation int64
	rows       []query.Row
}

// mostKept bounds how many workspaces' sessions are kept.
const mostKept = 256

// Sessions returns the sessions in ascending Num, from memory while the workspace
// has not changed.
func (s *snapshot) Sessions(ctx context.Context) ([]query.Row, error) {
	d := s.t.db
	d.mu.Lock()
	kept, ok := d.rows[s.key]
	d.mu.Unlock()
	if ok && kept.generation == s.generation && !s.closed {
		return kept.rows, nil
	}
	var rows []query.Row
	err := s.read(ctx, func(tx pgx.Tx) error {
		facts, err := rowsOf(ctx, tx, ` WHERE ws_key = $1 ORDER BY num`, s.key)
		rows = make([]query.Row, len(facts))
		for i := range facts {
			rows[i] = facts[i].row
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.rows) >= mostKept {
		clear(d.rows)
	}
	if d.rows[s.key].generation <= s.generation {
		d.rows[s.key] = keptRows{s.generation, rows}
	}
	return rows, nil
}

// Documents returns metadata for ascending ids, each of which must be there.
func (s *snapshot) Documents(ctx context.Context, ids []query.DocID) (all []query.Document, err error) {
	if len(ids) == 0 {
		return nil, nil
	}
	nums, ns := keysOf(ids)
	err = s.read(ctx, func(tx pgx.Tx) error {
		all, err = documentsOf(ctx, tx, ` WHERE ws_key = $1 AND (num, n) IN (SELECT * FROM unnest($2::bigint[], $3::int[])) ORDER BY num, n`, s.key, nums, ns)
		return err
	})
	if err == nil && len(all) != len(ids) {
		err = fmt.Errorf("%w: %d of %d documents are not there", fault.IndexFailed, len(ids)-len(all), len(ids))
	}
	return all, err
}

// keysOf takes numbers of documents apart.
func keysOf(ids []query.DocID) (nums []int64, ns []int32) {
	nums, ns = make([]int64, len(ids)), make([]int32, len(ids))
	for i, id := range ids {
		nums[i], ns[i] = id.Session(), int32(id-query.NewDocID(id.Session(), 0))
	}
	return nums, ns
}

// Text returns a document's text, "" if it has none.
func (s *snapshot) Text(ctx context.Context, id query.DocID) (text string, err error) {
	nums, ns := keysOf([]query.DocID{id})
	err = s.read(ctx, func(tx pgx.Tx) error {
		var body []byte
		err := tx.QueryRow(ctx, `SELECT body FROM yore.document WHERE ws_key = $1 AND num = $2 AND n = $3`, s.key, nums[0], ns[0]).Scan(&body)
		if errors.Is(err, pgx.ErrNoRows) {
			return nil
		}
		text = string(body)
		return err
	})
	return text, err
}

// Log opens the view's part of one session.
func (s *snapshot) Log(num int64) query.Log { return &log{s: s, num: num} }

// merged sorts spans and joins those that overlap, so that no document is found
// twice.
func merged(all []query.Span) []query.Span {
	sorted := slices.Clone(all)
	slices.SortFunc(sorted, func(a, b query.Span) int { return int(min(max(a.From-b.From, -1), 1)) })
	out := []query.Span{}
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
