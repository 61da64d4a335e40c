package ingest

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/yorehq/yore/reader"
	"github.com/yorehq/yore/session"
)

// memory is a store that knows surface events and nothing else. asked counts
// what it has handed out.
type memory struct {
	Writer
	nodes map[int64]session.Node
	asked int
}

func (m *memory) Current(_ context.Context, _ int64, from, to int64) (out []session.Node, _ error) {
	for _, n := range m.nodes {
		if n.By < 0 && n.Order >= from && n.Order < to {
			out = append(out, n)
		}
	}
	m.asked += len(out)
	slices.SortFunc(out, func(a, b session.Node) int { return cmp.Compare(a.Order, b.Order) })
	return out, nil
}

func (m *memory) Nodes(_ context.Context, _ int64, seqs []int64) (out []session.Node, _ error) {
	for _, seq := range slices.Compact(slices.Sorted(slices.Values(seqs))) {
		if n, ok := m.nodes[seq]; ok {
			out = append(out, n)
		}
	}
	m.asked += len(out)
	return out, nil
}

func (m *memory) note(e session.Event, c session.Change) {
	for _, seq := range c.Removed {
		n := m.nodes[seq]
		n.By = e.Seq
		m.nodes[seq] = n
	}
	for _, n := range c.Restored {
		m.nodes[n.Seq] = n
	}
	if c.Joined {
		m.nodes[e.Seq] = session.Node{Seq: e.Seq, Type: e.Type, Order: c.Order, By: -1}
	}
}

// next makes up an event: mostly one that the rules allow, of any kind.
func next(r *rand.Rand, whole *session.Fold) session.Event {
	e := session.Event{Seq: whole.Next(), Type: session.UserMessage, Op: session.Op{Kind: session.OpAppend}}
	list := whole.Surface()
	any := func() int64 { return r.Int64N(e.Seq + 2) }
	switch x := r.IntN(12); {
	case x < 2 && len(list) > 0: // a range of the list
		from := r.IntN(len(list))
		part := list[from : from+1+r.IntN(len(list)-from)]
		e.Sources = slices.Clone(part)
		e.Op = session.Op{Kind: session.OpReplace, Start: part[0], End: part[len(part)-1]}
		if r.IntN(8) == 0 {
			e.Op.Start, e.Op.End = e.Op.End, e.Op.Start
		}
	case x < 4 && len(list) > 0: // keeps a beginning, brings others back
		e.Op = session.Op{Kind: session.OpSelect, Keep: -1}
		at := r.IntN(len(list) + 1)
		if at > 0 {
			e.Op.Keep = list[at-1]
		}
		e.Type = "x/rewind"
		for seq := range e.Seq {
			state, _ := whole.State(seq)
			if r.IntN(3) == 0 && (state == session.Shadowed || slices.Contains(list[at:], seq)) {
				e.Op.Nodes = append(e.Op.Nodes, seq)
			}
		}
		r.Shuffle(len(e.Op.Nodes), func(i, j int) { e.Op.Nodes[i], e.Op.Nodes[j] = e.Op.Nodes[j], e.Op.Nodes[i] })
	case x == 4 && r.IntN(3) == 0: // anything
		e.Op = session.Op{Kind: session.OpReplace, Start: any(), End: any()}
	case x == 5 && r.IntN(3) == 0:
		e.Type, e.Op = "x/rewind", session.Op{Kind: session.OpSelect, Keep: any() - 1, Nodes: []int64{any(), any()}}
	case x == 6:
		e.Type, e.Op = "x/note", session.Op{}
	}
	return e
}

// A fold that is told of the store as little as its next event needs does what
// one does that knows everything: the same changes, and the same refusals in
// the same words.
func TestSurfaceInParts(t *testing.T) {
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 3))
		m := &memory{nodes: map[int64]session.Node{}}
		whole, s := &session.Fold{}, &Stored{Num: 1}
		part := newSurface(0)
		for range 120 {
			e := next(r, whole)
			if err := part.supply(t.Context(), m, 1, &e); err != nil {
				t.Fatal(err)
			}
			got, gotErr := part.fold.Apply(&e)
			want, wantErr := whole.Apply(&e)
			if fmt.Sprint(gotErr) != fmt.Sprint(wantErr) {
				t.Fatalf("seed %d, %+v: %v, want %v", seed, e, gotErr, wantErr)
			}
			if wantErr != nil { // it leaves a fold unusable
				whole = session.Restore(whole.Next(), restorable(m.nodes))
				part = newSurface(whole.Next())
				continue
			}
			if fmt.Sprint(got) != fmt.Sprint(want) {
				t.Fatalf("seed %d, %+v: %+v, want %+v", seed, e, got, want)
			}
			m.note(e, want)
			s.Position.Next = whole.Next()
			switch r.IntN(6) {
			case 0: // another process goes on
				part = newSurface(s.Position.Next)
			case 1: // this one does, in its next transaction
				k := keep(part, s, r.IntN(5)+1)
				ok := false
				if part, ok = k.of(s); !ok {
					t.Fatal("a surface that was kept is not taken")
				}
			}
		}
	}
}

func restorable(nodes map[int64]session.Node) (all []session.Node) {
	for _, n := range nodes {
		all = append(all, n)
	}
	slices.SortFunc(all, func(a, b session.Node) int { return cmp.Compare(a.Order, b.Order) })
	return all
}

// What is kept is for a session that stands where it stood and for no other.
func TestKeptSurface(t *testing.T) {
	at := func(change func(*Stored)) *Stored {
		s := &Stored{Num: 7, Mapping: "m", Position: reader.Position{Next: 2, Offset: 9, Check: 3, State: []byte(`{}`)}}
		change(s)
		return s
	}
	u := newSurface(2)
	k := keep(u, at(func(*Stored) {}), 4)
	if got, ok := k.of(at(func(*Stored) {})); !ok || got != u {
		t.Error("the session as it was is not recognised")
	}
	for name, change := range map[string]func(*Stored){
		"another session": func(s *Stored) { s.Num++ }, "another header": func(s *Stored) { s.Header.Cwd = "/x" },
		"another mapping": func(s *Stored) { s.Mapping = "n" }, "more events": func(s *Stored) { s.Position.Next++ },
		"another offset": func(s *Stored) { s.Position.Offset++ }, "other bytes": func(s *Stored) { s.Position.Check++ },
		"another file": func(s *Stored) { s.Position.Stamp.Inode++ }, "another state": func(s *Stored) { s.Position.State = nil },
	} {
		if _, ok := k.of(at(change)); ok {
			t.Errorf("%s: taken for the same", name)
		}
	}
	if _, ok := (*kept)(nil).of(at(func(*Stored) {})); ok {
		t.Error("nothing was kept")
	}
}

// A long log whose context is compacted now and then, with a result replaced
// every few events, asks the store for a bounded number of nodes at a time.
func TestSurfaceAsksForLittle(t *testing.T) {
	m := &memory{nodes: map[int64]session.Node{}}
	whole := &session.Fold{}
	const events, transaction, context = 40_000, 200, 1000
	part := newSurface(0)
	for whole.Next() < events {
		e := session.Event{Seq: whole.Next(), Type: session.UserMessage, Op: session.Op{Kind: session.OpAppend}}
		if list := whole.Surface(); len(list) >= context {
			e.Sources, e.Op = list, session.Op{Kind: session.OpReplace, Start: list[0], End: list[len(list)-1]}
		} else if e.Seq%7 == 6 && len(list) > 10 {
			at := list[len(list)-5]
			e.Sources, e.Op = []int64{at}, session.Op{Kind: session.OpReplace, Start: at, End: at}
		}
		if err := part.supply(t.Context(), m, 1, &e); err != nil {
			t.Fatal(err)
		}
		c, err := part.fold.Apply(&e)
		if err == nil {
			_, err = whole.Apply(&e)
		}
		if err != nil {
			t.Fatal(err)
		}
		m.note(e, c)
		if e.Seq%transaction == 0 {
			part = newSurface(whole.Next())
		}
	}
	// Each compaction looks at its context, and each transaction at its last entries.
	if most := events + events/transaction*20; m.asked > most {
		t.Errorf("%d nodes were asked for, want at most %d", m.asked, most)
	}
}
