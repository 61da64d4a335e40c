package sqlite

import (
	"context"
	"sync"

	"github.com/yorehq/yore/internal/postings"
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
	if k.all == nil || k.full+n > k.most {
		k.all, k.full = map[K]V{}, 0
	}
	k.all[at] = v
	k.full += n
}

const (
	mostColumns = 6000     // rows, of some 3 KB each, or 23 KB once all of it was asked for
	mostPieces  = 24 << 20 // bytes
	mostPlaces  = 1 << 16  // tokens in segments
)

// tokenKey names a token in a segment.
type tokenKey struct {
	pieceKey // of the segment's first piece
	token    string
}

// caches are what an index keeps of segments.
type caches struct {
	columns kept[pieceKey, *columns]
	pieces  kept[pieceKey, []byte]
	places  kept[tokenKey, int64] // number+1 of the dictionary block that a token would be in; -1: none
}

func newCaches() caches {
	return caches{
		columns: kept[pieceKey, *columns]{most: mostColumns, size: func(*columns) int { return 1 }},
		pieces:  kept[pieceKey, []byte]{most: mostPieces, size: func(b []byte) int { return len(b) + 64 }},
		places:  kept[tokenKey, int64]{most: mostPlaces, size: func(int64) int { return 1 }},
	}
}

// memory reads a segment for a snapshot, from memory where it was read before.
type memory struct {
	ctx context.Context
	s   *snapshot
	id  int64
}

func (r memory) Find(token, buf []byte) ([]byte, error) {
	return r.block(findBlock, "", token, buf)
}

func (r memory) Follow(token, buf []byte) ([]byte, error) {
	if token == nil {
		token = []byte{} // before all
	}
	data, err := r.block(followBlock, "\x00", token, buf) // which is in no token
	if data == nil && err == nil && len(token) == 0 {
		err = postings.ErrCorrupt // every segment has tokens
	}
	return data, err
}

// block returns the dictionary block that a statement finds for a token. Where
// that is is remembered once the block was seen to begin as it is said to.
func (r memory) block(sql, kind string, token, buf []byte) ([]byte, error) {
	at := tokenKey{pieceKey{r.s.birth, pieceID(r.id, 0)}, kind + string(token)}
	place := r.s.x.places.get(at)
	if place == 0 {
		c, err := r.s.connect(r.ctx)
		if err != nil {
			return nil, err
		}
		place = -1
		data, err := source{r.ctx, c, r.id}.block(sql, buf, token, &place)
		if err != nil {
			return nil, err
		}
		if data != nil {
			r.s.x.pieces.put(pieceKey{r.s.birth, place}, append([]byte(nil), data...))
			place += 1 - at.id
		}
		r.s.x.places.put(at, place)
		return data, nil
	}
	if place < 0 {
		return nil, nil
	}
	return r.Piece(place-1, buf)
}

func (r memory) Piece(n int64, buf []byte) ([]byte, error) {
	at := pieceKey{r.s.birth, pieceID(r.id, n)}
	if data := r.s.x.pieces.get(at); data != nil {
		return append(buf[:0], data...), nil
	}
	c, err := r.s.connect(r.ctx)
	if err != nil {
		return nil, err
	}
	data, err := source{r.ctx, c, r.id}.Piece(n, buf)
	if err == nil {
		r.s.x.pieces.put(at, append([]byte(nil), data...))
	}
	return data, err
}
