package claude

import (
	"slices"

	"github.com/yorehq/yore/session"
)

// node is one record of the tree.
type node struct {
	id, parent uint64  // parent 0: a root
	stated     uint64  // the parent that the record names
	ord        int     // in the order of the file
	pos        int     // on the path; -1: off it
	seqs       []int64 // its events on the surface
	talks      bool

	msg     uint64   // of an assistant record: its response; 0: none
	calls   []call   // that it makes
	answers []uint64 // calls that it answers, by result; 0: one that names none
	blocks  int      // of an assistant record: how many blocks it holds
	hash    uint64   // and what they are
	content uint64   // hash of what it says

	boundary bool     // it begins a compaction
	anchor   bool     // it stands for a compaction: kept records hang on it
	kept     []uint64 // of an anchor
	keptBy   uint64   // the latest anchor that kept it
	loose    bool     // it is on the path without the record that it hangs on
	split    bool     // of a partial graph: what it shares with others is not all known
}

// call is a tool call and the event that stands for it.
type call struct {
	id  uint64
	seq int64
}

// graph is the tree of a transcript and the path through it that is live: what
// the model sees now is what the path's records put on the surface.
//
// The program appends and never takes back. A loader finds the live path from
// its end: it takes the latest record that carries conversation and follows the
// parents to a root. Two things are live although no parent leads to them: the
// results of parallel calls, which hang on the record of their call, and the
// records that share a response with a live one. The graph keeps the same path
// going forward:
//
//   - a record that hangs on the last one continues the path; so does one that
//     answers a call on the path or shares its response with a record on it, and
//     it is made a child of the path's end;
//   - one that hangs on an older record of the path cuts off what lies between,
//     but for what is live without a parent (above) and, behind an anchor, what
//     its compaction kept: a rewind;
//   - one that hangs on a record off the path brings back the branch up to where
//     it left the path, or up to its root: a switch of branches;
//   - one that says it has no parent begins anew: a clear;
//   - one whose parent is nowhere continues the path and is made a child of its
//     end, since its parent was never written;
//   - a compaction makes its boundary, its summary and the records it kept the
//     path; the kept are children of the summary, one behind the other, from then
//     on, whatever parent they state.
//
// Records without conversation (attachments, hooks, progress) come late at times;
// they never move the path: they join its end, or stay off it.
//
// A partial graph knows the end of the path only, and has for everything else
// the filter seen; it may only be extended.
type graph struct {
	nodes  []*node // in the order of the file
	path   []*node
	byID   map[uint64]*node
	byMsg  map[uint64][]*node
	byCall map[uint64]*node
	byDone map[uint64]*node // by the calls that they answer

	pending *node // a boundary whose summary has not come yet

	partial bool
	before  int // of a partial graph: how many nodes there were before
	seen    filter
}

func newGraph() *graph {
	return &graph{byID: map[uint64]*node{}, byMsg: map[uint64][]*node{}, byCall: map[uint64]*node{}, byDone: map[uint64]*node{}}
}

// add makes a node known; it is not on the path yet.
func (g *graph) add(n *node) {
	n.ord, n.pos = g.before+len(g.nodes), -1
	g.nodes = append(g.nodes, n)
	g.byID[n.id] = n
	if n.msg != 0 {
		g.byMsg[n.msg] = append(g.byMsg[n.msg], n)
	}
	for _, c := range n.calls {
		g.byCall[c.id] = n
	}
	for _, id := range n.answers {
		g.byDone[id] = n
	}
	if g.partial {
		g.remember(n)
	}
}

// remember puts a node's identities into the filter.
func (g *graph) remember(n *node) {
	g.seen.add(n.id)
	if n.msg != 0 {
		g.seen.add(n.msg)
	}
	for _, c := range n.calls {
		g.seen.add(c.id)
	}
}

// last is the end of the path; nil if it is empty.
func (g *graph) last() *node {
	if len(g.path) == 0 {
		return nil
	}
	return g.path[len(g.path)-1]
}

// join puts a node at the end of the path.
func (g *graph) join(n *node) {
	n.pos = len(g.path)
	g.path = append(g.path, n)
}

// makes reports whether a record of a response makes a call.
func (g *graph) makes(msg, id uint64) bool {
	return slices.ContainsFunc(g.byMsg[msg], func(n *node) bool {
		return slices.ContainsFunc(n.calls, func(c call) bool { return c.id == id })
	})
}

// move is a new path: what it shares with the old one, and what follows.
type move struct {
	keep int // records of the old path that stay
	rest []*node
	name string // what the agent's user did
}

// next says where the path must go so that n can join its end; ok is false if n
// stays off it.
func (g *graph) next(n *node, root, trims bool) (m move, ok bool) {
	stay := move{keep: len(g.path)}
	end, p := g.last(), g.byID[n.parent]
	switch {
	case end == nil && p == nil:
		return stay, true
	case g.continues(n):
		n.parent, n.loose = end.id, end.loose
		return stay, true
	case root:
		return move{name: "clear"}, true
	case p == nil:
		n.parent, p = end.id, end
	}
	switch {
	case p == end && !end.loose:
		return stay, true
	case p.pos >= 0 && !n.talks:
		n.loose = p.loose
		return stay, true
	case !n.talks:
		return stay, false
	case p.pos < 0:
		return g.back(p, "branch"), true
	case trims:
		return g.back(p, "resume-trim"), true
	}
	return g.back(p, "rewind"), true
}

// continues reports whether n belongs to the path whatever its parent is.
func (g *graph) continues(n *node) bool {
	for _, id := range n.answers {
		if c := g.byCall[id]; c != nil && c.pos >= 0 {
			return true
		}
	}
	return slices.ContainsFunc(g.byMsg[n.msg], func(s *node) bool { return n.msg != 0 && s.pos >= 0 })
}

// back finds the path whose latest conversation is p.
func (g *graph) back(p *node, name string) move {
	var walk []*node
	walked := map[*node]bool{}
	for p != nil && (p.pos < 0 || p.loose) && !walked[p] {
		walked[p], p.loose = true, false
		walk = append(walk, p)
		p = g.byID[p.parent]
	}
	if slices.ContainsFunc(walk, func(n *node) bool { return p != nil && n.pos >= 0 && n.pos <= p.pos }) {
		// The path is in another order than the chain: none of it can be kept.
		for ; p != nil && !walked[p]; p = g.byID[p.parent] {
			walked[p], p.loose = true, false
			walk = append(walk, p)
		}
		p = nil
	}
	slices.Reverse(walk)
	m := move{name: name}
	if p != nil && p.pos >= 0 && !walked[p] {
		m.keep = p.pos + 1
		g.behindAnchor(&m, p, walk)
	}
	for i, n := range walk {
		m.rest = append(m.rest, n)
		g.behindAnchor(&m, n, walk[i+1:])
	}
	g.attach(&m, len(walk) > 0)
	return m
}

// behindAnchor adds what the compaction of anchor n kept, unless the walk goes
// on through it. An anchor that was kept itself brings nothing along.
func (g *graph) behindAnchor(m *move, n *node, walk []*node) {
	if !n.anchor || n.keptBy != 0 || len(walk) > 0 && walk[0].keptBy == n.id {
		return
	}
	for _, id := range n.kept {
		if k := g.byID[id]; k != nil && k.keptBy == n.id {
			m.rest = append(m.rest, k)
		}
	}
}

// attach adds what is live without a parent: results of live calls, and records
// of live responses, each behind what is older or was kept. Without far only the path is searched: what is off it was
// not live before either.
func (g *graph) attach(m *move, far bool) {
	live := make(map[*node]bool, len(m.rest))
	for _, n := range m.rest {
		live[n] = true
	}
	on := func(n *node) bool { return n.keptBy == 0 && (n.pos >= 0 && n.pos < m.keep || live[n]) }
	candidates := g.path[m.keep:]
	if far {
		candidates = g.nodes
	}
	for _, n := range candidates {
		if n.pos >= 0 && n.pos < m.keep || live[n] {
			continue
		}
		if !slices.ContainsFunc(g.byMsg[n.msg], func(s *node) bool { return n.msg != 0 && on(s) }) &&
			!slices.ContainsFunc(n.answers, func(id uint64) bool { c := g.byCall[id]; return c != nil && on(c) }) {
			continue
		}
		live[n], n.loose = true, true
		at := len(m.rest)
		for at > 0 && m.rest[at-1].ord > n.ord && m.rest[at-1].keptBy == 0 {
			at--
		}
		m.rest = slices.Insert(m.rest, at, n)
	}
}

// apply makes m the path and returns the select that the surface needs; nil if
// it needs none.
func (g *graph) apply(m move) *session.Op {
	var old, now []int64
	for _, n := range g.path[m.keep:] {
		old = append(old, n.seqs...)
	}
	for _, n := range m.rest {
		now = append(now, n.seqs...)
	}
	op := &session.Op{Kind: session.OpSelect, Keep: -1}
	for i := m.keep - 1; i >= 0 && op.Keep < 0; i-- {
		if seqs := g.path[i].seqs; len(seqs) > 0 {
			op.Keep = seqs[len(seqs)-1]
		}
	}
	for len(old) > 0 && len(now) > 0 && old[0] == now[0] {
		op.Keep, old, now = old[0], old[1:], now[1:]
	}
	op.Nodes = now
	g.set(m)
	if len(old) == 0 && len(now) == 0 {
		return nil
	}
	return op
}

// set makes m the path.
func (g *graph) set(m move) {
	for _, n := range g.path[m.keep:] {
		n.pos = -1
	}
	g.path = g.path[:m.keep]
	for _, n := range m.rest {
		g.join(n)
	}
}

// extends reports whether a partial graph knows enough to take a record in: it
// continues the path, and all that it names is either known or was never seen.
func (g *graph) extends(r *record) bool {
	if !r.linked() {
		return r.kind != "summary" && r.kind != "content-replacement" && !(r.kind == "last-prompt" && r.pinned())
	}
	if r.root || r.summary || r.boundary() || r.subtype == microcompaction || r.subtype == refusal || g.pending != nil || r.id != 0 && g.seen.has(r.id) {
		return false
	}
	settled, continues := true, false
	r.each(r.blocks, func(b *block) {
		if id := keyOf(b.callID); r.kind == userRecord && id != 0 {
			made := g.byCall[id]
			continues = continues || made != nil
			settled = settled && (made != nil && !made.split || made == nil && !g.seen.has(id))
		}
	})
	if r.messageID != 0 {
		same := g.byMsg[r.messageID]
		continues, settled = continues || len(same) > 0, settled && (len(same) > 0 || !g.seen.has(r.messageID))
		for _, n := range same {
			settled = settled && !n.split
		}
	}
	end := g.last()
	switch {
	case !settled, end == nil, end.loose && !continues:
		return false
	case continues, r.parent == end.id, r.parent == 0, !g.seen.has(r.parent):
		return true
	}
	return !r.talks() && g.byID[r.parent] != nil
}

// surface returns what the records put on it, in order.
func surface(nodes []*node) []int64 {
	var list []int64
	for _, n := range nodes {
		list = append(list, n.seqs...)
	}
	return list
}

// replaced puts one event into the place of another one.
func (g *graph) replaced(n *node, old, by int64) {
	if i := slices.Index(n.seqs, old); i >= 0 {
		n.seqs[i] = by
	}
}
