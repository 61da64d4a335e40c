package session

import (
	"fmt"
	"math"

	"github.com/yorehq/yore/fault"
)

// FoldVersion is stored with what a fold made; a change of the rules raises it.
const FoldVersion = 1

// State is what has become of an event after the fold.
type State uint8

// The states.
const (
	LogOnly  State = iota // never on the surface
	Current               // in the list
	Shadowed              // taken out, by a replacement or a select
)

var stateNames = [...]string{"log-only", "current", "shadowed"}

// String returns the public name: current, shadowed or log-only.
func (s State) String() string { return stateNames[s] }

// ParseState is the inverse of String.
func ParseState(name string) (State, bool) {
	for i, n := range stateNames {
		if n == name {
			return State(i), true
		}
	}
	return LogOnly, false
}

// Node is one surface event as a fold knows it.
type Node struct {
	Seq      int64
	Type     string
	Sameness uint64
	Order    int64 // position key: the surface is the current nodes in ascending Order
	By       int64 // who took it out; -1: it is current
}

// Change is what one event did to the surface.
type Change struct {
	Joined   bool    // the event itself is now on the surface
	Order    int64   // its position key, if it joined
	Removed  []int64 // taken out by this event, in surface order
	Restored []Node  // brought back by this event, with their new keys
}

// OrderBits is the room for the nodes of one select in a position key: the key
// of an append is its seq and so many zero bits.
const OrderBits = 20

// maxSeq is the last seq that has a position key.
const maxSeq = math.MaxInt64 >> OrderBits

// Fold applies events in sequence and keeps the surface.
//
// The surface is a linked list through a map of all surface events seen, so an
// append costs constant time and a replacement the length of what it removes:
// folding a log is linear in it. Each node carries a position key that grows
// along the list. An append's key is its own seq; a replacement inherits the
// key of the first entry it removes; nodes that a select places get keys behind
// all earlier ones. A store that remembers (seq, key, who took it out) can
// rebuild the fold with Restore, in any order, and go on where it stopped.
//
// The zero value is the fold of an empty log. A Fold is for one goroutine.
type Fold struct {
	next       int64 // seq of the next event
	nodes      map[int64]*entry
	head, tail *entry
}

type entry struct {
	Node
	prev, next *entry
}

// Restore rebuilds the fold of a log of next events from its surface events.
// Current nodes must come in ascending Order.
func Restore(next int64, nodes []Node) *Fold {
	f := &Fold{next: next, nodes: make(map[int64]*entry, len(nodes))}
	for _, n := range nodes {
		e := &entry{Node: n}
		f.nodes[n.Seq] = e
		if n.By < 0 {
			f.insertAfter(f.tail, e)
		}
	}
	return f
}

// Next returns the seq that the next event must have.
func (f *Fold) Next() int64 { return f.next }

// Resume tells an empty fold that next events came before, none of which has
// to be known. Appends work as usual; whatever refers to an earlier surface
// event needs Restore instead.
func (f *Fold) Resume(next int64) { f.next = next }

// Apply checks an event against the rules and folds it in. A failure carries
// fault.CorruptSession and leaves the fold unusable.
func (f *Fold) Apply(e *Event) (Change, error) {
	if err := f.check(e); err != nil {
		return Change{}, fmt.Errorf("%w: event %d (%s): %w", fault.CorruptSession, e.Seq, e.Type, err)
	}
	var c Change
	var err error
	switch e.Op.Kind {
	case OpAppend:
		c = Change{Joined: true, Order: e.Seq << OrderBits}
		f.insertAfter(f.tail, f.add(e, c.Order))
	case OpReplace:
		c, err = f.replace(e)
	case OpSelect:
		c, err = f.selectNodes(e)
	}
	if err != nil {
		return Change{}, fmt.Errorf("%w: event %d (%s): %w", fault.CorruptSession, e.Seq, e.Type, err)
	}
	f.next = e.Seq + e.Len()
	return c, nil
}

// Needs reports whether applying e needs the earlier surface events.
func Needs(e *Event) bool { return e.Op.Kind == OpReplace || e.Op.Kind == OpSelect }

func (f *Fold) check(e *Event) error {
	switch {
	case e.Seq != f.next:
		return fmt.Errorf("seq %d where %d is next", e.Seq, f.next)
	case e.Seq > maxSeq || e.Len()-1 > maxSeq-e.Seq:
		return fmt.Errorf("seq out of range")
	case e.Len() > 1 && e.Op.Kind != OpNone:
		return fmt.Errorf("a run of %d events on the surface", e.Len())
	case e.Op.Kind == OpSelect && e.Sources != nil:
		return fmt.Errorf("a select cites its sources")
	case SurfaceType(e.Type) && (e.Op.Kind == OpNone):
		return fmt.Errorf("no surfaceOp on a surface type")
	case !SurfaceType(e.Type) && (e.Op.Kind == OpAppend || e.Op.Kind == OpReplace):
		return fmt.Errorf("surfaceOp on a type that has none")
	case !SurfaceType(e.Type) && e.Sources != nil:
		return fmt.Errorf("sourceEventSeqs on a type that has none")
	case e.Sources != nil && len(e.Sources) == 0 && e.Type != AssistantMessage:
		return fmt.Errorf("empty sourceEventSeqs")
	}
	return checkSources(e)
}

func checkSources(e *Event) error {
	ascending := true
	for i, s := range e.Sources {
		if s < 0 || s >= e.Seq {
			return fmt.Errorf("cites %d, which is not earlier", s)
		}
		if i > 0 && s <= e.Sources[i-1] {
			ascending = false
		}
	}
	if ascending {
		return nil
	}
	seen := make(map[int64]struct{}, len(e.Sources))
	for _, s := range e.Sources {
		if _, twice := seen[s]; twice {
			return fmt.Errorf("cites %d twice", s)
		}
		seen[s] = struct{}{}
	}
	return nil
}

func (f *Fold) replace(e *Event) (Change, error) {
	from, ok := f.nodes[e.Op.Start]
	if !ok || from.By >= 0 {
		return Change{}, fmt.Errorf("replaces from %d, which is not on the surface", e.Op.Start)
	}
	if to, ok := f.nodes[e.Op.End]; !ok || to.By >= 0 {
		return Change{}, fmt.Errorf("replaces to %d, which is not on the surface", e.Op.End)
	}
	var removed []int64
	last := from
	for n := from; ; n = n.next {
		if n == nil {
			return Change{}, fmt.Errorf("replaces from %d to %d, which lies before it", e.Op.Start, e.Op.End)
		}
		removed, last = append(removed, n.Seq), n
		if n.Seq == e.Op.End {
			break
		}
	}
	if err := mayReplace(e, removed, from); err != nil {
		return Change{}, err
	}
	before, order := from.prev, from.Order
	f.cut(from, last, e.Seq)
	f.insertAfter(before, f.add(e, order))
	return Change{Joined: true, Order: order, Removed: removed}, nil
}

func mayReplace(e *Event, removed []int64, first *entry) error {
	if e.Type == ToolResult {
		switch {
		case len(removed) != 1:
			return fmt.Errorf("a tool result replaces %d entries", len(removed))
		case first.Type != ToolResult:
			return fmt.Errorf("a tool result replaces a %s", first.Type)
		case e.Sameness != first.Sameness && e.Sameness != 0 && first.Sameness != 0:
			return fmt.Errorf("a tool result changes more than the content of %d", first.Seq)
		}
	}
	cited := make(map[int64]struct{}, len(e.Sources))
	for _, s := range e.Sources {
		cited[s] = struct{}{}
	}
	for _, seq := range removed {
		if _, ok := cited[seq]; !ok {
			return fmt.Errorf("replaces %d without citing it", seq)
		}
	}
	return nil
}

func (f *Fold) selectNodes(e *Event) (Change, error) {
	if len(e.Op.Nodes) >= 1<<OrderBits {
		return Change{}, fmt.Errorf("selects %d nodes", len(e.Op.Nodes))
	}
	var keep *entry
	if e.Op.Keep >= 0 {
		n, ok := f.nodes[e.Op.Keep]
		if !ok || n.By >= 0 {
			return Change{}, fmt.Errorf("keeps up to %d, which is not on the surface", e.Op.Keep)
		}
		keep = n
	}
	first := f.head
	if keep != nil {
		first = keep.next
	}
	var taken []int64
	for n := first; n != nil; n = n.next {
		taken = append(taken, n.Seq)
	}
	if first != nil {
		f.cut(first, f.tail, e.Seq)
	}
	var c Change
	chosen := make(map[int64]bool, len(e.Op.Nodes))
	for i, seq := range e.Op.Nodes {
		n, ok := f.nodes[seq]
		switch {
		case !ok:
			return Change{}, fmt.Errorf("selects %d, which was never on the surface", seq)
		case n.By < 0:
			return Change{}, fmt.Errorf("selects %d twice", seq)
		}
		n.By, n.Order = -1, e.Seq<<OrderBits|int64(i)
		f.insertAfter(f.tail, n)
		chosen[seq] = true
		c.Restored = append(c.Restored, n.Node)
	}
	for _, seq := range taken {
		if !chosen[seq] {
			c.Removed = append(c.Removed, seq)
		}
	}
	return c, nil
}

func (f *Fold) add(e *Event, order int64) *entry {
	if f.nodes == nil {
		f.nodes = make(map[int64]*entry)
	}
	n := &entry{Node: Node{Seq: e.Seq, Type: e.Type, Sameness: e.Sameness, Order: order, By: -1}}
	f.nodes[e.Seq] = n
	return n
}

// insertAfter links n behind at; at nil: at the head.
func (f *Fold) insertAfter(at, n *entry) {
	n.prev = at
	if at == nil {
		n.next, f.head = f.head, n
	} else {
		n.next, at.next = at.next, n
	}
	if n.next == nil {
		f.tail = n
	} else {
		n.next.prev = n
	}
}

// cut takes the entries from a to b out of the list.
func (f *Fold) cut(a, b *entry, by int64) {
	if a.prev == nil {
		f.head = b.next
	} else {
		a.prev.next = b.next
	}
	if b.next == nil {
		f.tail = a.prev
	} else {
		b.next.prev = a.prev
	}
	for n := a; ; {
		following := n.next
		n.By, n.prev, n.next = by, nil, nil
		if n == b {
			return
		}
		n = following
	}
}

// Surface returns the current list in order.
func (f *Fold) Surface() []int64 {
	var list []int64
	for n := f.head; n != nil; n = n.next {
		list = append(list, n.Seq)
	}
	return list
}

// State returns what has become of the event at seq, and who took it out
// (-1 if nobody).
func (f *Fold) State(seq int64) (State, int64) {
	n, ok := f.nodes[seq]
	switch {
	case !ok:
		return LogOnly, -1
	case n.By < 0:
		return Current, -1
	}
	return Shadowed, n.By
}

// Nodes returns every surface event seen, in no particular order.
func (f *Fold) Nodes() []Node {
	all := make([]Node, 0, len(f.nodes))
	for _, n := range f.nodes {
		all = append(all, n.Node)
	}
	return all
}
