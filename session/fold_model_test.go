package session_test

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/yorehq/yore/session"
)

// model is the surface told as plainly as the rules tell it: a slice. It takes
// no shortcut and is slow on purpose; Fold must agree with it.
type model struct {
	next     int64
	list     []int64
	kind     map[int64]string // every surface event seen, and its type
	sameness map[int64]uint64
	by       map[int64]int64 // who took it out, while it is out
}

func newModel() *model {
	return &model{kind: map[int64]string{}, sameness: map[int64]uint64{}, by: map[int64]int64{}}
}

// apply folds e in and returns false if a rule forbids it; removed is in surface order.
func (m *model) apply(e session.Event) (removed []int64, ok bool) {
	surface := slices.Contains([]string{"user/message", "assistant/message", "tool/result"}, e.Type)
	if e.Seq != m.next {
		return nil, false
	}
	if e.Sources != nil {
		if !surface || e.Op.Kind == session.OpSelect || len(e.Sources) == 0 && e.Type != "assistant/message" {
			return nil, false
		}
		for i, s := range e.Sources {
			if s < 0 || s >= e.Seq || slices.Contains(e.Sources[:i], s) {
				return nil, false
			}
		}
	}
	switch e.Op.Kind {
	case session.OpNone:
		if surface {
			return nil, false
		}
		m.next += max(e.Span, 1)
		return nil, true
	case session.OpSelect:
		return m.choose(e)
	}
	if !surface {
		return nil, false
	}
	at, end := len(m.list), len(m.list)
	if e.Op.Kind == session.OpReplace {
		at, end = slices.Index(m.list, e.Op.Start), slices.Index(m.list, e.Op.End)+1
		if at < 0 || end <= at {
			return nil, false
		}
		removed = slices.Clone(m.list[at:end])
		for _, r := range removed {
			if !slices.Contains(e.Sources, r) {
				return nil, false
			}
		}
		if e.Type == "tool/result" {
			if len(removed) != 1 || m.kind[removed[0]] != "tool/result" {
				return nil, false
			}
			if a, b := m.sameness[removed[0]], e.Sameness; a != b && a != 0 && b != 0 {
				return nil, false
			}
		}
	}
	for _, r := range removed {
		m.by[r] = e.Seq
	}
	m.list = slices.Concat(m.list[:at], []int64{e.Seq}, m.list[end:])
	m.kind[e.Seq], m.sameness[e.Seq] = e.Type, e.Sameness
	m.next++
	return removed, true
}

func (m *model) choose(e session.Event) (removed []int64, ok bool) {
	keep := 0
	if e.Op.Keep >= 0 {
		keep = slices.Index(m.list, e.Op.Keep) + 1
		if keep == 0 {
			return nil, false
		}
	}
	list := slices.Clone(m.list[:keep])
	for _, n := range e.Op.Nodes {
		if m.kind[n] == "" || slices.Contains(list, n) {
			return nil, false
		}
		list = append(list, n)
	}
	for _, n := range m.list {
		if !slices.Contains(list, n) {
			removed = append(removed, n)
			m.by[n] = e.Seq
		}
	}
	for _, n := range list {
		delete(m.by, n)
	}
	m.list = list
	m.next++
	return removed, true
}

// shelf remembers the surface as a store does: from changes alone.
type shelf map[int64]session.Node

func (s shelf) record(e session.Event, c session.Change) {
	if c.Joined {
		s[e.Seq] = session.Node{Seq: e.Seq, Type: e.Type, Sameness: e.Sameness, Order: c.Order, By: -1}
	}
	for _, r := range c.Removed {
		n := s[r]
		n.By = e.Seq
		s[r] = n
	}
	for _, n := range c.Restored {
		s[n.Seq] = n
	}
}

func (s shelf) nodes() []session.Node {
	var all []session.Node
	for _, n := range s {
		all = append(all, n)
	}
	return sorted(all)
}

// dice makes decisions; a fuzzer's bytes and a seeded source both can.
type dice interface{ IntN(n int) int }

type byteDice struct{ rest []byte }

func (b *byteDice) IntN(n int) int {
	if len(b.rest) == 0 {
		return 0
	}
	v := int(b.rest[0])
	b.rest = b.rest[1:]
	return v % n
}

// invent makes the next event: mostly a legal one, sometimes a broken one.
func invent(d dice, m *model) session.Event {
	types := []string{session.UserMessage, session.AssistantMessage, session.ToolResult}
	e := session.Event{Seq: m.next, Type: types[d.IntN(3)], Op: session.Op{Kind: session.OpAppend}}
	if e.Type == session.ToolResult {
		e.Sameness = uint64(d.IntN(3))
	}
	some := func() int64 { return int64(d.IntN(int(m.next)+2)) - 1 }
	switch x := d.IntN(16); {
	case x < 2:
		e = session.Event{Seq: m.next, Span: int64(d.IntN(4)), Type: session.AssistantChunk}
	case x < 6 && len(m.list) > 0: // a legal replacement, if the type fits
		i := d.IntN(len(m.list))
		j := min(i+d.IntN(4), len(m.list)-1)
		e.Op = session.Op{Kind: session.OpReplace, Start: m.list[i], End: m.list[j]}
		e.Sources = slices.Clone(m.list[i : j+1])
		if d.IntN(3) == 0 {
			slices.Reverse(e.Sources)
		}
		if d.IntN(12) == 0 {
			e.Sources = e.Sources[1:]
		}
	case x < 9: // a select that keeps a prefix and brings some back
		e.Type, e.Sameness = "codex/rollback", 0
		e.Op = session.Op{Kind: session.OpSelect, Keep: -1}
		var kept []int64
		if i := d.IntN(len(m.list) + 1); i > 0 {
			kept = m.list[:i]
			e.Op.Keep = m.list[i-1]
		}
		for range d.IntN(4) {
			n := some()
			if m.kind[n] != "" && !slices.Contains(kept, n) && !slices.Contains(e.Op.Nodes, n) || d.IntN(20) == 0 {
				e.Op.Nodes = append(e.Op.Nodes, n)
			}
		}
	case x == 9: // anything at all
		e.Op = session.Op{Kind: session.OpKind(d.IntN(4)), Start: some(), End: some(), Keep: some()}
		for range d.IntN(3) {
			e.Sources = append(e.Sources, some())
		}
	case x == 10:
		e.Sources = []int64{}
	case x == 11:
		e.Seq += int64(d.IntN(3)) - 1
	}
	return e
}

// compare runs fold, model and shelf side by side over rounds events. At times
// the fold is thrown away and made again from the shelf, as after a restart.
func compare(t *testing.T, d dice, rounds int) {
	f, m, s := new(session.Fold), newModel(), shelf{}
	for range rounds {
		e := invent(d, m)
		want, legal := m.apply(e)
		c, err := f.Apply(&e)
		if (err == nil) != legal {
			t.Fatalf("event %+v: error %v, the rules allow it: %v", e, err, legal)
		}
		if err != nil {
			f = session.Restore(m.next, s.nodes()) // a refused event leaves the fold unusable
			continue
		}
		s.record(e, c)
		if !slices.Equal(want, c.Removed) {
			t.Fatalf("event %+v removes %v, want %v", e, c.Removed, want)
		}
		agree(t, f, m, s)
		if d.IntN(5) == 0 {
			f = session.Restore(m.next, s.nodes())
			agree(t, f, m, s)
		}
	}
}

// agree checks everything that can be asked of a fold.
func agree(t *testing.T, f *session.Fold, m *model, s shelf) {
	t.Helper()
	if f.Next() != m.next {
		t.Fatalf("next is %d, want %d", f.Next(), m.next)
	}
	if !slices.Equal(m.list, f.Surface()) {
		t.Fatalf("surface %v, want %v", f.Surface(), m.list)
	}
	for seq := range m.next {
		want, wantBy := session.LogOnly, int64(-1)
		if m.kind[seq] != "" {
			want = session.Current
			if by, out := m.by[seq]; out {
				want, wantBy = session.Shadowed, by
			}
		}
		if got, by := f.State(seq); got != want || by != wantBy {
			t.Fatalf("event %d is %v by %d, want %v by %d", seq, got, by, want, wantBy)
		}
	}
	nodes := sorted(f.Nodes())
	if kept := s.nodes(); !slices.Equal(kept, nodes) {
		t.Fatalf("nodes kept from changes %+v, nodes of the fold %+v", kept, nodes)
	}
	// The promise of Order: ascending keys of the current nodes are the surface.
	current := slices.DeleteFunc(nodes, func(n session.Node) bool { return n.By >= 0 })
	for i, n := range current {
		if n.Seq != m.list[i] || i > 0 && cmp.Compare(n.Order, current[i-1].Order) <= 0 {
			t.Fatalf("keys do not give the surface %v: %+v", m.list, current)
		}
	}
}

func TestFoldAgreesWithModel(t *testing.T) {
	for seed := range uint64(300) {
		compare(t, rand.New(rand.NewPCG(seed, 1)), 60)
	}
}

func FuzzFold(f *testing.F) {
	for seed := range uint64(4) {
		r := rand.New(rand.NewPCG(seed, 2))
		b := make([]byte, 200)
		for i := range b {
			b[i] = byte(r.IntN(256))
		}
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		compare(t, &byteDice{b}, min(len(b)/2, 200))
	})
}

// The model itself is checked by hand on the example of the rules' page, so
// that fold and model cannot share an error in it.
func TestModelByHand(t *testing.T) {
	m := newModel()
	for _, e := range []session.Event{user(0), user(1), user(2), user(3), replace(4, 1, 2, 1, 2), choose(5, 4, 1, 0)} {
		if _, ok := m.apply(e); !ok && e.Seq != 5 {
			t.Fatalf("event %d is refused", e.Seq)
		} else if ok && e.Seq == 5 {
			t.Fatal("0 is kept already and may not be selected again")
		}
	}
	if !slices.Equal(m.list, []int64{0, 4, 3}) || m.by[1] != 4 || m.by[2] != 4 {
		t.Errorf("list %v, by %v", m.list, m.by)
	}
	if removed, ok := m.apply(choose(5, 4, 1)); !ok || !slices.Equal(removed, []int64{3}) || !slices.Equal(m.list, []int64{0, 4, 1}) {
		t.Errorf("removed %v, list %v", removed, m.list)
	}
}
