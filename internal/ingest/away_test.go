package ingest_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/yorehq/yore/reader"
)

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
