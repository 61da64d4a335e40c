package sqlite

import (
	"context"
	"math/bits"
	"slices"

	"github.com/yorehq/yore/internal/ingest"
	"github.com/yorehq/yore/query"
	"github.com/yorehq/yore/session"
)

// changeSurface applies removals and returns event by event: what one event
// takes out a later one of the same batch may bring back, and the reverse.
func (w *writer) changeSurface(ctx context.Context, k *cursor, b *ingest.Batch) error {
	restored := b.Restored
	for i := range b.Removals {
		removal := &b.Removals[i]
		// A node that comes back carries a key made of the seq that brought it.
		early := 0
		for early < len(restored) && restored[early].Order>>session.OrderBits < removal.By {
			early++
		}
		if err := w.restore(ctx, k, restored[:early]); err != nil {
			return err
		}
		restored = restored[early:]
		if err := w.remove(ctx, k, removal); err != nil {
			return err
		}
	}
	return w.restore(ctx, k, restored)
}

// remove records what an event took out: for ever in surface order, and as the
// present state.
func (w *writer) remove(ctx context.Context, k *cursor, r *ingest.Removal) error {
	runs, err := k.runs(ctx, r.Seqs)
	if err != nil {
		return err
	}
	for n, one := range runs {
		if err := w.c.exec(ctx, `INSERT INTO removed VALUES (?, ?, ?, ?, ?)`, k.num, r.By, n, one.first, one.last); err != nil {
			return err
		}
	}
	for _, one := range runs {
		if err := w.c.exec(ctx, `INSERT INTO shadow VALUES (?, ?, ?, ?)`, k.num, one.first, one.last, r.By); err != nil {
			return err
		}
	}
	return nil
}

// restore gives nodes their new keys and takes them out of the shadow runs.
func (w *writer) restore(ctx context.Context, k *cursor, nodes []session.Node) error {
	for len(nodes) > 0 {
		// One select at a time: two may bring back the same node.
		by, n := nodes[0].Order>>session.OrderBits, 0
		var seqs []int64
		for n < len(nodes) && nodes[n].Order>>session.OrderBits == by {
			seqs = append(seqs, nodes[n].Seq)
			_, at, ok, err := k.find(ctx, nodes[n].Seq)
			if err != nil {
				return err
			}
			if ok {
				if err := w.putOrder(ctx, query.NewDocID(k.num, at), nodes[n].Order); err != nil {
					return err
				}
			}
			n++
		}
		nodes = nodes[n:]
		slices.Sort(seqs)
		runs, err := k.runs(ctx, seqs)
		if err != nil {
			return err
		}
		for _, one := range runs {
			if err := w.lift(ctx, k, one); err != nil {
				return err
			}
		}
	}
	return nil
}

// lift takes a run of surface events out of the shadow runs that overlap it.
func (w *writer) lift(ctx context.Context, k *cursor, out run) error {
	var over []query.Shadow
	collect := func(r row) error {
		over = append(over, query.Shadow{From: r.int(0), To: r.int(1), By: r.int(2)})
		return nil
	}
	// Runs are disjoint: beside those that begin inside, one may reach in.
	err := w.c.rowsOf(ctx, `SELECT first, last, by FROM shadow WHERE num = ? AND first < ? ORDER BY first DESC LIMIT 1`, collect, k.num, out.first)
	if err == nil {
		err = w.c.rowsOf(ctx, `SELECT first, last, by FROM shadow WHERE num = ? AND first BETWEEN ? AND ?`, collect, k.num, out.first, out.last)
	}
	if err != nil {
		return err
	}
	for _, s := range over {
		if s.To < out.first {
			continue
		}
		if err := w.c.exec(ctx, `DELETE FROM shadow WHERE num = ? AND first = ?`, k.num, s.From); err != nil {
			return err
		}
		if s.From < out.first {
			last, ok, err := k.neighbour(ctx, out.first, -1)
			if err != nil {
				return err
			}
			if ok && last >= s.From {
				if err := w.c.exec(ctx, `INSERT INTO shadow VALUES (?, ?, ?, ?)`, k.num, s.From, last, s.By); err != nil {
					return err
				}
			}
		}
		if s.To > out.last {
			first, ok, err := k.neighbour(ctx, out.last, 1)
			if err != nil {
				return err
			}
			if ok && first <= s.To {
				if err := w.c.exec(ctx, `INSERT INTO shadow VALUES (?, ?, ?, ?)`, k.num, first, s.To, s.By); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// addCitations records who cites whom. Sources are taken as a set: the event's
// own record keeps their order.
func (w *writer) addCitations(ctx context.Context, k *cursor, citations []ingest.Citation) error {
	for i := range citations {
		sources := slices.Sorted(slices.Values(citations[i].Sources))
		for len(sources) > 0 {
			one, n, whole, err := k.citationRun(ctx, sources)
			if err != nil {
				return err
			}
			sources = sources[n:]
			level := bits.Len64(uint64(one.last - one.first))
			err = w.c.exec(ctx, `INSERT INTO citations VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING`, k.num, level, one.first, citations[i].By, one.last, whole)
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// citationRun returns the longest run at the start of ascending seqs, how many
// of them it holds, and whether it is one of surface events.
func (k *cursor) citationRun(ctx context.Context, seqs []int64) (one run, n int, whole bool, err error) {
	n = 1
	for n < len(seqs) && seqs[n] == seqs[n-1]+1 {
		n++
	}
	one = run{seqs[0], seqs[n-1]}
	if n == len(seqs) {
		return one, n, false, nil
	}
	r, at, ok, err := k.find(ctx, seqs[0])
	if err != nil || !ok || !r.is(flagSurface) {
		return one, n, false, err
	}
	count, last := 0, int64(0)
	err = k.surface(ctx, at, 1, func(_ int64, r record) bool {
		if count == len(seqs) || seqs[count] != r.seq {
			return false
		}
		last = r.seq
		count++
		return true
	})
	if count > n {
		return run{seqs[0], last}, count, true, err
	}
	return one, n, false, err
}

const (
	checkpointEvents = 64
	checkpointBytes  = 64 << 10
)

// addCheckpoints keeps a checkpoint only if it is dear, or far enough behind the
// last one kept: reading from a checkpoint is cheap within these bounds.
func (w *writer) addCheckpoints(ctx context.Context, num int64, all []session.Checkpoint) error {
	if len(all) == 0 {
		return nil
	}
	last, any, err := w.c.checkpoint(ctx, num, session.MaxSafe)
	if err != nil {
		return err
	}
	for _, p := range all {
		if any && p.State == "" && (last.State != "" || !p.Dear && !farBehind(last, p)) {
			continue
		}
		err := w.c.exec(ctx, `INSERT INTO checkpoints VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING`,
			num, p.Seq, p.Place.Part, p.Place.Offset, p.Place.Inner, []byte(p.State))
		if err != nil {
			return err
		}
		last, any = p, true
	}
	return nil
}

// farBehind reports whether p is worth keeping after last.
func farBehind(last, p session.Checkpoint) bool {
	a, b := last.Place, p.Place
	return p.Seq-last.Seq >= checkpointEvents || a.Part != b.Part || b.Offset-a.Offset >= checkpointBytes ||
		a.Offset == b.Offset && b.Inner-a.Inner >= checkpointBytes
}

// addBreaks keeps which events end what a state is good for.
func (w *writer) addBreaks(ctx context.Context, num int64, all []int64) error {
	for _, seq := range all {
		if err := w.c.exec(ctx, `INSERT INTO breaks VALUES (?, ?) ON CONFLICT DO NOTHING`, num, seq); err != nil {
			return err
		}
	}
	return nil
}

// until completes a checkpoint with the first event that does not follow from
// its state.
func (c *conn) until(ctx context.Context, num int64, p *session.Checkpoint) error {
	if p.State == "" {
		return nil
	}
	return c.rowsOf(ctx, `SELECT seq FROM breaks WHERE num = ? AND seq >= ? ORDER BY seq LIMIT 1`, func(r row) error {
		p.Until = r.int(0)
		return nil
	}, num, p.Seq)
}

// checkpoint returns the nearest one with a seq ≤ seq; ok is false if there is none.
func (c *conn) checkpoint(ctx context.Context, num, seq int64) (p session.Checkpoint, ok bool, err error) {
	err = c.rowsOf(ctx, `SELECT seq, part, place, inner, state FROM checkpoints WHERE num = ? AND seq <= ? ORDER BY seq DESC LIMIT 1`, func(r row) error {
		p = session.Checkpoint{Seq: r.int(0), Place: session.Place{Part: r.int(1), Offset: r.int(2), Inner: r.int(3)}, State: string(r.blob(4))}
		ok = true
		return nil
	}, num, seq)
	return p, ok, err
}
