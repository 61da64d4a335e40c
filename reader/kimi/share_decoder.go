package kimi

import (
	"encoding/json"
	"strings"

	"github.com/yorehq/yore/reader/jsonl"
	"github.com/yorehq/yore/reader/linelog"
	"github.com/yorehq/yore/session"
)

// What the earlier client itself puts into a message stands in an element.
const (
	systemTag = "<system>"
	systemEnd = "</system>"
	compacted = systemTag + "Previous context has been compacted"
	failedTag = systemTag + "ERROR"
)

// contextDecoder makes events of the messages of a context of the earlier client.
// All of them are what the model sees: a context that changes otherwise is another
// file.
type contextDecoder struct {
	sub   bool
	made  int64 // when the session began: messages have no times
	small small
}

// Save implements linelog.Decoder.
func (d *contextDecoder) Save() ([]byte, error) { return json.Marshal(d.small) }

// Mark implements linelog.Decoder.
func (d *contextDecoder) Mark() ([]byte, error) { return d.Save() }

// Load implements linelog.Decoder.
func (d *contextDecoder) Load(state []byte) error { return json.Unmarshal(state, &d.small) }

// Settled implements linelog.Decoder.
func (*contextDecoder) Settled(*linelog.Record) bool { return true }

// Take implements linelog.Decoder.
func (d *contextDecoder) Take(r *linelog.Record, out *linelog.Events) {
	out.Time = d.made
	e := record{x: r.X}
	var role, content, calls, callID []byte
	c := r.X.Enter(r.Value)
	for name, v, ok := c.Member(); ok; name, v, ok = c.Member() {
		switch string(name) {
		case "role":
			role = v
		case "content":
			content = v
		case "tool_calls":
			calls = v
		case "tool_call_id":
			callID = v
		}
	}
	surface := session.Op{Kind: session.OpAppend}
	switch kind := jsonl.Text(role); kind {
	case "user":
		d.user(e.texts(content), out)
	case "assistant":
		out.Add(session.Event{Type: session.AssistantMessage, Op: surface}, said(session.Assistant, e.texts(content)))
		d.calls(&e, calls, out)
	case "tool":
		ev := session.Event{Type: session.ToolResult, Op: surface}
		ev.Sources = d.small.Calls.Answer(callID)
		blocks := e.texts(content)
		out.Add(ev, func() session.Body {
			b := session.Body{Speaker: session.Tool, CallID: jsonl.Text(callID), Blocks: []session.Block{{Kind: session.ResultBlock, Content: blocks}}}
			if len(blocks) > 0 && strings.HasPrefix(blocks[0].Text, failedTag) {
				b.ErrorName = "error"
			}
			return b
		})
	case "system", "_system_prompt":
		out.Add(session.Event{Type: "request/header"}, nil)
	default:
		out.Add(session.Event{Type: "kimi/" + linelog.Word(kind)}, nil)
	}
}

// user takes a message in the user's name: a person's, one of the client's own, or
// a summary, which tells what it is in its first text.
func (d *contextDecoder) user(blocks []session.Block, out *linelog.Events) {
	who := session.Human
	switch {
	case len(blocks) > 0 && strings.HasPrefix(blocks[0].Text, compacted):
		who, blocks = session.Summary, blocks[1:]
	case d.sub || ours(blocks):
		who = session.Injected
	}
	ev := out.Add(session.Event{Type: session.UserMessage, Op: session.Op{Kind: session.OpAppend}}, said(who, blocks))
	if d.small.Titled || len(blocks) == 0 || who == session.Summary || ours(blocks) {
		return
	}
	if title := linelog.Headline(task(blocks[0].Text)); title != "" {
		ev.Body.Title, ev.Body.Makeshift, d.small.Titled = &title, true, true
	}
}

// ours reports whether all of a message is the client's own.
func ours(blocks []session.Block) bool {
	for _, b := range blocks {
		if !strings.HasPrefix(b.Text, systemTag) || !strings.HasSuffix(b.Text, systemEnd) {
			return false
		}
	}
	return len(blocks) > 0
}

// calls takes the calls of an answer, in the form of the API it was asked by.
func (d *contextDecoder) calls(e *record, list []byte, out *linelog.Events) {
	if !jsonl.IsArray(list) {
		return
	}
	c := e.x.Enter(list)
	number := int64(0)
	for v, ok := c.Element(); ok; v, ok = c.Element() {
		number++
		if !jsonl.IsObject(v) {
			continue
		}
		id, function := e.x.Field(v, "id"), e.x.Field(v, "function")
		name, args := e.x.Field(function, "name"), e.x.Field(function, "arguments")
		d.small.Calls.Ask(id, out.Next())
		out.Block(number, session.Event{Type: session.ToolCall}, func() session.Body {
			text := string(args)
			if jsonl.IsString(args) {
				text = e.x.Text(args)
			}
			return session.Body{Speaker: session.Action, CallID: jsonl.Text(id), Blocks: []session.Block{{Kind: session.CallBlock, Name: e.x.Name(name), Text: text}}}
		})
	}
}

// contextBlock finds the bytes of one call of an answer, counted from 1; nil if
// there is none.
func contextBlock(record []byte, number int64) []byte {
	list := jsonl.Field(record, "tool_calls")
	if !jsonl.IsArray(list) {
		return nil
	}
	c := jsonl.Enter(list)
	for at := int64(1); ; at++ {
		v, ok := c.Element()
		if !ok || at == number {
			return v
		}
	}
}
