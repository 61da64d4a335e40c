package sqlite

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/ncruces/go-sqlite3"

	"github.com/yorehq/yore/fault"
	"github.com/yorehq/yore/internal/ingest"
	"github.com/yorehq/yore/query"
	"github.com/yorehq/yore/session"
)

const workspace = "/work/space"

// put adds a session with one document a text, and returns its number.
func put(t testing.TB, x *Index, id string, texts ...string) int64 {
	t.Helper()
	st := ingest.Stored{Source: "/logs/" + id, Header: session.Header{Agent: session.DSH, ID: session.ID(id), Cwd: workspace}, LastStep: -1}
	err := x.Write(t.Context(), workspace, func(w ingest.Writer) error {
		if err := w.Put(t.Context(), &st); err != nil {
			return err
		}
		return w.Append(t.Context(), st.Num, batch(0, texts...))
	})
	if err != nil {
		t.Fatal(err)
	}
	return st.Num
}

func batch(seq int64, texts ...string) *ingest.Batch {
	var b ingest.Batch
	for _, text := range texts {
		b.Entries = append(b.Entries, ingest.Entry{
			Seq: seq, Type: session.UserMessage, Speaker: session.Human, Text: text, Surface: true, Order: defaultOrder(seq),
		})
		seq++
	}
	return &b
}

// hits counts the documents with a token; -1: there is no shard.
func hits(t testing.TB, x *Index, token string) int {
	t.Helper()
	view, err := x.Snapshot(t.Context(), workspace)
	if err != nil {
		t.Fatal(err)
	}
	if view == nil {
		return -1
	}
	defer view.Close()
	found, err := query.Collect(t.Context(), view, []string{token}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return len(found)
}

// files lists what is below a folder, by name.
func files(t testing.TB, dir string) map[string]fs.FileInfo {
	t.Helper()
	all := map[string]fs.FileInfo{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		rel, _ := filepath.Rel(dir, path)
		all[rel] = info
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func TestPermissions(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Log("a mode says nothing here")
	}
	dir := filepath.Join(t.TempDir(), "above", "index")
	loosened := fs.FileMode(0) // of what stays as it is found
	check := func(when string) {
		t.Helper()
		for name, info := range files(t, dir) {
			if loosened != 0 && (name == "." || name == lockFile) {
				if runtime.GOOS != "windows" && info.Mode().Perm() != loosened {
					t.Errorf("%s: the mode of %q became %v", when, name, info.Mode())
				}
				continue
			}
			if runtime.GOOS != "windows" && info.Mode().Perm()&0o077 != 0 {
				t.Errorf("%s: %s has mode %v", when, name, info.Mode())
			}
		}
	}
	x := openAt(t, dir)
	check("opened")
	put(t, x, "one", "some text")
	check("written")
	view, err := x.Snapshot(t.Context(), workspace)
	if err != nil {
		t.Fatal(err)
	}
	check("reading")
	if names := files(t, dir); names[filepath.Join("shards", shardName(workspace)+".db-wal")] == nil {
		t.Errorf("no write-ahead log was there to be checked: %v", names)
	}
	view.Close()
	if err := x.Close(); err != nil {
		t.Fatal(err)
	}
	for name := range files(t, dir) {
		if strings.HasSuffix(name, "-wal") || strings.HasSuffix(name, "-shm") || strings.HasSuffix(name, "-journal") || strings.Contains(name, newPrefix) {
			t.Errorf("%s is left after Close", name)
		}
	}
	for name := range files(t, dir) { // loosened by hand
		if err := os.Chmod(filepath.Join(dir, name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	loosened = 0o755
	x = openAt(t, dir)
	if got := hits(t, x, "text"); got != 1 {
		t.Errorf("%d hits after opening again", got)
	}
	check("opened again")
}

func TestNotOurs(t *testing.T) {
	foreign := func(t *testing.T, path, settings string) {
		db, err := sqlite3.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(db.Exec(settings+`; CREATE TABLE t (x); INSERT INTO t VALUES ('theirs')`), db.Close()); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		name   string
		make   func(t *testing.T, dir string) // the index folder
		reason string
	}{
		{"a plain file", func(t *testing.T, dir string) { writeFile(t, dir, "hello") }, "no folder"},
		{"a text as catalog", func(t *testing.T, dir string) { writeFile(t, filepath.Join(dir, catalogFile), "hello") }, "no database"},
		{"a folder as catalog", func(t *testing.T, dir string) { writeFile(t, filepath.Join(dir, catalogFile, "file"), "x") }, "no database"},
		{"another application's catalog", func(t *testing.T, dir string) {
			writeFile(t, filepath.Join(dir, "other"), "x")
			foreign(t, filepath.Join(dir, catalogFile), `PRAGMA application_id = 77`)
		}, "another application"},
		{"a catalog without an application", func(t *testing.T, dir string) {
			writeFile(t, filepath.Join(dir, "other"), "x")
			foreign(t, filepath.Join(dir, catalogFile), `PRAGMA journal_mode = WAL`)
		}, "another application"},
		{"a newer catalog", func(t *testing.T, dir string) {
			if err := openAt(t, dir).Close(); err != nil {
				t.Fatal(err)
			}
			foreign(t, filepath.Join(dir, catalogFile), `PRAGMA user_version = 999`)
		}, "newer version"},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "index")
			c.make(t, dir)
			before := everything(t, dir)
			x, err := Open(t.Context(), Options{Dir: dir})
			if err == nil {
				x.Close()
			}
			if code, _ := fault.Of(err); code != fault.IndexFailed || !strings.Contains(err.Error(), c.reason) {
				t.Errorf("Open = %v, want %v for %q", err, fault.IndexFailed, c.reason)
			}
			if after := everything(t, dir); after != before {
				t.Errorf("the folder was changed from\n%q\nto\n%q", before, after)
			}
		})
	}
}

func writeFile(t *testing.T, path, text string) {
	t.Helper()
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(text), 0o644)); err != nil {
		t.Fatal(err)
	}
}

// everything gives the names and bytes of everything below a path.
func everything(t *testing.T, dir string) string {
	t.Helper()
	var b strings.Builder
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		b.WriteString(path + "\n" + string(data) + "\n")
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestForeignShard(t *testing.T) {
	dir := t.TempDir()
	x := openAt(t, dir)
	path := x.shardOf(workspace).path
	db, err := sqlite3.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(db.Exec(`PRAGMA application_id = 5; CREATE TABLE t (x)`), db.Close()); err != nil {
		t.Fatal(err)
	}
	before := everything(t, filepath.Join(dir, "shards"))
	_, err = x.Snapshot(t.Context(), workspace)
	errs := []error{err, x.Write(t.Context(), workspace, func(ingest.Writer) error { return nil })}
	for _, err := range errs {
		if !errors.Is(err, fault.IndexFailed) {
			t.Errorf("error %v", err)
		}
	}
	if everything(t, filepath.Join(dir, "shards")) != before {
		t.Error("the stranger's database was changed")
	}
	if all, err := x.Workspaces(t.Context()); len(all) != 0 || err != nil {
		t.Errorf("Workspaces = %v, %v", all, err)
	}
}

func TestShardOfAnotherWorkspace(t *testing.T) {
	x := openAt(t, t.TempDir())
	put(t, x, "one", "text")
	if err := x.Close(); err != nil {
		t.Fatal(err)
	}
	y := openAt(t, x.dir)
	if err := os.Rename(y.shardOf(workspace).path, y.shardOf("/other").path); err != nil {
		t.Fatal(err)
	}
	if _, err := y.Snapshot(t.Context(), "/other"); !errors.Is(err, fault.IndexFailed) {
		t.Errorf("Snapshot = %v", err)
	}
	if all, err := y.Workspaces(t.Context()); len(all) != 0 || err != nil {
		t.Errorf("Workspaces = %v, %v", all, err)
	}
}

// setVersion changes the schema version in a closed database's header.
func setVersion(t *testing.T, path string, version uint32) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	binary.BigEndian.PutUint32(data[60:], version)
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestAVirtualTableOfAnOlderSchema: its module is gone, and the database is
// made anew all the same.
func TestAVirtualTableOfAnOlderSchema(t *testing.T) {
	x := openAt(t, t.TempDir())
	put(t, x, "one", "text")
	c, err := x.acquire(t.Context(), x.shardOf(workspace), true)
	if err != nil {
		t.Fatal(err)
	}
	err = c.execAll(`PRAGMA writable_schema = ON;
		INSERT INTO sqlite_schema VALUES ('table', 'f', 'f', 0, 'CREATE VIRTUAL TABLE f USING fts5(t, content='''', tokenize=''ascii'')');
		CREATE TABLE f_data (id INTEGER PRIMARY KEY, block BLOB); INSERT INTO f_data VALUES (1, 'text'); PRAGMA writable_schema = OFF`)
	x.release(c)
	if err := errors.Join(err, x.Close()); err != nil {
		t.Fatal(err)
	}
	setVersion(t, x.shardOf(workspace).path, 4)
	y := openAt(t, x.dir)
	if got := hits(t, y, "text"); got != -1 {
		t.Errorf("%d hits in a shard of an older schema, want none to be there", got)
	}
	put(t, y, "two", "text")
	if got := hits(t, y, "text"); got != 1 {
		t.Errorf("%d hits in a shard that was made anew", got)
	}
	if c, err = y.acquire(t.Context(), y.shardOf(workspace), false); err != nil {
		t.Fatal(err)
	}
	defer y.release(c)
	if n, err := c.integer(t.Context(), `SELECT count(*) FROM sqlite_schema WHERE name IN ('f', 'f_data')`); n != 0 || err != nil {
		t.Errorf("%d tables of the older schema are left, %v", n, err)
	}
	if err := c.rowsOf(t.Context(), `PRAGMA integrity_check`, func(r row) error {
		if r.text(0) != "ok" {
			t.Errorf("integrity: %s", r.text(0))
		}
		return nil
	}); err != nil {
		t.Error(err)
	}
}

func TestSchemaVersions(t *testing.T) {
	x := openAt(t, t.TempDir())
	put(t, x, "one", "text")
	err := x.Update(t.Context(), ingest.CatalogChange{Files: []ingest.FileRow{{Path: "/logs/one"}}})
	if err := errors.Join(err, x.Close()); err != nil {
		t.Fatal(err)
	}
	shard, catalog := x.shardOf(workspace).path, x.catalogPath()

	setVersion(t, shard, 0)
	setVersion(t, catalog, 0)
	y := openAt(t, x.dir)
	if got := hits(t, y, "text"); got != -1 {
		t.Errorf("%d hits in a shard of an older schema, want none to be there", got)
	}
	if all, err := y.Headers(t.Context(), query.Lookup{}); len(all) != 0 || err != nil {
		t.Errorf("Headers = %v, %v", all, err)
	}
	put(t, y, "two", "text")
	if got := hits(t, y, "text"); got != 1 {
		t.Errorf("%d hits in the shard made anew", got)
	}
	if err := y.Close(); err != nil {
		t.Fatal(err)
	}

	setVersion(t, shard, schemaVersion+1)
	z := openAt(t, x.dir)
	before := everything(t, filepath.Dir(shard))
	_, err = z.Snapshot(t.Context(), workspace)
	if !errors.Is(err, fault.IndexFailed) || !strings.Contains(err.Error(), "newer version") {
		t.Errorf("Snapshot of a newer shard = %v", err)
	}
	if after, err := os.ReadFile(shard); err != nil || !strings.Contains(before, string(after)) {
		t.Errorf("the newer shard was changed (%v)", err)
	}
}

// TestTwoVersionsAtOnce has this program, with the index open, meet a newer one
// that made the index its own, and an older one that still has it open. Neither
// may take it from the newer in turn.
func TestTwoVersionsAtOnce(t *testing.T) {
	x := openAt(t, t.TempDir())
	put(t, x, "one", "text")
	shard := x.shardOf(workspace).path
	for _, path := range []string{shard, x.catalogPath()} {
		// What a newer program does: another file, whole, in the place of this one.
		y := openAt(t, t.TempDir())
		put(t, y, "two", "newer text")
		if err := y.Close(); err != nil {
			t.Fatal(err)
		}
		from := y.shardOf(workspace).path
		if path != shard {
			from = y.catalogPath()
		}
		setVersion(t, from, schemaVersion+1)
		newer, err := os.ReadFile(from)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
		removeAll(path)
		if err := os.WriteFile(path, newer, 0o600); err != nil {
			t.Fatal(err)
		}
		for range 3 {
			err = x.Update(t.Context(), ingest.CatalogChange{Files: []ingest.FileRow{{Path: "/logs/one"}}})
			if path == shard {
				err = x.Write(t.Context(), workspace, func(w ingest.Writer) error { return w.Put(t.Context(), &ingest.Stored{}) })
			}
			if !errors.Is(err, fault.IndexFailed) || !strings.Contains(err.Error(), "newer version") {
				t.Errorf("%s: writing = %v", filepath.Base(path), err)
			}
			if _, err := Open(t.Context(), Options{Dir: x.dir}); path != shard && (err == nil || !strings.Contains(fault.SafeText(err), "newer version")) {
				t.Errorf("opening = %v", err)
			}
		}
		if after, err := os.ReadFile(path); err != nil || !bytes.Equal(after, newer) {
			t.Errorf("%s: the newer file was changed (%v)", filepath.Base(path), err)
		}
	}

	// The other way round: who has the older file open goes on reading what it has.
	older := openAt(t, t.TempDir())
	put(t, older, "one", "text")
	view, err := older.Snapshot(t.Context(), workspace)
	if err != nil {
		t.Fatal(err)
	}
	defer view.Close()
	shard = older.shardOf(workspace).path
	c, err := older.acquire(t.Context(), older.shardOf(workspace), true)
	if err != nil {
		t.Fatal(err)
	}
	if err := c.execAll(fmt.Sprintf(`PRAGMA user_version = %d`, schemaVersion-1)); err != nil {
		t.Fatal(err)
	}
	older.release(c)
	was := inode(t, shard)
	z := openAt(t, older.dir)
	put(t, z, "two", "newer text")
	if os.SameFile(was, inode(t, shard)) {
		t.Error("the older file was changed in place")
	}
	if text, err := view.Text(t.Context(), query.NewDocID(1, 0)); text != "text" || err != nil {
		t.Errorf("the older program's view = %q, %v", text, err)
	}
	if got := hits(t, z, "text"); got != 1 {
		t.Errorf("%d hits in the new shard, want that of the newer text alone", got)
	}
}

func TestDamagedShard(t *testing.T) {
	for _, c := range []struct {
		name   string
		damage func(data []byte) []byte
		lines  int // of the log: an empty file is nobody's
	}{
		{"no database", func([]byte) []byte { return []byte("gone") }, 1},
		{"empty", func([]byte) []byte { return nil }, 0},
		{"cut", func(data []byte) []byte { return data[:len(data)/2] }, 1},
		{"overwritten", func(data []byte) []byte {
			for i := 4096; i < len(data); i++ {
				data[i] = 0xfe
			}
			return data
		}, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			x := openAt(t, t.TempDir())
			for range 5 {
				put(t, x, "one", strings.Repeat("lots of text ", 1000), "text")
			}
			if err := x.Close(); err != nil {
				t.Fatal(err)
			}
			path := x.shardOf(workspace).path
			data, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, c.damage(data), 0o600); err != nil {
				t.Fatal(err)
			}
			var log bytes.Buffer
			y, err := Open(t.Context(), Options{Dir: x.dir, Logger: slog.New(slog.NewTextHandler(&log, nil))})
			if err != nil {
				t.Fatal(err)
			}
			defer y.Close()
			touch(t.Context(), y) // may be the call that notices
			settle(t, y)
			put(t, y, "two", "fresh text")
			if got := hits(t, y, "fresh"); got != 1 {
				t.Errorf("%d hits in the new shard", got)
			}
			if got := hits(t, y, "lots"); got != 0 {
				t.Errorf("%d hits of the damaged shard", got)
			}
			health, err := y.Check(t.Context(), true)
			if err != nil || len(health.Damaged) != 0 || len(health.Shards) != 1 || health.Shards[0].Problem != "" {
				t.Errorf("Check = %+v, %v", health, err)
			}
			if lines := strings.Count(log.String(), "\n"); lines != c.lines {
				t.Errorf("%d log lines, want %d:\n%s", lines, c.lines, log.String())
			}
		})
	}
}

// settle looks again as long as damage is met, as whoever plans with an index does.
func settle(t *testing.T, x *Index) {
	t.Helper()
	for range 3 {
		if _, err := x.Peek(t.Context(), workspace, ingest.StoredLookup{}); !errors.Is(err, ingest.ErrDamaged) {
			return
		}
	}
	t.Error("damage is met again and again")
}

// touch reads whatever a shard holds, for its failures.
func touch(ctx context.Context, x *Index) {
	view, err := x.Snapshot(ctx, workspace)
	if err != nil || view == nil {
		return
	}
	defer view.Close()
	view.Sessions(ctx)
	query.Collect(ctx, view, []string{"lots"}, nil)
	view.Text(ctx, query.NewDocID(1, 0))
}

func TestDamagedCatalog(t *testing.T) {
	x := openAt(t, t.TempDir())
	if err := x.Close(); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(x.catalogPath())
	if err != nil {
		t.Fatal(err)
	}
	for i := 100; i < len(data); i++ {
		data[i] = 0xfe
	}
	if err := os.WriteFile(x.catalogPath(), data, 0o600); err != nil {
		t.Fatal(err)
	}
	y := openAt(t, x.dir)
	if err := y.Update(t.Context(), ingest.CatalogChange{Files: []ingest.FileRow{{Path: "/a"}}}); err != nil {
		t.Error(err)
	}
}

func TestRemoveShard(t *testing.T) {
	x := openAt(t, t.TempDir())
	if err := x.RemoveShard(t.Context(), workspace); err != nil {
		t.Errorf("removing what is not there: %v", err)
	}
	put(t, x, "one", "text")
	other, err := Open(t.Context(), Options{Dir: x.dir, BusyTimeout: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	view, err := x.Snapshot(t.Context(), workspace)
	if err != nil {
		t.Fatal(err)
	}
	if err := other.RemoveShard(t.Context(), workspace); !errors.Is(err, ingest.ErrBusy) {
		t.Errorf("removing under a reader: %v", err)
	}
	view.Close()
	if got := hits(t, x, "text"); got != 1 {
		t.Errorf("%d hits after a refused removal", got)
	}
	if err := x.RemoveShard(t.Context(), workspace); err != nil {
		t.Fatal(err)
	}
	if left := files(t, filepath.Join(x.dir, shardFolder)); len(left) != 1 {
		t.Errorf("left: %v", left)
	}
	if got := hits(t, x, "text"); got != -1 {
		t.Errorf("%d hits in a removed shard", got)
	}
	put(t, x, "two", "text")
	if got := hits(t, other, "text"); got != 1 {
		t.Errorf("%d hits in the new shard", got)
	}
}

// TestRemovedByHand: the index is a cache, and caches are emptied under running
// programs.
func TestRemovedByHand(t *testing.T) {
	if runtime.GOOS == "windows" {
		return // an open file cannot be removed there
	}
	x := openAt(t, t.TempDir())
	put(t, x, "one", "text")
	if got := hits(t, x, "text"); got != 1 {
		t.Fatalf("%d hits", got)
	}
	err := os.RemoveAll(x.dir)
	if err != nil {
		t.Fatal(err)
	}
	// What was known of it is no more: an answer from nothing would be wrong.
	if view, err := x.Snapshot(t.Context(), workspace); view != nil || !errors.Is(err, ingest.ErrDamaged) {
		t.Errorf("Snapshot of a shard that is gone = %v, %v", view, err)
	}
	if got := hits(t, x, "text"); got != -1 {
		t.Errorf("%d hits in a shard that is gone", got)
	}
	put(t, x, "two", "text")
	if err := x.Update(t.Context(), ingest.CatalogChange{Files: []ingest.FileRow{{Path: "/a"}}}); err != nil {
		t.Error(err)
	}
	other := openAt(t, x.dir)
	if got := hits(t, other, "text"); got != 1 {
		t.Errorf("%d hits in the new shard, seen from elsewhere", got)
	}
	if all, err := other.Files(t.Context(), ingest.FileLookup{}); len(all) != 1 || err != nil {
		t.Errorf("Files = %v, %v", all, err)
	}
}

func TestRemoveShardInMemory(t *testing.T) {
	x, err := OpenMemory(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer x.Close()
	put(t, x, "one", "text")
	view, err := x.Snapshot(t.Context(), workspace)
	if err != nil {
		t.Fatal(err)
	}
	defer view.Close()
	if err := x.RemoveShard(t.Context(), workspace); err != nil {
		t.Fatal(err)
	}
	if got := hits(t, x, "text"); got != -1 {
		t.Errorf("%d hits in a removed shard", got)
	}
	put(t, x, "two", "other")
	if got := hits(t, x, "text"); got != 0 {
		t.Errorf("%d hits of the removed shard in the new one", got)
	}
}
