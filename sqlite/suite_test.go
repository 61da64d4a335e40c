package sqlite

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/yorehq/yore/internal/storetest"
)

func TestSuiteOnDisk(t *testing.T) {
	open := func(t *testing.T) *Index { return openAt(t, filepath.Join(t.TempDir(), "index")) }
	storetest.Run(t, func(t *testing.T) storetest.Store { return open(t) })
	storetest.RunCatalog(t, func(t *testing.T) storetest.Local { return open(t) })
}

func TestSuiteInMemory(t *testing.T) {
	open := func(t *testing.T) *Index {
		x, err := OpenMemory(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { x.Close() })
		return x
	}
	storetest.Run(t, func(t *testing.T) storetest.Store { return open(t) })
	storetest.RunCatalog(t, func(t *testing.T) storetest.Local { return open(t) })
}

// openAt opens an index that is closed when the test ends.
func openAt(t testing.TB, dir string) *Index {
	t.Helper()
	x, err := Open(t.Context(), Options{Dir: dir, BusyTimeout: 2 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := x.Close(); err != nil {
			t.Error(err)
		}
	})
	return x
}
