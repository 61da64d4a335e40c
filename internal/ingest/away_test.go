package ingest_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/yorehq/yore/internal/ingest"
	"github.com/yorehq/yore/reader"
	"github.com/yorehq/yore/reader/dsh"
)

// elsewhere is a catalog by which the files of roots lay on another device.
type elsewhere struct {
	ingest.Catalog
	by    uint64 // how far off
	asked int
}

func (e *elsewhere) Files(ctx context.Context, which ingest.FileLookup) ([]ingest.FileRow, error) {
	rows, err := e.Catalog.Files(ctx, which)
	if which.Root != nil {
		e.asked++
		for i := range rows {
			rows[i].Stamp.Device += e.by
		}
	}
	return rows, err
}

// However many files are missing, a look asks once what device they were on, as the
// catalog finds that out by all of them.
func TestWhatARootLayOnIsAskedOnceALook(t *testing.T) {
	b := newBench(t)
	catalog := &elsewhere{Catalog: b.index, by: 1}
	b.in = ingest.New(ingest.Options{Roots: []ingest.Root{{Reader: dsh.New(), Path: b.root}}, Catalog: catalog, Shards: b.index})
	const logs = 40
	for i := range logs {
		id := fmt.Sprint("s", i)
		b.write(id, header(id)+user(0, "kept zephyr"))
	}
	b.refresh()
	if n := b.found("zephyr"); n != logs || catalog.asked != 0 {
		t.Fatalf("%d of %d found, and the catalog asked %d times although nothing is missing", n, logs, catalog.asked)
	}
	info, err := os.Stat(b.root)
	if err := errors.Join(err, os.RemoveAll(b.root), os.Mkdir(b.root, 0o700)); err != nil {
		t.Fatal(err)
	}
	kept := logs
	if reader.StampOf(info).Device == 0 {
		kept = 0 // the system tells no devices apart
	}
	for look := range 3 {
		catalog.asked = 0
		b.refresh()
		if n := b.found("zephyr"); n != kept && look > 0 || catalog.asked > 2 {
			t.Errorf("look %d: %d found, want %d; the catalog was asked %d times", look, n, kept, catalog.asked)
		}
	}
	catalog.by = 0
	b.refresh()
	b.refresh()
	if n := b.found("zephyr"); n != 0 {
		t.Errorf("%d are found of a root that was emptied", n)
	}
}

// otherDevice makes a folder on another device than the tests' own.
func otherDevice(t *testing.T) string {
	t.Helper()
	own, err := os.Stat(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, at := range []string{"/dev/shm", "/run", "."} {
		dir, err := os.MkdirTemp(at, "yore-test-")
		if err != nil {
			continue
		}
		t.Cleanup(func() { os.RemoveAll(dir) })
		if info, err := os.Stat(dir); err == nil && reader.StampOf(info).Device != reader.StampOf(own).Device {
			dir, err = filepath.Abs(dir)
			if err != nil {
				t.Fatal(err)
			}
			return dir
		}
	}
	t.Skip("there is no second device to write to")
	return ""
}

// An empty folder in a root's place is a disk that is not mounted if it is on
// another device than the logs were, and else a root whose logs are deleted.
func TestAnEmptyFolderInARootsPlace(t *testing.T) {
	b := newBench(t)
	b.write("a", header("a")+user(0, "kept zephyr"))
	disk := filepath.Join(otherDevice(t), "disk")
	if err := errors.Join(os.CopyFS(disk, os.DirFS(b.root)), os.RemoveAll(b.root), os.Symlink(disk, b.root)); err != nil {
		t.Fatal(err)
	}
	holds := func(what string, want int) {
		t.Helper()
		b.refresh()
		b.refresh() // what is not there is looked for a second time
		if n := b.found("zephyr"); n != want {
			t.Errorf("%s: found %d, want %d", what, n, want)
		}
	}
	holds("mounted", 1)
	if err := errors.Join(os.Remove(b.root), os.Mkdir(b.root, 0o700)); err != nil {
		t.Fatal(err)
	}
	holds("not mounted", 1)
	if err := errors.Join(os.Remove(b.root), os.Symlink(disk, b.root)); err != nil {
		t.Fatal(err)
	}
	holds("mounted again", 1)
	entries, err := os.ReadDir(disk)
	for _, e := range entries {
		err = errors.Join(err, os.RemoveAll(filepath.Join(disk, e.Name())))
	}
	if err != nil {
		t.Fatal(err)
	}
	holds("all of its logs deleted", 0)
}
