package pitree

import (
	"github.com/yorehq/yore/reader/linelog"
)

// NewSteered is New for logs in which entries may also steer, as OpenClaw's do
// (release 2026.9):
//
//   - A leaf control (type leaf) makes the entry targetId the leaf, or null:
//     nothing. What hangs on a control hangs on what it chose.
//   - A reset begins the context anew, from the entry firstKeptEntryId on if it
//     names one. Nothing goes back behind it: what would, goes on at the leaf.
//   - An entry written beside (appendMode side), or of an unknown type, does not
//     become the leaf. What is appended behind it goes on at the leaf.
//   - An entry that does not say what it hangs on, or names one that is not
//     there, goes on at the leaf.
func NewSteered(prefix string) *Decoder {
	return &Decoder{prefix: prefix, controls: true, tree: newTree()}
}

// steers reports whether an entry needs the whole tree to be taken in.
func steers(e *entry) bool { return e.kind == "leaf" || e.kind == "reset" || beside(e) }

// beside reports whether an entry does not become the leaf.
func beside(e *entry) bool {
	switch e.kind {
	case "message", "thinking_level_change", "model_change", "compaction", "reset", "branch_summary", "custom", "custom_message",
		"label", "session_info", "context_edit":
		return e.side
	}
	return true
}

// hangsOn returns what an entry hangs on.
func (d *Decoder) hangsOn(e *entry) *node {
	leaf, parent := d.tree.leaf(), d.tree.byID[e.parent]
	if d.tree.partial {
		return leaf // or it would not be settled
	}
	switch {
	case !e.hung, e.id == 0, e.parent != 0 && parent == nil:
		return leaf
	case beside(e):
		return chosen(parent)
	case e.parent != 0 && e.parent == d.small.Cursor:
		return leaf
	}
	if parent = chosen(parent); !d.behindReset(parent) {
		return leaf
	}
	return parent
}

// chosen returns what a control chose; other entries as they are.
func chosen(n *node) *node {
	for n != nil && n.kind == aliasNode {
		n = n.parent
	}
	return n
}

// behindReset reports whether a path ends behind the latest reset, if there is one.
func (d *Decoder) behindReset(n *node) bool {
	reset := d.tree.byID[d.small.Reset]
	if d.small.Reset == 0 || reset == nil {
		return true
	}
	for n != nil && n != reset {
		n = n.parent
	}
	return n != nil
}

// turn takes a leaf control. One that names what is not there changes nothing.
func (d *Decoder) turn(e *entry, n *node, out *linelog.Events) {
	n.kind, n.pos = aliasNode, -1
	d.log(e, out, d.prefix+"/leaf", nil)
	target, known := d.tree.byID[e.target]
	cursor, appendable := d.tree.byID[e.cursor]
	if n.parent = chosen(target); e.target != 0 && !known || e.turned && e.cursor != 0 && !appendable {
		n.parent = chosen(d.tree.byID[e.parent])
	} else {
		if leaf := d.tree.leaf(); leaf != nil && !d.behindReset(n.parent) {
			n.parent = leaf
		}
		d.moveTo(n.parent, out)
		d.small.Cursor = 0
		if e.turned && chosen(cursor) != n.parent {
			d.small.Cursor = e.cursor
		}
	}
	d.tree.nodes = append(d.tree.nodes, n)
	if n.id != 0 {
		d.tree.byID[n.id] = n
	}
}

// reset takes a reset: a compaction without a summary.
func (d *Decoder) reset(e *entry, n *node, out *linelog.Events) {
	n.kind, n.ref = compactionNode, e.firstKept
	d.small.Reset = n.id
	before := d.tree.surface
	after := d.tree.context(n)
	ev := d.log(e, out, d.prefix+"/reset", nil)
	if !same(before, after) {
		ev.Op = linelog.Change(before, after)
		d.tree.surface = after
	}
}
