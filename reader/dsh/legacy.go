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
func (d *Decoder) upgrade(ev *session.Event, data []byte) (typ string, now []byte, changed bool) {
	if !jsonl.IsObject(data) {
		return ev.Type, data, false
	}
	switch ev.Type {
	case steeringMessage:
		now, _ = d.userMessage(ev, without(data, "turn"))
		return session.UserMessage, now, true
	case session.UserMessage:
		now, changed = d.userMessage(ev, data)
	case session.AssistantMessage:
		now, changed = d.assistantMessage(ev, data)
	case session.ToolResult:
		now, changed = d.toolResult(ev, data)
	case session.TurnStart:
		now = data
		if jsonl.Field(data, "trigger") != nil {
			now, changed = without(data, "trigger"), true
		}
	case session.TurnEnd:
		now, changed = turnEnd(data)
	default:
		now = data
	}
	return ev.Type, now, changed
}

func (d *Decoder) userMessage(ev *session.Event, data []byte) ([]byte, bool) {
	if jsonl.Field(data, "id") != nil || jsonl.Field(data, "role") != nil {
		return data, false
	}
	return object(data, nil, pair{"id", d.legacyID(ev.Seq)}, pair{"role", []byte(`"user"`)}), true
}

func (d *Decoder) assistantMessage(ev *session.Event, data []byte) ([]byte, bool) {
	content, provenance := jsonl.Field(data, "content"), jsonl.Field(data, "provenance")
	if jsonl.Field(data, "message") != nil || content == nil || provenance == nil || !jsonl.IsObject(provenance) {
		return data, false
	}
	source := object(without(provenance, "kind"), nil, pair{"kind", []byte(`"model"`)})
	message := object(nil, nil, pair{"id", d.legacyID(ev.Seq)},
		pair{"role", []byte(`"assistant"`)}, pair{"content", content}, pair{"source", source})
	return object(data, []string{"content", "provenance"}, pair{"message", message}), true
}

// toolResult upgrades a result. One that rewrites another takes over its id.
func (d *Decoder) toolResult(ev *session.Event, data []byte) ([]byte, bool) {
	call, content := jsonl.Field(data, "callId"), jsonl.Field(data, "content")
	if jsonl.Field(data, "message") != nil || call == nil || content == nil {
		return data, false
	}
	block := object(nil, nil,
		pair{"type", []byte(`"tool-result"`)}, pair{"toolCallId", call}, pair{"content", content})
	if failed := jsonl.Field(data, "isError"); failed != nil {
		block = object(block, nil, pair{"isError", failed})
	}
	source := object(nil, nil, pair{"kind", []byte(`"tool"`)}, pair{"callId", call})
	list := append(append([]byte{'['}, block...), ']')
	message := object(nil, nil, pair{"id", d.legacyID(d.rootOf(ev))},
		pair{"role", []byte(`"user"`)}, pair{"content", list}, pair{"source", source})
	return object(data, []string{"callId", "content", "isError"}, pair{"message", message}), true
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
func turnEnd(data []byte) ([]byte, bool) {
	reason := jsonl.Field(data, "reason")
	kind := jsonl.Field(reason, "kind")
	var now []byte
	switch {
	case jsonl.Is(kind, "disposed"):
		now = []byte(`{"kind":"aborted","reason":{"kind":"disposed"}}`)
	case jsonl.Is(kind, "aborted") && jsonl.Field(reason, "reason") == nil:
		now = []byte(`{"kind":"aborted","reason":{"kind":"legacy"}}`)
	case jsonl.Is(kind, "error") && jsonl.Field(reason, "error") == nil:
		now = flatError(reason)
	}
	if now == nil {
		return data, false
	}
	return object(data, []string{"reason"}, pair{"reason", now}), true
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
