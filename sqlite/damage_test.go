package sqlite

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/yorehq/yore/fault"
	"github.com/yorehq/yore/internal/ingest"
	"github.com/yorehq/yore/query"
	"github.com/yorehq/yore/session"
)

const pageSize = 4096

// overwrite puts random bytes over one page of a file.
func overwrite(t *testing.T, path string, page int64) (noise []byte) {
	t.Helper()
	noise = make([]byte, pageSize)
	random := rand.NewChaCha8([32]byte{byte(page), byte(page >> 8)})
	random.Read(noise)
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	_, err = f.WriteAt(noise, page*pageSize)
	if err := errors.Join(err, f.Close()); err != nil {
		t.Fatal(err)
	}
	return noise
}

func pages(t *testing.T, path string) int64 {
	t.Helper()
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	return info.Size() / pageSize
}

func inode(t *testing.T, path string) os.FileInfo {
	t.Helper()
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	return info
}

// corpus is what a call brings into its shard when the shard lacks it.
func corpus() map[string][]string {
	all := map[string][]string{}
	for i := range 12 {
		var texts []string
		for j := range 30 {
			texts = append(texts, fmt.Sprintf("everywhere %s number%d", strings.Repeat(fmt.Sprintf("w%dx%d ", i, j*j), 40), j))
		}
		all[fmt.Sprint("session", i)] = texts
	}
	return all
}

// wholeCall does in a fresh index what one call of the program does: it asks what the
// shard holds, brings what is missing, and reads everything.
func wholeCall(t *testing.T, dir string) (found int, err error) {
	t.Helper()
	x, err := Open(t.Context(), Options{Dir: dir})
	if err != nil {
		return 0, err
	}
	defer x.Close()
	stored, err := x.Peek(t.Context(), workspace, ingest.StoredLookup{})
	if err != nil {
		return 0, err
	}
	there := map[string]bool{}
	for _, s := range stored {
		there[string(s.Header.ID)] = true
	}
	for id, texts := range corpus() {
		if there[id] {
			continue
		}
		st := ingest.Stored{Source: "/logs/" + id, Header: session.Header{ID: session.ID(id)}, LastStep: -1}
		err := x.Write(t.Context(), workspace, func(w ingest.Writer) error {
			if err := w.Put(t.Context(), &st); err != nil {
				return err
			}
			return w.Append(t.Context(), st.Num, batch(0, texts...))
		})
		if err != nil {
			return 0, err
		}
	}
	view, err := x.Snapshot(t.Context(), workspace)
	if err != nil || view == nil {
		return 0, err
	}
	defer view.Close()
	rows, err := view.Sessions(t.Context())
	if err != nil {
		return 0, err
	}
	for _, r := range rows {
		docs, err := view.Log(r.Num).Documents(t.Context(), 0, 1<<40)
		if err != nil {
			return 0, err
		}
		for _, d := range docs {
			if _, err := view.Text(t.Context(), d.Doc); err != nil {
				return 0, err
			}
		}
	}
	postings, err := query.Collect(t.Context(), view, []string{"everywhere"}, nil)
	return len(postings), err
}

// TestDamagedPages: whatever page of a shard is damaged, at most one call fails,
// says that it can be repeated, and the next finds everything.
func TestDamagedPages(t *testing.T) {
	dir := t.TempDir()
	const all = 12 * 30
	if found, err := wholeCall(t, dir); found != all || err != nil {
		t.Fatalf("%d found, %v", found, err)
	}
	path := (&Index{dir: dir}).shardOf(workspace).path
	rebuilt := 0
	for page := range pages(t, path) {
		noise := overwrite(t, path, page)
		found, err := wholeCall(t, dir)
		if err != nil {
			if code, _ := fault.Of(err); code != fault.IndexFailed || !errors.Is(err, ingest.ErrDamaged) || !strings.Contains(fault.SafeText(err), "repeat") {
				t.Errorf("page %d: %v, shown as %q", page, err, fault.SafeText(err))
			}
			if found, err = wholeCall(t, dir); err != nil {
				t.Errorf("page %d: the second call: %v", page, err)
			}
		}
		if err == nil && found != all {
			t.Errorf("page %d: %d found, want %d", page, found, all)
		}
		now, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Contains(now, noise) {
			rebuilt++
			continue
		}
		// The page is not used, or only for what nobody asked: the next page has to
		// be damaged in a sound file.
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
		if _, err := wholeCall(t, dir); err != nil {
			t.Fatal(err)
		}
	}
	if rebuilt < 8 {
		t.Errorf("only %d pages did damage", rebuilt)
	}
	for name := range files(t, dir) {
		if strings.Contains(name, damagedSuffix) {
			t.Errorf("%s is left", name)
		}
	}
}

func TestDamagedCatalogPages(t *testing.T) {
	dir := t.TempDir()
	var change ingest.CatalogChange
	for i := range 200 {
		change.Files = append(change.Files, ingest.FileRow{Path: fmt.Sprintf("/logs/%03d%s", i, strings.Repeat("x", 100)), Folder: "/logs"})
	}
	const all = 200
	run := func() (int, error) {
		x, err := Open(t.Context(), Options{Dir: dir})
		if err != nil {
			return 0, err
		}
		defer x.Close()
		known, err := x.Files(t.Context(), ingest.FileLookup{})
		if err == nil && len(known) == 0 {
			if err = x.Update(t.Context(), change); err == nil {
				known, err = x.Files(t.Context(), ingest.FileLookup{})
			}
		}
		if err != nil {
			return 0, err
		}
		path := change.Files[7].Path
		one, err := x.Files(t.Context(), ingest.FileLookup{Path: &path})
		if err == nil && len(one) != 1 {
			err = errors.New("a file is not found")
		}
		return len(known), err
	}
	path := filepath.Join(dir, catalogFile)
	if n, err := run(); n != all || err != nil {
		t.Fatalf("%d files, %v", n, err)
	}
	x := openAt(t, dir)
	put(t, x, "one", "text") // the shards tell whose the folder is
	if err := x.Close(); err != nil {
		t.Fatal(err)
	}
	for page := range pages(t, path) {
		overwrite(t, path, page)
		n, err := run()
		if err != nil {
			if !errors.Is(err, ingest.ErrDamaged) {
				t.Errorf("page %d: %v", page, err)
			}
			n, err = run()
		}
		if n != all || err != nil {
			t.Errorf("page %d: %d files, %v", page, n, err)
		}
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
		if _, err := run(); err != nil {
			t.Fatal(err)
		}
	}
}

func TestEmptyCatalog(t *testing.T) {
	dir := t.TempDir()
	writeFile(t, filepath.Join(dir, catalogFile), "")
	x := openAt(t, dir)
	if err := x.Update(t.Context(), ingest.CatalogChange{Files: []ingest.FileRow{{Path: "/a"}}}); err != nil {
		t.Fatal(err)
	}
	if err := x.Close(); err != nil {
		t.Fatal(err)
	}
	y := openAt(t, dir)
	if all, err := y.Files(t.Context(), ingest.FileLookup{}); len(all) != 1 || err != nil {
		t.Errorf("Files = %v, %v", all, err)
	}
}

// TestDamageMetTwice: two processes met the same damage, and the second to
// notice leaves the new file of the first alone.
func TestDamageMetTwice(t *testing.T) {
	x := openAt(t, t.TempDir())
	y := openAt(t, x.dir)
	put(t, x, "one", "old text")
	path := x.shardOf(workspace).path
	if got := hits(t, y, "old"); got != 1 {
		t.Fatalf("%d hits", got)
	}
	kept, err := y.Snapshot(t.Context(), workspace)
	if err != nil {
		t.Fatal(err)
	}
	defer kept.Close()
	old := inode(t, path)
	y.condemn(&conn{path: path, info: old}, damage)
	x.condemn(&conn{path: path, info: old}, damage)
	settle(t, x)
	put(t, x, "two", "new text")
	fresh := inode(t, path)
	if os.SameFile(old, fresh) {
		t.Fatal("the damaged file is still there")
	}
	settle(t, y)
	if got := hits(t, y, "new"); got != 1 {
		t.Errorf("%d hits in the new file", got)
	}
	if !os.SameFile(fresh, inode(t, path)) {
		t.Error("the new file was removed as well")
	}
	kept.Close() // its file is gone, and so must not touch the log of the new one
	put(t, y, "three", "newer text")
	if got := hits(t, x, "text"); got != 2 {
		t.Errorf("%d hits, want those of two sessions", got)
	}
}

// TestReplacedCatalog: what a process knows of a catalog that another has begun
// anew must not be taken for what there is.
func TestReplacedCatalog(t *testing.T) {
	x := openAt(t, t.TempDir())
	y := openAt(t, x.dir)
	row := ingest.CatalogChange{Files: []ingest.FileRow{{Path: "/a"}}}
	if err := x.Update(t.Context(), row); err != nil {
		t.Fatal(err)
	}
	if all, err := y.Files(t.Context(), ingest.FileLookup{}); len(all) != 1 || err != nil {
		t.Fatalf("Files = %v, %v", all, err)
	}
	x.condemn(&conn{path: x.catalogPath(), info: inode(t, x.catalogPath())}, damage)
	if err := x.Update(t.Context(), ingest.CatalogChange{}); err != nil {
		t.Fatal(err)
	}
	if _, err := y.Files(t.Context(), ingest.FileLookup{}); !errors.Is(err, ingest.ErrDamaged) || errors.Is(err, ingest.ErrBusy) {
		t.Errorf("Files of a new catalog = %v", err)
	}
	if all, err := y.Files(t.Context(), ingest.FileLookup{}); len(all) != 0 || err != nil {
		t.Errorf("Files, asked again = %v, %v", all, err)
	}
}

// TestReplacedShard: a call that planned with a shard does not answer from the
// one that another process has only begun to fill.
func TestReplacedShard(t *testing.T) {
	for _, c := range []struct {
		name string
		use  func(x *Index) error
	}{
		{"Snapshot", func(x *Index) error {
			view, err := x.Snapshot(t.Context(), workspace)
			if view != nil {
				view.Close()
			}
			return err
		}},
		{"Peek", func(x *Index) error {
			_, err := x.Peek(t.Context(), workspace, ingest.StoredLookup{})
			return err
		}},
		{"Write", func(x *Index) error {
			return x.Write(t.Context(), workspace, func(ingest.Writer) error { return nil })
		}},
	} {
		for _, refilled := range []bool{false, true} {
			t.Run(fmt.Sprint(c.name, refilled), func(t *testing.T) {
				x := openAt(t, t.TempDir())
				y := openAt(t, x.dir)
				put(t, x, "one", "text")
				if all, err := y.Peek(t.Context(), workspace, ingest.StoredLookup{}); len(all) != 1 || err != nil {
					t.Fatalf("Peek = %v, %v", all, err)
				}
				path := x.shardOf(workspace).path
				x.condemn(&conn{path: path, info: inode(t, path)}, damage)
				if err := x.removeDamaged(t.Context(), path); err != nil {
					t.Fatal(err)
				}
				if settle(t, x); refilled {
					put(t, x, "two", "text")
				}
				if err := c.use(y); !errors.Is(err, ingest.ErrDamaged) || errors.Is(err, ingest.ErrBusy) {
					t.Errorf("%s = %v", c.name, err)
				}
				if err := c.use(y); err != nil {
					t.Errorf("%s again = %v", c.name, err)
				}
			})
		}
	}
}

// TestDamageBetween: a shard that is found damaged after it was planned with is
// not taken for one that is not there.
func TestDamageBetween(t *testing.T) {
	x := openAt(t, t.TempDir())
	put(t, x, "one", "text")
	if _, err := x.Purge(t.Context(), workspace); err != nil {
		t.Fatal(err)
	}
	path := x.shardOf(workspace).path
	x.dropIdle(path) // into the file with all of it
	if all, err := x.Peek(t.Context(), workspace, ingest.StoredLookup{}); len(all) != 1 || err != nil {
		t.Fatalf("Peek = %v, %v", all, err)
	}
	x.dropIdle(path)
	overwrite(t, path, 0)
	if view, err := x.Snapshot(t.Context(), workspace); view != nil || !errors.Is(err, ingest.ErrDamaged) {
		t.Errorf("Snapshot = %v, %v", view, err)
	}
	settle(t, x)
	if got := hits(t, x, "text"); got != -1 {
		t.Errorf("%d hits", got)
	}
}

// TestDamagedLeavesNothing: text of a session that is deleted by now is not kept
// in a damaged file.
func TestDamagedLeavesNothing(t *testing.T) {
	x := openAt(t, t.TempDir())
	secret(t, x)
	put(t, x, "other", strings.Repeat("stays ", 1000))
	if err := x.Close(); err != nil {
		t.Fatal(err)
	}
	shard := x.shardOf(workspace).path
	mark := damagedSuffix + "20260101T000000.000"
	for _, name := range []string{shard + mark, shard + mark + "-wal", x.catalogPath() + mark} {
		writeFile(t, name, "zzt of an earlier version")
	}
	theirs := filepath.Join(x.dir, "notes.db"+mark)
	writeFile(t, theirs, "no file of ours")
	overwrite(t, shard, pages(t, shard)/2)
	overwrite(t, shard, 2)

	y := openAt(t, x.dir)
	touch(t.Context(), y)
	settle(t, y)
	put(t, y, "other", "stays")
	for _, word := range words {
		if names := holding(t, x.dir, word); names != nil {
			t.Errorf("%q is left in %v", word, names)
		}
	}
	if _, err := os.Stat(theirs); err != nil {
		t.Error(err)
	}
}

// TestDoctorFindsDamage: what only a check of all pages finds is made anew as well.
func TestDoctorFindsDamage(t *testing.T) {
	dir := t.TempDir()
	if _, err := wholeCall(t, dir); err != nil {
		t.Fatal(err)
	}
	x := openAt(t, dir)
	path := x.shardOf(workspace).path
	last := pages(t, path) - 1
	if err := x.Close(); err != nil {
		t.Fatal(err)
	}
	overwrite(t, path, last)
	y := openAt(t, dir)
	health, err := y.Check(t.Context(), true)
	if err != nil || len(health.Shards) != 1 || health.Shards[0].Problem == "" {
		t.Fatalf("Check = %+v, %v", health, err)
	}
	if err := y.Close(); err != nil {
		t.Fatal(err)
	}
	if found, err := wholeCall(t, dir); found != 12*30 || err != nil {
		t.Errorf("after it: %d found, %v", found, err)
	}
}

// TestFolderOfOthers: a folder that was there keeps its mode, what is made in it
// is private.
func TestFolderOfOthers(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "shared")
	mode := 0o777 | os.ModeSticky
	writeFile(t, filepath.Join(dir, "theirs"), "x")
	if err := os.Chmod(dir, mode); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		x := openAt(t, dir)
		put(t, x, "one", "text")
		if err := x.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if runtime.GOOS == "windows" {
		return // a mode says nothing here
	}
	for name, info := range files(t, dir) {
		switch {
		case name == ".":
			if got := info.Mode() & (os.ModePerm | os.ModeSticky); got != mode {
				t.Errorf("the folder's mode became %v", got)
			}
		case name != "theirs" && info.Mode().Perm()&0o077 != 0:
			t.Errorf("%s has mode %v", name, info.Mode())
		}
	}
}

// TestShardsOfOthers: a folder "shards" that was there before any index keeps
// its mode too.
func TestShardsOfOthers(t *testing.T) {
	dir := t.TempDir()
	writeFile(t, filepath.Join(dir, shardFolder, "theirs"), "x")
	if err := os.Chmod(filepath.Join(dir, shardFolder), 0o755); err != nil {
		t.Fatal(err)
	}
	openAt(t, dir)
	if info := inode(t, filepath.Join(dir, shardFolder)); runtime.GOOS != "windows" && info.Mode().Perm() != 0o755 {
		t.Errorf("its mode became %v", info.Mode())
	}
}
