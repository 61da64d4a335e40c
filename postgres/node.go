package postgres

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5"

	"github.com/yorehq/yore/fault"
	"github.com/yorehq/yore/internal/ingest"
	"github.com/yorehq/yore/query"
	"github.com/yorehq/yore/session"
)

// What a fold asks of a session's surface is read by keys and by ranges of them,
// as deep loops: a join might be planned so that the whole session is read, which
// a session that is sent in many small pushes would pay for with each of them.

// node is a surface event as the database knows it.
type node struct {
	session.Node
	provisional bool
	moved       bool // its key is not the default of an append
}

// nodeColumns are a surface event (d) and its key.
const nodeColumns = `d.seq, d.kind, d.own, d.flags, (SELECT p.key FROM yore.position p WHERE p.ws_key = $1 AND p.num = $2 AND p.n = d.n)`

// shadowedBy is who shadows it. Shadow runs are disjoint: the one that begins last
// before an event holds it, or none does.
const shadowedBy = `coalesce((SELECT CASE WHEN s.last >= d.seq THEN s.by ELSE -1 END FROM yore.shadow s
	WHERE s.ws_key = $1 AND s.num = $2 AND s.first <= d.seq ORDER BY s.first DESC LIMIT 1), -1)`

// surfaceEvent is a surface event of the session, to be found by what follows.
const surfaceEvent = `SELECT seq, kind, own, flags, n FROM yore.document WHERE ws_key = $1 AND num = $2 AND flags & 1 <> 0`

// nodes reads surface events, in the order of the statement.
func nodes(ctx context.Context, tx pgx.Tx, sql string, args ...any) (all []node, err error) {
	rows, err := tx.Query(ctx, sql, args...)
	if err != nil {
		return nil, err
	}
	var one node
	var own int64
	var kind []byte
	var flags int16
	var order *int64
	_, err = pgx.ForEachRow(rows, []any{&one.Seq, &kind, &own, &flags, &order, &one.By}, func() error {
		n := one
		n.Type, n.Order, n.provisional, n.moved = string(kind), defaultOrder(n.Seq), flags&flagProvisional != 0, order != nil
		if flags&flagNative == 0 {
			n.Sameness = uint64(own)
		}
		if order != nil {
			n.Order = *order
		}
		all = append(all, n)
		return nil
	})
	return all, err
}

// standing returns the current events of a session whose keys lie in a range, in
// order: those with a key of their own by it, the others by their seqs, which
// their keys are made of, without what is shadowed. What it costs grows with what
// it returns and with the runs of shadowed events between.
func standing(ctx context.Context, tx pgx.Tx, key, num, from, to int64) ([]node, error) {
	if to <= from {
		return nil, nil
	}
	low, high := (from+(1<<session.OrderBits)-1)>>session.OrderBits, (to-1)>>session.OrderBits
	if from > 1<<62 {
		low = from >> session.OrderBits // no seq is so high
	}
	shadows, err := shadowsIn(ctx, tx, key, num, low, high)
	if err != nil {
		return nil, err
	}
	lows, highs := between(shadows, low, high)
	all, err := nodes(ctx, tx, `SELECT `+nodeColumns+`, -1::bigint FROM unnest($3::bigint[], $4::bigint[]) AS gap (low, high)
		CROSS JOIN LATERAL (`+surfaceEvent+` AND seq BETWEEN gap.low AND gap.high OFFSET 0) d`, key, num, lows, highs)
	if err != nil {
		return nil, err
	}
	moved, err := nodes(ctx, tx, `SELECT `+nodeColumns+`, `+shadowedBy+` FROM yore.position k
		CROSS JOIN LATERAL (`+surfaceEvent+` AND n = k.n OFFSET 0) d WHERE k.ws_key = $1 AND k.num = $2 AND k.key >= $3 AND k.key < $4`, key, num, from, to)
	all = append(slices.DeleteFunc(all, func(n node) bool { return n.moved }), slices.DeleteFunc(moved, func(n node) bool { return n.By >= 0 })...)
	slices.SortFunc(all, func(a, b node) int { return cmp.Or(cmp.Compare(a.Order, b.Order), cmp.Compare(a.Seq, b.Seq)) })
	return all, err
}

// between returns the ranges from low to high that no shadow run covers, of which
// there are some, ascending.
func between(shadows []query.Shadow, low, high int64) (lows, highs []int64) {
	for _, s := range shadows {
		if s.From > low {
			lows, highs = append(lows, low), append(highs, min(s.From-1, high))
		}
		low = max(low, s.To+1)
	}
	if low <= high {
		lows, highs = append(lows, low), append(highs, high)
	}
	return lows, highs
}

var _ ingest.Writer = (*Writer)(nil)

// Current returns the current events of a range in order.
func (w *Writer) Current(ctx context.Context, num, from, to int64) ([]session.Node, error) {
	if w.tx == nil {
		return nil, fmt.Errorf("%w: the transaction is over", fault.IndexFailed)
	}
	return lasting(standing(ctx, w.tx, w.key, num, from, to))
}

// Nodes returns the surface events among seqs.
func (w *Writer) Nodes(ctx context.Context, num int64, seqs []int64) ([]session.Node, error) {
	if w.tx == nil {
		return nil, fmt.Errorf("%w: the transaction is over", fault.IndexFailed)
	}
	return lasting(nodes(ctx, w.tx, `SELECT `+nodeColumns+`, `+shadowedBy+` FROM unnest($3::bigint[]) AS asked (seq)
		CROSS JOIN LATERAL (`+surfaceEvent+` AND seq = asked.seq OFFSET 0) d ORDER BY d.seq`, w.key, num, slices.Compact(slices.Sorted(slices.Values(seqs)))))
}

// lasting leaves provisional events out.
func lasting(all []node, err error) ([]session.Node, error) {
	out := make([]session.Node, 0, len(all))
	for _, n := range all {
		if !n.provisional {
			out = append(out, n.Node)
		}
	}
	return out, err
}
