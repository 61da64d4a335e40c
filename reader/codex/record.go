package codex

import (
	"time"

	"github.com/yorehq/yore/reader/jsonl"
	"github.com/yorehq/yore/session"
)

// The types of a record that have a meaning here.
const (
	metaType       = "session_meta"
	itemType       = "response_item"
	eventType      = "event_msg"
	contextType    = "turn_context"
	settingsType   = "thread_settings_applied"
	stateType      = "world_state"
	usageType      = "token_usage_record"
	compactedType  = "compacted"
	rolledBackType = "thread_rolled_back"
)

// record is one value of a log, as it stands.
type record struct {
	name                   string // its type; "": it has none
	typ, payload, metadata []byte
	in                     fields // of the payload
	time                   int64  // epoch milliseconds; -1: none
	ordinal                int64  // -1: none
	id                     []byte // of a record without an envelope
	state                  []byte // the marker of a record without an envelope
}

// parseRecord finds the members of an object. Early logs hold items and the
// session's facts without an envelope; they are given one.
// x is the index of its line, if there is one.
func parseRecord(x *jsonl.Index, v []byte) record {
	r := record{time: -1, ordinal: -1}
	c := x.Enter(v)
	for name, value, ok := c.Member(); ok; name, value, ok = c.Member() {
		switch string(name) {
		case "type":
			r.typ = value
		case "payload":
			r.payload = value
		case "metadata":
			r.metadata = value
		case "timestamp":
			r.time = instant(value)
		case "ordinal":
			if n, ok := jsonl.Natural(value); ok {
				r.ordinal = n
			}
		case "id":
			r.id = value
		case "record_type":
			r.state = value
		}
	}
	if r.payload == nil {
		r.payload = v
		switch {
		case r.state != nil:
			r.typ = r.state
		case jsonl.IsString(r.typ):
			r.typ = []byte(`"` + itemType + `"`)
		case jsonl.Filled(r.id):
			r.typ = []byte(`"` + metaType + `"`)
		}
	}
	r.name = x.Name(r.typ)
	r.in = fieldsOf(x, r.payload)
	return r
}

// fields are the members of an item or an event that matter here.
type fields struct {
	x    *jsonl.Index // of the line
	kind string       // the type as text

	typ, id, role, content, passed                             []byte
	callID, name, namespace, arguments, input, action, prompt  []byte
	output, message, query, item, turns, started, thread, turn []byte
	rename                                                     []byte
}

// fieldsOf finds them in one walk, for payloads can be long.
func fieldsOf(x *jsonl.Index, v []byte) fields {
	f := fields{x: x}
	if !jsonl.IsObject(v) {
		return f
	}
	c := x.Enter(v)
	for name, value, ok := c.Member(); ok; name, value, ok = c.Member() {
		if to := f.member(string(name)); to != nil {
			*to = value
		}
	}
	f.kind = x.Name(f.typ)
	return f
}

func (f *fields) member(name string) *[]byte {
	switch name {
	case "type":
		return &f.typ
	case "id":
		return &f.id
	case "role":
		return &f.role
	case "content":
		return &f.content
	case "internal_chat_message_metadata_passthrough":
		return &f.passed
	case "call_id":
		return &f.callID
	case "name":
		return &f.name
	case "namespace":
		return &f.namespace
	case "arguments":
		return &f.arguments
	case "input":
		return &f.input
	case "action":
		return &f.action
	case "revised_prompt":
		return &f.prompt
	case "output":
		return &f.output
	case "message":
		return &f.message
	case "query":
		return &f.query
	case "item":
		return &f.item
	case "num_turns":
		return &f.turns
	case "started_at":
		return &f.started
	case "thread_id":
		return &f.thread
	case "turn_id":
		return &f.turn
	case "thread_name":
		return &f.rename
	}
	return nil
}

func (r *record) is(typ string) bool { return r.name == typ }

func (r *record) isEvent(kinds ...string) bool {
	if !r.is(eventType) {
		return false
	}
	for _, k := range kinds {
		if r.in.kind == k {
			return true
		}
	}
	return false
}

// instant reads a time as ISO 8601; -1 if it is none.
func instant(v []byte) int64 {
	if !jsonl.IsString(v) || len(v) > 64 {
		return -1
	}
	t, ok := jsonl.Instant(v)
	if !ok {
		var err error
		if t, err = time.Parse("2006-01-02T15:04:05.999999999", jsonl.Text(v)); err != nil {
			return -1
		}
	}
	if ms := t.UnixMilli(); ms >= 0 && ms <= session.MaxSafe {
		return ms
	}
	return -1
}

// logType is the type of an event that has none of the model's own.
func (r *record) logType() string {
	var room [160]byte
	typ := append(append(room[:0], "codex/"...), wordOf(r.name)...)
	if (r.is(itemType) || r.is(eventType)) && jsonl.IsString(r.in.typ) {
		typ = append(append(typ, '/'), wordOf(r.in.kind)...)
	}
	return r.in.x.Intern(typ)
}

// word returns a type name that may stand in ours.
func word(v []byte) string { return wordOf(jsonl.Text(v)) }

func wordOf(s string) string {
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

// meta is what a log states of its thread.
type meta struct {
	id            session.ID
	created       int64 // epoch milliseconds; -1: not stated
	cwd           string
	forkedFrom    session.ID
	parent        session.ID // who spawned it
	role          string
	subagent      bool
	depth         int64
	paginated     bool
	base          base
	release       release
	inheritedUpTo int64 // the first ordinal of its own in a file that begins with a copy; -1: not stated
}

// base says which lines a segment goes on from.
type base struct {
	Seg string `json:"seg,omitempty"` // "": from nothing
	End int64  `json:"end,omitempty"` // the first ordinal that does not belong to it
	At  int64  `json:"at,omitempty"`  // the offset of that line in the text; 0: not stated
}

// parseMeta reads the payload of a session_meta, or an early record of that kind.
func parseMeta(r *record) meta {
	m := meta{created: -1, inheritedUpTo: -1, release: newest}
	c := jsonl.Enter(r.payload)
	var source []byte
	for name, v, ok := c.Member(); ok; name, v, ok = c.Member() {
		switch string(name) {
		case "id":
			m.id = session.ID(jsonl.Text(v))
		case "timestamp":
			m.created = instant(v)
		case "cwd":
			m.cwd = jsonl.Text(v)
		case "cli_version":
			m.release = releaseOf(jsonl.Text(v))
		case "forked_from_id":
			m.forkedFrom = session.ID(jsonl.Text(v))
		case "parent_thread_id":
			m.parent = session.ID(jsonl.Text(v))
		case "agent_role":
			m.role = jsonl.Text(v)
		case "history_mode":
			m.paginated = jsonl.Is(v, "paginated")
		case "thread_source":
			m.subagent = m.subagent || jsonl.Is(v, "subagent")
		case "source":
			source = v
		case "history_base":
			m.base.Seg = jsonl.Text(jsonl.Field(v, "thread_id"))
			m.base.End, _ = jsonl.Natural(jsonl.Field(v, "end_ordinal_exclusive"))
			m.base.At, _ = jsonl.Natural(jsonl.Field(v, "end_byte_offset"))
		case "subagent_history_start_ordinal":
			if n, ok := jsonl.Natural(v); ok {
				m.inheritedUpTo = n
			}
		}
	}
	if m.created < 0 {
		m.created = r.time
	}
	if sub := jsonl.Field(source, "subagent"); sub != nil {
		m.subagent = true
		spawn := jsonl.Field(sub, "thread_spawn")
		if m.parent == "" {
			m.parent = session.ID(jsonl.Text(jsonl.Field(spawn, "parent_thread_id")))
		}
		if m.role == "" {
			m.role = jsonl.Text(jsonl.Field(spawn, "agent_role"))
		}
		m.depth, _ = jsonl.Natural(jsonl.Field(spawn, "depth"))
	}
	if m.subagent {
		m.depth = max(m.depth, 1)
	}
	return m
}

// header makes the header of a thread of what it states.
func (m *meta) header() session.Header {
	h := session.Header{
		Agent: session.Codex, ID: m.id, CreatedAt: m.created, Cwd: m.cwd, AgentPreset: m.role, DelegationDepth: m.depth,
	}
	if m.subagent {
		h.Origin = session.OriginSubagent
	}
	switch {
	case m.forkedFrom != "":
		h.ParentSession = m.forkedFrom
	case m.parent != "":
		h.ParentSession = m.parent
	}
	if h.ParentSession == h.ID {
		h.ParentSession = "" // a log that names itself is no child
	}
	if h.CreatedAt < 0 {
		h.CreatedAt, _ = bornAt(string(m.id))
	}
	return h
}
