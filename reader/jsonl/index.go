package jsonl

import (
	"bytes"
	"math"
	"slices"
)

// Index knows where the long values of one line end. A record is looked into
// level by level, and what makes it long lies deep: with an index each long
// value is passed over once, when the line is checked, and jumped over from then
// on. Values that are not of the line at hand are walked as without an index; so
// are all on a nil one. An Index is for one goroutine and is used again for line
// after line; values of the line before must not be looked into any more.
//
// Memory stays bounded: of a line with very many long values the later ones are
// walked.
type Index struct {
	last  *byte // the last byte of the line's array: every slice that reaches up to it is of that array
	size  int   // how many bytes of the array there are from the line's first on
	longs []long

	inner  int // while scanning: the innermost open bracket in longs; -1: none
	beyond int // open brackets inside it that are not noted, for there are too many
	full   bool

	values  [][]byte
	scratch []byte
	names   map[string]string
}

// long is a value of at least longBytes. The values inside it follow it.
type long struct {
	start, end int32 // in the line; of an open bracket end is the one around it
	next       int32 // the first long that does not lie inside it
}

const (
	longBytes = 64
	maxLongs  = 1 << 14
)

// Valid is the function Valid, and makes the index that of the line. The result
// of a line that is not valid is no index.
func (x *Index) Valid(line []byte) bool {
	end, ok := scan(line, 0, x.reset(line))
	if !ok || SkipSpace(line, end) != len(line) {
		x.reset(nil)
		return false
	}
	return true
}

// Values is the function Values, and makes the index that of the line. The list
// is valid until the next call; values that are appended to write over the line.
func (x *Index) Values(line []byte) (values [][]byte, rest []byte) {
	line = bytes.Trim(line, padding)
	into := x.reset(line)
	x.values = x.values[:0]
	for end := 0; end < len(line); {
		start := SkipSpace(line, end)
		next, ok := scan(line, start, into)
		if !ok {
			x.drop(start)
			return x.values, bytes.Trim(line[end:], padding)
		}
		x.values = append(x.values, line[start:next])
		end = next
	}
	return x.values, nil
}

// reset forgets everything and returns what the line is to be scanned into: nil
// if it has no places in 32 bits.
func (x *Index) reset(line []byte) *Index {
	x.last, x.size = lastOf(line), cap(line)
	x.longs, x.inner, x.beyond, x.full = x.longs[:0], -1, 0, false
	if len(line) > math.MaxInt32 {
		return nil
	}
	return x
}

// lastOf returns where the array of a slice ends; nil if there is none.
func lastOf(v []byte) *byte {
	if cap(v) == 0 {
		return nil
	}
	return &v[:cap(v)][cap(v)-1]
}

// drop forgets the values from an offset on.
func (x *Index) drop(start int) {
	n := len(x.longs)
	for n > 0 && int(x.longs[n-1].start) >= start {
		n--
	}
	x.longs = x.longs[:n]
}

// leaf notes a value without others inside.
func (x *Index) leaf(start, end int) {
	if x.full = x.full || len(x.longs) >= maxLongs; !x.full {
		x.longs = append(x.longs, long{int32(start), int32(end), int32(len(x.longs) + 1)})
	}
}

// enter notes an opening bracket.
func (x *Index) enter(start int) {
	if x.full = x.full || len(x.longs) >= maxLongs; x.full {
		x.beyond++
		return
	}
	x.longs = append(x.longs, long{start: int32(start), end: int32(x.inner)})
	x.inner = len(x.longs) - 1
}

// leave notes the end of the innermost bracket. A short one is taken back: it
// holds nothing long, so it is the latest.
func (x *Index) leave(end int) {
	if x.beyond > 0 {
		x.beyond--
		return
	}
	at := x.inner
	l := &x.longs[at]
	x.inner = int(l.end)
	if end-int(l.start) < longBytes {
		x.longs = x.longs[:at]
		return
	}
	l.end, l.next = int32(end), int32(len(x.longs))
}

// Enter is the function Enter, for a value of the line.
func (x *Index) Enter(v []byte) Cursor {
	c := Enter(v)
	if x == nil || len(x.longs) == 0 || cap(v) > x.size || lastOf(v) != x.last {
		return c
	}
	c.longs, c.offset = x.longs, int32(x.size-cap(v))
	at, _ := slices.BinarySearchFunc(x.longs, c.offset, func(l long, start int32) int { return int(l.start - start) })
	if at < len(x.longs) && x.longs[at].start == c.offset {
		at++
	}
	c.longs = x.longs[at:]
	c.from = int32(at)
	return c
}

// Field is the function Field, for a value of the line.
func (x *Index) Field(v []byte, name string) []byte {
	if !IsObject(v) {
		return nil
	}
	var found []byte
	c := x.Enter(v)
	for {
		n, value, ok := c.Member()
		if !ok {
			return found
		}
		if string(n) == name {
			found = value
		}
	}
}
