package sqlite

import (
	"encoding/binary"

	"github.com/yorehq/yore/query"
)

// A record is what the index knows of one document beside its text and
// postings, packed because a shard holds hundreds of thousands. Little-endian:
//
//	 0 seq       8
//	 8 time      8  epoch milliseconds
//	16 sameness  8  or the hash of the record's own id, if flagNative
//	24 points    4  code points
//	28 tokens    4
//	32 type      4  number in table types
//	36 role      1  query.Role
//	37 flags     1
//	38 tool      2  number in table tools; 0: none
type record struct {
	seq, time      int64
	sameness       uint64
	points, tokens uint32
	kind           uint32
	tool           uint16
	role           query.Role
	flags          uint8
}

const (
	recordSize = 40
	blockBits  = 6 // records a row, as a power of two
	blockDocs  = 1 << blockBits
)

// The flags of a record.
const (
	flagSurface uint8 = 1 << iota
	flagProvisional
	flagClipped
	flagNative
)

func (r *record) is(flag uint8) bool { return r.flags&flag != 0 }

func (r *record) append(dst []byte) []byte {
	dst = binary.LittleEndian.AppendUint64(dst, uint64(r.seq))
	dst = binary.LittleEndian.AppendUint64(dst, uint64(r.time))
	dst = binary.LittleEndian.AppendUint64(dst, r.sameness)
	dst = binary.LittleEndian.AppendUint32(dst, r.points)
	dst = binary.LittleEndian.AppendUint32(dst, r.tokens)
	dst = binary.LittleEndian.AppendUint32(dst, r.kind)
	dst = append(dst, byte(r.role), r.flags)
	return binary.LittleEndian.AppendUint16(dst, r.tool)
}

// decodeRecord reads the record at a place in a block.
func decodeRecord(block []byte, at int64) (record, error) {
	if at < 0 || (at+1)*recordSize > int64(len(block)) {
		return record{}, damage
	}
	b := block[at*recordSize:]
	return record{
		seq:      int64(binary.LittleEndian.Uint64(b)),
		time:     int64(binary.LittleEndian.Uint64(b[8:])),
		sameness: binary.LittleEndian.Uint64(b[16:]),
		points:   binary.LittleEndian.Uint32(b[24:]),
		tokens:   binary.LittleEndian.Uint32(b[28:]),
		kind:     binary.LittleEndian.Uint32(b[32:]),
		role:     query.Role(b[36]),
		flags:    b[37],
		tool:     binary.LittleEndian.Uint16(b[38:]),
	}, nil
}

func blockOf(id query.DocID) int64 { return int64(id) >> blockBits }

func slotOf(id query.DocID) int64 { return int64(id) & (blockDocs - 1) }

// native returns the hash of the record's own id; 0: none.
func (r *record) native() uint64 {
	if r.is(flagNative) {
		return r.sameness
	}
	return 0
}

// same returns what the fold compares of a tool result; 0: nothing.
func (r *record) same() uint64 {
	if r.is(flagNative) {
		return 0
	}
	return r.sameness
}

// document gives a record its public form.
func (r *record) document(id query.DocID, n *names) query.Document {
	return query.Document{
		Native: r.native(),
		Doc:    id, Seq: r.seq, Time: r.time, Points: int32(r.points), Tokens: int32(r.tokens),
		Type: n.types[r.kind], Tool: n.tools[uint32(r.tool)], Role: r.role,
		Surface: r.is(flagSurface), Provisional: r.is(flagProvisional), Clipped: r.is(flagClipped),
	}
}
