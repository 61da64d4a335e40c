package rows

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// The format of SQLite's files is that of sqlite.org/fileformat2.html; offsets
// below are its.

const smallPage = 512

// tower makes a database whose table x is a tree of interior pages, all of whose
// cells name the same page below: the file has as many pages as floors, and
// 71^(floors-1) rows and more.
func tower(t testing.TB, path string, floors int) {
	t.Helper()
	os.Remove(path)
	owner(t, path, fmt.Sprintf(`PRAGMA page_size = %d`, smallPage), `CREATE TABLE x (id INTEGER PRIMARY KEY, data TEXT)`,
		`INSERT INTO x VALUES (1, 'one')`).Close()
	file, err := os.ReadFile(path)
	if err != nil || len(file) != 2*smallPage {
		t.Fatalf("%d bytes, %v: the table is not one page", len(file), err)
	}
	leaf := bytes.Clone(file[smallPage:])
	file = file[:smallPage]
	for floor := 1; floor < floors; floor++ {
		const cells = (smallPage - 12) / (2 + 5)
		page := make([]byte, smallPage)
		below := uint32(2 + floor)
		page[0] = 5 // an interior page of a table
		binary.BigEndian.PutUint16(page[3:], cells)
		binary.BigEndian.PutUint16(page[5:], smallPage-5*cells)
		binary.BigEndian.PutUint32(page[8:], below)
		for i := range cells {
			at := smallPage - 5*(cells-i)
			binary.BigEndian.PutUint16(page[12+2*i:], uint16(at))
			binary.BigEndian.PutUint32(page[at:], below)
			page[at+4] = byte(i + 1) // the largest row number below
		}
		file = append(file, page...)
	}
	file = append(file, leaf...)
	binary.BigEndian.PutUint32(file[28:], uint32(floors+1)) // pages
	if err := os.WriteFile(path, file, 0o600); err != nil {
		t.Fatal(err)
	}
}

// A small file that holds more rows than anybody could read is damaged, after as
// much work as its size explains: whether rows are handed over, counted or sought.
func TestFileThatHoldsItself(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.db")
	tower(t, path, 2)
	if n := len(texts(t, view1(t, path), `SELECT data FROM x`)); n != 72 {
		t.Fatalf("a tower of two floors has %d rows, want 72: this test tests nothing", n)
	}
	tower(t, path, 10)
	for _, sql := range []string{
		`SELECT data FROM x`, `SELECT count(*) FROM x WHERE data = 'two'`, `SELECT max(data) FROM x`, `SELECT a.data FROM x AS a WHERE a.data = 'two'`,
		`SELECT (SELECT count(*) FROM x AS b WHERE b.data = a.data) FROM x AS a`, `SELECT data FROM x ORDER BY data`,
	} {
		rows := 0
		start := time.Now()
		err := view1(t, path).Each(context.Background(), sql, nil, func(Row) error { rows++; return nil })
		if !errors.Is(err, ErrDamaged) || rows > 10_000 {
			t.Errorf("%s: %d rows, %v", sql, rows, err)
		}
		if d := time.Since(start); d > time.Minute {
			t.Errorf("%s took %v", sql, d)
		}
	}
	// The budget is the view's, and a new one has its own.
	tower(t, path, 2)
	if n := len(texts(t, view1(t, path), `SELECT data FROM x`)); n != 72 {
		t.Errorf("%d rows", n)
	}
}

// A value whose pages follow one another in a circle is not read for ever.
func TestValueInACircle(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.db")
	owner(t, path, fmt.Sprintf(`PRAGMA page_size = %d`, smallPage), `CREATE TABLE x (id INTEGER PRIMARY KEY, data BLOB)`,
		`INSERT INTO x VALUES (1, zeroblob(2000000))`).Close()
	file, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	file = file[:6*smallPage]
	binary.BigEndian.PutUint32(file[28:], 6)
	binary.BigEndian.PutUint32(file[5*smallPage:], 4) // the sixth page's next is the fourth
	if err := os.WriteFile(path, file, 0o600); err != nil {
		t.Fatal(err)
	}
	if v, err := view1(t, path).Value(context.Background(), "x", "data", 1); !errors.Is(err, ErrDamaged) {
		t.Errorf("%v, %v", v, err)
	}
}

// mendLog makes the checksums of a log right, as whoever forges one would: of its
// head and, one over the other, of each frame.
func mendLog(log []byte) []byte {
	log = bytes.Clone(log)
	const head, frame = 32, 24
	if len(log) < head {
		return log
	}
	binary.BigEndian.PutUint32(log[0:], 0x377f0682) // sums are over little-endian words
	binary.BigEndian.PutUint32(log[4:], 3007000)
	binary.BigEndian.PutUint32(log[8:], smallPage)
	var a, b uint32
	sum := func(part []byte) {
		for i := 0; i+8 <= len(part); i += 8 {
			a += binary.LittleEndian.Uint32(part[i:]) + b
			b += binary.LittleEndian.Uint32(part[i+4:]) + a
		}
	}
	put := func(at []byte) {
		binary.BigEndian.PutUint32(at, a)
		binary.BigEndian.PutUint32(at[4:], b)
	}
	sum(log[:24])
	put(log[24:])
	for f := log[head:]; len(f) >= frame+smallPage; f = f[frame+smallPage:] {
		copy(f[8:16], log[16:24]) // salts
		sum(f[:8])
		sum(f[frame : frame+smallPage])
		put(f[16:])
	}
	return log
}

// Any bytes, in the database, its log and its journal: rows or a failure that
// means something, soon, and nothing written.
func FuzzFile(f *testing.F) {
	seed := func(sql ...string) {
		dir := f.TempDir()
		path := filepath.Join(dir, "x.db")
		owner(f, path, append([]string{fmt.Sprintf(`PRAGMA page_size = %d`, smallPage)}, sql...)...)
		part := func(suffix string) []byte {
			b, err := os.ReadFile(path + suffix)
			if err != nil {
				return nil
			}
			return b
		}
		f.Add(part(""), part(logSuffix), part(journalSuffix))
	}
	table := `CREATE TABLE x (id TEXT PRIMARY KEY, data TEXT, n INTEGER)`
	some := `INSERT INTO x VALUES ('a', '` + strings.Repeat("long ", 250) + `', 1), ('b', '{"role":"user"}', NULL), ('c', x'00ff', 3)`
	seed(table, some)
	seed(`PRAGMA journal_mode = wal`, `PRAGMA wal_autocheckpoint = 0`, table, some)
	seed(table, some, `PRAGMA cache_size = 1`, `PRAGMA cache_spill = 1`, `BEGIN`, `UPDATE x SET n = 9`, `UPDATE x SET data = 'never'`, `INSERT INTO x WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 9) SELECT i, hex(zeroblob(200)), i FROM n`)
	seed(`CREATE TABLE x (id TEXT PRIMARY KEY, data TEXT, n INTEGER) WITHOUT ROWID`, `INSERT INTO x VALUES ('a', 'b', 1)`)
	high := filepath.Join(f.TempDir(), "x.db")
	tower(f, high, 4)
	file, err := os.ReadFile(high)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(file, []byte{}, []byte{})

	dir := f.TempDir()
	path := filepath.Join(dir, "x.db")
	f.Fuzz(func(t *testing.T, file, log, journal []byte) {
		if len(file)+len(log)+len(journal) > 1<<20 {
			return
		}
		log = mendLog(log)
		parts := map[string][]byte{"": file, logSuffix: log, journalSuffix: journal}
		for suffix, b := range parts {
			if len(b) == 0 {
				os.Remove(path + suffix)
			} else if err := os.WriteFile(path+suffix, b, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		start := time.Now()
		d, err := Open(context.Background(), path)
		meant(t, err)
		if err == nil {
			queries(t, d)
			if !d.Steady() {
				t.Error("nobody wrote, and it is not steady")
			}
			d.Close()
		}
		if took := time.Since(start); took > 20*time.Second {
			t.Errorf("it took %v", took)
		}
		for suffix, b := range parts {
			if now, _ := os.ReadFile(path + suffix); !bytes.Equal(now, b) {
				t.Errorf("%q was written", suffix)
			}
		}
		if entries, err := os.ReadDir(dir); err != nil || len(entries) > len(parts) {
			t.Errorf("%v beside it, %v", entries, err)
		}
	})
}

// queries asks as readers do.
func queries(t *testing.T, d *DB) {
	ctx := context.Background()
	if !d.Has("x", "id", "data") {
		return
	}
	var numbers []int64
	meant(t, d.Each(ctx, `SELECT rowid, octet_length(data), CASE WHEN octet_length(data) < 500 THEN data END, typeof(data) FROM x`, nil, func(r Row) error {
		if len(numbers) < 8 {
			numbers = append(numbers, r.Int(0))
		}
		if b := r.Bytes(2); len(b) > Inline {
			t.Errorf("a value of %d bytes", len(b))
		}
		return nil
	}))
	meant(t, d.Each(ctx, `SELECT id, (SELECT count(*) FROM x AS y WHERE y.n = x.n), CASE WHEN json_valid(data) THEN json_extract(data, '$.role') END
		FROM x ORDER BY n DESC, id LIMIT 1`, nil, func(r Row) error { r.Text(0); r.Int(1); return nil }))
	meant(t, d.Each(ctx, `SELECT data FROM x WHERE id = ?`, []any{"a"}, func(r Row) error { r.Text(0); return nil }))
	for _, n := range numbers {
		v, err := d.Value(ctx, "x", "data", n)
		meant(t, err)
		if err == nil {
			_, err := io.Copy(io.Discard, struct{ io.Reader }{v})
			meant(t, err)
			v.Close()
		}
	}
}

// meant fails for a failure that no reader knows what to make of.
func meant(t *testing.T, err error) {
	t.Helper()
	if err == nil {
		return
	}
	for _, known := range []error{ErrDamaged, ErrNoDatabase, ErrTooLong, os.ErrNotExist} {
		if errors.Is(err, known) {
			return
		}
	}
	t.Errorf("%v", err)
}
