package pitree

import (
	"github.com/yorehq/yore/reader/jsonl"
	"github.com/yorehq/yore/reader/linelog"
	"github.com/yorehq/yore/session"
)

// entry is one record as it stands. Its fields point into it.
type entry struct {
	x       *jsonl.Index
	kind    string
	version int64
	id      uint64 // 0: it has none
	parent  uint64 // 0: none
	native  string // its id and time, which copies in other sessions keep
	time    int64  // epoch milliseconds; 0: not known

	message                             message
	content, summary, name, replacement []byte
	firstKept                           uint64
	keptIndex                           int64
	target                              uint64
	replaced                            bool // an edit gives other words

	hung   bool   // it says what it hangs on, if only nothing
	side   bool   // it is written beside the path
	cursor uint64 // of a leaf control: what is appended to next, if that is said
	turned bool   // a leaf control says so
}

// message is what a message entry holds.
type message struct {
	role, stop                                         string
	content, callID, command, output, summary, failure []byte
	isError, excluded, failed                          bool
	time                                               int64
}

// block is one block of a message's content.
type block struct {
	kind                      string
	text, id, name, arguments []byte
}

func entryOf(r *linelog.Record) entry {
	e := entry{x: r.X}
	c := r.X.Enter(r.Value)
	var id, stamp []byte
	for name, v, ok := c.Member(); ok; name, v, ok = c.Member() {
		switch string(name) {
		case "type":
			e.kind = r.X.Name(v)
		case "version":
			e.version, _ = jsonl.Natural(v)
		case "id":
			id, e.id = v, linelog.Key(v)
		case "parentId":
			e.parent, e.hung = linelog.Key(v), true
		case "appendMode":
			e.side = jsonl.Is(v, "side")
		case "appendParentId":
			e.cursor, e.turned = linelog.Key(v), true
		case "timestamp":
			stamp = v
		case "message":
			e.message = messageOf(r.X, v)
		case "content":
			e.content = v
		case "summary":
			e.summary = v
		case "name":
			e.name = v
		case "firstKeptEntryId":
			e.firstKept = linelog.Key(v)
		case "firstKeptEntryIndex":
			e.keptIndex, _ = jsonl.Natural(v)
		case "targetId":
			e.target = linelog.Key(v)
		case "replacement":
			if e.replaced = jsonl.IsObject(v); e.replaced {
				e.replacement = r.X.Field(v, "content")
			}
		}
	}
	if t, ok := jsonl.Instant(stamp); ok {
		e.time = max(0, t.UnixMilli())
	} else {
		e.time = e.message.time
	}
	if e.id != 0 {
		// Eight digits alone are too few to tell the entries of all sessions apart.
		e.native = jsonl.Text(id) + "@" + jsonl.Text(stamp)
	}
	return e
}

func messageOf(x *jsonl.Index, v []byte) message {
	var m message
	if !jsonl.IsObject(v) {
		return m
	}
	c := x.Enter(v)
	for name, v, ok := c.Member(); ok; name, v, ok = c.Member() {
		switch string(name) {
		case "role":
			m.role = x.Name(v)
		case "content":
			m.content = v
		case "toolCallId":
			m.callID = v
		case "isError":
			m.isError = string(v) == "true"
		case "stopReason":
			m.stop = x.Name(v)
			m.failed = m.stop == "error" || m.stop == "aborted"
		case "errorMessage":
			m.failure = v
		case "command":
			m.command = v
		case "output":
			m.output = v
		case "summary":
			m.summary = v
		case "excludeFromContext":
			m.excluded = string(v) == "true"
		case "timestamp":
			m.time, _ = jsonl.Natural(v)
		}
	}
	return m
}

// blocks calls visit for the blocks of a message's content, counted from 1.
func (e *entry) blocks(content []byte, visit func(number int64, b *block)) {
	if !jsonl.IsArray(content) {
		return
	}
	c := e.x.Enter(content)
	for number := int64(1); ; number++ {
		v, ok := c.Element()
		if !ok {
			return
		}
		if !jsonl.IsObject(v) {
			continue
		}
		var b block
		in := e.x.Enter(v)
		for name, m, ok := in.Member(); ok; name, m, ok = in.Member() {
			switch string(name) {
			case "type":
				b.kind = e.x.Name(m)
			case "text":
				b.text = m
			case "id":
				b.id = m
			case "name":
				b.name = m
			case "arguments":
				b.arguments = m
			}
		}
		visit(number, &b)
	}
}

// texts returns the text of a content: a string, or a list of blocks. Reasoning,
// images, calls and unknown kinds give nothing.
func (e *entry) texts(content []byte) []session.Block {
	var list []session.Block
	add := func(v []byte) {
		if text := e.x.Text(v); text != "" {
			list = append(list, session.Block{Kind: session.TextBlock, Text: text})
		}
	}
	if jsonl.IsString(content) {
		add(content)
	}
	e.blocks(content, func(_ int64, b *block) {
		if b.kind == "text" {
			add(b.text)
		}
	})
	return list
}

// Block finds the bytes of one block of a message entry, counted from 1; nil if
// there is none.
func Block(record []byte, number int64) []byte {
	content := jsonl.Field(jsonl.Field(record, "message"), "content")
	if !jsonl.IsArray(content) {
		return nil
	}
	c := jsonl.Enter(content)
	for at := int64(1); ; at++ {
		v, ok := c.Element()
		if !ok || at == number {
			return v
		}
	}
}

// headline makes a title of texts: of the first that says something.
func headline(blocks []session.Block) string {
	for _, b := range blocks {
		if title := linelog.Headline(b.Text); title != "" {
			return title
		}
	}
	return ""
}
