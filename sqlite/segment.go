package sqlite

import (
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
// Pieces, columns and runs end in a checksum, so that damage is noticed and not
// taken for an answer.
const segmentSchema = `
CREATE TABLE segments (
	id INTEGER PRIMARY KEY AUTOINCREMENT, state INTEGER NOT NULL, docs INTEGER NOT NULL, dead INTEGER NOT NULL,
	size INTEGER NOT NULL, runs BLOB NOT NULL, plan TEXT NOT NULL
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

// seal appends a checksum to what is stored.
func seal(data []byte) []byte {
	return binary.LittleEndian.AppendUint32(data, crc32.Checksum(data, castagnoli()))
}

// unseal checks and takes off the checksum.
func unseal(data []byte) ([]byte, error) {
	n := len(data) - 4
	if n < 0 || crc32.Checksum(data[:n], castagnoli()) != binary.LittleEndian.Uint32(data[n:]) {
		return nil, damage
	}
	return data[:n], nil
}

func castagnoli() *crc32.Table { return crc32.MakeTable(crc32.Castagnoli) }

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
	return seal(out)
}

func unpackRuns(data []byte) ([]docRun, error) {
	data, err := unseal(data)
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

var _ postings.Source = source{}

func (s source) one(sql string, buf []byte, args ...any) (data []byte, err error) {
	err = s.c.rowsOf(s.ctx, sql, func(r row) (err error) {
		data, err = unseal(r.ColumnBlob(0, buf[:0]))
		return err
	}, args...)
	return data, s.c.fail(s.ctx, err)
}

func (s source) Find(token, buf []byte) ([]byte, error) {
	return s.one(`SELECT data FROM terms JOIN pieces ON id = piece WHERE segment = ? AND first <= ? ORDER BY first DESC LIMIT 1`, buf, s.id, token)
}

func (s source) Follow(token, buf []byte) ([]byte, error) {
	if token == nil {
		return s.one(`SELECT data FROM terms JOIN pieces ON id = piece WHERE segment = ? ORDER BY first LIMIT 1`, buf, s.id)
	}
	return s.one(`SELECT data FROM terms JOIN pieces ON id = piece WHERE segment = ? AND first > ? ORDER BY first LIMIT 1`, buf, s.id, token)
}

func (s source) Piece(n int64, buf []byte) ([]byte, error) {
	data, err := s.one(`SELECT data FROM pieces WHERE id = ?`, buf, pieceID(s.id, n))
	if data == nil && err == nil {
		err = s.c.fail(s.ctx, damage)
	}
	return data, err
}

// sink writes a segment through a connection.
type sink struct {
	ctx context.Context
	c   *conn
	id  int64
	buf []byte
}

func (s *sink) Piece(n int64, data []byte) error {
	s.buf = seal(append(s.buf[:0], data...))
	return s.c.exec(s.ctx, `INSERT INTO pieces VALUES (?, ?)`, pieceID(s.id, n), s.buf)
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
