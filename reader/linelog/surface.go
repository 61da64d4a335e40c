package linelog

import (
	"encoding/binary"
	"slices"

	"github.com/yorehq/yore/session"
)

// maxSurface is how large a packed surface may be in a position, in bytes.
const maxSurface = 36 << 10

// Surface is what the model sees, by the numbers of events: for decoders of logs
// that mostly append. One that was too large for a position is Lost, and may only
// be appended to.
type Surface struct {
	List []int64
	Lost bool
}

// Append adds an event and returns what it does.
func (s *Surface) Append(seq int64) session.Op {
	if !s.Lost {
		s.List = append(s.List, seq)
	}
	return session.Op{Kind: session.OpAppend}
}

// Replace puts an event in the place of the entries from one index to before
// another, and returns what it does and what it must cite. Of none it is an
// append.
func (s *Surface) Replace(from, to int, seq int64) (session.Op, []int64) {
	if from >= to {
		return s.Append(seq), nil
	}
	gone := slices.Clone(s.List[from:to])
	s.List = slices.Concat(s.List[:from], []int64{seq}, s.List[to:])
	return session.Op{Kind: session.OpReplace, Start: gone[0], End: gone[len(gone)-1]}, gone
}

// Select makes the surface another one and returns what does so; the zero value
// if it is the same.
func (s *Surface) Select(to []int64) session.Op {
	op := Change(s.List, to)
	s.List = slices.Clone(to)
	return op
}

// Change returns the select that turns one surface into another; the zero value
// if they are the same.
func Change(from, to []int64) session.Op {
	n := 0
	for n < len(from) && n < len(to) && from[n] == to[n] {
		n++
	}
	if n == len(from) && n == len(to) {
		return session.Op{}
	}
	op := session.Op{Kind: session.OpSelect, Keep: -1, Nodes: slices.Clone(to[n:])}
	if n > 0 {
		op.Keep = to[n-1]
	}
	return op
}

// Pack writes a surface down; ok is false if it is lost, or too large.
func (s *Surface) Pack() (packed []byte, ok bool) {
	previous := int64(0)
	for _, seq := range s.List {
		packed = binary.AppendVarint(packed, seq-previous)
		previous = seq
		if len(packed) > maxSurface {
			return nil, false
		}
	}
	return packed, !s.Lost
}

// Unpack is the opposite of Pack; ok is false if the bytes are no surface.
func (s *Surface) Unpack(packed []byte) (ok bool) {
	s.List = nil
	previous := int64(0)
	for len(packed) > 0 {
		delta, n := binary.Varint(packed)
		if n <= 0 || previous+delta < 0 {
			return false
		}
		previous += delta
		s.List, packed = append(s.List, previous), packed[n:]
	}
	return true
}
