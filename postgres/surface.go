package postgres

import (
	"context"
	"math/bits"
	"slices"

	"github.com/jackc/pgx/v5"

	"github.com/yorehq/yore/internal/ingest"
	"github.com/yorehq/yore/query"
	"github.com/yorehq/yore/session"
)

// defaultOrder is the position key of an append, which is not stored.
func defaultOrder(seq int64) int64 { return seq << session.OrderBits }

// surface is the surface events of a session, ascending: their seqs and numbers.
type surface struct {
	seqs []int64
	ns   []int32
}

// run is all surface events from first to last.
type run struct{ first, last int64 }

// surfaceOf returns the surface events of a session, from the database once a
// transaction.
func (w *Writer) surfaceOf(ctx context.Context, num int64) (*surface, error) {
	if s := w.surfaces[num]; s != nil {
		return s, nil
	}
	s := &surface{}
	rows, err := w.tx.Query(ctx, `SELECT seq, n FROM yore.document WHERE ws_key = $1 AND num = $2 AND flags & 1 <> 0 ORDER BY n`, w.key, num)
	if err != nil {
		return nil, err
	}
	var seq int64
	var n int32
	if _, err = pgx.ForEachRow(rows, []any{&seq, &n}, func() error {
		s.seqs, s.ns = append(s.seqs, seq), append(s.ns, n)
		return nil
	}); err != nil {
		return nil, err
	}
	w.surfaces[num] = s
	return s, nil
}

// runs says seqs of surface events, in their order, as runs. A seq that is no
// surface event stands alone.
func (s *surface) runs(seqs []int64) (out []run) {
	for i := 0; i < len(seqs); {
		one := run{seqs[i], seqs[i]}
		at, ok := slices.BinarySearch(s.seqs, seqs[i])
		for i++; ok && i < len(seqs) && at+1 < len(s.seqs) && s.seqs[at+1] == seqs[i]; i++ {
			at++
			one.last = seqs[i]
		}
		out = append(out, one)
	}
	return out
}

// before and after return the surface event next to a seq.
func (s *surface) before(seq int64) (int64, bool) {
	at, _ := slices.BinarySearch(s.seqs, seq)
	if at == 0 {
		return 0, false
	}
	return s.seqs[at-1], true
}

func (s *surface) after(seq int64) (int64, bool) {
	at, ok := slices.BinarySearch(s.seqs, seq)
	if ok {
		at++
	}
	if at == len(s.seqs) {
		return 0, false
	}
	return s.seqs[at], true
}

// changeSurface applies removals and returns event by event: what one event takes
// out a later one of the same batch may bring back, and the reverse.
func (w *Writer) changeSurface(ctx context.Context, num int64, b *ingest.Batch) error {
	if len(b.Removals)+len(b.Restored) == 0 {
		return nil
	}
	s, err := w.surfaceOf(ctx, num)
	if err != nil {
		return err
	}
	restored := b.Restored
	for i := range b.Removals {
		removal := &b.Removals[i]
		// A node that comes back carries a key made of the seq that brought it.
		early := 0
		for early < len(restored) && restored[early].Order>>session.OrderBits < removal.By {
			early++
		}
		if err := w.restore(ctx, num, s, restored[:early]); err != nil {
			return err
		}
		restored = restored[early:]
		if err := w.remove(ctx, num, s, removal); err != nil {
			return err
		}
	}
	return w.restore(ctx, num, s, restored)
}

// remove records what an event took out: for ever in surface order, and as the
// present state.
func (w *Writer) remove(ctx context.Context, num int64, s *surface, r *ingest.Removal) error {
	var ns []int32
	var firsts, lasts []int64
	for n, one := range s.runs(r.Seqs) {
		ns, firsts, lasts = append(ns, int32(n)), append(firsts, one.first), append(lasts, one.last)
	}
	err := w.exec(ctx, `INSERT INTO yore.removed (ws_key, num, by, n, first, last) SELECT $1, $2, $3, * FROM unnest($4::int[], $5::bigint[], $6::bigint[])`,
		w.key, num, r.By, ns, firsts, lasts)
	if err != nil {
		return err
	}
	return w.exec(ctx, `INSERT INTO yore.shadow (ws_key, num, by, first, last) SELECT $1, $2, $3, * FROM unnest($4::bigint[], $5::bigint[])`,
		w.key, num, r.By, firsts, lasts)
}

const putShadow = `INSERT INTO yore.shadow (ws_key, num, first, last, by) VALUES ($1, $2, $3, $4, $5)`

func (w *Writer) send(ctx context.Context, b *pgx.Batch) error {
	if b.Len() == 0 {
		return nil
	}
	w.changed = true
	return w.tx.SendBatch(ctx, b).Close()
}

// restore gives nodes their new keys and takes them out of the shadow runs.
func (w *Writer) restore(ctx context.Context, num int64, s *surface, nodes []session.Node) error {
	for len(nodes) > 0 {
		// One select at a time: two may bring back the same node.
		by, n := nodes[0].Order>>session.OrderBits, 0
		var seqs []int64
		var keys pgx.Batch
		for ; n < len(nodes) && nodes[n].Order>>session.OrderBits == by; n++ {
			seqs = append(seqs, nodes[n].Seq)
			if at, ok := slices.BinarySearch(s.seqs, nodes[n].Seq); ok {
				keys.Queue(putPosition, w.key, num, s.ns[at], nodes[n].Order)
			}
		}
		nodes = nodes[n:]
		if err := w.send(ctx, &keys); err != nil {
			return err
		}
		slices.Sort(seqs)
		if err := w.lift(ctx, num, s, s.runs(seqs)); err != nil {
			return err
		}
	}
	return nil
}

// lift takes runs of surface events out of the shadow runs that overlap them.
func (w *Writer) lift(ctx context.Context, num int64, s *surface, runs []run) error {
	if len(runs) == 0 {
		return nil
	}
	shadows, err := shadowsOf(ctx, w.tx, w.key, num)
	if err != nil {
		return err
	}
	var b pgx.Batch
	for _, out := range runs {
		kept := shadows[:0:0]
		for _, one := range shadows {
			if one.To < out.first || one.From > out.last {
				kept = append(kept, one)
				continue
			}
			b.Queue(`DELETE FROM yore.shadow WHERE ws_key = $1 AND num = $2 AND first = $3`, w.key, num, one.From)
			if last, ok := s.before(out.first); ok && one.From < out.first && last >= one.From {
				kept = append(kept, query.Shadow{From: one.From, To: last, By: one.By})
				b.Queue(putShadow, w.key, num, one.From, last, one.By)
			}
			if first, ok := s.after(out.last); ok && one.To > out.last && first <= one.To {
				kept = append(kept, query.Shadow{From: first, To: one.To, By: one.By})
				b.Queue(putShadow, w.key, num, first, one.To, one.By)
			}
		}
		shadows = kept
	}
	return w.send(ctx, &b)
}

// shadowsOf returns the present shadow runs of a session, ascending.
func shadowsOf(ctx context.Context, tx pgx.Tx, key, num int64) ([]query.Shadow, error) {
	rows, err := tx.Query(ctx, `SELECT first, last, by FROM yore.shadow WHERE ws_key = $1 AND num = $2 ORDER BY first`, key, num)
	if err != nil {
		return nil, err
	}
	var all []query.Shadow
	var s query.Shadow
	_, err = pgx.ForEachRow(rows, []any{&s.From, &s.To, &s.By}, func() error {
		all = append(all, s)
		return nil
	})
	return all, err
}

// restoreBehind takes back what events from a seq on did to the surface, and what
// they cite. Such events are provisional, and append.
func (w *Writer) restoreBehind(ctx context.Context, num, first int64) error {
	for _, table := range []string{"removed", "shadow", "citation"} {
		if err := w.exec(ctx, `DELETE FROM yore.`+table+` WHERE ws_key = $1 AND num = $2 AND by >= $3`, w.key, num, first); err != nil {
			return err
		}
	}
	return w.exec(ctx, `DELETE FROM yore.checkpoint WHERE ws_key = $1 AND num = $2 AND seq >= $3`, w.key, num, first)
}

// addCitations records who cites whom, by one statement: a compaction cites
// hundreds. Sources are taken as a set: the event's own record keeps their order.
func (w *Writer) addCitations(ctx context.Context, num int64, citations []ingest.Citation) error {
	var levels []int16
	var firsts, bys, lasts []int64
	var wholes []bool
	for i := range citations {
		sources := slices.Sorted(slices.Values(citations[i].Sources))
		for len(sources) > 0 {
			var s *surface
			if len(sources) > 1 && sources[1] != sources[0]+1 {
				var err error
				if s, err = w.surfaceOf(ctx, num); err != nil {
					return err
				}
			}
			one, n, whole := citationRun(s, sources)
			sources = sources[n:]
			levels, wholes = append(levels, int16(bits.Len64(uint64(one.last-one.first)))), append(wholes, whole)
			firsts, bys, lasts = append(firsts, one.first), append(bys, citations[i].By), append(lasts, one.last)
		}
	}
	if len(levels) == 0 {
		return nil
	}
	return w.exec(ctx, `INSERT INTO yore.citation (ws_key, num, level, first, by, last, whole)
		SELECT $1, $2, * FROM unnest($3::smallint[], $4::bigint[], $5::bigint[], $6::bigint[], $7::boolean[]) ON CONFLICT DO NOTHING`,
		w.key, num, levels, firsts, bys, lasts, wholes)
}

// citationRun returns the longest run at the start of ascending seqs, how many of
// them it holds, and whether it is one of surface events (of s, which may be nil).
func citationRun(s *surface, seqs []int64) (one run, n int, whole bool) {
	for n = 1; n < len(seqs) && seqs[n] == seqs[n-1]+1; n++ {
	}
	one = run{seqs[0], seqs[n-1]}
	if n == len(seqs) || s == nil {
		return one, n, false
	}
	at, ok := slices.BinarySearch(s.seqs, seqs[0])
	count := 0
	for ; ok && count < len(seqs) && at+count < len(s.seqs) && s.seqs[at+count] == seqs[count]; count++ {
	}
	if count > n {
		return run{seqs[0], seqs[count-1]}, count, true
	}
	return one, n, false
}
