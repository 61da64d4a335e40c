package dsh

import (
	"encoding/json"
	"slices"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/yorehq/yore/reader"
	"github.com/yorehq/yore/reader/jsonl"
	"github.com/yorehq/yore/session"
)

// Bounds of what is remembered of an open step. A call beyond them gets no
// closing record.
const (
	maxCalls  = 1024
	maxCallID = 1 << 10 // bytes
)

// open is the turn and the step that have not ended yet.
type open struct {
	Turn  json.RawMessage `json:"turn,omitempty"` // its number as written; nil: no turn is open
	Step  json.RawMessage `json:"step,omitempty"`
	Calls []call          `json:"calls,omitempty"` // of the open step, without a result
}

// call is a tool call that has no result yet.
type call struct {
	ID  string `json:"id"`
	Seq int64  `json:"seq"` // of its tool/call; -1: it was not recorded
}

// follow keeps track of what is open behind an event.
func (o *open) follow(ev *session.Event, in *data) {
	switch ev.Type {
	case session.TurnStart:
		*o = open{Turn: number(in.turn)}
	case session.TurnEnd:
		*o = open{}
	case session.StepStart:
		o.Step, o.Calls = number(in.step), nil
	case session.StepEnd:
		o.Step, o.Calls = nil, nil
	}
	if o.Step == nil {
		return
	}
	switch ev.Type {
	case session.AssistantMessage:
		for _, id := range in.calls {
			o.add(jsonl.Text(id), -1)
		}
	case session.ToolCall:
		o.add(ev.Body.CallID, ev.Seq)
	case session.ToolResult:
		o.Calls = slices.DeleteFunc(o.Calls, func(c call) bool { return c.ID == ev.Body.CallID })
	}
}

func (o *open) add(id string, seq int64) {
	if i := slices.IndexFunc(o.Calls, func(c call) bool { return c.ID == id }); i >= 0 {
		o.Calls[i].Seq = max(o.Calls[i].Seq, seq)
		return
	}
	if len(o.Calls) < maxCalls && len(id) <= maxCallID {
		o.Calls = append(o.Calls, call{id, seq})
	}
}

// number copies a number as it is written; what is none becomes 0.
func number(v []byte) json.RawMessage {
	if !jsonl.IsNumber(v) || len(v) > 32 {
		return json.RawMessage("0")
	}
	return append(json.RawMessage(nil), v...)
}

// The texts of made results.
const (
	unknownText = "The session stopped after this call was recorded and before its result was. Whether it took effect is " +
		"unknown: check first, unless the tool only reads or may be repeated safely."
	notStartedText = "The session stopped before this call was started. It can be made again if it is still needed."
)

// Closers makes the records that close an interrupted turn in the view: an
// error result for each call of the open step that has none, the end of the
// step, the end of the turn. state is Position.State of a read that ended
// before event next. The events are provisional and reconstructed; Native is
// the JSON made for each. A log with nothing open, or a state that is not this
// reader's, has none.
func Closers(state json.RawMessage, next int64) []session.Raw {
	st, err := parseState(state)
	if err != nil {
		return nil
	}
	return st.closers(next)
}

func (st *state) closers(next int64) []session.Raw {
	var out []session.Raw
	add := func(ev session.Event, data, tail string) {
		ev.Seq, ev.Time = next+int64(len(out)), st.Time
		ev.Reconstructed, ev.Provisional = true, true
		native := `{"type":"` + ev.Type + `","seq":` + strconv.FormatInt(ev.Seq, 10) +
			`,"time":` + strconv.FormatInt(ev.Time, 10) + `,"data":{` + data + `}` + tail + `}`
		out = append(out, session.Raw{Event: ev, Native: []byte(native)})
	}
	turn := `"turn":` + string(number(st.Open.Turn))
	step := turn + `,"step":` + string(number(st.Open.Step))
	if st.Open.Step != nil {
		for _, c := range st.Open.Calls {
			ev, data, tail := c.result(step, next+int64(len(out)))
			add(ev, data, tail)
		}
		add(session.Event{Type: session.StepEnd}, step, "")
	}
	if st.Open.Turn != nil {
		ev := session.Event{Type: session.TurnEnd}
		ev.Body.Blocks = []session.Block{{Text: "interrupted"}}
		add(ev, turn+`,"reason":{"kind":"interrupted"}`, "")
	}
	return out
}

// result makes the error result of a call.
func (c call) result(step string, seq int64) (ev session.Event, data, tail string) {
	name, code, text := "ToolNotStartedError", "TOOL_NOT_STARTED", notStartedText
	tail = `,"surfaceOp":"append"`
	if c.Seq >= 0 {
		name, code, text = "ToolOutcomeUnknownError", "TOOL_OUTCOME_UNKNOWN", unknownText
		ev.Sources = []int64{c.Seq}
		tail += `,"sourceEventSeqs":[` + strconv.FormatInt(c.Seq, 10) + `]`
	}
	ev.Type = session.ToolResult
	ev.Op = session.Op{Kind: session.OpAppend}
	ev.Body = session.Body{
		Speaker: session.Tool, CallID: c.ID, ErrorName: name, ErrorCode: code,
		Blocks: []session.Block{{
			Kind: session.ResultBlock, Content: []session.Block{{Kind: session.TextBlock, Text: text}},
		}},
	}
	id, message := quoted(c.ID), quoted("interrupted-tool-result-"+c.ID+"-"+strconv.FormatInt(seq, 10))
	data = step + `,"message":{"id":` + message + `,"role":"user","source":{"kind":"tool","callId":` + id +
		`},"content":[{"type":"tool-result","toolCallId":` + id + `,"isError":true,"content":[{"type":"text","text":` +
		quoted(text) + `}]}]},"error":{"name":"` + name + `","code":"` + code + `"}`
	ev.Sameness = sameness(nil, []byte("{"+data+"}"))
	return ev, data, tail
}

func quoted(text string) string {
	// The error is about invalid UTF-8, which has been replaced.
	b, _ := jsontext.AppendQuote(nil, text)
	return string(b)
}

// Closers implements reader.Closer.
func (*Reader) Closers(_ reader.Source, state json.RawMessage, next int64) []session.Raw {
	return Closers(state, next)
}
