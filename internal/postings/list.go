package postings

import "bytes"

// List walks the documents of one token in one segment, a block at a time. It
// is for one goroutine.
type List struct {
	src    Pieces
	Docs   uint32 // how many documents hold the token, dead ones included
	pieces []piece
	next   int // of pieces: to be loaded

	heads  bytesReader // blocks of the piece that is walked
	pos    []byte      // its positions; nil: not loaded
	posBuf []byte
	docBuf []byte
	at     int    // where the positions of the next block begin
	last   uint32 // document of the block before

	// The block that is decoded.
	doc, count [blockDocs]uint32
	n, i       int
	raw        block
	payload    []byte      // its docs, undecoded
	from       int         // where its positions begin
	positions  bytesReader // of the documents from reached on
	reached    int
}

// piece is a pair of pieces: blocks, and their positions.
type piece struct {
	number    int64 // of the blocks; positions have the next
	last      uint32
	docs, pos int
}

// entry reads the list of a dictionary entry, and leaves r behind it. Inline
// lists point into the block.
func (l *List) entry(src Pieces, r *bytesReader) error {
	*l = List{src: src, docBuf: l.docBuf, posBuf: l.posBuf, pieces: l.pieces[:0]}
	head := r.uint()
	l.Docs = uint32(head>>formBits) + 1
	switch head & (1<<formBits - 1) {
	case formSingle:
		start := r.at
		r.uint()
		count := r.uint()
		end := r.at
		r.skip(uint32(count) + 1)
		if r.bad || head>>formBits != 0 || count >= 1<<31 {
			return ErrCorrupt
		}
		// The same as a block of one, without what is known here.
		buf := append(l.docBuf[:0], 0)
		buf = append(buf, r.data[start:end]...)
		buf = appendUint(buf, uint32(r.at-end))
		l.docBuf, l.heads, l.pos = buf, bytesReader{data: buf}, r.data[end:r.at]
	case formInline:
		docs, pos := r.size(len(r.data)), r.size(len(r.data))
		l.heads = bytesReader{data: r.take(docs)}
		l.pos = r.take(pos)
	case formPieces:
		number, n := int64(r.uint()), r.size(len(r.data))
		last := uint32(0)
		for ; n > 0 && !r.bad; n-- {
			last += uint32(r.uint())
			l.pieces = append(l.pieces, piece{number, last, r.size(1 << 30), r.size(1 << 30)})
			number += 2
		}
	default:
		return ErrCorrupt
	}
	if r.bad {
		return ErrCorrupt
	}
	return nil
}

// Find looks a token up. It returns false if the segment does not hold it.
func (l *List) Find(src Source, token []byte) (bool, error) {
	data, err := src.Find(token, nil)
	if data == nil || err != nil {
		return false, err
	}
	e := entries{r: bytesReader{data: data}}
	for e.next() {
		switch c := bytes.Compare(e.token, token); {
		case c > 0:
			return false, nil
		case c == 0:
			return true, l.entry(src, &e.r)
		}
		e.skip()
	}
	if e.r.bad {
		return false, ErrCorrupt
	}
	return false, nil
}

// First returns the token that a dictionary block begins with; it points into
// the block. nil: it is no block.
func First(block []byte) []byte {
	r := bytesReader{data: block}
	if r.uint() != 0 {
		return nil
	}
	return r.take(r.size(len(block)))
}

// entries walks the entries of a dictionary block. After next, the list has to
// be read or skipped.
type entries struct {
	r     bytesReader
	token []byte
}

func (e *entries) next() bool {
	if !e.r.more() {
		return false
	}
	shared := e.r.size(len(e.token))
	e.token = append(e.token[:shared], e.r.take(e.r.size(len(e.r.data)))...)
	e.r.bad = e.r.bad || len(e.token) == 0
	return !e.r.bad
}

func (e *entries) skip() {
	r := &e.r
	switch r.uint() & (1<<formBits - 1) {
	case formSingle:
		r.uint()
		r.skip(uint32(r.size(1<<31-1)) + 1)
	case formInline:
		n := r.size(len(r.data))
		r.take(n + r.size(len(r.data)))
	case formPieces:
		r.uint()
		r.skip(3 * uint32(r.size(len(r.data))))
	default:
		r.bad = true
	}
}

// load makes the next piece the one that is walked; false at the end.
func (l *List) load() (bool, error) {
	if l.next == len(l.pieces) {
		return false, nil
	}
	p := l.pieces[l.next]
	data, err := l.src.Piece(p.number, l.docBuf[:0])
	if err != nil {
		return false, err
	}
	if len(data) != p.docs {
		return false, ErrCorrupt
	}
	if l.next > 0 {
		l.last = l.pieces[l.next-1].last
	}
	l.docBuf, l.heads, l.pos, l.at = data, bytesReader{data: data}, nil, 0
	l.next++
	return true, nil
}

// head reads the head of the next block and leaves its docs unread; false at
// the end of the list.
func (l *List) head() (bool, error) {
	for l.heads.at >= len(l.heads.data) {
		if ok, err := l.load(); !ok || err != nil {
			l.n = 0
			return false, err
		}
	}
	r := &l.heads
	b := block{n: uint32(r.size(blockDocs-1)) + 1}
	b.first = l.last + uint32(r.uint())
	b.last = b.first
	if b.n == 1 {
		l.count[0] = uint32(r.uint()) + 1
	} else {
		b.last += uint32(r.uint())
		b.docs = r.size(len(r.data))
	}
	b.pos = r.size(1 << 30)
	if r.bad || b.last < b.first || b.docs > len(r.data)-r.at {
		return false, ErrCorrupt
	}
	l.raw, l.from = b, l.at
	l.at += b.pos
	return true, nil
}

// pass hops over the block whose head was read.
func (l *List) pass() {
	l.payload = l.heads.take(l.raw.docs)
	l.last = l.raw.last
}

// decode decodes the block whose head was read.
func (l *List) decode() error {
	l.pass()
	l.n, l.i, l.reached, l.positions = int(l.raw.n), 0, -1, bytesReader{}
	l.doc[0] = l.raw.first
	if l.n == 1 {
		return nil
	}
	p, at := l.payload, 0
	doc := l.raw.first
	for i := range l.n {
		if at >= len(p) {
			return ErrCorrupt
		}
		v := uint32(p[at])
		if at++; v >= 0x80 {
			v &= 0x7f
			for shift := 7; ; shift += 7 {
				if at >= len(p) || shift > 28 {
					return ErrCorrupt
				}
				c := p[at]
				at++
				v |= uint32(c&0x7f) << shift
				if c < 0x80 {
					break
				}
			}
		}
		doc += v >> 1
		l.doc[i&(blockDocs-1)] = doc
		if v&1 != 0 {
			l.count[i&(blockDocs-1)] = 1
			continue
		}
		r := bytesReader{data: p, at: at}
		l.count[i&(blockDocs-1)] = uint32(r.uint()) + 2
		if at = r.at; r.bad {
			return ErrCorrupt
		}
	}
	if doc != l.raw.last || at != len(p) {
		return ErrCorrupt
	}
	return nil
}

// Next decodes the next block; false at the end. Its documents and counts stand
// in Block.
func (l *List) Next() (bool, error) {
	ok, err := l.head()
	if !ok || err != nil {
		return false, err
	}
	return true, l.decode()
}

// Block returns the documents of the decoded block and how often each holds the
// token, from the present one on. The slices are the list's.
func (l *List) Block() (docs, counts []uint32) { return l.doc[l.i:l.n], l.count[l.i:l.n] }

// Seek moves to the first document ≥ target and returns it; false at the end.
// Targets must not descend.
func (l *List) Seek(target uint32) (doc uint32, ok bool, err error) {
	if l.n == 0 || l.raw.last < target {
		if ok, err := l.hop(target); !ok || err != nil {
			return 0, false, err
		}
	}
	i := l.i
	for l.doc[i] < target {
		i++ // the last of the block is not below the target
	}
	l.i = i
	return l.doc[i], true, nil
}

// hop decodes the first block that ends at the target or behind it.
func (l *List) hop(target uint32) (bool, error) {
	// Pieces that end before the target are not loaded.
	if l.next < len(l.pieces) && (l.next == 0 || l.pieces[l.next-1].last < target) {
		for l.next < len(l.pieces) && l.pieces[l.next].last < target {
			l.next++
		}
		l.heads = bytesReader{}
		if l.next > 0 {
			l.last = l.pieces[l.next-1].last
		}
	}
	for {
		ok, err := l.head()
		if !ok || err != nil {
			return false, err
		}
		if l.raw.last >= target {
			return true, l.decode()
		}
		l.pass()
	}
}

// blockPositions returns the positions of the block whose head was read.
func (l *List) blockPositions() ([]byte, error) {
	if l.pos == nil && len(l.pieces) > 0 {
		p := l.pieces[l.next-1]
		data, err := l.src.Piece(p.number+1, l.posBuf[:0])
		if err != nil {
			return nil, err
		}
		if len(data) != p.pos {
			return nil, ErrCorrupt
		}
		l.pos, l.posBuf = data, data
	}
	if l.from+l.raw.pos > len(l.pos) {
		return nil, ErrCorrupt
	}
	return l.pos[l.from : l.from+l.raw.pos], nil
}

// Positions appends the positions of the present document to dst.
func (l *List) Positions(dst []uint32) ([]uint32, error) {
	if l.reached < 0 || l.reached > l.i {
		data, err := l.blockPositions()
		if err != nil {
			return dst, err
		}
		l.positions, l.reached = bytesReader{data: data}, 0
	}
	r := &l.positions
	for ; l.reached < l.i; l.reached++ {
		r.skip(l.count[l.reached])
	}
	pos, data, at := uint32(0), r.data, r.at
	for n := l.count[l.i]; n > 0; n-- {
		if at >= len(data) {
			return dst, ErrCorrupt
		}
		if data[at] < 0x80 {
			pos += uint32(data[at])
			at++
		} else {
			r.at = at
			pos += uint32(r.uint())
			at = r.at
		}
		dst = append(dst, pos)
	}
	r.at = at
	l.reached++
	if r.bad {
		return dst, ErrCorrupt
	}
	return dst, nil
}
