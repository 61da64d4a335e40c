package sqlite

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/yorehq/yore/fault"
)

const (
	catalogFile   = "catalog.db"
	shardFolder   = "shards"
	shardSuffix   = ".db"
	newPrefix     = "new-"
	damagedSuffix = ".damaged-" // of files that earlier versions kept
	lockFile      = "lock"

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
// that is there keeps its mode: it may hold other things and be others' as well.
func (x *Index) prepareFolder() error {
	info, err := os.Stat(x.dir)
	switch {
	case errors.Is(err, os.ErrNotExist):
		if err := os.MkdirAll(x.dir, folderMode); err != nil {
			return err
		}
	case err != nil:
		return err
	case !info.IsDir():
		return fault.New(fault.IndexFailed, "the index path exists and is no folder")
	}
	found, err := x.look(catalogOf(x))
	if err == nil {
		err = found.refuse()
	}
	if err != nil {
		return err
	}
	shards := filepath.Join(x.dir, shardFolder)
	if err := os.MkdirAll(shards, folderMode); err != nil {
		return err
	}
	if info, err = os.Stat(shards); err != nil || info.Mode().Perm() == folderMode || found.kind != ours {
		return err
	}
	return os.Chmod(shards, folderMode)
}

// content is what a file's first bytes say.
type content uint8

const (
	missing    content = iota
	empty              // nobody's yet
	ours               // a database of ours, as far as its header goes
	stranger           // another application's database
	noDatabase         // a file that is none
	noFile             // a folder, a link or a device
)

// sight is what was seen at a path.
type sight struct {
	kind content
	info os.FileInfo // nil: missing
}

// absent reports whether a database can be made there.
func (s sight) absent() bool { return s.kind == missing || s.kind == empty }

// refuse is why the file stays as it is and is not used, damage if it is a
// whole database of ours no longer; nil if it is or can become one.
func (s sight) refuse() error {
	switch s.kind {
	case stranger:
		return unusable("the index holds a database of another application").fault()
	case noDatabase, noFile:
		return unusable("the index holds a file that is no database").fault()
	}
	return nil
}

// look says what is at a place. A file without a header was ours if it can have
// been nobody else's: a shard by its folder and name, the catalog by the shards
// beside it. A file that cannot be read says nothing: that is an error.
func (x *Index) look(at place) (sight, error) {
	found, err := sniff(at.path)
	if err != nil || found.kind != noDatabase {
		return found, err
	}
	if at.catalog {
		shards, err := x.shardFiles()
		if err != nil || len(shards) == 0 {
			return found, err
		}
	}
	found.kind = ours
	return found, nil
}

// sniff looks at a file without SQLite, so that nothing is created beside a
// stranger's database. The application id is in the first page from the moment
// the file is there: see create.
func sniff(path string) (sight, error) {
	info, err := os.Lstat(path)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return sight{}, nil
	case err != nil:
		return sight{}, err
	case !info.Mode().IsRegular():
		return sight{noFile, info}, nil
	}
	f, err := os.Open(path)
	if errors.Is(err, os.ErrNotExist) {
		return sight{}, nil
	}
	if err != nil {
		return sight{}, err
	}
	defer f.Close()
	if info, err = f.Stat(); err != nil {
		return sight{}, err
	}
	var head [100]byte
	n, err := io.ReadFull(f, head[:])
	switch {
	case errors.Is(err, io.EOF):
		return sight{empty, info}, nil
	case err != nil && !errors.Is(err, io.ErrUnexpectedEOF):
		return sight{}, err
	case n < len(head) || !bytes.HasPrefix(head[:], []byte("SQLite format 3\x00")):
		return sight{noDatabase, info}, nil
	case binary.BigEndian.Uint32(head[68:]) != application:
		return sight{stranger, info}, nil
	}
	return sight{ours, info}, nil
}

// shardFiles returns the paths of the databases of ours among the shards.
func (x *Index) shardFiles() (paths []string, err error) {
	folder := filepath.Join(x.dir, shardFolder)
	entries, err := os.ReadDir(folder)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	for _, e := range entries {
		if filepath.Ext(e.Name()) != shardSuffix || strings.HasPrefix(e.Name(), newPrefix) {
			continue
		}
		path := filepath.Join(folder, e.Name())
		found, err := sniff(path)
		if err != nil {
			return nil, err
		}
		if found.kind == ours {
			paths = append(paths, path)
		}
	}
	return paths, err
}

// readyCompanions makes the files that SQLite would make with a mode of its
// own: the write-ahead log and the shared memory. Empty ones mean nothing.
func readyCompanions(path string) error {
	for _, suffix := range []string{"", "-wal", "-shm"} {
		name := path + suffix
		info, err := os.Lstat(name)
		switch {
		case errors.Is(err, os.ErrNotExist) && suffix == "":
			return err // it went this moment, and is not ours to make here
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
		case info.Mode().Perm()&0o077 != 0 && runtime.GOOS != "windows": // where it says no more than whether one may write
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
	if err = c.execAll(`PRAGMA auto_vacuum = INCREMENTAL; PRAGMA journal_mode = MEMORY; BEGIN`); err == nil {
		if err = c.build(ctx, at); err == nil {
			err = c.execAll(`COMMIT; PRAGMA journal_mode = WAL`)
		}
	}
	if err = errors.Join(err, c.close()); err != nil {
		return err
	}
	return x.exclusively(ctx, func() error {
		found, err := sniff(at.path)
		if err != nil || !found.absent() {
			return err
		}
		// What a database that is gone may have left would be taken for this one's.
		removeAll(at.path)
		if err = os.Link(tmp, at.path); err != nil && !errors.Is(err, os.ErrExist) {
			err = os.Rename(tmp, at.path) // a file system without links
		}
		return err
	})
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
