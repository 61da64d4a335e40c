package gemini

import (
	"github.com/yorehq/yore/reader/jsonl"
	"github.com/yorehq/yore/session"
)

// form says what a record is. The order is that in which the agent's own loader
// asks: what has a rewind is nothing else.
type form uint8

const (
	other      form = iota
	rewind          // takes back a message and all behind it
	aMessage        // a message, for the first time or again
	update          // changes facts of the session, or restates the conversation
	aHeader         // what a file begins with, and each resumption
	unreadable      // no JSON object
)

// record is one record of a log.
type record struct {
	form    form
	x       *jsonl.Index
	text    []byte
	clipped bool

	rewindTo []byte
	set      []byte  // of an update
	list     []byte  // of an update or a header: the messages, an array; nil: none
	message  message // of a message
	header   facts   // of a header
}

func parseRecord(x *jsonl.Index, r *value) record {
	out := record{x: x, text: r.Text, clipped: r.Clipped}
	if r.None {
		out.form = unreadable
		return out
	}
	var messages []byte
	c := x.Enter(r.Text)
	for name, value, ok := c.Member(); ok; name, value, ok = c.Member() {
		switch string(name) {
		case "$rewindTo":
			out.rewindTo = value
		case "$set":
			out.set = value
		case "messages":
			messages = value
		default:
			out.message.member(string(name), value)
			out.header.member(string(name), value)
		}
	}
	out.message.text = r.Text
	switch {
	case jsonl.IsString(out.rewindTo):
		out.form = rewind
	case jsonl.IsString(out.message.id):
		out.form = aMessage
	case jsonl.IsObject(out.set):
		out.form = update
		if list := x.Field(out.set, "messages"); jsonl.IsArray(list) {
			out.list = list
		}
	case jsonl.IsString(out.header.id):
		out.form = aHeader
		if jsonl.IsArray(messages) {
			out.list = messages
		}
	}
	return out
}

// messages visits the messages that a record restates.
func (r *record) messages(visit func(i int, m *message)) {
	if r.list == nil {
		return
	}
	c := r.x.Enter(r.list)
	i := 0
	for v, ok := c.Element(); ok; v, ok = c.Element() {
		if m := parseMessage(r.x, v); jsonl.IsString(m.id) {
			visit(i, &m)
		}
		i++
	}
}

// message is one message, wherever it stands.
type message struct {
	text                                   []byte
	id, typ, content, display, calls, when []byte
}

func parseMessage(x *jsonl.Index, v []byte) message {
	m := message{text: v}
	if !jsonl.IsObject(v) {
		return m
	}
	c := x.Enter(v)
	for name, value, ok := c.Member(); ok; name, value, ok = c.Member() {
		m.member(string(name), value)
	}
	return m
}

func (m *message) member(name string, value []byte) {
	switch name {
	case "id":
		m.id = value
	case "type":
		m.typ = value
	case "content":
		m.content = value
	case "displayContent":
		m.display = value
	case "toolCalls":
		m.calls = value
	case "timestamp":
		m.when = value
	}
}

// kind is the type of a message. An agent that began as a copy of the Gemini CLI
// says its own name for the model's.
func (m *message) kind(x *jsonl.Index) string {
	if jsonl.Is(m.typ, "qwen") {
		return "gemini"
	}
	return x.Name(m.typ)
}

// facts are what a header or an update states of the session.
type facts struct {
	id, hash, started, kind, summary, updated []byte
	unknown                                   bool // it states something else
}

func factsOf(x *jsonl.Index, v []byte) facts {
	var f facts
	c := x.Enter(v)
	for name, value, ok := c.Member(); ok; name, value, ok = c.Member() {
		f.member(string(name), value)
	}
	return f
}

func (f *facts) member(name string, value []byte) {
	switch name {
	case "sessionId":
		f.id = value
	case "projectHash":
		f.hash = value
	case "startTime":
		f.started = value
	case "kind":
		f.kind = value
	case "summary":
		f.summary = value
	case "lastUpdated":
		f.updated = value
	case "messages", "directories", "memoryScratchpad":
	default:
		f.unknown = true
	}
}

// instant reads a time in epoch milliseconds; -1 if it is none.
func instant(v []byte) int64 {
	if !jsonl.IsString(v) || len(v) > 64 {
		return -1
	}
	if t, ok := jsonl.Instant(v); ok {
		if ms := t.UnixMilli(); ms >= 0 && ms <= session.MaxSafe {
			return ms
		}
	}
	return -1
}

// word returns a name that may stand in a type of ours.
func word(s string) string {
	if s == "" || len(s) > 64 {
		return "unknown"
	}
	for i := range len(s) {
		switch c := s[i]; {
		case c >= '0' && c <= '9', c|0x20 >= 'a' && c|0x20 <= 'z', c == '_', c == '-', c == '.':
		default:
			return "unknown"
		}
	}
	return s
}

// spot says where in its record an event's native value stands. The zero value
// is not the record itself: see here.
type spot struct {
	element int  // of the list of messages; -1: the record is the message
	part    part // of the message
	index   int
}

// part is a piece of a message that is an event of its own.
type part uint8

const (
	allOfIt   part = iota
	aCall          // an entry of toolCalls
	itsResult      // what that call returned
	aBlock         // an entry of content
)

// here is the record or message itself.
func here(element int) spot { return spot{element: element} }

// find returns the value in the bytes of a record; nil if it is not there.
func (s spot) find(record []byte) []byte {
	v := record
	if s.element >= 0 {
		list := jsonl.Field(jsonl.Field(record, "$set"), "messages")
		if list == nil {
			list = jsonl.Field(record, "messages")
		}
		v = element(list, s.element)
	}
	switch s.part {
	case aCall:
		return element(jsonl.Field(v, "toolCalls"), s.index)
	case itsResult:
		return jsonl.Field(element(jsonl.Field(v, "toolCalls"), s.index), "result")
	case aBlock:
		content := jsonl.Field(v, "content")
		if jsonl.IsObject(content) {
			return content
		}
		return element(content, s.index)
	}
	return v
}

func element(list []byte, n int) []byte {
	if !jsonl.IsArray(list) {
		return nil
	}
	c := jsonl.Enter(list)
	for v, ok := c.Element(); ok; v, ok = c.Element() {
		if n == 0 {
			return v
		}
		n--
	}
	return nil
}
