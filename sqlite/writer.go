package sqlite

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/yorehq/yore/fault"
	"github.com/yorehq/yore/internal/ingest"
	"github.com/yorehq/yore/query"
	"github.com/yorehq/yore/session"
)

// Peek returns the saved state of sessions, in ascending Num.
func (x *Index) Peek(ctx context.Context, workspace string, which ingest.StoredLookup) (all []ingest.Stored, err error) {
	err = x.readShard(ctx, workspace, func(c *conn) (err error) {
		all, err = c.stored(ctx, which)
		return err
	})
	return all, err
}

// Glances returns what tells whether sessions are up to date, in ascending Num.
func (x *Index) Glances(ctx context.Context, workspace string, only *session.Key) (all []ingest.Glance, err error) {
	at := x.shardOf(workspace)
	if only == nil {
		m := x.memoOf(at)
		if m == nil {
			m = x.recall(at)
		}
		if m != nil {
			return slices.Clone(m.glances), nil
		}
	}
	err = x.readShard(ctx, workspace, func(c *conn) (err error) {
		if only != nil {
			all, err = c.glances(ctx, only)
			return err
		}
		m, err := x.memoize(ctx, at, c)
		if err == nil {
			all = m.glances
		}
		return err
	})
	return slices.Clone(all), err
}

// readShard runs one query over a shard, if it is there.
func (x *Index) readShard(ctx context.Context, workspace string, read func(*conn) error) error {
	at := x.shardOf(workspace)
	c, err := x.acquire(ctx, at, false)
	if err != nil {
		return err
	}
	defer x.release(c)
	if err := x.sameFile(at.path, c); c == nil || err != nil {
		return err
	}
	return read(c)
}

// Write runs work in one transaction under the shard's write lock.
func (x *Index) Write(ctx context.Context, workspace string, work func(ingest.Writer) error) error {
	c, err := x.begin(ctx, x.shardOf(workspace))
	if err != nil {
		return err
	}
	defer x.release(c)
	done := false
	defer func() {
		if !done {
			c.rollback() // work failed or panicked
		}
	}()
	if err := x.sameFile(c.path, c); err != nil {
		return err
	}
	before := c.db.TotalChanges()
	if c.pending != nil {
		c.pending.reset() // of a transaction that failed
	}
	w := &writer{c: c}
	if err = work(w); err == nil {
		err = w.flush(ctx)
	}
	if err == nil && c.db.TotalChanges() > before {
		err = w.settle(ctx)
	}
	w.c = nil
	if err != nil {
		return err
	}
	if c.db.TotalChanges() > before {
		err = c.exec(ctx, `UPDATE shard SET generation = generation + 1, documents = documents + ?, tokens = tokens + ?,
			purge = CASE WHEN ? THEN 1 ELSE purge END WHERE one = 1`, w.documents, w.tokens, w.purge)
		if err != nil {
			return err
		}
	}
	done = true
	if err := c.commit(ctx); err != nil {
		return err
	}
	x.count(c, before)
	return c.relieve()
}

// begin takes the write lock of a database, making it if it is not there.
func (x *Index) begin(ctx context.Context, at place) (*conn, error) {
	for {
		c, err := x.acquire(ctx, at, true)
		if err != nil {
			return nil, err
		}
		err = c.begin(ctx)
		if err == nil && c.current() {
			return c, nil
		}
		c.rollback()
		c.broken = c.broken || err == nil // its file was removed meanwhile
		x.release(c)
		if err != nil {
			return nil, err
		}
	}
}

// writer is one transaction. What it adds to the shard's counters is written
// once, at the end.
type writer struct {
	c                 *conn
	documents, tokens int64
	added             int64 // bytes of segments
	purge             bool
	packed            []byte // the block of texts that was packed last, whose room is used again
}

var _ ingest.Writer = (*writer)(nil)

// Stored returns sessions in ascending Num.
func (w *writer) Stored(ctx context.Context, which ingest.StoredLookup) ([]ingest.Stored, error) {
	return w.c.stored(ctx, which)
}

// Current returns the current events of a range in order.
func (w *writer) Current(ctx context.Context, num, from, to int64) ([]session.Node, error) {
	return lasting(w.c.standing(ctx, num, from, to))
}

// Nodes returns the surface events among seqs.
func (w *writer) Nodes(ctx context.Context, num int64, seqs []int64) ([]session.Node, error) {
	return lasting(w.c.nodesAt(ctx, num, seqs))
}

// lasting leaves provisional events out.
func lasting(all []node, err error) ([]session.Node, error) {
	out := make([]session.Node, 0, len(all))
	for _, n := range all {
		if !n.provisional {
			out = append(out, n.Node)
		}
	}
	return out, err
}

// Put saves a session's state.
func (w *writer) Put(ctx context.Context, s *ingest.Stored) error {
	args := bindStored(s)
	if s.Num == 0 {
		num, err := w.c.integer(ctx, `SELECT next FROM shard`)
		if err == nil {
			err = w.c.exec(ctx, `UPDATE shard SET next = next + 1 WHERE one = 1`)
		}
		if err == nil {
			err = w.c.exec(ctx, `INSERT INTO sessions (`+storedColumns+`) VALUES (?, ?, `+marks(len(args))+`)`, append([]any{num, 0}, args...)...)
		}
		if err == nil {
			s.Num = num
		}
		return err
	}
	err := w.c.exec(ctx, `UPDATE sessions SET (`+putColumns+`) = (`+marks(len(args))+`) WHERE num = ?`, append(args, s.Num)...)
	if err == nil && w.c.db.Changes() == 0 {
		err = unknownSession(s.Num)
	}
	return err
}

func marks(n int) string {
	list := make([]byte, 0, 3*n)
	for i := range n {
		if i > 0 {
			list = append(list, ", "...)
		}
		list = append(list, '?')
	}
	return string(list)
}

func unknownSession(num int64) error {
	return fmt.Errorf("%w: the shard has no session %d", fault.IndexFailed, num)
}

// Clear removes what a session's events brought.
func (w *writer) Clear(ctx context.Context, num int64) error {
	k, err := w.session(ctx, num)
	if err != nil {
		return err
	}
	return w.clear(ctx, k)
}

// Delete removes a session. Purge takes what is left of it off the disk.
func (w *writer) Delete(ctx context.Context, num int64) error {
	k, err := w.session(ctx, num)
	if err != nil {
		return err
	}
	if err := w.clear(ctx, k); err != nil {
		return err
	}
	w.purge = true // its title and header, even if it had no document
	return w.c.exec(ctx, `DELETE FROM sessions WHERE num = ?`, num)
}

// Holders goes through the records of the shard once.
func (w *writer) Holders(ctx context.Context, natives []uint64) ([]ingest.Holder, error) {
	if w.c == nil {
		return nil, fmt.Errorf("%w: the transaction is over", fault.IndexFailed)
	}
	if len(natives) == 0 {
		return nil, nil
	}
	wanted := make(map[uint64]bool, len(natives))
	for _, n := range natives {
		wanted[n] = true
	}
	entries := map[int64]int64{}
	err := w.c.rowsOf(ctx, `SELECT num, entries FROM sessions`, func(r row) error {
		entries[r.int(0)] = r.int(1)
		return nil
	})
	if err != nil {
		return nil, err
	}
	var found []ingest.Holder
	err = w.c.rowsOf(ctx, `SELECT block, data FROM records ORDER BY block`, func(r row) error {
		first := query.DocID(r.int(0) << blockBits)
		data, err := unseal(r.int(0), r.blob(1))
		if err != nil {
			return err
		}
		for at := int64(0); at < blockDocs && int64(first)+at < int64(query.NewDocID(first.Session(), entries[first.Session()])); at++ {
			one, err := decodeRecord(data, at)
			if err != nil {
				return err
			}
			if native := one.native(); native != 0 && wanted[native] {
				found = append(found, ingest.Holder{Num: first.Session(), Native: native})
			}
		}
		return nil
	})
	return found, w.c.fail(ctx, err)
}

// session returns the cursor of a session that must be there.
func (w *writer) session(ctx context.Context, num int64) (*cursor, error) {
	if w.c == nil {
		return nil, fmt.Errorf("%w: the transaction is over", fault.IndexFailed)
	}
	k := &cursor{c: w.c, num: num, block: -1, entries: -1}
	err := w.c.rowsOf(ctx, `SELECT entries FROM sessions WHERE num = ?`, func(r row) error {
		k.entries = r.int(0)
		return nil
	}, num)
	if err == nil && k.entries < 0 {
		err = unknownSession(num)
	}
	return k, err
}

func (w *writer) clear(ctx context.Context, k *cursor) error {
	if err := w.cutDocuments(ctx, k, 0); err != nil {
		return err
	}
	for _, table := range []string{"removed", "shadow", "citations", "checkpoints", "breaks"} {
		if err := w.c.exec(ctx, `DELETE FROM `+table+` WHERE num = ?`, k.num); err != nil {
			return err
		}
	}
	if k.entries > 0 {
		w.purge = true
	}
	return nil
}

// cutDocuments removes the documents with a number of at least n.
func (w *writer) cutDocuments(ctx context.Context, k *cursor, n int64) error {
	for i := n; i < k.entries; i++ {
		r, err := k.at(ctx, i)
		if err != nil {
			return err
		}
		if r.tokens > 0 {
			w.documents--
			w.tokens -= int64(r.tokens)
		}
	}
	from, to := query.NewDocID(k.num, n), query.SpanOf(k.num).To
	if err := w.cutRecords(ctx, from); err != nil {
		return err
	}
	if err := w.cutTexts(ctx, from); err != nil {
		return err
	}
	return errors.Join(
		w.cutSegments(ctx, k.num, uint32(n)),
		w.c.exec(ctx, `DELETE FROM records WHERE block BETWEEN ? AND ?`, blockOf(from+blockDocs-1), blockOf(to)),
		w.c.exec(ctx, `DELETE FROM orders WHERE doc BETWEEN ? AND ?`, int64(from), int64(to)),
		w.c.exec(ctx, `UPDATE sessions SET entries = ? WHERE num = ?`, n, k.num),
	)
}

// cutRecords shortens the block that a cut goes through.
func (w *writer) cutRecords(ctx context.Context, from query.DocID) error {
	if slotOf(from) == 0 {
		return nil
	}
	var data []byte
	err := w.c.rowsOf(ctx, `SELECT data FROM records WHERE block = ?`, func(r row) (err error) {
		data, err = unseal(blockOf(from), r.blob(0))
		return err
	}, blockOf(from))
	if size := slotOf(from) * recordSize; err == nil && int64(len(data)) > size {
		err = w.c.rawExec(ctx, `UPDATE records SET data = ? WHERE block = ?`, seal(blockOf(from), data[:size]), blockOf(from))
	}
	return w.c.fail(ctx, err)
}

// cutTexts removes the texts from a document on, rewriting the block that the
// cut goes through.
func (w *writer) cutTexts(ctx context.Context, from query.DocID) error {
	block, err := w.lastBlock(ctx, query.NewDocID(from.Session(), 0), from-1)
	if err != nil {
		return err
	}
	if block != nil {
		if err := block.cut(from); err != nil {
			return w.c.fail(ctx, err)
		}
		if err := w.putBlock(ctx, block); err != nil {
			return err
		}
	}
	return w.c.exec(ctx, `DELETE FROM texts WHERE first BETWEEN ? AND ?`, int64(from), int64(query.SpanOf(from.Session()).To))
}
