package postgres_test

import (
	"testing"
	"time"

	"github.com/yorehq/yore/internal/ingest"
	"github.com/yorehq/yore/postgres"
	"github.com/yorehq/yore/postgres/postgrestest"
	"github.com/yorehq/yore/query"
	"github.com/yorehq/yore/session"
)

// TestErase takes sessions out by workspace, person, age and name.
func TestErase(t *testing.T) {
	db := postgrestest.Open(t, postgres.Options{})
	acme := db.Tenant("acme")
	put := func(tenant *postgres.Tenant, workspace, id string, changed time.Time) {
		t.Helper()
		num := say(t, tenant, workspace, id, "word")
		err := tenant.Write(t.Context(), workspace, func(w ingest.Writer) error {
			all, err := w.Stored(t.Context(), ingest.StoredLookup{})
			for i := range all {
				if all[i].Num == num {
					all[i].Changed = changed.UnixMilli()
					return w.Put(t.Context(), &all[i])
				}
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	old, now := time.UnixMilli(1_600_000_000_000), time.UnixMilli(1_700_000_000_000)
	put(acme.As("ann"), "/w", "a1", old)
	put(acme.As("ann"), "/w", "a2", now)
	put(acme.As("bob"), "/w", "b1", old)
	put(acme.As("bob"), "/v", "b2", now)
	put(db.Tenant("umbrella").As("ann"), "/w", "u1", old)
	ids := func(tenant *postgres.Tenant) (all []string) {
		t.Helper()
		known, err := tenant.Headers(t.Context(), query.Lookup{})
		if err != nil {
			t.Fatal(err)
		}
		for _, k := range known {
			all = append(all, string(k.Header.ID))
		}
		return all
	}
	ann, w := "ann", "/w"
	for _, c := range []struct {
		which postgres.Erasure
		gone  int64
		left  int
	}{
		{postgres.Erasure{Workspace: &w, Sessions: []session.Key{{Agent: session.DSH, ID: "none"}, {Agent: session.Claude, ID: "a1"}}}, 0, 4},
		{postgres.Erasure{Person: &ann, Before: now}, 1, 3},
		{postgres.Erasure{Before: now}, 1, 2},
		{postgres.Erasure{Workspace: &w, Person: &ann}, 1, 1},
	} {
		done, err := acme.Erase(t.Context(), c.which)
		if err != nil || done.Sessions != c.gone || done.Documents != c.gone {
			t.Errorf("%+v took out %+v, %v; want %d", c.which, done, err, c.gone)
		}
		if left := ids(acme); len(left) != c.left {
			t.Errorf("behind %+v there are %v", c.which, left)
		}
	}
	if _, err := acme.Erase(t.Context(), postgres.Erasure{}); err == nil {
		t.Error("everything was erased because nothing was said")
	}
	if all, err := acme.Workspaces(t.Context()); len(all) != 2 || err != nil {
		t.Errorf("workspaces %v, %v", all, err)
	}
	v := "/v"
	before, err := acme.Snapshot(t.Context(), v)
	if err != nil {
		t.Fatal(err)
	}
	before.Close()
	if done, err := acme.Erase(t.Context(), postgres.Erasure{Workspace: &v}); err != nil || done != (postgres.Erased{Workspaces: 1, Sessions: 1, Documents: 1}) {
		t.Errorf("a workspace: %+v, %v", done, err)
	}
	if all, err := acme.Workspaces(t.Context()); len(all) != 1 || err != nil {
		t.Errorf("workspaces %v, %v", all, err)
	}
	if view, err := acme.Snapshot(t.Context(), v); view != nil || err != nil {
		t.Errorf("a snapshot of what was erased: %v, %v", view, err)
	}
	// It comes back as another one: no cursor of before fits.
	put(acme, v, "b3", now)
	after, err := acme.Snapshot(t.Context(), v)
	if err != nil || after.Generation() == before.Generation() {
		t.Errorf("the generation of before, %v", err)
	}
	after.Close()
	if left := ids(db.Tenant("umbrella")); len(left) != 1 {
		t.Errorf("another tenant has %v", left)
	}
}

// TestTombstones: what its owner took back is gone and is remembered as such,
// until it is sent anew on purpose.
func TestTombstones(t *testing.T) {
	db := postgrestest.Open(t, postgres.Options{})
	tenant := db.Tenant("acme")
	say(t, tenant, "/w", "one", "word")
	key := session.Key{Agent: session.DSH, ID: "one"}
	buried := func() (is bool) {
		t.Helper()
		err := tenant.Write(t.Context(), "/w", func(w ingest.Writer) (err error) {
			is, err = w.(*postgres.Writer).Buried(t.Context(), key)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		return is
	}
	if buried() {
		t.Error("buried before")
	}
	for range 2 {
		if _, _, err := tenant.Apply(t.Context(), "/w", time.Now().String(), func(w *postgres.Writer) error { return w.Bury(t.Context(), key) }); err != nil {
			t.Fatal(err)
		}
		if n := found(t, tenant, "/w", "word"); n != 0 || !buried() {
			t.Errorf("%d documents, buried: %v", n, buried())
		}
	}
	if err := tenant.Write(t.Context(), "/w", func(w ingest.Writer) error { return w.(*postgres.Writer).Unbury(t.Context(), key) }); err != nil || buried() {
		t.Errorf("still buried, %v", err)
	}
}

// TestErasedForGood searches every file of the cluster for what was erased: its
// text, its tokens, its title, its name, its bytes.
func TestErasedForGood(t *testing.T) {
	cluster, err := postgrestest.Start(programs(t), "fsync=off", "full_page_writes=off")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(cluster.Stop)
	db, err := postgres.Open(t.Context(), postgres.Options{DSN: cluster.Database(t)})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	tenant := db.Tenant("acme").As("ann")
	const mark = "zyxmarkerzyx"
	title := "about " + mark
	fill := func(workspace, id, mark string) {
		err := tenant.Write(t.Context(), workspace, func(w ingest.Writer) error {
			st := ingest.Stored{Source: "/logs/" + mark + id, Header: session.Header{Agent: session.DSH, ID: session.ID(mark + id), Cwd: workspace}, Title: &title, LastStep: -1}
			if mark == "" {
				st.Title = nil
			}
			if err := w.Put(t.Context(), &st); err != nil {
				return err
			}
			var b ingest.Batch
			var kept []postgres.Event
			for seq := range int64(200) {
				e := entry(seq, "some words of "+mark+" and more")
				e.Tool = mark
				b.Entries = append(b.Entries, e)
				kept = append(kept, postgres.Event{Span: 1, Raw: session.Raw{Event: session.Event{Seq: seq, Type: session.AssistantMessage}, Native: []byte(mark)}})
			}
			b.Checkpoints = []session.Checkpoint{{Seq: 0, State: mark + "state"}}
			if err := w.Append(t.Context(), st.Num, &b); err != nil {
				return err
			}
			return w.(*postgres.Writer).Keep(t.Context(), st.Num, kept)
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	fill("/w", "stays", "")
	fill("/w", "one", mark)
	fill("/"+mark, "two", mark)
	holding := func() []string {
		t.Helper()
		for _, s := range []string{"ANALYZE", "CHECKPOINT"} {
			if err := cluster.Exec("test_1", s); err != nil {
				t.Fatal(err)
			}
		}
		tables, _, err := cluster.Holding([]byte(mark))
		if err != nil {
			t.Fatal(err)
		}
		return tables
	}
	if files := holding(); len(files) < 4 {
		t.Errorf("before, only %v hold the marker", files)
	}
	w, other := "/w", "/"+mark
	if _, err := tenant.Erase(t.Context(), postgres.Erasure{Workspace: &w, Sessions: []session.Key{{Agent: session.DSH, ID: mark + "one"}}}); err != nil {
		t.Fatal(err)
	}
	if _, err := tenant.Erase(t.Context(), postgres.Erasure{Workspace: &other}); err != nil {
		t.Fatal(err)
	}
	if n := found(t, tenant, "/w", mark); n != 0 {
		t.Errorf("%d documents are found", n)
	}
	if files := holding(); len(files) == 0 {
		t.Error("nothing is left before the purge: the test does not see what it should")
	}
	if done, err := db.Purge(t.Context()); !done || err != nil {
		t.Fatalf("Purge = %v, %v", done, err)
	}
	if files := holding(); len(files) != 0 {
		t.Errorf("behind the purge %v hold what was erased", files)
	}
	if n := found(t, tenant, "/w", "words"); n != 200 {
		t.Errorf("%d documents of the session that stays", n)
	}
}

// programs returns where PostgreSQL's programs are, as Shared finds them.
func programs(t *testing.T) string {
	postgrestest.Shared(t)
	return postgrestest.Programs()
}
