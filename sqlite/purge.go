package sqlite

import (
	"context"
	"errors"
	"time"

	"github.com/ncruces/go-sqlite3"

	"github.com/yorehq/yore/fault"
)

// What is left to do for a shard, in its row.
const (
	purgeMerge    = 1 // tokens of deleted documents are still in segments
	purgeTruncate = 2 // they are in the write-ahead log and in the pages it replaces
	purgeMerging  = 3 // as purgeMerge, and nothing was deleted since the merge began
)

// mergePages bounds one step of a merge: some 150 ms and a few MB of log.
const mergePages = 500

// Purge takes deleted text off the disk: deleted rows are overwritten at once
// (secure_delete), but tokens stay in the segments of the full-text index until
// these are merged, and earlier pages in the write-ahead log until it is
// truncated. Each step is a transaction of its own. It returns false and no
// error when the context's deadline or a reader's open snapshot stopped it; the
// shard remembers what is left.
func (x *Index) Purge(ctx context.Context, workspace string) (done bool, err error) {
	probe, err := x.acquire(ctx, x.shardOf(workspace), false)
	if probe == nil || err != nil {
		return err == nil, err
	}
	due, err := probe.integer(ctx, `SELECT purge FROM shard`)
	x.release(probe)
	if err != nil || due == 0 {
		return err == nil, err
	}
	c, err := x.acquire(ctx, x.shardOf(workspace), true)
	if err != nil {
		return false, err
	}
	defer x.release(c)
	err = c.purge(ctx, due)
	switch {
	case err == nil:
		return true, nil
	case fault.IsContext(err) && ctx.Err() != nil, errors.Is(err, errHeld):
		return false, nil
	}
	return false, err
}

// errHeld says that a reader holds the log.
const errHeld = held("a reader holds the write-ahead log")

type held string

func (h held) Error() string { return string(h) }

func (c *conn) purge(ctx context.Context, due int64) error {
	// The first step makes all segments one merge; the following go on with it.
	for pages := -mergePages; due != purgeTruncate; {
		if err := c.begin(ctx); err != nil {
			return err
		}
		before := c.db.TotalChanges()
		err := c.exec(ctx, `INSERT INTO f (f, rank) VALUES ('merge', ?)`, pages)
		switch idle := c.db.TotalChanges()-before < 2; {
		case err != nil:
		case pages < 0:
			err = c.exec(ctx, `UPDATE shard SET purge = ?`, purgeMerging)
			pages = mergePages
		case idle: // it changed at most its own row
			err = c.exec(ctx, `UPDATE shard SET purge = ? WHERE purge = ?`, purgeTruncate, purgeMerging)
			if due = purgeTruncate; c.db.Changes() == 0 {
				due, pages = purgeMerge, -mergePages // something was deleted meanwhile
			}
		}
		if err != nil {
			c.rollback()
			return err
		}
		if err := c.commit(ctx); err != nil {
			return err
		}
	}
	if c.x.memory == "" {
		if err := c.truncate(ctx); err != nil {
			return err
		}
	}
	if err := c.begin(ctx); err != nil {
		return err
	}
	if err := c.exec(ctx, `UPDATE shard SET purge = 0 WHERE purge = ?`, purgeTruncate); err != nil {
		c.rollback()
		return err
	}
	return c.commit(ctx)
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
