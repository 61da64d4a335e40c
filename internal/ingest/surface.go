package ingest

import (
	"bytes"
	"context"

	"github.com/yorehq/yore/reader"
	"github.com/yorehq/yore/session"
)

// surface is the fold of a session that goes on where a store stands, together
// with how much of the store's list it knows: everything from a position key
// on. An operation asks for what lies before, and no more: a log of a million
// events is not looked through for each compaction.
type surface struct {
	fold  *session.Fold
	floor int64 // the fold knows every current event whose position key is at least this
}

// newSurface is the surface of a log of which next events are in the store. No
// position key of theirs reaches that of the next append.
func newSurface(next int64) *surface {
	f := &session.Fold{}
	f.Resume(next)
	return &surface{f, next << session.OrderBits}
}

// supply gives the fold what it needs to know for an event. What the store lacks
// yet, the fold has met; what lies below the floor, no operation of this run has
// touched, so that the store is right about it.
func (u *surface) supply(ctx context.Context, w Writer, num int64, e *session.Event) error {
	switch e.Op.Kind {
	case session.OpReplace:
		return u.reach(ctx, w, num, e.Op.Start, e.Op.End)
	case session.OpSelect:
		var err error
		if e.Op.Keep < 0 {
			err = u.extend(ctx, w, num, 0)
		} else {
			err = u.reach(ctx, w, num, e.Op.Keep)
		}
		if err != nil {
			return err
		}
		return u.reach(ctx, w, num, e.Op.Nodes...)
	}
	return nil
}

// reach makes events known, and the list from the earliest of the current ones on.
func (u *surface) reach(ctx context.Context, w Writer, num int64, seqs ...int64) error {
	var unknown []int64
	for _, seq := range seqs {
		if !u.fold.Knows(seq) {
			unknown = append(unknown, seq)
		}
	}
	if len(unknown) == 0 {
		return nil
	}
	nodes, err := w.Nodes(ctx, num, unknown)
	if err != nil {
		return err
	}
	from, gone := u.floor, nodes[:0]
	for _, n := range nodes {
		if n.By < 0 {
			from = min(from, n.Order)
		} else {
			gone = append(gone, n)
		}
	}
	u.fold.Tell(gone)
	return u.extend(ctx, w, num, from)
}

// extend makes the list known from a position key on.
func (u *surface) extend(ctx context.Context, w Writer, num, from int64) error {
	if from >= u.floor {
		return nil
	}
	nodes, err := w.Current(ctx, num, from, u.floor)
	if err != nil {
		return err
	}
	u.fold.Extend(nodes)
	u.floor = from
	return nil
}

// kept is a surface between two transactions, and where the session stood.
type kept struct {
	*surface
	num     int64
	header  session.Header
	mapping string
	at      reader.Position
}

// maxKept bounds the memory of a surface that is kept: where a context ends
// sooner or later, it is all of it.
const maxKept = 1 << 15

// keep remembers the last entries of a surface, at most so many, for the next
// transaction, the store having all of it by now.
func keep(u *surface, s *Stored, most int) *kept {
	if first, cut := u.fold.Forget(most); cut {
		u.floor = first
	}
	return &kept{u, s.Num, s.Header, s.Mapping, s.Position}
}

// of returns the surface if the session still stands where it stood: the same
// bytes, read in the same way, give the same fold, whoever read them.
func (k *kept) of(s *Stored) (*surface, bool) {
	if k == nil || k.num != s.Num || k.header != s.Header || k.mapping != s.Mapping {
		return nil, false
	}
	a, b := k.at, s.Position
	same := a.Next == b.Next && a.Offset == b.Offset && a.Check == b.Check && a.Stamp == b.Stamp && bytes.Equal(a.State, b.State)
	return k.surface, same && k.fold.Next() == b.Next
}
