package opencode

import (
	"slices"

	"github.com/yorehq/yore/session"
)

// node is an entry of what the model sees.
type node struct {
	seq     int64
	message int    // index
	part    string // id
	summary bool
}

// surface follows what the model sees. What an operation costs grows with the
// entries from the first one that it changes on.
type surface struct {
	nodes []node
	past  []past
}

// past is the surface as it was when a message compacted it.
type past struct {
	message int
	nodes   []node
}

func (s *surface) append(n node) session.Op {
	s.nodes = append(s.nodes, n)
	return session.Op{Kind: session.OpAppend}
}

// summary puts a summary in the place of everything before the kept tail, which
// begins with a message, and returns the operation and what it takes away. Where
// nothing is taken away it is appended.
func (s *surface) summary(n node, tail int) (op session.Op, removed []int64) {
	end := slices.IndexFunc(s.nodes, func(o node) bool { return !o.summary && o.message >= tail })
	if end < 0 {
		end = len(s.nodes)
	}
	if end == 0 {
		return s.append(n), nil
	}
	for _, o := range s.nodes[:end] {
		removed = append(removed, o.seq)
	}
	s.past = append(s.past, past{n.message, slices.Clone(s.nodes)})
	op = session.Op{Kind: session.OpReplace, Start: s.nodes[0].seq, End: s.nodes[end-1].seq}
	s.nodes = append([]node{n}, s.nodes[end:]...)
	slices.Sort(removed)
	return op, removed
}

// without takes entries away; ok says that there were some.
func (s *surface) without(which func(node) bool) (op session.Op, ok bool) {
	return s.become(slices.DeleteFunc(slices.Clone(s.nodes), which))
}

// become makes the surface another one, of nodes that were on it at some time; ok
// says that it was not that before.
func (s *surface) become(nodes []node) (op session.Op, ok bool) {
	if slices.Equal(s.nodes, nodes) {
		return session.Op{}, false
	}
	same := 0
	for same < len(nodes) && same < len(s.nodes) && nodes[same] == s.nodes[same] {
		same++
	}
	op = session.Op{Kind: session.OpSelect, Keep: -1}
	if same > 0 {
		op.Keep = nodes[same-1].seq
	}
	for _, n := range nodes[same:] {
		op.Nodes = append(op.Nodes, n.seq)
	}
	s.nodes = nodes
	return op, true
}

// before returns what the model saw before a message and a part of it.
func (s *surface) before(message int, part string) []node {
	nodes := s.nodes
	if i := slices.IndexFunc(s.past, func(p past) bool { return p.message >= message }); i >= 0 {
		nodes = s.past[i].nodes
	}
	return slices.DeleteFunc(slices.Clone(nodes), func(n node) bool {
		return n.message > message || n.message == message && n.part >= part
	})
}
