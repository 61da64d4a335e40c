package rows

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/ncruces/go-sqlite3"
)

// owner is somebody who has a database open and writes to it.
func owner(t testing.TB, path string, sql ...string) *sqlite3.Conn {
	t.Helper()
	c, err := sqlite3.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	run(t, c, sql...)
	return c
}

func run(t testing.TB, c *sqlite3.Conn, sql ...string) {
	t.Helper()
	for _, s := range sql {
		if err := c.Exec(s); err != nil {
			t.Fatalf("%s: %v", s, err)
		}
	}
}

func texts(t testing.TB, d *DB, query string, args ...any) []string {
	t.Helper()
	var all []string
	err := d.Each(context.Background(), query, args, func(r Row) error {
		all = append(all, r.Text(0))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func view1(t testing.TB, path string) *DB {
	t.Helper()
	d, err := Open(context.Background(), path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.Close() })
	return d
}

// content is every file of a folder with a hash of what is in it.
func content(t testing.TB, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		b, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		all[e.Name()] = fmt.Sprintf("%d %x", len(b), sha256.Sum256(b))
	}
	return all
}

// In every mode of journal, with the owner there and with its files as a kill
// left them, the last committed rows are read, and nothing beside or in the
// owner's files is touched.
func TestReadsWhatWasCommittedAndWritesNothing(t *testing.T) {
	for _, mode := range []string{"wal", "delete", "truncate", "persist"} {
		t.Run(mode, func(t *testing.T) {
			dir := t.TempDir()
			path := filepath.Join(dir, "a b?%41.db")
			c := owner(t, path, `PRAGMA journal_mode = `+mode, `PRAGMA wal_autocheckpoint = 0`, `PRAGMA cache_size = 4`,
				`CREATE TABLE x (id TEXT PRIMARY KEY, data TEXT)`)
			var want []string
			for i := range 40 {
				data := fmt.Sprint(i, strings.Repeat("x", 3000))
				want = append(want, data)
				run(t, c, fmt.Sprintf(`INSERT INTO x VALUES ('%04d', '%s')`, i, data))
			}
			check := func(path string) {
				t.Helper()
				before := content(t, filepath.Dir(path))
				d := view1(t, path)
				if diff := cmp.Diff(want, texts(t, d, `SELECT data FROM x ORDER BY id`)); diff != "" {
					t.Errorf("(-want +got):\n%s", diff)
				}
				if !d.Steady() {
					t.Error("nobody wrote, and it is not steady")
				}
				d.Close()
				if diff := cmp.Diff(before, content(t, filepath.Dir(path))); diff != "" {
					t.Errorf("the owner's folder changed (-before +after):\n%s", diff)
				}
			}
			check(path)

			// In the midst of a transaction that has overflowed its owner's memory.
			run(t, c, `BEGIN IMMEDIATE`, `UPDATE x SET data = 'never'`)
			check(path)

			// As a kill would leave it.
			left := filepath.Join(t.TempDir(), "left")
			if err := os.CopyFS(left, os.DirFS(dir)); err != nil {
				t.Fatal(err)
			}
			os.Remove(filepath.Join(left, filepath.Base(path)+"-shm"))
			os.Chmod(left, 0o555)
			t.Cleanup(func() { os.Chmod(left, 0o755) })
			check(filepath.Join(left, filepath.Base(path)))
		})
	}
}

func TestAllRowsOnlyInTheLog(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.db")
	owner(t, path, `PRAGMA journal_mode = wal`, `PRAGMA wal_autocheckpoint = 0`, `CREATE TABLE x (data TEXT)`, `INSERT INTO x VALUES ('here')`)
	if info, err := os.Stat(path); err != nil || info.Size() > 4096 {
		t.Fatalf("the database itself has %v bytes, %v: this test tests nothing", info.Size(), err)
	}
	if got := texts(t, view1(t, path), `SELECT data FROM x`); len(got) != 1 || got[0] != "here" {
		t.Errorf("got %q", got)
	}
}

// A view stays as it was while the owner goes on, and says so when the owner has
// written over what it may have read.
func TestSteady(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.db")
	c := owner(t, path, `PRAGMA journal_mode = wal`, `PRAGMA wal_autocheckpoint = 0`, `CREATE TABLE x (data TEXT)`, `INSERT INTO x VALUES ('one')`)
	stamp := func() any {
		s, err := StampOf(path)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	first := stamp()
	d := view1(t, path)
	run(t, c, `INSERT INTO x VALUES ('two')`)
	if got := texts(t, d, `SELECT data FROM x`); len(got) != 1 || !d.Steady() {
		t.Errorf("the view has %q, steady %v; want one row, steady", got, d.Steady())
	}
	if second := stamp(); second == first {
		t.Error("the stamp is the same although a row came")
	} else if stamp() != second {
		t.Error("the stamp changed although nothing did")
	}
	run(t, c, `PRAGMA wal_checkpoint`)
	if d.Steady() {
		t.Error("the log was copied into the database below the view, and it calls itself steady")
	}
	d = view1(t, path)
	run(t, c, `INSERT INTO x VALUES ('three')`) // begins the log anew
	if d.Steady() {
		t.Error("the log began anew below the view, and it calls itself steady")
	}
	if got := texts(t, view1(t, path), `SELECT data FROM x`); len(got) != 3 {
		t.Errorf("got %q", got)
	}
}

func TestWhatIsNoDatabase(t *testing.T) {
	dir := t.TempDir()
	path := func(name string) string { return filepath.Join(dir, name) }
	write := func(name, text string) {
		if err := os.WriteFile(path(name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("empty", "")
	write("text", `{"type":"session"}`+"\n")
	write("short", magic)
	write("noise", magic+strings.Repeat("\xa5", 5000))
	pipe(t, path("pipe"))
	for name, want := range map[string]error{
		"empty": ErrNoDatabase, "text": ErrNoDatabase, "short": ErrNoDatabase, "noise": ErrNoDatabase, "missing": fs.ErrNotExist, "pipe": nil, ".": nil,
	} {
		d, err := Open(context.Background(), path(name))
		if err == nil {
			d.Close()
		}
		if err == nil || want != nil && !errors.Is(err, want) && !(name == "short" && errors.Is(err, ErrDamaged)) {
			t.Errorf("%s: %v, want %v", name, err, want)
		}
	}

	// Pipes where the owner's other files would be.
	for _, suffix := range []string{logSuffix, journalSuffix} {
		file := path("db" + suffix + ".db")
		owner(t, file, `CREATE TABLE x (data TEXT)`).Close()
		pipe(t, file+suffix)
		if d, err := Open(context.Background(), file); err == nil {
			d.Close() // a log that is no file is as good as none
		}
	}
}

// pipe makes a named pipe where the system has them; elsewhere nothing is there.
func pipe(t testing.TB, path string) {
	t.Helper()
	if err := exec.Command("mkfifo", path).Run(); err != nil {
		t.Logf("%s cannot be made here: %v", path, err)
	}
}

// What a hostile schema offers is not run.
func TestSchemaIsNotTrusted(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.db")
	owner(t, path,
		`CREATE TABLE kept (a TEXT, b TEXT GENERATED ALWAYS AS (hex(a)) VIRTUAL)`,
		`INSERT INTO kept (a) VALUES ('1')`,
		`CREATE VIEW session AS SELECT a AS id FROM kept`,
		`CREATE VIEW bomb AS WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i FROM n`,
		`CREATE TRIGGER t AFTER INSERT ON kept BEGIN DELETE FROM kept; END`,
	).Close()
	d := view1(t, path)
	if d.Has("session", "id") || d.Has("bomb") || !d.Has("kept", "a") || d.Has("kept", "z") || d.Has("nothing") {
		t.Errorf("tables: session %v, bomb %v, kept %v", d.Has("session", "id"), d.Has("bomb"), d.Has("kept", "a"))
	}
	none := func(r Row) error { return nil }
	for _, sql := range []string{
		`SELECT id FROM session`, `SELECT i FROM bomb`, `SELECT hex(a) FROM kept`, `INSERT INTO kept (a) VALUES ('x')`,
		`DELETE FROM kept`, `ATTACH '` + path + `' AS other`, `PRAGMA journal_mode = delete`, `SELECT load_extension('x')`, `VACUUM`,
	} {
		if err := d.Each(context.Background(), sql, nil, none); err == nil {
			t.Errorf("%s was done", sql)
		}
	}
	if got := texts(t, d, `SELECT a FROM kept`); len(got) != 1 {
		t.Errorf("%q", got)
	}
}

// A damaged file gives an error or rows, in bounded time and memory, and never
// a panic.
func TestDamagedFiles(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "x.db")
	c := owner(t, path, `PRAGMA page_size = 512`, `CREATE TABLE x (id TEXT PRIMARY KEY, data TEXT)`)
	for i := range 200 {
		run(t, c, fmt.Sprintf(`INSERT INTO x VALUES ('%04d', '%s')`, i, strings.Repeat("abc", i)))
	}
	c.Close()
	sound, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	random := rand.New(rand.NewPCG(7, 7))
	failed := 0
	for range 300 {
		bad := bytes.Clone(sound)
		for range 1 + random.IntN(40) {
			bad[16+random.IntN(len(bad)-16)] = byte(random.Uint32())
		}
		if random.IntN(4) == 0 {
			bad = bad[:random.IntN(len(bad))]
		}
		if err := os.WriteFile(path, bad, 0o600); err != nil {
			t.Fatal(err)
		}
		d, err := Open(context.Background(), path)
		if err == nil {
			err = d.Each(context.Background(), `SELECT id, data FROM x ORDER BY id`, nil, func(r Row) error { r.Text(0); r.Bytes(1); return nil })
			d.Close()
		}
		if err != nil {
			failed++
			if !errors.Is(err, ErrDamaged) && !errors.Is(err, ErrNoDatabase) && !errors.Is(err, ErrTooLong) {
				t.Fatalf("%v", err)
			}
		}
	}
	if failed < 100 {
		t.Errorf("%d of 300 damaged files failed: the damage does not reach what is read", failed)
	}
}

func TestLongValueIsReadInPieces(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.db")
	const size = 200 << 20
	owner(t, path, `CREATE TABLE x (id INTEGER PRIMARY KEY, data BLOB)`, fmt.Sprintf(`INSERT INTO x VALUES (1, zeroblob(%d))`, size)).Close()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	d := view1(t, path)
	var length int64
	if err := d.Each(context.Background(), `SELECT octet_length(data) FROM x`, nil, func(r Row) error { length = r.Int(0); return nil }); err != nil || length != size {
		t.Fatalf("%d, %v", length, err)
	}
	if err := d.Each(context.Background(), `SELECT data FROM x`, nil, func(r Row) error { return nil }); !errors.Is(err, ErrTooLong) {
		t.Errorf("a long value was taken in whole: %v", err)
	}
	v, err := d.Value(context.Background(), "x", "data", 1)
	if err != nil || v.Size() != size {
		t.Fatal(err)
	}
	n, err := io.Copy(io.Discard, struct{ io.Reader }{v})
	v.Close()
	if err != nil || n != size {
		t.Errorf("%d bytes, %v", n, err)
	}
	runtime.ReadMemStats(&after)
	if spent := after.TotalAlloc - before.TotalAlloc; spent > 64<<20 {
		t.Errorf("%d bytes were allocated", spent)
	}
}

func TestCancelled(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.db")
	owner(t, path, `CREATE TABLE x (a INTEGER)`, `INSERT INTO x WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 2000) SELECT i FROM n`).Close()
	ctx, cancel := context.WithCancel(context.Background())
	d := view1(t, path)
	cancel()
	if err := d.Each(ctx, `SELECT a FROM x`, nil, func(Row) error { return nil }); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	if _, err := Open(ctx, path); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
}

func BenchmarkOpen(b *testing.B) {
	path := filepath.Join(b.TempDir(), "x.db")
	owner(b, path, `PRAGMA journal_mode = wal`, `PRAGMA wal_autocheckpoint = 0`, `CREATE TABLE x (data TEXT)`,
		`INSERT INTO x WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 4000) SELECT hex(zeroblob(500)) FROM n`)
	for b.Loop() {
		d, err := Open(context.Background(), path)
		if err != nil {
			b.Fatal(err)
		}
		texts(b, d, `SELECT data FROM x LIMIT 1`)
		d.Close()
	}
}
