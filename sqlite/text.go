package sqlite

import (
	"encoding/binary"
	"fmt"

	"github.com/klauspost/compress/zstd"

	"github.com/yorehq/yore/query"
)

const (
	// blockBytes is the size at which a block of texts is full. Twice as much costs
	// a page of snippets half a millisecond more and saves less than a hundredth;
	// half as much takes a sixteenth more space.
	blockBytes = 32 << 10

	// maxBlock bounds what a block may unpack to: the longest text and what
	// may stand before it, generously.
	maxBlock = 64 << 20
)

// textBlock is a run of texts of one session, unpacked: for each text the
// distance of its document from the block's first, its length (both uvarint),
// its bytes.
type textBlock struct {
	first query.DocID
	raw   []byte
}

// full reports whether a text of n bytes has to go into another block.
func (b *textBlock) full(n int) bool {
	return len(b.raw) >= blockBytes || len(b.raw) > 0 && len(b.raw)+n > 2*blockBytes
}

func (b *textBlock) add(id query.DocID, text string) {
	b.raw = binary.AppendUvarint(b.raw, uint64(id-b.first))
	b.raw = binary.AppendUvarint(b.raw, uint64(len(text)))
	b.raw = append(b.raw, text...)
}

// each calls f for every text in ascending order until it returns false. at is
// where the text's entry begins.
func (b *textBlock) each(f func(id query.DocID, at int, text []byte) bool) error {
	for at := 0; at < len(b.raw); {
		rest := b.raw[at:]
		distance, n := binary.Uvarint(rest)
		if n <= 0 {
			return damage
		}
		size, m := binary.Uvarint(rest[n:])
		if m <= 0 || size > uint64(len(rest)-n-m) {
			return damage
		}
		if !f(b.first+query.DocID(distance), at, rest[n+m:n+m+int(size)]) {
			return nil
		}
		at += n + m + int(size)
	}
	return nil
}

// text returns the text of a document; "" if the block has none.
func (b *textBlock) text(id query.DocID) (text string, err error) {
	err = b.each(func(at query.DocID, _ int, t []byte) bool {
		if at == id {
			text = string(t)
		}
		return at < id
	})
	return text, err
}

// cut drops the texts from a document on.
func (b *textBlock) cut(from query.DocID) error {
	end := len(b.raw)
	err := b.each(func(id query.DocID, at int, _ []byte) bool {
		if id >= from {
			end = at
		}
		return id < from
	})
	b.raw = b.raw[:end]
	return err
}

// unpack reads a row of texts.
func unpack(dec *zstd.Decoder, first query.DocID, packed []byte) (textBlock, error) {
	packed, err := unseal(int64(first), packed)
	if err != nil {
		return textBlock{}, err
	}
	raw, err := dec.DecodeAll(packed, nil)
	if err != nil {
		return textBlock{}, fmt.Errorf("%w: %w", damage, err)
	}
	return textBlock{first, raw}, nil
}
