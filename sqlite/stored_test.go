package sqlite

import (
	"archive/zip"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestStoredSchema holds the tables to the stored index of the current version
// (tools/upgrade/run.sh): who changes a table raises the version and stores the
// index of the program before.
func TestStoredSchema(t *testing.T) {
	dir := t.TempDir()
	z, err := zip.OpenReader(filepath.Join("..", "testdata", "upgrade", fmt.Sprintf("schema-%d.zip", schemaVersion)))
	if err != nil {
		t.Fatal(err)
	}
	defer z.Close()
	if err := os.CopyFS(dir, z); err != nil {
		t.Fatal(err)
	}
	stored, fresh := openAt(t, dir), openAt(t, t.TempDir())
	const known = "/srv/code/alpha"
	for _, at := range []struct{ stored, fresh place }{
		{catalogOf(stored), catalogOf(fresh)},
		{stored.shardOf(known), fresh.shardOf(known)},
	} {
		want, got := tablesOf(t, stored, at.stored), tablesOf(t, fresh, at.fresh)
		if len(want) < 3 {
			t.Fatalf("the stored %s has only %d tables", at.stored.path, len(want))
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("version %d has other tables than it had (-stored +now): raise the version\n%s", schemaVersion, diff)
		}
	}
}

// tablesOf returns the statements that made a database's tables, by name.
func tablesOf(t *testing.T, x *Index, at place) map[string]string {
	t.Helper()
	c, err := x.acquire(t.Context(), at, true)
	if err != nil {
		t.Fatal(err)
	}
	defer x.release(c)
	all := map[string]string{}
	err = c.rowsOf(t.Context(), `SELECT type || ' ' || name, sql FROM sqlite_schema WHERE sql <> ''`, func(r row) error {
		all[r.text(0)] = r.text(1)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}
