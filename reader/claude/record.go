package claude

import (
	"hash/fnv"
	"strconv"
	"time"

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
}

// key is an identity as the reader keeps it.
func key(id string) uint64 {
	h := fnv.New64a()
	h.Write([]byte(id))
	return max(h.Sum64(), 1)
}

// keyOf is the key of a JSON string; 0 if v is none or empty.
func keyOf(v []byte) uint64 {
	if !jsonl.Filled(v) {
		return 0
	}
	return key(jsonl.Text(v))
}

func yes(v []byte) bool { return string(v) == "true" }

// parseRecord finds the members that matter; v must be a valid JSON object.
func parseRecord(v []byte) record {
	r := record{raw: v}
	c := jsonl.Enter(v)
	var data, operation, subtype, request []byte
	for {
		name, m, ok := c.Member()
		if !ok {
			break
		}
		switch string(name) {
		case "type":
			r.kind = jsonl.Text(m)
		case "subtype":
			subtype = m
		case "operation":
			operation = m
		case "data":
			data = m
		case "uuid":
			r.id, r.nativeID = keyOf(m), jsonl.Text(m)
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
		r.subtype = jsonl.Text(jsonl.Field(r.attachment, "type"))
	case r.kind == progressRecord:
		r.subtype = jsonl.Text(jsonl.Field(data, "type"))
	case operation != nil:
		r.subtype = jsonl.Text(operation)
	default:
		r.subtype = jsonl.Text(subtype)
	}
	r.blocks = jsonl.Field(r.message, "content")
	if r.kind == assistantRecord {
		if r.messageID = keyOf(jsonl.Field(r.message, "id")); r.messageID == 0 {
			r.messageID = keyOf(request)
		}
		r.synthetic = jsonl.Is(jsonl.Field(r.message, "model"), syntheticModel)
	}
	return r
}

// instant reads a time as records state it. Times before 1970 are none.
func instant(v []byte) (int64, bool) {
	if !jsonl.IsString(v) {
		return 0, false
	}
	t, err := time.Parse(time.RFC3339, jsonl.Text(v))
	if err != nil || t.UnixMilli() < 0 {
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

// hashBlocks hashes the first n blocks of a list, or all if n is negative.
func hashBlocks(list []byte, n int) (hash uint64, count int) {
	h := fnv.New64a()
	each(list, func(v []byte) {
		if n < 0 || count < n {
			h.Write(strconv.AppendInt(nil, int64(len(v)), 10))
			h.Write(v)
			count++
		}
	})
	return h.Sum64(), count
}

// hashContent hashes what a record says, so that a repetition is known.
func (r *record) hashContent() uint64 {
	h := fnv.New64a()
	h.Write(r.blocks)
	h.Write([]byte{0})
	h.Write(r.attachment)
	h.Write([]byte{0})
	h.Write(r.content)
	return h.Sum64()
}
