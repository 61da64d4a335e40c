package opencode

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"

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
	tools := memberValues(jsonl.Field(meta, "tool"))
	c := jsonl.Enter(list)
	var texts [][]byte // side by side, up to here
	for {
		raw, ok := c.Element()
		isText := ok && jsonl.IsObject(raw) && jsonl.Text(jsonl.Field(raw, "type")) == "text"
		if !isText && len(texts) > 0 && len(m.parts) < mostParts {
			m.addPart(joined(texts))
			texts = nil
		}
		if !ok || len(m.parts) == mostParts {
			break
		}
		if isText {
			texts = append(texts, raw)
			continue
		}
		data := raw
		if call := jsonl.Field(raw, "toolInvocation"); jsonl.IsObject(call) {
			data = toolOf(call, tools)
		}
		m.addPart(raw, data)
	}
	m.data = head.bytes()
	m.bad = m.data == nil
}

// addPart adds a part that stands in the message.
func (m *message) addPart(raw, data []byte) {
	v := value{table: "part", rowid: m.rowid + 1 + int64(len(m.parts)), raw: raw, data: data, clipped: m.clipped}
	v.check()
	m.parts = append(m.parts, v)
}

// joined makes one text of those that stand side by side. The agent began another
// one wherever the end of a step reached it, in the midst of a word too, and sent
// them as one.
func joined(texts [][]byte) (raw, data []byte) {
	if len(texts) == 1 {
		return texts[0], texts[0]
	}
	var all strings.Builder
	for _, t := range texts {
		all.WriteString(jsonl.Text(jsonl.Field(t, "text")))
	}
	text, err := json.Marshal(all.String())
	if err != nil {
		return texts[0], texts[0] // a string always can
	}
	one := members{"type": json.RawMessage(`"text"`), "text": text}
	return slices.Concat([]byte("["), bytes.Join(texts, []byte(",")), []byte("]")), one.bytes()
}

// memberValues returns the members of an object by their names; of two with one
// name the last, as everywhere.
func memberValues(object []byte) map[string][]byte {
	all := map[string][]byte{}
	if !jsonl.IsObject(object) {
		return all
	}
	c := jsonl.Enter(object)
	for {
		name, v, ok := c.Member()
		if !ok {
			return all
		}
		all[string(name)] = v
	}
}

// toolOf makes a tool's part of a call, and of what the metadata have of calls.
func toolOf(call []byte, tools map[string][]byte) []byte {
	id := jsonl.Field(call, "toolCallId")
	about := tools[jsonl.Text(id)]
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
