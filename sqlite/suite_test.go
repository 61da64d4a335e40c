package sqlite

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/yorehq/yore/internal/storetest"
)

func TestSuiteOnDisk(t *testing.T) {
	storetest.Run(t, func(t *testing.T) storetest.Store { return openAt(t, filepath.Join(t.TempDir(), "index")) })
}

func TestSuiteInMemory(t *testing.T) {
	storetest.Run(t, func(t *testing.T) storetest.Store {
		x, err := OpenMemory(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { x.Close() })
		return x
	})
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
