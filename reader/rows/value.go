package rows

import (
	"context"
	"errors"
	"io"
	"strings"

	"github.com/ncruces/go-sqlite3"
)

// Value opens a long text or blob, which is then read piece by piece. A table
// without row numbers has none to be opened.
func (d *DB) Value(ctx context.Context, table, column string, rowid int64) (v *Value, err error) {
	if d.broken {
		return nil, ErrDamaged
	}
	defer d.guard(&err)
	d.interrupt(ctx)
	blob, err := d.conn.OpenBlob("main", table, column, rowid, false)
	if err != nil {
		return nil, d.fail(ctx, err)
	}
	switch size := blob.Size(); {
	case size > Most:
		_ = blob.Close()
		return nil, ErrTooLong
	case size > d.view.bytes():
		_ = blob.Close()
		return nil, errEndless
	}
	return &Value{d: d, blob: blob, ctx: ctx}, nil
}

// Value is an open long value.
type Value struct {
	d    *DB
	blob *sqlite3.Blob
	ctx  context.Context
}

// Size is its length in bytes.
func (v *Value) Size() int64 { return v.blob.Size() }

// Read implements io.Reader.
func (v *Value) Read(p []byte) (n int, err error) {
	if err := v.ctx.Err(); err != nil {
		return 0, err
	}
	defer v.d.guard(&err)
	n, err = v.blob.Read(p[:min(len(p), 64<<10)]) // as much again is taken of the driver's memory
	v.d.bytes += int64(n)
	if err != nil && !errors.Is(err, io.EOF) {
		err = v.d.fail(v.ctx, err)
	}
	return n, err
}

// Close gives the value back.
func (v *Value) Close() {
	var err error
	defer v.d.guard(&err)
	_ = v.blob.Close() // it says once more what a read has said
}

// Whole returns the bytes of a value as they are stored. One that is longer than
// most is ErrTooLong; one that the owner has written over meanwhile ErrChanging.
func (d *DB) Whole(ctx context.Context, table, column string, rowid, most int64) (text []byte, err error) {
	v, err := d.Value(ctx, table, column, rowid)
	if err != nil {
		return nil, err
	}
	defer v.Close()
	if v.Size() > most {
		return nil, ErrTooLong
	}
	text = make([]byte, v.Size())
	if _, err = io.ReadFull(v, text); err == nil && !d.Steady() {
		err = ErrChanging
	}
	return text, err
}

// Line reads a JSON value as a line of a log: what ends a line in it is a space,
// which means the same, and a line end is behind it.
func Line(value io.Reader) io.Reader {
	return io.MultiReader(oneLine{value}, strings.NewReader("\n"))
}

type oneLine struct{ io.Reader }

func (o oneLine) Read(p []byte) (int, error) {
	n, err := o.Reader.Read(p)
	for i, b := range p[:n] {
		if b == '\n' {
			p[i] = ' '
		}
	}
	return n, err
}
