package sqlite

import (
	"context"

	"github.com/yorehq/yore/query"
)

// cursor finds the records of one session by number or by seq. It keeps the
// block it read last, so it must not outlive a change of the records.
type cursor struct {
	c       *conn
	num     int64
	entries int64 // how many records the session has
	block   int64 // the block kept; -1: none
	data    []byte
}

func (c *conn) cursor(ctx context.Context, num int64) (*cursor, error) {
	entries, err := c.integer(ctx, `SELECT entries FROM sessions WHERE num = ?`, num)
	return &cursor{c: c, num: num, entries: entries, block: -1}, err
}

// at returns the record with a number in the session.
func (k *cursor) at(ctx context.Context, n int64) (record, error) {
	id := query.NewDocID(k.num, n)
	if blockOf(id) != k.block {
		k.data = k.data[:0]
		err := k.c.rowsOf(ctx, `SELECT data FROM records WHERE block = ?`, func(r row) error {
			var err error
			k.data, err = unseal(blockOf(id), r.ColumnBlob(0, k.data[:0]))
			return err
		}, blockOf(id))
		if err != nil {
			k.block = -1
			return record{}, k.c.fail(ctx, err)
		}
		k.block = blockOf(id)
	}
	r, err := decodeRecord(k.data, slotOf(id))
	return r, k.c.fail(ctx, err)
}

// seek returns the number of the first record with at least this seq; entries
// if there is none. Seqs ascend evenly for the most part, so that a place is
// mostly guessed within a block or two; every other step halves what is left,
// so that it never takes long.
func (k *cursor) seek(ctx context.Context, seq int64) (int64, error) {
	low, high := int64(0), k.entries // the record is not before low, and not behind high
	least, most := int64(0), int64(-1)
	for guess := true; low < high; guess = !guess {
		mid := (low + high) / 2
		switch {
		case !guess:
		case most < 0: // a record's seq is at least its number
			mid = min(seq, high-1)
		case most > least:
			mid = low + int64(float64(seq-least)/float64(most-least)*float64(high-low))
		}
		mid = min(max(mid, low), high-1)
		// A block is read whole: both of its ends are known for the price of one.
		first, last := max(mid&^(blockDocs-1), low), min(mid|(blockDocs-1), high-1)
		r, err := k.at(ctx, last)
		if err != nil {
			return 0, err
		}
		if r.seq < seq {
			low, least = last+1, r.seq+1
			continue
		}
		if r, err = k.at(ctx, first); err != nil {
			return 0, err
		}
		if r.seq >= seq {
			high, most = first, r.seq
			continue
		}
		low, high = first+1, last
		for low < high { // within the block
			mid := (low + high) / 2
			if r, err = k.at(ctx, mid); err != nil {
				return 0, err
			}
			if r.seq < seq {
				low = mid + 1
			} else {
				high = mid
			}
		}
		return low, nil
	}
	return low, nil
}

// find returns the record of an event; ok is false if it has none.
func (k *cursor) find(ctx context.Context, seq int64) (r record, n int64, ok bool, err error) {
	if n, err = k.seek(ctx, seq); err != nil || n == k.entries {
		return r, n, false, err
	}
	r, err = k.at(ctx, n)
	return r, n, err == nil && r.seq == seq, err
}

// surface walks the surface events from a number on, forwards (step 1) or
// backwards (-1), until visit returns false.
func (k *cursor) surface(ctx context.Context, n, step int64, visit func(n int64, r record) bool) error {
	for ; n >= 0 && n < k.entries; n += step {
		r, err := k.at(ctx, n)
		if err != nil {
			return err
		}
		if r.is(flagSurface) && !visit(n, r) {
			return nil
		}
	}
	return nil
}

// neighbour returns the seq of the surface event next to a seq, on the side
// that step says; ok is false if there is none.
func (k *cursor) neighbour(ctx context.Context, seq, step int64) (beside int64, ok bool, err error) {
	n, err := k.seek(ctx, seq)
	if err != nil {
		return 0, false, err
	}
	if step > 0 && n < k.entries {
		r, err := k.at(ctx, n)
		if err != nil {
			return 0, false, err
		}
		if r.seq == seq {
			n++
		}
	} else if step < 0 {
		n--
	}
	err = k.surface(ctx, n, step, func(_ int64, r record) bool {
		beside, ok = r.seq, true
		return false
	})
	return beside, ok, err
}

// run is all surface events from first to last.
type run struct{ first, last int64 }

// runs says seqs of surface events, in their order, as runs. A seq that is no
// surface event stands alone.
func (k *cursor) runs(ctx context.Context, seqs []int64) ([]run, error) {
	var out []run
	for i := 0; i < len(seqs); {
		r, n, ok, err := k.find(ctx, seqs[i])
		if err != nil {
			return nil, err
		}
		one := run{seqs[i], seqs[i]}
		i++
		if ok && r.is(flagSurface) {
			err = k.surface(ctx, n+1, 1, func(_ int64, r record) bool {
				if i == len(seqs) || seqs[i] != r.seq {
					return false
				}
				one.last = r.seq
				i++
				return true
			})
			if err != nil {
				return nil, err
			}
		}
		out = append(out, one)
	}
	return out, nil
}

// expand lists the surface events of a run, ascending.
func (k *cursor) expand(ctx context.Context, of run, dst []int64) ([]int64, error) {
	n, err := k.seek(ctx, of.first)
	if err != nil {
		return dst, err
	}
	err = k.surface(ctx, n, 1, func(_ int64, r record) bool {
		if r.seq > of.last {
			return false
		}
		dst = append(dst, r.seq)
		return true
	})
	return dst, err
}

// shadows returns the present shadow runs of a session, ascending.
func (c *conn) shadows(ctx context.Context, num int64) ([]query.Shadow, error) {
	var all []query.Shadow
	err := c.rowsOf(ctx, `SELECT first, last, by FROM shadow WHERE num = ? ORDER BY first`, func(r row) error {
		all = append(all, query.Shadow{From: r.int(0), To: r.int(1), By: r.int(2)})
		return nil
	}, num)
	return all, err
}
