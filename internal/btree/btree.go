// Package btree reads the tables of an SQLite database file that nobody writes
// to, without SQLite: no connection is made, no schema parsed, no lock taken and
// no log looked at. What that saves is most of what one look into a small database
// costs. It knows the bytes of the file and nothing else: whether the file is at
// rest, and what its tables mean, is the caller's to know.
//
// The format is that of https://sqlite.org/fileformat2.html. Whatever does not
// fit it, or is not read here (other text encodings than UTF-8, journal modes
// other than WAL), is ErrFormat, and the caller asks SQLite. Start at File; table.go reads tables
// by their numbers, index.go those WITHOUT ROWID, record.go the fields of a row.
package btree

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
)

// ErrFormat says that bytes are no database that this package reads.
var ErrFormat = errors.New("btree: the bytes are no database that can be read here")

// Header is what the first page says of a database.
type Header struct {
	PageSize    int // bytes of a page
	Usable      int // bytes of a page that hold something
	Pages       uint32
	Free        uint32 // pages that hold nothing
	Version     uint32 // user_version
	Application uint32 // application_id
	Incremental bool   // free pages are given back bit by bit
}

// File reads one database. What it returns is valid until the next Open. It is
// for one goroutine at a time; the zero value is ready for Open.
type File struct {
	Header
	from io.ReaderAt
	read map[uint32][]byte
	room []byte // of read, handed out from its beginning
	used int
	left int // how many more pages one question may ask for: a circle ends

	record Record
}

const headerBytes = 100

// Open begins to read a database of so many bytes.
func (f *File) Open(from io.ReaderAt, size int64) error {
	var head [headerBytes]byte
	if n, err := from.ReadAt(head[:], 0); n < len(head) {
		if err == nil || errors.Is(err, io.EOF) {
			err = ErrFormat
		}
		return err
	}
	word := func(at int) uint32 { return binary.BigEndian.Uint32(head[at:]) }
	h := Header{PageSize: int(binary.BigEndian.Uint16(head[16:])), Pages: word(28), Free: word(36), Version: word(60), Application: word(68), Incremental: word(52) != 0 && word(64) != 0}
	if h.PageSize == 1 {
		h.PageSize = 1 << 16
	}
	h.Usable = h.PageSize - int(head[20])
	const wal, utf8 = 2, 1
	if !bytes.HasPrefix(head[:], []byte("SQLite format 3\x00")) || h.PageSize < 512 || h.PageSize&(h.PageSize-1) != 0 || h.Usable < 480 ||
		head[18] != wal || head[19] != wal || word(56) != utf8 || size != int64(h.Pages)*int64(h.PageSize) {
		return ErrFormat
	}
	f.Reopen(from, h)
	return nil
}

// Reopen is Open for a database whose header is known and has not changed.
func (f *File) Reopen(from io.ReaderAt, h Header) {
	f.Header, f.from, f.used = h, from, 0
	if f.read == nil {
		f.read = map[uint32][]byte{}
	}
	clear(f.read)
}

// Roots returns the root pages of the tables, by name.
func (f *File) Roots() (map[string]uint32, error) {
	roots := map[string]uint32{}
	err := f.Rows(1, func(r *Record) error {
		if r.Len() < 4 {
			return ErrFormat
		}
		if string(r.Bytes(0)) == "table" {
			roots[string(r.Bytes(1))] = uint32(r.Int(3))
		}
		return nil
	})
	return roots, err
}

const (
	firstRoom = 64 << 10
	mostRoom  = 1 << 20 // kept for the next database
	mostRead  = 4 << 20 // bytes of pages that are kept while one is read
)

// space returns n bytes that are valid until the next Open.
func (f *File) space(n int) []byte {
	if f.used+n > len(f.room) {
		room := make([]byte, max(n, firstRoom, min(2*len(f.room), mostRoom)))
		if len(room) > mostRoom {
			return room
		}
		f.room, f.used = room, 0
	}
	f.used += n
	return f.room[f.used-n : f.used : f.used]
}

// begin starts a question.
func (f *File) begin() {
	f.left = 2*int(f.Pages) + 64
	if len(f.read)*f.PageSize > mostRead {
		f.read, f.room, f.used = map[uint32][]byte{}, nil, 0 // others may still look at the old ones
	}
}

// load returns a page, and reads those behind it with it, ahead in all, unless
// it was read before.
func (f *File) load(n uint32, ahead int) ([]byte, error) {
	if f.left--; f.left < 0 || n == 0 || n > f.Pages {
		return nil, ErrFormat
	}
	if p := f.read[n]; p != nil {
		return p, nil
	}
	ahead = max(min(ahead, int(f.Pages-n)+1), 1)
	all := f.space(ahead * f.PageSize)
	if got, err := f.from.ReadAt(all, int64(n-1)*int64(f.PageSize)); got < len(all) {
		if err == nil || errors.Is(err, io.EOF) {
			err = ErrFormat
		}
		return nil, err
	}
	for i := range ahead {
		f.read[n+uint32(i)] = all[i*f.PageSize : (i+1)*f.PageSize]
	}
	return all[:f.PageSize], nil
}

// The kinds of pages.
const (
	innerIndex = 2
	innerTable = 5
	leafIndex  = 10
	leafTable  = 13
)

// page is one node of a tree.
type page struct {
	data     []byte
	kind     byte
	cells    int
	pointers []byte // two bytes for each cell
	last     uint32 // of inner pages: the child behind all cells
}

func (f *File) page(n uint32) (p page, err error) {
	if p.data, err = f.load(n, 1); err != nil {
		return p, err
	}
	at := 0
	if n == 1 {
		at = headerBytes
	}
	p.kind, p.cells = p.data[at], int(binary.BigEndian.Uint16(p.data[at+3:]))
	size := 8
	switch p.kind {
	case innerIndex, innerTable:
		p.last, size = binary.BigEndian.Uint32(p.data[at+8:]), 12
	case leafIndex, leafTable:
	default:
		return p, ErrFormat
	}
	if at+size+2*p.cells > f.Usable {
		return p, ErrFormat
	}
	p.pointers = p.data[at+size : at+size+2*p.cells]
	return p, nil
}

// cell returns the bytes from the i-th cell to the end of the page.
func (f *File) cell(p page, i int) ([]byte, error) {
	at := int(binary.BigEndian.Uint16(p.pointers[2*i:]))
	if at >= f.Usable {
		return nil, ErrFormat
	}
	return p.data[at:f.Usable], nil
}

// child returns the i-th child of an inner page; the last is behind all cells.
func (f *File) child(p page, i int) (uint32, error) {
	if i == p.cells {
		return p.last, nil
	}
	c, err := f.cell(p, i)
	if err != nil || len(c) < 4 {
		return 0, ErrFormat
	}
	return binary.BigEndian.Uint32(c), nil
}

// payload returns the payload of size bytes that begins in a cell, of which most
// can stand in the page, and goes on in a chain of other pages.
func (f *File) payload(cell []byte, size uint64, most int) ([]byte, error) {
	if size <= uint64(most) {
		if size > uint64(len(cell)) {
			return nil, ErrFormat
		}
		return cell[:size], nil
	}
	if size > uint64(f.Pages)*uint64(f.Usable) {
		return nil, ErrFormat
	}
	least := (f.Usable-12)*32/255 - 23
	here := least + (int(size)-least)%(f.Usable-4)
	if here > most {
		here = least
	}
	if here+4 > len(cell) {
		return nil, ErrFormat
	}
	out := f.space(int(size))[:0]
	out = append(out, cell[:here]...)
	next := binary.BigEndian.Uint32(cell[here:])
	for len(out) < int(size) {
		// A chain was most often written in one go, page after page.
		ahead := (int(size) - len(out) + f.Usable - 5) / (f.Usable - 4)
		p, err := f.load(next, min(ahead, 64))
		if err != nil {
			return nil, err
		}
		next = binary.BigEndian.Uint32(p)
		out = append(out, p[4:min(f.Usable, 4+int(size)-len(out))]...)
	}
	return out, nil
}

// uvarint reads a number as SQLite writes it: the high bits first, nine bytes at
// most, of which the ninth gives all of its bits. n is 0 if there is none.
func uvarint(b []byte) (v uint64, n int) {
	for n < len(b) {
		c := b[n]
		n++
		if n == 9 {
			return v<<8 | uint64(c), n
		}
		v = v<<7 | uint64(c&0x7f)
		if c < 0x80 {
			return v, n
		}
	}
	return 0, 0
}
