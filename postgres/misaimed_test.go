package postgres_test

import (
	"strings"
	"testing"

	"github.com/yorehq/yore/internal/ingest"
	"github.com/yorehq/yore/postgres"
	"github.com/yorehq/yore/postgres/postgrestest"
	"github.com/yorehq/yore/session"
)

// TestSecondWallAlone takes the first wall away: every statement of the product
// names a workspace of somebody else, in transactions of whoever may not see it.
// Nothing is seen and nothing is changed. With the second wall taken down the same
// statements see and change rows, so that it is that wall which holds.
func TestSecondWallAlone(t *testing.T) {
	dsn := postgrestest.Shared(t).Database(t)
	db, err := postgres.Open(t.Context(), postgres.Options{DSN: dsn})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	say(t, db.Tenant("acme"), "/w", "mine", "harmless")
	var num int64
	_, _, err = db.Tenant("umbrella").As("eve").Apply(t.Context(), "/w", "first", func(w *postgres.Writer) error {
		s := ingest.Stored{Source: "/logs/s", Header: session.Header{Agent: session.DSH, ID: "s", Cwd: "/w"}, LastStep: -1}
		if err := w.Put(t.Context(), &s); err != nil {
			return err
		}
		num = s.Num
		b := ingest.Batch{Entries: []ingest.Entry{entry(0, "the secret"), entry(1, "another secret"), entry(2, "third secret")}}
		b.Entries[2].Provisional = true
		b.Removals = []ingest.Removal{{By: 1, Seqs: []int64{0}}}
		b.Checkpoints = []session.Checkpoint{{Seq: 0}}
		if err := w.Append(t.Context(), num, &b); err != nil {
			return err
		}
		raws := []postgres.Event{{Raw: session.Raw{Event: session.Event{Seq: 0, Type: session.UserMessage}, Native: []byte(`"secret"`)}, Span: 1}, {Raw: session.Raw{Event: session.Event{Seq: 1, Type: session.UserMessage}, Native: []byte(`"secret"`)}, Span: 1}}
		return w.Keep(t.Context(), num, raws)
	})
	if err != nil {
		t.Fatal(err)
	}
	owner := connect(t, dsn)
	key := func(tenant string) (n int64) {
		if err := owner.QueryRow(t.Context(), `SELECT ws_key FROM yore.scope WHERE tenant = $1`, tenant).Scan(&n); err != nil {
			t.Fatal(err)
		}
		return n
	}
	mine, other := key("acme"), key("umbrella")
	run := func(allowed int64) map[string]int {
		t.Helper()
		found, err := db.Misaimed(t.Context(), "acme", allowed, other, num, "secret")
		if err != nil {
			t.Fatal(err)
		}
		return found
	}
	// Who may see it sees it: the looks and the changes are good for something.
	for name, n := range run(other) {
		if n <= 0 {
			t.Errorf("%s: %d rows for whoever may see them", name, n)
		}
	}
	for name, n := range run(mine) {
		if n > 0 {
			t.Errorf("%s: %d rows of another tenant's workspace", name, n)
		}
	}
	rows, err := owner.Query(t.Context(), `SELECT relname FROM pg_class WHERE relnamespace = 'yore'::regnamespace AND relrowsecurity`)
	if err != nil {
		t.Fatal(err)
	}
	var walls []string
	for rows.Next() {
		var name string
		if err := rows.Scan(&name); err != nil {
			t.Fatal(err)
		}
		walls = append(walls, `ALTER TABLE yore."`+name+`" DISABLE ROW LEVEL SECURITY`)
	}
	if err := rows.Err(); err != nil || len(walls) < 10 {
		t.Fatal(len(walls), err)
	}
	if _, err := owner.Exec(t.Context(), strings.Join(walls, ";")); err != nil {
		t.Fatal(err)
	}
	for name, n := range run(mine) {
		// The index's own function compares the workspace by itself.
		if (n <= 0) != (name == "candidates") {
			t.Errorf("%s: %d rows without the second wall", name, n)
		}
	}
}
