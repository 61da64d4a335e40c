package claude

import (
	"bytes"
	"slices"

	"github.com/yorehq/yore/reader/jsonl"
	"github.com/yorehq/yore/reader/linelog"
	"github.com/yorehq/yore/session"
)

// unparsed is the type of an event that stands for bytes that are no record.
const unparsed = "x/unparsed"

// decoder turns the values of one transcript into events, in order. It is for
// one goroutine.
type decoder struct {
	sub  bool  // the source is a subagent: all of its records are sidechain
	run  run   // of a part: which records are its own
	side side  // where moved results lie
	from int64 // texts are made for events from here on

	next    int64
	g       *graph
	runs    runs // of a session's own file
	small   small
	marks   *marks       // of a reading: what it offers for windows; nil: nothing
	x       *jsonl.Index // of the line at hand
	out     []made       // of the value at hand
	place   session.Place
	time    int64 // of the record at hand
	clipped bool  // the record at hand is not there as a whole

	// expand makes the graph whole: it goes through the file up to the line at
	// hand, and takes in the values before the one at hand that are glued to it.
	expand func() error
	line   int64
	end    int64 // of the line
	glued  []linelog.Piece
}

// small is what the decoder remembers beside the graph.
type small struct {
	Line int64 `json:"line,omitempty"` // whole lines read
	Time int64 `json:"time,omitempty"` // of the latest event
	Rank rank  `json:"rank,omitempty"` // of the latest title
	Busy bool  `json:"busy,omitempty"` // the model is at work: a prompt typed now is queued
}

// emit adds an event; body is nil for an event without text.
func (d *decoder) emit(ev session.Event, native []byte, body func() session.Body) *session.Event {
	ev.Seq, ev.Time = d.next, d.time
	ev.Place = d.place
	ev.Place.Inner += int64(len(d.out))
	if body != nil && d.next >= d.from {
		title := ev.Body.Title
		ev.Body = body()
		ev.Body.Title, ev.Body.Makeshift = title, title != nil
		ev.Body.Clipped = ev.Body.Clipped || d.clipped
	}
	d.next++
	d.out = append(d.out, made{ev, native, body != nil})
	return &d.out[len(d.out)-1].event
}

// settled reports whether what is known is enough to take a record in.
func (d *decoder) settled(r *record) bool {
	if r.linked() && r.side && !d.sub {
		return d.runs.settled(r, d.g.seen)
	}
	return !d.unsure(r) && d.g.extends(r)
}

// unparsed notes bytes that are no record. They are never a part's.
func (d *decoder) unparsed(place session.Place) []made {
	d.out, d.place, d.time = d.out[:0], place, d.small.Time
	if d.run.Name != "" {
		return nil
	}
	d.emit(session.Event{Type: unparsed}, nil, nil)
	if d.marks != nil {
		d.marks.skip()
	}
	return d.out
}

// value returns the events of one JSON value, until the next call.
func (d *decoder) value(v []byte, place session.Place) ([]made, error) {
	if !jsonl.IsObject(v) {
		return d.unparsed(place), nil
	}
	d.out, d.place = d.out[:0], place
	r := recordOf(d.x, v)
	if err := d.take(&r); err != nil {
		return nil, err
	}
	return d.out, nil
}

// take takes in a record.
func (d *decoder) take(r *record) error {
	if d.run.Name != "" && !d.owns(r) {
		return nil
	}
	if d.g.partial && !d.settled(r) {
		if err := d.expand(); err != nil {
			return err
		}
		if d.run.Name != "" && !d.owns(r) {
			return nil
		}
	}
	if d.marks != nil {
		if err := d.marks.before(d); err != nil {
			return err
		}
		defer d.marks.after(d, r)
	}
	d.time = d.small.Time
	if r.timed {
		d.time = r.time
	}
	d.small.Time = d.time
	switch {
	case !r.linked():
		d.metadata(r)
	case r.side && !d.sub:
		d.sidechain(r)
	default:
		d.linked(r)
	}
	return nil
}

// sidechain notes a record of a subagent that old releases wrote into the
// session's own file. It is told in the subagent's session; here it has a text
// only if it belongs to none. It was never in the session's context.
func (d *decoder) sidechain(r *record) {
	if d.runs.take(r, d.place.Offset, d.end) {
		if d.g.partial && r.id != 0 {
			d.g.seen.add(r.id)
		}
		d.emit(session.Event{Type: "claude/sidechain/" + clean(r.kind), NativeID: r.nativeID}, nil, nil)
		return
	}
	ps := d.pieces(r)
	for i := range ps {
		p := &ps[i]
		typ := "claude/sidechain/" + clean(r.kind)
		if p.typ == session.ToolCall {
			typ = p.typ
		}
		d.emit(session.Event{Type: typ, NativeID: r.nativeID}, p.native, p.body)
	}
}

// linked takes in a record of the tree.
func (d *decoder) linked(r *record) {
	if r.id == 0 {
		r.id = keyOfPlace(d.place) // nothing can refer to it
	}
	ps := d.pieces(r)
	if old := d.g.byID[r.id]; old != nil {
		d.again(r, old, ps)
		return
	}
	n := nodeOf(r, ps)
	d.follow(r)
	switch {
	case r.boundary():
		d.boundary(r, n, ps)
	case r.summary && d.summary(r, n, ps):
	default:
		d.join(r, n, ps)
	}
	d.clear(r)
	d.retract(r)
}

// nodeOf makes the node of a record.
func nodeOf(r *record, ps []piece) *node {
	n := &node{
		id: r.id, parent: r.parent, stated: r.parent, talks: r.talks(), msg: r.messageID, boundary: r.boundary(), content: r.hashContent(),
	}
	for i := range ps {
		if ps[i].typ == session.ToolResult {
			answered := uint64(0) // one that names no call has its place among the events too
			if ps[i].callID != "" {
				answered = key(ps[i].callID)
			}
			n.answers = append(n.answers, answered)
		}
	}
	if n.msg != 0 {
		n.hash, n.blocks = r.hashBlocks(-1)
	}
	return n
}

// follow tells whether the model is at work.
func (d *decoder) follow(r *record) {
	switch r.kind {
	case userRecord:
		d.small.Busy = r.talks() && !bytes.Contains(r.blocks, []byte("[Request interrupted"))
	case assistantRecord:
		d.small.Busy = !r.apiError
		calls := false
		r.each(r.blocks, func(b *block) {
			d.small.Busy = d.small.Busy && !jsonl.Is(b.typ, "text")
			calls = calls || b.isCall()
		})
		d.small.Busy = d.small.Busy || calls
	}
}

// join puts a record where its parent says, and emits its events.
func (d *decoder) join(r *record, n *node, ps []piece) {
	d.leavePending()
	m, on := d.g.next(n, r.root, r.kind == assistantRecord && r.synthetic)
	d.moveTo(m)
	step := d.stepsIn(n)
	before := d.snapshotOf(r, n)
	d.events(r, n, ps, on, step, before)
	d.g.add(n)
	if on {
		d.g.join(n)
	}
}

// leavePending gives up waiting for a summary.
func (d *decoder) leavePending() {
	if d.g.pending != nil {
		d.moveTo(d.g.abandon())
	}
}

// moveTo makes a path the live one, with a select where the surface changes.
func (d *decoder) moveTo(m move) {
	if m.keep == len(d.g.path) && len(m.rest) == 0 {
		return
	}
	if op := d.g.apply(m); op != nil {
		d.emit(session.Event{Type: "claude/" + m.name, Op: *op, Reconstructed: true}, nil, nil)
	}
}

// stepsIn reports whether a response of the model begins with a record.
func (d *decoder) stepsIn(n *node) bool { return n.msg != 0 && len(d.g.byMsg[n.msg]) == 0 }

// maxSnapshots bounds how far back a repetition is looked for: behind some
// gateways all responses have one id.
const maxSnapshots = 16

// snapshotOf finds the record of the same response whose blocks are all
// repeated, with more behind them, by the record at hand; nil if there is none.
func (d *decoder) snapshotOf(r *record, n *node) *node {
	same := d.g.byMsg[n.msg]
	for _, o := range slices.Backward(same[max(0, len(same)-maxSnapshots):]) {
		if n.msg == 0 || o.pos < 0 || o.blocks == 0 || o.blocks >= n.blocks || len(o.seqs) != 1 {
			continue
		}
		if hash, _ := r.hashBlocks(o.blocks); hash == o.hash {
			return o
		}
	}
	return nil
}

// events emits what a record gives, on or off the surface.
func (d *decoder) events(r *record, n *node, ps []piece, on, step bool, snapshot *node) {
	for i := range ps {
		p := &ps[i]
		ev := session.Event{Type: p.typ, NativeID: r.nativeID, Step: step && i == 0}
		surface := p.surface && on && !r.virtual
		switch {
		case !surface && p.surface:
			ev.Type = p.off
			if r.virtual {
				ev.Type = "claude/" + clean(r.kind) + "/virtual"
			}
		case surface && snapshot != nil && p.typ == session.AssistantMessage:
			old := snapshot.seqs[0]
			ev.Op = session.Op{Kind: session.OpReplace, Start: old, End: old}
			ev.Sources = []int64{old}
			snapshot.seqs = nil
		case surface:
			ev.Op.Kind = session.OpAppend
			ev.Sources = d.cites(p)
		}
		if p.typ == session.ToolCall {
			id := key(p.callID)
			if snapshot != nil && d.g.makes(n.msg, id) {
				continue // it has its event already
			}
			n.calls = append(n.calls, call{id, d.next})
		}
		d.prompt(r, p, &ev, surface)
		e := d.emit(ev, p.native, p.body)
		if surface {
			n.seqs = append(n.seqs, e.Seq)
		}
	}
}

// cites returns the call that a result answers.
func (d *decoder) cites(p *piece) []int64 {
	if p.typ != session.ToolResult || p.callID == "" {
		return nil
	}
	if n := d.g.byCall[key(p.callID)]; n != nil {
		for _, c := range n.calls {
			if c.id == key(p.callID) {
				return []int64{c.seq}
			}
		}
	}
	return nil
}

// boundary takes in the beginning of a compaction. What the model sees changes
// with its summary, which follows.
func (d *decoder) boundary(r *record, n *node, ps []piece) {
	d.leavePending()
	n.kept = d.g.keeps(r)
	d.events(r, n, ps, false, false, nil)
	d.g.add(n)
	d.g.pending = n
}

// summary takes in a compaction's summary: it replaces what it sums up where
// that is one run, else it is appended and a select makes the surface.
func (d *decoder) summary(r *record, n *node, ps []piece) bool {
	now, ok := d.g.summarised(n)
	if !ok {
		return false
	}
	d.g.pending = nil
	old := surface(d.g.path)
	n.seqs = []int64{d.next + int64(len(ps)-1)}
	op, removed, one := replacement(old, surface(now), n.seqs[0])
	for i := range ps {
		p := &ps[i]
		ev := session.Event{Type: p.typ, NativeID: r.nativeID}
		switch {
		case i < len(ps)-1:
			ev.Type = p.off // a summary has one message and nothing else
		case one:
			ev.Op, ev.Sources = op, removed
		default:
			ev.Op.Kind = session.OpAppend
		}
		d.emit(ev, p.native, p.body)
	}
	if !one {
		op := selection(append(old, n.seqs[0]), surface(now))
		d.emit(session.Event{Type: "claude/compact", Op: op, Reconstructed: true}, nil, nil)
	}
	d.g.add(n)
	d.g.set(move{rest: now})
	return true
}

// again takes in a record whose identity has been seen: the program writes some
// a second time. Only what it says may be new, and where it hangs.
func (d *decoder) again(r *record, old *node, ps []piece) {
	same := r.hashContent() == old.content
	if !same && old.pos >= 0 && len(old.seqs) == 1 && len(ps) == 1 && ps[0].surface && d.kindOf(old) == ps[0].typ {
		was := old.seqs[0]
		old.content = r.hashContent()
		e := d.emit(session.Event{
			Type: ps[0].typ, NativeID: r.nativeID, Op: session.Op{Kind: session.OpReplace, Start: was, End: was}, Sources: []int64{was},
		}, ps[0].native, ps[0].body)
		d.g.replaced(old, was, e.Seq)
		return
	}
	ev := session.Event{Type: "claude/" + clean(r.kind) + "/again", NativeID: r.nativeID}
	if old.pos < 0 && old.talks && r.parent != old.stated && d.g.byID[r.parent] != nil && d.g.pending == nil {
		old.parent, old.stated, old.keptBy = r.parent, r.parent, 0
		if op := d.g.apply(d.g.back(old, "")); op != nil {
			ev.Op = *op
		}
	}
	var said func() session.Body
	if !same { // other words are told, although they take no place
		said, old.content = ps[0].body, r.hashContent()
	}
	d.emit(ev, nil, said)
}

// kindOf is the type of a node's only event on the surface.
func (d *decoder) kindOf(n *node) string {
	switch {
	case n.msg != 0:
		return session.AssistantMessage
	case len(n.answers) > 0:
		return session.ToolResult
	}
	return session.UserMessage
}

// clear blanks the results that a record says are gone.
func (d *decoder) clear(r *record) {
	ids, texts := r.cleared()
	for i, id := range ids {
		n := d.g.byDone[key(id)]
		if n == nil || n.pos < 0 {
			continue
		}
		at := slices.Index(n.answers, key(id))
		if at < 0 || at >= len(n.seqs) {
			continue
		}
		was, body := n.seqs[at], session.Body{Speaker: session.Tool, CallID: id}
		if texts[i] != nil {
			body.Blocks = []session.Block{{Kind: session.ResultBlock, Content: r.textBlocks(texts[i])}}
		}
		e := d.emit(session.Event{
			Type: session.ToolResult, Op: session.Op{Kind: session.OpReplace, Start: was, End: was},
			Sources: []int64{was}, Reconstructed: true,
		}, nil, func() session.Body { return body })
		n.seqs[at] = e.Seq
	}
}

// retract takes the messages that a record withdraws off the surface, for good:
// they stay in the tree, and no branch brings them back.
func (d *decoder) retract(r *record) {
	if r.subtype != refusal {
		return
	}
	old := surface(d.g.path)
	each(jsonl.Field(r.raw, "retractedMessageUuids"), func(v []byte) {
		if n := d.g.byID[keyOf(v)]; n != nil {
			n.seqs = nil
		}
	})
	if now := surface(d.g.path); len(now) != len(old) {
		d.emit(session.Event{Type: "claude/retract", Op: selection(old, now), Reconstructed: true}, nil, nil)
	}
}
