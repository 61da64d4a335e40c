package kimi

import (
	"strings"

	"github.com/yorehq/yore/reader/jsonl"
	"github.com/yorehq/yore/reader/linelog"
	"github.com/yorehq/yore/session"
)

// record is one record of a journal. Its fields point into it.
type record struct {
	x      *jsonl.Index
	kind   string
	time   int64  // epoch milliseconds; 0: not known
	native string // an id that copies in forks keep; "": none

	message message
	loop    loop

	count, summary, compactedCount, kept, keptHead []byte
	tail                                           bool
	branch, base, reason, failure                  []byte
}

// message is what context.append_message holds.
type message struct {
	role, origin     string
	content, callID  []byte
	slash, in, owned bool // typed as a command; put in during a turn; belongs to the prompt behind it
}

// keep reports whether a message is what the user asked.
func (m *message) keep() bool {
	switch m.origin {
	case "", "user":
		return m.role == "user"
	case "skill_activation", "plugin_command":
		return m.role == "user" && m.slash
	}
	return false
}

// anchor reports whether an undo counts a message.
func (m *message) anchor() bool { return m.keep() && !m.in }

// loop is what context.append_loop_event holds.
type loop struct {
	kind, part                             string
	uuid, text, callID, name, args, output []byte
	failed                                 bool
}

func recordOf(r *linelog.Record) record {
	e := record{x: r.X}
	c := r.X.Enter(r.Value)
	var summary, whole []byte
	for name, v, ok := c.Member(); ok; name, v, ok = c.Member() {
		switch string(name) {
		case "type":
			e.kind = r.X.Name(v)
		case "time":
			e.time, _ = jsonl.Natural(v)
		case "message":
			e.messageOf(v)
		case "event":
			e.loopOf(v)
		case "count":
			e.count = v
		case "summary":
			summary = v
		case "contextSummary":
			whole = v
		case "compactedCount":
			e.compactedCount = v
		case "keptUserMessageCount":
			e.kept = v
		case "keptHeadUserMessageCount":
			e.keptHead = v
		case "legacyTail":
			e.tail = string(v) == "true"
		case "branch":
			e.branch = v
		case "base":
			e.base = v
		case "reason":
			e.reason = v
		case "error":
			e.failure = v
		}
	}
	if e.compactedCount == nil {
		e.compactedCount = e.count
	}
	switch {
	case jsonl.IsString(summary):
		e.summary = summary
	case jsonl.IsObject(summary):
		e.summary = r.X.Field(summary, "content")
	default:
		e.summary = whole
	}
	return e
}

func (e *record) messageOf(v []byte) {
	if !jsonl.IsObject(v) {
		return
	}
	m := &e.message
	c := e.x.Enter(v)
	for name, v, ok := c.Member(); ok; name, v, ok = c.Member() {
		switch string(name) {
		case "role":
			m.role = e.x.Name(v)
		case "content":
			m.content = v
		case "toolCallId":
			m.callID = v
		case "id":
			e.native = jsonl.Text(v)
		case "origin":
			m.origin = e.x.Name(e.x.Field(v, "kind"))
			m.slash = jsonl.Is(e.x.Field(v, "trigger"), "user-slash")
			m.in = string(e.x.Field(v, "inTurn")) == "true"
			m.owned = m.origin == "injection" && jsonl.Filled(e.x.Field(v, "ownerPromptId"))
		}
	}
}

func (e *record) loopOf(v []byte) {
	if !jsonl.IsObject(v) {
		return
	}
	l := &e.loop
	c := e.x.Enter(v)
	for name, v, ok := c.Member(); ok; name, v, ok = c.Member() {
		switch string(name) {
		case "type":
			l.kind = e.x.Name(v)
		case "uuid":
			l.uuid = v
		case "part":
			l.part, l.text = e.x.Name(e.x.Field(v, "type")), e.x.Field(v, "text")
		case "toolCallId":
			l.callID = v
		case "name":
			l.name = v
		case "args":
			l.args = v
		case "result":
			l.output = e.x.Field(v, "output")
			l.failed = string(e.x.Field(v, "isError")) == "true"
		}
	}
	if jsonl.Filled(l.uuid) {
		e.native = jsonl.Text(l.uuid) + "/" + l.kind
	}
}

// texts returns the text of a content: a string, or a list of parts. Reasoning,
// images and unknown kinds give nothing.
func (e *record) texts(content []byte) []session.Block {
	var list []session.Block
	add := func(v []byte) {
		if text := e.x.Text(v); text != "" {
			list = append(list, session.Block{Kind: session.TextBlock, Text: text})
		}
	}
	if jsonl.IsString(content) {
		add(content)
	}
	if jsonl.IsArray(content) {
		c := e.x.Enter(content)
		for v, ok := c.Element(); ok; v, ok = c.Element() {
			if jsonl.Is(e.x.Field(v, "type"), "text") {
				add(e.x.Field(v, "text"))
			}
		}
	}
	return list
}

// ending is what the end of a turn says: nothing if it was completed.
func (e *record) ending() func() session.Body {
	reason := jsonl.Text(e.reason)
	if reason == "" || reason == "completed" {
		return nil
	}
	text := reason
	if message := jsonl.Text(e.x.Field(e.failure, "message")); message != "" {
		text = strings.Join([]string{reason, message}, ": ")
	}
	return said(session.NoSpeaker, []session.Block{{Kind: session.TextBlock, Text: text}})
}
