package dsh

import (
	"bytes"
	"slices"

	"github.com/yorehq/yore/fault"
	"github.com/yorehq/yore/reader/jsonl"
	"github.com/yorehq/yore/session"
)

// Types that have a meaning here beside those of the model.
const (
	requestHeader   = "request/header"
	steeringMessage = "steering/message"
	headerDelta     = "request/header-delta"
	modeSet         = "mode/set"
)

// knownTypes are the types of the format, sorted. A record of another type
// must be marked ignorable.
var knownTypes = [...]string{
	"agent-preset/selected", "agent/inbox/spliced", "approval/asked", "approval/decided", "approval/policy",
	session.AssistantChunk, session.AssistantMessage, "command/done", "command/run", "compaction/end",
	"compaction/prune", "compaction/start", "compaction/summary", "feedback/record", "goal/change",
	"hook/invoked", "hook/result", "llm/retry", "llm/retry-started", "permission/preset", "plan/mode",
	"request/context", requestHeader, "sandbox/mode", "schedule/change", "session/end-seed",
	session.TitleEvent, "session/title-llm-request", session.StepEnd, session.StepStart,
	"subagent/descriptor", "team/member", "team/message/delivered", "team/message/queued", "team/task",
	session.TodoWrite, "tool-workflow/agent-end", "tool-workflow/agent-start", "tool-workflow/run-end",
	"tool-workflow/run-start", session.ToolCall, "tool/code-dispatch", "tool/code-dispatch-start",
	session.ToolResult, session.TurnEnd, session.TurnStart, session.UserMessage,
	"web/deepseek-search-llm-request",
}

// typeName returns the name of a type, and whether the format has it. Names of
// the format are not copied.
func typeName(v []byte) (string, bool) {
	if !jsonl.IsString(v) {
		return "", false
	}
	i, ok := slices.BinarySearchFunc(knownTypes[:], v[1:len(v)-1], func(name string, want []byte) int {
		return bytes.Compare([]byte(name), want)
	})
	if ok {
		return knownTypes[i], true
	}
	name := jsonl.Text(v)
	_, ok = slices.BinarySearch(knownTypes[:], name)
	return name, ok
}

// failure is why a line is not an event of the log.
type failure struct {
	code   fault.Code
	torn   bool // the line is none of this log's next records: the log may end before it
	reason string
}

func torn(reason string) *failure   { return &failure{fault.Persistence, true, reason} }
func broken(reason string) *failure { return &failure{fault.CorruptSession, false, reason} }

// envelope is a record's own members, as they stand.
type envelope struct {
	typ, seq, time, data, op, sources, ignorable []byte

	seq0, time0 []byte // of packed rows
	strange     bool   // there is a member that neither events nor rows have
}

// parseEnvelope checks that a line is JSON and an object, and finds its members.
// The index becomes that of the line.
func parseEnvelope(x *jsonl.Index, text []byte) (envelope, *failure) {
	var e envelope
	if !x.Valid(text) {
		return e, torn("the line is no JSON")
	}
	text = text[jsonl.SkipSpace(text, 0):]
	if !jsonl.IsObject(text) {
		return e, torn("the line is no record")
	}
	c := x.Enter(text)
	for {
		name, v, ok := c.Member()
		if !ok {
			return e, nil
		}
		switch string(name) {
		case "type":
			e.typ = v
		case "seq":
			e.seq = v
		case "time":
			e.time = v
		case "data":
			e.data = v
		case "surfaceOp":
			e.op = v
		case "sourceEventSeqs":
			e.sources = v
		case "ignorable":
			e.ignorable = v
		case "seq0":
			e.seq0 = v
		case "time0":
			e.time0 = v
		default:
			e.strange = true
		}
	}
}

// event checks an envelope whose seq is the right one and makes an event of it,
// without its body.
func (e *envelope) event(seq int64) (session.Event, *failure) {
	ev := session.Event{Seq: seq}
	name, known := typeName(e.typ)
	ev.Type = name
	var ok bool
	if ev.Time, ok = jsonl.SafeInt(e.time); !ok {
		return ev, broken("time is no safe integer")
	}
	switch {
	case !jsonl.IsString(e.typ):
		return ev, broken("type is no text")
	case e.strange || e.seq0 != nil || e.time0 != nil:
		return ev, broken("the record has a member that events do not have")
	case e.data == nil:
		return ev, broken("the record has no data")
	case e.ignorable != nil && string(e.ignorable) != "true":
		return ev, broken("ignorable is something else than true")
	case name == headerDelta || name == modeSet:
		return ev, broken("the record is of a type that is no longer understood")
	}
	ev.Ignorable = e.ignorable != nil
	if !known && name != steeringMessage && !ev.Ignorable {
		return ev, &failure{fault.Persistence, false, "the record is of an unknown type that must be understood"}
	}
	var bad *failure
	if ev.Op, bad = surfaceOp(e.op); bad != nil {
		return ev, bad
	}
	ev.Sources, bad = sourceSeqs(e.sources)
	return ev, bad
}

// surfaceOp reads an operation strictly; nil is none.
func surfaceOp(v []byte) (session.Op, *failure) {
	switch {
	case v == nil:
		return session.Op{}, nil
	case jsonl.Is(v, "append"):
		return session.Op{Kind: session.OpAppend}, nil
	case !jsonl.IsObject(v):
		return session.Op{}, broken("surfaceOp is no operation")
	}
	var op, start, end []byte
	c := jsonl.Enter(v)
	for {
		name, value, ok := c.Member()
		if !ok {
			break
		}
		switch string(name) {
		case "op":
			op = value
		case "start":
			start = value
		case "end":
			end = value
		default:
			return session.Op{}, broken("surfaceOp has a member that operations do not have")
		}
	}
	from, ok := jsonl.Natural(start)
	to, also := jsonl.Natural(end)
	if !jsonl.Is(op, "replace") || !ok || !also {
		return session.Op{}, broken("surfaceOp is no replacement")
	}
	return session.Op{Kind: session.OpReplace, Start: from, End: to}, nil
}

// sourceSeqs reads citations strictly; nil stays nil, an empty list does not.
func sourceSeqs(v []byte) ([]int64, *failure) {
	if v == nil {
		return nil, nil
	}
	if !jsonl.IsArray(v) {
		return nil, broken("sourceEventSeqs is no list")
	}
	seqs := make([]int64, 0, bytes.Count(v, []byte{','})+1)
	_, ok := jsonl.EachInt(v, func(n int64) bool {
		seqs = append(seqs, n)
		return n >= 0
	})
	if !ok {
		return nil, broken("sourceEventSeqs holds something else than sequence numbers")
	}
	return seqs, nil
}
