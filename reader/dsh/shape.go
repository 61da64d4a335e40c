package dsh

import (
	"github.com/yorehq/yore/fault"
	"github.com/yorehq/yore/session"
)

// fill checks the data of an event in today's shape and takes from it what the
// model needs.
func (d *Decoder) fill(ev *session.Event, data []byte) *failure {
	switch ev.Type {
	case session.UserMessage:
		return userMessage(ev, data)
	case session.AssistantMessage:
		return assistantMessage(ev, data)
	case session.ToolResult:
		return toolResult(ev, data)
	case session.ToolCall:
		toolCall(ev, data)
	case session.TodoWrite:
		todos(ev, data)
	case session.TurnEnd:
		return endOfTurn(ev, data)
	case session.StepStart:
		ev.Step = true
	case session.TitleEvent:
		ev.Body.Title, ev.Body.TitleFault = title(data)
	case requestHeader:
		return routeOf(data)
	}
	return nil
}

// message is what every message event carries.
type message struct{ id, role, source, content []byte }

// parseMessage finds a message's members and checks those that all have.
func parseMessage(v []byte, role string) (message, *failure) {
	var m message
	if !isObject(v) {
		return m, broken("the record has no message")
	}
	c := enter(v)
	for {
		name, value, ok := c.member()
		if !ok {
			break
		}
		switch string(name) {
		case "id":
			m.id = value
		case "role":
			m.role = value
		case "source":
			m.source = value
		case "content":
			m.content = value
		}
	}
	switch {
	case !filled(m.id):
		return m, broken("a message has no id")
	case !is(m.role, role):
		return m, broken("a message has another role than its type")
	case !filled(field(m.source, "kind")):
		return m, broken("a message's source has no kind")
	case !isArray(m.content):
		return m, broken("a message has no list of content")
	}
	return m, nil
}

func userMessage(ev *session.Event, data []byte) *failure {
	m, bad := parseMessage(data, "user")
	if bad != nil {
		return bad
	}
	kind := field(m.source, "kind")
	switch {
	case is(kind, "user"):
		ev.Body.Speaker = session.Human
	case is(kind, "plugin") && is(field(m.source, "plugin"), "compaction") && ev.Op.Kind == session.OpReplace:
		ev.Body.Speaker = session.Summary
	default:
		ev.Body.Speaker = session.Injected
	}
	ev.Body.Blocks = blocks(m.content)
	return nil
}

func assistantMessage(ev *session.Event, data []byte) *failure {
	m, bad := parseMessage(field(data, "message"), "assistant")
	if bad != nil {
		return bad
	}
	if !filled(field(m.source, "provider")) || !filled(field(m.source, "model")) {
		return broken("an assistant's message names no provider and model")
	}
	ev.Body.Speaker = session.Assistant
	ev.Body.Blocks = blocks(m.content)
	return nil
}

func toolResult(ev *session.Event, data []byte) *failure {
	m, bad := parseMessage(field(data, "message"), "user")
	if bad != nil {
		return bad
	}
	content := enter(m.content)
	block, ok := content.element()
	_, more := content.element()
	call := field(m.source, "callId")
	if !ok || more || !is(field(block, "type"), "tool-result") {
		return broken("a tool result has something else than one block")
	}
	id := textOf(call)
	if !isString(call) || !is(field(block, "toolCallId"), id) {
		return broken("a tool result's block belongs to another call")
	}
	ev.Body.Speaker = session.Tool
	ev.Body.CallID = id
	ev.Body.Blocks = blocks(m.content)
	if failed := field(data, "error"); isObject(failed) {
		ev.Body.ErrorName = textOf(field(failed, "name"))
		ev.Body.ErrorCode = textOf(field(failed, "code"))
	}
	if !ev.Body.Clipped {
		ev.Sameness = sameness(data)
	}
	return nil
}

func toolCall(ev *session.Event, data []byte) {
	ev.Body.Speaker = session.Action
	ev.Body.CallID = textOf(field(data, "callId"))
	ev.Body.Blocks = []session.Block{callBlock(data)}
}

func endOfTurn(ev *session.Event, data []byte) *failure {
	reason := field(data, "reason")
	kind := field(reason, "kind")
	if !isNumber(field(data, "turn")) || !filled(kind) {
		return broken("the end of a turn has no turn or no reason")
	}
	say := func(text string) { ev.Body.Blocks = append(ev.Body.Blocks, session.Block{Text: text}) }
	switch {
	case is(kind, "completed"):
		if !hasOnly(reason, "kind") {
			return broken("the end of a completed turn says more than that")
		}
	case is(kind, "error"):
		failed := field(reason, "error")
		if !isObject(failed) {
			return broken("the end of a failed turn has no error")
		}
		say("error")
		if text := textOf(field(failed, "message")); text != "" {
			say(text)
		}
	case is(kind, "aborted"), is(kind, "max-tokens"), is(kind, "interrupted"):
		say(textOf(kind))
	}
	return nil
}

// routeOf checks a request header: its route must be known, and it must not be
// the old kind that stood in for a route.
func routeOf(data []byte) *failure {
	config := field(field(data, "header"), "config")
	switch {
	case !filled(field(config, "provider")) || !filled(field(config, "model")):
		return broken("a request header names no provider and model")
	case is(field(data, "reason"), "fallback"):
		return broken("a request header has a reason that is no longer understood")
	}
	return nil
}

// title reads a title as the agent would print it.
func title(data []byte) (*string, fault.Code) {
	seqs, kind := field(data, "messageSeqs"), field(field(data, "source"), "kind")
	// Whatever can be iterated over will do.
	if !isArray(seqs) && !isString(seqs) {
		return nil, fault.ToolFailed
	}
	if !is(kind, "user") && !is(kind, "fallback") && !is(kind, "provider") {
		return nil, fault.ToolFailed
	}
	text, ok := printed(field(data, "title"))
	if !ok {
		return nil, fault.ToolFailed
	}
	return &text, ""
}
