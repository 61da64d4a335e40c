// Package storetest states what every store of the index must do, as one suite
// that an adapter runs over itself. It judges by the contracts of query.Store,
// ingest.Catalog and ingest.Shards alone: the surface against session.Fold,
// matches against a count over the texts. It refuses to know any store's files,
// schema or speed; what only one store promises is tested beside it.
//
// Start at Run.
package storetest

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/yorehq/yore/internal/ingest"
	"github.com/yorehq/yore/query"
	"github.com/yorehq/yore/session"
)

// Store is what the suite needs: the engine's and ingest's view of one index.
type Store interface {
	query.Store
	ingest.Shards
}

// Local is a store beside the agents' folders, which has a catalog of them as well.
type Local interface {
	Store
	ingest.Catalog
}

// RunCatalog tests the catalog of a store, and what it says of headers.
func RunCatalog(t *testing.T, open func(t *testing.T) Local) {
	t.Run("catalog lookups", func(t *testing.T) { testCatalog(t, open(t)) })
	t.Run("catalog removals", func(t *testing.T) { testCatalogRemovals(t, open(t)) })
}

// RunHeaders tests a store without a catalog, which says of its sessions' headers
// what a catalog says of files.
func RunHeaders(t *testing.T, open func(t *testing.T) Store) {
	t.Run("headers", func(t *testing.T) { testStoredHeaders(t, open(t)) })
}

// Run tests what every store must do. open returns an empty one and closes it when
// t ends.
func Run(t *testing.T, open func(t *testing.T) Store) {
	for _, c := range []struct {
		name string
		test func(*testing.T, Store)
	}{
		{"nothing there", testNothing},
		{"stored state comes back", testStored},
		{"documents and texts come back", testDocuments},
		{"texts of every size", testTexts},
		{"many documents in small batches", testManyBatches},
		{"withdraw", testWithdraw},
		{"clear and delete", testClearDelete},
		{"dear checkpoints", testDearCheckpoints},
		{"seqs", testSeqs},
		{"holders of records", testHolders},
		{"failed work leaves nothing", testRollback},
		{"generation", testGeneration},
		{"snapshot stays", testSnapshotStays},
		{"workspaces are apart", testWorkspaces},
		{"matches", testMatches},
		{"matches of random texts", testRandomMatches},
		{"long phrases", testLongPhrases},
		{"queries are data", testQueriesAreData},
		{"surface of random logs", testSurface},
		{"citations", testCitations},
		{"checkpoints", testCheckpoints},
		{"checkpoints with states", testStates},
	} {
		t.Run(c.name, func(t *testing.T) { c.test(t, open(t)) })
	}
}

const home = "/home/ann/project"

func header(id string) session.Header {
	return session.Header{Agent: session.DSH, ID: session.ID(id), CreatedAt: 1_700_000_000_000, Cwd: home}
}

// write runs work in a transaction that must succeed.
func write(t *testing.T, s Store, work func(w ingest.Writer) error) {
	t.Helper()
	if err := s.Write(t.Context(), home, work); err != nil {
		t.Fatalf("write: %v", err)
	}
}

// begin puts a new session and returns its number.
func begin(t *testing.T, s Store, id string) int64 {
	t.Helper()
	st := ingest.Stored{Source: "/logs/" + id, Header: header(id), LastStep: -1}
	write(t, s, func(w ingest.Writer) error { return w.Put(t.Context(), &st) })
	if st.Num <= 0 {
		t.Fatalf("Put gave the number %d", st.Num)
	}
	return st.Num
}

func appendBatch(t *testing.T, s Store, num int64, b ingest.Batch) {
	t.Helper()
	write(t, s, func(w ingest.Writer) error { return w.Append(t.Context(), num, &b) })
}

// snapshot opens a view that is closed when the test ends.
func snapshot(t *testing.T, s Store) query.Snapshot {
	t.Helper()
	view, err := s.Snapshot(t.Context(), home)
	if err != nil {
		t.Fatalf("snapshot: %v", err)
	}
	if view == nil {
		t.Fatal("no snapshot of a workspace that was written to")
	}
	t.Cleanup(func() { view.Close() })
	return view
}

// looking opens a view for the time of one look.
func looking(t *testing.T, s Store, look func(query.Snapshot)) {
	t.Helper()
	view, err := s.Snapshot(t.Context(), home)
	if err != nil || view == nil {
		t.Fatalf("snapshot: %v, %v", view, err)
	}
	look(view)
	if err := view.Close(); err != nil {
		t.Fatalf("close: %v", err)
	}
}

// must returns a value that came without an error.
func must[T any](t *testing.T) func(T, error) T {
	return func(v T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

func same(t *testing.T, what string, got, want any) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

func talk(seq int64, text string) ingest.Entry {
	return ingest.Entry{
		Seq: seq, Time: 1_700_000_000_000 + seq, Type: session.AssistantMessage, Speaker: session.Assistant, Text: text,
		Surface: true, Order: seq << 20,
	}
}

var errOnPurpose = errors.New("on purpose")
