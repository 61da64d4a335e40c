package sqlite

import (
	"bytes"
	"context"
	"encoding/binary"
	"hash/crc32"
	"slices"

	"github.com/yorehq/yore/internal/document"
	"github.com/yorehq/yore/internal/postings"
	"github.com/yorehq/yore/query"
)

// The index of a shard is a set of segments (package postings). A transaction
// that adds documents writes one segment; merge.go puts small ones together.
//
//   - segments: one row each. docs is how many documents it numbers, dead how many
//     of them are gone, size the bytes of its pieces. runs says which documents
//     its numbers mean. plan is how far the merge that makes it has come.
//   - pieces: its lists and dictionary blocks, by segment<<24 | piece.
//   - terms: the first token of each dictionary block.
//   - columns: what ranking and filters need of its documents (columns.go), by
//     segment<<24 | document/columnDocs.
//
// Pieces, columns, runs and plans end in a checksum, so that damage is noticed and
// not taken for an answer; the checksum of a row that is found by its number is
// over that too. The first token of a dictionary block is compared with the block
// it leads to, and a row of terms that is lost or stands elsewhere is missed by
// the numbers of its neighbours (package postings). What lives in all segments is
// compared with the shard's own counter.
const segmentSchema = `
CREATE TABLE segments (
	id INTEGER PRIMARY KEY AUTOINCREMENT, state INTEGER NOT NULL, docs INTEGER NOT NULL, dead INTEGER NOT NULL,
	size INTEGER NOT NULL, runs BLOB NOT NULL, plan BLOB NOT NULL
);
CREATE TABLE pieces (id INTEGER PRIMARY KEY, data BLOB NOT NULL);
CREATE TABLE terms (segment INTEGER, first BLOB, piece INTEGER NOT NULL, PRIMARY KEY (segment, first)) WITHOUT ROWID;
CREATE TABLE columns (id INTEGER PRIMARY KEY, data BLOB NOT NULL);
`

// The states of a segment. Only live ones are searched.
const (
	segmentLive   = iota
	segmentMade   // a merge is making it
	segmentMerged // a merge has replaced it; to be removed
)

// pieceBits is the width of a piece's number within its segment.
const pieceBits = 24

func pieceID(segment, n int64) int64 { return segment<<pieceBits + n }

// seal appends a checksum to what is stored under a number; 0: under none.
func seal(id int64, data []byte) []byte {
	return binary.LittleEndian.AppendUint32(data, checksum(id, data))
}

// unseal checks and takes off the checksum.
func unseal(id int64, data []byte) ([]byte, error) {
	n := len(data) - 4
	if n < 0 || checksum(id, data[:n]) != binary.LittleEndian.Uint32(data[n:]) {
		return nil, damage
	}
	return data[:n], nil
}

func checksum(id int64, data []byte) uint32 {
	var number [8]byte
	binary.LittleEndian.PutUint64(number[:], uint64(id))
	table := crc32.MakeTable(crc32.Castagnoli)
	return crc32.Update(crc32.Checksum(number[:], table), table, data)
}

// docRun says that the documents of a segment from local on, count of them, are
// those of a session from n on.
type docRun struct {
	local   uint32
	session int64
	n       uint32
	count   uint32
}

func (r *docRun) end() uint32 { return r.local + r.count }

// extend adds a run behind others, or to the last if it goes on there.
func extend(runs []docRun, r docRun) []docRun {
	if n := len(runs); n > 0 {
		if last := &runs[n-1]; last.session == r.session && last.end() == r.local && last.n+last.count == r.n {
			last.count += r.count
			return runs
		}
	}
	return append(runs, r)
}

func packRuns(runs []docRun) []byte {
	var out []byte
	end := uint32(0)
	for _, r := range runs {
		out = binary.AppendUvarint(out, uint64(r.local-end))
		out = binary.AppendUvarint(out, uint64(r.session))
		out = binary.AppendUvarint(out, uint64(r.n))
		out = binary.AppendUvarint(out, uint64(r.count))
		end = r.end()
	}
	return seal(0, out)
}

func unpackRuns(data []byte) ([]docRun, error) {
	data, err := unseal(0, data)
	if err != nil {
		return nil, err
	}
	var runs []docRun
	for end := uint32(0); len(data) > 0; {
		var v [4]uint64
		for i := range v {
			n := 0
			if v[i], n = binary.Uvarint(data); n <= 0 {
				return nil, damage
			}
			data = data[n:]
		}
		r := docRun{end + uint32(v[0]), int64(v[1]), uint32(v[2]), uint32(v[3])}
		runs, end = append(runs, r), r.end()
	}
	return runs, nil
}

// cut takes the documents of a session from n on out of runs, and returns how
// many there were.
func cut(runs []docRun, session int64, n uint32) (kept []docRun, dead int64) {
	for _, r := range runs {
		if r.session == session && r.n+r.count > n {
			before := max(n, r.n) - r.n
			dead += int64(r.count - before)
			if r.count = before; before == 0 {
				continue
			}
		}
		kept = append(kept, r)
	}
	return kept, dead
}

// within returns the local numbers of the documents in sorted spans, as ranges.
func within(runs []docRun, spans []query.Span) (ranges []postings.Range) {
	for _, r := range runs {
		first := query.NewDocID(r.session, int64(r.n))
		last := first + query.DocID(r.count) - 1
		at, _ := slices.BinarySearchFunc(spans, first, func(s query.Span, id query.DocID) int {
			if s.To < id {
				return -1
			}
			return 1
		})
		for ; at < len(spans) && spans[at].From <= last; at++ {
			from, to := max(spans[at].From, first), min(spans[at].To, last)
			ranges = append(ranges, postings.Range{From: r.local + uint32(from-first), To: r.local + uint32(to-first) + 1})
		}
	}
	return ranges
}

// segment is a row of the table.
type segment struct {
	id, docs, dead, size int64
	state                int
}

// segments returns the segments in a state, oldest first.
func (c *conn) segments(ctx context.Context, state int) ([]segment, error) {
	var all []segment
	err := c.rowsOf(ctx, `SELECT id, docs, dead, size FROM segments WHERE state = ? ORDER BY id`, func(r row) error {
		all = append(all, segment{r.int(0), r.int(1), r.int(2), r.int(3), state})
		return nil
	}, state)
	return all, err
}

// runsOf reads the runs of a segment.
func (c *conn) runsOf(ctx context.Context, id int64) (runs []docRun, err error) {
	err = c.rowsOf(ctx, `SELECT runs FROM segments WHERE id = ?`, func(r row) (err error) {
		runs, err = unpackRuns(r.blob(0))
		return err
	}, id)
	return runs, c.fail(ctx, err)
}

// source reads a segment through a connection.
type source struct {
	ctx context.Context
	c   *conn
	id  int64
}

var _ postings.Segment = source{}

// What finds the dictionary block with the last first token that is not after a
// token, and the first one that is.
const (
	findBlock   = `SELECT piece, data, first FROM terms LEFT JOIN pieces ON id = piece WHERE segment = ? AND first <= ? ORDER BY first DESC LIMIT 1`
	followBlock = `SELECT piece, data, first FROM terms LEFT JOIN pieces ON id = piece WHERE segment = ? AND first > ? ORDER BY first LIMIT 1`
)

// block reads the dictionary block that a statement finds: its bytes, which begin
// with the token that they are said to begin with, and its number.
func (s source) block(sql string, buf, token []byte) (data []byte, n int64, err error) {
	err = s.c.rowsOf(s.ctx, sql, func(r row) (err error) {
		id := r.int(0)
		data, err = unseal(id, r.ColumnBlob(1, buf[:0]))
		if err == nil && (id>>pieceBits != s.id || !bytes.Equal(postings.First(data), r.ColumnRawBlob(2))) {
			err = damage
		}
		n = id - pieceID(s.id, 0)
		return err
	}, s.id, token)
	return data, n, s.c.fail(s.ctx, err)
}

func (s source) Before(token, buf []byte) ([]byte, int64, error) {
	return s.block(findBlock, buf, token)
}

func (s source) After(token, buf []byte) ([]byte, int64, error) {
	if token == nil {
		token = []byte{} // before all
	}
	data, n, err := s.block(followBlock, buf, token)
	if data == nil && err == nil && len(token) == 0 {
		err = s.c.fail(s.ctx, damage) // every segment has tokens
	}
	return data, n, err
}

func (s source) End() (int64, error) {
	last, err := s.c.integer(s.ctx, `SELECT coalesce(max(id), 0) FROM pieces WHERE id BETWEEN ? AND ?`, pieceID(s.id, 0), pieceID(s.id+1, -1))
	return last + 1 - pieceID(s.id, 0), err
}

func (s source) Piece(n int64, buf []byte) (data []byte, err error) {
	id := pieceID(s.id, n)
	err = s.c.rowsOf(s.ctx, `SELECT data FROM pieces WHERE id = ?`, func(r row) (err error) {
		data, err = unseal(id, r.ColumnBlob(0, buf[:0]))
		return err
	}, id)
	if data == nil && err == nil {
		err = damage
	}
	return data, s.c.fail(s.ctx, err)
}

// sink writes a segment through a connection.
type sink struct {
	ctx context.Context
	c   *conn
	id  int64
	buf []byte
}

func (s *sink) Piece(n int64, data []byte) error {
	id := pieceID(s.id, n)
	s.buf = seal(id, append(s.buf[:0], data...))
	return s.c.exec(s.ctx, `INSERT INTO pieces VALUES (?, ?)`, id, s.buf)
}

func (s *sink) Block(first []byte, n int64, data []byte) error {
	if err := s.Piece(n, data); err != nil {
		return err
	}
	return s.c.exec(s.ctx, `INSERT INTO terms VALUES (?, ?, ?)`, s.id, first, pieceID(s.id, n))
}

// pending is a segment while it is gathered in memory.
type pending struct {
	builder postings.Builder
	runs    []docRun
	columns columns
	token   func([]byte) // the builder's
	room    [document.FoldedRoom]byte
}

// add adds a document, unless it has no token, and counts its tokens.
func (p *pending) add(id query.DocID, text string, r *record) {
	if p.token == nil {
		p.token = p.builder.Token
	}
	if r.tokens = uint32(document.EachFolded(text, p.room[:0], p.token)); r.tokens == 0 {
		return
	}
	local := uint32(p.builder.Docs())
	p.builder.End()
	p.columns.add(r)
	p.runs = extend(p.runs, docRun{local, id.Session(), uint32(id - query.NewDocID(id.Session(), 0)), 1})
}

// cut takes documents of a session out again.
func (p *pending) cut(session int64, n uint32) {
	kept, dead := cut(p.runs, session, n)
	if dead == 0 {
		return
	}
	end := p.builder.Docs()
	for _, r := range slices.Backward(kept) { // what lies between the kept runs goes, from the end on
		p.remove(int(r.end()), end)
		end = int(r.local)
	}
	p.remove(0, end)
	p.runs = p.runs[:0]
	local := uint32(0)
	for _, r := range kept {
		r.local = local
		local += r.count
		p.runs = extend(p.runs, r)
	}
}

func (p *pending) remove(from, to int) {
	p.builder.Remove(from, to)
	p.columns.remove(from, to)
}

func (p *pending) reset() {
	p.builder.Reset()
	p.runs = p.runs[:0]
	p.columns.reset()
}
