package sqlite

import (
	"context"
	"math"
	"slices"

	"github.com/yorehq/yore/query"
	"github.com/yorehq/yore/session"
)

// log is one session within a snapshot.
type log struct {
	s   *snapshot
	num int64
	k   *cursor // nil: not made yet
}

var _ query.Log = (*log)(nil)

// cursor returns the cursor of the session, within enter and leave.
func (l *log) cursor(ctx context.Context) (*cursor, error) {
	if l.k == nil {
		k, err := l.s.c.cursor(ctx, l.num)
		if err != nil {
			return nil, err
		}
		l.k = k
	}
	l.k.c = l.s.c // it may have been given up meanwhile
	return l.k, nil
}

// States returns the shadow runs, from memory where they were read before: of a
// session that was compacted thousands of times they are tens of thousands.
func (l *log) States(ctx context.Context) (all []query.Shadow, err error) {
	if err := l.s.hold(); err != nil {
		return nil, err
	}
	defer l.s.leave()
	if all = l.s.x.shadows.get(l.kept()); all != nil {
		return all, nil
	}
	defer func() {
		if err == nil && all != nil {
			l.s.x.shadows.put(l.kept(), all)
		}
	}()
	if st := l.s.resting(); st != nil {
		if all, err = st.shadows(l.num); err == nil {
			return all, nil
		}
		l.s.odd(err)
	}
	c, err := l.s.connect(ctx)
	if err != nil {
		return nil, err
	}
	return c.shadows(ctx, l.num)
}

// kept is what the session's shadow runs are remembered by.
func (l *log) kept() textKey { return textKey{l.s.birth, l.s.generation, query.NewDocID(l.num, 0)} }

// Shadow returns the shadow run at seq.
func (l *log) Shadow(ctx context.Context, seq int64) (query.Shadow, error) {
	if err := l.s.hold(); err != nil {
		return query.NoShadow, err
	}
	defer l.s.leave()
	if all := l.s.x.shadows.get(l.kept()); all != nil {
		return query.RunAt(all, seq), nil
	}
	if st := l.s.resting(); st != nil {
		run, err := st.shadow(l.num, seq)
		if err == nil {
			return run, nil
		}
		l.s.odd(err)
	}
	c, err := l.s.connect(ctx)
	if err != nil {
		return query.NoShadow, err
	}
	runs, err := c.shadowsFrom(ctx, l.num, seq, seq+1)
	return query.RunAt(runs, seq), err
}

// Surface returns the current list, closing records included.
func (l *log) Surface(ctx context.Context) ([]int64, error) {
	if err := l.s.enter(ctx); err != nil {
		return nil, err
	}
	defer l.s.leave()
	nodes, err := l.s.c.standing(ctx, l.num, 0, math.MaxInt64)
	if err != nil {
		return nil, err
	}
	var list []int64
	for _, n := range nodes {
		list = append(list, n.Seq)
	}
	return list, nil
}

// Removed returns what an event took out.
func (l *log) Removed(ctx context.Context, seq int64) ([]int64, error) {
	if err := l.s.enter(ctx); err != nil {
		return nil, err
	}
	defer l.s.leave()
	k, err := l.cursor(ctx)
	if err != nil {
		return nil, err
	}
	var runs []run
	err = l.s.c.rowsOf(ctx, `SELECT first, last FROM removed WHERE num = ? AND by = ? ORDER BY n`, func(r row) error {
		runs = append(runs, run{r.int(0), r.int(1)})
		return nil
	}, l.num, seq)
	if err != nil {
		return nil, err
	}
	var list []int64
	for _, one := range runs {
		if list, err = k.expand(ctx, one, list); err != nil {
			return nil, err
		}
	}
	return list, nil
}

// Derived returns who cites an event. Runs are kept by the length of their
// reach, so each length is one short range around seq.
func (l *log) Derived(ctx context.Context, seq int64) ([]int64, error) {
	if err := l.s.enter(ctx); err != nil {
		return nil, err
	}
	defer l.s.leave()
	k, err := l.cursor(ctx)
	if err != nil {
		return nil, err
	}
	var levels []int64
	for level := int64(-1); ; {
		next := int64(-1)
		err := l.s.c.rowsOf(ctx, `SELECT level FROM citations WHERE num = ? AND level > ? ORDER BY level LIMIT 1`, func(r row) error {
			next = r.int(0)
			return nil
		}, l.num, level)
		if err != nil {
			return nil, err
		}
		if next < 0 {
			break
		}
		levels, level = append(levels, next), next
	}
	var list, whole []int64
	for _, level := range levels {
		reach := int64(1)<<min(level, 62) - 1
		err := l.s.c.rowsOf(ctx, `SELECT by, whole FROM citations WHERE num = ? AND level = ? AND first BETWEEN ? AND ? AND last >= ?`, func(r row) error {
			if r.bool(1) {
				whole = append(whole, r.int(0))
			} else {
				list = append(list, r.int(0))
			}
			return nil
		}, l.num, level, seq-reach, seq, seq)
		if err != nil {
			return nil, err
		}
	}
	if len(whole) > 0 {
		r, _, ok, err := k.find(ctx, seq)
		if err != nil {
			return nil, err
		}
		if ok && r.is(flagSurface) {
			list = append(list, whole...)
		}
	}
	slices.Sort(list)
	return slices.Compact(list), nil
}

// Checkpoint returns the nearest place to read from, the start of the source if
// none is kept.
func (l *log) Checkpoint(ctx context.Context, seq int64) (session.Checkpoint, error) {
	if err := l.s.enter(ctx); err != nil {
		return session.Checkpoint{}, err
	}
	defer l.s.leave()
	p, _, err := l.s.c.checkpoint(ctx, l.num, seq)
	if err == nil {
		err = l.s.c.until(ctx, l.num, &p)
	}
	return p, err
}

// Documents returns the entries of a range of events.
func (l *log) Documents(ctx context.Context, from, to int64) ([]query.Document, error) {
	if err := l.s.enter(ctx); err != nil {
		return nil, err
	}
	defer l.s.leave()
	k, err := l.cursor(ctx)
	if err != nil {
		return nil, err
	}
	named, err := l.s.named(ctx)
	if err != nil {
		return nil, err
	}
	n, err := k.seek(ctx, from)
	if err != nil {
		return nil, err
	}
	var out []query.Document
	for ; n < k.entries; n++ {
		r, err := k.at(ctx, n)
		if err != nil {
			return nil, err
		}
		if r.seq > to {
			break
		}
		out = append(out, r.document(query.NewDocID(l.num, n), named))
	}
	return out, nil
}
