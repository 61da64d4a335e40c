package codex

import (
	"context"
	"slices"
	"strconv"

	"github.com/yorehq/yore/reader"
	"github.com/yorehq/yore/reader/jsonl"
	"github.com/yorehq/yore/session"
)

// flags are what a line's events depend on beside the line. They are kept in
// the place of every event, so that a window can begin anywhere.
type flags struct {
	Titled   bool `json:"titled,omitempty"`   // a title has been given
	Response bool `json:"response,omitempty"` // inside a model's response
	Items    bool `json:"items,omitempty"`    // there were response items, which repeat what events show
	Outer    bool `json:"outer,omitempty"`    // inside a call that runs others
}

// flagBits is how many bits of a place the flags take; above them stands which of
// its value's events it is.
const flagBits = 4

func (f flags) bits() int64 {
	n := int64(0)
	for i, on := range [flagBits]bool{f.Titled, f.Response, f.Items, f.Outer} {
		if on {
			n |= 1 << i
		}
	}
	return n
}

func flagsOf(inner int64) flags {
	return flags{inner&1 != 0, inner&2 != 0, inner&4 != 0, inner&8 != 0}
}

// whole says that an event's native record is the whole value.
const whole = -1

// made is one event of a value. Item says which entry of a compaction's list is
// its native record, or whole.
type made struct {
	event session.Event
	item  int
}

// decoder turns the values of a thread into events, in order. It is for one
// goroutine.
type decoder struct {
	thread *thread
	next   int64
	flags
	time int64 // of the latest event

	known bool                 // time, nodes, turns and marks are those of everything before
	nodes []node               // the surface
	turns turns                // what a rollback depends on beside it
	marks map[int][]node       // by part: the surface that it goes on from
	seen  map[int]ending       // how far each file was read
	torn  map[int]*reader.Skip // files that ended early
	bytes int64                // parsed
	made  []made               // of the value at hand
	at    session.Place        // of that value, without an index
	value *value               // at hand
	part  int                  // of that value
}

// ending is how far a file was read.
type ending struct {
	stamp  reader.Stamp
	extent int64
	open   bool // to its end, wherever that may be
}

func newDecoder(t *thread) *decoder {
	return &decoder{
		thread: t, known: true, time: max(0, t.header().CreatedAt),
		marks: map[int][]node{}, seen: map[int]ending{}, torn: map[int]*reader.Skip{},
	}
}

// decode makes the events of one value and moves on behind it.
func (d *decoder) decode(ctx context.Context, k int, v *value, r *record) ([]made, error) {
	d.made = d.made[:0]
	d.value, d.part = v, k
	d.at = session.Place{Part: int64(k), Offset: v.start, Inner: d.bits()}
	if err := d.recall(ctx, r); err != nil {
		return nil, err
	}
	d.mark(r)
	if r.time >= 0 {
		d.time = r.time
	}
	switch {
	case v.none:
		d.log(r, "x/unparsed", session.Body{})
	case r.is(itemType):
		d.item(r)
	case r.is(eventType):
		d.event(r)
	case r.is(compactedType):
		d.compacted(r)
	case r.is(metaType) && d.begins(v):
		d.selects(r, d.marks[k], session.Body{})
	case r.is(contextType), r.is(stateType), r.is(usageType):
		d.log(r, "request/context", session.Body{})
	default:
		d.log(r, r.logType(), session.Body{})
	}
	return d.made, nil
}

// recall reads the thread again up to a value that depends on what came before
// and that is not known. That is rare: a compaction, a rollback or the beginning
// of a segment, behind a position whose surface was too large to keep.
func (d *decoder) recall(ctx context.Context, r *record) error {
	needed := r.is(compactedType) || r.isEvent(rolledBackType) || r.is(metaType) && d.begins(d.value) || r.time < 0
	if d.known || !needed {
		return nil
	}
	again := newDecoder(d.thread)
	until := mark{part: d.part, offset: d.value.start}
	if _, err := d.thread.run(ctx, again, mark{}, until, nil, nil); err != nil {
		return err
	}
	d.time, d.nodes, d.turns, d.marks, d.known = again.time, again.nodes, again.turns, again.marks, true
	d.bytes += again.bytes
	return nil
}

// begins reports whether a value is the first of a segment that goes on from an
// earlier point of its own thread.
func (d *decoder) begins(v *value) bool {
	return d.part > d.thread.own && v.start <= int64(len(bom))
}

// mark remembers the surface for the segments that go on from before a record.
func (d *decoder) mark(r *record) {
	if !d.known || r.ordinal < 0 {
		return
	}
	d.remember(d.part, func(end int64) bool { return r.ordinal >= end })
}

// passed remembers the surface for the segments that go on from the end of a part.
func (d *decoder) passed(k int) {
	if d.known {
		d.remember(k, func(int64) bool { return true })
	}
}

func (d *decoder) remember(k int, reached func(end int64) bool) {
	for j := max(k, d.thread.own) + 1; j < len(d.thread.Parts); j++ {
		from := d.thread.Parts[j].From
		if _, done := d.marks[j]; !done && from.Seg == d.thread.Parts[k].Seg && reached(from.End) {
			d.marks[j] = slices.Clone(d.nodes)
		}
	}
}

// item takes a response item.
func (d *decoder) item(r *record) {
	d.Items = true
	it := parseItem(&r.in)
	if string(r.in.x.Field(r.metadata, "compaction_output")) == "true" {
		d.log(r, r.logType(), session.Body{}) // the summary before it is put to use
		return
	}
	step := it.model && !d.Response
	switch {
	case it.model:
		d.Response = true
	case it.input:
		d.Response = false
	}
	d.Outer = (d.Outer || it.call) && !it.answer
	switch {
	case it.typ == "":
		d.log(r, r.logType(), session.Body{})
	case it.typ == session.ToolCall:
		d.log(r, session.ToolCall, it.body)
	default:
		d.title(&it.body)
		d.append(r, &it, whole)
	}
	d.made[0].event.Step = step
}

// title gives the first prompt as the title of a thread that has none.
func (d *decoder) title(b *session.Body) {
	if d.Titled || b.Speaker != session.Human {
		return
	}
	if title := titleOf(b); title != "" {
		b.Title, d.Titled = &title, true
	}
}

// event takes what the agent shows. What it shows of the conversation stands in
// response items as well and gives no text, unless the log has none.
func (d *decoder) event(r *record) {
	body := session.Body{}
	switch {
	case r.isEvent("task_started", "turn_started"):
		d.Response, d.Outer = false, false
		d.turns.begin()
		d.log(r, session.TurnStart, body)
		return
	case r.isEvent("task_complete", "turn_complete", "turn_aborted"):
		if r.isEvent("turn_aborted") {
			body.Blocks = []session.Block{{Text: "aborted"}}
		}
		d.log(r, session.TurnEnd, body)
		return
	case r.isEvent(settingsType):
		d.log(r, "request/context", body)
		return
	case r.isEvent(rolledBackType):
		d.Response, d.Outer = false, false
		n, _ := jsonl.Natural(r.in.turns)
		d.selects(r, d.turns.rollback(d.nodes, n, d.thread.first.release), body)
		return
	case r.isEvent("thread_name_updated"):
		if title := oneLine(jsonl.Text(r.in.rename)); title != "" {
			body.Title, d.Titled = &title, true
			d.log(r, session.TitleEvent, body)
			return
		}
	case r.isEvent("user_message") && !d.Items:
		body = say(session.Human, r.in.message)
		d.title(&body)
	case r.isEvent("agent_message") && !d.Items:
		body = say(session.Assistant, r.in.message)
	case r.isEvent("error"):
		body = say(session.NoSpeaker, r.in.message)
	case r.isEvent("web_search_end") && d.Outer:
		body = say(session.Action, r.in.query)
	case r.isEvent("item_completed"):
		shown := fieldsOf(r.in.x, r.in.item)
		switch kind := shown.typ; {
		case jsonl.Is(kind, "Plan"):
			body = say(session.Assistant, r.in.x.Field(r.in.item, "text"))
		case jsonl.Is(kind, "WebSearch") && d.Outer:
			body = say(session.Action, shown.query)
		}
	}
	d.log(r, r.logType(), body)
}

func say(who session.Speaker, text []byte) session.Body {
	blocks := textBlocks([]piece{{text: jsonl.Text(text)}})
	if blocks == nil {
		return session.Body{}
	}
	return session.Body{Speaker: who, Blocks: blocks}
}

// emit adds an event of the value at hand and returns its seq.
func (d *decoder) emit(r *record, typ string, body session.Body, item int) *session.Event {
	place := d.at
	place.Inner |= int64(len(d.made)) << flagBits
	body.Clipped = d.value.clipped
	d.made = append(d.made, made{item: item, event: session.Event{
		Seq: d.next, Type: typ, Time: d.time, Place: place, Body: body, NativeID: d.nativeID(r, item),
	}})
	d.next++
	return &d.made[len(d.made)-1].event
}

// nativeID is a record's own id, which copies in forks keep: an item's id or the
// id of the call it answers, else its place in the thread that wrote it.
func (d *decoder) nativeID(r *record, item int) string {
	if item != whole {
		return ""
	}
	if r.is(itemType) {
		if id := r.in.id; jsonl.Filled(id) && len(id) < 256 {
			return jsonl.Text(id)
		}
		if id := r.in.callID; jsonl.Filled(id) && len(id) < 256 {
			return jsonl.Text(id) + "/" + wordOf(r.in.kind)
		}
	}
	if r.ordinal < 0 {
		return ""
	}
	return d.thread.Parts[d.part].Seg + "/" + strconv.FormatInt(r.ordinal, 10)
}

// log adds an event that is no part of the surface.
func (d *decoder) log(r *record, typ string, body session.Body) {
	d.emit(r, typ, body, whole)
}

// append adds an event to the end of the surface.
func (d *decoder) append(r *record, it *item, index int) node {
	e := d.emit(r, it.typ, it.body, index)
	e.Op = session.Op{Kind: session.OpAppend}
	n := nodeOf(e.Seq, it)
	if index != whole && it.id != "" {
		e.NativeID = it.id
	}
	if d.known {
		d.nodes = append(d.nodes, n)
		d.turns.add(n)
	}
	return n
}

func nodeOf(seq int64, it *item) node {
	n := node{seq: seq, content: it.content}
	n.user = it.typ == session.UserMessage && it.body.Speaker != session.Summary
	n.human = it.body.Speaker == session.Human
	n.turn, n.context = it.turn, it.context
	if it.id != "" {
		n.id = hashOf(it.id)
	}
	return n
}

// replace puts a summary in the place of the nodes from one index to before another.
func (d *decoder) replace(r *record, it *item, from, to int) {
	e := d.emit(r, it.typ, it.body, whole)
	e.Op = session.Op{Kind: session.OpReplace, Start: d.nodes[from].seq, End: d.nodes[to-1].seq}
	for _, n := range d.nodes[from:to] {
		e.Sources = append(e.Sources, n.seq)
	}
	d.nodes = slices.Concat(d.nodes[:from], []node{nodeOf(e.Seq, it)}, d.nodes[to:])
}

// selects adds the event that makes the surface what is given.
func (d *decoder) selects(r *record, to []node, body session.Body) {
	e := d.emit(r, r.logType(), body, whole)
	e.Op = change(d.nodes, to)
	if over := len(e.Op.Nodes) - maxSelected; over > 0 {
		to, e.Op.Nodes = to[:len(to)-over], e.Op.Nodes[:maxSelected]
	}
	d.nodes = slices.Clone(to)
}
