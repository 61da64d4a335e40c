package qwen

import (
	"encoding/binary"
	"encoding/json"
	"errors"
)

// maxState is how large a packed tree may be in a position, in bytes. Of a larger
// one the leaf alone is kept.
const maxState = 36 << 10

// saved is a decoder's state.
type saved struct {
	small
	Nodes   []byte `json:"nodes,omitempty"`   // packed, in the order of the file
	Leaf    int    `json:"leaf"`              // among them; -1: none
	Partial bool   `json:"partial,omitempty"` // there are others
}

// Save implements linelog.Decoder.
func (d *decoder) Save() ([]byte, error) {
	st := saved{small: d.small, Leaf: -1, Partial: d.tree.partial}
	for i := 0; i < len(d.tree.nodes) && !st.Partial; i++ {
		st.Nodes = appendNode(st.Nodes, d.tree.nodes[i], d.likes)
		st.Partial = len(st.Nodes) > maxState
	}
	if st.Partial {
		return d.Mark()
	}
	if d.tree.leaf != nil {
		st.Leaf = d.tree.leaf.ord
	}
	return json.Marshal(st)
}

// Mark implements linelog.Decoder.
func (d *decoder) Mark() ([]byte, error) {
	st := saved{small: d.small, Leaf: -1, Partial: len(d.tree.nodes) > 0}
	if leaf := d.tree.leaf; leaf != nil {
		st.Nodes, st.Leaf = appendNode(nil, &node{id: leaf.id}, nil), 0
	}
	return json.Marshal(st)
}

var errState = errors.New("it is no tree")

// Load implements linelog.Decoder.
func (d *decoder) Load(state []byte) error {
	var st saved
	if err := json.Unmarshal(state, &st); err != nil {
		return err
	}
	t, likes := newTree(), map[int64]uint64{}
	for rest := st.Nodes; len(rest) > 0; {
		behind, ok := t.parseNode(rest, likes)
		if !ok {
			return errState
		}
		rest = behind
	}
	switch {
	case st.Leaf >= len(t.nodes) || st.Leaf < -1:
		return errState
	case st.Leaf >= 0:
		t.leaf = t.nodes[st.Leaf]
	}
	if t.partial = st.Partial; !t.partial {
		t.surface = t.context(t.leaf)
	}
	d.small, d.tree, d.likes = st.small, t, likes
	return nil
}

// appendNode packs a record: how far back its parent stands (0: it has none), its
// id, its events with their hashes, and of a compaction what it keeps.
func appendNode(b []byte, n *node, likes map[int64]uint64) []byte {
	parent := 0
	if n.parent != nil {
		parent = n.ord - n.parent.ord
	}
	b = binary.AppendUvarint(b, uint64(parent))
	b = binary.LittleEndian.AppendUint64(b, n.id)
	list := func(seqs []int64) {
		b = binary.AppendUvarint(b, uint64(len(seqs)))
		last := int64(0)
		for _, s := range seqs {
			b = binary.LittleEndian.AppendUint64(binary.AppendVarint(b, s-last), likes[s])
			last = s
		}
	}
	list(n.seqs)
	if !n.anew {
		return append(b, 0)
	}
	b = append(b, 1)
	list(n.kept)
	return b
}

// parseNode is the opposite; ok is false if the bytes are no record's.
func (t *tree) parseNode(b []byte, likes map[int64]uint64) (rest []byte, ok bool) {
	p := parser{b: b}
	back := p.unsigned()
	if back > uint64(len(t.nodes)) || len(p.b) < 8 {
		return nil, false
	}
	var parent *node
	if back > 0 {
		parent = t.nodes[len(t.nodes)-int(back)]
	}
	id := binary.LittleEndian.Uint64(p.b)
	p.b = p.b[8:]
	n := t.add(id, parent)
	n.seqs = p.list(likes)
	if n.anew = p.unsigned() == 1; n.anew {
		n.kept = p.list(likes)
	}
	return p.b, !p.bad
}

// parser takes numbers off the front of bytes.
type parser struct {
	b   []byte
	bad bool
}

func (p *parser) unsigned() uint64 {
	v, n := binary.Uvarint(p.b)
	if p.bad = p.bad || n <= 0; p.bad {
		return 0
	}
	p.b = p.b[n:]
	return v
}

func (p *parser) list(likes map[int64]uint64) []int64 {
	count := p.unsigned()
	if count > uint64(len(p.b)) {
		p.bad = true
		return nil
	}
	var out []int64
	last := int64(0)
	for range count {
		v, n := binary.Varint(p.b)
		if p.bad = p.bad || n <= 0 || len(p.b) < n+8; p.bad {
			return nil
		}
		last += v
		likes[last] = binary.LittleEndian.Uint64(p.b[n:])
		p.b = p.b[n+8:]
		out = append(out, last)
	}
	return out
}
