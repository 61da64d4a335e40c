package claude

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/yorehq/yore/fault"
	"github.com/yorehq/yore/reader"
)

// Bounds of what a position holds.
const (
	wholeBytes = 36 << 10 // the whole graph, if it takes no more, before base64
	tailNodes  = 96       // else so much of the end of the path

	// Of a filter, which holds the identities there are and room for as many
	// again. When it has filled up, false alarms make the graph whole, and a
	// larger one is made.
	minFilter    = 4 << 10 // bytes
	maxFilter    = 36 << 10
	bitsEach     = 20
	filterProbes = 4 // bits set for each identity
)

// state is what a position keeps beside seq and offset.
type state struct {
	Runs []run `json:"runs,omitempty"` // first, see runsMark

	small
	Graph    []byte `json:"graph,omitempty"`    // nodes, by appendNode
	Path     []int  `json:"path,omitempty"`     // their indices on the path; of a partial graph, all of them
	Pending  bool   `json:"pending,omitempty"`  // the last node is a boundary that waits for its summary
	Before   int    `json:"before,omitempty"`   // nodes that are not in Graph
	Trusting bool   `json:"trusting,omitempty"` // of a mark: a partial graph without a filter
	Seen     filter `json:"seen,omitempty"`     // of a partial graph

	Marks *marksState `json:"marks,omitempty"`

	Meta reader.Stamp `json:"meta,omitzero"` // of the description beside a subagent's log, which its header is made of too
}

// filter is a Bloom filter over keys: what it has not, was never added.
type filter []byte

func (f filter) add(k uint64) { f.probe(k, func(i, bit int) bool { f[i] |= 1 << bit; return true }) }

func (f filter) has(k uint64) bool {
	return f.probe(k, func(i, bit int) bool { return f[i]&(1<<bit) != 0 })
}

func (f filter) probe(k uint64, visit func(i, bit int) bool) bool {
	if len(f) == 0 {
		return false
	}
	step := k>>32 | 1
	for range filterProbes {
		at := k % uint64(8*len(f))
		if !visit(int(at/8), int(at%8)) {
			return false
		}
		k += step * 0x9e3779b97f4a7c15
	}
	return true
}

// room is how much a position may hold.
type room struct {
	whole int  // bytes of a whole graph
	tail  int  // else so many nodes
	marks bool // states are offered for windows
}

// save makes a state of a decoder.
func (d *decoder) save(most room) state {
	st := state{small: d.small, Pending: d.g.pending != nil}
	g := d.g
	if !g.partial {
		for _, n := range g.nodes {
			st.Graph = appendNode(st.Graph, n)
		}
		if len(st.Graph)+d.runs.size() <= most.whole {
			st.Runs = d.runs.save(d.runs.size())
			for _, n := range g.path {
				st.Path = append(st.Path, n.ord)
			}
			return st
		}
	}
	st.Graph, st.Seen, st.Runs = nil, g.seen, d.runs.save(tailIDs)
	if !g.partial {
		ids := len(g.byID) + len(g.byMsg) + len(g.byCall) + len(d.runs.byID)
		whole := graph{seen: make(filter, min(max(ids*bitsEach/8, minFilter), maxFilter))}
		for _, n := range g.nodes {
			whole.remember(n)
		}
		for id := range d.runs.byID {
			whole.seen.add(id)
		}
		st.Seen = whole.seen
	}
	tail := g.path[max(0, len(g.path)-most.tail):]
	split := g.split(tail)
	for _, n := range tail {
		copied := *n
		copied.split = n.split || split[n]
		st.Graph = appendNode(st.Graph, &copied)
	}
	st.Before = g.before + len(g.nodes) - len(tail)
	return st
}

// split finds the nodes of a tail that cannot be judged without what is not in
// it: those whose response it does not hold whole and in the order of the file,
// and those whose calls were made again by others.
func (g *graph) split(tail []*node) map[*node]bool {
	in := make(map[*node]bool, len(tail))
	for _, n := range tail {
		in[n] = true
	}
	split := map[*node]bool{}
	latest := map[uint64]int{}
	for _, n := range tail {
		for _, c := range n.calls {
			split[n] = split[n] || g.byCall[c.id] != n
		}
		if n.msg == 0 {
			continue
		}
		same := g.byMsg[n.msg]
		apart := n.ord < latest[n.msg] || slices.ContainsFunc(same, func(s *node) bool { return !in[s] })
		for _, s := range same {
			split[s] = split[s] || apart
		}
		latest[n.msg] = n.ord
	}
	return split
}

func parseState(raw json.RawMessage) (state, error) {
	var st state
	if len(raw) == 0 {
		return st, nil
	}
	if err := json.Unmarshal(raw, &st); err != nil {
		return st, err
	}
	d, err := resume(st, 0)
	if err == nil {
		_, err = resumeMarks(st.Marks, d)
	}
	return st, err
}

var errState = errors.New("the nodes cannot be read")

// graph rebuilds the graph that was saved.
func (st *state) graph() (*graph, error) {
	g := newGraph()
	for rest := st.Graph; len(rest) > 0; {
		n, behind, ok := parseNode(rest)
		if !ok {
			return nil, errState
		}
		rest = behind
		g.add(n)
	}
	switch {
	case st.Before < 0, st.Seen != nil && (len(st.Seen) < minFilter || len(st.Seen) > maxFilter):
		return nil, errState
	case st.Trusting:
		g.partial, g.before = true, st.Before
		for i, n := range g.nodes {
			n.ord = g.before + i
		}
		if !g.joinAll(st.Path) {
			return nil, errState
		}
	case st.Seen != nil:
		g.partial, g.before, g.seen = true, st.Before, st.Seen
		for i, n := range g.nodes {
			n.ord = g.before + i
			g.join(n)
		}
	default:
		if !g.joinAll(st.Path) {
			return nil, errState
		}
	}
	if st.Pending {
		// Of a partial graph the boundary is not needed: it is made whole first.
		g.pending = &node{pos: -1}
		if n := len(g.nodes); n > 0 && !g.partial {
			for _, b := range g.nodes {
				if b.boundary && b.pos < 0 {
					g.pending = b
				}
			}
		}
	}
	return g, nil
}

// joinAll makes a path of nodes; ok is false if it is none.
func (g *graph) joinAll(path []int) (ok bool) {
	for _, i := range path {
		if i < 0 || i >= len(g.nodes) || g.nodes[i].pos >= 0 {
			return false
		}
		g.join(g.nodes[i])
	}
	return true
}

// resume returns a decoder that goes on where a position stands.
func resume(st state, next int64) (*decoder, error) {
	g, err := st.graph()
	if err != nil {
		return nil, fmt.Errorf("%w: the state of a position: %w", fault.Persistence, err)
	}
	runs, ok := restoreRuns(st.Runs)
	if !ok {
		return nil, fmt.Errorf("%w: the state of a position: %w", fault.Persistence, errState)
	}
	return &decoder{next: next, g: g, small: st.small, runs: runs}, nil
}

// Flags of a node.
const (
	talksFlag = 1 << iota
	boundaryFlag
	anchorFlag
	splitFlag
	statedFlag
	looseFlag
)

func appendNode(b []byte, n *node) []byte {
	flags := uint64(0)
	for _, f := range [...]struct {
		on   bool
		flag uint64
	}{{n.talks, talksFlag}, {n.boundary, boundaryFlag}, {n.anchor, anchorFlag}, {n.split, splitFlag}, {n.stated != n.parent, statedFlag}, {n.loose, looseFlag}} {
		if f.on {
			flags |= f.flag
		}
	}
	word := func(k uint64) { b = binary.LittleEndian.AppendUint64(b, k) }
	words := func(list []uint64) {
		b = binary.AppendUvarint(b, uint64(len(list)))
		for _, k := range list {
			word(k)
		}
	}
	b = binary.AppendUvarint(b, flags)
	word(n.id)
	word(n.parent)
	if n.stated != n.parent {
		word(n.stated)
	}
	word(n.content)
	b = binary.AppendUvarint(b, uint64(len(n.seqs)))
	for _, s := range n.seqs {
		b = binary.AppendVarint(b, s)
	}
	words(optional(n.msg))
	if n.msg != 0 {
		word(n.hash)
		b = binary.AppendUvarint(b, uint64(n.blocks))
	}
	b = binary.AppendUvarint(b, uint64(len(n.calls)))
	for _, c := range n.calls {
		word(c.id)
		b = binary.AppendVarint(b, c.seq)
	}
	words(n.answers)
	words(n.kept)
	words(optional(n.keptBy))
	return b
}

func optional(k uint64) []uint64 {
	if k == 0 {
		return nil
	}
	return []uint64{k}
}

// parser reads what appendNode wrote; bad says that it could not.
type parser struct {
	b   []byte
	bad bool
}

func (p *parser) take(n int) {
	if p.bad = p.bad || n <= 0; !p.bad {
		p.b = p.b[n:]
	}
}

func (p *parser) unsigned() uint64 {
	v, n := binary.Uvarint(p.b)
	p.take(n)
	return v
}

func (p *parser) signed() int64 {
	v, n := binary.Varint(p.b)
	p.take(n)
	return v
}

func (p *parser) word() uint64 {
	if p.bad = p.bad || len(p.b) < 8; p.bad {
		return 0
	}
	v := binary.LittleEndian.Uint64(p.b)
	p.b = p.b[8:]
	return v
}

// count reads the length of a list whose entries take at least one byte.
func (p *parser) count() int {
	n := p.unsigned()
	if n > uint64(len(p.b)) {
		p.bad = true
		return 0
	}
	return int(n)
}

func (p *parser) words() (list []uint64) {
	for range p.count() {
		list = append(list, p.word())
	}
	return list
}

func (p *parser) optional() uint64 {
	if list := p.words(); len(list) > 0 {
		return list[0]
	}
	return 0
}

func parseNode(b []byte) (*node, []byte, bool) {
	p := &parser{b: b}
	flags := p.unsigned()
	n := &node{
		talks: flags&talksFlag != 0, boundary: flags&boundaryFlag != 0,
		anchor: flags&anchorFlag != 0, split: flags&splitFlag != 0, loose: flags&looseFlag != 0,
	}
	n.id, n.parent = p.word(), p.word()
	if n.stated = n.parent; flags&statedFlag != 0 {
		n.stated = p.word()
	}
	n.content = p.word()
	for range p.count() {
		n.seqs = append(n.seqs, p.signed())
	}
	if n.msg = p.optional(); n.msg != 0 {
		n.hash, n.blocks = p.word(), int(p.unsigned())
	}
	for range p.count() {
		id := p.word()
		n.calls = append(n.calls, call{id, p.signed()})
	}
	n.answers, n.kept, n.keptBy = p.words(), p.words(), p.optional()
	return n, p.b, !p.bad
}
