package dsh

import (
	"bytes"
	"slices"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/yorehq/yore/reader/jsonl"
	"github.com/yorehq/yore/session"
)

// upgrade returns a record's type in today's shape, brings its data into that
// shape, and says whether they differ from what is stored. It looks at shapes
// only; whether the outcome is sound is checked afterwards.
func (d *Decoder) upgrade(ev *session.Event, in *data) (typ string, changed bool) {
	typ, now := d.upgraded(ev, in)
	if now == nil {
		return typ, false
	}
	*in = parseData(nil, typ, now.join())
	return typ, true
}

// upgraded is upgrade without looking into the outcome: nil data are as they
// should be.
func (d *Decoder) upgraded(ev *session.Event, in *data) (typ string, now pieces) {
	if !jsonl.IsObject(in.raw) {
		return ev.Type, nil
	}
	switch typ = ev.Type; typ {
	case steeringMessage:
		return session.UserMessage, d.userMessage(ev, in, "turn")
	case session.UserMessage:
		if in.id == nil && in.role == nil {
			now = d.userMessage(ev, in)
		}
	case session.AssistantMessage:
		now = d.assistantMessage(ev, in)
	case session.ToolResult:
		now = d.toolResult(ev, in)
	case session.TurnStart:
		if in.trigger != nil {
			now = object(in.raw, []string{"trigger"})
		}
	case session.TurnEnd:
		now = turnEnd(in)
	}
	return typ, now
}

// userMessage makes a message of data without an id and a role, and leaves
// members out.
func (d *Decoder) userMessage(ev *session.Event, in *data, omit ...string) pieces {
	if in.id != nil || in.role != nil {
		return object(in.raw, omit)
	}
	return object(in.raw, omit, pair{"id", d.legacyID(ev.Seq)}, pair{"role", literal(`"user"`)})
}

func (d *Decoder) assistantMessage(ev *session.Event, in *data) pieces {
	if in.message != nil || in.content == nil || !jsonl.IsObject(in.provenance) {
		return nil
	}
	source := object(in.provenance, []string{"kind"}, pair{"kind", literal(`"model"`)})
	message := object(nil, nil, pair{"id", d.legacyID(ev.Seq)},
		pair{"role", literal(`"assistant"`)}, pair{"content", pieces{in.content}}, pair{"source", source})
	return object(in.raw, []string{"content", "provenance"}, pair{"message", message})
}

// toolResult upgrades a result. One that rewrites another takes over its id.
func (d *Decoder) toolResult(ev *session.Event, in *data) pieces {
	if in.message != nil || in.callID == nil || in.content == nil {
		return nil
	}
	members := []pair{{"type", literal(`"tool-result"`)}, {"toolCallId", pieces{in.callID}}, {"content", pieces{in.content}}}
	if in.isError != nil {
		members = append(members, pair{"isError", pieces{in.isError}})
	}
	list := slices.Concat(literal("["), object(nil, nil, members...), literal("]"))
	source := object(nil, nil, pair{"kind", literal(`"tool"`)}, pair{"callId", pieces{in.callID}})
	message := object(nil, nil, pair{"id", d.legacyID(d.rootOf(ev))},
		pair{"role", literal(`"user"`)}, pair{"content", list}, pair{"source", source})
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

func (d *Decoder) legacyID(seq int64) pieces {
	// The error is about invalid UTF-8, which has been replaced.
	id, _ := jsontext.AppendQuote(nil, "legacy-message:"+string(d.header.ID)+":"+strconv.FormatInt(seq, 10))
	return pieces{id}
}

// turnEnd upgrades the reasons disposed, aborted without a cause, and error
// with its members laid flat.
func turnEnd(in *data) pieces {
	kind := jsonl.Field(in.reason, "kind")
	var now pieces
	switch {
	case jsonl.Is(kind, "disposed"):
		now = literal(`{"kind":"aborted","reason":{"kind":"disposed"}}`)
	case jsonl.Is(kind, "aborted") && jsonl.Field(in.reason, "reason") == nil:
		now = literal(`{"kind":"aborted","reason":{"kind":"legacy"}}`)
	case jsonl.Is(kind, "error") && jsonl.Field(in.reason, "error") == nil:
		now = flatError(in.reason)
	}
	if now == nil {
		return nil
	}
	return object(in.raw, []string{"reason"}, pair{"reason", now})
}

func flatError(reason []byte) pieces {
	failed := pieces{jsonl.Field(reason, "failure")}
	if failed[0] == nil {
		message := jsonl.Field(reason, "message")
		if message == nil {
			return nil
		}
		members := []pair{{"message", pieces{message}}}
		if code := jsonl.Field(reason, "code"); code != nil {
			members = append(members, pair{"code", pieces{code}})
		}
		failed = object(nil, nil, members...)
	}
	return object(nil, nil, pair{"kind", literal(`"error"`)}, pair{"error", failed})
}

// pieces are JSON that is put together once, when all of it is known: a record
// can be long, and each shape around its text would copy it again.
type pieces [][]byte

func literal(text string) pieces { return pieces{[]byte(text)} }

func (p pieces) join() []byte { return bytes.Join(p, nil) }

// pair is a member to be added to an object: a name and a JSON value.
type pair struct {
	name  string
	value pieces
}

// object makes an object of the members of another, nil being an empty one,
// without some of them, and of others.
func object(base []byte, omit []string, add ...pair) pieces {
	var out pieces
	put := func(name []byte, value ...[]byte) {
		opening := []byte{','}
		if out == nil {
			opening[0] = '{'
		}
		opening, _ = jsontext.AppendQuote(opening, name)
		out = append(append(out, append(opening, ':')), value...)
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
		put([]byte(p.name), p.value...)
	}
	if out == nil {
		return literal("{}")
	}
	return append(out, []byte{'}'})
}

// rewritten is a record with its type and data in today's shape.
func rewritten(text []byte, typ string, data pieces) []byte {
	var out pieces
	opening := []byte{'{'}
	c := jsonl.Enter(text[jsonl.SkipSpace(text, 0):])
	for {
		name, value, ok := c.Member()
		if !ok {
			return append(out, []byte{'}'}).join()
		}
		opening, _ = jsontext.AppendQuote(opening, name)
		out = append(out, append(opening, ':'))
		opening = []byte{','}
		switch string(name) {
		case "type":
			quoted, _ := jsontext.AppendQuote(nil, typ)
			out = append(out, quoted)
		case "data":
			out = append(out, data...)
		default:
			out = append(out, value)
		}
	}
}
