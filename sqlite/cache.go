package sqlite

import (
	"context"
	"sync"

	"github.com/yorehq/yore/internal/postings"
	"github.com/yorehq/yore/query"
)

// What a segment holds never changes, and no number of one is given again within
// a shard. So what was read of it can be kept for every later snapshot, in any
// generation: its columns, unpacked, and its pieces as they are stored. A search
// that is repeated opens a shard for texts alone.

// pieceKey names a piece or a row of columns: birth tells shards apart.
type pieceKey struct{ birth, id int64 }

// kept is a bounded store of things that do not change. When it is full it
// begins anew: whoever goes over everything would only push out what is used.
type kept[K comparable, V any] struct {
	most int // sum of sizes
	size func(V) int

	mu   sync.Mutex
	all  map[K]V
	full int
}

func (k *kept[K, V]) get(at K) V {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.all[at]
}

func (k *kept[K, V]) put(at K, v V) {
	k.mu.Lock()
	defer k.mu.Unlock()
	n := k.size(v)
	if n > k.most {
		return
	}
	if k.all == nil || k.full+n > k.most {
		k.all, k.full = map[K]V{}, 0
	}
	k.all[at] = v
	k.full += n
}

const (
	mostColumns = 6000     // rows, of some 3 KB each, or 23 KB once all of it was asked for
	mostPieces  = 24 << 20 // bytes
	mostEntries = 16 << 20 // bytes
	mostTexts   = 16 << 20 // bytes
	mostShadows = 4 << 20  // bytes
)

// textKey names a block of texts as of one generation of its shard: the last one
// of a session grows, and what is deleted leaves it.
type textKey struct {
	birth      int64
	generation uint64
	first      query.DocID
}

// tokenKey names a token in a segment.
type tokenKey struct {
	segment pieceKey // its first piece
	token   string
}

// entry is what the dictionary of a segment says of a token.
type entry struct {
	block []byte // a dictionary block with its entry alone; nil: the segment lacks it
}

// caches are what an index keeps of segments, and the texts that were shown
// lately: whoever types a query, or asks the next one, is often shown them again.
type caches struct {
	texts   kept[textKey, []byte]
	shadows kept[textKey, []query.Shadow] // of a whole session, by its first document
	columns kept[pieceKey, *columns]
	pieces  kept[pieceKey, []byte]
	entries kept[tokenKey, *entry]
}

func newCaches() caches {
	return caches{
		texts:   kept[textKey, []byte]{most: mostTexts, size: func(b []byte) int { return len(b) + 64 }},
		shadows: kept[textKey, []query.Shadow]{most: mostShadows, size: func(r []query.Shadow) int { return 24*len(r) + 64 }},
		columns: kept[pieceKey, *columns]{most: mostColumns, size: func(*columns) int { return 1 }},
		pieces:  kept[pieceKey, []byte]{most: mostPieces, size: func(b []byte) int { return len(b) + 64 }},
		entries: kept[tokenKey, *entry]{most: mostEntries, size: func(e *entry) int { return len(e.block) + 128 }},
	}
}

// memory reads a segment for a snapshot, from memory where it was read before.
type memory struct {
	ctx context.Context
	s   *snapshot
	id  int64
}

func (r memory) Find(token, buf []byte) ([]byte, error) {
	at := tokenKey{pieceKey{r.s.birth, pieceID(r.id, 0)}, string(token)}
	known := r.s.x.entries.get(at)
	if known == nil {
		known = &entry{}
		var err error
		if known.block, err = postings.Only(stored(r), token, buf); err != nil {
			return nil, err
		}
		r.s.x.entries.put(at, known)
	}
	if known.block == nil {
		return nil, nil
	}
	return append(buf[:0], known.block...), nil
}

func (r memory) Piece(n int64, buf []byte) ([]byte, error) {
	at := pieceKey{r.s.birth, pieceID(r.id, n)}
	if data := r.s.x.pieces.get(at); data != nil {
		return append(buf[:0], data...), nil
	}
	data, err := stored(r).Piece(n, buf)
	if err == nil {
		r.s.x.pieces.put(at, append([]byte(nil), data...))
	}
	return data, err
}

// stored reads a segment for a snapshot as it is stored: from a file at rest, or
// else through a connection.
type stored memory

var _ postings.Segment = stored{}

func (r stored) Before(token, buf []byte) (data []byte, n int64, err error) {
	err = r.read(func(seg postings.Segment) (err error) {
		data, n, err = seg.Before(token, buf)
		return err
	})
	return data, n, err
}

func (r stored) After(token, buf []byte) (data []byte, n int64, err error) {
	err = r.read(func(seg postings.Segment) (err error) {
		data, n, err = seg.After(token, buf)
		return err
	})
	return data, n, err
}

func (r stored) End() (end int64, err error) {
	err = r.read(func(seg postings.Segment) (err error) {
		end, err = seg.End()
		return err
	})
	return end, err
}

func (r stored) Piece(n int64, buf []byte) (data []byte, err error) {
	err = r.read(func(seg postings.Segment) (err error) {
		data, err = seg.Piece(n, buf)
		return err
	})
	return data, err
}

func (r stored) read(from func(postings.Segment) error) error {
	if st := r.s.resting(); st != nil {
		err := from(stillSource{st, r.id})
		if err == nil {
			return nil
		}
		r.s.odd(err)
	}
	c, err := r.s.connect(r.ctx)
	if err != nil {
		return err
	}
	return from(source{r.ctx, c, r.id})
}
