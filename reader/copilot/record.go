package copilot

import (
	"github.com/yorehq/yore/reader/jsonl"
	"github.com/yorehq/yore/reader/linelog"
)

// record is one event as the agent wrote it. Its fields point into it.
type record struct {
	x     *jsonl.Index
	kind  string
	id    []byte
	agent []byte // the subagent that it is of; nil: the session itself
	time  int64  // epoch milliseconds; 0: not known
	data  data
}

// data are the members of an event's data that matter here.
type data struct {
	all                                              []byte
	content, source, callID, tool, arguments         []byte
	requests, result, failure, success, message      []byte
	summary, removed, parentCall, name, shown, about []byte
	title, autopilot, reason, former                 []byte
}

func recordOf(r *linelog.Record) record {
	e := record{x: r.X}
	c := r.X.Enter(r.Value)
	for name, v, ok := c.Member(); ok; name, v, ok = c.Member() {
		switch string(name) {
		case "type":
			e.kind = r.X.Name(v)
		case "id":
			e.id = v
		case "agentId":
			e.agent = v
		case "timestamp":
			if t, ok := jsonl.Instant(v); ok {
				e.time = max(0, t.UnixMilli())
			}
		case "data":
			e.data = dataOf(r.X, v)
		}
	}
	if !jsonl.Filled(e.agent) {
		// Older releases name the call that a subagent works for.
		e.agent = e.data.parentCall
		if e.begins() {
			e.agent = e.data.callID
		}
	}
	if !jsonl.Filled(e.agent) {
		e.agent = nil
	}
	return e
}

// begins reports whether the event says that a subagent begins or ends.
func (e *record) begins() bool {
	return e.kind == "subagent.started" || e.kind == "subagent.completed" || e.kind == "subagent.failed"
}

func dataOf(x *jsonl.Index, v []byte) data {
	d := data{all: v}
	if !jsonl.IsObject(v) {
		return d
	}
	c := x.Enter(v)
	for name, v, ok := c.Member(); ok; name, v, ok = c.Member() {
		if to := d.member(string(name)); to != nil {
			*to = v
		}
	}
	return d
}

func (d *data) member(name string) *[]byte {
	switch name {
	case "content":
		return &d.content
	case "source":
		return &d.source
	case "toolCallId":
		return &d.callID
	case "toolName":
		return &d.tool
	case "arguments":
		return &d.arguments
	case "toolRequests":
		return &d.requests
	case "result":
		return &d.result
	case "error":
		return &d.failure
	case "success":
		return &d.success
	case "message":
		return &d.message
	case "summaryContent":
		return &d.summary
	case "messagesRemovedDuringTruncation":
		return &d.removed
	case "parentToolCallId":
		return &d.parentCall
	case "agentName":
		return &d.name
	case "agentDisplayName":
		return &d.shown
	case "agentDescription":
		return &d.about
	case "title":
		return &d.title
	case "isAutopilotContinuation":
		return &d.autopilot
	case "reason":
		return &d.reason
	case "legacySession":
		return &d.former
	}
	return nil
}

// request is one call of an answer.
type request struct{ id, name, arguments []byte }

// calls visits the calls of an answer, counted from 1.
func (e *record) calls(visit func(number int64, q *request)) {
	if !jsonl.IsArray(e.data.requests) {
		return
	}
	c := e.x.Enter(e.data.requests)
	for number := int64(1); ; number++ {
		v, ok := c.Element()
		if !ok {
			return
		}
		if !jsonl.IsObject(v) {
			continue
		}
		var q request
		in := e.x.Enter(v)
		for name, m, ok := in.Member(); ok; name, m, ok = in.Member() {
			switch string(name) {
			case "toolCallId":
				q.id = m
			case "name":
				q.name = m
			case "arguments":
				q.arguments = m
			}
		}
		visit(number, &q)
	}
}

// block finds the bytes of one call of an answer, counted from 1, or of one message
// or call of a session that was imported; nil if there is none.
func block(record []byte, number int64) []byte {
	data := jsonl.Field(record, "data")
	if former := jsonl.Field(data, "legacySession"); jsonl.IsObject(former) {
		return blocksIn(former).at(number)
	}
	list := jsonl.Field(data, "toolRequests")
	if !jsonl.IsArray(list) {
		return nil
	}
	c := jsonl.Enter(list)
	for at := int64(1); ; at++ {
		v, ok := c.Element()
		if !ok || at == number {
			return v
		}
	}
}
