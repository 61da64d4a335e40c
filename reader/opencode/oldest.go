package opencode

import (
	"encoding/json"
	"slices"

	"github.com/yorehq/yore/reader/jsonl"
)

// The first releases wrote a message with its parts in it, and what later ones
// state of a message itself under "metadata":
//
//	{"id", "role", "parts": [{"type": "text", "text"}, {"type": "tool-invocation", "toolInvocation": {…}}, …],
//	 "metadata": {"time", "error", "tool": {<call>: {"time", …}}, "assistant": {"path", "summary", …}}}
//
// A call has ended in the state "result". What went wrong with it is said in its
// result, and by "error" among what the metadata have of the call.

// members is an object that is being made; a member without a value is none.
type members map[string]json.RawMessage

func (o members) put(name string, value []byte) {
	if len(value) > 0 {
		o[name] = value
	}
}

// bytes is the object; nil if a value is nested too deep to be one.
func (o members) bytes() []byte {
	text, err := json.Marshal(o)
	if err != nil {
		return nil
	}
	return text
}

// split makes of such a message one as later releases wrote it, with the same
// parts; any other stays as it is.
func (m *message) split() {
	meta, list := jsonl.Field(m.data, "metadata"), jsonl.Field(m.data, "parts")
	if !jsonl.IsObject(meta) || !jsonl.IsArray(list) {
		return
	}
	assistant := jsonl.Field(meta, "assistant")
	head := members{}
	head.put("role", jsonl.Field(m.data, "role"))
	head.put("time", jsonl.Field(meta, "time"))
	head.put("error", jsonl.Field(meta, "error"))
	head.put("path", jsonl.Field(assistant, "path"))
	head.put("summary", jsonl.Field(assistant, "summary"))
	c := jsonl.Enter(list)
	for {
		raw, ok := c.Element()
		if !ok || len(m.parts) == mostParts {
			break
		}
		v := value{table: "part", rowid: m.rowid + 1 + int64(len(m.parts)), raw: raw, data: raw, clipped: m.clipped}
		if call := jsonl.Field(raw, "toolInvocation"); jsonl.IsObject(call) {
			v.data = toolOf(call, meta)
		}
		if n := len(m.parts); n > 0 && m.parts[n-1].join(raw) {
			continue
		}
		v.check()
		m.parts = append(m.parts, v)
	}
	m.data = head.bytes()
	m.bad = m.data == nil
}

// join adds a text to a text. The agent began another one wherever the end of a
// step reached it, in the midst of a word too, and sent them as one.
func (v *value) join(raw []byte) bool {
	if v.bad || kindOf(v) != "text" || jsonl.Text(jsonl.Field(raw, "type")) != "text" {
		return false
	}
	text, err := json.Marshal(jsonl.Text(jsonl.Field(v.data, "text")) + jsonl.Text(jsonl.Field(raw, "text")))
	if err != nil {
		return false
	}
	joined := members{"type": json.RawMessage(`"text"`), "text": text}
	v.data = joined.bytes()
	if jsonl.IsObject(v.raw) {
		v.raw = slices.Concat([]byte("["), v.raw, []byte("]"))
	}
	v.raw = slices.Concat(v.raw[:len(v.raw)-1], []byte(","), raw, []byte("]"))
	return true
}

// toolOf makes a tool's part of a call.
func toolOf(call, meta []byte) []byte {
	id := jsonl.Field(call, "toolCallId")
	about := jsonl.Field(jsonl.Field(meta, "tool"), jsonl.Text(id))
	state := members{}
	state.put("input", jsonl.Field(call, "args"))
	state.put("time", jsonl.Field(about, "time"))
	state.put("metadata", about)
	result, status := jsonl.Field(call, "result"), `"pending"`
	switch {
	case jsonl.Text(jsonl.Field(call, "state")) != "result":
	case isTrue(jsonl.Field(about, "error")):
		status = `"error"`
		state.put("error", result)
	default:
		status = `"completed"`
		state.put("output", result)
	}
	state.put("status", []byte(status))
	part := members{"type": json.RawMessage(`"tool"`)}
	part.put("callID", id)
	part.put("tool", jsonl.Field(call, "toolName"))
	part.put("state", state.bytes())
	return part.bytes()
}
