package dsh

import (
	"slices"
	"strconv"

	"github.com/yorehq/yore/reader/jsonl"
	"github.com/yorehq/yore/session"
)

// row is a packed row: a run of stream chunks on one line. All values are
// slices of the line.
type row struct {
	seq, time int64 // of the first member
	last      int64 // time of the last member
	count     int64

	turn, step, index, id, name []byte
	members, gaps               []byte // lists
	chunk, text                 string // the type of a member's chunk, and the member that holds its piece
}

// packedKind tells rows from events by their type.
func packedKind(typ []byte) (chunk, text, list string, ok bool) {
	switch {
	case jsonl.Is(typ, "text-chunks"):
		return "text-delta", "text", "texts", true
	case jsonl.Is(typ, "reasoning-chunks"):
		return "reasoning-delta", "text", "texts", true
	case jsonl.Is(typ, "tool-call-chunks"):
		return "tool-call-delta", "argumentsDelta", "args", true
	}
	return "", "", "", false
}

// parseRow takes a packed row apart. A row that breaks a rule is no line of the
// log at all.
func parseRow(x *jsonl.Index, e *envelope, chunk, piece, list string) (row, *failure) {
	r := row{chunk: chunk, text: piece}
	bad := torn("the packed row is not sound")
	if e.strange || e.seq != nil || e.time != nil || e.op != nil || e.sources != nil || e.ignorable != nil || !jsonl.IsObject(e.data) {
		return r, bad
	}
	call := list == "args"
	c := x.Enter(e.data)
	for {
		name, v, ok := c.Member()
		if !ok {
			break
		}
		switch key := string(name); {
		case key == "turn":
			r.turn = v
		case key == "step":
			r.step = v
		case key == "index":
			r.index = v
		case key == "dt":
			r.gaps = v
		case key == list:
			r.members = v
		case key == "id" && call:
			r.id = v
		case key == "name" && call:
			r.name = v
		default:
			return r, bad
		}
	}
	var ok, also bool
	r.seq, ok = jsonl.Natural(e.seq0)
	r.time, also = jsonl.SafeInt(e.time0)
	if !ok || !also || !jsonl.IsNumber(r.turn) || !jsonl.IsNumber(r.step) || !jsonl.IsNumber(r.index) ||
		call && !jsonl.IsString(r.id) || r.name != nil && !jsonl.IsString(r.name) || !r.measure() {
		return r, bad
	}
	return r, nil
}

// measure counts the members and adds up the gaps; they must agree.
func (r *row) measure() bool {
	if !jsonl.IsArray(r.members) || !jsonl.IsArray(r.gaps) {
		return false
	}
	var ok bool
	if r.count, ok = jsonl.CountStrings(r.members); !ok {
		return false
	}
	r.last = r.time
	n, ok := jsonl.EachInt(r.gaps, func(gap int64) bool {
		r.last += gap
		return r.last <= jsonl.MaxSafe && r.last >= -jsonl.MaxSafe
	})
	return ok && r.count > 0 && n == r.count-1 && r.seq <= jsonl.MaxSafe-r.count
}

// event is the row as one value.
func (r *row) event(place session.Place) session.Event {
	return session.Event{
		Seq: r.seq, Span: r.count, Type: session.AssistantChunk, Time: r.time, Place: place, Reconstructed: true,
	}
}

// expand makes the members with from ≤ seq ≤ to, and the JSON of those in natives.
func (r *row) expand(place session.Place, from, to int64, natives session.Range, yield func(session.Raw) error) error {
	members, gaps := jsonl.Enter(r.members), jsonl.Enter(r.gaps)
	at := r.time
	for seq := r.seq; seq < r.seq+r.count && seq <= to; seq++ {
		piece, _ := members.Element()
		if seq > r.seq {
			v, _ := gaps.Element()
			gap, _ := jsonl.SafeInt(v)
			at += gap
		}
		if seq < from {
			continue
		}
		raw := session.Raw{Event: session.Event{Seq: seq, Type: session.AssistantChunk, Time: at, Place: place, Reconstructed: true}}
		if natives.Has(seq) {
			raw.Native = r.member(seq, at, piece)
		}
		if err := yield(raw); err != nil {
			return err
		}
	}
	return nil
}

func (r *row) member(seq, at int64, piece []byte) []byte {
	b := make([]byte, 0, 160+len(r.id)+len(r.name)+len(piece))
	b = append(b, `{"type":"`+session.AssistantChunk+`","seq":`...)
	b = strconv.AppendInt(b, seq, 10)
	b = append(b, `,"time":`...)
	b = strconv.AppendInt(b, at, 10)
	b = append(append(b, `,"data":{"turn":`...), r.turn...)
	b = append(append(b, `,"step":`...), r.step...)
	b = append(append(append(b, `,"chunk":{"type":"`...), r.chunk...), `","index":`...)
	b = append(b, r.index...)
	if r.id != nil {
		b = append(append(b, `,"id":`...), r.id...)
	}
	if r.name != nil {
		b = append(append(b, `,"name":`...), r.name...)
	}
	b = append(append(append(b, `,"`...), r.text...), `":`...)
	return append(append(b, piece...), `}}}`...)
}

// hasOnly reports whether an object has exactly these names.
func hasOnly(object []byte, names ...string) bool {
	seen := 0
	c := jsonl.Enter(object[jsonl.SkipSpace(object, 0):])
	for {
		name, _, ok := c.Member()
		if !ok {
			return seen == 1<<len(names)-1
		}
		i := slices.Index(names, string(name))
		if i < 0 {
			return false
		}
		seen |= 1 << i
	}
}
