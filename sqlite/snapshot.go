package sqlite

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/yorehq/yore/fault"
	"github.com/yorehq/yore/internal/postings"
	"github.com/yorehq/yore/query"
)

// snapshot is a read transaction on a connection of its own. While it is not
// being read the connection may be taken from it: see room.go.
type snapshot struct {
	x          *Index
	at         place
	generation uint64
	birth      int64
	totals     query.Totals
	names      *names // nil: not read yet
	segments   []*searched
	matcher    postings.Matcher
	gatherer   gatherer
	memo       *memo  // what it was made of, while that can be read on without SQLite; nil: it cannot
	still      *still // the shard's file, within a call

	// Guarded by the mutex of x, but for c while uses is not 0.
	c      *conn // nil: given up
	uses   int   // calls that are inside
	closed bool
}

var _ query.Snapshot = (*snapshot)(nil)

// Snapshot opens a view of a workspace as of its last commit.
func (x *Index) Snapshot(ctx context.Context, workspace string) (query.Snapshot, error) {
	s := &snapshot{x: x, at: x.shardOf(workspace)}
	m := x.memoOf(s.at)
	if m == nil {
		m = x.recall(s.at)
	}
	if m != nil {
		s.generation, s.birth, s.totals, s.names = m.generation, m.birth, m.totals, m.names
		s.segments = copies(m.segments)
		if m.roots != nil {
			s.memo = m
		}
		return s, nil
	}
	c, err := s.begin(ctx)
	if err != nil {
		return nil, err
	}
	if err := x.sameFile(s.at.path, c); c == nil || err != nil {
		if c != nil {
			c.rollback()
			x.release(c)
		}
		return nil, err
	}
	s.c = c
	x.mu.Lock()
	s.enlist()
	x.mu.Unlock()
	return s, nil
}

// begin opens a read transaction and reads what the snapshot is of. It returns
// nil if there is no shard.
func (s *snapshot) begin(ctx context.Context) (*conn, error) {
	for {
		c, err := s.x.acquire(ctx, s.at, false)
		if c == nil || err != nil {
			return nil, err
		}
		err = c.exec(ctx, `BEGIN`)
		if err == nil {
			// The first read fixes what the transaction sees.
			err = c.rowsOf(ctx, `SELECT generation, documents, tokens, birth FROM shard`, func(r row) error {
				s.generation = r.uint64(0)
				s.totals, s.birth = query.Totals{Documents: r.int(1), Tokens: r.int(2)}, r.int(3)
				return nil
			})
		}
		if err == nil && c.current() {
			return c, nil
		}
		c.rollback()
		c.broken = c.broken || err == nil // its file went meanwhile
		s.x.release(c)
		if err != nil {
			return nil, err
		}
	}
}

// enlist makes the connection one that can be taken back. Databases in memory
// have no descriptors.
func (s *snapshot) enlist() {
	if s.x.memory == "" {
		s.x.views = append(s.x.views, s)
	}
}

func (s *snapshot) delist() {
	s.x.views = slices.DeleteFunc(s.x.views, func(v *snapshot) bool { return v == s })
}

// Close ends the view. It may be called again.
func (s *snapshot) Close() error {
	s.x.mu.Lock()
	c := s.c
	s.c, s.closed = nil, true
	s.delist()
	s.x.mu.Unlock()
	if c != nil {
		c.rollback()
		s.x.release(c)
	}
	return nil
}

// enter makes the view readable until leave, which follows if there is no error.
func (s *snapshot) enter(ctx context.Context) error {
	if err := s.hold(); err != nil {
		return err
	}
	if _, err := s.connect(ctx); err != nil {
		s.leave()
		return err
	}
	return nil
}

// hold is enter for what may be in memory: connect follows where it is not.
func (s *snapshot) hold() error {
	s.x.mu.Lock()
	defer s.x.mu.Unlock()
	if s.closed {
		return fmt.Errorf("%w: the snapshot is closed", fault.IndexFailed)
	}
	s.uses++
	return nil
}

// resting returns the view's file for reading without SQLite, nil where only a
// connection will do. It is for between hold and leave.
func (s *snapshot) resting() *still {
	if s.still != nil || s.memo == nil {
		return s.still
	}
	s.x.mu.Lock()
	was, connected := s.x.seen[s.at.path], s.c != nil
	s.x.mu.Unlock()
	if connected || was == nil {
		return nil
	}
	if s.still = s.x.atRest(s.at.path, was, s.memo.stamp); s.still == nil {
		s.memo = nil
		return nil
	}
	s.still.roots = s.memo.roots
	s.still.tree.Reopen(s.still.file, s.memo.header)
	return s.still
}

// odd takes note of a failure to read without SQLite: from now on it is asked.
func (s *snapshot) odd(err error) {
	if err != nil && s.still != nil {
		s.still.close()
		s.memo, s.still = nil, nil
	}
}

// connect returns the view's connection, a new one if it has none. It is for
// between hold and leave.
func (s *snapshot) connect(ctx context.Context) (*conn, error) {
	s.x.mu.Lock()
	c := s.c
	s.x.mu.Unlock()
	if c != nil {
		return c, nil
	}
	was, birth, totals := s.generation, s.birth, s.totals
	c, err := s.begin(ctx)
	same := err == nil && c != nil && s.generation == was && s.birth == birth
	if same && s.segments != nil {
		// A purge writes segments anew and leaves the generation.
		same, err = c.holds(ctx, s.segments)
	}
	if err == nil && same {
		s.c = c
		return c, nil
	}
	s.generation, s.birth, s.totals = was, birth, totals
	if c != nil {
		c.rollback()
		s.x.release(c)
	}
	if err == nil {
		err = &fault.Error{
			Code: fault.StaleCursor, Cause: query.ErrMoved,
			Safe: "The history changed while more workspaces were searched than are kept open: repeat the call.",
		}
	}
	return nil, err
}

// leave ends what enter began.
func (s *snapshot) leave() {
	s.x.mu.Lock()
	var done *still
	if s.uses--; s.uses == 0 {
		done, s.still = s.still, nil
		if s.c != nil {
			s.delist()
			s.enlist()
		}
	}
	s.x.mu.Unlock()
	if done != nil {
		done.close()
	}
}

func (s *snapshot) Generation() uint64 { return s.generation }

// Sessions returns the sessions in ascending Num, from memory while the shard
// has not changed.
func (s *snapshot) Sessions(ctx context.Context) ([]query.Row, error) {
	x := s.x
	x.mu.Lock()
	closed := s.closed
	x.mu.Unlock()
	if rows, ok := x.keptRows(s.at.path, s.generation, s.birth); ok && !closed {
		return rows, nil
	}
	if err := s.enter(ctx); err != nil {
		return nil, err
	}
	defer s.leave()
	rows, err := s.c.sessionRows(ctx)
	if err != nil {
		return nil, err
	}
	x.mu.Lock()
	if len(x.rows) >= mostMemos {
		clear(x.rows)
	}
	x.rows[s.at.path] = cached{s.generation, s.birth, rows}
	x.mu.Unlock()
	return rows, nil
}

// names are what the numbers in records stand for.
type names struct{ types, tools map[uint32]string }

func (s *snapshot) named(ctx context.Context) (*names, error) {
	if s.names != nil {
		return s.names, nil
	}
	c, err := s.connect(ctx)
	if err == nil {
		s.names, err = c.named(ctx)
	}
	return s.names, err
}

func (c *conn) named(ctx context.Context) (*names, error) {
	types, err := c.names(ctx, "types")
	if err != nil {
		return nil, err
	}
	tools, err := c.names(ctx, "tools")
	if err != nil {
		return nil, err
	}
	return &names{types, tools}, nil
}

// Documents returns metadata for ascending ids, each of which must be there.
func (s *snapshot) Documents(ctx context.Context, ids []query.DocID) ([]query.Document, error) {
	if err := s.enter(ctx); err != nil {
		return nil, err
	}
	defer s.leave()
	named, err := s.named(ctx)
	if err != nil {
		return nil, err
	}
	out := make([]query.Document, 0, len(ids))
	k := &cursor{c: s.c, block: -1}
	for _, id := range ids {
		k.num = id.Session()
		r, err := k.at(ctx, int64(id-query.NewDocID(k.num, 0)))
		if err != nil {
			return nil, err
		}
		out = append(out, r.document(id, named))
	}
	return out, nil
}

// Text returns a document's text, "" if it has none.
func (s *snapshot) Text(ctx context.Context, id query.DocID) (string, error) {
	if err := s.hold(); err != nil {
		return "", err
	}
	defer s.leave()
	if st := s.resting(); st != nil {
		text, err := s.textAtRest(st, id)
		if text != "" && err == nil {
			return text, nil
		}
		s.odd(err)
	}
	if _, err := s.connect(ctx); err != nil {
		return "", err
	}
	var first query.DocID
	err := s.c.rowsOf(ctx, `SELECT first FROM texts WHERE first BETWEEN ? AND ? ORDER BY first DESC LIMIT 1`, func(r row) error {
		first = query.DocID(r.int(0))
		return nil
	}, int64(query.NewDocID(id.Session(), 0)), int64(id))
	if err != nil || first == 0 {
		return "", errors.Join(err, s.textless(ctx, id))
	}
	block, err := s.texts(ctx, first)
	if err != nil {
		return "", err
	}
	text, err := block.text(id)
	if text == "" && err == nil {
		return "", s.textless(ctx, id)
	}
	return text, s.c.fail(ctx, err)
}

// textAtRest is Text for a file at rest. That there is none is not taken from it.
func (s *snapshot) textAtRest(st *still, id query.DocID) (string, error) {
	first, packed, err := st.text(id)
	if err != nil || packed == nil {
		return "", err
	}
	block, err := s.unpacked(first, packed)
	if err != nil {
		return "", err
	}
	return block.text(id)
}

// texts returns a block of texts, from memory where it was read before.
func (s *snapshot) texts(ctx context.Context, first query.DocID) (textBlock, error) {
	if raw := s.x.texts.get(textKey{s.birth, s.generation, first}); raw != nil {
		return textBlock{first, raw}, nil
	}
	var packed []byte
	err := s.c.rowsOf(ctx, `SELECT data FROM texts WHERE first = ?`, func(r row) error {
		packed = r.blob(0)
		return nil
	}, int64(first))
	if err != nil {
		return textBlock{}, err
	}
	block, err := s.unpacked(first, packed)
	return block, s.c.fail(ctx, err)
}

// unpacked is unpack, but for what was unpacked lately.
func (s *snapshot) unpacked(first query.DocID, packed []byte) (textBlock, error) {
	at := textKey{s.birth, s.generation, first}
	if raw := s.x.texts.get(at); raw != nil {
		return textBlock{first, raw}, nil
	}
	block, err := unpack(s.x.dec, first, packed)
	if err == nil {
		s.x.texts.put(at, block.raw)
	}
	return block, err
}

// textless makes sure that a document whose text was not found has none.
func (s *snapshot) textless(ctx context.Context, id query.DocID) error {
	points := uint32(0)
	err := s.c.rowsOf(ctx, `SELECT data FROM records WHERE block = ?`, func(r row) error {
		data, err := unseal(blockOf(id), r.ColumnRawBlob(0))
		if err != nil {
			return err
		}
		if one, err := decodeRecord(data, slotOf(id)); err == nil {
			points = one.points
		}
		return nil
	}, blockOf(id))
	err = s.c.fail(ctx, err)
	if err == nil && points > 0 {
		err = s.c.fail(ctx, damage)
	}
	return err
}

// Log opens the view's part of one session.
func (s *snapshot) Log(num int64) query.Log { return &log{s: s, num: num} }
