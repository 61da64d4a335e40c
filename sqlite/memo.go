package sqlite

import (
	"context"
	"os"
	"time"

	"github.com/yorehq/yore/internal/btree"
	"github.com/yorehq/yore/internal/ingest"
	"github.com/yorehq/yore/query"
)

// A search over everything has hundreds of shards and may keep a few open, so
// what is small of each is remembered: whether its logs are up to date, its
// sessions, its totals, its segments. Two stats tell whether it still holds. What
// a search then opens a shard for is what it has not read of it lately (cache.go)
// and the texts that it shows.
//
//	stat of the database and of its log ──same as before──▶ the memo
//	        │ changed, or too young for the file system's clock to tell
//	        ▼
//	   open and read
//
// A snapshot that was made of a memo has no connection yet; the first read
// takes one and finds out, by the generation, whether the shard is still the one.

// memo is what was read of a shard at one generation.
type memo struct {
	stamp      fileStamp
	generation uint64
	birth      int64
	totals     query.Totals
	names      *names
	segments   []*searched
	glances    []ingest.Glance
	rows       []query.Row

	// What is needed to read on without SQLite; roots are nil if it was read by it.
	header btree.Header
	roots  map[string]uint32
	tidy   bool // a purge would find nothing to do
}

// fileStamp is what two stats tell of a database. An empty log says nothing and
// is taken for none.
type fileStamp struct {
	size, changed, logSize, logChanged int64
}

// settled is how old a change must be for an equal stamp to mean an unchanged
// file: clocks of file systems are coarse.
const settled = 2 * time.Second

// stampOf stats a database; ok is false if there is none, or if it changed so
// lately that the next change may leave the stamp as it is.
func stampOf(path string, now time.Time) (s fileStamp, info os.FileInfo, ok bool) {
	info, err := os.Stat(path)
	if err != nil {
		return s, nil, false
	}
	s.size, s.changed = info.Size(), info.ModTime().UnixNano()
	if log, err := os.Stat(path + "-wal"); err == nil && log.Size() > 0 {
		s.logSize, s.logChanged = log.Size(), log.ModTime().UnixNano()
	}
	young := now.Add(-settled).UnixNano()
	return s, info, s.changed < young && s.logChanged < young
}

// memoOf returns what is remembered of a shard, nil if that may be out of date.
func (x *Index) memoOf(at place) *memo {
	if x.memory != "" {
		return nil
	}
	x.mu.Lock()
	m, seen := x.memos[at.path], x.seen[at.path]
	_, condemned := x.damaged[at.path]
	x.mu.Unlock()
	if m == nil || condemned || seen == nil {
		return nil
	}
	stamp, info, ok := stampOf(at.path, time.Now())
	if !ok || stamp != m.stamp || !os.SameFile(info, seen) {
		return nil
	}
	return m
}

// memoize reads the small things of a shard in one transaction and remembers
// them if they are sure to be recognised.
func (x *Index) memoize(ctx context.Context, at place, c *conn) (*memo, error) {
	before, _, sure := stampOf(at.path, time.Now())
	m := &memo{stamp: before}
	if err := c.exec(ctx, `BEGIN`); err != nil {
		return nil, err
	}
	defer c.rollback()
	err := c.rowsOf(ctx, `SELECT generation, documents, tokens, birth FROM shard`, func(r row) error {
		m.generation, m.totals, m.birth = r.uint64(0), query.Totals{Documents: r.int(1), Tokens: r.int(2)}, r.int(3)
		return nil
	})
	if err == nil {
		m.glances, err = c.glances(ctx, nil)
	}
	if err == nil {
		m.names, err = c.named(ctx)
	}
	if err == nil {
		m.segments, err = c.searched(ctx, m.totals.Documents)
	}
	for _, g := range m.segments {
		if err == nil {
			g.runs, err = c.runsOf(ctx, g.id)
		}
	}
	if rows, ok := x.keptRows(at.path, m.generation, m.birth); ok {
		m.rows = rows
	} else if err == nil {
		m.rows, err = c.sessionRows(ctx)
	}
	if err != nil {
		return nil, err
	}
	x.remember(at, m, sure)
	return m, nil
}

// mostMemos bounds what is remembered.
const mostMemos = 4096

func (x *Index) remember(at place, m *memo, sure bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if len(x.rows) >= mostMemos {
		clear(x.rows)
	}
	x.rows[at.path] = cached{m.generation, m.birth, m.rows}
	if !sure {
		delete(x.memos, at.path)
		return
	}
	if len(x.memos) >= mostMemos {
		clear(x.memos)
	}
	x.memos[at.path] = m
}

func (c *conn) sessionRows(ctx context.Context) (rows []query.Row, err error) {
	err = c.rowsOf(ctx, `SELECT `+rowColumns+` FROM sessions ORDER BY num`, func(r row) error {
		rows = append(rows, r.sessionRow())
		return nil
	})
	return rows, err
}

// keptRows returns the sessions of a shard if they are known as of a generation.
func (x *Index) keptRows(path string, generation uint64, birth int64) ([]query.Row, bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	kept, ok := x.rows[path]
	if !ok || kept.generation != generation || kept.birth != birth {
		return nil, false
	}
	return kept.rows, true
}
