package sqlite

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/yorehq/yore/fault"
	"github.com/yorehq/yore/internal/ingest"
)

// acquire returns a connection to a database, kept or new. A writer makes the
// database if it is not there; a reader gets nil. A file that was found damaged
// is removed first: that is, for a reader it is not there.
func (x *Index) acquire(ctx context.Context, at place, writer bool) (*conn, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if x.memory != "" {
		path, err := x.inMemory(ctx, at, writer)
		if err != nil || path == "" {
			return nil, fault.Wrap(fault.IndexFailed, err)
		}
		at.path = path
	}
	if err := x.removeDamaged(ctx, at.path); err != nil {
		return nil, fault.Wrap(fault.IndexFailed, err)
	}
	c, err := x.takeIdle(at.path, writer)
	if c != nil || err != nil {
		return c, err
	}
	c, err = x.openPatiently(ctx, at, writer)
	if errors.Is(err, ingest.ErrDamaged) {
		x.clearDamaged(at.path)
	}
	if isBusy(err) {
		err = fmt.Errorf("%w: %w", fault.IndexFailed, errors.Join(ingest.ErrBusy, err))
	}
	return c, fault.Wrap(fault.IndexFailed, err)
}

// openPatiently opens although another process makes, recovers or closes the
// database at this moment: SQLite then says at once that it is busy, without the
// wait that it has for locks.
func (x *Index) openPatiently(ctx context.Context, at place, writer bool) (*conn, error) {
	for deadline := time.Now().Add(x.busy); ; {
		var c *conn
		err := x.withRoom(func() (err error) {
			c, err = x.open(ctx, at, writer)
			return err
		})
		if !isBusy(err) || ctx.Err() != nil || !time.Now().Before(deadline) {
			return c, err
		}
		time.Sleep(5 * time.Millisecond)
	}
}

// errReplaced says that another process put a file in a path's place while it was opened.
const errReplaced = replaced("another process replaced the file")

type replaced string

func (r replaced) Error() string { return string(r) }

// open makes a new connection to a database that is there or, for a writer, made.
func (x *Index) open(ctx context.Context, at place, writer bool) (*conn, error) {
	if x.memory == "" {
		found, err := x.look(at)
		if err != nil || found.absent() && !writer {
			return nil, err
		}
		if found.absent() {
			// The folder too may be gone: caches are emptied under running programs.
			if err := x.prepareFolder(); err != nil {
				return nil, err
			}
			if err := x.create(ctx, at); err != nil {
				return nil, err
			}
			if found, err = x.look(at); err != nil {
				return nil, err
			}
		}
		if err := found.refuse(); err != nil {
			return nil, err
		}
	}
	c, err := x.dialWithRoom(ctx, at, writer)
	switch {
	case errors.Is(err, os.ErrNotExist) && writer:
		return nil, errReplaced
	case errors.Is(err, os.ErrNotExist):
		return nil, nil
	case err != nil:
		return nil, err
	}
	err = c.check(ctx)
	// SQLite opens the log with the first read. Only if the file is still at its
	// path by now are the two known to belong together.
	if !c.current() {
		err = errReplaced
	} else if isDamage(err) && !errors.Is(err, ingest.ErrDamaged) {
		err = c.fail(ctx, err)
	}
	if err == nil {
		return c, nil
	}
	c.broken = true
	x.shut(c)
	if errors.Is(err, errOutgrown) {
		if err = x.removeOutgrown(ctx, c); err == nil && writer {
			err = errReplaced // it is made the next time round
		}
	}
	return nil, err
}

// check makes sure that the database is ours, of our schema, and the shard of
// the workspace that it is opened for.
func (c *conn) check(ctx context.Context) error {
	older, err := c.isOurs(ctx)
	if err == nil && older {
		err = errOutgrown
	}
	if err != nil {
		return err
	}
	if !c.at.catalog {
		holds, rows := "", 0
		err = c.rowsOf(ctx, `SELECT workspace FROM shard`, func(r row) error {
			holds, rows = r.text(0), rows+1
			return nil
		})
		if err != nil {
			return err
		}
		if rows != 1 {
			return damage // the transaction that made it wrote one
		}
		if holds != c.at.workspace {
			return fault.New(fault.IndexFailed, "a shard holds another workspace than its name says")
		}
	}
	if c.writer {
		return nil
	}
	return c.execAll(`PRAGMA query_only = ON`)
}

// release gives a connection back. No transaction may be open.
func (x *Index) release(c *conn) {
	if c == nil {
		return
	}
	c.merging.columns = nil
	var excess *conn
	x.mu.Lock()
	if x.closed || c.broken {
		excess = c
	} else if x.idle = append(x.idle, c); len(x.idle) > x.keep {
		excess = x.idle[0]
		x.idle = slices.Delete(x.idle, 0, 1)
	}
	x.mu.Unlock()
	if excess != nil {
		x.shut(excess)
	}
	if c.broken {
		x.clearDamaged(c.path)
	}
}

// takeIdle returns a kept connection, the latest used first, if its file is
// still the one at the path.
func (x *Index) takeIdle(path string, writer bool) (*conn, error) {
	for {
		x.mu.Lock()
		if x.closed {
			x.mu.Unlock()
			return nil, fmt.Errorf("%w: the index is closed", fault.IndexFailed)
		}
		at := -1
		for i, c := range slices.Backward(x.idle) {
			if c.path == path && c.writer == writer {
				at = i
				break
			}
		}
		if at < 0 {
			x.mu.Unlock()
			return nil, nil
		}
		c := x.idle[at]
		x.idle = slices.Delete(x.idle, at, at+1)
		x.mu.Unlock()
		if c.current() {
			return c, nil
		}
		x.shut(c)
	}
}

// current reports whether the file at the connection's path is still the one
// that it has open: a shard can be removed or set aside by another process.
func (c *conn) current() bool {
	if c.info == nil {
		return true
	}
	info, err := os.Stat(c.path)
	return err == nil && os.SameFile(info, c.info)
}

func (x *Index) dropIdle(path string) {
	var drop []*conn
	x.mu.Lock()
	x.idle = slices.DeleteFunc(x.idle, func(c *conn) bool {
		if c.path == path {
			drop = append(drop, c)
			return true
		}
		return false
	})
	delete(x.rows, path)
	delete(x.memos, path)
	x.mu.Unlock()
	for _, c := range drop {
		x.shut(c)
	}
}

// inMemory returns the name of a database in memory, "" if a reader asks for
// one that is not there. One connection of each stays open, or it would go.
func (x *Index) inMemory(ctx context.Context, at place, writer bool) (string, error) {
	x.making.Lock()
	defer x.making.Unlock()
	x.mu.Lock()
	keeper, closed := x.keepers[at.path], x.closed
	x.mu.Unlock()
	switch {
	case closed:
		return "", fmt.Errorf("%w: the index is closed", fault.IndexFailed)
	case keeper != nil:
		return keeper.path, nil
	case !writer:
		return "", nil
	}
	named := at
	x.made++
	named.path = fmt.Sprintf("/%s-%d", x.memory, x.made)
	c, err := x.dial(ctx, named, true)
	if err != nil {
		return "", err
	}
	if err = c.execAll(`BEGIN`); err == nil {
		if err = c.build(ctx, at); err == nil {
			err = c.execAll(`COMMIT`)
		}
	}
	if err != nil {
		c.close()
		return "", err
	}
	c.db.SetInterrupt(context.Background())
	x.mu.Lock()
	x.keepers[at.path] = c
	x.mu.Unlock()
	return c.path, nil
}
