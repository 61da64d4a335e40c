package claude

import (
	"github.com/yorehq/yore/reader/jsonl"
)

// The types of record that are part of the tree.
const (
	userRecord       = "user"
	assistantRecord  = "assistant"
	systemRecord     = "system"
	attachmentRecord = "attachment"
	progressRecord   = "progress"
)

// syntheticModel is the model of assistant records that the program itself made.
const syntheticModel = "<synthetic>"

// record is one JSON object of a transcript. Its fields point into it.
type record struct {
	raw     []byte
	x       *jsonl.Index // of its line; nil: none
	kind    string
	subtype string // of a system record, an attachment, a progress record or a queue operation

	id       uint64 // of the record's uuid; 0: none
	nativeID string // the uuid
	parent   uint64 // 0: none
	root     bool   // it says that it has no parent
	time     int64  // epoch milliseconds
	timed    bool   // time is known

	side, meta, virtual, summary, apiError bool

	typed    bool // has a field that only typed prompts have
	injected bool // says that a program wrote it

	agent                                  []byte // the subagent's id
	message, attachment, rendered, content []byte
	messageID                              uint64 // of the model's response; 0: none
	synthetic                              bool
	blocks                                 []byte // message.content

	// What was found out about it once, since a reading and its shadow ask twice.
	hash, allHash   uint64
	all             int // blocks
	hashed, counted bool
	pieces          []piece
}

// block is one block of a message's content, as it stands.
type block struct{ raw, typ, text, id, name, input, content, callID []byte }

// field is a member of a value of the record.
func (r *record) field(v []byte, name string) []byte { return r.x.Field(v, name) }

// each calls visit for the blocks of a list in the record.
func (r *record) each(list []byte, visit func(b *block)) {
	if !jsonl.IsArray(list) {
		return
	}
	c := r.x.Enter(list)
	for {
		v, ok := c.Element()
		if !ok {
			return
		}
		b := block{raw: v}
		if jsonl.IsObject(v) {
			b.parse(r.x.Enter(v))
		}
		visit(&b)
	}
}

func (b *block) parse(c jsonl.Cursor) {
	for name, v, ok := c.Member(); ok; name, v, ok = c.Member() {
		switch string(name) {
		case "type":
			b.typ = v
		case "text":
			b.text = v
		case "id":
			b.id = v
		case "name":
			b.name = v
		case "input":
			b.input = v
		case "content":
			b.content = v
		case "tool_use_id":
			b.callID = v
		}
	}
}

// key is an identity as the reader keeps it: its FNV-1a, but not 0.
func key[T string | []byte](id T) uint64 {
	const offset, prime = 0xcbf29ce484222325, 0x100000001b3
	h := uint64(offset)
	for i := range len(id) {
		h = (h ^ uint64(id[i])) * prime
	}
	return max(h, 1)
}

// keyOf is the key of a JSON string; 0 if v is none or empty.
func keyOf(v []byte) uint64 {
	if !jsonl.Filled(v) {
		return 0
	}
	if inner := v[1 : len(v)-1]; jsonl.Verbatim(inner) {
		return key(inner)
	}
	return key(jsonl.Text(v))
}

func yes(v []byte) bool { return string(v) == "true" }

// parseRecord finds the members that matter; v must be a valid JSON object.
func parseRecord(v []byte) record { return recordOf(nil, v) }

// recordOf is parseRecord for a value of the line that x is the index of.
func recordOf(x *jsonl.Index, v []byte) record {
	r := record{raw: v, x: x}
	c := x.Enter(v)
	var data, operation, subtype, request []byte
	for {
		name, m, ok := c.Member()
		if !ok {
			break
		}
		switch string(name) {
		case "type":
			r.kind = kindOf(m)
		case "subtype":
			subtype = m
		case "operation":
			operation = m
		case "data":
			data = m
		case "uuid":
			if r.nativeID = jsonl.Text(m); r.nativeID != "" {
				r.id = key(r.nativeID)
			}
		case "parentUuid":
			r.parent, r.root = keyOf(m), string(m) == "null"
		case "timestamp":
			r.time, r.timed = instant(m)
		case "isSidechain":
			r.side = yes(m)
		case "agentId":
			r.agent = m
		case "isMeta":
			r.meta = yes(m)
		case "isVirtual":
			r.virtual = yes(m)
		case "isCompactSummary":
			r.summary = yes(m)
		case "isApiErrorMessage":
			r.apiError = yes(m)
		case "thinkingMetadata", "permissionMode", "todos":
			r.typed = true
		case "planContent":
			r.injected = true
		case "origin":
			kind := jsonl.Field(m, "kind")
			r.injected = r.injected || jsonl.Filled(kind) && !jsonl.Is(kind, "human")
		case "message":
			r.message = m
		case "attachment":
			r.attachment = m
		case "rendered":
			r.rendered = m
		case "content":
			r.content = m
		case "requestId":
			request = m
		}
	}
	switch {
	case r.kind == attachmentRecord:
		r.subtype = jsonl.Text(r.field(r.attachment, "type"))
	case r.kind == progressRecord:
		r.subtype = jsonl.Text(r.field(data, "type"))
	case operation != nil:
		r.subtype = jsonl.Text(operation)
	default:
		r.subtype = jsonl.Text(subtype)
	}
	id, model := r.ofMessage()
	if r.kind == assistantRecord {
		if r.messageID = keyOf(id); r.messageID == 0 {
			r.messageID = keyOf(request)
		}
		r.synthetic = jsonl.Is(model, syntheticModel)
	}
	return r
}

// ofMessage finds the members of the record's message.
func (r *record) ofMessage() (id, model []byte) {
	if !jsonl.IsObject(r.message) {
		return nil, nil
	}
	c := r.x.Enter(r.message)
	for name, v, ok := c.Member(); ok; name, v, ok = c.Member() {
		switch string(name) {
		case "content":
			r.blocks = v
		case "id":
			id = v
		case "model":
			model = v
		}
	}
	return id, model
}

// kindOf returns a record's type; the common ones are not copied.
func kindOf(v []byte) string {
	if !jsonl.IsString(v) {
		return ""
	}
	switch string(v[1 : len(v)-1]) {
	case userRecord:
		return userRecord
	case assistantRecord:
		return assistantRecord
	case systemRecord:
		return systemRecord
	case attachmentRecord:
		return attachmentRecord
	case progressRecord:
		return progressRecord
	}
	return jsonl.Text(v)
}

// instant reads a time as records state it. Times before 1970 are none.
func instant(v []byte) (int64, bool) {
	t, ok := jsonl.Instant(v)
	if !ok || t.UnixMilli() < 0 {
		return 0, false
	}
	return t.UnixMilli(), true
}

// linked reports whether the record is part of the tree.
func (r *record) linked() bool {
	switch r.kind {
	case userRecord, assistantRecord, systemRecord, attachmentRecord, progressRecord:
		return true
	}
	return false
}

// talks reports whether the record carries conversation: only such records move
// the live path away from its end.
func (r *record) talks() bool {
	return (r.kind == userRecord || r.kind == assistantRecord) && !r.virtual
}

// boundary reports whether the record begins a compaction.
func (r *record) boundary() bool {
	return r.kind == systemRecord && r.subtype == "compact_boundary"
}

// each calls visit for the elements of a list.
func each(list []byte, visit func(v []byte)) {
	if !jsonl.IsArray(list) {
		return
	}
	c := jsonl.Enter(list)
	for {
		v, ok := c.Element()
		if !ok {
			return
		}
		visit(v)
	}
}

// hashBlocks hashes the first n blocks of the message, or all if n is negative.
func (r *record) hashBlocks(n int) (hash uint64, count int) {
	if !jsonl.IsArray(r.blocks) {
		return 0, 0
	}
	if n < 0 && r.counted {
		return r.allHash, r.all
	}
	c := r.x.Enter(r.blocks)
	for v, ok := c.Element(); ok && (n < 0 || count < n); v, ok = c.Element() {
		hash = jsonl.Hash(hash, v)
		count++
	}
	if n < 0 {
		r.allHash, r.all, r.counted = hash, count, true
	}
	return hash, count
}

// hashContent hashes what a record says, so that a repetition is known.
func (r *record) hashContent() uint64 {
	if !r.hashed {
		r.hash, r.hashed = jsonl.Hash(jsonl.Hash(jsonl.Hash(0, r.blocks), r.attachment), r.content), true
	}
	return r.hash
}
