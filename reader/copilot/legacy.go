package copilot

import (
	"strings"

	"github.com/yorehq/yore/reader/jsonl"
	"github.com/yorehq/yore/reader/linelog"
	"github.com/yorehq/yore/session"
)

// The earliest releases kept a session as one document: chatMessages, the messages
// of the model's API, which are its context and bear neither ids nor times, and
// timeline, what was on the screen, which bears times. The first release that wrote
// events imports such a document whole, as one event, when it takes the session up.

// legacy goes through a document, beginning with its member's values.
type legacy struct {
	x        *jsonl.Index
	messages []byte // an array; nil: none
	shown    timeline
}

func legacyOf(x *jsonl.Index, v []byte) legacy {
	l := legacy{x: x}
	if !jsonl.IsObject(v) {
		return l
	}
	c := x.Enter(v)
	for name, v, ok := c.Member(); ok; name, v, ok = c.Member() {
		switch {
		case string(name) == "chatMessages" && jsonl.IsArray(v):
			l.messages = v
		case string(name) == "timeline" && jsonl.IsArray(v):
			l.shown = timelineOf(x, v)
		}
	}
	return l
}

// chatMessage is one message of the model's API.
type chatMessage struct {
	all, role, content, calls, callID []byte
}

func (l *legacy) message(v []byte) chatMessage {
	m := chatMessage{all: v}
	if !jsonl.IsObject(v) {
		return m
	}
	c := l.x.Enter(v)
	for name, v, ok := c.Member(); ok; name, v, ok = c.Member() {
		switch string(name) {
		case "role":
			m.role = v
		case "content":
			m.content = v
		case "tool_calls":
			m.calls = v
		case "tool_call_id":
			m.callID = v
		}
	}
	return m
}

// legacy makes the events of a document's messages. Blocks are counted from 1: each
// message is one, and each of its calls.
func (d *decoder) legacy(l *legacy, out *linelog.Events) {
	number := int64(0)
	if l.messages != nil {
		c := l.x.Enter(l.messages)
		for v, ok := c.Element(); ok; v, ok = c.Element() {
			m := l.message(v)
			number++
			l.shown.reach(l.x, &m, func(failure *shown) { d.failed(l, failure, out) })
			out.Time = max(out.Time, l.shown.time)
			d.chat(l, &m, number, out)
			eachCall(l.x, m.calls, func(q *request) {
				number++
				d.asked(l.x, q, number, out)
			})
		}
	}
	l.shown.rest(func(failure *shown) { d.failed(l, failure, out) })
}

// chat adds what one message says.
func (d *decoder) chat(l *legacy, m *chatMessage, number int64, out *linelog.Events) {
	x := l.x
	switch x.Name(m.role) {
	case "user":
		text := typed(contentText(x, m.content))
		ev := out.Block(number, session.Event{Type: session.UserMessage, Op: d.surface.Append(out.Next())}, said(session.Human, blocksOf(text)))
		if title := linelog.Headline(text); !d.small.Titled && title != "" {
			ev.Body.Title, ev.Body.Makeshift, d.small.Titled = &title, true, true
		}
	case "assistant":
		text := contentText(x, m.content)
		out.Block(number, session.Event{Type: session.AssistantMessage, Step: true, Op: d.surface.Append(out.Next())}, said(session.Assistant, blocksOf(text)))
	case "tool":
		text, id := contentText(x, m.content), jsonl.Text(m.callID)
		ev := session.Event{Type: session.ToolResult, Op: d.surface.Append(out.Next()), Sources: d.small.Calls.Answer(m.callID)}
		failed := l.shown.failed[linelog.Key(m.callID)]
		out.Block(number, ev, func() session.Body {
			b := session.Body{Speaker: session.Tool, CallID: id, Blocks: []session.Block{{Kind: session.ResultBlock, Content: blocksOf(text)}}}
			if failed {
				b.ErrorName = "error"
			}
			return b
		})
	default: // system, developer
		out.Block(number, session.Event{Type: "request/header"}, nil)
	}
}

// asked adds one call of an answer.
func (d *decoder) asked(x *jsonl.Index, q *request, number int64, out *linelog.Events) {
	d.small.Calls.Ask(q.id, out.Next())
	id, name, arguments := jsonl.Text(q.id), x.Name(q.name), string(q.arguments)
	if jsonl.IsString(q.arguments) {
		arguments = x.Text(q.arguments)
	}
	out.Block(number, session.Event{Type: session.ToolCall}, func() session.Body {
		return session.Body{Speaker: session.Action, CallID: id, Blocks: []session.Block{{Kind: session.CallBlock, Name: name, Text: arguments}}}
	})
}

// failed adds what the agent told the person went wrong.
func (d *decoder) failed(l *legacy, failure *shown, out *linelog.Events) {
	out.Time = max(out.Time, failure.time)
	out.Block(failure.number, session.Event{Type: "copilot/session.error"}, said(session.NoSpeaker, blocksOf(l.x.Text(failure.text))))
}

func blocksOf(text string) []session.Block {
	if text == "" {
		return nil
	}
	return []session.Block{{Kind: session.TextBlock, Text: text}}
}

// contentText is what a message says: a string, or the texts of a list of parts.
func contentText(x *jsonl.Index, content []byte) string {
	if !jsonl.IsArray(content) {
		return x.Text(content)
	}
	var all []string
	c := x.Enter(content)
	for v, ok := c.Element(); ok; v, ok = c.Element() {
		if jsonl.IsObject(v) && jsonl.Is(x.Field(v, "type"), "text") {
			all = append(all, x.Text(x.Field(v, "text")))
		}
	}
	return strings.Join(all, "\n")
}

// typed takes off what the agent puts behind a prompt: the time, and reminders.
func typed(text string) string {
	for _, mark := range []string{"\n\n<current_datetime>", "\n\n<reminder>"} {
		if i := strings.Index(text, mark); i >= 0 && strings.HasSuffix(strings.TrimSpace(text), ">") {
			text = text[:i]
		}
	}
	return text
}

// eachCall visits the calls of a message of the model's API. Those of tools whose
// input is a text are called custom.
func eachCall(x *jsonl.Index, calls []byte, visit func(q *request)) {
	if !jsonl.IsArray(calls) {
		return
	}
	c := x.Enter(calls)
	for v, ok := c.Element(); ok; v, ok = c.Element() {
		if !jsonl.IsObject(v) {
			continue
		}
		q := request{id: x.Field(v, "id")}
		f := x.Field(v, "function")
		q.arguments = x.Field(f, "arguments")
		if !jsonl.IsObject(f) {
			f = x.Field(v, "custom")
			q.arguments = x.Field(f, "input")
		}
		q.name = x.Field(f, "name")
		visit(&q)
	}
}

// shownBlock is what the numbers of entries of the timeline begin with, counted from
// 0; those of messages and calls are smaller.
const shownBlock = 1 << 32

// legacyBlocks are the bytes of a document's messages, calls and entries of the
// timeline, counted as decoder.legacy does.
type legacyBlocks struct{ said, shown [][]byte }

// blocksIn goes through a document once, however many of its blocks are wanted.
func blocksIn(document []byte) *legacyBlocks {
	var b legacyBlocks
	each := func(list []byte, visit func(v []byte)) {
		if !jsonl.IsArray(list) {
			return
		}
		c := jsonl.Enter(list)
		for v, ok := c.Element(); ok; v, ok = c.Element() {
			visit(v)
		}
	}
	each(jsonl.Field(document, "chatMessages"), func(v []byte) {
		b.said = append(b.said, v)
		each(jsonl.Field(v, "tool_calls"), func(call []byte) {
			if jsonl.IsObject(call) {
				b.said = append(b.said, call)
			}
		})
	})
	each(jsonl.Field(document, "timeline"), func(v []byte) { b.shown = append(b.shown, v) })
	return &b
}

// at is a block; nil if there is none.
func (b *legacyBlocks) at(number int64) []byte {
	list, n := b.said, number-1
	if number >= shownBlock {
		list, n = b.shown, number-shownBlock
	}
	if n < 0 || n >= int64(len(list)) {
		return nil
	}
	return list[n]
}
