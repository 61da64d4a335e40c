// Package postings owns the inverted index of one shard: which documents hold a
// token, how often, and where. It knows bytes and nothing else: no SQLite, no
// sessions, no ranking. Start with the essay below, then builder.go (texts to a
// segment), list.go (one token's documents), match.go (phrases), merge.go
// (segments to a larger one).
//
// # Segments
//
// A segment is an immutable index over documents numbered from 0 in the order
// in which they were added. What the numbers mean is the caller's: it keeps a
// table of runs beside the segment and looks a number up there. Numbers in two
// segments have nothing to do with each other, so segments can be put together
// in any order, and a merge is a concatenation: documents of the second input
// are numbered on from where the first ends. That is why merging copies bytes
// and decodes nothing, as long as no document has died.
//
// A document dies when its run is taken out of the caller's table. The lists
// still hold it, and whoever walks them passes over it, until a merge writes
// the segment anew without it.
//
//	segment ─┬─ dictionary blocks   tokens in byte order, some 8,000 bytes a block
//	         └─ pieces              the lists that are too long to stand in the dictionary
//
// Both are handed to a Sink and read back through a Source or a Segment. They are
// numbered from 0 in the order in which they are written, and every number is that
// of a block or of a piece that an entry names. By that a block is missed that is
// lost or stands elsewhere (dictionary.go): a token is never said to be absent
// because the way to its block is damaged.
//
// # One list
//
// The documents of a token, ascending, are cut into blocks of at most 128. A
// block says at its head how many documents it has, which is the first and the
// last, and how many bytes it takes, so whoever looks for a document hops over
// blocks. Positions stand apart from documents: a query of one token reads none.
//
//	block:      n-1  gap  span  size of docs  size of positions  docs…
//	docs:       (delta<<1 | once) [count-2], for each document; the first has delta 0
//	positions:  delta, for each occurrence; the first of a document counts from 0
//
// gap is the distance of the block's first document from the last of the block
// before (from 0 at the beginning), span that of its last from its first. All
// numbers are unsigned varints. A block of one document has count-1 in place of
// the span, size and docs. A block is moved into another segment by writing
// another gap; its bytes stay as they are. Two small blocks that meet in a merge
// become one: only the first delta of the second is written anew.
//
// In the dictionary an entry is the length of the prefix it shares with the
// token before, the rest of the token, and its list in one of three forms:
//
//	single   one document: its number, count-1, its positions
//	inline   sizes, blocks, positions; up to some 1,500 bytes
//	pieces   the number of the first piece, then for each pair of pieces (blocks,
//	         positions) the distance to its last document and both sizes
//
// # A query
//
// A token's list is found by one look at the dictionary of each segment. One
// token is answered by its blocks as they stand. A phrase is driven by its rarest
// token: the others are moved to each of its documents, hopping over pieces and
// blocks, and where all meet, positions are compared.
package postings

import (
	"encoding/binary"
	"errors"
)

// ErrCorrupt says that bytes are no segment.
var ErrCorrupt = errors.New("postings: the bytes are no segment")

// Pieces reads the pieces of a segment. A returned slice belongs to the caller;
// buf is room for it.
type Pieces interface {
	Piece(n int64, buf []byte) ([]byte, error)
}

// Source is what a query reads of a segment.
type Source interface {
	Pieces

	// Find returns a dictionary block that holds the entry of a token, if the
	// segment does; else nil, or a block without it.
	Find(token, buf []byte) ([]byte, error)
}

// Segment reads a whole segment as it is stored. A block comes with its number,
// which it shares with no other and no piece; data is nil if there is none.
type Segment interface {
	Pieces

	// Before returns the dictionary block with the last first token that is not after token.
	Before(token, buf []byte) (data []byte, n int64, err error)

	// After returns the first dictionary block whose first token is after token
	// (nil: the first of all).
	After(token, buf []byte) (data []byte, n int64, err error)

	// End returns the largest number that a piece or a block has, and 1 more.
	End() (int64, error)
}

// Sink takes the parts of a new segment, which it must copy or store before it returns.
type Sink interface {
	// Piece stores a piece; numbers ascend.
	Piece(n int64, data []byte) error

	// Block stores a dictionary block under its first token, as a piece with a
	// number among theirs; tokens ascend.
	Block(first []byte, n int64, data []byte) error
}

const (
	blockDocs  = 128    // most documents of a block
	dictBytes  = 8130   // of a dictionary block, unless one entry is longer: with what a row adds, two pages of 4 KB
	inlineMost = 1500   // bytes of a list that stands in the dictionary
	pieceDocs  = 8000   // bytes of blocks that close a piece
	piecePos   = 32_000 // bytes of positions that do
)

// The forms of a list in the dictionary.
const (
	formSingle = iota
	formInline
	formPieces
	formBits = 2
)

// bytesReader reads varints from bytes; after a fault every further one is 0.
type bytesReader struct {
	data []byte
	at   int
	bad  bool
}

func (r *bytesReader) uint() uint64 {
	if r.at < len(r.data) && r.data[r.at] < 0x80 {
		r.at++
		return uint64(r.data[r.at-1])
	}
	v, n := binary.Uvarint(r.data[min(r.at, len(r.data)):])
	if n <= 0 {
		r.bad = true
		return 0
	}
	r.at += n
	return v
}

// size reads a number of bytes or things of which there cannot be more than most.
func (r *bytesReader) size(most int) int {
	v := r.uint()
	if v > uint64(most) {
		r.bad = true
		return 0
	}
	return int(v)
}

func (r *bytesReader) take(n int) []byte {
	if n < 0 || n > len(r.data)-r.at {
		r.bad = true
		return nil
	}
	r.at += n
	return r.data[r.at-n : r.at]
}

// skip passes over n varints.
func (r *bytesReader) skip(n uint32) {
	at := r.at
	for ; n > 0 && at < len(r.data); at++ {
		if r.data[at] < 0x80 {
			n--
		}
	}
	r.at, r.bad = at, r.bad || n > 0
}

// more reports whether bytes are left.
func (r *bytesReader) more() bool { return !r.bad && r.at < len(r.data) }
