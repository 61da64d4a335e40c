package gemini

import (
	"slices"

	"github.com/yorehq/yore/session"
)

// memory is what a decoder knows of the messages before.
type memory struct {
	byID    map[uint64]*known
	byCall  map[uint64]*answer
	list    []*known // the conversation as the agent has it, other messages than the model's and the user's too
	surface []int64  // what is current, as the events have made it; not known of a partial memory

	partial bool   // only the latest are here; seen knows of all
	seen    filter // hashes of ids of messages and calls
	short   bool   // more than that was asked for
}

// lacks reports whether a memory is partial where it must be whole.
func (m *memory) lacks() bool {
	m.short = m.short || m.partial
	return m.partial
}

func newMemory() memory {
	return memory{byID: map[uint64]*known{}, byCall: map[uint64]*answer{}}
}

// find returns a message that was seen before; nil: none.
func (d *decoder) find(key uint64) *known {
	if k := d.byID[key]; k != nil || !d.partial || !d.seen.has(key) {
		return k
	}
	d.short = true
	return nil
}

func (d *decoder) findCall(key uint64) *answer {
	if a := d.byCall[key]; a != nil || !d.partial || !d.seen.has(key) {
		return a
	}
	d.short = true
	return nil
}

func (d *decoder) remember(key uint64, k *known) {
	d.byID[key] = k
	if d.partial {
		d.seen.add(key)
	}
}

func (d *decoder) rememberCall(key uint64, a *answer) {
	d.byCall[key] = a
	if d.partial {
		d.seen.add(key)
	}
}

// owns notes that a call's result goes with a message.
func (d *decoder) owns(k *known, call uint64) {
	if !slices.Contains(k.calls, call) {
		k.calls = append(k.calls, call)
	}
}

// enlist puts a message at the end of the conversation unless it is in it.
func (d *decoder) enlist(k *known) {
	// Mostly it is new, or the last one.
	if n := len(d.list); n > 0 && d.list[n-1] == k {
		return
	}
	if !k.listed {
		k.listed = true
		d.list = append(d.list, k)
	}
}

func (d *decoder) join(seq int64) {
	if !d.partial {
		d.surface = append(d.surface, seq)
	}
}

// swap puts one seq in the place of another; false: that is not current.
func (d *decoder) swap(old, by int64) bool {
	if d.lacks() {
		return false
	}
	i := slices.Index(d.surface, old)
	if i < 0 {
		return false
	}
	d.surface[i] = by
	return true
}

// copied finds the message that a new one repeats under another id; nil: none. A
// compaction writes down so what it keeps, and other lists may.
func (d *decoder) copied(typ, text string, calls []uint64, element int) *known {
	line := element < 0
	if line && d.Compacting == noCompaction || d.record.form == aHeader {
		return nil
	}
	if text == "" && (typ != "gemini" || len(calls) == 0) {
		return nil
	}
	if d.lacks() {
		return nil
	}
	content := saidHash(typ, text)
	for _, k := range d.list {
		if k.seq >= 0 && k.content == content && !k.used && (typ != "gemini" || slices.Equal(k.calls, calls)) {
			k.used = true
			return k
		}
	}
	if line {
		// Anything but what a compaction writes ends it.
		next := noCompaction
		if d.Compacting == summarised && typ == "gemini" {
			next = copying
		}
		d.Compacting = next
	}
	return nil
}

// rewinds takes back a message and all behind it; all there is, if the message is
// not known.
func (d *decoder) rewinds() {
	if d.lacks() {
		return
	}
	k := d.byID[idHash(d.record.x, d.record.rewindTo)]
	at := slices.Index(d.list, k)
	d.relist(d.list[:max(at, 0)])
	d.selects("gemini/rewind", true)
}

// restated takes the list that the conversation is from now on.
func (d *decoder) restated() {
	if d.lacks() {
		return
	}
	named := map[*known]bool{}
	for _, k := range d.list {
		k.used = false
	}
	d.record.messages(func(_ int, m *message) {
		if k := d.byID[idHash(d.record.x, m.id)]; k != nil {
			k.used = true
		}
	})
	var list []*known
	d.record.messages(func(i int, m *message) {
		if k := d.message(m, i); !named[k] {
			named[k] = true
			list = append(list, k)
		}
	})
	d.relist(list)
	d.Compacting = noCompaction
	d.selects("gemini/history", false)
}

// relist makes a list the conversation.
func (d *decoder) relist(list []*known) {
	list = slices.Clone(list)
	for _, k := range d.list {
		k.listed, k.used = false, false
	}
	for _, k := range list {
		k.listed, k.used = true, false
	}
	d.list = list
}

// selects adds the event that makes the surface what the conversation says; where
// it is that already, one is added only if it must be.
func (d *decoder) selects(typ string, must bool) {
	to := d.current()
	op := change(d.surface, to)
	if op.Kind == session.OpNone && !must {
		return
	}
	d.emit(typ, here(-1), session.Body{}).Op = op
	d.surface = to
}

// current is the surface by the conversation: each message, and behind it the
// results that go with it.
func (d *decoder) current() []int64 {
	var out []int64
	placed := make(map[int64]bool, len(d.list))
	place := func(seq int64) {
		if seq >= 0 && !placed[seq] && len(out) < maxSelected {
			placed[seq] = true
			out = append(out, seq)
		}
	}
	for _, k := range d.list {
		place(k.seq)
		for _, c := range k.calls {
			if a := d.byCall[c]; a != nil {
				place(a.seq)
			}
		}
	}
	return out
}

// maxSelected is how many nodes one select may place.
const maxSelected = 1<<20 - 1

// change makes the select that turns one surface into another; none if they are
// the same.
func change(from, to []int64) session.Op {
	same := 0
	for same < len(from) && same < len(to) && from[same] == to[same] {
		same++
	}
	if same == len(from) && same == len(to) {
		return session.Op{}
	}
	op := session.Op{Kind: session.OpSelect, Keep: -1}
	if same > 0 {
		op.Keep = to[same-1]
	}
	op.Nodes = append(op.Nodes, to[same:]...)
	return op
}
