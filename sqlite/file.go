package sqlite

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/yorehq/yore/fault"
)

const (
	catalogFile   = "catalog.db"
	shardFolder   = "shards"
	shardSuffix   = ".db"
	newPrefix     = "new-"
	damagedSuffix = ".damaged-"

	folderMode = 0o700
	fileMode   = 0o600
)

// place is where a database is.
type place struct {
	catalog   bool
	workspace string
	path      string // of the file, or its name in memory
}

func (x *Index) catalogPath() string { return filepath.Join(x.dir, catalogFile) }

func catalogOf(x *Index) place { return place{catalog: true, path: x.catalogPath()} }

func (x *Index) shardOf(workspace string) place {
	return place{workspace: workspace, path: filepath.Join(x.dir, shardFolder, shardName(workspace)+shardSuffix)}
}

// shardName is the first half of the workspace's SHA-256, in hex.
func shardName(workspace string) string {
	sum := sha256.Sum256([]byte(workspace))
	return hex.EncodeToString(sum[:])[:32]
}

// prepareFolder makes the index's folder and the shards' below it. A folder
// that holds other things than an index keeps its mode: it is not ours.
func prepareFolder(dir string) error {
	shards := filepath.Join(dir, shardFolder)
	info, err := os.Stat(dir)
	switch {
	case errors.Is(err, os.ErrNotExist):
		if err := os.MkdirAll(dir, folderMode); err != nil {
			return err
		}
	case err != nil:
		return err
	case !info.IsDir():
		return fault.New(fault.IndexFailed, "the index path exists and is no folder")
	default:
		entries, err := os.ReadDir(dir)
		if err != nil {
			return err
		}
		if len(entries) > 0 && sniff(filepath.Join(dir, catalogFile)) != ours {
			break
		}
		if info.Mode().Perm() != folderMode {
			if err := os.Chmod(dir, folderMode); err != nil {
				return err
			}
		}
	}
	if kind := sniff(filepath.Join(dir, catalogFile)); kind != ours && kind != missing {
		return kind.refuse()
	}
	if err := os.MkdirAll(shards, folderMode); err != nil {
		return err
	}
	if info, err := os.Stat(shards); err != nil || info.Mode().Perm() == folderMode {
		return err
	}
	return os.Chmod(shards, folderMode)
}

// content is what a file's first bytes say.
type content uint8

const (
	missing content = iota
	ours
	stranger // another application's database
	noDatabase
)

func (k content) refuse() error {
	if k == stranger {
		return fault.New(fault.IndexFailed, "the index holds a database of another application")
	}
	return fault.New(fault.IndexFailed, "the index holds a file that is no database")
}

// sniff looks at a file without SQLite, so that nothing is created beside a
// stranger's database. The application id is in the first page from the moment
// the file is there: see create.
func sniff(path string) content {
	info, err := os.Lstat(path)
	if errors.Is(err, os.ErrNotExist) {
		return missing
	}
	if err != nil || !info.Mode().IsRegular() {
		return noDatabase
	}
	f, err := os.Open(path)
	if err != nil {
		return noDatabase
	}
	defer f.Close()
	var head [100]byte
	if _, err := io.ReadFull(f, head[:]); err != nil || !bytes.HasPrefix(head[:], []byte("SQLite format 3\x00")) {
		return noDatabase
	}
	if binary.BigEndian.Uint32(head[68:]) != application {
		return stranger
	}
	return ours
}

// readyCompanions makes the files that SQLite would make with a mode of its
// own: the write-ahead log and the shared memory. Empty ones mean nothing.
func readyCompanions(path string) error {
	for _, suffix := range []string{"", "-wal", "-shm"} {
		name := path + suffix
		info, err := os.Lstat(name)
		switch {
		case errors.Is(err, os.ErrNotExist):
			f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_EXCL, fileMode)
			if err == nil {
				err = f.Close()
			}
			if err != nil && !errors.Is(err, os.ErrExist) {
				return err
			}
		case err != nil:
			return err
		case info.Mode().Perm()&0o077 != 0:
			if err := os.Chmod(name, fileMode); err != nil && !errors.Is(err, os.ErrNotExist) {
				return err
			}
		}
	}
	return nil
}

// create makes a database beside its final place and links it there when it is
// whole, so that no process ever meets half of one. If another process was
// first, its database stays.
func (x *Index) create(ctx context.Context, at place) error {
	clearStale(filepath.Dir(at.path))
	tmp := filepath.Join(filepath.Dir(at.path), newPrefix+rand.Text()+shardSuffix)
	f, err := os.OpenFile(tmp, os.O_RDWR|os.O_CREATE|os.O_EXCL, fileMode)
	if err != nil {
		return err
	}
	f.Close()
	defer removeAll(tmp)
	half := at
	half.path = tmp
	c, err := x.dial(ctx, half, true)
	if err != nil {
		return err
	}
	if err = c.execAll(`PRAGMA journal_mode = MEMORY; BEGIN`); err == nil {
		if err = c.build(ctx, at); err == nil {
			err = c.execAll(`COMMIT; PRAGMA journal_mode = WAL`)
		}
	}
	if err = errors.Join(err, c.close()); err != nil {
		return err
	}
	if _, err := os.Lstat(at.path); errors.Is(err, os.ErrNotExist) {
		// What a database that is gone may have left would be taken for this one's.
		os.Remove(at.path + "-wal")
		os.Remove(at.path + "-shm")
	}
	if err = os.Link(tmp, at.path); err != nil && !errors.Is(err, os.ErrExist) {
		err = os.Rename(tmp, at.path) // a file system without links
	}
	if errors.Is(err, os.ErrExist) {
		return nil
	}
	return err
}

func removeAll(path string) {
	for _, suffix := range []string{"", "-wal", "-shm", "-journal"} {
		os.Remove(path + suffix)
	}
}

// clearStale removes what processes that were killed while they made a database left.
func clearStale(dir string) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return
	}
	for _, e := range entries {
		info, err := e.Info()
		if err == nil && strings.HasPrefix(e.Name(), newPrefix) && time.Since(info.ModTime()) > time.Hour {
			os.Remove(filepath.Join(dir, e.Name()))
		}
	}
}

// setAside renames a damaged database of ours, so that it can be made anew. An
// earlier damaged one of the same name goes: what it holds may have been
// forgotten since.
func (x *Index) setAside(path string, cause error) error {
	x.dropIdle(path)
	if old, err := filepath.Glob(globEscape(path) + damagedSuffix + "*"); err == nil {
		for _, name := range old {
			os.Remove(name)
		}
	}
	aside := path + damagedSuffix + time.Now().UTC().Format("20060102T150405.000")
	if err := os.Rename(path, aside); err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("%w: a damaged file cannot be set aside: %w", fault.IndexFailed, err)
	}
	os.Rename(path+"-wal", aside+"-wal")
	os.Remove(path + "-shm")
	x.log.Warn("damaged index file set aside", "path", aside, "cause", fmt.Sprint(cause))
	return nil
}

// globEscape makes a path stand for itself in a pattern.
func globEscape(path string) string {
	if filepath.Separator == '\\' {
		return path
	}
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(path)
}
