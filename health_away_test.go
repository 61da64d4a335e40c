package yore_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/yorehq/yore"
	"github.com/yorehq/yore/reader"
	"github.com/yorehq/yore/session"
)

// TestHealthOfALogThatCannotBeOpened: what the index holds of a log is no word
// that the log can be read. It is a link to itself for a while, which nobody can
// open, whatever rights they have.
func TestHealthOfALogThatCannotBeOpened(t *testing.T) {
	root := t.TempDir()
	path := writeLog(t, root, "a", "a zephyr")
	writeLog(t, root, "b", "another zephyr")
	h := openOver(t, root, filepath.Join(t.TempDir(), "index"))
	expect := func(what string, sound, problems int) {
		t.Helper()
		for _, depth := range []yore.Depth{yore.Headers, yore.Logs, yore.Pages} {
			health, err := h.Health(t.Context(), depth, nil)
			if err != nil {
				t.Fatal(err)
			}
			if n := health.Roots[0].Sound; n != sound || len(health.Problems) != problems || health.Sound() != (problems == 0) {
				t.Errorf("%s, depth %v: %d logs count as read, %+v; want %d and %d problems", what, depth, n, health.Problems, sound, problems)
			}
			for _, p := range health.Problems {
				if p.Path != path || p.Kind != yore.Unreadable {
					t.Errorf("%s, depth %v: %+v", what, depth, p)
				}
			}
		}
	}
	if _, err := h.Health(t.Context(), yore.Logs, nil); err != nil {
		t.Fatal(err)
	}
	expect("both are there", 2, 0)
	if err := errors.Join(os.Rename(path, path+".kept"), os.Symlink(path, path)); err != nil {
		t.Fatal(err)
	}
	expect("one cannot be opened", 1, 1)
	if err := errors.Join(os.Remove(path), os.Rename(path+".kept", path)); err != nil {
		t.Fatal(err)
	}
	expect("and back", 2, 0)
}

// TestForgetWithoutTheIndex: where the folder of the index cannot be written to,
// nobody says that what it may hold is off the disk.
func TestForgetWithoutTheIndex(t *testing.T) {
	// Nobody makes a folder there, the superuser included.
	index := filepath.Join("/sys", "yore-test")
	if err := os.Mkdir(index, 0o700); !errors.Is(err, os.ErrPermission) {
		os.Remove(index)
		return // the system has no such place
	}
	root := t.TempDir()
	writeLog(t, root, "a", "a zephyr")
	for dir, want := range map[string]bool{index: false, filepath.Join(t.TempDir(), "index"): true} {
		h, err := yore.Open(t.Context(), yore.Options{
			Sources: []yore.Source{{Agent: session.DSH, Root: root}}, IndexDir: dir, ForgetFile: filepath.Join(t.TempDir(), "forgotten"),
		})
		if err != nil {
			t.Fatal(err)
		}
		done, err := h.Forget(t.Context(), []session.Key{{Agent: session.DSH, ID: "a"}})
		if err != nil || done != want {
			t.Errorf("%s: off the disk %v, %v", dir, done, err)
		}
		if got := answers(t.Context(), t, h)["zephyr"]; len(got) != 0 {
			t.Errorf("%s: %v", dir, got)
		}
		if err := h.Close(); err != nil {
			t.Error(err)
		}
	}
}

// TestHealthOfAnEmptyMountPoint: an empty folder in the place of a disk is said
// to be no root that is there, and nothing of it is taken for deleted.
func TestHealthOfAnEmptyMountPoint(t *testing.T) {
	disk, err := os.MkdirTemp("/dev/shm", "yore-test-")
	if err != nil {
		return // there is no second device to write to
	}
	t.Cleanup(func() { os.RemoveAll(disk) })
	base := t.TempDir()
	one, err1 := os.Stat(disk)
	other, err2 := os.Stat(base)
	if errors.Join(err1, err2) != nil || reader.StampOf(one).Device == reader.StampOf(other).Device {
		return
	}
	writeLog(t, disk, "a", "a zephyr")
	root := filepath.Join(base, "root")
	if err := os.Symlink(disk, root); err != nil {
		t.Fatal(err)
	}
	h := openOver(t, root, filepath.Join(base, "index"))
	expect := func(what string, present bool) {
		t.Helper()
		health, err := h.Health(t.Context(), yore.Logs, nil)
		if err != nil {
			t.Fatal(err)
		}
		if health.Roots[0].Present != present {
			t.Errorf("%s: %+v", what, health.Roots[0])
		}
		if got := answers(t.Context(), t, h)["zephyr"]; len(got) != 1 {
			t.Errorf("%s: %v", what, got)
		}
	}
	expect("mounted", true)
	if err := errors.Join(os.Remove(root), os.Mkdir(root, 0o700)); err != nil {
		t.Fatal(err)
	}
	expect("not mounted", false)
	if err := errors.Join(os.Remove(root), os.Symlink(disk, root)); err != nil {
		t.Fatal(err)
	}
	expect("mounted again", true)
}
