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

// changeSurface applies removals and returns event by event: what one event takes
// out a later one of the same batch may bring back, and the reverse.
func (w *Writer) changeSurface(ctx context.Context, num int64, b *ingest.Batch) error {
	if len(b.Removals)+len(b.Restored) == 0 {
		return nil
	}
	var seqs []int64
	for i := range b.Removals {
		seqs = append(seqs, b.Removals[i].Seqs...)
	}
	for i := range b.Restored {
		seqs = append(seqs, b.Restored[i].Seq)
	}
	s, err := w.neighboursOf(ctx, num, seqs, len(b.Restored) > 0)
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
func (w *Writer) remove(ctx context.Context, num int64, s neighbours, r *ingest.Removal) error {
	var ns, moved []int32
	var firsts, lasts []int64
	for _, seq := range r.Seqs {
		if s.isSurface(seq) {
			moved = append(moved, s[seq].n)
		}
	}
	for n, one := range s.runs(r.Seqs) {
		ns, firsts, lasts = append(ns, int32(n)), append(firsts, one.first), append(lasts, one.last)
	}
	err := w.exec(ctx, `INSERT INTO yore.removed (ws_key, num, by, n, first, last) SELECT $1, $2, $3, * FROM unnest($4::int[], $5::bigint[], $6::bigint[])`,
		w.key, num, r.By, ns, firsts, lasts)
	if err != nil {
		return err
	}
	// The keys of what is gone are of no use: what comes back gets one anew.
	if len(moved) > 0 {
		if err := w.exec(ctx, `DELETE FROM yore.position WHERE ws_key = $1 AND num = $2 AND n = ANY ($3)`, w.key, num, moved); err != nil {
			return err
		}
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
func (w *Writer) restore(ctx context.Context, num int64, s neighbours, nodes []session.Node) error {
	for len(nodes) > 0 {
		// One select at a time: two may bring back the same node.
		by, n := nodes[0].Order>>session.OrderBits, 0
		var seqs []int64
		var keys pgx.Batch
		for ; n < len(nodes) && nodes[n].Order>>session.OrderBits == by; n++ {
			seqs = append(seqs, nodes[n].Seq)
			if s.isSurface(nodes[n].Seq) {
				keys.Queue(putPosition, w.key, num, s[nodes[n].Seq].n, nodes[n].Order)
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
func (w *Writer) lift(ctx context.Context, num int64, s neighbours, runs []run) error {
	if len(runs) == 0 {
		return nil
	}
	shadows, err := w.shadowsOver(ctx, num, runs)
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
			if last := s[out.first].before; one.From < out.first && last >= one.From {
				kept = append(kept, query.Shadow{From: one.From, To: last, By: one.By})
				b.Queue(putShadow, w.key, num, one.From, last, one.By)
			}
			if first := s[out.last].after; one.To > out.last && first >= 0 && first <= one.To {
				kept = append(kept, query.Shadow{From: first, To: one.To, By: one.By})
				b.Queue(putShadow, w.key, num, first, one.To, one.By)
			}
		}
		shadows = kept
	}
	return w.send(ctx, &b)
}

// shadowsOver returns the present shadow runs that overlap some runs. Shadow runs
// are disjoint: beside those that begin inside, one may reach in.
func (w *Writer) shadowsOver(ctx context.Context, num int64, runs []run) ([]query.Shadow, error) {
	var firsts, lasts []int64
	for _, r := range runs {
		firsts, lasts = append(firsts, r.first), append(lasts, r.last)
	}
	return readShadows(ctx, w.tx, `SELECT DISTINCT s.first, s.last, s.by FROM unnest($3::bigint[], $4::bigint[]) AS lifted (first, last) CROSS JOIN LATERAL (
			(SELECT first, last, by FROM yore.shadow WHERE ws_key = $1 AND num = $2 AND first < lifted.first ORDER BY first DESC LIMIT 1)
			UNION ALL (SELECT first, last, by FROM yore.shadow WHERE ws_key = $1 AND num = $2 AND first BETWEEN lifted.first AND lifted.last ORDER BY first)) s
		WHERE s.last >= lifted.first ORDER BY s.first`, w.key, num, firsts, lasts)
}

// shadowsOf returns the present shadow runs of a session, ascending.
func shadowsOf(ctx context.Context, tx pgx.Tx, key, num int64) ([]query.Shadow, error) {
	return readShadows(ctx, tx, `SELECT first, last, by FROM yore.shadow WHERE ws_key = $1 AND num = $2 ORDER BY first`, key, num)
}

// shadowsIn returns those that reach into the seqs from low to high, ascending.
func shadowsIn(ctx context.Context, tx pgx.Tx, key, num, low, high int64) ([]query.Shadow, error) {
	return readShadows(ctx, tx, `SELECT first, last, by FROM yore.shadow WHERE ws_key = $1 AND num = $2 AND first <= $4 AND first >=
			coalesce((SELECT first FROM yore.shadow WHERE ws_key = $1 AND num = $2 AND first <= $3 ORDER BY first DESC LIMIT 1), 0)
		ORDER BY first`, key, num, low, high)
}

func readShadows(ctx context.Context, tx pgx.Tx, sql string, args ...any) (all []query.Shadow, err error) {
	rows, err := tx.Query(ctx, sql, args...)
	if err != nil {
		return nil, err
	}
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
	sorted, gapped := make([][]int64, len(citations)), []int64(nil)
	for i := range citations {
		s := slices.Sorted(slices.Values(citations[i].Sources))
		if sorted[i] = s; len(s) > 1 && s[len(s)-1]-s[0] != int64(len(s)-1) {
			gapped = append(gapped, s...)
		}
	}
	s, err := w.neighboursOf(ctx, num, gapped, false)
	if err != nil {
		return err
	}
	for i, sources := range sorted {
		for len(sources) > 0 {
			one, n, whole := s.citationRun(sources)
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
