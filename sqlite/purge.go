package sqlite

import (
	"context"
	"errors"
	"time"

	"github.com/ncruces/go-sqlite3"

	"github.com/yorehq/yore/fault"
	"github.com/yorehq/yore/internal/ingest"
)

// What is left to do for a shard, in its row.
const (
	purgeMerge    = 1 // tokens of deleted documents are still in segments
	purgeTruncate = 2 // they are in the write-ahead log and in the pages it replaces
)

// purgeBytes bounds one step of a purge.
const purgeBytes = 4 << 20

// Purge does what is left to do when nobody waits. It finishes merges, and takes
// deleted text off the disk: deleted rows are overwritten at once
// (secure_delete), but tokens stay in the lists of segments until these are
// written anew, earlier pages in the write-ahead log until it is truncated, and
// rows that were moved in gaps of pages until these are wiped: see scrub.go.
// Each step is a transaction of its own. It returns false and no error when the
// context's deadline or another process, by an open snapshot or as a writer, stopped it; the shard remembers
// what is left.
func (x *Index) Purge(ctx context.Context, workspace string) (done bool, err error) {
	if m := x.memoOf(x.shardOf(workspace)); m != nil && m.tidy {
		return true, nil
	}
	probe, err := x.acquire(ctx, x.shardOf(workspace), false)
	if probe == nil || err != nil {
		return err == nil, err
	}
	due, err := probe.integer(ctx, `SELECT purge FROM shard`)
	rest := false
	if err == nil && due == 0 {
		rest, err = probe.unfinished(ctx)
	}
	x.release(probe)
	if err != nil || due == 0 && !rest {
		return err == nil, err
	}
	c, err := x.acquire(ctx, x.shardOf(workspace), true)
	if err != nil {
		return false, err
	}
	defer x.release(c)
	if rest {
		err = c.finish(ctx)
	} else {
		err = c.purge(ctx, due)
	}
	switch {
	case err == nil:
		return true, nil
	case fault.IsContext(err) && ctx.Err() != nil, errors.Is(err, errHeld), errors.Is(err, errMoved), errors.Is(err, ingest.ErrBusy):
		return false, nil
	}
	return false, err
}

// finishBytes bounds how much of unfinished merges one call does.
const finishBytes = 64 << 20

// unfinished reports whether merges are under way or many pages are free.
func (c *conn) unfinished(ctx context.Context) (bool, error) {
	n, err := c.integer(ctx, `SELECT count(*) FROM segments WHERE state <> ?`, segmentLive)
	if n > 0 || err != nil {
		return n > 0, err
	}
	n, err = c.integer(ctx, `SELECT freelist_count > 64 AND freelist_count > page_count / 32 FROM pragma_freelist_count, pragma_page_count, pragma_auto_vacuum WHERE auto_vacuum = 2`)
	return n > 0, err
}

// finish does what writes would do of merges bit by bit, since nobody waits now,
// and gives free pages back.
func (c *conn) finish(ctx context.Context) error {
	for done := int64(0); done < finishBytes; done += purgeBytes {
		more, err := c.unfinished(ctx)
		if !more || err != nil {
			return err
		}
		err = c.transaction(ctx, func() error {
			n, err := c.integer(ctx, `SELECT count(*) FROM segments WHERE state <> ?`, segmentLive)
			if err != nil || n > 0 {
				return errors.Join(err, c.proceed(ctx, purgeBytes))
			}
			return c.execAll(`PRAGMA incremental_vacuum(1024)`)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// errHeld says that a reader holds the log, or a writer the database.
const errHeld = held("another process holds the database")

type held string

func (h held) Error() string { return string(h) }

func (c *conn) purge(ctx context.Context, due int64) error {
	for attempt := 1; ; attempt++ {
		for due == purgeMerge {
			err := c.transaction(ctx, func() (err error) {
				due, err = c.purgeStep(ctx)
				return err
			})
			if err != nil {
				return err
			}
		}
		if c.x.memory != "" {
			return c.transaction(ctx, func() error {
				return c.exec(ctx, `UPDATE shard SET purge = 0 WHERE purge = ?`, purgeTruncate)
			})
		}
		step := int64(scrubStep)
		if attempt == scrubAttempts {
			step = scrubWhole
		}
		if err := c.scrub(ctx, step); err != errMoved {
			return err
		}
		// Who wrote may have deleted something.
		var err error
		if due, err = c.integer(ctx, `SELECT purge FROM shard`); err != nil || due == 0 {
			return err
		}
	}
}

// transaction runs work under the write lock.
func (c *conn) transaction(ctx context.Context, work func() error) error {
	if err := c.begin(ctx); err != nil {
		return err
	}
	if err := work(); err != nil {
		c.rollback()
		return err
	}
	return c.commit(ctx)
}

// purgeStep does a part of writing anew the segments that hold dead documents,
// and returns what is due then.
func (c *conn) purgeStep(ctx context.Context) (due int64, err error) {
	running, err := c.segments(ctx, segmentMade)
	if err != nil {
		return 0, err
	}
	if len(running) == 0 {
		live, err := c.segments(ctx, segmentLive)
		if err != nil {
			return 0, err
		}
		var marked []segment
		for _, g := range live {
			if g.dead > 0 && len(marked) < fanIn {
				marked = append(marked, g)
			}
		}
		merged, err := c.segments(ctx, segmentMerged)
		switch {
		case err != nil:
			return 0, err
		case len(marked) == 0 && len(merged) == 0:
			return purgeTruncate, c.exec(ctx, `UPDATE shard SET purge = ?`, purgeTruncate)
		case len(marked) > 0:
			if _, err := c.beginMerge(ctx, marked); err != nil {
				return 0, err
			}
		}
	}
	return purgeMerge, c.proceed(ctx, purgeBytes)
}

// truncate empties the write-ahead log, once no reader needs it.
func (c *conn) truncate(ctx context.Context) error {
	deadline := time.Now().Add(c.x.busy)
	for {
		err := c.checkpointLog()
		switch {
		case err == nil:
			return nil
		case ctx.Err() != nil:
			return ctx.Err()
		case !errors.Is(err, sqlite3.BUSY):
			return c.fail(ctx, err)
		case time.Now().After(deadline):
			return errHeld
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(10 * time.Millisecond):
		}
	}
}

func (c *conn) checkpointLog() (err error) {
	defer c.guard(&err)
	_, _, err = c.db.WALCheckpoint("main", sqlite3.CHECKPOINT_TRUNCATE)
	return err
}
