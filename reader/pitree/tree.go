package pitree

import (
	"slices"

	"github.com/yorehq/yore/session"
)

// role is whose words an entry puts in front of the model.
type role uint8

const (
	noRole role = iota
	userRole
	assistantRole
	toolRole
)

// body is what an entry of a role says once it was edited.
func (r role) body(blocks []session.Block) session.Body {
	switch r {
	case assistantRole:
		return session.Body{Speaker: session.Assistant, Blocks: blocks}
	case toolRole:
		return session.Body{Speaker: session.Tool, Blocks: []session.Block{{Kind: session.ResultBlock, Content: blocks}}}
	}
	return session.Body{Speaker: session.Injected, Blocks: blocks}
}

// What a node does to the context.
const (
	plainNode      = iota
	compactionNode // it stands first, and drops what is before the entry ref
	editNode       // it changes the entry ref
	aliasNode      // a control: what hangs on it hangs on its parent
)

// node is one entry of the tree.
type node struct {
	id      uint64 // 0: it has none
	parent  *node
	ord     int // in the order of the log
	pos     int // on the path; -1: off it
	seq     int64
	role    role
	kind    uint8
	ref     uint64 // of a compaction: the first entry that is kept; of an edit: its target
	keptOrd int    // of a compaction that names an index: ord of the first kept, plus 1
}

// tree is the entries of a session and the path to the latest one. The surface
// is what the path puts in front of the model.
//
// A partial tree knows the end of the path only, and may only be extended.
type tree struct {
	nodes   []*node
	byID    map[uint64]*node
	path    []*node
	special int // compactions and edits on the path
	surface []int64
	partial bool
}

func newTree() tree { return tree{byID: map[uint64]*node{}} }

func (t *tree) leaf() *node {
	if len(t.path) == 0 {
		return nil
	}
	return t.path[len(t.path)-1]
}

// byIndex finds the entry at an index of the list of all lines, the header's is 0.
func (t *tree) byIndex(index int64) *node {
	if index < 1 || index > int64(len(t.nodes)) {
		return nil
	}
	return t.nodes[index-1]
}

// add makes a node the leaf, behind the path.
func (t *tree) add(n *node) {
	n.parent = t.leaf()
	t.nodes = append(t.nodes, n)
	if n.id != 0 {
		t.byID[n.id] = n
	}
	t.push(n)
}

func (t *tree) push(n *node) {
	n.pos = len(t.path)
	t.path = append(t.path, n)
	if n.kind != plainNode {
		t.special++
	}
}

func (t *tree) pop() {
	n := t.leaf()
	n.pos = -1
	t.path = t.path[:len(t.path)-1]
	if n.kind != plainNode {
		t.special--
	}
}

// move makes the path end at a node and returns the surface there. The list is
// another one than before.
func (t *tree) move(to *node) []int64 {
	var walk []*node
	plain := t.special == 0
	for to != nil && to.pos < 0 {
		walk = append(walk, to)
		plain = plain && to.kind == plainNode
		to = to.parent
	}
	keep, surface := 0, len(t.surface)
	if to != nil {
		keep = to.pos + 1
	}
	for len(t.path) > keep {
		if t.leaf().seq >= 0 {
			surface--
		}
		t.pop()
	}
	for _, n := range slices.Backward(walk) {
		t.push(n)
	}
	if !plain {
		return t.context(nil)
	}
	after := slices.Clone(t.surface[:surface])
	for _, n := range slices.Backward(walk) {
		if n.seq >= 0 {
			after = append(after, n.seq)
		}
	}
	return after
}

// context makes the surface of the path, with one more node behind it if that is
// not nil.
func (t *tree) context(last *node) []int64 {
	path := t.path
	if last != nil {
		path = append(path[:len(path):len(path)], last)
	}
	at := -1
	for i, n := range path {
		if n.kind == compactionNode {
			at = i
		}
	}
	entries := path
	if at >= 0 {
		entries = []*node{path[at]}
		kept := false
		for _, n := range path[:at] {
			kept = kept || path[at].keeps(n)
			if kept {
				entries = append(entries, n)
			}
		}
		entries = append(entries, path[at+1:]...)
	}
	edits := edited(entries)
	var list []int64
	for i, n := range entries {
		seq := n.seq
		switch {
		case n.kind == editNode, n.kind == compactionNode && i > 0:
			continue
		case edits[n] != nil:
			seq = edits[n].seq
		}
		if seq >= 0 && (n.seq >= 0 || n.kind == compactionNode) {
			list = append(list, seq)
		}
	}
	return list
}

// keeps reports whether n is the first entry that a compaction keeps.
func (c *node) keeps(n *node) bool {
	if c.keptOrd > 0 {
		return n.ord == c.keptOrd-1
	}
	return n.id != 0 && n.id == c.ref
}

// standsFor returns the event that tells what an entry says at present.
func (t *tree) standsFor(target *node) int64 {
	if edit := edited(t.path)[target]; edit != nil {
		return edit.seq
	}
	return target.seq
}

// edited returns the latest edit of each entry that has any. Where several
// entries have one id, an edit is of the one that is next before it.
func edited(entries []*node) map[*node]*node {
	if !slices.ContainsFunc(entries, func(n *node) bool { return n.kind == editNode }) {
		return nil
	}
	edits, named := map[*node]*node{}, map[uint64]*node{}
	for _, n := range entries {
		if n.kind == editNode && named[n.ref] != nil {
			edits[named[n.ref]] = n
		}
		if n.id != 0 {
			named[n.id] = n
		}
	}
	return edits
}

func same(a, b []int64) bool { return slices.Equal(a, b) }

func index(list []int64, seq int64) int { return slices.Index(list, seq) }
