package postgres_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/jackc/pgx/v5"
)

// connect opens a connection of its own to a database, as the tables' owner.
func connect(t *testing.T, dsn string) *pgx.Conn {
	t.Helper()
	c, err := pgx.Connect(t.Context(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close(context.Background()) })
	return c
}

// size returns how much the tables of a kind take, with what their indexes take.
func size(t *testing.T, dsn, kind string) string {
	t.Helper()
	var heap, indexes int64
	err := connect(t, dsn).QueryRow(t.Context(), `SELECT coalesce(sum(pg_table_size(oid)), 0)::bigint, coalesce(sum(pg_indexes_size(oid)), 0)::bigint FROM pg_class
		WHERE relnamespace = 'yore'::regnamespace AND relkind = 'r' AND
		CASE substring(relname FROM '^[a-z]+') WHEN 'document' THEN 'document' WHEN 'chunk' THEN 'chunk' WHEN 'session' THEN 'session' ELSE 'other' END = $1`, kind).Scan(&heap, &indexes)
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("%.1f MB and %.1f MB of indexes", float64(heap)/1e6, float64(indexes)/1e6)
}
