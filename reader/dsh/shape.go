package dsh

import (
	"github.com/yorehq/yore/fault"
	"github.com/yorehq/yore/reader/jsonl"
	"github.com/yorehq/yore/session"
)

// fill checks the data of an event in today's shape and takes from it what the
// model needs.
func (d *Decoder) fill(ev *session.Event, in *data) *failure {
	switch ev.Type {
	case session.UserMessage:
		return userMessage(ev, in)
	case session.AssistantMessage:
		return assistantMessage(ev, in)
	case session.ToolResult:
		return toolResult(ev, in)
	case session.ToolCall:
		toolCall(ev, in)
	case session.TodoWrite:
		todos(ev, in)
	case session.TurnEnd:
		return endOfTurn(ev, in)
	case session.StepStart:
		ev.Step = true
	case session.TitleEvent:
		ev.Body.Title, ev.Body.TitleFault = title(in.raw)
	case requestHeader:
		return routeOf(in)
	}
	return nil
}

// messageOf finds a message's members and checks those that all messages have.
func messageOf(x *jsonl.Index, v []byte, role string) (data, *failure) {
	if !jsonl.IsObject(v) {
		return data{}, broken("the record has no message")
	}
	m := membersOf(x, v)
	return m, m.checkMessage(role)
}

// checkMessage checks the members that all messages have.
func (d *data) checkMessage(role string) *failure {
	switch {
	case !jsonl.IsObject(d.raw):
		return broken("the record has no message")
	case !jsonl.Filled(d.id):
		return broken("a message has no id")
	case !jsonl.Is(d.role, role):
		return broken("a message has another role than its type")
	case !jsonl.Filled(d.x.Field(d.source, "kind")):
		return broken("a message's source has no kind")
	case !jsonl.IsArray(d.content):
		return broken("a message has no list of content")
	}
	return nil
}

func userMessage(ev *session.Event, in *data) *failure {
	if bad := in.checkMessage("user"); bad != nil {
		return bad
	}
	kind := in.x.Field(in.source, "kind")
	switch {
	case jsonl.Is(kind, "user"):
		ev.Body.Speaker = session.Human
	case jsonl.Is(kind, "plugin") && jsonl.Is(jsonl.Field(in.source, "plugin"), "compaction") && ev.Op.Kind == session.OpReplace:
		ev.Body.Speaker = session.Summary
	default:
		ev.Body.Speaker = session.Injected
	}
	ev.Body.Blocks, _ = blocks(in.x, in.content, 0)
	return nil
}

func assistantMessage(ev *session.Event, in *data) *failure {
	m, bad := messageOf(in.x, in.message, "assistant")
	if bad != nil {
		return bad
	}
	if !jsonl.Filled(m.x.Field(m.source, "provider")) || !jsonl.Filled(m.x.Field(m.source, "model")) {
		return broken("an assistant's message names no provider and model")
	}
	ev.Body.Speaker = session.Assistant
	ev.Body.Blocks, in.calls = blocks(m.x, m.content, 0)
	return nil
}

func toolResult(ev *session.Event, in *data) *failure {
	m, bad := messageOf(in.x, in.message, "user")
	if bad != nil {
		return bad
	}
	content := m.x.Enter(m.content)
	v, ok := content.Element()
	_, more := content.Element()
	b := parseBlock(m.x, v)
	call := m.x.Field(m.source, "callId")
	if !ok || more || !jsonl.Is(b.typ, "tool-result") {
		return broken("a tool result has something else than one block")
	}
	id := jsonl.Text(call)
	if !jsonl.IsString(call) || !jsonl.Is(b.callID, id) {
		return broken("a tool result's block belongs to another call")
	}
	ev.Body.Speaker = session.Tool
	ev.Body.CallID = id
	ev.Body.Blocks = []session.Block{resultBlock(m.x, b.content, 0)}
	if jsonl.IsObject(in.failed) {
		ev.Body.ErrorName = jsonl.Text(jsonl.Field(in.failed, "name"))
		ev.Body.ErrorCode = jsonl.Text(jsonl.Field(in.failed, "code"))
	}
	if !ev.Body.Clipped {
		ev.Sameness = sameness(in.x, in.raw)
	}
	return nil
}

func toolCall(ev *session.Event, in *data) {
	ev.Body.Speaker = session.Action
	ev.Body.CallID = jsonl.Text(in.callID)
	ev.Body.Blocks = []session.Block{callBlock(in.x, in.name, in.arguments)}
}

func endOfTurn(ev *session.Event, in *data) *failure {
	reason := in.reason
	kind := jsonl.Field(reason, "kind")
	if !jsonl.IsNumber(in.turn) || !jsonl.Filled(kind) {
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
func routeOf(in *data) *failure {
	config := in.x.Field(in.x.Field(in.raw, "header"), "config")
	switch {
	case !jsonl.Filled(in.x.Field(config, "provider")) || !jsonl.Filled(in.x.Field(config, "model")):
		return broken("a request header names no provider and model")
	case jsonl.Is(in.x.Field(in.raw, "reason"), "fallback"):
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
