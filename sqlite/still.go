package sqlite

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"runtime"
	"time"

	"github.com/yorehq/yore/internal/btree"
	"github.com/yorehq/yore/internal/postings"
	"github.com/yorehq/yore/query"
)

// A search over everything looks into hundreds of shards for a handful of pages
// each, and opening a database is most of that: a connection with memory of its
// own, the schema parsed, the log and the shared memory opened and locked. But
// almost all shards are at rest. One whose log is empty has all of its pages in
// one file, which changes when some process has written to the log and copies
// that into it. (What scrub.go wipes in the file itself, nobody reads.) So a file at rest is read without SQLite
// (package btree), and two looks tell that it was at rest all the while:
//
//	before   the log is empty or not there, and the file is as its memo says:
//	         the same file, size and time, the last of these some seconds ago
//	after    size and time of the file are still these
//
// A write in between sets another time before it changes a byte, so what was read
// counts only if the second look says so. What a segment consists of needs no
// second look: it never changes under its number, and ends in a checksum over it.
//
// Whatever is not so, and whatever looks odd in the file, is left to SQLite, which
// also decides whether the file is damaged. Windows tells the time of a file
// that others have open too late: there SQLite reads everything.

// still is the file of a shard at rest.
type still struct {
	x     *Index
	path  string
	file  *os.File
	stamp fileStamp
	tree  *btree.File
	roots map[string]uint32
}

// atRest opens the file of a shard that was found as stamp says; nil if it is not
// at rest any more, or cannot be read here.
func (x *Index) atRest(path string, was os.FileInfo, stamp fileStamp) *still {
	if stamp.logSize != 0 || runtime.GOOS == "windows" {
		return nil
	}
	if log, err := os.Stat(path + "-wal"); err == nil && log.Size() > 0 || err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil
	}
	file, err := os.Open(path)
	if err != nil {
		return nil
	}
	tree, _ := x.trees.Get().(*btree.File)
	if tree == nil {
		tree = &btree.File{}
	}
	s := &still{x: x, path: path, file: file, stamp: stamp, tree: tree}
	if info, err := file.Stat(); err != nil || !os.SameFile(info, was) || !s.unmoved() {
		s.close()
		return nil
	}
	x.work.stills.Add(1)
	return s
}

func (s *still) close() {
	s.file.Close()
	s.x.trees.Put(s.tree)
}

// unmoved is the second look.
func (s *still) unmoved() bool {
	info, err := s.file.Stat()
	return err == nil && info.Size() == s.stamp.size && info.ModTime().UnixNano() == s.stamp.changed
}

// errWritten says that a file was not at rest while it was read.
var errWritten = errors.New("the file was written to while it was read")

// checked is err, or that the file was not at rest.
func (s *still) checked(err error) error {
	if err == nil && !s.unmoved() {
		return errWritten
	}
	return err
}

// rowsOf calls each for the rows of a table, by their numbers. It is to be checked.
func (s *still) rowsOf(table, columns string, each func(row) error) error {
	layout := shardTables[table]
	fields, ok := layout.fieldsOf(columns)
	if !ok || s.roots[table] == 0 {
		return fmt.Errorf("%w: no table %s of %s", btree.ErrFormat, table, columns)
	}
	return s.tree.Rows(s.roots[table], func(r *btree.Record) error {
		if r.Len() != layout.count {
			return btree.ErrFormat
		}
		return each(row{rec: r, fields: fields})
	})
}

// remembered reads what a memo holds; nil if the file is none of this schema and
// workspace, or is not at rest.
func (s *still) remembered(workspace string) *memo {
	if s.tree.Open(s.file, s.stamp.size) != nil || s.tree.Application != application || s.tree.Version != schemaVersion {
		return nil
	}
	m := &memo{stamp: s.stamp, header: s.tree.Header, segments: []*searched{}}
	var err error
	if s.roots, err = s.tree.Roots(); err != nil {
		return nil
	}
	m.roots = s.roots
	rows, due := 0, int64(0)
	err = s.rowsOf("shard", `workspace, generation, documents, tokens, birth, purge`, func(r row) error {
		if rows++; r.text(0) != workspace {
			return btree.ErrFormat
		}
		m.generation, m.totals, m.birth, due = r.uint64(1), query.Totals{Documents: r.int(2), Tokens: r.int(3)}, r.int(4), r.int(5)
		return nil
	})
	if err == nil && rows != 1 {
		err = btree.ErrFormat
	}
	each := func(table, columns string, take func(row) error) {
		if err == nil {
			err = s.rowsOf(table, columns, take)
		}
	}
	each("sessions", glanceColumns, func(r row) error {
		m.glances = append(m.glances, r.glance())
		return nil
	})
	each("sessions", rowColumns, func(r row) error {
		m.rows = append(m.rows, r.sessionRow())
		return nil
	})
	m.names = &names{map[uint32]string{}, map[uint32]string{}}
	for table, into := range map[string]map[uint32]string{"types": m.names.types, "tools": m.names.tools} {
		each(table, `num, name`, func(r row) error {
			into[uint32(r.int(0))] = r.text(1)
			return nil
		})
	}
	alive := m.totals.Documents
	m.tidy = due == 0 && !manyFree(&s.tree.Header)
	each("segments", `id, docs, dead, size, state, runs`, func(r row) (err error) {
		one := segment{r.int(0), r.int(1), r.int(2), r.int(3), int(r.int(4))}
		if one.state != segmentLive {
			m.tidy = false
			return nil
		}
		alive -= one.docs - one.dead
		g := newSearched(one)
		g.runs, err = unpackRuns(r.blob(5))
		m.segments = append(m.segments, g)
		return err
	})
	if s.checked(err) != nil || alive != 0 {
		return nil
	}
	return m
}

// manyFree is what unfinished asks of free pages.
func manyFree(h *btree.Header) bool { return h.Incremental && h.Free > 64 && h.Free > h.Pages/32 }

// floor returns the row of a table with the largest number that is not above one.
func (s *still) floor(table string, number int64) (*btree.Record, error) {
	r, err := s.tree.Floor(s.roots[table], number)
	if err == nil && r != nil && r.Len() != shardTables[table].count {
		return nil, btree.ErrFormat
	}
	return r, err
}

// kept returns what is stored under a number, its checksum not looked at.
func (s *still) kept(table string, number int64) ([]byte, error) {
	r, err := s.floor(table, number)
	if err == nil && (r == nil || r.RowID != number) {
		err = btree.ErrFormat
	}
	if err != nil {
		return nil, err
	}
	return r.Bytes(shardTables[table].columns["data"]), nil
}

// text returns the block of texts that a document's would stand in, as it is
// stored; nil if its session has none before it.
func (s *still) text(id query.DocID) (first query.DocID, packed []byte, err error) {
	r, err := s.floor("texts", int64(id))
	if err = s.checked(err); err != nil || r == nil || query.DocID(r.RowID).Session() != id.Session() {
		return 0, nil, err
	}
	return query.DocID(r.RowID), r.Bytes(shardTables["texts"].columns["data"]), nil
}

// shadows returns the shadow runs of a session, ascending.
func (s *still) shadows(num int64) ([]query.Shadow, error) {
	var all []query.Shadow
	err := s.tree.From(s.roots["shadow"], func(r *btree.Record) bool { return r.Len() == 4 && r.Int(0) >= num }, func(r *btree.Record) bool {
		if r.Len() != 4 || r.Int(0) != num {
			return false
		}
		all = append(all, query.Shadow{From: r.Int(1), To: r.Int(2), By: r.Int(3)})
		return true
	})
	return all, s.checked(err)
}

// shadow returns the shadow run of a session that a seq lies in.
func (s *still) shadow(num, seq int64) (query.Shadow, error) {
	r, err := s.tree.Last(s.roots["shadow"], func(r *btree.Record) bool {
		return r.Len() == 4 && (r.Int(0) > num || r.Int(0) == num && r.Int(1) > seq)
	})
	if err = s.checked(err); err != nil || r == nil {
		return query.NoShadow, err
	}
	if r.Len() != 4 {
		return query.NoShadow, btree.ErrFormat
	}
	run := query.Shadow{From: r.Int(1), To: r.Int(2), By: r.Int(3)}
	if r.Int(0) != num || run.To < seq {
		return query.NoShadow, nil
	}
	return run, nil
}

// stillSource reads a segment of a shard at rest.
type stillSource struct {
	s  *still
	id int64
}

var _ postings.Segment = stillSource{}

// behind reports whether an entry of the dictionary comes after a token of the segment.
func (r stillSource) behind(e *btree.Record, token []byte) bool {
	return e.Len() == 3 && (e.Int(0) > r.id || e.Int(0) == r.id && bytes.Compare(e.Bytes(1), token) > 0)
}

// block reads a block of the dictionary, nil if e leads to none of this segment.
func (r stillSource) block(e *btree.Record, buf []byte) (data []byte, n int64, err error) {
	if e == nil || e.Len() != 3 || e.Int(0) != r.id {
		return nil, 0, nil
	}
	first, piece := e.Bytes(1), e.Int(2)
	if data, err = r.s.kept("pieces", piece); err != nil {
		return nil, 0, err
	}
	if data, err = unseal(piece, data); err != nil || piece>>pieceBits != r.id || !bytes.Equal(postings.First(data), first) {
		return nil, 0, errors.Join(damage, err)
	}
	r.s.x.work.postings.Add(int64(len(data)))
	return append(buf[:0], data...), piece - pieceID(r.id, 0), nil
}

func (r stillSource) Before(token, buf []byte) ([]byte, int64, error) {
	e, err := r.s.tree.Last(r.s.roots["terms"], func(e *btree.Record) bool { return r.behind(e, token) })
	if err != nil {
		return nil, 0, err
	}
	data, n, err := r.block(e, buf)
	return data, n, r.s.checked(err)
}

func (r stillSource) After(token, buf []byte) (data []byte, n int64, err error) {
	var failed error
	err = r.s.tree.From(r.s.roots["terms"], func(e *btree.Record) bool { return r.behind(e, token) }, func(e *btree.Record) bool {
		data, n, failed = r.block(e, buf)
		return false
	})
	if err = errors.Join(err, failed); err == nil && data == nil && len(token) == 0 {
		err = damage // every segment has tokens
	}
	return data, n, r.s.checked(err)
}

func (r stillSource) End() (int64, error) {
	last, err := r.s.floor("pieces", pieceID(r.id+1, -1))
	if err == nil && last == nil {
		err = damage
	}
	if err = r.s.checked(err); err != nil {
		return 0, err
	}
	return last.RowID + 1 - pieceID(r.id, 0), nil
}

func (r stillSource) Piece(n int64, buf []byte) ([]byte, error) {
	id := pieceID(r.id, n)
	data, err := r.s.kept("pieces", id)
	if err == nil {
		data, err = unseal(id, data)
	}
	if err != nil {
		return nil, err
	}
	r.s.x.work.postings.Add(int64(len(data)))
	return append(buf[:0], data...), nil
}

// recall reads a shard that is at rest and remembers it; nil if that cannot be
// done without SQLite. Which file is at the path is noted as it is for a
// connection; another one than before is SQLite's to report.
func (x *Index) recall(at place) *memo {
	if x.memory != "" {
		return nil
	}
	found, err := os.Lstat(at.path)
	if err != nil || !found.Mode().IsRegular() || found.Mode().Perm()&0o077 != 0 {
		return nil
	}
	stamp, info, sure := stampOf(at.path, time.Now())
	x.mu.Lock()
	seen := x.seen[at.path]
	_, condemned := x.damaged[at.path]
	closed := x.closed
	x.mu.Unlock()
	if !sure || condemned || closed || seen != nil && !os.SameFile(info, seen) || !os.SameFile(info, found) {
		return nil
	}
	s := x.atRest(at.path, info, stamp)
	if s == nil {
		return nil
	}
	defer s.close()
	m := s.remembered(at.workspace)
	if m == nil || x.sameInfo(at.path, info) != nil {
		return nil
	}
	x.remember(at, m, true)
	return m
}
