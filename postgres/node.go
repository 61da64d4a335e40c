package postgres

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5"

	"github.com/yorehq/yore/fault"
	"github.com/yorehq/yore/internal/ingest"
	"github.com/yorehq/yore/session"
)

// node is a surface event as the database knows it.
type node struct {
	session.Node
	provisional bool
}

// nodeColumns are a surface event (d) with its key (p), if that is not the default,
// and who shadows it. Shadow runs are disjoint: the one that begins last before an
// event holds it, or none does.
const nodeColumns = `d.seq, d.kind, d.own, d.flags, p.key, coalesce((SELECT CASE WHEN s.last >= d.seq THEN s.by ELSE -1 END FROM yore.shadow s
	WHERE s.ws_key = $1 AND s.num = $2 AND s.first <= d.seq ORDER BY s.first DESC LIMIT 1), -1)`

const withPosition = ` FROM yore.document d LEFT JOIN yore.position p ON p.ws_key = d.ws_key AND p.num = d.num AND p.n = d.n
	WHERE d.ws_key = $1 AND d.num = $2 AND d.flags & 1 <> 0`

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
		n.Type, n.Order, n.provisional = string(kind), defaultOrder(n.Seq), flags&flagProvisional != 0
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
// their keys are made of.
func standing(ctx context.Context, tx pgx.Tx, key, num, from, to int64) ([]node, error) {
	low, high := (from+(1<<session.OrderBits)-1)>>session.OrderBits, (to-1)>>session.OrderBits
	if from > 1<<62 {
		low = from >> session.OrderBits // no seq is so high
	}
	all, err := nodes(ctx, tx, `SELECT `+nodeColumns+withPosition+` AND d.seq BETWEEN $3 AND $4 AND p.key IS NULL
		UNION ALL SELECT `+nodeColumns+` FROM yore.position p JOIN yore.document d ON d.ws_key = p.ws_key AND d.num = p.num AND d.n = p.n
		WHERE p.ws_key = $1 AND p.num = $2 AND p.key >= $5 AND p.key < $6 AND d.flags & 1 <> 0`, key, num, low, high, from, to)
	all = slices.DeleteFunc(all, func(n node) bool { return n.By >= 0 })
	slices.SortFunc(all, func(a, b node) int { return cmp.Or(cmp.Compare(a.Order, b.Order), cmp.Compare(a.Seq, b.Seq)) })
	return all, err
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
	return lasting(nodes(ctx, w.tx, `SELECT `+nodeColumns+withPosition+` AND d.seq = ANY ($3) ORDER BY d.seq`, w.key, num, seqs))
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
