package jsonl

import (
	"encoding/binary"
	"math/bits"
)

// Hash goes on with a hash, 0 at first, over the next of several texts. It is
// the same on every machine and in every process, and tells texts apart that
// differ by accident; it is no defence against those who make them alike. "ab"
// and "c" are not "a" and "bc".
func Hash(h uint64, text []byte) uint64 {
	const a, b = 0x9e3779b97f4a7c15, 0xd1b54a32d192ed03
	h ^= uint64(len(text)) * b
	for len(text) >= 8 {
		h = fold(h^binary.LittleEndian.Uint64(text), a)
		text = text[8:]
	}
	last := uint64(0)
	for i, c := range text {
		last |= uint64(c) << (8 * i)
	}
	return fold(fold(h^last, a)^b, a)
}

// fold multiplies to 128 bits and folds the halves into one.
func fold(x, y uint64) uint64 {
	high, low := bits.Mul64(x, y)
	return high ^ low
}
