package ingest_test

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/yorehq/yore/session"
)

// TestRightsLostMidway takes the right to write, then to enter and to read, from
// the files and folders of an index that is in use, one after the other: what an
// answer lacks is said or is an error, and everything is there once the right is
// back.
func TestRightsLostMidway(t *testing.T) {
	if runtime.GOOS == "windows" || !ordinary(t) {
		return
	}
	b := newBench(t)
	b.write("a", header("a")+user(0, "a zephyr"))
	b.refresh()
	shards, err := filepath.Glob(filepath.Join(b.dir, "shards", "*.db"))
	if err != nil || len(shards) != 1 {
		t.Fatal(shards, err)
	}
	events := 1
	for _, c := range []struct {
		path string
		mode os.FileMode
	}{
		{shards[0], 0o400}, {shards[0], 0}, {filepath.Join(b.dir, "catalog.db"), 0o400}, {filepath.Join(b.dir, "catalog.db"), 0},
		{filepath.Dir(shards[0]), 0o500}, {filepath.Dir(shards[0]), 0}, {b.dir, 0o500}, {b.dir, 0},
		{filepath.Dir(b.path("a")), 0}, {b.path("a"), 0}, {b.root, 0},
	} {
		for _, anew := range []bool{false, true} {
			name := fmt.Sprintf("%s %o, opened anew %v", filepath.Base(c.path), c.mode, anew)
			before, err := os.Stat(c.path)
			if err != nil {
				t.Fatal(err)
			}
			b.append("a", user(events, "a zephyr"))
			events++
			if anew {
				if err := b.index.Close(); err != nil {
					t.Fatal(name, err)
				}
				b.open()
			}
			if err := os.Chmod(c.path, c.mode); err != nil {
				t.Fatal(err)
			}
			coverage, err := b.in.Refresh(t.Context(), session.Scope{Workspaces: []string{workspace}}, nil)
			if err == nil && coverage.Unreadable+coverage.Behind == 0 && !coverage.Stale {
				// Then nothing may be missing; who has a file open keeps its rights.
				if n := b.found("zephyr"); n != events {
					t.Errorf("%s: %d of %d events are found, and nothing is said: %+v", name, n, events, coverage)
				}
			}
			if err := os.Chmod(c.path, before.Mode().Perm()); err != nil {
				t.Fatal(err)
			}
			b.refresh()
			if n := b.found("zephyr"); n != events {
				t.Errorf("%s, and back: %d of %d events are found", name, n, events)
			}
		}
	}
}
