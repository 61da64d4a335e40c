package mask

import "math/bits"

// table finds keywords in one pass over a text. Letters count in either case.
//
// Every character is one of 32 classes. The classes of the latest three, 15 bits,
// pick a bit of a map that fits the processor's first cache; only where that
// is set are the keywords that begin so compared. Most bytes of a text cost a
// shift and a look, whatever the number of rules.
type table struct {
	bits  [1 << 15 / 64]uint64
	heads map[uint16][]keyword
}

type keyword struct {
	text string // in lower case
	rule int
}

// The classes: 1 to 26 letters, 27 digits, then some marks; 0 all else. The high
// bits tell what else a text needs to be looked at for.
const (
	classBits   = 5
	classMask   = 1<<classBits - 1
	headMask    = 1<<15 - 1
	hasHidden   = 1 << 5 // a control character that is no white space
	hasForeign  = 1 << 6 // a byte beyond ASCII
	hasEscapes  = 1 << 7 // a backslash
	headLen     = 3
	digitClass  = 27
	firstOfMark = 28
)

// class is the class of each byte. Two marks may share one: that costs a
// comparison now and then.
var class = func() (c [256]uint8) {
	for b := range 256 {
		switch {
		case 'a' <= b|0x20 && b|0x20 <= 'z' && b < 0x80:
			c[b] = uint8(b|0x20-'a') + 1
		case '0' <= b && b <= '9':
			c[b] = digitClass
		case b == '_':
			c[b] = firstOfMark
		case b == '-':
			c[b] = firstOfMark + 1
		case b == ':' || b == '.':
			c[b] = firstOfMark + 2
		case b == '/' || b == '~' || b == '=':
			c[b] = firstOfMark + 3
		case b == '\\':
			c[b] = hasEscapes
		case b == '\t' || b == '\n' || b == '\r':
		case b < ' ' || b == 0x7f:
			c[b] = hasHidden
		case b >= 0x80:
			c[b] = hasForeign
		}
	}
	return c
}()

// add puts a keyword in. One of two characters is found whatever follows it.
func (t *table) add(text string, rule int) {
	if t.heads == nil {
		t.heads = map[uint16][]keyword{}
	}
	head := uint16(0)
	for i := range min(headLen, len(text)) {
		head = head<<classBits | uint16(class[text[i]]&classMask)
	}
	last := uint16(1)
	if len(text) < headLen {
		head, last = head<<classBits, 1<<classBits
	}
	for i := range last {
		t.bits[(head+i)>>6] |= 1 << ((head + i) & 63)
		t.heads[head+i] = append(t.heads[head+i], keyword{text, rule})
	}
}

// looks is what a text needs to be looked at for beside its keywords.
type looks struct{ hidden, foreign, escapes bool }

// each calls hit with every keyword's place.
func (t *table) each(text string, hit func(k keyword, at int)) looks {
	var key uint16
	var seen uint8
	n := len(text)
	for i := 0; i < n; i++ {
		c := class[text[i]]
		seen |= c
		key = (key<<classBits | uint16(c&classMask)) & headMask
		if t.bits[key>>6]>>(key&63)&1 != 0 && i >= headLen-1 {
			t.compare(text, i-(headLen-1), key, hit)
		}
	}
	if n >= 2 { // a short keyword at the very end
		t.compare(text, n-2, key<<classBits&headMask, hit)
	}
	return looks{seen&hasHidden != 0, seen&hasForeign != 0, seen&hasEscapes != 0}
}

func (t *table) compare(text string, at int, key uint16, hit func(k keyword, at int)) {
	for _, k := range t.heads[key] {
		if foldedPrefix(text[at:], k.text) {
			hit(k, at)
		}
	}
}

// foldedPrefix reports whether s begins with a keyword in either case.
func foldedPrefix(s, lower string) bool {
	if len(s) < len(lower) {
		return false
	}
	for i := range len(lower) {
		c := s[i]
		if 'A' <= c && c <= 'Z' {
			c |= 0x20
		}
		if c != lower[i] {
			return false
		}
	}
	return true
}

// bitset is a set of rules.
type bitset [8]uint64

func (b *bitset) add(n int) { b[n>>6] |= 1 << (n & 63) }

func (b *bitset) len() (n int) {
	for _, w := range b {
		n += bits.OnesCount64(w)
	}
	return n
}
