package dsh

import (
	"slices"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/yorehq/yore/reader/jsonl"
	"github.com/yorehq/yore/session"
)

// upgrade returns a record's type and data in today's shape, and whether that
// differs from what is stored. It looks at shapes only; whether the outcome is
// sound is checked afterwards.
func (d *Decoder) upgrade(ev *session.Event, in data) (typ string, out data, changed bool) {
	if !jsonl.IsObject(in.raw) {
		return ev.Type, in, false
	}
	var now []byte
	switch typ = ev.Type; typ {
	case steeringMessage:
		typ = session.UserMessage
		if now = d.userMessage(ev, parseData(without(in.raw, "turn"))); now == nil {
			now = without(in.raw, "turn")
		}
	case session.UserMessage:
		now = d.userMessage(ev, in)
	case session.AssistantMessage:
		now = d.assistantMessage(ev, in)
	case session.ToolResult:
		now = d.toolResult(ev, in)
	case session.TurnStart:
		if in.trigger != nil {
			now = without(in.raw, "trigger")
		}
	case session.TurnEnd:
		now = turnEnd(in)
	}
	if now == nil {
		return typ, in, false
	}
	return typ, parseData(now), true
}

// The functions below return data in today's shape, or nil if it is so already.

func (d *Decoder) userMessage(ev *session.Event, in data) []byte {
	if in.id != nil || in.role != nil {
		return nil
	}
	return object(in.raw, nil, pair{"id", d.legacyID(ev.Seq)}, pair{"role", []byte(`"user"`)})
}

func (d *Decoder) assistantMessage(ev *session.Event, in data) []byte {
	if in.message != nil || in.content == nil || !jsonl.IsObject(in.provenance) {
		return nil
	}
	source := object(without(in.provenance, "kind"), nil, pair{"kind", []byte(`"model"`)})
	message := object(nil, nil, pair{"id", d.legacyID(ev.Seq)},
		pair{"role", []byte(`"assistant"`)}, pair{"content", in.content}, pair{"source", source})
	return object(in.raw, []string{"content", "provenance"}, pair{"message", message})
}

// toolResult upgrades a result. One that rewrites another takes over its id.
func (d *Decoder) toolResult(ev *session.Event, in data) []byte {
	if in.message != nil || in.callID == nil || in.content == nil {
		return nil
	}
	block := object(nil, nil,
		pair{"type", []byte(`"tool-result"`)}, pair{"toolCallId", in.callID}, pair{"content", in.content})
	if in.isError != nil {
		block = object(block, nil, pair{"isError", in.isError})
	}
	source := object(nil, nil, pair{"kind", []byte(`"tool"`)}, pair{"callId", in.callID})
	list := append(append([]byte{'['}, block...), ']')
	message := object(nil, nil, pair{"id", d.legacyID(d.rootOf(ev))},
		pair{"role", []byte(`"user"`)}, pair{"content", list}, pair{"source", source})
	return object(in.raw, []string{"callId", "content", "isError"}, pair{"message", message})
}

// rootOf returns the seq that a result of the older shape is named after.
func (d *Decoder) rootOf(ev *session.Event) int64 {
	if ev.Op.Kind != session.OpReplace {
		return ev.Seq
	}
	if root, ok := d.st.Root[ev.Op.Start]; ok {
		return root
	}
	return ev.Op.Start
}

func (d *Decoder) legacyID(seq int64) []byte {
	// The error is about invalid UTF-8, which has been replaced.
	id, _ := jsontext.AppendQuote(nil, "legacy-message:"+string(d.header.ID)+":"+strconv.FormatInt(seq, 10))
	return id
}

// turnEnd upgrades the reasons disposed, aborted without a cause, and error
// with its members laid flat.
func turnEnd(in data) []byte {
	kind := jsonl.Field(in.reason, "kind")
	var now []byte
	switch {
	case jsonl.Is(kind, "disposed"):
		now = []byte(`{"kind":"aborted","reason":{"kind":"disposed"}}`)
	case jsonl.Is(kind, "aborted") && jsonl.Field(in.reason, "reason") == nil:
		now = []byte(`{"kind":"aborted","reason":{"kind":"legacy"}}`)
	case jsonl.Is(kind, "error") && jsonl.Field(in.reason, "error") == nil:
		now = flatError(in.reason)
	}
	if now == nil {
		return nil
	}
	return object(in.raw, []string{"reason"}, pair{"reason", now})
}

func flatError(reason []byte) []byte {
	failed := jsonl.Field(reason, "failure")
	if failed == nil {
		message := jsonl.Field(reason, "message")
		if message == nil {
			return nil
		}
		failed = object(nil, nil, pair{"message", message})
		if code := jsonl.Field(reason, "code"); code != nil {
			failed = object(failed, nil, pair{"code", code})
		}
	}
	return object(nil, nil, pair{"kind", []byte(`"error"`)}, pair{"error", failed})
}

func without(data []byte, name string) []byte { return object(data, []string{name}) }

// pair is a member to be added to an object: a name and a JSON value.
type pair struct {
	name  string
	value []byte
}

// object copies an object, nil being an empty one, without some of its members
// and adds others.
func object(base []byte, omit []string, add ...pair) []byte {
	out := make([]byte, 0, len(base)+64)
	out = append(out, '{')
	put := func(name, value []byte) {
		if len(out) > 1 {
			out = append(out, ',')
		}
		out, _ = jsontext.AppendQuote(out, name)
		out = append(append(out, ':'), value...)
	}
	c := jsonl.Enter(base)
	for {
		name, value, ok := c.Member()
		if !ok {
			break
		}
		if !slices.Contains(omit, string(name)) {
			put(name, value)
		}
	}
	for _, p := range add {
		put([]byte(p.name), p.value)
	}
	return append(out, '}')
}

// rewritten is a record with its type and data in today's shape.
func rewritten(text []byte, typ string, data []byte) []byte {
	out := make([]byte, 0, len(text)+len(data))
	out = append(out, '{')
	c := jsonl.Enter(text[jsonl.SkipSpace(text, 0):])
	for {
		name, value, ok := c.Member()
		if !ok {
			return append(out, '}')
		}
		if len(out) > 1 {
			out = append(out, ',')
		}
		out, _ = jsontext.AppendQuote(out, name)
		out = append(out, ':')
		switch string(name) {
		case "type":
			out, _ = jsontext.AppendQuote(out, typ)
		case "data":
			out = append(out, data...)
		default:
			out = append(out, value...)
		}
	}
}
