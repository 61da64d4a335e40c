package qwen

import (
	"slices"

	"github.com/yorehq/yore/reader/jsonl"
	"github.com/yorehq/yore/reader/linelog"
	"github.com/yorehq/yore/session"
)

// record is one record of a chat.
type record struct {
	x             *jsonl.Index
	id, parent    uint64 // hashes; 0: none
	native        string
	kind, subtype string
	time          int64 // epoch milliseconds; -1: none
	parts         []byte
	payload       []byte
	result        []byte // of a tool: what became of the call
	sidechain     bool
}

func recordOf(r *linelog.Record) record {
	out := record{x: r.X, time: -1}
	c := r.X.Enter(r.Value)
	for name, v, ok := c.Member(); ok; name, v, ok = c.Member() {
		switch string(name) {
		case "uuid":
			out.native, out.id = r.X.Text(v), key(r.X, v)
		case "parentUuid":
			out.parent = key(r.X, v)
		case "type":
			out.kind = r.X.Name(v)
		case "subtype":
			out.subtype = r.X.Name(v)
		case "timestamp":
			out.time = instant(v)
		case "message":
			out.parts = r.X.Field(v, "parts")
		case "systemPayload":
			out.payload = v
		case "toolCallResult":
			out.result = v
		case "isSidechain":
			out.sidechain = string(v) == "true"
		}
	}
	return out
}

// beside reports whether a record is no part of the tree that the agent walks.
func (r *record) beside() bool {
	return r.kind == "system" && slices.Contains([]string{
		"session_artifact_event", "session_artifact_snapshot", "session_sources_snapshot",
		"managed_session_header_v1", "managed_session_event_v1", "managed_session_commit_v1",
	}, r.subtype)
}

// anchored reports whether a record only states something of the session: written
// again at the end of a file, it may hang on any record, and never makes that one
// the latest.
func (r *record) anchored() bool {
	return r.kind == "system" && slices.Contains([]string{"custom_title", "session_source", "session_model", "parent_session"}, r.subtype)
}

// key is a hash of an id, never 0; 0: v is none.
func key(x *jsonl.Index, v []byte) uint64 {
	if !jsonl.Filled(v) {
		return 0
	}
	return max(1, jsonl.Hash(0, []byte(x.Text(v))))
}

// instant reads a time in epoch milliseconds; -1 if it is none.
func instant(v []byte) int64 {
	if t, ok := jsonl.Instant(v); ok {
		if ms := t.UnixMilli(); ms >= 0 && ms <= session.MaxSafe {
			return ms
		}
	}
	return -1
}

// word returns a name that may stand in a type of ours.
func word(s string) string {
	if s == "" || len(s) > 64 {
		return "unknown"
	}
	for i := range len(s) {
		switch c := s[i]; {
		case c >= '0' && c <= '9', c|0x20 >= 'a' && c|0x20 <= 'z', c == '_', c == '-', c == '.':
		default:
			return "unknown"
		}
	}
	return s
}

// part is one part of a message.
type part struct {
	text     []byte // what is said; thoughts say nothing
	call     []byte // a functionCall
	response []byte // a functionResponse
}

// each visits the parts of a message; number counts from 1.
func each(x *jsonl.Index, list []byte, visit func(number int64, p part)) {
	if !jsonl.IsArray(list) {
		return
	}
	c := x.Enter(list)
	number := int64(0)
	for v, ok := c.Element(); ok; v, ok = c.Element() {
		number++
		if !jsonl.IsObject(v) {
			continue
		}
		var p part
		thought := false
		m := x.Enter(v)
		for name, value, ok := m.Member(); ok; name, value, ok = m.Member() {
			switch string(name) {
			case "text":
				p.text = value
			case "thought":
				thought = string(value) == "true"
			case "functionCall":
				p.call = value
			case "functionResponse":
				p.response = value
			}
		}
		if thought {
			p.text = nil
		}
		visit(number, p)
	}
}

// restated is how the numbers of a compaction's contents begin: block finds these
// in its list.
const restated = 1 << 20

// block finds the bytes of a part of a record, or of an entry of a compaction's
// context.
func block(record []byte, number int64) []byte {
	list := jsonl.Field(jsonl.Field(record, "message"), "parts")
	if number > restated {
		list, number = jsonl.Field(jsonl.Field(record, "systemPayload"), "compressedHistory"), number-restated
	}
	if !jsonl.IsArray(list) {
		return nil
	}
	c := jsonl.Enter(list)
	for v, ok := c.Element(); ok; v, ok = c.Element() {
		if number--; number == 0 {
			return v
		}
	}
	return nil
}
