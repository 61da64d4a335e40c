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
// database if it is not there; a reader gets nil. A damaged shard is set aside
// first: that is, for a reader it is not there.
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
	c, mark, err := x.takeIdle(at.path, writer)
	if c != nil || err != nil {
		return c, err
	}
	if mark != nil {
		if err := x.setMarkedAside(at.path, mark); err != nil {
			return nil, err
		}
	}
	c, err = x.openPatiently(ctx, at, writer)
	if isDamage(err) && !at.catalog && x.memory == "" {
		if err = x.setAside(at.path, err); err == nil {
			c, err = x.openPatiently(ctx, at, writer)
		}
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
		c, err := x.open(ctx, at, writer)
		if !isBusy(err) || ctx.Err() != nil || !time.Now().Before(deadline) {
			return c, err
		}
		time.Sleep(5 * time.Millisecond)
	}
}

// open makes a new connection to a database that is there or, for a writer, made.
func (x *Index) open(ctx context.Context, at place, writer bool) (*conn, error) {
	if x.memory == "" {
		kind := sniff(at.path)
		if kind == missing && !writer {
			return nil, nil
		}
		if kind == missing {
			// The folder too may be gone: caches are emptied under running programs.
			if err := prepareFolder(x.dir); err != nil {
				return nil, err
			}
			if err := x.create(ctx, at); err != nil {
				return nil, err
			}
			kind = sniff(at.path)
		}
		switch {
		case kind == noDatabase && !at.catalog:
			return nil, damage
		case kind != ours:
			return nil, kind.refuse()
		}
	}
	c, err := x.dial(ctx, at, writer)
	if errors.Is(err, os.ErrNotExist) && !writer {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	if err := c.check(ctx); err != nil {
		c.broken = true
		c.close()
		return nil, err
	}
	return c, nil
}

// check makes sure that the database is ours, of our schema, and the shard of
// the workspace that it is opened for.
func (c *conn) check(ctx context.Context) error {
	older, err := c.isOurs(ctx)
	if err == nil && older {
		err = c.rebuild(ctx, c.at)
	}
	if err != nil {
		return err
	}
	if !c.at.catalog {
		holds := ""
		err = c.rowsOf(ctx, `SELECT workspace FROM shard`, func(r row) error {
			holds = r.text(0)
			return nil
		})
		if err != nil {
			return err
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
	c.found = nil
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
		excess.close()
	}
}

// takeIdle returns a kept connection, the latest used first, if its file is
// still the one at the path; mark is the file at the path that was found
// damaged, if any.
func (x *Index) takeIdle(path string, writer bool) (c *conn, mark os.FileInfo, err error) {
	for {
		x.mu.Lock()
		if x.closed {
			x.mu.Unlock()
			return nil, nil, fmt.Errorf("%w: the index is closed", fault.IndexFailed)
		}
		mark = x.damaged[path]
		delete(x.damaged, path)
		at := -1
		for i, c := range slices.Backward(x.idle) {
			if c.path == path && c.writer == writer {
				at = i
				break
			}
		}
		if at < 0 || mark != nil {
			x.mu.Unlock()
			return nil, mark, nil
		}
		c = x.idle[at]
		x.idle = slices.Delete(x.idle, at, at+1)
		x.mu.Unlock()
		if c.current() {
			return c, nil, nil
		}
		c.close()
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
	x.mu.Unlock()
	for _, c := range drop {
		c.close()
	}
}

func (x *Index) markDamaged(c *conn) {
	if c.info == nil {
		return
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	x.damaged[c.path] = c.info
}

// setMarkedAside sets a file aside unless another process has done so.
func (x *Index) setMarkedAside(path string, mark os.FileInfo) error {
	if info, err := os.Stat(path); err != nil || !os.SameFile(info, mark) {
		x.dropIdle(path)
		return nil
	}
	return x.setAside(path, damage)
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
