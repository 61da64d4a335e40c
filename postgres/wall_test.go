package postgres_test

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/yorehq/yore/internal/ingest"
	"github.com/yorehq/yore/postgres"
	"github.com/yorehq/yore/postgres/postgrestest"
	"github.com/yorehq/yore/query"
	"github.com/yorehq/yore/session"
)

// say puts a session with some texts into a workspace and returns its number.
func say(t *testing.T, tenant *postgres.Tenant, workspace, id string, texts ...string) (num int64) {
	t.Helper()
	err := tenant.Write(t.Context(), workspace, func(w ingest.Writer) error {
		st := ingest.Stored{Source: "/logs/" + workspace + id, Header: session.Header{Agent: session.DSH, ID: session.ID(id), Cwd: workspace}, LastStep: -1}
		if err := w.Put(t.Context(), &st); err != nil {
			return err
		}
		num = st.Num
		var b ingest.Batch
		for i, text := range texts {
			b.Entries = append(b.Entries, entry(int64(i), text))
		}
		return w.Append(t.Context(), num, &b)
	})
	if err != nil {
		t.Fatal(err)
	}
	return num
}

func entry(seq int64, text string) ingest.Entry {
	return ingest.Entry{
		Seq: seq, Time: 1_700_000_000_000 + seq, Type: session.AssistantMessage, Speaker: session.Assistant, Text: text, Surface: true, Order: seq << 20,
	}
}

// found returns how many documents of a workspace hold a word.
func found(t *testing.T, tenant *postgres.Tenant, workspace, word string) int {
	t.Helper()
	view, err := tenant.Snapshot(t.Context(), workspace)
	if err != nil {
		t.Fatal(err)
	}
	if view == nil {
		return 0
	}
	defer view.Close()
	all, err := query.Collect(t.Context(), view, []string{word}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return len(all)
}

// TestWall asks tables in the serving role's place, without any condition: what
// the second wall lets through when the first is forgotten.
func TestWall(t *testing.T) {
	dsn := postgrestest.Shared(t).Database(t)
	db, err := postgres.Open(t.Context(), postgres.Options{DSN: dsn})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	for _, tenant := range []string{"acme", "umbrella"} {
		for _, w := range []string{"/one", "/two"} {
			say(t, db.Tenant(tenant), w, "s", "the secret of "+tenant)
		}
	}
	c := connect(t, dsn)
	keys := map[string]int64{}
	rows, err := c.Query(t.Context(), `SELECT tenant, convert_from(workspace, 'UTF8'), ws_key FROM yore.scope`)
	if err != nil {
		t.Fatal(err)
	}
	var tenant, workspace string
	var key int64
	if _, err := pgx.ForEachRow(rows, []any{&tenant, &workspace, &key}, func() error { keys[tenant+workspace] = key; return nil }); err != nil {
		t.Fatal(err)
	}
	if len(keys) != 4 {
		t.Fatalf("scopes %v", keys)
	}
	// as runs a statement of the serving role that may see one workspace of acme.
	as := func(allowed string, sql string, args ...any) (int64, error) {
		tx, err := c.Begin(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer tx.Rollback(t.Context())
		if _, err := tx.Exec(t.Context(), `SELECT set_config('role', 'yore_serving', true), set_config('yore.tenant', 'acme', true), set_config('yore.ws_keys', $1, true)`, allowed); err != nil {
			t.Fatal(err)
		}
		tag, err := tx.Exec(t.Context(), sql, args...)
		return tag.RowsAffected(), err
	}
	mine := fmt.Sprint(keys["acme/one"])
	for _, q := range []struct {
		allowed, sql string
		want         int64
	}{
		{mine, `SELECT FROM yore.document`, 1}, {mine, `SELECT FROM yore.session`, 1}, {mine, `SELECT FROM yore.shard`, 1}, {mine, `SELECT FROM yore.scope`, 2},
		{"", `SELECT FROM yore.document`, 0}, {"", `SELECT FROM yore.session`, 0},
		{mine + "," + fmt.Sprint(keys["acme/two"]), `SELECT FROM yore.document`, 2},
		{mine, `UPDATE yore.shard SET generation = 0`, 1}, {mine, `DELETE FROM yore.document`, 1}, {mine, `DELETE FROM yore.session`, 1}, {mine, `DELETE FROM yore.scope`, 2},
		{mine, fmt.Sprintf(`SELECT FROM yore.holding(%s, '<secret>', '{<secret}', NULL, NULL, false)`, mine), 1},
	} {
		if n, err := as(q.allowed, q.sql); n != q.want || err != nil {
			t.Errorf("%s: %d rows, %v; want %d", q.sql, n, err, q.want)
		}
	}
	other := keys["umbrella/one"]
	for _, sql := range []string{
		fmt.Sprintf(`INSERT INTO yore.shard (ws_key, generation) VALUES (%d, 1)`, 99),
		fmt.Sprintf(`INSERT INTO yore.tombstone VALUES (%d, '', now())`, other),
		fmt.Sprintf(`SELECT FROM yore.holding(%d, '<secret>', '{<secret}', NULL, NULL, false)`, other),
		`INSERT INTO yore.scope (tenant, workspace, hash) VALUES ('umbrella', '', '')`,
		`SELECT FROM yore.document_0`, `SELECT FROM yore.migration`, `TRUNCATE yore.document`, `DROP TABLE yore.document`, `CREATE TABLE yore.mine ()`,
		`ALTER TABLE yore.document DISABLE ROW LEVEL SECURITY`,
	} {
		if n, err := as(mine, sql); err == nil {
			t.Errorf("%s was done (%d rows)", sql, n)
		}
	}
	// The first wall: names of another tenant's workspaces lead nowhere.
	if n := found(t, db.Tenant("acme").Within([]string{"/two"}), "/one", "secret"); n != 0 {
		t.Errorf("%d documents of a workspace outside of the reach", n)
	}
	some, err := db.Tenant("acme").Within([]string{"/two", "/three"}).Headers(t.Context(), query.Lookup{})
	if len(some) != 1 || err != nil || some[0].Header.Cwd != "/two" {
		t.Errorf("Headers within a reach = %v, %v", some, err)
	}
	if err := db.Tenant("acme").Within(nil).Write(t.Context(), "/one", func(ingest.Writer) error { return nil }); err == nil {
		t.Error("a workspace outside of the reach was written to")
	}
	if all, err := db.Tenant("nobody").Workspaces(t.Context()); len(all) != 0 || err != nil {
		t.Errorf("a tenant without anything has %v, %v", all, err)
	}
	if _, err := db.Tenant("acme").Window(t.Context(), "/logs//ones", session.Checkpoint{}, 0, 9, session.Every(), func(session.Raw) error { return nil }); err != nil {
		t.Errorf("the own tenant's source: %v", err)
	}
	if _, err := db.Tenant("acme").Within([]string{"/two"}).Window(t.Context(), "/logs//ones", session.Checkpoint{}, 0, 9, session.Every(), func(session.Raw) error { return nil }); err == nil {
		t.Error("a source outside of the reach was read")
	}
}

// TestShardable reads the catalogue for what a distribution by ws_key needs: each
// unique key and primary key holds it, nothing refers to another table, and the
// tables that policies guard are all that hold rows of workspaces.
func TestShardable(t *testing.T) {
	dsn := postgrestest.Shared(t).Database(t)
	c := connect(t, dsn)
	list := func(sql string) []string {
		rows, err := c.Query(t.Context(), sql)
		if err != nil {
			t.Fatal(err)
		}
		all, err := pgx.CollectRows(rows, pgx.RowTo[string])
		if err != nil {
			t.Fatal(err)
		}
		return all
	}
	const ours = `relnamespace = 'yore'::regnamespace AND relkind IN ('r', 'p')`
	without := list(`SELECT c.relname FROM pg_index i JOIN pg_class c ON c.oid = i.indrelid WHERE ` + ours + ` AND i.indisunique AND NOT EXISTS
		(SELECT FROM pg_attribute a WHERE a.attrelid = c.oid AND a.attname = 'ws_key' AND a.attnum = ANY (i.indkey)) ORDER BY 1`)
	// Twice token: its id and its hash. It is a reference table, as scope is.
	if want := []string{"migration", "scope", "token", "token"}; !slices.Equal(without, want) {
		t.Errorf("unique keys without ws_key: %v, want %v", without, want)
	}
	if refs := list(`SELECT conname FROM pg_constraint WHERE contype = 'f' AND connamespace = 'yore'::regnamespace`); len(refs) != 0 {
		t.Errorf("references: %v", refs)
	}
	open := list(`SELECT relname FROM pg_class c WHERE ` + ours + ` AND NOT relrowsecurity AND NOT relispartition AND EXISTS
		(SELECT FROM pg_attribute a WHERE a.attrelid = c.oid AND a.attname = 'ws_key')`)
	if len(open) != 0 {
		t.Errorf("tables without a wall: %v", open)
	}
	for _, table := range list(`SELECT DISTINCT table_name FROM information_schema.role_table_grants WHERE grantee = 'yore_serving'`) {
		if regexp.MustCompile(`_\d+$`).MatchString(table) {
			t.Errorf("the serving role may use a part of a table: %s", table)
		}
	}
	if kept := list(`SELECT attrelid::regclass || '.' || attname FROM pg_attribute JOIN pg_class c ON c.oid = attrelid WHERE (` + ours + ` AND relname <> 'migration' OR relname LIKE 'document%tokens%')
		AND attnum > 0 AND atttypid IN ('text'::regtype, 'bytea'::regtype, 'text[]'::regtype) AND attstattarget <> 0 AND attname <> 'tenant' AND relkind <> 'I'`); len(kept) != 0 {
		t.Errorf("statistics are kept of %v", strings.Join(kept, " "))
	}
}
