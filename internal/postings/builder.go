package postings

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"hash/maphash"
	"math/bits"
	"slices"
)

// Builder gathers documents in memory and writes them as one segment. The zero
// value is ready; Reset keeps its memory for the next.
//
// Tokens get numbers in the order in which they are first met; a document is
// kept as the numbers of its tokens, in order. Write sorts the occurrences by
// token in one pass of counting, so nothing is ever appended to thousands of
// small lists.
//
// Nearly all of the time goes into finding a token's number, and most of that
// into waiting for memory. So a slot of the hash table tells most tokens apart
// by itself, the table is as small as it can be, a token of up to eight bytes
// is compared without its text, and tokens wait until there are some dozens of
// them: these are looked up side by side, so that the processor waits for all
// of them at once.
type Builder struct {
	text  []byte // all distinct tokens, one after the other
	terms []term
	table []uint32 // hash table of tag<<termBits | number+1; its length is a power of two
	seed  maphash.Seed
	mix   uint64
	occs  []uint32 // token numbers of all documents, but for those that wait
	ends  []int    // of each document in occs
	pairs []uint64 // scratch of Write
	order []sorted

	queue [64]waiting
	waits int
	held  []byte // the bytes of the tokens that wait, of those of more than eight
}

// waiting is a token without a number yet.
type waiting struct {
	key, hash uint64
	from, n   uint32 // in held, if it is longer than eight bytes; its length
	slot      uint32
	term      term // that the slot leads to
}

// termBits is the width of a token's number in the hash table: four million
// tokens are more than fit into the documents that a caller gathers.
const (
	termBits = 22
	termMask = 1<<termBits - 1
)

type term struct {
	key        uint64 // its first eight bytes, which order as it does
	start, end uint32 // in text
	count      uint32 // occurrences
}

// sorted is a term with the beginning of its text, by which most are ordered.
type sorted struct {
	key  uint64
	term uint32
}

// Docs returns how many documents were added.
func (b *Builder) Docs() int { return len(b.ends) }

// Size returns about how many bytes of memory the documents take.
func (b *Builder) Size() int { return len(b.text) + 20*len(b.terms) + 8*len(b.table) + 4*len(b.occs) }

// Reset forgets all documents.
func (b *Builder) Reset() {
	b.text, b.terms, b.occs, b.ends = b.text[:0], b.terms[:0], b.occs[:0], b.ends[:0]
	b.waits, b.held = 0, b.held[:0]
	clear(b.table)
}

// Token adds a token to the document that the next End closes.
func (b *Builder) Token(token []byte) {
	if b.table == nil {
		b.seed, b.table = maphash.MakeSeed(), make([]uint32, 1<<12)
		b.mix = maphash.Bytes(b.seed, nil) | 1
	}
	if b.waits == len(b.queue) {
		b.look()
	}
	w := &b.queue[b.waits]
	b.waits++
	w.key, w.n = prefix(token), uint32(len(token))
	w.hash = b.hash(w.key, token)
	if len(token) > 8 {
		w.from = uint32(len(b.held))
		b.held = append(b.held, token...)
	}
}

// End closes a document; it may have no token.
func (b *Builder) End() { b.ends = append(b.ends, len(b.occs)+b.waits) }

// look gives the tokens that wait their numbers. Each loop waits for memory once:
// none of its steps needs the one before.
func (b *Builder) look() {
	queue, mask := b.queue[:b.waits], len(b.table)-1
	for i := range queue {
		w := &queue[i]
		w.slot = b.table[int(w.hash>>32)&mask]
	}
	for i := range queue {
		if w := &queue[i]; w.slot != 0 && w.slot&^termMask == uint32(w.hash)<<termBits {
			w.term = b.terms[w.slot&termMask-1]
		} else {
			w.slot = 0
		}
	}
	for i := range queue {
		w := &queue[i]
		if w.slot == 0 || !b.is(&w.term, w) {
			w.slot = b.number(w) + 1
		}
		b.occs = append(b.occs, w.slot&termMask-1)
	}
	b.waits, b.held = 0, b.held[:0]
}

// is reports whether a term is the token that waits.
func (b *Builder) is(t *term, w *waiting) bool {
	return t.key == w.key && t.end-t.start == w.n && (w.n <= 8 || string(b.text[t.start:t.end]) == string(b.held[w.from:w.from+w.n]))
}

// number finds the number of a token, or gives it the next.
func (b *Builder) number(w *waiting) uint32 {
	tag, mask := uint32(w.hash)<<termBits, len(b.table)-1
	for at := int(w.hash>>32) & mask; ; at = (at + 1) & mask {
		slot := b.table[at]
		if slot == 0 {
			b.table[at] = tag | uint32(len(b.terms)+1)
			return b.insert(w)
		}
		if slot&^termMask == tag && b.is(&b.terms[slot&termMask-1], w) {
			return slot&termMask - 1
		}
	}
}

func (b *Builder) hash(key uint64, token []byte) uint64 {
	high, low := bits.Mul64(key^uint64(len(token)), b.mix)
	if len(token) > 8 {
		low ^= maphash.Bytes(b.seed, token[8:])
	}
	return high ^ low
}

func (b *Builder) insert(w *waiting) uint32 {
	start := uint32(len(b.text))
	if w.n > 8 {
		b.text = append(b.text, b.held[w.from:w.from+w.n]...)
	} else {
		b.text = binary.BigEndian.AppendUint64(b.text, w.key)[:start+w.n]
	}
	b.terms = append(b.terms, term{w.key, start, start + w.n, 0})
	if len(b.terms) > len(b.table)/2 {
		b.grow()
	}
	return uint32(len(b.terms) - 1)
}

// grow doubles the table. Tags do not say where a slot belongs, so hashes are
// made anew.
func (b *Builder) grow() {
	b.table = make([]uint32, 2*len(b.table))
	mask := len(b.table) - 1
	for i := range b.terms {
		t := &b.terms[i]
		hash := b.hash(t.key, b.text[t.start:t.end])
		at := int(hash>>32) & mask
		for b.table[at] != 0 {
			at = (at + 1) & mask
		}
		b.table[at] = uint32(hash)<<termBits | uint32(i+1)
	}
}

// Remove takes the documents from ≤ n < to out; later ones move up.
func (b *Builder) Remove(from, to int) {
	if from >= to {
		return
	}
	b.look()
	start := 0
	if from > 0 {
		start = b.ends[from-1]
	}
	end := b.ends[to-1]
	b.occs = slices.Delete(b.occs, start, end)
	b.ends = slices.Delete(b.ends, from, to)
	for i := from; i < len(b.ends); i++ {
		b.ends[i] -= end - start
	}
}

// Write writes the documents as one segment.
func (b *Builder) Write(sink Sink) error {
	b.sort()
	w := newSegmentWriter(sink, 0)
	at := 0
	for _, s := range b.order {
		t := &b.terms[s.term]
		if t.count == 0 {
			continue // of removed documents alone
		}
		w.list.add(b.pairs[at : at+int(t.count)])
		at += int(t.count)
		if err := w.put(b.text[t.start:t.end]); err != nil {
			return err
		}
	}
	return w.flush()
}

// sort orders the terms by their bytes, and the occurrences, as document<<32 |
// position, by term.
func (b *Builder) sort() {
	b.look()
	for i := range b.terms {
		b.terms[i].count = 0
	}
	for _, id := range b.occs {
		b.terms[id].count++
	}
	b.order = b.order[:0]
	for i := range b.terms {
		b.order = append(b.order, sorted{b.terms[i].key, uint32(i)})
	}
	slices.SortFunc(b.order, func(x, y sorted) int {
		if x.key != y.key {
			return cmp.Compare(x.key, y.key)
		}
		s, t := &b.terms[x.term], &b.terms[y.term]
		return bytes.Compare(b.text[s.start:s.end], b.text[t.start:t.end])
	})
	next := make([]uint32, len(b.terms)) // where the next occurrence of each term goes
	at := uint32(0)
	for _, s := range b.order {
		next[s.term] = at
		at += b.terms[s.term].count
	}
	b.pairs = slices.Grow(b.pairs[:0], len(b.occs))[:len(b.occs)]
	start := 0
	for doc, end := range b.ends {
		for pos, id := range b.occs[start:end] {
			b.pairs[next[id]] = uint64(doc)<<32 | uint64(pos)
			next[id]++
		}
		start = end
	}
}

// prefix is the first eight bytes of a token, as a number that orders alike.
func prefix(token []byte) uint64 {
	switch {
	case len(token) >= 8:
		return binary.BigEndian.Uint64(token)
	case cap(token) >= 8 && len(token) > 0: // what lies behind it is masked off
		return binary.BigEndian.Uint64(token[:8]) &^ (1<<(64-8*len(token)) - 1)
	}
	var eight [8]byte
	copy(eight[:], token)
	return binary.BigEndian.Uint64(eight[:])
}
