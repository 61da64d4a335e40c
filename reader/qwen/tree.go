package qwen

import (
	"slices"

	"github.com/yorehq/yore/session"
)

// node is one record of the tree.
type node struct {
	id     uint64
	parent *node
	ord    int
	seqs   []int64 // of its events that are on the surface
	anew   bool    // a compaction: the surface is kept, and nothing from before
	kept   []int64
}

// tree is what was read so far. The leaf is the latest record that moves it; the
// surface is what its path gives.
type tree struct {
	nodes   []*node
	byID    map[uint64]*node
	leaf    *node
	surface []int64
	partial bool // only the leaf is known, and no surface
}

func newTree() tree { return tree{byID: map[uint64]*node{}} }

// add puts a record into the tree.
func (t *tree) add(id uint64, parent *node) *node {
	n := &node{id: id, parent: parent, ord: len(t.nodes)}
	t.nodes = append(t.nodes, n)
	if id != 0 {
		t.byID[id] = n
	}
	return n
}

// context returns the surface that the path to a record gives; nil gives nothing.
func (t *tree) context(leaf *node) []int64 {
	var path []*node
	// A chain of parents is no longer than there are records: parents come first.
	for n := leaf; n != nil; n = n.parent {
		path = append(path, n)
		if n.anew {
			break
		}
	}
	var out []int64
	for _, n := range slices.Backward(path) {
		if n.anew {
			out = append(out, n.kept...)
		}
		out = append(out, n.seqs...)
	}
	return out[max(0, len(out)-maxSelected):]
}

// behind reports whether a record lies on the path to another one.
func behind(n, leaf *node) bool {
	for ; leaf != nil; leaf = leaf.parent {
		if leaf == n {
			return true
		}
	}
	return n == nil
}

// maxSelected is how many nodes one select may place.
const maxSelected = 1<<20 - 1

// change makes the select that turns one surface into another; none if they are
// the same.
func change(from, to []int64) session.Op {
	same := 0
	for same < len(from) && same < len(to) && from[same] == to[same] {
		same++
	}
	if same == len(from) && same == len(to) {
		return session.Op{}
	}
	op := session.Op{Kind: session.OpSelect, Keep: -1}
	if same > 0 {
		op.Keep = to[same-1]
	}
	op.Nodes = append(op.Nodes, to[same:]...)
	return op
}
