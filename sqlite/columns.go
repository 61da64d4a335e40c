package sqlite

import (
	"encoding/binary"
	"slices"
	"sync"

	"github.com/yorehq/yore/query"
)

// columnDocs is how many documents one row of columns holds.
const columnDocs = 512

// columns are what ranking and filters need of a run of documents, a column for
// each fact, in the order of the segment. In a row: the number of documents,
// then tokens, role, and, unpacked when first asked for, points, kind, time, seq,
// flags and, if there is one, the hash of the record's own id. Numbers are varints,
// time and seq as differences.
type columns struct {
	tokens []int32
	roles  []query.Role
	points []uint32 // these too with rest
	kinds  []uint32
	rest   []columnRest

	packed []byte // of rest, until it is unpacked
	once   sync.Once
	failed error
}

type columnRest struct {
	time, seq int64
	native    uint64
	flags     uint8
}

func unzigzag(v uint64) int64 { return int64(v>>1) ^ -int64(v&1) }

func (c *columns) add(r *record) {
	c.tokens, c.roles = append(c.tokens, int32(r.tokens)), append(c.roles, r.role)
	c.points, c.kinds = append(c.points, r.points), append(c.kinds, r.kind)
	c.rest = append(c.rest, columnRest{r.time, r.seq, r.native(), r.flags})
}

// append adds documents of another.
func (c *columns) append(from *columns, first, end int) {
	c.tokens = append(c.tokens, from.tokens[first:end]...)
	c.roles = append(c.roles, from.roles[first:end]...)
	c.points = append(c.points, from.points[first:end]...)
	c.kinds = append(c.kinds, from.kinds[first:end]...)
	c.rest = append(c.rest, from.rest[first:end]...)
}

func (c *columns) remove(from, to int) {
	c.tokens, c.roles = slices.Delete(c.tokens, from, to), slices.Delete(c.roles, from, to)
	c.points, c.kinds, c.rest = slices.Delete(c.points, from, to), slices.Delete(c.kinds, from, to), slices.Delete(c.rest, from, to)
}

func (c *columns) reset() {
	c.tokens, c.roles, c.points, c.kinds, c.rest = c.tokens[:0], c.roles[:0], c.points[:0], c.kinds[:0], c.rest[:0]
}

// pack packs documents as a row, still to be sealed.
func (c *columns) pack(first, end int) []byte {
	out := binary.AppendUvarint(nil, uint64(end-first))
	for _, t := range c.tokens[first:end] {
		out = binary.AppendUvarint(out, uint64(t))
	}
	for _, r := range c.roles[first:end] {
		out = append(out, byte(r))
	}
	var before columnRest
	for i, r := range c.rest[first:end] {
		out = binary.AppendUvarint(out, uint64(c.points[first+i]))
		out = binary.AppendUvarint(out, uint64(c.kinds[first+i]))
		out = binary.AppendVarint(out, r.time-before.time)
		out = binary.AppendVarint(out, r.seq-before.seq)
		out = append(out, r.flags)
		if r.flags&flagNative != 0 {
			out = binary.LittleEndian.AppendUint64(out, r.native)
		}
		before = r
	}
	return out
}

// unpackColumns reads a row. What it returns does not change, and may be used by
// any number of goroutines.
func unpackColumns(id int64, data []byte) (*columns, error) {
	data, err := unseal(id, data)
	if err != nil {
		return nil, err
	}
	n, size := binary.Uvarint(data)
	if size <= 0 || n > columnDocs {
		return nil, damage
	}
	data = data[size:]
	c := &columns{tokens: make([]int32, n), roles: make([]query.Role, n)}
	for i := range c.tokens {
		v, size := binary.Uvarint(data)
		if size <= 0 {
			return nil, damage
		}
		c.tokens[i], data = int32(v), data[size:]
	}
	if len(data) < int(n) {
		return nil, damage
	}
	for i := range c.roles {
		c.roles[i] = query.Role(data[i])
	}
	c.packed = data[n:]
	return c, nil
}

// unpack makes points, kinds and rest readable.
func (c *columns) unpack() error {
	c.once.Do(func() {
		n := len(c.tokens)
		rest, points, kinds, data := make([]columnRest, n), make([]uint32, n), make([]uint32, n), c.packed
		var before columnRest
		for i := range rest {
			r := &rest[i]
			var v [4]uint64
			for j := range v {
				n := 0
				if v[j], n = binary.Uvarint(data); n <= 0 {
					c.failed = damage
					return
				}
				data = data[n:]
			}
			points[i], kinds[i] = uint32(v[0]), uint32(v[1])
			r.time, r.seq = before.time+unzigzag(v[2]), before.seq+unzigzag(v[3])
			if len(data) == 0 {
				c.failed = damage
				return
			}
			r.flags, data = data[0], data[1:]
			if r.flags&flagNative != 0 {
				if len(data) < 8 {
					c.failed = damage
					return
				}
				r.native, data = binary.LittleEndian.Uint64(data), data[8:]
			}
			before = *r
		}
		c.points, c.kinds, c.rest, c.packed = points, kinds, rest, nil
	})
	return c.failed
}

// document gives the i-th document its public form, but for its tool, which
// only records hold.
func (c *columns) document(i int, id query.DocID, n *names) query.Document {
	r := c.rest[i]
	flags := record{flags: r.flags}
	return query.Document{
		Doc: id, Native: r.native, Seq: r.seq, Time: r.time, Points: int32(c.points[i]), Tokens: c.tokens[i], Type: n.types[c.kinds[i]], Role: c.roles[i],
		Surface: flags.is(flagSurface), Provisional: flags.is(flagProvisional), Clipped: flags.is(flagClipped),
	}
}
