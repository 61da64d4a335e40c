package postgres

import (
	"context"
	"slices"

	"github.com/jackc/pgx/v5"
)

// run is all surface events from first to last.
type run struct{ first, last int64 }

// neighbours knows where some events stand among all surface events of a session:
// what becomes of them is stored as runs. It is read for the events that an
// operation names, however long the session is.
type neighbours map[int64]place

// place is where an event stands among the surface events: its number (-1: it is
// none of them), and the seqs of those beside it (-1: there is none).
type place struct {
	n             int32
	before, after int64
}

// neighboursOf reads the places of events. Each is found by its key, not by a join
// for which the whole session might be read; both says that before is wanted.
func (w *Writer) neighboursOf(ctx context.Context, num int64, seqs []int64, both bool) (neighbours, error) {
	seqs = slices.Compact(slices.Sorted(slices.Values(seqs)))
	all := make(neighbours, len(seqs))
	if len(seqs) == 0 {
		return all, nil
	}
	rows, err := w.tx.Query(ctx, `SELECT asked.seq,
			coalesce((SELECT d.n FROM yore.document d WHERE d.ws_key = $1 AND d.num = $2 AND d.seq = asked.seq AND d.flags & 1 <> 0), -1),
			coalesce((SELECT d.seq FROM yore.document d WHERE d.ws_key = $1 AND d.num = $2 AND d.seq > asked.seq AND d.flags & 1 <> 0 ORDER BY d.seq LIMIT 1), -1),
			CASE WHEN $4 THEN coalesce((SELECT d.seq FROM yore.document d WHERE d.ws_key = $1 AND d.num = $2 AND d.seq < asked.seq AND d.flags & 1 <> 0 ORDER BY d.seq DESC LIMIT 1), -1) ELSE -1 END
		FROM unnest($3::bigint[]) AS asked (seq)`, w.key, num, seqs, both)
	if err != nil {
		return nil, err
	}
	var seq int64
	var p place
	_, err = pgx.ForEachRow(rows, []any{&seq, &p.n, &p.after, &p.before}, func() error {
		all[seq] = p
		return nil
	})
	return all, err
}

// isSurface reports whether an event is one of the surface.
func (s neighbours) isSurface(seq int64) bool { p, ok := s[seq]; return ok && p.n >= 0 }

// follows reports whether b is the surface event right behind the surface event a.
func (s neighbours) follows(a, b int64) bool { return s.isSurface(a) && s[a].after == b }

// runs says seqs of surface events, in their order, as runs. A seq that is no
// surface event stands alone.
func (s neighbours) runs(seqs []int64) (out []run) {
	for i := 0; i < len(seqs); {
		one := run{seqs[i], seqs[i]}
		for i++; i < len(seqs) && s.follows(one.last, seqs[i]); i++ {
			one.last = seqs[i]
		}
		out = append(out, one)
	}
	return out
}

// citationRun returns the longest run at the start of ascending seqs, how many of
// them it holds, and whether it is one of surface events.
func (s neighbours) citationRun(seqs []int64) (one run, n int, whole bool) {
	for n = 1; n < len(seqs) && seqs[n] == seqs[n-1]+1; n++ {
	}
	count := 1
	for count < len(seqs) && s.follows(seqs[count-1], seqs[count]) {
		count++
	}
	if count > n {
		return run{seqs[0], seqs[count-1]}, count, true
	}
	return run{seqs[0], seqs[n-1]}, n, false
}
