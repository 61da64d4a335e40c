package claude

import (
	"slices"

	"github.com/yorehq/yore/reader/jsonl"
	"github.com/yorehq/yore/session"
)

// microcompaction is the system record that names results which have been
// blanked.
const microcompaction = "microcompact_boundary"

// refusal is the system record that names messages which were withdrawn because
// another model answers in their place.
const refusal = "model_refusal_fallback"

// keeps reads which records a boundary says stay in the context, as they stand
// on the path.
func (g *graph) keeps(r *record) []uint64 {
	meta := jsonl.Field(r.raw, "compactMetadata")
	var kept []uint64
	have := map[uint64]bool{}
	keep := func(id uint64) {
		if n := g.byID[id]; n != nil && n.pos >= 0 && !n.boundary && !have[id] {
			have[id] = true
			kept = append(kept, id)
		}
	}
	if list := jsonl.Field(jsonl.Field(meta, "preservedMessages"), "uuids"); jsonl.IsArray(list) {
		each(list, func(v []byte) { keep(keyOf(v)) })
		return kept
	}
	segment := jsonl.Field(meta, "preservedSegment")
	head, tail := g.byID[keyOf(jsonl.Field(segment, "headUuid"))], g.byID[keyOf(jsonl.Field(segment, "tailUuid"))]
	if head == nil || tail == nil || head.pos < 0 || tail.pos < head.pos {
		return nil
	}
	for _, n := range g.path[head.pos : tail.pos+1] {
		keep(n.id)
	}
	return kept
}

// hang makes the kept records of a boundary children of its anchor, one behind
// the other, and returns them.
func (g *graph) hang(anchor, boundary *node) []*node {
	anchor.anchor, anchor.kept = true, boundary.kept
	var kept []*node
	parent := anchor.id
	for _, id := range boundary.kept {
		if n := g.byID[id]; n != nil && n != anchor {
			n.parent, n.keptBy = parent, anchor.id
			parent = n.id
			kept = append(kept, n)
		}
	}
	return kept
}

// abandon makes the path of a boundary whose summary does not follow.
func (g *graph) abandon() move {
	b := g.pending
	g.pending = nil
	return move{rest: append([]*node{b}, g.hang(b, b)...), name: "compact"}
}

// summarised returns the path behind a compaction: its boundary, its summary n,
// and what was kept. A summary without a boundary is all that is left.
func (g *graph) summarised(n *node) (now []*node, ok bool) {
	b := g.pending
	switch {
	case b != nil && n.parent == b.id:
		return append([]*node{b, n}, g.hang(n, b)...), true
	case b != nil:
		// It stands behind what was kept.
		return append(append([]*node{b}, g.hang(b, b)...), n), true
	}
	p := g.byID[n.parent]
	if p == nil || !p.boundary || p.pos < 0 {
		return []*node{n}, n.parent == 0
	}
	now = append(slices.Clone(g.path[:p.pos+1]), n)
	for _, k := range g.path[p.pos+1:] {
		if k.keptBy == p.id {
			k.keptBy = n.id
			if k.parent == p.id {
				k.parent = n.id
			}
		}
		now = append(now, k)
	}
	p.anchor = false
	n.anchor, n.kept = true, p.kept
	return now, true
}

// replacement tells how one new event at seq turns a surface into another one:
// by taking the place of a run, or by coming to the end. Otherwise ok is false.
func replacement(old, now []int64, seq int64) (op session.Op, removed []int64, ok bool) {
	at := slices.Index(now, seq)
	if at < 0 || at > len(old) || !slices.Equal(now[:at], old[:at]) {
		return op, nil, false
	}
	behind := now[at+1:]
	end := len(old) - len(behind)
	switch {
	case end < at || !slices.Equal(behind, old[end:]):
		return op, nil, false
	case end > at:
		removed = slices.Clone(old[at:end])
		return session.Op{Kind: session.OpReplace, Start: removed[0], End: removed[len(removed)-1]}, removed, true
	}
	return session.Op{Kind: session.OpAppend}, nil, len(behind) == 0
}

// selection is the select that turns a surface into another one.
func selection(old, now []int64) session.Op {
	op := session.Op{Kind: session.OpSelect, Keep: -1}
	for len(old) > 0 && len(now) > 0 && old[0] == now[0] {
		op.Keep, old, now = old[0], old[1:], now[1:]
	}
	op.Nodes = slices.Clone(now)
	return op
}

// cleared returns the calls whose results a record says are gone from the
// model's context, with what stands there now (nil: nothing).
func (r *record) cleared() (ids []string, texts [][]byte) {
	if r.kind != "content-replacement" && r.subtype != microcompaction {
		return nil, nil
	}
	each(jsonl.Field(jsonl.Field(r.raw, "microcompactMetadata"), "compactedToolIds"), func(v []byte) {
		if jsonl.Filled(v) {
			ids, texts = append(ids, jsonl.Text(v)), append(texts, nil)
		}
	})
	each(jsonl.Field(r.raw, "replacements"), func(v []byte) {
		for _, name := range [...]string{"toolUseId", "tool_use_id", "toolUseID"} {
			if id := jsonl.Field(v, name); jsonl.Filled(id) {
				text := jsonl.Field(v, "replacement")
				if text == nil {
					text = jsonl.Field(v, "content")
				}
				ids, texts = append(ids, jsonl.Text(id)), append(texts, text)
				return
			}
		}
	})
	return ids, texts
}
