package reader

import (
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"io/fs"
	"os"
	"reflect"
	"syscall"
)

// OpenRegular opens a plain file for reading. A device, a pipe or a socket is
// refused without waiting for it.
func OpenRegular(path string) (*os.File, Stamp, error) {
	before, err := os.Stat(path)
	if err != nil {
		return nil, Stamp{}, err
	}
	if !before.Mode().IsRegular() {
		return nil, Stamp{}, fmt.Errorf("%s is no plain file", path)
	}
	// Not blocking: the path may have become a pipe since the stat.
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, Stamp{}, err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("%s is no plain file", path)
	}
	if err != nil {
		return nil, Stamp{}, errors.Join(err, f.Close())
	}
	return f, StampOf(info), nil
}

// StatRegular stats a plain file, following links. A file that is not there
// gives an error that wraps fs.ErrNotExist.
func StatRegular(path string) (Stamp, error) {
	info, err := os.Stat(path)
	if err != nil {
		return Stamp{}, err
	}
	if !info.Mode().IsRegular() {
		return Stamp{}, fmt.Errorf("%s is no plain file", path)
	}
	return StampOf(info), nil
}

// StampOf makes a stamp of a stat.
func StampOf(info fs.FileInfo) Stamp {
	s := Stamp{Size: info.Size(), ModTime: info.ModTime().UnixNano()}
	s.Device, s.Inode = identity(info)
	return s
}

// checkBytes is how many bytes before an offset, and of the head of the file,
// go into a check.
const checkBytes = 4 << 10

// CheckBefore hashes the head of a file and the bytes just before an offset,
// so that a rewrite of what was read is noticed at the price of two short reads.
func CheckBefore(f io.ReaderAt, offset int64) (uint64, error) {
	h := fnv.New64a()
	head := min(offset, checkBytes)
	tail := max(head, offset-checkBytes)
	part := make([]byte, head)
	for _, at := range [...]struct{ from, bytes int64 }{{0, head}, {tail, offset - tail}} {
		n, err := f.ReadAt(part[:at.bytes], at.from)
		if err != nil && !errors.Is(err, io.EOF) {
			return 0, err
		}
		h.Write(part[:n])
	}
	return h.Sum64(), nil
}

// ReviseAppended is Revise for a file that its agent only appends to.
func ReviseAppended(path string, at Position) (Revision, Stamp, error) {
	now, err := StatRegular(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return Gone, Stamp{}, nil
	case err != nil:
		return Replaced, Stamp{}, err
	case now == at.Stamp:
		return Unchanged, now, nil
	case now.Device != at.Stamp.Device || now.Inode != at.Stamp.Inode || now.Size < at.Offset:
		return Replaced, now, nil
	}
	f, now, err := OpenRegular(path)
	if err != nil {
		return Replaced, now, err
	}
	defer f.Close()
	check, err := CheckBefore(f, at.Offset)
	switch {
	case err != nil:
		return Replaced, now, err
	case check != at.Check:
		return Replaced, now, nil
	}
	return Grown, now, nil
}

// identity digs device and inode out of a stat by name, so that one source
// serves every system; 0 where the system has none.
func identity(info fs.FileInfo) (device, inode uint64) {
	v := reflect.Indirect(reflect.ValueOf(info.Sys()))
	if v.Kind() != reflect.Struct {
		return 0, 0
	}
	number := func(name string) uint64 {
		switch f := v.FieldByName(name); {
		case f.IsValid() && f.CanUint():
			return f.Uint()
		case f.IsValid() && f.CanInt():
			return uint64(f.Int())
		}
		return 0
	}
	return number("Dev"), number("Ino")
}
