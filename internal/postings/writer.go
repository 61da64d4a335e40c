package postings

import (
	"encoding/binary"
	"math/bits"
	"slices"
)

// listWriter puts one list together, document by document or block by block.
type listWriter struct {
	docs   uint32 // how many documents
	blocks []block
	open   block  // still to be completed
	data   []byte // docs of all blocks, without heads
	pos    []byte
}

// block is a run of documents of a list, undecoded.
type block struct {
	n           uint32
	first, last uint32
	docs, pos   int // sizes in bytes
}

func (w *listWriter) reset() {
	w.docs, w.blocks, w.open, w.data, w.pos = 0, w.blocks[:0], block{}, w.data[:0], w.pos[:0]
}

// add appends occurrences, ascending, as document<<32 | position.
func (w *listWriter) add(pairs []uint64) {
	for i := 0; i < len(pairs); {
		doc := uint32(pairs[i] >> 32)
		from, start := len(w.pos), i
		for last := uint32(0); i < len(pairs) && uint32(pairs[i]>>32) == doc; i++ {
			pos := uint32(pairs[i])
			w.pos = appendUint(w.pos, pos-last)
			last = pos
		}
		w.document(doc, uint32(i-start), len(w.pos)-from)
	}
}

// document appends a document whose positions were appended already.
func (w *listWriter) document(doc, count uint32, pos int) {
	if w.open.n == blockDocs {
		w.close()
	}
	b := &w.open
	if b.n == 0 {
		b.first, b.last = doc, doc
	}
	w.docs++
	before := len(w.data)
	w.data = appendEntry(w.data, doc-b.last, count)
	b.n, b.last = b.n+1, doc
	b.docs, b.pos = b.docs+len(w.data)-before, b.pos+pos
}

// append moves a whole block in. Its docs begin with a delta of 0.
func (w *listWriter) append(b block, docs, pos []byte) {
	w.pos = append(w.pos, pos...)
	w.docs += b.n
	if w.open.n == 0 || w.open.n+b.n > blockDocs {
		w.close()
		w.open = b
		w.data = append(w.data, docs...)
		return
	}
	before := len(w.data)
	w.data = appendUint(w.data, (b.first-w.open.last)<<1|uint32(docs[0]&1))
	w.data = append(w.data, docs[1:]...)
	o := &w.open
	o.n, o.last = o.n+b.n, b.last
	o.docs, o.pos = o.docs+len(w.data)-before, o.pos+b.pos
}

func (w *listWriter) close() {
	if w.open.n > 0 {
		w.blocks = append(w.blocks, w.open)
	}
	w.open = block{}
}

func appendUint(dst []byte, v uint32) []byte {
	if v < 0x80 {
		return append(dst, byte(v))
	}
	return binary.AppendUvarint(dst, uint64(v))
}

func appendEntry(dst []byte, delta, count uint32) []byte {
	if count == 1 {
		return binary.AppendUvarint(dst, uint64(delta)<<1|1)
	}
	return appendUint(binary.AppendUvarint(dst, uint64(delta)<<1), count-2)
}

// appendBlock writes a block with its head.
func appendBlock(dst []byte, b block, before uint32, docs []byte) []byte {
	dst = appendUint(dst, b.n-1)
	dst = appendUint(dst, b.first-before)
	if b.n == 1 {
		count := uint32(1)
		if docs[0]&1 == 0 {
			more, _ := binary.Uvarint(docs[1:])
			count = uint32(more) + 2
		}
		return appendUint(appendUint(dst, count-1), uint32(b.pos))
	}
	dst = appendUint(dst, b.last-b.first)
	dst = appendUint(dst, uint32(b.docs))
	dst = appendUint(dst, uint32(b.pos))
	return append(dst, docs...)
}

// segmentWriter writes the lists of ascending tokens.
type segmentWriter struct {
	sink    Sink
	list    listWriter
	dict    []byte
	first   []byte // token of the dictionary block
	last    []byte // token before
	entry   []byte
	scratch []byte
	piece   int64 // number of the next
	bytes   int   // handed to the sink
}

func newSegmentWriter(sink Sink, piece int64) *segmentWriter {
	return &segmentWriter{sink: sink, piece: piece}
}

// put writes the list that was put together under a token, and begins another.
func (w *segmentWriter) put(token []byte) error {
	l := &w.list
	defer l.reset()
	if l.close(); l.docs == 0 {
		return nil
	}
	if err := w.encode(); err != nil {
		return err
	}
	shared := 0
	if len(w.dict) > 0 {
		shared = sharedPrefix(w.last, token)
		if len(w.dict)+len(w.entry)+len(token)-shared > dictBytes {
			if err := w.flush(); err != nil {
				return err
			}
			shared = 0
		}
	}
	if len(w.dict) == 0 {
		w.first = append(w.first[:0], token...)
	}
	w.dict = appendUint(w.dict, uint32(shared))
	w.dict = appendUint(w.dict, uint32(len(token)-shared))
	w.dict = append(w.dict, token[shared:]...)
	w.dict = append(w.dict, w.entry...)
	w.last = append(w.last[:0], token...)
	return nil
}

func sharedPrefix(a, b []byte) int {
	n, i := min(len(a), len(b)), 0
	for ; i+8 <= n; i += 8 {
		if x := binary.LittleEndian.Uint64(a[i:]) ^ binary.LittleEndian.Uint64(b[i:]); x != 0 {
			return i + bits.TrailingZeros64(x)/8
		}
	}
	for i < n && a[i] == b[i] {
		i++
	}
	return i
}

// encode makes the dictionary entry of the list, storing pieces if it is long.
func (w *segmentWriter) encode() error {
	l := &w.list
	head := func(form uint32) {
		w.entry = binary.AppendUvarint(w.entry[:0], uint64(l.docs-1)<<formBits|uint64(form))
	}
	if l.docs == 1 {
		head(formSingle)
		b := appendBlock(w.scratch[:0], l.blocks[0], 0, l.data)
		r := bytesReader{data: b, at: 1}
		r.skip(2) // number, count
		w.entry = append(append(w.entry, b[1:r.at]...), l.pos...)
		w.scratch = b
		return nil
	}
	if len(l.data)+len(l.pos) > inlineMost {
		head(formPieces)
		return w.encodePieces()
	}
	head(formInline)
	encoded, before, data := w.scratch[:0], uint32(0), l.data
	for _, b := range l.blocks {
		encoded = appendBlock(encoded, b, before, data[:b.docs])
		before, data = b.last, data[b.docs:]
	}
	w.entry = appendUint(w.entry, uint32(len(encoded)))
	w.entry = appendUint(w.entry, uint32(len(l.pos)))
	w.entry = append(append(w.entry, encoded...), l.pos...)
	w.scratch = encoded
	return nil
}

func (w *segmentWriter) encodePieces() error {
	l := &w.list
	w.entry = binary.AppendUvarint(w.entry, uint64(w.piece))
	at := len(w.entry)
	pieces := uint32(0)
	data, pos, last := l.data, l.pos, uint32(0)
	for i := 0; i < len(l.blocks); pieces++ {
		encoded, size, before := w.scratch[:0], 0, last
		for ; i < len(l.blocks) && len(encoded) < pieceDocs && size < piecePos; i++ {
			b := l.blocks[i]
			encoded = appendBlock(encoded, b, last, data[:b.docs])
			last, data, size = b.last, data[b.docs:], size+b.pos
		}
		if err := w.store(encoded); err != nil {
			return err
		}
		if err := w.store(pos[:size]); err != nil {
			return err
		}
		pos = pos[size:]
		w.entry = appendUint(w.entry, last-before)
		w.entry = appendUint(w.entry, uint32(len(encoded)))
		w.entry = appendUint(w.entry, uint32(size))
		w.scratch = encoded
	}
	w.entry = slices.Insert(w.entry, at, binary.AppendUvarint(nil, uint64(pieces))...)
	return nil
}

func (w *segmentWriter) store(data []byte) error {
	w.bytes += len(data)
	w.piece++
	return w.sink.Piece(w.piece-1, data)
}

// flush stores the dictionary block that was begun.
func (w *segmentWriter) flush() error {
	if len(w.dict) == 0 {
		return nil
	}
	w.bytes += len(w.dict)
	err := w.sink.Block(w.first, w.piece, w.dict)
	w.piece++
	w.dict = w.dict[:0]
	return err
}
