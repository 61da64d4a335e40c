package postgres_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/yorehq/yore/fault"
	"github.com/yorehq/yore/internal/storetest"
	"github.com/yorehq/yore/postgres"
	"github.com/yorehq/yore/postgres/postgrestest"
)

func openAt(t *testing.T, dsn string) *postgres.Database {
	t.Helper()
	db, err := postgres.Open(t.Context(), postgres.Options{DSN: dsn})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(db.Close)
	return db
}

func TestMigrate(t *testing.T) {
	cluster := postgrestest.Shared(t)
	dsn := cluster.Bare(t)
	db := openAt(t, dsn)
	if err := db.Check(t.Context()); !errors.Is(err, fault.IndexFailed) || !strings.Contains(err.Error(), "migrate it first") {
		t.Errorf("an empty database is checked: %v", err)
	}
	from, to, err := db.Migrate(t.Context(), postgres.Setup{})
	if from != 0 || to < 1 || err != nil {
		t.Fatalf("Migrate: from %d to %d, %v", from, to, err)
	}
	if err := db.Check(t.Context()); err != nil {
		t.Error(err)
	}
	say(t, db.Tenant("acme"), "/w", "one", "word")
	if from, again, err := db.Migrate(t.Context(), postgres.Setup{}); from != to || again != to || err != nil {
		t.Errorf("Migrate again: from %d to %d, %v", from, again, err)
	}
	if n := found(t, db.Tenant("acme"), "/w", "word"); n != 1 {
		t.Errorf("%d documents behind the second migration", n)
	}
	c := connect(t, dsn)
	var parts int
	if err := c.QueryRow(t.Context(), `SELECT count(*) FROM pg_inherits WHERE inhparent = 'yore.document'::regclass`).Scan(&parts); err != nil || parts != 64 {
		t.Errorf("%d partitions, %v", parts, err)
	}
	// One that a newer program made.
	if _, err := c.Exec(t.Context(), `INSERT INTO yore.migration (version, name, whole) VALUES (1000, 'to come', true)`); err != nil {
		t.Fatal(err)
	}
	for what, err := range map[string]error{"Check": db.Check(t.Context()), "Migrate": func() error { _, _, err := db.Migrate(t.Context(), postgres.Setup{}); return err }()} {
		if !errors.Is(err, fault.IndexFailed) || !strings.Contains(err.Error(), "newer version") {
			t.Errorf("%s of a newer schema: %v", what, err)
		}
	}
}

// TestStranger: a schema of our name that is somebody else's is left as it is.
func TestStranger(t *testing.T) {
	dsn := postgrestest.Shared(t).Bare(t)
	c := connect(t, dsn)
	if _, err := c.Exec(t.Context(), `CREATE SCHEMA yore; CREATE TABLE yore.migration (version int, whole boolean); CREATE TABLE yore.document (mine text)`); err != nil {
		t.Fatal(err)
	}
	db := openAt(t, dsn)
	if _, _, err := db.Migrate(t.Context(), postgres.Setup{}); !errors.Is(err, fault.IndexFailed) || !strings.Contains(err.Error(), "did not make") {
		t.Errorf("Migrate: %v", err)
	}
	if err := db.Check(t.Context()); !errors.Is(err, fault.IndexFailed) {
		t.Errorf("Check: %v", err)
	}
	var tables int
	if err := c.QueryRow(t.Context(), `SELECT count(*) FROM pg_class WHERE relnamespace = 'yore'::regnamespace AND relkind = 'r'`).Scan(&tables); err != nil || tables != 2 {
		t.Errorf("the stranger has %d tables, %v", tables, err)
	}
}

// TestUndivided runs a part of the suite on tables without partitions, as they are
// where something else distributes them.
func TestUndivided(t *testing.T) {
	db := openAt(t, postgrestest.Shared(t).Bare(t))
	if _, _, err := db.Migrate(t.Context(), postgres.Setup{Partitions: 1}); err != nil {
		t.Fatal(err)
	}
	storetest.RunHeaders(t, func(*testing.T) storetest.Store { return db.Tenant("acme") })
	tenant := db.Tenant("other")
	say(t, tenant, "/w", "one", "word")
	if n := found(t, tenant, "/w", "word"); n != 1 {
		t.Errorf("%d documents", n)
	}
}

func TestRefusedAddress(t *testing.T) {
	_, err := postgres.Open(t.Context(), postgres.Options{DSN: "postgres://ann:secret@[broken"})
	if !errors.Is(err, fault.InvalidConfig) || strings.Contains(err.Error(), "secret") {
		t.Errorf("Open: %v", err)
	}
}
