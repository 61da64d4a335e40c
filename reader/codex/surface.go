package codex

import (
	"encoding/base64"
	"encoding/binary"

	"github.com/yorehq/yore/reader/jsonl"
	"github.com/yorehq/yore/session"
)

// node is an entry of the surface, with what later records may know it by.
type node struct {
	seq     int64
	user    bool   // a message to the model
	human   bool   // with something typed
	turn    bool   // a rollback counts it: what has the user's role and is not the agent's own
	context bool   // the agent's own message, which goes with the turn behind it
	id      uint64 // a hash of the item's id; 0: it has none
	content uint64 // of role and text; 0: not compared
}

// maxSelected is how many nodes one select may place.
const maxSelected = 1<<20 - 1

// maxSurface is how large a packed surface may be in a position's state, in bytes.
const maxSurface = 48 << 10

// packSurface writes a surface down; "" if it is too large.
func packSurface(list []node) string {
	b := make([]byte, 0, min(len(list)*20, maxSurface))
	prev := int64(0)
	for _, n := range list {
		flags := byte(0)
		if n.user {
			flags |= 1
		}
		if n.human {
			flags |= 2
		}
		if n.turn {
			flags |= 4
		}
		if n.context {
			flags |= 8
		}
		b = append(binary.AppendVarint(b, n.seq-prev), flags)
		b = binary.LittleEndian.AppendUint64(b, n.id)
		b = binary.LittleEndian.AppendUint64(b, n.content)
		prev = n.seq
		if len(b) > maxSurface {
			return ""
		}
	}
	return base64.RawStdEncoding.EncodeToString(b)
}

func unpackSurface(text string) ([]node, bool) {
	b, err := base64.RawStdEncoding.DecodeString(text)
	if err != nil {
		return nil, false
	}
	var list []node
	prev := int64(0)
	for len(b) > 0 {
		delta, n := binary.Varint(b)
		if n <= 0 || len(b) < n+17 {
			return nil, false
		}
		prev += delta
		list = append(list, node{
			seq: prev, user: b[n]&1 != 0, human: b[n]&2 != 0, turn: b[n]&4 != 0, context: b[n]&8 != 0,
			id: binary.LittleEndian.Uint64(b[n+1:]), content: binary.LittleEndian.Uint64(b[n+9:]),
		})
		b = b[n+17:]
	}
	return list, true
}

// change makes the select that turns one surface into another; none if they are
// the same.
func change(from, to []node) session.Op {
	same := 0
	for same < len(from) && same < len(to) && from[same].seq == to[same].seq {
		same++
	}
	if same == len(from) && same == len(to) {
		return session.Op{}
	}
	op := session.Op{Kind: session.OpSelect, Keep: -1}
	if same > 0 {
		op.Keep = to[same-1].seq
	}
	for _, n := range to[same:] {
		op.Nodes = append(op.Nodes, n.seq)
	}
	return op
}

// finder finds the nodes that a list of items repeats, each once.
type finder struct {
	list  []node
	byID  map[uint64][]int
	byKey map[uint64][]int
	used  []bool
}

func newFinder(list []node) *finder {
	f := &finder{list: list, byID: map[uint64][]int{}, byKey: map[uint64][]int{}, used: make([]bool, len(list))}
	for i, n := range list {
		if n.id != 0 {
			f.byID[n.id] = append(f.byID[n.id], i)
		}
		if n.content != 0 {
			f.byKey[n.content] = append(f.byKey[n.content], i)
		}
	}
	return f
}

// take returns the first of some nodes that no item has repeated yet.
func (f *finder) take(candidates []int) (node, bool) {
	for _, i := range candidates {
		if !f.used[i] {
			f.used[i] = true
			return f.list[i], true
		}
	}
	return node{}, false
}

// slot is one entry of the surface behind a compaction: an old node, or an item
// of its list that is new.
type slot struct {
	node  node
	fresh *item
	index int // of the item in the list
}

// compacted replaces the surface by the list that a compaction states: of what
// it repeats the old events stay, the rest are new events. A summary that takes
// the place of one run is a replacement, anything else a select.
func (d *decoder) compacted(r *record) {
	message := jsonl.Text(r.in.message)
	list := r.in.x.Field(r.payload, "replacement_history")
	if !jsonl.IsArray(list) {
		d.compactedByRule(r, message)
		return
	}
	defer func() { d.turns.compacted(d.next) }()
	slots, told := d.slots(r.in.x, list, message)
	if at, ok := replacement(slots, d.nodes); ok && told {
		d.replace(r, slots[at].fresh, at, len(d.nodes)-(len(slots)-at-1))
		return
	}
	after := make([]node, 0, len(slots))
	for _, s := range slots {
		if s.fresh != nil {
			s.node = d.append(r, s.fresh, s.index)
		}
		after = append(after, s.node)
	}
	body := session.Body{}
	if !told {
		body = session.Body{Speaker: session.Summary, Blocks: []session.Block{{Text: message}}}
	}
	d.selects(r, after, body)
}

// slots finds out what a compaction's list repeats: items with the id of a node,
// then those with role and text of one. told says that its summary is in the
// list, or that it has none that can be read.
func (d *decoder) slots(x *jsonl.Index, list []byte, message string) (slots []slot, told bool) {
	f := newFinder(d.nodes)
	told = message == ""
	c := x.Enter(list)
	for index := 0; ; index++ {
		v, ok := c.Element()
		if !ok {
			break
		}
		in := fieldsOf(x, v)
		it := parseItem(&in)
		if !session.SurfaceType(it.typ) {
			continue // no part of the surface, and recorded when it was made
		}
		asSummary(x, &it, in.content, message)
		told = told || it.body.Speaker == session.Summary && it.body.Blocks != nil
		s := slot{fresh: &it, index: index}
		if it.id != "" {
			if n, ok := f.take(f.byID[hashOf(it.id)]); ok {
				s = slot{node: n}
			}
		}
		slots = append(slots, s)
	}
	for i := range slots {
		if it := slots[i].fresh; it != nil && it.content != 0 {
			if n, ok := f.take(f.byKey[it.content]); ok {
				slots[i] = slot{node: n}
			}
		}
	}
	return slots, told
}

// replacement reports whether the one new entry is a summary in the place of a
// run of nodes, with everything around it as it was, and which entry it is.
func replacement(slots []slot, before []node) (at int, ok bool) {
	at = -1
	if len(slots) > len(before) {
		return at, false
	}
	moved := len(before) - len(slots)
	for i, s := range slots {
		switch {
		case s.fresh != nil && at < 0:
			at = i
		case s.fresh != nil, at < 0 && s.node.seq != before[i].seq, at >= 0 && s.node.seq != before[i+moved].seq:
			return at, false
		}
	}
	return at, at >= 0 && slots[at].fresh.body.Speaker == session.Summary
}

// asSummary marks the item that repeats a compaction's summary.
func asSummary(x *jsonl.Index, it *item, content []byte, message string) {
	if it.typ != session.UserMessage || message == "" {
		return
	}
	pieces := contentTexts(x, content)
	if len(pieces) == 1 && pieces[0].text == message {
		it.body = session.Body{Speaker: session.Summary, Blocks: textBlocks(pieces)}
	}
}

// compactedByRule is a compaction of older logs, which do not state the new
// context: the first context, every typed message and the summary.
func (d *decoder) compactedByRule(r *record, message string) {
	defer d.turns.ruled()
	var after []node
	typed := false
	for _, n := range d.nodes {
		typed = typed || n.human
		if n.human || n.user && !typed {
			after = append(after, n)
		}
	}
	it := item{typ: session.UserMessage, body: session.Body{Speaker: session.Summary}, content: hashOf("user", message), turn: true}
	if message != "" {
		it.body.Blocks = []session.Block{{Text: message}}
	}
	if n := len(after); n < len(d.nodes) && change(d.nodes[:n], after).Kind == session.OpNone {
		d.replace(r, &it, n, len(d.nodes))
		return
	}
	after = append(after, d.append(r, &it, whole))
	d.selects(r, after, session.Body{})
}
