package postgres

import (
	"context"
	"errors"
	"math"
	"slices"

	"github.com/jackc/pgx/v5"

	"github.com/yorehq/yore/query"
	"github.com/yorehq/yore/session"
)

// log is one session within a snapshot.
type log struct {
	s   *snapshot
	num int64
}

var _ query.Log = (*log)(nil)

// States returns the shadow runs.
func (l *log) States(ctx context.Context) (all []query.Shadow, err error) {
	err = l.s.read(ctx, func(tx pgx.Tx) error {
		all, err = shadowsOf(ctx, tx, l.s.key, l.num)
		return err
	})
	return all, err
}

// Shadow returns the shadow run at seq.
func (l *log) Shadow(ctx context.Context, seq int64) (run query.Shadow, err error) {
	run = query.NoShadow
	err = l.s.read(ctx, func(tx pgx.Tx) error {
		var near query.Shadow
		err := tx.QueryRow(ctx, `SELECT first, last, by FROM yore.shadow WHERE ws_key = $1 AND num = $2 AND first <= $3
			ORDER BY first DESC LIMIT 1`, l.s.key, l.num, seq).Scan(&near.From, &near.To, &near.By)
		if errors.Is(err, pgx.ErrNoRows) {
			return nil
		}
		if err == nil && near.To >= seq {
			run = near
		}
		return err
	})
	return run, err
}

// Surface returns the current list, closing records included.
func (l *log) Surface(ctx context.Context) (list []int64, err error) {
	err = l.s.read(ctx, func(tx pgx.Tx) error {
		all, err := standing(ctx, tx, l.s.key, l.num, 0, math.MaxInt64)
		for _, n := range all {
			list = append(list, n.Seq)
		}
		return err
	})
	return list, err
}

// Removed returns what an event took out.
func (l *log) Removed(ctx context.Context, seq int64) (list []int64, err error) {
	err = l.s.read(ctx, func(tx pgx.Tx) error {
		list, err = seqsOf(ctx, tx, `SELECT d.seq FROM yore.removed r JOIN yore.document d
			ON d.ws_key = r.ws_key AND d.num = r.num AND d.seq BETWEEN r.first AND r.last AND d.flags & 1 <> 0
			WHERE r.ws_key = $1 AND r.num = $2 AND r.by = $3 ORDER BY r.n, d.seq`, l.s.key, l.num, seq)
		return err
	})
	return list, err
}

// Derived returns who cites an event. Runs are kept by the length of their reach,
// so each length is one short range around seq.
func (l *log) Derived(ctx context.Context, seq int64) (list []int64, err error) {
	err = l.s.read(ctx, func(tx pgx.Tx) error {
		// From level to level, without a look at what lies between.
		levels, err := seqsOf(ctx, tx, `WITH RECURSIVE l (level) AS (
				SELECT min(level) FROM yore.citation WHERE ws_key = $1 AND num = $2
				UNION ALL SELECT (SELECT min(c.level) FROM yore.citation c WHERE c.ws_key = $1 AND c.num = $2 AND c.level > l.level) FROM l WHERE l.level IS NOT NULL
			) SELECT level::bigint FROM l WHERE level IS NOT NULL`, l.s.key, l.num)
		if err != nil || len(levels) == 0 {
			return err
		}
		var lows []int64
		for _, level := range levels {
			lows = append(lows, seq-(int64(1)<<min(level, 62)-1))
		}
		list, err = seqsOf(ctx, tx, `SELECT DISTINCT c.by FROM unnest($3::smallint[], $4::bigint[]) AS reach (level, low) JOIN yore.citation c
			ON c.ws_key = $1 AND c.num = $2 AND c.level = reach.level AND c.first BETWEEN reach.low AND $5 AND c.last >= $5
			WHERE NOT c.whole OR EXISTS (SELECT FROM yore.document d WHERE d.ws_key = $1 AND d.num = $2 AND d.seq = $5 AND d.flags & 1 <> 0)
			ORDER BY c.by`, l.s.key, l.num, shorts(levels), lows, seq)
		return err
	})
	return list, err
}

func shorts(all []int64) []int16 {
	out := make([]int16, len(all))
	for i, n := range all {
		out[i] = int16(n)
	}
	return out
}

// Checkpoint returns the nearest place to read from, the start of the source if
// none is kept.
func (l *log) Checkpoint(ctx context.Context, seq int64) (p session.Checkpoint, err error) {
	err = l.s.read(ctx, func(tx pgx.Tx) error {
		if p, _, err = checkpointOf(ctx, tx, l.s.key, l.num, seq); err != nil || p.State == "" {
			return err
		}
		// Completed with the first event that does not follow from its state.
		ends, err := seqsOf(ctx, tx, `SELECT seq FROM yore.break WHERE ws_key = $1 AND num = $2 AND seq >= $3 ORDER BY seq LIMIT 1`, l.s.key, l.num, p.Seq)
		if len(ends) > 0 {
			p.Until = ends[0]
		}
		return err
	})
	return p, err
}

// Documents returns the entries of a range of events.
func (l *log) Documents(ctx context.Context, from, to int64) (all []query.Document, err error) {
	err = l.s.read(ctx, func(tx pgx.Tx) error {
		all, err = documentsOf(ctx, tx, ` WHERE ws_key = $1 AND num = $2 AND seq BETWEEN $3 AND $4 ORDER BY seq`, l.s.key, l.num, from, to)
		return err
	})
	return all, err
}

// seqsOf reads one column of numbers.
func seqsOf(ctx context.Context, tx pgx.Tx, sql string, args ...any) (all []int64, err error) {
	rows, err := tx.Query(ctx, sql, args...)
	if err != nil {
		return nil, err
	}
	var n int64
	_, err = pgx.ForEachRow(rows, []any{&n}, func() error {
		all = append(all, n)
		return nil
	})
	return slices.Clip(all), err
}

// documentsOf reads the metadata of documents.
func documentsOf(ctx context.Context, tx pgx.Tx, where string, args ...any) (all []query.Document, err error) {
	rows, err := tx.Query(ctx, `SELECT num, n, seq, at, own, points, tokens, role, flags, kind, tool FROM yore.document`+where, args...)
	if err != nil {
		return nil, err
	}
	var h held
	var num int64
	var kind, tool []byte
	_, err = pgx.ForEachRow(rows, []any{&num, &h.n, &h.seq, &h.at, &h.own, &h.points, &h.tokens, &h.role, &h.flags, &kind, &tool}, func() error {
		d := h.document(query.NewDocID(num, int64(h.n)))
		d.Type, d.Tool = string(kind), string(tool)
		all = append(all, d)
		return nil
	})
	return all, err
}
