package rows

import (
	"encoding/binary"
	"errors"
	"hash/fnv"
	"io"
	"io/fs"

	"github.com/yorehq/yore/reader"
)

// StampOf returns a stamp over a database, its log and its journal, by stats
// alone: equal stamps mean that none of them was written. A database that is not
// there gives an error that wraps fs.ErrNotExist.
func StampOf(path string) (reader.Stamp, error) {
	main, err := reader.StatRegular(path)
	if err != nil {
		return reader.Stamp{}, err
	}
	sum := fnv.New64a()
	all := reader.Stamp{Device: main.Device}
	for _, suffix := range []string{"", logSuffix, journalSuffix} {
		s, err := reader.StatRegular(path + suffix)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return reader.Stamp{}, err
		}
		var numbers [32]byte
		binary.LittleEndian.PutUint64(numbers[0:], s.Device)
		binary.LittleEndian.PutUint64(numbers[8:], s.Inode)
		binary.LittleEndian.PutUint64(numbers[16:], uint64(s.Size))
		binary.LittleEndian.PutUint64(numbers[24:], uint64(s.ModTime))
		sum.Write(numbers[:])
		all.Size += s.Size
		all.ModTime = max(all.ModTime, s.ModTime)
	}
	all.Inode = sum.Sum64()
	return all, nil
}

// IsDatabase reports whether a file begins as a database does. What cannot be
// opened, or is no plain file, does not.
func IsDatabase(path string) bool {
	f, _, err := reader.OpenRegular(path)
	if err != nil {
		return false
	}
	defer f.Close()
	var head [len(magic)]byte
	_, err = f.ReadAt(head[:], 0)
	return (err == nil || errors.Is(err, io.EOF)) && string(head[:]) == magic
}

// Beside reports whether a name is that of a file that SQLite keeps beside a
// database.
func Beside(name string) bool {
	for _, suffix := range []string{logSuffix, journalSuffix, "-shm"} {
		if len(name) > len(suffix) && name[len(name)-len(suffix):] == suffix {
			return true
		}
	}
	return false
}
