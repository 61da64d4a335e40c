package dsh

import (
	"github.com/yorehq/yore/fault"
	"github.com/yorehq/yore/reader/jsonl"
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
	if !jsonl.IsObject(v) {
		return m, broken("the record has no message")
	}
	c := jsonl.Enter(v)
	for {
		name, value, ok := c.Member()
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
	case !jsonl.Filled(m.id):
		return m, broken("a message has no id")
	case !jsonl.Is(m.role, role):
		return m, broken("a message has another role than its type")
	case !jsonl.Filled(jsonl.Field(m.source, "kind")):
		return m, broken("a message's source has no kind")
	case !jsonl.IsArray(m.content):
		return m, broken("a message has no list of content")
	}
	return m, nil
}

func userMessage(ev *session.Event, data []byte) *failure {
	m, bad := parseMessage(data, "user")
	if bad != nil {
		return bad
	}
	kind := jsonl.Field(m.source, "kind")
	switch {
	case jsonl.Is(kind, "user"):
		ev.Body.Speaker = session.Human
	case jsonl.Is(kind, "plugin") && jsonl.Is(jsonl.Field(m.source, "plugin"), "compaction") && ev.Op.Kind == session.OpReplace:
		ev.Body.Speaker = session.Summary
	default:
		ev.Body.Speaker = session.Injected
	}
	ev.Body.Blocks = blocks(m.content)
	return nil
}

func assistantMessage(ev *session.Event, data []byte) *failure {
	m, bad := parseMessage(jsonl.Field(data, "message"), "assistant")
	if bad != nil {
		return bad
	}
	if !jsonl.Filled(jsonl.Field(m.source, "provider")) || !jsonl.Filled(jsonl.Field(m.source, "model")) {
		return broken("an assistant's message names no provider and model")
	}
	ev.Body.Speaker = session.Assistant
	ev.Body.Blocks = blocks(m.content)
	return nil
}

func toolResult(ev *session.Event, data []byte) *failure {
	m, bad := parseMessage(jsonl.Field(data, "message"), "user")
	if bad != nil {
		return bad
	}
	content := jsonl.Enter(m.content)
	block, ok := content.Element()
	_, more := content.Element()
	call := jsonl.Field(m.source, "callId")
	if !ok || more || !jsonl.Is(jsonl.Field(block, "type"), "tool-result") {
		return broken("a tool result has something else than one block")
	}
	id := jsonl.Text(call)
	if !jsonl.IsString(call) || !jsonl.Is(jsonl.Field(block, "toolCallId"), id) {
		return broken("a tool result's block belongs to another call")
	}
	ev.Body.Speaker = session.Tool
	ev.Body.CallID = id
	ev.Body.Blocks = blocks(m.content)
	if failed := jsonl.Field(data, "error"); jsonl.IsObject(failed) {
		ev.Body.ErrorName = jsonl.Text(jsonl.Field(failed, "name"))
		ev.Body.ErrorCode = jsonl.Text(jsonl.Field(failed, "code"))
	}
	if !ev.Body.Clipped {
		ev.Sameness = sameness(data)
	}
	return nil
}

func toolCall(ev *session.Event, data []byte) {
	ev.Body.Speaker = session.Action
	ev.Body.CallID = jsonl.Text(jsonl.Field(data, "callId"))
	ev.Body.Blocks = []session.Block{callBlock(data)}
}

func endOfTurn(ev *session.Event, data []byte) *failure {
	reason := jsonl.Field(data, "reason")
	kind := jsonl.Field(reason, "kind")
	if !jsonl.IsNumber(jsonl.Field(data, "turn")) || !jsonl.Filled(kind) {
		return broken("the end of a turn has no turn or no reason")
	}
	say := func(text string) { ev.Body.Blocks = append(ev.Body.Blocks, session.Block{Text: text}) }
	switch {
	case jsonl.Is(kind, "completed"):
		if !hasOnly(reason, "kind") {
			return broken("the end of a completed turn says more than that")
		}
	case jsonl.Is(kind, "error"):
		failed := jsonl.Field(reason, "error")
		if !jsonl.IsObject(failed) {
			return broken("the end of a failed turn has no error")
		}
		say("error")
		if text := jsonl.Text(jsonl.Field(failed, "message")); text != "" {
			say(text)
		}
	case jsonl.Is(kind, "aborted"), jsonl.Is(kind, "max-tokens"), jsonl.Is(kind, "interrupted"):
		say(jsonl.Text(kind))
	}
	return nil
}

// routeOf checks a request header: its route must be known, and it must not be
// the old kind that stood in for a route.
func routeOf(data []byte) *failure {
	config := jsonl.Field(jsonl.Field(data, "header"), "config")
	switch {
	case !jsonl.Filled(jsonl.Field(config, "provider")) || !jsonl.Filled(jsonl.Field(config, "model")):
		return broken("a request header names no provider and model")
	case jsonl.Is(jsonl.Field(data, "reason"), "fallback"):
		return broken("a request header has a reason that is no longer understood")
	}
	return nil
}

// title reads a title as the agent would print it.
func title(data []byte) (*string, fault.Code) {
	seqs, kind := jsonl.Field(data, "messageSeqs"), jsonl.Field(jsonl.Field(data, "source"), "kind")
	// Whatever can be iterated over will do.
	if !jsonl.IsArray(seqs) && !jsonl.IsString(seqs) {
		return nil, fault.ToolFailed
	}
	if !jsonl.Is(kind, "user") && !jsonl.Is(kind, "fallback") && !jsonl.Is(kind, "provider") {
		return nil, fault.ToolFailed
	}
	text, ok := printed(jsonl.Field(data, "title"))
	if !ok {
		return nil, fault.ToolFailed
	}
	return &text, ""
}
