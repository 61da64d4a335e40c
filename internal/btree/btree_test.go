package btree

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/ncruces/go-sqlite3"
)

// database is one that SQLite made, and SQLite's own word on what is in it.
type database struct {
	t  testing.TB
	db *sqlite3.Conn
	at string
}

func newDatabase(t testing.TB, pageSize int) *database {
	t.Helper()
	d := &database{t: t, at: filepath.Join(t.TempDir(), "t.db")}
	var err error
	if d.db, err = sqlite3.Open(d.at); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.db.Close() })
	d.exec(fmt.Sprintf(`PRAGMA page_size = %d; PRAGMA auto_vacuum = INCREMENTAL; PRAGMA journal_mode = WAL;
		PRAGMA application_id = 77; PRAGMA user_version = 5;
		CREATE TABLE rows (num INTEGER PRIMARY KEY, data BLOB, n INTEGER, name TEXT);
		CREATE TABLE keys (a INTEGER, b BLOB, n INTEGER NOT NULL, PRIMARY KEY (a, b)) WITHOUT ROWID;
		CREATE INDEX by_name ON rows (name)`, pageSize))
	return d
}

func (d *database) exec(sql string, args ...any) {
	d.t.Helper()
	if len(args) == 0 {
		if err := d.db.Exec(sql); err != nil {
			d.t.Fatal(err)
		}
		return
	}
	d.each(sql, func(*sqlite3.Stmt) {}, args...)
}

func (d *database) each(sql string, visit func(*sqlite3.Stmt), args ...any) {
	d.t.Helper()
	s, _, err := d.db.Prepare(sql)
	if err != nil {
		d.t.Fatal(err)
	}
	defer s.Close()
	for i, a := range args {
		switch v := a.(type) {
		case int64:
			err = s.BindInt64(i+1, v)
		case []byte:
			err = s.BindBlob(i+1, v)
		case string:
			err = s.BindText(i+1, v)
		}
		if err != nil {
			d.t.Fatal(err)
		}
	}
	for s.Step() {
		visit(s)
	}
	if err := s.Err(); err != nil {
		d.t.Fatal(err)
	}
}

// file opens the database for reading here, its log taken in.
func (d *database) file(f *File) map[string]uint32 {
	d.t.Helper()
	d.exec(`PRAGMA wal_checkpoint(TRUNCATE)`)
	from, err := os.Open(d.at)
	if err != nil {
		d.t.Fatal(err)
	}
	d.t.Cleanup(func() { from.Close() })
	info, err := from.Stat()
	if err == nil {
		err = f.Open(from, info.Size())
	}
	if err != nil {
		d.t.Fatal(err)
	}
	roots, err := f.Roots()
	if err != nil {
		d.t.Fatal(err)
	}
	return roots
}

// Every table is read as SQLite reads it, whatever the size of pages and rows,
// after any mixture of insertions and deletions.
func TestReadsWhatSQLiteReads(t *testing.T) {
	for _, pageSize := range []int{512, 1024, 4096, 65536} {
		t.Run(fmt.Sprint(pageSize), func(t *testing.T) {
			d, random := newDatabase(t, pageSize), rand.New(rand.NewPCG(1, uint64(pageSize)))
			var f File
			for range 4 {
				d.exec(`BEGIN`)
				for range 150 {
					size := random.IntN(40)
					switch random.IntN(20) {
					case 0: // about where a row no longer fits a leaf
						size = max(pageSize-35-20+random.IntN(24), 0)
					case 1: // chains
						size = random.IntN(min(12*pageSize, 100_000))
					case 2:
						size = (pageSize-12)*64/255 - 23 + random.IntN(40) - 30 // an index' limit
					}
					data := make([]byte, size)
					for i := range data {
						data[i] = byte(random.Uint32())
					}
					integers := []int64{0, 1, -1, 127, -128, 1 << 15, 1 << 23, -(1 << 31), 1 << 40, math.MaxInt64, math.MinInt64}
					n := integers[random.IntN(len(integers))]
					num := random.Int64N(4000)
					if random.IntN(40) == 0 {
						num = integers[random.IntN(len(integers))]
					}
					d.exec(`INSERT OR REPLACE INTO rows VALUES (?, ?, ?, ?)`, num, data, n, fmt.Sprint("naïve", n))
					d.exec(`INSERT OR REPLACE INTO keys VALUES (?, ?, ?)`, random.Int64N(5), data[:min(len(data), 700)], n)
				}
				low := random.Int64N(4000)
				d.exec(`DELETE FROM rows WHERE num BETWEEN ? AND ?`, low, low+random.Int64N(1500))
				d.exec(`DELETE FROM keys WHERE a = ?`, random.Int64N(5))
				d.exec(`COMMIT`)
				roots := d.file(&f)
				if f.Version != 5 || f.Application != 77 || f.PageSize != pageSize || !f.Incremental {
					t.Fatalf("header %+v", f.Header)
				}
				d.compareRows(&f, roots["rows"], random)
				d.compareKeys(&f, roots["keys"], random)
			}
		})
	}
}

func (d *database) compareRows(f *File, root uint32, random *rand.Rand) {
	t := d.t
	t.Helper()
	say := func(num int64, data []byte, n int64, name string) string {
		return fmt.Sprintf("%d %x %d %s", num, data, n, name)
	}
	var want, got []string
	d.each(`SELECT num, data, n, name FROM rows ORDER BY num`, func(s *sqlite3.Stmt) {
		want = append(want, say(s.ColumnInt64(0), s.ColumnBlob(1, nil), s.ColumnInt64(2), s.ColumnText(3)))
	})
	err := f.Rows(root, func(r *Record) error {
		if !r.Null(0) || r.Null(1) || r.Len() != 4 {
			t.Error("the row's own number is null in it, and nothing else")
		}
		got = append(got, say(r.RowID, r.Bytes(1), r.Int(2), string(r.Bytes(3))))
		return nil
	})
	if err != nil || fmt.Sprint(got) != fmt.Sprint(want) {
		t.Fatalf("%d rows, want %d, %v", len(got), len(want), err)
	}
	for range 100 {
		key, wanted, found := random.Int64N(4200)-100, "none", "none"
		d.each(`SELECT num, data FROM rows WHERE num <= ? ORDER BY num DESC LIMIT 1`, func(s *sqlite3.Stmt) {
			wanted = fmt.Sprintf("%d %x", s.ColumnInt64(0), s.ColumnBlob(1, nil))
		}, key)
		r, err := f.Floor(root, key)
		if err != nil {
			t.Fatal(err)
		}
		if r != nil {
			found = fmt.Sprintf("%d %x", r.RowID, r.Bytes(1))
		}
		if found != wanted {
			t.Fatalf("floor of %d is %.60s, want %.60s", key, found, wanted)
		}
	}
}

func (d *database) compareKeys(f *File, root uint32, random *rand.Rand) {
	t := d.t
	t.Helper()
	var all [][]byte
	d.each(`SELECT b FROM keys`, func(s *sqlite3.Stmt) { all = append(all, s.ColumnBlob(0, []byte{})) })
	for range 100 {
		a, b := random.Int64N(6)-1, []byte{byte(random.Uint32())}
		if len(all) > 0 && random.IntN(3) > 0 {
			b = all[random.IntN(len(all))]
		}
		after := func(r *Record) bool { return r.Int(0) > a || r.Int(0) == a && bytes.Compare(r.Bytes(1), b) > 0 }
		wanted, found := "none", "none"
		d.each(`SELECT a, b, n FROM keys WHERE (a, b) <= (?, ?) ORDER BY a DESC, b DESC LIMIT 1`, func(s *sqlite3.Stmt) {
			wanted = fmt.Sprintf("%d %x %d", s.ColumnInt64(0), s.ColumnBlob(1, nil), s.ColumnInt64(2))
		}, a, b)
		r, err := f.Last(root, after)
		if err != nil {
			t.Fatal(err)
		}
		if r != nil {
			found = fmt.Sprintf("%d %x %d", r.Int(0), r.Bytes(1), r.Int(2))
		}
		if found != wanted {
			t.Fatalf("last of %d %x is %s, want %s", a, b, found, wanted)
		}
		var want, got []string
		d.each(`SELECT a, b FROM keys WHERE (a, b) > (?, ?) ORDER BY a, b LIMIT 50`, func(s *sqlite3.Stmt) {
			want = append(want, fmt.Sprintf("%d %x", s.ColumnInt64(0), s.ColumnBlob(1, nil)))
		}, a, b)
		err = f.From(root, after, func(r *Record) bool {
			if len(got) == 50 {
				return false
			}
			got = append(got, fmt.Sprintf("%d %x", r.Int(0), r.Bytes(1)))
			return true
		})
		if err != nil || fmt.Sprint(got) != fmt.Sprint(want) {
			t.Fatalf("from %d %x: %d entries, want %d, %v", a, b, len(got), len(want), err)
		}
	}
}

// What is no such file is refused, and so is one that SQLite's journal may still
// have to be applied to.
func TestRefusesOtherFiles(t *testing.T) {
	d := newDatabase(t, 4096)
	var f File
	d.file(&f)
	whole, err := os.ReadFile(d.at)
	if err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]func([]byte) []byte{
		"empty":        func([]byte) []byte { return nil },
		"short":        func(b []byte) []byte { return b[:90] },
		"cut":          func(b []byte) []byte { return b[:len(b)-1] },
		"longer":       func(b []byte) []byte { return append(b, 0) },
		"magic":        func(b []byte) []byte { b[0] = 's'; return b },
		"page size":    func(b []byte) []byte { b[16] = 0x11; return b },
		"journal mode": func(b []byte) []byte { b[18], b[19] = 1, 1; return b },
		"encoding":     func(b []byte) []byte { b[59] = 2; return b },
		"reserved":     func(b []byte) []byte { b[16], b[17], b[20] = 2, 0, 255; return b },
	} {
		b := change(bytes.Clone(whole))
		if err := f.Open(bytes.NewReader(b), int64(len(b))); !errors.Is(err, ErrFormat) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Any bytes end in an answer or an error.
func FuzzFile(f *testing.F) {
	whole, err := os.ReadFile("testdata/small.db") // rows and keys as above, on pages of 512 bytes
	if err != nil {
		f.Fatal(err)
	}
	f.Add(whole, uint32(3), int64(40))
	f.Fuzz(func(t *testing.T, data []byte, root uint32, key int64) {
		var f File
		if f.Open(bytes.NewReader(data), int64(len(data))) != nil {
			return
		}
		roots, _ := f.Roots()
		for _, n := range []uint32{root, 1, roots["rows"], roots["keys"]} {
			f.Floor(n, key)
			f.Rows(n, func(r *Record) error {
				for i := range r.Len() {
					_, _, _ = r.Int(i), r.Bytes(i), r.Null(i)
				}
				return nil
			})
			reached := func(r *Record) bool { return r.Len() > 0 && r.Int(0) >= key }
			f.Last(n, reached)
			f.From(n, reached, func(*Record) bool { return true })
		}
	})
}
