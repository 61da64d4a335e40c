package pitree

import (
	"encoding/binary"
	"encoding/json"
	"errors"
)

// maxState is how large a packed tree may be in a position, in bytes. A larger
// one is left out, but for its leaf.
const maxState = 36 << 10

// saved is a decoder's state.
type saved struct {
	small
	Nodes   []byte `json:"nodes,omitempty"`   // packed; the last is the leaf
	Partial bool   `json:"partial,omitempty"` // there are others
	Leaf    int    `json:"leaf,omitempty"`    // where it is not: which one is, from 1; -1: none
}

// Save implements linelog.Decoder.
func (d *Decoder) Save() ([]byte, error) {
	st := saved{small: d.small, Partial: d.tree.partial}
	for i := 0; i < len(d.tree.nodes) && !st.Partial; i++ {
		st.Nodes = appendNode(st.Nodes, d.tree.nodes, i)
		st.Partial = len(st.Nodes) > maxState
	}
	if st.Partial {
		return d.Mark()
	}
	switch leaf := d.tree.leaf(); {
	case leaf == nil && len(d.tree.nodes) > 0:
		st.Leaf = -1
	case leaf != nil && leaf.ord != len(d.tree.nodes)-1:
		st.Leaf = leaf.ord + 1
	}
	return json.Marshal(st)
}

// Mark implements linelog.Decoder.
func (d *Decoder) Mark() ([]byte, error) {
	st := saved{small: d.small, Partial: d.tree.partial || len(d.tree.nodes) > 0}
	if leaf := d.tree.leaf(); leaf != nil {
		alone := *leaf
		alone.parent, alone.ord = nil, 0
		st.Nodes = appendNode(nil, []*node{&alone}, 0)
	}
	return json.Marshal(st)
}

var errState = errors.New("it is no tree")

// Load implements linelog.Decoder.
func (d *Decoder) Load(state []byte) error {
	var st saved
	if err := json.Unmarshal(state, &st); err != nil {
		return err
	}
	t := newTree()
	t.partial = st.Partial
	for rest := st.Nodes; len(rest) > 0; {
		n, behind, ok := parseNode(rest, t.nodes)
		if !ok {
			return errState
		}
		t.nodes, rest = append(t.nodes, n), behind
		if n.id != 0 {
			t.byID[n.id] = n
		}
	}
	if st.Leaf > len(t.nodes) || st.Leaf < -1 {
		return errState
	}
	if st.Leaf == 0 {
		st.Leaf = len(t.nodes)
	}
	if st.Leaf > 0 {
		t.move(t.nodes[st.Leaf-1])
	}
	t.surface = t.context(nil)
	d.small, d.tree = st.small, t
	return nil
}

// Flags of a packed node; below them stand its kind and its role.
const (
	kindBits = 0x03
	roleBits = 0x0c
	roleAt   = 2
	hasID    = 0x10
	hasSeq   = 0x20
	hasRef   = 0x40
	hasOrd   = 0x80
)

// appendNode packs the node at an index; what it refers to stands before it.
func appendNode(b []byte, nodes []*node, i int) []byte {
	n := nodes[i]
	flags := n.kind&kindBits | byte(n.role)<<roleAt&roleBits
	parent, previous := uint64(0), int64(0)
	if n.parent != nil {
		parent = uint64(n.ord - n.parent.ord)
	}
	for _, f := range [...]struct {
		is  bool
		bit byte
	}{{n.id != 0, hasID}, {n.seq >= 0, hasSeq}, {n.ref != 0, hasRef}, {n.keptOrd > 0, hasOrd}} {
		if f.is {
			flags |= f.bit
		}
	}
	b = binary.AppendUvarint(append(b, flags), parent)
	if n.id != 0 {
		b = binary.LittleEndian.AppendUint64(b, n.id)
	}
	if n.seq >= 0 {
		for j := i - 1; j >= 0 && previous == 0; j-- {
			previous = max(nodes[j].seq, 0)
		}
		b = binary.AppendVarint(b, n.seq-previous)
	}
	if n.ref != 0 {
		b = binary.LittleEndian.AppendUint64(b, n.ref)
	}
	if n.keptOrd > 0 {
		b = binary.AppendUvarint(b, uint64(n.keptOrd))
	}
	return b
}

// parseNode is the opposite; ok is false if the bytes are no node.
func parseNode(b []byte, before []*node) (n *node, rest []byte, ok bool) {
	p := parser{b: b, ok: true}
	flags := p.byte()
	n = &node{ord: len(before), pos: -1, seq: -1, kind: flags & kindBits, role: role(flags & roleBits >> roleAt)}
	if parent := p.unsigned(); parent > 0 && parent <= uint64(n.ord) {
		n.parent = before[n.ord-int(parent)]
	} else if parent > 0 {
		p.ok = false
	}
	if flags&hasID != 0 {
		n.id = p.word()
	}
	if flags&hasSeq != 0 {
		previous := int64(0)
		for j := len(before) - 1; j >= 0 && previous == 0; j-- {
			previous = max(before[j].seq, 0)
		}
		n.seq = previous + p.signed()
	}
	if flags&hasRef != 0 {
		n.ref = p.word()
	}
	if flags&hasOrd != 0 {
		n.keptOrd = int(p.unsigned() & (1<<31 - 1))
	}
	return n, p.b, p.ok && n.kind <= aliasNode && n.seq >= -1
}

// parser takes numbers off the front of bytes.
type parser struct {
	b  []byte
	ok bool
}

func (p *parser) byte() byte {
	if len(p.b) == 0 {
		p.ok = false
		return 0
	}
	v := p.b[0]
	p.b = p.b[1:]
	return v
}

func (p *parser) word() uint64 {
	if len(p.b) < 8 {
		p.ok, p.b = false, nil
		return 0
	}
	v := binary.LittleEndian.Uint64(p.b)
	p.b = p.b[8:]
	return v
}

func (p *parser) unsigned() uint64 {
	v, n := binary.Uvarint(p.b)
	if n <= 0 {
		p.ok, p.b = false, nil
		return 0
	}
	p.b = p.b[n:]
	return v
}

func (p *parser) signed() int64 {
	v, n := binary.Varint(p.b)
	if n <= 0 {
		p.ok, p.b = false, nil
		return 0
	}
	p.b = p.b[n:]
	return v
}
