package sqlite

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/ncruces/go-sqlite3"

	"github.com/yorehq/yore/fault"
	"github.com/yorehq/yore/internal/ingest"
)

// A file of ours that turns out damaged is removed and made anew from the logs.
// It is not kept: nobody could say later which of the texts in it were of
// sessions that are deleted by now, and whatever it holds is in the logs. Only
// what SQLite or a record calls damaged is; a file that cannot be opened or
// read, for want of descriptors, rights or a sound disk, stays as it is.
//
// Whoever meets the damage removes the file when it gives its connection back,
// so that the next use, in any process, finds none and makes it. Removing and
// making happen under one lock, and what is removed is the very file that was
// found damaged: another process may have put a new one in its place. A
// connection to a file that is gone notices when its next transaction begins.
//
// Who planned with a file and then finds none, or another that somebody may only
// have begun to fill, must not take what is missing for what is not there: see
// sameFile.

// damage is what a file says that is no whole database of ours.
const damage = damageError("the file is no whole database")

type damageError string

func (d damageError) Error() string { return string(d) }

func isDamage(err error) bool {
	var own damageError
	return errors.Is(err, sqlite3.CORRUPT) || errors.Is(err, sqlite3.NOTADB) || errors.As(err, &own)
}

// damaged is the failure of the call that met damage.
func damaged(cause error) error {
	return &fault.Error{
		Code:  fault.IndexFailed,
		Safe:  "A part of the search index was damaged and is made again: repeat the call.",
		Cause: fmt.Errorf("%w: %w", ingest.ErrDamaged, cause),
	}
}

// condemned is a file that was found damaged. It is kept open: the number of an
// inode may be given to another file once nobody has it open.
type condemned struct {
	info  os.FileInfo
	file  *os.File
	cause error
}

// condemn notes that the file that a connection has open is to be removed before
// its next use.
func (x *Index) condemn(c *conn, cause error) {
	if c.info == nil {
		return // in memory
	}
	f, err := os.Open(c.path)
	if err != nil {
		return // gone already, or whoever meets it next will try again
	}
	info, err := f.Stat()
	if err != nil || !os.SameFile(info, c.info) {
		f.Close()
		return
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	if _, ok := x.damaged[c.path]; ok || x.closed {
		f.Close()
		return
	}
	x.damaged[c.path] = condemned{info, f, cause}
}

// removeDamaged removes the file at a path if it was found damaged and is still
// that one.
func (x *Index) removeDamaged(ctx context.Context, path string) error {
	x.mu.Lock()
	found, ok := x.damaged[path]
	delete(x.damaged, path)
	x.mu.Unlock()
	if !ok {
		return nil
	}
	x.dropIdle(path)
	err := x.withRoom(func() error {
		return x.exclusively(ctx, func() error { return x.remove(path, found) })
	})
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		x.mu.Lock()
		defer x.mu.Unlock()
		if _, again := x.damaged[path]; again || x.closed {
			found.file.Close()
		} else {
			x.damaged[path] = found
		}
		return fmt.Errorf("a damaged index file cannot be removed: %w", err)
	}
	found.file.Close()
	return nil
}

// clearDamaged removes a damaged file after its use; if that fails it is tried
// again before its next use.
func (x *Index) clearDamaged(path string) {
	if err := x.removeDamaged(context.Background(), path); err != nil {
		x.log.Warn(err.Error(), "path", path)
	}
}

// remove is what removeDamaged does under the lock.
func (x *Index) remove(path string, found condemned) error {
	info, err := os.Lstat(path)
	if err != nil || !os.SameFile(info, found.info) {
		return err // another process was here
	}
	if runtime.GOOS == "windows" {
		found.file.Close() // it could not be removed
	}
	if err := os.Remove(path); err != nil {
		return err
	}
	removeAll(path)
	x.log.Warn("damaged index file removed, to be made again", "path", path, "cause", found.cause.Error())
	return nil
}

// errOutgrown says that a file is of an older schema.
const errOutgrown = replaced("the file is of an older version")

// removeOutgrown removes the file of an older schema, which is made anew from the
// logs. It is not changed in place: an older program that has it open goes on with
// what it has until its next transaction, finds another file then, and refuses
// that one as of a newer version. So the newest program has the index, and no two
// make it in turn. Nothing of the file stays either, whoever wrote what into it.
func (x *Index) removeOutgrown(ctx context.Context, c *conn) error {
	return x.exclusively(ctx, func() error {
		info, err := os.Lstat(c.path)
		if errors.Is(err, os.ErrNotExist) || err == nil && !os.SameFile(info, c.info) {
			return nil // another process was here
		}
		if err == nil {
			err = os.Remove(c.path)
		}
		if err == nil {
			removeAll(c.path)
			x.log.Info("an index file of an older version was removed, to be made again", "path", c.path)
		}
		if err == nil && c.at.catalog {
			err = x.removeOutgrownShards()
		}
		return err
	})
}

// removeOutgrownShards removes the shards that an older version left beside its
// catalog. Each would be met at the next look at its workspace, but for those of
// workspaces that nobody looks at any more, whose logs may be gone.
func (x *Index) removeOutgrownShards() error {
	paths, err := x.shardFiles()
	for _, path := range paths {
		schema, err := schemaOf(path)
		if err == nil && schema < schemaVersion {
			if err = os.Remove(path); err == nil {
				removeAll(path)
			}
		}
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
	}
	return err
}

// sameFile notes which file is at a path; c is nil if there is none. It fails
// once if that is another than this Index saw there before, so that everything
// is looked at again.
func (x *Index) sameFile(path string, c *conn) error {
	if c == nil {
		return x.sameInfo(path, nil)
	}
	return x.sameInfo(path, c.info)
}

// sameInfo is sameFile for whoever has no connection; info is nil if there is no file.
func (x *Index) sameInfo(path string, info os.FileInfo) error {
	if x.memory != "" {
		return nil
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	was, ok := x.seen[path]
	if ok && (info == nil || !os.SameFile(was, info)) {
		clear(x.seen)
		return damaged(errReplaced)
	}
	if info != nil {
		x.seen[path] = info
	}
	return nil
}

// removeLeftovers removes the damaged files that earlier versions kept.
func (x *Index) removeLeftovers() {
	for _, folder := range []string{x.dir, filepath.Join(x.dir, shardFolder)} {
		entries, err := os.ReadDir(folder)
		if err != nil {
			continue
		}
		for _, e := range entries {
			if isLeftover(e.Name()) {
				os.Remove(filepath.Join(folder, e.Name()))
			}
		}
	}
}

func isLeftover(name string) bool {
	base, _, ok := strings.Cut(name, shardSuffix+damagedSuffix)
	if !ok {
		return false
	}
	return base+shardSuffix == catalogFile || len(base) == len(shardName("")) && strings.Trim(base, "0123456789abcdef") == ""
}

// exclusively runs what makes or removes files, one at a time among all
// processes. The lock is SQLite's own on a database that stays empty: it ends
// with its holder, on every system.
func (x *Index) exclusively(ctx context.Context, work func() error) (err error) {
	path := filepath.Join(x.dir, lockFile)
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, fileMode)
	if err == nil {
		err = f.Close()
	}
	if err != nil {
		return err
	}
	c := &conn{x: x, path: path}
	defer c.guard(&err)
	if c.db, err = openPrivate(path); err != nil {
		return err
	}
	defer c.close()
	if err = c.db.BusyTimeout(x.busy); err != nil {
		return err
	}
	c.db.SetInterrupt(ctx)
	if err = c.execAll(`BEGIN EXCLUSIVE`); err != nil {
		return err
	}
	return work()
}
