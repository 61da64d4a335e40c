package rows

import (
	"errors"
	"io"
	"io/fs"
	"os"

	"github.com/ncruces/go-sqlite3"
	"github.com/ncruces/go-sqlite3/vfs"

	"github.com/yorehq/yore/reader"
)

// A view is what SQLite takes for a file system that holds one database, which
// nobody else has open. The database, its log and its journal are the owner's
// files, opened for reading only; what SQLite would write into them, to roll back
// a transaction that was cut short, stays in our memory.
//
//	SQLite    exclusive: no file for the log's index; no lock means anything
//	view      blocks that were written │ the owner's bytes below them
//	owner     goes on as if nobody was there
//
// The price is that the owner may write over what is being read: a checkpoint
// copies the log into the database, and the log begins anew. So nothing that was
// read counts before steady has found the database, and the head of its log, as
// they were. A log that merely grew is no change: the view ends where it ended.
type view struct {
	path   string
	before seen
	main   *os.File
	gone   map[string]bool // deleted, as far as SQLite knows
	spent  int64           // bytes of written blocks
}

// viewName is the database's name within its view.
const viewName = "/db"

const (
	logSuffix     = "-wal"
	journalSuffix = "-journal"

	blockSize  = 4096
	mostBlocks = 256 << 20 // bytes
)

// magic begins every database.
const magic = "SQLite format 3\x00"

// newView looks at a database.
func newView(path string) (*view, error) {
	f, _, err := reader.OpenRegular(path)
	if err != nil {
		return nil, err
	}
	v := &view{path: path, main: f, gone: map[string]bool{}}
	if v.before, err = look(path); err == nil && string(v.before.head[:len(magic)]) != magic {
		err = ErrNoDatabase
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return v, nil
}

func (v *view) close() { v.main.Close() }

// bytes is how much there is to be read, before any journal is rolled back.
func (v *view) bytes() int64 { return v.before.main.Size + v.before.logged + v.before.journal.Size }

func (v *view) steady() bool {
	now, err := look(v.path)
	return err == nil && now.follows(&v.before)
}

// seen is as much of a database as tells whether it was written over.
type seen struct {
	main    reader.Stamp
	head    [100]byte // of the database: it counts transactions
	log     [32]byte  // the head of the log, which is another one whenever it begins anew; zero: none
	logged  int64     // bytes of the log
	journal reader.Stamp
}

func look(path string) (s seen, err error) {
	f, stamp, err := reader.OpenRegular(path)
	if err != nil {
		return s, err
	}
	defer f.Close()
	s.main = stamp
	if _, err := f.ReadAt(s.head[:], 0); err != nil && !errors.Is(err, io.EOF) {
		return s, err
	}
	if l, stamp, err := reader.OpenRegular(path + logSuffix); err == nil {
		defer l.Close()
		s.logged = stamp.Size
		if _, err := l.ReadAt(s.log[:], 0); err != nil && !errors.Is(err, io.EOF) {
			return s, err
		}
	}
	s.journal, err = reader.StatRegular(path + journalSuffix)
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	return s, err
}

// follows reports whether nothing that was there before has been written over.
func (s *seen) follows(before *seen) bool {
	log := s.log == before.log || before.log == [32]byte{} || s.log == [32]byte{}
	// A log that vanished was copied into the database, which shows there.
	return log && s.main == before.main && s.head == before.head && s.journal == before.journal
}

// Open implements vfs.VFS.
func (v *view) Open(name string, flags vfs.OpenFlag) (vfs.File, vfs.OpenFlag, error) {
	suffix := ""
	switch {
	case flags&vfs.OPEN_MAIN_DB != 0:
		return &file{v: v, base: v.main}, flags, nil
	case flags&vfs.OPEN_WAL != 0:
		suffix = logSuffix
	case flags&vfs.OPEN_MAIN_JOURNAL != 0:
		suffix = journalSuffix
	default:
		return nil, flags, sqlite3.CANTOPEN // temporary files are kept in memory
	}
	if name != viewName+suffix {
		return nil, flags, sqlite3.CANTOPEN
	}
	f := &file{v: v}
	if !v.gone[suffix] {
		base, _, err := reader.OpenRegular(v.path + suffix)
		switch {
		case err == nil:
			f.base, f.owned = base, true
		case !errors.Is(err, fs.ErrNotExist):
			return nil, flags, sqlite3.CANTOPEN
		}
	}
	delete(v.gone, suffix)
	return f, flags, nil
}

// Delete implements vfs.VFS.
func (v *view) Delete(name string, _ bool) error {
	if len(name) > len(viewName) {
		v.gone[name[len(viewName):]] = true
	}
	return nil
}

// Access implements vfs.VFS.
func (v *view) Access(name string, _ vfs.AccessFlag) (bool, error) {
	if len(name) < len(viewName) || name[:len(viewName)] != viewName {
		return false, nil
	}
	suffix := name[len(viewName):]
	if v.gone[suffix] {
		return false, nil
	}
	switch suffix {
	case "":
		return true, nil
	case logSuffix, journalSuffix:
		_, err := reader.StatRegular(v.path + suffix)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return false, err
		}
		return err == nil, nil
	}
	return false, nil
}

// FullPathname implements vfs.VFS.
func (v *view) FullPathname(name string) (string, error) { return name, nil }

// file is one file of a view.
type file struct {
	v      *view
	base   *os.File // nil: there is none
	owned  bool     // to be closed with the file
	blocks map[int64]*[blockSize]byte
	size   int64 // once something was written
	grown  bool  // size counts
	cut    int64 // bytes of base from here on are not there any more; if grown
}

// Close implements vfs.File.
func (f *file) Close() error {
	for range f.blocks {
		f.v.spent -= blockSize
	}
	f.blocks = nil
	if f.owned {
		return f.base.Close()
	}
	return nil
}

// Size implements vfs.File.
func (f *file) Size() (int64, error) {
	if f.grown {
		return f.size, nil
	}
	return f.baseSize()
}

func (f *file) baseSize() (int64, error) {
	if f.base == nil {
		return 0, nil
	}
	info, err := f.base.Stat()
	if err != nil {
		return 0, err
	}
	return info.Size(), nil
}

// ReadAt implements vfs.File.
func (f *file) ReadAt(p []byte, at int64) (int, error) {
	if !f.grown {
		if f.base == nil {
			return 0, io.EOF
		}
		return f.base.ReadAt(p, at)
	}
	n := int(max(0, min(int64(len(p)), f.size-at)))
	for done := 0; done < n; {
		number, in := (at+int64(done))/blockSize, (at+int64(done))%blockSize
		part := p[done:min(n, done+int(blockSize-in))]
		if b := f.blocks[number]; b != nil {
			copy(part, b[in:])
		} else if err := f.fromBase(part, at+int64(done)); err != nil {
			return done, err
		}
		done += len(part)
	}
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}

// fromBase fills p from the owner's file, and with zeros behind its end.
func (f *file) fromBase(p []byte, at int64) error {
	clear(p)
	if f.base == nil || at >= f.cut {
		return nil
	}
	_, err := f.base.ReadAt(p[:min(int64(len(p)), f.cut-at)], at)
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return err
}

// write makes the file's size its own.
func (f *file) write() error {
	if f.grown {
		return nil
	}
	size, err := f.baseSize()
	f.size, f.cut, f.grown, f.blocks = size, size, true, map[int64]*[blockSize]byte{}
	return err
}

// WriteAt implements vfs.File: into memory.
func (f *file) WriteAt(p []byte, at int64) (int, error) {
	if err := f.write(); err != nil {
		return 0, err
	}
	for done := 0; done < len(p); {
		number, in := (at+int64(done))/blockSize, (at+int64(done))%blockSize
		b := f.blocks[number]
		if b == nil {
			if f.v.spent += blockSize; f.v.spent > mostBlocks {
				return done, sqlite3.FULL
			}
			b = new([blockSize]byte)
			if err := f.fromBase(b[:], number*blockSize); err != nil {
				return done, err
			}
			f.blocks[number] = b
		}
		done += copy(b[in:], p[done:])
	}
	f.size = max(f.size, at+int64(len(p)))
	return len(p), nil
}

// Truncate implements vfs.File.
func (f *file) Truncate(size int64) error {
	if err := f.write(); err != nil {
		return err
	}
	f.size, f.cut = size, min(f.cut, size)
	for number, b := range f.blocks {
		switch from := size - number*blockSize; {
		case from <= 0:
			delete(f.blocks, number)
			f.v.spent -= blockSize
		case from < blockSize:
			clear(b[from:])
		}
	}
	return nil
}

// Sync implements vfs.File.
func (*file) Sync(vfs.SyncFlag) error { return nil }

// Lock implements vfs.File: the view is nobody else's.
func (*file) Lock(vfs.LockLevel) error { return nil }

// Unlock implements vfs.File.
func (*file) Unlock(vfs.LockLevel) error { return nil }

// CheckReservedLock implements vfs.File.
func (*file) CheckReservedLock() (bool, error) { return false, nil }

// SectorSize implements vfs.File.
func (*file) SectorSize() int { return 0 }

// DeviceCharacteristics implements vfs.File.
func (*file) DeviceCharacteristics() vfs.DeviceCharacteristic { return 0 }
