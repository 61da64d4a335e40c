package postgres_test

import (
	"fmt"
	"sync"
	"testing"

	"github.com/yorehq/yore/internal/ingest"
	"github.com/yorehq/yore/postgres"
	"github.com/yorehq/yore/postgres/postgrestest"
	"github.com/yorehq/yore/session"
)

// A stretch looks at the sessions that have titles for others, and at no other row
// of its workspace, however many sessions that has.
func TestNamingReadsFewRows(t *testing.T) {
	dsn := postgrestest.Shared(t).Database(t)
	db := openAt(t, dsn)
	tenant := db.Tenant("acme")
	const sessions, naming = 2000, 4
	err := tenant.Write(t.Context(), "/w", func(w ingest.Writer) error {
		for i := range sessions {
			st := ingest.Stored{Source: fmt.Sprint("/logs/", i), Header: session.Header{Agent: session.Claude, ID: session.ID(fmt.Sprint("s", i)), Cwd: "/w"}, LastStep: -1}
			if i%(sessions/naming) == 1 {
				st.Naming.Claims = []ingest.Claim{{Leaf: "leaf", Title: "A title"}}
			}
			if err := w.Put(t.Context(), &st); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := connect(t, dsn).Exec(t.Context(), `ANALYZE yore.session`); err != nil {
		t.Fatal(err)
	}
	found, rows, err := tenant.NamingWork(t.Context(), "/w")
	if err != nil || found != naming {
		t.Fatalf("%d sessions, %v; want %d", found, err, naming)
	}
	if rows > naming {
		t.Errorf("%d rows of %d were read for them", rows, sessions)
	}
}

// Servers that start at the same time migrate once; a step that was cut short, with
// an index that is not valid, is done again.
func TestMigrationsMeet(t *testing.T) {
	dsn := postgrestest.Shared(t).Bare(t)
	var all sync.WaitGroup
	for range 4 {
		db := openAt(t, dsn)
		all.Go(func() {
			if _, to, err := db.Migrate(t.Context(), postgres.Setup{Partitions: 1}); err != nil || to != 3 {
				t.Errorf("to %d, %v", to, err)
			}
		})
	}
	all.Wait()
	c := connect(t, dsn)
	valid := func() (ok bool) {
		t.Helper()
		if err := c.QueryRow(t.Context(), `SELECT indisvalid FROM pg_index WHERE indexrelid = 'yore.session_naming'::regclass`).Scan(&ok); err != nil {
			t.Fatal(err)
		}
		return ok
	}
	if !valid() {
		t.Error("the index is not valid")
	}
	// The catalogue as it is when the server dies while the index is built.
	for _, sql := range []string{
		`UPDATE pg_index SET indisvalid = false WHERE indexrelid = 'yore.session_naming'::regclass`,
		`UPDATE yore.migration SET whole = false WHERE version = 3`,
	} {
		if _, err := c.Exec(t.Context(), sql); err != nil {
			t.Fatal(err)
		}
	}
	db := openAt(t, dsn)
	if err := db.Check(t.Context()); err == nil {
		t.Error("a half-made schema is served")
	}
	if from, to, err := db.Migrate(t.Context(), postgres.Setup{}); from != 3 || to != 3 || err != nil {
		t.Errorf("again: from %d to %d, %v", from, to, err)
	}
	if err := db.Check(t.Context()); err != nil || !valid() {
		t.Errorf("afterwards: %v", err)
	}
}
