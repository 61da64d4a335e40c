// Package pitree owns what the entries of Pi's session tree mean: the events
// that an entry gives, the path from the latest entry to its root, and what of
// that path the model sees. Pi writes such entries into files of its own, and
// agents that are built on it into theirs.
//
// It knows no file and no folder: entries come one after another, in the order
// in which they were written. Where they lie is the business of the reader above
// it. Start at Decoder, then Decoder.Take.
//
// The rules are those of the agent's page on its format and of its own loader
// (release 1.6.0): the latest entry is the leaf, the path is its chain of
// parents, an entry without a known parent is a root. The newest compaction on
// the path stands first, then the entries from the first one that it kept, then
// what came behind it. Of several edits of one entry the latest on the path
// counts. Answers that ended in an error or were aborted are never sent again.
package pitree

import (
	"github.com/yorehq/yore/reader/jsonl"
	"github.com/yorehq/yore/reader/linelog"
	"github.com/yorehq/yore/session"
)

// Decoder makes events of entries. It is a linelog.Decoder.
type Decoder struct {
	prefix   string // of types that are the agent's own
	controls bool   // entries may steer, see NewSteered
	tree     tree
	small    small
}

// small is what is remembered beside the tree.
type small struct {
	Linear bool   `json:"linear,omitempty"` // version 1: entries have no parents, each hangs on the one before
	Titled bool   `json:"titled,omitempty"` // a name was given, or a prompt seen
	Prompt string `json:"prompt,omitempty"` // the title that the first prompt makes
	Calls  []call `json:"calls,omitempty"`  // of the latest answer that makes some
	Cursor uint64 `json:"cursor,omitempty"` // what the latest entry left to be appended to, where that is not the leaf
	Reset  uint64 `json:"reset,omitempty"`  // the latest reset
}

// call is a tool call and the event that stands for it.
type call struct {
	ID  uint64 `json:"id"`
	Seq int64  `json:"seq"`
}

// maxCalls is how many calls of one answer are remembered.
const maxCalls = 32

// New returns a decoder; what has no equal in the model becomes prefix/type.
func New(prefix string) *Decoder { return &Decoder{prefix: prefix, tree: newTree()} }

var _ linelog.Decoder = (*Decoder)(nil)

// Settled implements linelog.Decoder.
func (d *Decoder) Settled(r *linelog.Record) bool {
	if !d.tree.partial {
		return true
	}
	e := entryOf(r)
	switch e.kind {
	case "session":
		return true
	case "compaction", "context_edit":
		return false
	}
	leaf := d.tree.leaf()
	if d.controls && (steers(&e) || d.small.Cursor != 0) {
		return false
	}
	return leaf != nil && (d.small.Linear || e.id == 0 || e.parent == leaf.id)
}

// Take implements linelog.Decoder.
func (d *Decoder) Take(r *linelog.Record, out *linelog.Events) {
	e := entryOf(r)
	if e.kind == "session" {
		d.small.Linear = d.small.Linear || e.version < 2 && len(d.tree.nodes) == 0 && !d.controls
		return
	}
	if e.time > 0 {
		out.Time = e.time
	}
	n := &node{id: e.id, ord: len(d.tree.nodes), seq: -1}
	parent := d.tree.byID[e.parent]
	if d.small.Linear || e.id == 0 {
		parent = d.tree.leaf()
		n.id = 0
	}
	leaf := d.tree.leaf()
	beside := d.controls && beside(&e)
	if d.controls {
		if e.kind == "leaf" {
			d.turn(&e, n, out)
			return
		}
		parent = d.hangsOn(&e)
		d.small.Cursor = 0
		if beside {
			d.small.Cursor = n.id
		}
	}
	d.moveTo(parent, out)
	switch e.kind {
	case "message":
		d.message(&e, n, out)
	case "custom_message":
		n.role = userRole
		d.say(&e, n, out, session.UserMessage, func() session.Body {
			return session.Body{Speaker: session.Injected, Blocks: e.texts(e.content)}
		})
	case "branch_summary":
		d.branchSummary(&e, n, out)
	case "compaction":
		d.compaction(&e, n, out)
	case "context_edit":
		d.edit(&e, n, out)
	case "session_info":
		d.name(&e, out)
	case "reset":
		if d.controls {
			d.reset(&e, n, out)
			break
		}
		fallthrough
	default:
		d.log(&e, out, d.prefix+"/"+linelog.Word(e.kind), nil)
	}
	d.tree.add(n)
	if beside {
		d.moveTo(leaf, out)
	}
}

// moveTo makes an entry the leaf, or nil: nothing. Where that changes what the
// model sees, a select says so.
func (d *Decoder) moveTo(to *node, out *linelog.Events) {
	if to == d.tree.leaf() {
		return
	}
	name := "/branch"
	switch {
	case to == nil:
		name = "/reset"
	case to.pos >= 0:
		name = "/rewind"
	}
	before := d.tree.surface
	if after := d.tree.move(to); !same(before, after) {
		out.Select(d.prefix+name, linelog.Change(before, after))
		d.tree.surface = after
	}
}

// log adds an event that is not part of the surface.
func (d *Decoder) log(e *entry, out *linelog.Events, typ string, body func() session.Body) *session.Event {
	return out.Add(session.Event{Type: typ, NativeID: e.native}, body)
}

// say adds an event to the end of the surface.
func (d *Decoder) say(e *entry, n *node, out *linelog.Events, typ string, body func() session.Body) *session.Event {
	n.seq = out.Next()
	d.tree.surface = append(d.tree.surface, n.seq)
	return out.Add(session.Event{Type: typ, NativeID: e.native, Op: session.Op{Kind: session.OpAppend}}, body)
}

// message takes a message entry.
func (d *Decoder) message(e *entry, n *node, out *linelog.Events) {
	switch m := &e.message; m.role {
	case "user":
		n.role = userRole
		ev := d.say(e, n, out, session.UserMessage, func() session.Body {
			return session.Body{Speaker: session.Human, Blocks: e.texts(m.content)}
		})
		d.prompt(e, ev)
	case "custom", "hookMessage":
		n.role = userRole
		d.say(e, n, out, session.UserMessage, func() session.Body {
			return session.Body{Speaker: session.Injected, Blocks: e.texts(m.content)}
		})
	case "assistant":
		d.answer(e, n, out)
	case "toolResult":
		d.result(e, n, out)
	case "bashExecution":
		body := func() session.Body {
			return session.Body{Speaker: session.Injected, Blocks: append(e.texts(m.command), e.texts(m.output)...)}
		}
		if m.excluded {
			d.log(e, out, d.prefix+"/bashExecution", body)
			return
		}
		n.role = userRole
		d.say(e, n, out, session.UserMessage, body)
	case "branchSummary", "compactionSummary":
		// Made in memory only by known releases.
		n.role = userRole
		d.say(e, n, out, session.UserMessage, func() session.Body {
			return session.Body{Speaker: session.Summary, Blocks: e.texts(m.summary)}
		})
	case "system":
		d.log(e, out, "request/header", nil)
	default:
		d.log(e, out, d.prefix+"/message/"+linelog.Word(m.role), nil)
	}
}

// prompt gives the first prompt as the title of a session that has none.
func (d *Decoder) prompt(e *entry, ev *session.Event) {
	if d.small.Prompt != "" {
		return
	}
	if d.small.Prompt = headline(e.texts(e.message.content)); d.small.Prompt == "" || d.small.Titled {
		return
	}
	title := d.small.Prompt
	ev.Body.Title, ev.Body.Makeshift, d.small.Titled = &title, true, true
}

// name takes a name that a person or an extension gave; an empty one gives the
// title back that the first prompt makes.
func (d *Decoder) name(e *entry, out *linelog.Events) {
	title := headline(e.texts(e.name))
	makeshift := title == ""
	if makeshift {
		title = d.small.Prompt
	}
	if title == "" {
		d.small.Titled = false
		d.log(e, out, d.prefix+"/session_info", nil)
		return
	}
	d.small.Titled = true
	ev := d.log(e, out, session.TitleEvent, nil)
	ev.Body.Title, ev.Body.Makeshift = &title, makeshift
}

// answer takes what the model said, and its calls. One that failed is never sent
// to it again.
func (d *Decoder) answer(e *entry, n *node, out *linelog.Events) {
	m := &e.message
	body := func() session.Body {
		blocks := e.texts(m.content)
		if m.failed {
			blocks = append(blocks, e.texts(m.failure)...)
		}
		return session.Body{Speaker: session.Assistant, Blocks: blocks}
	}
	if m.failed {
		d.log(e, out, d.prefix+"/assistant/"+linelog.Word(m.stop), body).Step = true
	} else {
		n.role = assistantRole
		d.say(e, n, out, session.AssistantMessage, body).Step = true
	}
	first := true
	e.blocks(m.content, func(number int64, b *block) {
		if b.kind != "toolCall" {
			return
		}
		if first {
			d.small.Calls, first = nil, false
		}
		if len(d.small.Calls) < maxCalls {
			d.small.Calls = append(d.small.Calls, call{linelog.Key(b.id), out.Next()})
		}
		id, name, arguments := b.id, b.name, b.arguments
		out.Block(number, session.Event{Type: session.ToolCall, NativeID: e.native}, func() session.Body {
			return session.Body{
				Speaker: session.Action, CallID: jsonl.Text(id),
				Blocks: []session.Block{{Kind: session.CallBlock, Name: e.x.Name(name), Text: string(arguments)}},
			}
		})
	})
}

// result takes a tool's result. It cites its call where that is of the latest
// answer that makes any.
func (d *Decoder) result(e *entry, n *node, out *linelog.Events) {
	m := &e.message
	n.role = toolRole
	ev := d.say(e, n, out, session.ToolResult, func() session.Body {
		b := session.Body{
			Speaker: session.Tool, CallID: jsonl.Text(m.callID),
			Blocks: []session.Block{{Kind: session.ResultBlock, Content: e.texts(m.content)}},
		}
		if m.isError {
			b.ErrorName = "error"
		}
		return b
	})
	for _, c := range d.small.Calls {
		if c.ID == linelog.Key(m.callID) && c.ID != 0 {
			ev.Sources = []int64{c.Seq}
		}
	}
}

// branchSummary takes the summary of a branch that was left.
func (d *Decoder) branchSummary(e *entry, n *node, out *linelog.Events) {
	body := func() session.Body {
		return session.Body{Speaker: session.Summary, Blocks: e.texts(e.summary)}
	}
	if !jsonl.Filled(e.summary) {
		d.log(e, out, d.prefix+"/branch_summary", nil)
		return
	}
	n.role = userRole
	d.say(e, n, out, session.UserMessage, body)
}

// compaction takes a summary that stands for the path before the first entry
// that is kept. It takes the place of what it sums up; where entries come back
// that an earlier one had summed up, or stand in another order, a select follows.
func (d *Decoder) compaction(e *entry, n *node, out *linelog.Events) {
	n.kind, n.ref = compactionNode, e.firstKept
	if e.firstKept == 0 && e.keptIndex > 0 {
		if kept := d.tree.byIndex(e.keptIndex); kept != nil {
			n.ref = kept.id
			n.keptOrd = kept.ord + 1
		}
	}
	n.seq = out.Next()
	before := d.tree.surface
	after := d.tree.context(n)
	ev := out.Add(session.Event{Type: session.UserMessage, NativeID: e.native, Op: session.Op{Kind: session.OpAppend}}, func() session.Body {
		return session.Body{Speaker: session.Summary, Blocks: e.texts(e.summary)}
	})
	gone := len(before) - len(after) + 1
	switch {
	case gone > 0 && same(before[gone:], after[1:]):
		ev.Op = session.Op{Kind: session.OpReplace, Start: before[0], End: before[gone-1]}
		ev.Sources = append([]int64{}, before[:gone]...)
	default:
		if appended := append(before[:len(before):len(before)], n.seq); !same(appended, after) {
			out.Select(d.prefix+"/compaction", linelog.Change(appended, after))
		}
	}
	d.tree.surface = after
}

// edit takes a change of what an earlier entry says to the model.
func (d *Decoder) edit(e *entry, n *node, out *linelog.Events) {
	n.kind, n.ref = editNode, e.target
	target := d.tree.byID[e.target]
	before := d.tree.surface
	typ := ""
	if target != nil && target.pos >= 0 && e.replaced && target.kind == plainNode {
		typ = [...]string{userRole: session.UserMessage, assistantRole: session.AssistantMessage, toolRole: session.ToolResult}[target.role]
	}
	if typ == "" {
		// It is taken out, or there is nothing that could change.
		if target != nil && e.replaced && target.kind == compactionNode {
			n.kind = plainNode
		}
		after := d.tree.context(n)
		ev := d.log(e, out, d.prefix+"/context_edit", nil)
		if !same(before, after) {
			ev.Op = linelog.Change(before, after)
			d.tree.surface = after
		}
		return
	}
	was := d.tree.standsFor(target)
	n.seq = out.Next()
	after := d.tree.context(n)
	body := func() session.Body {
		return target.role.body(e.texts(e.replacement))
	}
	place := index(after, n.seq)
	switch {
	case place < 0:
		n.seq = -1
		d.log(e, out, d.prefix+"/context_edit", body)
		return
	case place < len(before) && before[place] == was && len(before) == len(after):
		out.Add(session.Event{
			Type: typ, NativeID: e.native, Op: session.Op{Kind: session.OpReplace, Start: was, End: was}, Sources: []int64{was},
		}, body)
	default:
		out.Add(session.Event{Type: typ, NativeID: e.native, Op: session.Op{Kind: session.OpAppend}}, body)
		if appended := append(before[:len(before):len(before)], n.seq); !same(appended, after) {
			out.Select(d.prefix+"/context_edit", linelog.Change(appended, after))
		}
	}
	d.tree.surface = after
}
