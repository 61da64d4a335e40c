package sqlite

import (
	"cmp"
	"context"
	"math"
	"slices"

	"github.com/yorehq/yore/query"
	"github.com/yorehq/yore/session"
)

// node is a surface event as the shard knows it.
type node struct {
	session.Node
	provisional bool
}

// far is how many seqs of a shadow run are rather hopped over than passed one by one.
const far = 8 * blockDocs

// standing returns the current surface events of a session whose position keys
// are at least from and below to, in their order. What it costs grows with what
// it returns and with the runs of shadowed events between.
func (c *conn) standing(ctx context.Context, num, from, to int64) ([]node, error) {
	if to <= from {
		return nil, nil
	}
	k, err := c.cursor(ctx, num)
	if err != nil {
		return nil, err
	}
	types, err := c.names(ctx, "types")
	if err != nil {
		return nil, err
	}
	all, err := k.moved(ctx, types, from, to)
	if err != nil {
		return nil, err
	}
	placed := len(all)
	if all, err = k.appended(ctx, types, all, from, to); err != nil {
		return nil, err
	}
	if placed > 0 {
		slices.SortFunc(all, func(a, b node) int { return cmp.Compare(a.Order, b.Order) })
	}
	return all, nil
}

// appended adds to dst the current events that stand where they were appended.
func (k *cursor) appended(ctx context.Context, types map[uint32]string, dst []node, from, to int64) ([]node, error) {
	first, end := (from+1<<session.OrderBits-1)>>session.OrderBits, to>>session.OrderBits
	if to&(1<<session.OrderBits-1) != 0 {
		end++
	}
	n, err := k.seek(ctx, first)
	if err != nil {
		return dst, err
	}
	keyed, err := k.keyed(ctx, n, end)
	if err != nil {
		return dst, err
	}
	shadows, err := k.c.shadowsFrom(ctx, k.num, first, end)
	if err != nil {
		return dst, err
	}
	for n < k.entries {
		r, err := k.at(ctx, n)
		if err != nil {
			return dst, err
		}
		if r.seq >= end {
			break
		}
		for len(shadows) > 0 && shadows[0].To < r.seq {
			shadows = shadows[1:]
		}
		if len(shadows) > 0 && shadows[0].From <= r.seq {
			n++
			if shadows[0].To-r.seq >= far {
				behind, err := k.seek(ctx, shadows[0].To+1)
				if err != nil {
					return dst, err
				}
				n = max(n, behind) // damaged records need not ascend
			}
			continue
		}
		if r.is(flagSurface) && !keyed[n] {
			dst = append(dst, r.node(types, defaultOrder(r.seq), -1))
		}
		n++
	}
	return dst, nil
}

// keyed returns which records from the n-th on, of events below a seq, have a
// key of their own.
func (k *cursor) keyed(ctx context.Context, n, end int64) (map[int64]bool, error) {
	last, err := k.seek(ctx, end)
	if err != nil {
		return nil, err
	}
	keyed := map[int64]bool{}
	err = k.c.rowsOf(ctx, `SELECT doc FROM orders WHERE doc BETWEEN ? AND ?`, func(r row) error {
		keyed[r.int(0)-int64(query.NewDocID(k.num, 0))] = true
		return nil
	}, int64(query.NewDocID(k.num, n)), int64(query.NewDocID(k.num, last)))
	return keyed, err
}

// moved returns the current events with a position key of their own in a range.
func (k *cursor) moved(ctx context.Context, types map[uint32]string, from, to int64) (out []node, err error) {
	type place struct{ n, key int64 }
	var places []place
	err = k.c.rowsOf(ctx, `SELECT doc, key FROM orders WHERE doc >> 24 = ? AND key >= ? AND key < ?`, func(r row) error {
		places = append(places, place{r.int(0) - int64(query.NewDocID(k.num, 0)), r.int(1)})
		return nil
	}, k.num, from, to)
	if err != nil {
		return nil, err
	}
	slices.SortFunc(places, func(a, b place) int { return cmp.Compare(a.n, b.n) })
	var over query.Shadow
	for _, p := range places {
		r, err := k.at(ctx, p.n)
		if err != nil {
			return nil, err
		}
		by, err := k.c.shadowing(ctx, k.num, r.seq, &over)
		if err != nil {
			return nil, err
		}
		if r.is(flagSurface) && by < 0 {
			out = append(out, r.node(types, p.key, -1))
		}
	}
	return out, nil
}

// nodesAt returns the surface events among seqs, ascending.
func (c *conn) nodesAt(ctx context.Context, num int64, seqs []int64) (out []node, err error) {
	k, err := c.cursor(ctx, num)
	if err != nil {
		return nil, err
	}
	types, err := c.names(ctx, "types")
	if err != nil {
		return nil, err
	}
	seqs = slices.Compact(slices.Sorted(slices.Values(seqs)))
	var over query.Shadow
	for _, seq := range seqs {
		r, n, ok, err := k.find(ctx, seq)
		if err != nil {
			return nil, err
		}
		if !ok || !r.is(flagSurface) {
			continue
		}
		by, err := c.shadowing(ctx, num, seq, &over)
		if err != nil {
			return nil, err
		}
		key := defaultOrder(seq)
		err = c.rowsOf(ctx, `SELECT key FROM orders WHERE doc = ?`, func(r row) error {
			key = r.int(0)
			return nil
		}, int64(query.NewDocID(num, n)))
		if err != nil {
			return nil, err
		}
		out = append(out, r.node(types, key, by))
	}
	return out, nil
}

// node gives a record the form that a fold knows.
func (r *record) node(types map[uint32]string, order, by int64) node {
	return node{session.Node{Seq: r.seq, Type: types[r.kind], Sameness: r.same(), Order: order, By: by}, r.is(flagProvisional)}
}

// shadowing returns who shadows the event at seq, -1 if nobody. over is the run
// that was found before: neighbours lie in one.
func (c *conn) shadowing(ctx context.Context, num, seq int64, over *query.Shadow) (by int64, err error) {
	if over.From > seq || over.To < seq || over.To == 0 {
		*over = query.Shadow{From: math.MaxInt64}
		err = c.rowsOf(ctx, `SELECT first, last, by FROM shadow WHERE num = ? AND first <= ? ORDER BY first DESC LIMIT 1`, func(r row) error {
			*over = query.Shadow{From: r.int(0), To: r.int(1), By: r.int(2)}
			return nil
		}, num, seq)
	}
	if err != nil || over.From > seq || over.To < seq {
		return -1, err
	}
	return over.By, nil
}

// shadowsFrom returns the present shadow runs that reach into the seqs from
// first to below end, ascending.
func (c *conn) shadowsFrom(ctx context.Context, num, first, end int64) (all []query.Shadow, err error) {
	err = c.rowsOf(ctx, `SELECT first, last, by FROM shadow WHERE num = ?1 AND first < ?3
		AND first >= coalesce((SELECT max(first) FROM shadow WHERE num = ?1 AND first <= ?2), 0) ORDER BY first`, func(r row) error {
		all = append(all, query.Shadow{From: r.int(0), To: r.int(1), By: r.int(2)})
		return nil
	}, num, first, end)
	return all, err
}
