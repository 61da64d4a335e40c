package qwen

import (
	"github.com/yorehq/yore/reader"
	"github.com/yorehq/yore/reader/jsonl"
	"github.com/yorehq/yore/reader/linelog"
	"github.com/yorehq/yore/session"
)

// decoder makes events of the records of a chat. It is a linelog.Decoder.
type decoder struct {
	tree  tree
	small small
	// likes says of events by which hash of a message, or of an answered call's id,
	// a compaction may repeat them.
	likes map[int64]uint64
}

// small is what is remembered beside the tree.
type small struct {
	Titled bool `json:"titled,omitempty"` // a title was given, or a prompt seen
}

func newDecoder(reader.Source) linelog.Decoder { return freshDecoder() }

func freshDecoder() *decoder {
	return &decoder{tree: newTree(), likes: map[int64]uint64{}}
}

// Settled implements linelog.Decoder. A record that goes on from the latest one
// needs nothing but that; a compaction needs all that was said.
func (d *decoder) Settled(r *linelog.Record) bool {
	if !d.tree.partial {
		return true
	}
	rec := recordOf(r)
	switch {
	case rec.beside():
		return true
	case rec.kind == "system" && rec.subtype == "chat_compression":
		return false
	}
	leaf := d.tree.leaf
	return leaf != nil && rec.id != leaf.id && (rec.parent == leaf.id || rec.id == 0)
}

// Take implements linelog.Decoder.
func (d *decoder) Take(r *linelog.Record, out *linelog.Events) {
	rec := recordOf(r)
	if rec.time >= 0 {
		out.Time = rec.time
	}
	if rec.beside() {
		out.Add(session.Event{Type: "qwen/system/" + word(rec.subtype), NativeID: rec.native}, nil)
		return
	}
	n := d.place(&rec, out)
	switch rec.kind {
	case "user":
		d.user(&rec, n, out)
	case "assistant":
		d.assistant(&rec, n, out)
	case "tool_result":
		d.results(&rec, n, out)
	case "system":
		d.system(&rec, n, out)
	default:
		d.log(&rec, out, "qwen/"+word(rec.kind), nil)
	}
	if d.tree.leaf != n && !rec.anchored() {
		d.tree.leaf = n
	}
}

// place finds a record's node, and makes what it hangs on the surface. A uuid that
// was written before goes on with that record; one that hangs on nothing that is
// known begins anew, as the agent has it.
func (d *decoder) place(rec *record, out *linelog.Events) *node {
	if again := d.tree.byID[rec.id]; again != nil && rec.id != 0 {
		d.moveTo(again, rec, out)
		return again
	}
	parent := d.tree.byID[rec.parent]
	if rec.id == 0 {
		parent = d.tree.leaf
	}
	n := d.tree.add(rec.id, parent)
	if rec.anchored() {
		// What hangs on the latest record is the latest; else it is only a note.
		if parent == d.tree.leaf {
			d.tree.leaf = n
		}
		return n
	}
	d.moveTo(parent, rec, out)
	d.tree.leaf = n
	return n
}

// moveTo makes a record the one that the next hangs on. Where that changes what
// the model sees, a select says so; that of a rewind's own record comes with it.
func (d *decoder) moveTo(to *node, rec *record, out *linelog.Events) {
	from := d.tree.leaf
	if to == from {
		return
	}
	d.tree.leaf = to
	after := d.tree.context(to)
	op := change(d.tree.surface, after)
	if op.Kind == session.OpNone || rec.kind == "system" && rec.subtype == "rewind" {
		return
	}
	name := "qwen/branch"
	if behind(to, from) {
		name = "qwen/rewind"
	}
	out.Select(name, op)
	d.tree.surface = after
}

// log adds an event that is no part of the surface.
func (d *decoder) log(rec *record, out *linelog.Events, typ string, body func() session.Body) *session.Event {
	return out.Add(session.Event{Type: typ, NativeID: rec.native}, body)
}

// join puts an event that is to be added on the surface.
func (d *decoder) join(n *node, seq int64) {
	n.seqs = append(n.seqs, seq)
	if !d.tree.partial {
		d.tree.surface = append(d.tree.surface, seq)
	}
}

var appended = session.Op{Kind: session.OpAppend}

func (d *decoder) user(rec *record, n *node, out *linelog.Events) {
	if rec.subtype == "realtime_message" {
		// What was said by voice is never sent to this model.
		d.log(rec, out, "qwen/realtime_message", rec.userBody)
		return
	}
	d.likes[out.Next()] = likeness(rec.x, false, rec.parts)
	d.join(n, out.Next())
	ev := session.Event{Type: session.UserMessage, NativeID: rec.native, Op: appended}
	if !d.small.Titled && !rec.sidechain {
		if b := rec.userBody(); b.Speaker == session.Human {
			if title := headline(b.Blocks); title != "" {
				ev.Body.Title, ev.Body.Makeshift, d.small.Titled = &title, true, true
			}
		}
	}
	out.Add(ev, rec.userBody)
}

func (d *decoder) assistant(rec *record, n *node, out *linelog.Events) {
	d.likes[out.Next()] = likeness(rec.x, true, rec.parts)
	d.join(n, out.Next())
	out.Add(session.Event{Type: session.AssistantMessage, NativeID: rec.native, Op: appended, Step: true}, func() session.Body {
		return session.Body{Speaker: session.Assistant, Blocks: texts(rec.x, rec.parts)}
	})
	each(rec.x, rec.parts, func(number int64, p part) {
		if p.call != nil {
			out.Block(number, session.Event{Type: session.ToolCall, NativeID: rec.native}, func() session.Body { return callBody(rec.x, p.call) })
		}
	})
}

// results takes what tools returned; a record holds one, rarely several.
func (d *decoder) results(rec *record, n *node, out *linelog.Events) {
	count := 0
	each(rec.x, rec.parts, func(_ int64, p part) {
		if p.response != nil {
			count++
		}
	})
	each(rec.x, rec.parts, func(number int64, p part) {
		if p.response == nil {
			return
		}
		d.likes[out.Next()] = key(rec.x, rec.x.Field(p.response, "id"))
		d.join(n, out.Next())
		ev := session.Event{Type: session.ToolResult, NativeID: rec.native, Op: appended}
		body := func() session.Body { return resultBody(rec.x, p.response, rec.result) }
		if count == 1 {
			out.Add(ev, body)
			return
		}
		out.Block(number, ev, body)
	})
	if count == 0 {
		d.log(rec, out, "qwen/tool_result", nil)
	}
}

func (d *decoder) system(rec *record, n *node, out *linelog.Events) {
	switch rec.subtype {
	case "chat_compression":
		if list := rec.x.Field(rec.payload, "compressedHistory"); jsonl.IsArray(list) {
			d.compaction(rec, n, list, out)
			return
		}
	case "custom_title":
		if title := oneLine(rec.x.Text(rec.x.Field(rec.payload, "customTitle"))); title != "" {
			d.small.Titled = true
			d.log(rec, out, session.TitleEvent, nil).Body.Title = &title
			return
		}
	case "rewind":
		e := d.log(rec, out, "qwen/rewind", nil)
		after := d.tree.context(n)
		if !d.tree.partial {
			e.Op = change(d.tree.surface, after)
			d.tree.surface = after
		}
		return
	}
	d.log(rec, out, "qwen/system/"+word(rec.subtype), nil)
}

// compaction takes the context that the agent goes on with. Of what it repeats the
// old events stay; the rest are events of its own, and the first of these that
// stands in the user's role is the summary. A summary alone in the place of one run
// replaces it, anything else is a select.
func (d *decoder) compaction(rec *record, n *node, list []byte, out *linelog.Events) {
	before := d.tree.surface
	old := d.byLikeness(before)
	type slot struct {
		seq    int64 // of an old event; -1: it is new
		number int64
		model  bool
		parts  []byte
	}
	var slots []slot
	fresh := 0
	c := rec.x.Enter(list)
	number := int64(0)
	for v, ok := c.Element(); ok; v, ok = c.Element() {
		number++
		model := jsonl.Is(rec.x.Field(v, "role"), "model")
		parts := rec.x.Field(v, "parts")
		responses := 0
		each(rec.x, parts, func(_ int64, p part) {
			if p.response != nil {
				responses++
				if seq, ok := old.take(key(rec.x, rec.x.Field(p.response, "id"))); ok {
					slots = append(slots, slot{seq: seq})
				}
			}
		})
		if responses > 0 {
			continue
		}
		if seq, ok := old.take(likeness(rec.x, model, parts)); ok {
			slots = append(slots, slot{seq: seq})
			continue
		}
		slots = append(slots, slot{-1, restated + number, model, parts})
		fresh++
	}
	// A record that is written again states its context anew.
	n.anew, n.kept, n.seqs = true, nil, nil
	summarised := false
	for i := range slots {
		s := &slots[i]
		if s.seq < 0 {
			s.seq = out.Next()
			d.likes[s.seq] = likeness(rec.x, s.model, s.parts)
			d.restate(rec, s.number, s.model, s.parts, &summarised, out)
			before = append(before[:len(before):len(before)], s.seq)
		}
		n.kept = append(n.kept, s.seq)
	}
	after := d.tree.context(n)
	d.log(rec, out, "qwen/compaction", nil).Op = change(before, after)
	d.tree.surface = after
}

// restate adds the event of an entry of a compaction's context that is new.
func (d *decoder) restate(rec *record, number int64, model bool, parts []byte, summarised *bool, out *linelog.Events) {
	if model {
		out.Block(number, session.Event{Type: session.AssistantMessage, Op: appended}, func() session.Body {
			return session.Body{Speaker: session.Assistant, Blocks: texts(rec.x, parts)}
		})
		return
	}
	list := texts(rec.x, parts)
	said := typed(list)
	b := session.Body{Speaker: session.Injected, Blocks: said}
	if !*summarised && len(said) > 0 {
		b.Speaker, *summarised = session.Summary, true
	}
	out.Block(number, session.Event{Type: session.UserMessage, Op: appended}, func() session.Body { return b })
}

// candidates are the events of a surface by the hashes that they may be repeated by,
// each once, in order.
type candidates map[uint64][]int64

func (d *decoder) byLikeness(surface []int64) candidates {
	c := candidates{}
	for _, seq := range surface {
		if h := d.likes[seq]; h != 0 {
			c[h] = append(c[h], seq)
		}
	}
	return c
}

func (c candidates) take(h uint64) (int64, bool) {
	list := c[h]
	if h == 0 || len(list) == 0 {
		return 0, false
	}
	c[h] = list[1:]
	return list[0], true
}
