package jsonl

import (
	"fmt"
	"strings"
	"testing"
)

// What a position holds must mean the same later, so the values are fixed.
func TestHashIsFixed(t *testing.T) {
	for text, want := range hashes() {
		if got := Hash(0, []byte(text)); got != want {
			t.Errorf("%q: %#x, want %#x", text, got, want)
		}
	}
}

// Texts that differ a little have hashes that differ in about half the bits.
func TestHashSpreads(t *testing.T) {
	seen := map[uint64]string{}
	note := func(name string, h uint64) {
		if other, twice := seen[h]; twice {
			t.Errorf("%s and %s have one hash", name, other)
		}
		seen[h] = name
	}
	for n := range 300 {
		zeros := make([]byte, n)
		note(fmt.Sprint("zeros ", n), Hash(0, zeros))
		for i := range n {
			zeros[i] = 1
			note(fmt.Sprint("one at ", i, " of ", n), Hash(0, zeros))
			zeros[i] = 0
		}
	}
	for i := range 10_000 {
		note(fmt.Sprint("number ", i), Hash(0, fmt.Append(nil, "number ", i)))
	}
	note("ab, c", Hash(Hash(0, []byte("ab")), []byte("c")))
	note("a, bc", Hash(Hash(0, []byte("a")), []byte("bc")))
	note("abc", Hash(0, []byte("abc")))
	note("abc, nothing", Hash(Hash(0, []byte("abc")), nil))
	note("nothing, abc", Hash(Hash(0, nil), []byte("abc")))
	differing, pairs := 0, 0
	base := []byte(strings.Repeat("The quick brown fox. ", 5))
	h := Hash(0, base)
	for i := range base {
		for bit := range 8 {
			base[i] ^= 1 << bit
			for d := Hash(0, base) ^ h; d != 0; d &= d - 1 {
				differing++
			}
			pairs++
			base[i] ^= 1 << bit
		}
	}
	if mean := float64(differing) / float64(pairs); mean < 30 || mean > 34 {
		t.Errorf("a changed bit changes %.1f bits of 64", mean)
	}
}

// hashes were computed by another program from the definition.
func hashes() map[string]uint64 {
	return map[string]uint64{
		"":                  0xd6cb8892a926a943,
		"a":                 0x29fb17256dd75e5b,
		"hello, w":          0x8d44ec04905ef5ed,
		"hello, world":      0x7d4b92a1166c9f88,
		"0123456789abcdef0": 0xbd269d9adf50d6f9,
	}
}
