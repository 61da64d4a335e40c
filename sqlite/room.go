package sqlite

import (
	"context"
	"errors"
	"os"
	"slices"
	"syscall"

	"github.com/ncruces/go-sqlite3"
)

// A connection holds three descriptors: the database, its log and the shared
// memory. No more connections than Options.MaxOpen are open at a time. A search
// over many workspaces has a snapshot of each of them, so a snapshot that is not
// being read gives its connection up when another needs the room, and takes one
// again when it is read: its view is the same while the shard's generation is.
// Only what is used at this very moment is not counted out: that many callers
// are inside a call.

// fewest is how many connections are kept however scarce descriptors are.
const fewest = 4

// dialWithRoom opens a database within the bound. shut closes it.
func (x *Index) dialWithRoom(ctx context.Context, at place, writer bool) (*conn, error) {
	x.makeRoom()
	c, err := x.dial(ctx, at, writer)
	if err != nil {
		x.closedOne()
	}
	return c, err
}

// withRoom does what opens files. When the process runs into its limit of
// descriptors, what is not in use is closed and the work done again.
func (x *Index) withRoom(work func() error) error {
	for {
		if err := work(); !isExhausted(err) || !x.yield() {
			return err
		}
	}
}

// isExhausted reports whether a file may not have been opened for want of
// descriptors. SQLite does not always say why it could not open one.
func isExhausted(err error) bool {
	switch {
	case errors.Is(err, syscall.EMFILE), errors.Is(err, syscall.ENFILE):
		return true
	case errors.Is(err, os.ErrPermission), errors.Is(err, os.ErrNotExist):
		return false
	}
	return errors.Is(err, sqlite3.CANTOPEN)
}

// errFull says why the index could not be written, or even read: SQLite makes
// files of its own beside a database that it only looks at.
var errFull = errors.New("no space is left on the disk of the index")

// isFull reports whether nothing more can be written to a folder. SQLite calls
// that an error of the disk, as it calls a broken one.
func isFull(folder string) bool {
	f, err := os.CreateTemp(folder, "room-*")
	if err == nil {
		_, err = f.Write(make([]byte, 256<<10))
		err = errors.Join(err, f.Close(), os.Remove(f.Name()))
	}
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT)
}

// shut closes a connection that dialWithRoom opened.
func (x *Index) shut(c *conn) error {
	defer x.closedOne()
	return c.close()
}

func (x *Index) closedOne() {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.opened--
}

// makeRoom counts one more connection and gives up others until it fits.
// Databases in memory have no descriptors.
func (x *Index) makeRoom() {
	for {
		x.mu.Lock()
		fits := x.opened < x.keep || x.memory != ""
		if fits {
			x.opened++
		}
		x.mu.Unlock()
		if fits {
			return
		}
		if !x.giveUpOne() {
			x.mu.Lock()
			x.opened++ // all are inside a call
			x.mu.Unlock()
			return
		}
	}
}

// yield gives up half of what is open and lowers the bound to the rest: others
// need descriptors too. It returns false if there is nothing to give up.
func (x *Index) yield() bool {
	x.mu.Lock()
	half := x.opened / 2
	x.keep = max(min(x.keep, half), fewest)
	x.mu.Unlock()
	any := false
	for {
		x.mu.Lock()
		enough := any && x.opened <= half
		x.mu.Unlock()
		if enough || !x.giveUpOne() {
			return any
		}
		any = true
	}
}

// giveUpOne closes the connection that was idle longest or, if none is, that of
// the snapshot that was read last: whoever goes over many snapshots in turn
// needs that one latest. It returns false if all are in use.
func (x *Index) giveUpOne() bool {
	x.mu.Lock()
	var c *conn
	if len(x.idle) > 0 {
		c = x.idle[0]
		x.idle = slices.Delete(x.idle, 0, 1)
	} else {
		for i, s := range slices.Backward(x.views) {
			if s.uses == 0 {
				c, s.c = s.c, nil
				x.views = slices.Delete(x.views, i, i+1)
				break
			}
		}
	}
	x.mu.Unlock()
	if c == nil {
		return false
	}
	c.rollback()
	x.shut(c)
	return true
}
