package gemini

import (
	"errors"

	"github.com/yorehq/yore/reader/jsonl"
	"github.com/yorehq/yore/session"
)

// known is a message that was seen.
type known struct {
	seq     int64    // of its event, where that is on the surface; -1: it has none there
	content uint64   // a hash of its role and of what it says
	calls   []uint64 // whose results go with it, by hashes of their ids
	model   bool
	listed  bool // it is part of the conversation
	used    bool // while copies are looked for: it was found already
}

// answer is what is known of a call.
type answer struct {
	seq     int64 // of its result; -1: there is none yet
	content uint64
}

// stage is how far a compaction has come, which writes the new conversation down
// message by message before it restates it.
type stage uint8

const (
	noCompaction stage = iota
	summarised         // its summary was written; the model's thanks are to come
	copying            // what it keeps is written again, under other ids
)

// errPartial says that a decoder does not know enough of what came before.
var errPartial = errors.New("what came before is not known as a whole")

// flags are what a record's events depend on beside the messages.
type flags struct {
	Headed     bool  `json:"headed,omitempty"`    // the file's header was read
	Delegated  bool  `json:"delegated,omitempty"` // it is a subagent's, which no person talks to
	Titled     bool  `json:"titled,omitempty"`    // a title has been given
	Compacting stage `json:"compacting,omitempty"`
	Time       int64 `json:"time,omitempty"` // of the latest event
}

// made is one event of a record, and where its bytes are.
type made struct {
	event session.Event
	spot  spot
}

// decoder turns the records of a log into events, in order. It is for one
// goroutine.
type decoder struct {
	next int64
	flags
	memory

	made   []made
	record *record
	place  session.Place
}

// decode makes the events of one record. They are valid until the next call.
// Behind errPartial the decoder is of no use: another one, which has read all
// that came before, is to take the record.
func (d *decoder) decode(v *value, r *record) ([]made, error) {
	d.made, d.record = d.made[:0], r
	d.place = session.Place{Offset: v.Start}
	switch r.form {
	case unreadable:
		d.log("x/unparsed", here(-1), session.Body{})
	case rewind:
		d.rewinds()
	case aMessage:
		d.message(&r.message, -1)
	case update:
		d.updates()
	case aHeader:
		d.headers()
	default:
		d.log("gemini/unknown", here(-1), session.Body{})
	}
	if d.short {
		return nil, errPartial
	}
	return d.made, nil
}

func (d *decoder) headers() {
	if d.Headed {
		d.clock(d.record.header.started)
		d.log("gemini/resume", here(-1), session.Body{})
	}
	d.Headed, d.Compacting = true, noCompaction
	d.Delegated = d.Delegated || jsonl.Is(d.record.header.kind, "subagent")
	// A document, or a log that was begun from one.
	d.record.messages(func(i int, m *message) { d.message(m, i) })
	d.titles(d.record.header.summary)
}

func (d *decoder) updates() {
	f := factsOf(d.record.x, d.record.set)
	d.clock(f.updated)
	if d.record.list != nil {
		d.restated()
	}
	d.titles(f.summary)
	if f.unknown && len(d.made) == 0 {
		d.log("gemini/set", here(-1), session.Body{})
	}
}

func (d *decoder) titles(summary []byte) {
	if line := oneLine(d.record.x.Text(summary)); line != "" {
		d.Titled = true
		d.log(session.TitleEvent, here(-1), session.Body{Title: &line})
	}
}

// clock takes the time of what follows.
func (d *decoder) clock(v []byte) {
	if ms := instant(v); ms >= 0 {
		d.Time = ms
	}
}

// emit adds an event of the record at hand.
func (d *decoder) emit(typ string, at spot, body session.Body) *session.Event {
	place := d.place
	place.Inner = int64(len(d.made))
	body.Clipped = d.record.clipped
	d.made = append(d.made, made{spot: at, event: session.Event{Seq: d.next, Type: typ, Time: d.Time, Place: place, Body: body}})
	d.next++
	return &d.made[len(d.made)-1].event
}

// log adds an event that is no part of the surface.
func (d *decoder) log(typ string, at spot, body session.Body) { d.emit(typ, at, body) }

// append adds an event to the end of the surface and returns its seq.
func (d *decoder) append(typ string, at spot, body session.Body) *session.Event {
	e := d.emit(typ, at, body)
	e.Op = session.Op{Kind: session.OpAppend}
	d.join(e.Seq)
	return e
}

// instead adds an event in the place of another one, or to the end of the surface
// if that is not there any more.
func (d *decoder) instead(old int64, typ string, at spot, body session.Body) int64 {
	if !d.swap(old, d.next) {
		return d.append(typ, at, body).Seq
	}
	e := d.emit(typ, at, body)
	e.Op = session.Op{Kind: session.OpReplace, Start: old, End: old}
	e.Sources = []int64{old}
	return e.Seq
}

// message takes a message that is written for the first time or again, by itself
// or as an element of a list, and returns what is known of it.
func (d *decoder) message(m *message, element int) *known {
	x := d.record.x
	key := idHash(x, m.id)
	before := d.find(key)
	list := blocks(x, m.content)
	text := said(list)
	typ := m.kind(x)
	if before == nil {
		d.clock(m.when) // what is written again may bear another time
		if k := d.copied(typ, text, callsIn(x, m, list), element); k != nil {
			d.remember(key, k)
			return k
		}
	}
	k := before
	if k == nil {
		k = &known{seq: -1, model: typ == "gemini"}
		d.remember(key, k)
	}
	if element < 0 || d.record.form == aHeader {
		d.enlist(k)
	}
	switch typ {
	case "user":
		d.user(k, m, list, text, element)
	case "gemini":
		d.model(k, m, list, text, element)
	default:
		if before == nil {
			body := session.Body{}
			if b := textBlocks(list); b != nil {
				body.Blocks = b
			}
			d.log("gemini/"+word(typ), here(element), body)
		}
	}
	return k
}

// speak adds what a message says, or says otherwise than before.
func (d *decoder) speak(k *known, typ string, element int, body session.Body, text string) *session.Event {
	role := "user"
	if k.model {
		role = "gemini"
	}
	content := saidHash(role, text)
	switch {
	case k.seq < 0:
		e := d.append(typ, here(element), body)
		k.seq, k.content = e.Seq, content
		return &d.made[len(d.made)-1].event
	case k.content != content && !d.record.clipped:
		k.seq, k.content = d.instead(k.seq, typ, here(element), body), content
	}
	return nil
}

func (d *decoder) user(k *known, m *message, list []block, text string, element int) {
	responses := 0
	for i := range list {
		if list[i].response != nil {
			responses++
			d.responded(k, list[i].response, spot{element, aBlock, i}, element >= 0)
		}
	}
	if responses > 0 && text == "" {
		return
	}
	body := userBody(list, text)
	if responses > 0 {
		body.Speaker = session.Injected // the agent's remark on what its tools returned
	}
	if body.Speaker == session.Human && !d.Titled {
		if t := title(d.record.x, m, text); t != "" {
			body.Title, body.Makeshift = &t, true
			d.Titled = true
		}
	}
	if body.Speaker == session.Human && d.Delegated {
		body.Speaker = session.Injected
	}
	if body.Speaker == session.Summary && k.seq < 0 && element < 0 {
		d.Compacting = summarised
	}
	d.speak(k, session.UserMessage, element, body, text)
}

func (d *decoder) model(k *known, m *message, list []block, text string, element int) {
	body := session.Body{Speaker: session.Assistant, Blocks: textBlocks(list)}
	if e := d.speak(k, session.AssistantMessage, element, body, text); e != nil {
		e.Step = true
	}
	x := d.record.x
	if jsonl.IsArray(m.calls) {
		c := x.Enter(m.calls)
		i := 0
		for v, ok := c.Element(); ok; v, ok = c.Element() {
			d.called(k, v, spot{element, aCall, i}, element >= 0)
			i++
		}
	}
	for i := range list {
		if list[i].call != nil {
			d.called(k, list[i].call, spot{element, aBlock, i}, false)
		}
	}
}

// called takes a call, and its result if that is there. Of a restated
// conversation a result that differs is another one.
func (d *decoder) called(k *known, v []byte, at spot, restated bool) {
	x := d.record.x
	c := callOf(x, v)
	if !jsonl.IsString(c.id) {
		return
	}
	key := idHash(x, c.id)
	a := d.findCall(key)
	if a == nil {
		a = &answer{seq: -1}
		d.rememberCall(key, a)
		d.log(session.ToolCall, at, c.body(x))
	}
	d.owns(k, key)
	if at.part != aCall || !c.done(x) {
		return
	}
	if jsonl.IsArray(c.result) || jsonl.IsString(c.result) || jsonl.IsObject(c.result) {
		at.part = itsResult
	}
	d.returned(a, c.resultBody(x), at, restated)
}

// responded takes a result that stands in a message of the user's role: mostly a
// copy of the one that the call holds.
func (d *decoder) responded(k *known, response []byte, at spot, restated bool) {
	x := d.record.x
	id := x.Field(response, "id")
	if !jsonl.IsString(id) {
		return
	}
	key := idHash(x, id)
	a := d.findCall(key)
	if a == nil {
		a = &answer{seq: -1}
		d.rememberCall(key, a)
	}
	d.owns(k, key)
	d.returned(a, responded(x, response), at, restated)
}

func (d *decoder) returned(a *answer, body session.Body, at spot, restated bool) {
	content := resultHash(&body)
	switch {
	case a.seq < 0:
		a.seq, a.content = d.append(session.ToolResult, at, body).Seq, content
	case restated && a.content != content && !d.record.clipped:
		a.seq, a.content = d.instead(a.seq, session.ToolResult, at, body), content
	}
}
