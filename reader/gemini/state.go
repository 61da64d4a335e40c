package gemini

import (
	"cmp"
	"encoding/binary"
	"encoding/json"
	"errors"
	"maps"
	"slices"
)

// Bounds of what a position holds.
const (
	wholeBytes = 36 << 10 // all that is known, if it takes no more, before base64
	tailLength = 64       // else so many messages of the end of the conversation

	// Of a filter, which has room for as many ids again. When it has filled up,
	// false alarms make the memory whole, and a larger one is made.
	minFilter    = 4 << 10 // bytes
	maxFilter    = 32 << 10
	bitsEach     = 20
	filterProbes = 4 // bits set for each id
)

// state is what a position keeps beside seq and offset.
type state struct {
	flags
	Line   int64  `json:"line"`
	Memory []byte `json:"memory,omitempty"` // by pack
	Seen   filter `json:"seen,omitempty"`   // of a partial memory
}

// filter is a Bloom filter over hashes: what it has not, was never added.
type filter []byte

func (f filter) add(k uint64) {
	f.probe(k, func(i, bit int) bool { f[i] |= 1 << bit; return true })
}

func (f filter) has(k uint64) bool {
	return f.probe(k, func(i, bit int) bool { return f[i]&(1<<bit) != 0 })
}

func (f filter) probe(k uint64, visit func(i, bit int) bool) bool {
	step := k>>32 | 1
	for range filterProbes {
		at := k % uint64(8*len(f))
		if !visit(int(at/8), int(at%8)) {
			return false
		}
		k += step * 0x9e3779b97f4a7c15
	}
	return true
}

// save makes a state of a decoder.
func (d *decoder) save(line int64) state {
	st := state{flags: d.flags, Line: line}
	if !d.partial {
		if st.Memory = d.pack(d.everything(), true); len(st.Memory) <= wholeBytes {
			return st
		}
	}
	st.Seen = d.seen
	if !d.partial {
		ids := len(d.byID) + len(d.byCall)
		st.Seen = make(filter, min(max(ids*bitsEach/8, minFilter), maxFilter))
		for k := range d.byID {
			st.Seen.add(k)
		}
		for k := range d.byCall {
			st.Seen.add(k)
		}
	}
	st.Memory = d.pack(d.list[max(0, len(d.list)-tailLength):], false)
	return st
}

// everything lists the messages that are known: the conversation in its order,
// then the others.
func (d *decoder) everything() []*known {
	all := slices.Clone(d.list)
	var rest []*known
	seen := map[*known]bool{}
	for _, key := range slices.Sorted(maps.Keys(d.byID)) {
		if k := d.byID[key]; !k.listed && !seen[k] {
			seen[k] = true
			rest = append(rest, k)
		}
	}
	slices.SortStableFunc(rest, func(a, b *known) int { return cmp.Compare(a.seq, b.seq) })
	return append(all, rest...)
}

// Flags of a packed message.
const (
	modelFlag = 1 << iota
	listedFlag
)

// pack writes messages down with their ids and calls, and the surface if it is
// asked for.
func (d *decoder) pack(list []*known, surface bool) []byte {
	keys := make(map[*known][]uint64, len(list))
	for key, k := range d.byID {
		keys[k] = append(keys[k], key)
	}
	var b []byte
	word := func(v uint64) { b = binary.LittleEndian.AppendUint64(b, v) }
	b = binary.AppendUvarint(b, uint64(len(list)))
	calls := map[uint64]bool{}
	last := int64(0)
	for _, k := range list {
		bits := byte(0)
		if k.model {
			bits |= modelFlag
		}
		if k.listed {
			bits |= listedFlag
		}
		b = append(b, bits)
		b = binary.AppendVarint(b, k.seq-last)
		last = k.seq
		word(k.content)
		slices.Sort(keys[k])
		for _, some := range [][]uint64{keys[k], k.calls} {
			b = binary.AppendUvarint(b, uint64(len(some)))
			for _, v := range some {
				word(v)
			}
		}
		for _, c := range k.calls {
			calls[c] = true
		}
	}
	if surface {
		for key := range d.byCall {
			calls[key] = true
		}
	}
	b = binary.AppendUvarint(b, uint64(len(calls)))
	for _, key := range slices.Sorted(maps.Keys(calls)) {
		a := d.byCall[key]
		if a == nil {
			a = &answer{seq: -1}
		}
		word(key)
		b = binary.AppendVarint(b, a.seq)
		word(a.content)
	}
	if surface {
		b = binary.AppendUvarint(b, uint64(len(d.surface)))
		last = 0
		for _, seq := range d.surface {
			b = binary.AppendVarint(b, seq-last)
			last = seq
		}
	}
	return b
}

var errState = errors.New("the state of a position cannot be read")

// restore makes a decoder of a position's state.
func restore(raw json.RawMessage, next int64) (*decoder, int64, error) {
	var st state
	if err := json.Unmarshal(raw, &st); err != nil {
		return nil, 0, errors.Join(errState, err)
	}
	if st.Seen != nil && (len(st.Seen) < minFilter || len(st.Seen) > maxFilter) {
		return nil, 0, errState
	}
	d := newDecoder()
	d.next, d.flags = next, st.flags
	d.partial, d.seen = st.Seen != nil, st.Seen
	p := unpacker{b: st.Memory}
	d.unpack(&p)
	if p.bad || len(p.b) > 0 || st.Line < 0 {
		return nil, 0, errState
	}
	return d, st.Line, nil
}

func (d *decoder) unpack(p *unpacker) {
	last := int64(0)
	for range p.count() {
		k := &known{}
		bits := p.byte()
		last += p.signed()
		k.seq, k.content = last, p.word()
		k.model, k.listed = bits&modelFlag != 0, bits&listedFlag != 0
		for range p.count() {
			d.byID[p.word()] = k
		}
		for range p.count() {
			k.calls = append(k.calls, p.word())
		}
		if k.listed {
			d.list = append(d.list, k)
		}
		if p.bad {
			return
		}
	}
	for range p.count() {
		key := p.word()
		d.byCall[key] = &answer{seq: p.signed(), content: p.word()}
	}
	if d.partial {
		return
	}
	last = 0
	for range p.count() {
		last += p.signed()
		d.surface = append(d.surface, last)
	}
}

// unpacker reads what pack wrote; bad says that it could not.
type unpacker struct {
	b   []byte
	bad bool
}

func (p *unpacker) byte() byte {
	if p.bad = p.bad || len(p.b) == 0; p.bad {
		return 0
	}
	v := p.b[0]
	p.b = p.b[1:]
	return v
}

func (p *unpacker) word() uint64 {
	if p.bad = p.bad || len(p.b) < 8; p.bad {
		return 0
	}
	v := binary.LittleEndian.Uint64(p.b)
	p.b = p.b[8:]
	return v
}

func (p *unpacker) signed() int64 {
	v, n := binary.Varint(p.b)
	if p.bad = p.bad || n <= 0; p.bad {
		return 0
	}
	p.b = p.b[n:]
	return v
}

// count reads the length of a list whose entries take at least one byte.
func (p *unpacker) count() int {
	v, n := binary.Uvarint(p.b)
	if p.bad = p.bad || n <= 0 || v > uint64(len(p.b)); p.bad {
		return 0
	}
	p.b = p.b[n:]
	return int(v)
}
