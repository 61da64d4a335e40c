package dsh

import (
	"github.com/yorehq/yore/reader/jsonl"
	"github.com/yorehq/yore/session"
)

// data is a record's data and its members, as they stand. They are found once:
// what a line is long for, its text, lies below them, and is passed over as
// often as somebody looks for a name beside it.
type data struct {
	raw []byte
	x   *jsonl.Index // of the record's line

	id, role, source, content, message, provenance []byte
	callID, isError, failed                        []byte
	turn, step, trigger, reason, name, arguments   []byte

	calls [][]byte // ids of the calls in an assistant's message, once it has been looked into
}

// parseData finds the members of a record's data, if its type is one that is
// looked into.
func parseData(x *jsonl.Index, typ string, raw []byte) data {
	switch typ {
	case session.UserMessage, session.AssistantMessage, session.ToolResult, session.ToolCall, steeringMessage,
		session.TurnStart, session.TurnEnd, session.StepStart:
		return membersOf(x, raw)
	}
	return data{raw: raw, x: x}
}

// membersOf finds the members of data or of a message.
func membersOf(x *jsonl.Index, raw []byte) data {
	d := data{raw: raw, x: x}
	if !jsonl.IsObject(raw) {
		return d
	}
	c := x.Enter(raw)
	for {
		name, v, ok := c.Member()
		if !ok {
			return d
		}
		if at := d.member(string(name)); at != nil {
			*at = v
		}
	}
}

func (d *data) member(name string) *[]byte {
	switch name {
	case "id":
		return &d.id
	case "role":
		return &d.role
	case "source":
		return &d.source
	case "content":
		return &d.content
	case "message":
		return &d.message
	case "provenance":
		return &d.provenance
	case "callId":
		return &d.callID
	case "isError":
		return &d.isError
	case "error":
		return &d.failed
	case "turn":
		return &d.turn
	case "step":
		return &d.step
	case "trigger":
		return &d.trigger
	case "reason":
		return &d.reason
	case "name":
		return &d.name
	case "arguments":
		return &d.arguments
	}
	return nil
}
