package kimi

import (
	"encoding/binary"
	"slices"

	"github.com/yorehq/yore/reader/jsonl"
)

// node is an event on the surface. Several may be one message to the agent.
type node struct {
	seq, line int64
	first     bool // a message begins with it
	anchor    bool // an undo counts it
	keep      bool // a compaction keeps it: what the user asked
	injected  bool // an undo passes over it
	owned     bool // it goes with the prompt behind it
	summary   bool // an undo does not go beyond it
}

// model is what the model sees, and what it saw at the end of branches that were
// left. One that was too large for a position is lost, and may only be appended
// to.
type model struct {
	nodes  []node
	branch string
	left   []branch
	line   int64 // of the record at hand
	lost   bool
}

// branch is what a branch showed when it was left.
type branch struct {
	name  string
	nodes []node
}

// maxLeft is how many branches are remembered.
const maxLeft = 16

// firstBranch is the one that a journal begins with.
const firstBranch = "main"

func (m *model) fresh() bool {
	return len(m.nodes) == 0 && len(m.left) == 0 && m.branch == "" && !m.lost
}

func (m *model) append(n node) {
	n.line = m.line
	if !m.lost {
		m.nodes = append(m.nodes, n)
	}
}

func seqs(list []node) []int64 {
	out := make([]int64, 0, len(list))
	for _, n := range list {
		out = append(out, n.seq)
	}
	return out
}

// undone is what is left when n prompts are taken back: all or none of them, and
// never beyond a summary.
func (m *model) undone(n int64) []node {
	cut, left := -1, n
	for i := len(m.nodes) - 1; i >= 0 && left > 0; i-- {
		switch at := m.nodes[i]; {
		case at.injected:
		case at.summary:
			return m.nodes
		case at.anchor:
			left--
			for cut = i; cut > 0 && m.nodes[cut-1].owned; cut-- {
			}
		}
	}
	if cut < 0 || left > 0 {
		return m.nodes
	}
	return slices.Clone(m.nodes[:cut])
}

// switched goes on from a line of a branch on a new one.
func (m *model) switched(e *record) []node {
	name := jsonl.Text(e.branch)
	base := jsonl.Text(e.x.Field(e.base, "branch"))
	line, ok := jsonl.Natural(e.x.Field(e.base, "line"))
	if name == "" || base == "" || !ok {
		return m.nodes // such a record is passed over
	}
	here := m.branch
	if here == "" {
		here = firstBranch
	}
	from, known := m.nodes, base == here
	for _, b := range slices.Backward(m.left) {
		if b.name == base && !known {
			from, known = b.nodes, true
		}
	}
	if !known {
		return m.nodes
	}
	m.left = append(m.left, branch{here, m.nodes})
	m.left = m.left[max(0, len(m.left)-maxLeft):]
	m.branch = name
	var to []node
	for _, n := range from {
		if n.line <= line {
			to = append(to, n)
		}
	}
	return to
}

// compacted is what is left with a summary.
func (m *model) compacted(e *record, summary node) []node {
	kept, ok := jsonl.Natural(e.kept)
	if !ok || e.tail {
		// The older form: the summary, then all but the oldest messages.
		n, _ := jsonl.Natural(e.compactedCount)
		at := 0
		for at < len(m.nodes) && (n > 0 || !m.nodes[at].first) {
			if m.nodes[at].first {
				n--
			}
			at++
		}
		return append([]node{summary}, m.nodes[at:]...)
	}
	var asked []node
	for _, n := range m.nodes {
		if n.keep {
			asked = append(asked, n)
		}
	}
	kept = min(kept, int64(len(asked)))
	head, _ := jsonl.Natural(e.keptHead)
	head = min(head, kept)
	after := slices.Concat(asked[:head], asked[int64(len(asked))-(kept-head):])
	return append(after, summary)
}

// maxContext is how large a packed context may be in a position, in bytes.
const maxContext = 36 << 10

// pack writes a context down; ok is false if it is lost, or too large.
func (m *model) pack() (packed []byte, ok bool) {
	if m.lost {
		return nil, false
	}
	packed = append(binary.AppendUvarint(nil, uint64(len(m.branch))), m.branch...)
	packed = appendNodes(packed, m.nodes)
	for _, b := range m.left {
		packed = append(binary.AppendUvarint(packed, uint64(len(b.name))), b.name...)
		packed = appendNodes(packed, b.nodes)
		if len(packed) > maxContext {
			break
		}
	}
	if len(packed) > maxContext {
		return nil, false
	}
	return packed, true
}

func appendNodes(b []byte, list []node) []byte {
	b = binary.AppendUvarint(b, uint64(len(list)))
	seq, line := int64(0), int64(0)
	for _, n := range list {
		flags := byte(0)
		for i, on := range [...]bool{n.first, n.anchor, n.keep, n.injected, n.owned, n.summary} {
			if on {
				flags |= 1 << i
			}
		}
		b = binary.AppendVarint(binary.AppendVarint(append(b, flags), n.seq-seq), n.line-line)
		seq, line = n.seq, n.line
	}
	return b
}

// unpack is the opposite of pack; ok is false if the bytes are no context.
func (m *model) unpack(b []byte) (ok bool) {
	if len(b) == 0 {
		return true
	}
	if m.branch, b, ok = parseName(b); ok {
		m.nodes, b, ok = parseNodes(b)
	}
	for ok && len(b) > 0 {
		var left branch
		if left.name, b, ok = parseName(b); ok {
			left.nodes, b, ok = parseNodes(b)
		}
		m.left = append(m.left, left)
	}
	return ok
}

func parseName(b []byte) (string, []byte, bool) {
	size, n := binary.Uvarint(b)
	if n <= 0 || size > uint64(len(b)-n) {
		return "", nil, false
	}
	return string(b[n : n+int(size)]), b[n+int(size):], true
}

func parseNodes(b []byte) (list []node, rest []byte, ok bool) {
	count, n := binary.Uvarint(b)
	if n <= 0 || count > uint64(len(b)) {
		return nil, nil, false
	}
	b = b[n:]
	seq, line := int64(0), int64(0)
	for range count {
		if len(b) == 0 {
			return nil, nil, false
		}
		flags := b[0]
		on := func(bit int) bool { return flags>>bit&1 != 0 }
		ds, n := binary.Varint(b[1:])
		if n <= 0 {
			return nil, nil, false
		}
		b = b[1+n:]
		dl, n := binary.Varint(b)
		if n <= 0 || seq+ds < 0 {
			return nil, nil, false
		}
		b = b[n:]
		seq, line = seq+ds, line+dl
		list = append(list, node{seq, line, on(0), on(1), on(2), on(3), on(4), on(5)})
	}
	return list, b, true
}
