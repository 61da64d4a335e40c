package postgres_test

import (
	"crypto/sha256"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/yorehq/yore/fault"
	"github.com/yorehq/yore/postgres"
	"github.com/yorehq/yore/postgres/postgrestest"
)

// A token is what was asked for, its hash alone is kept, it ends when it should,
// and no transaction of a tenant can read it or the log.
func TestTokens(t *testing.T) {
	dsn := postgrestest.Shared(t).Database(t)
	db, err := postgres.Open(t.Context(), postgres.Options{DSN: dsn})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	ctx := t.Context()
	secret, made, err := db.Mint(ctx, postgres.Token{
		Tenant: "acme", Person: "ada", Workspaces: []string{"b", "a", "b", "\xff\x00"}, Rights: []string{"read"}, Expires: time.Now().Add(time.Hour),
	})
	if err != nil {
		t.Fatal(err)
	}
	// 32 random bytes are 43 characters of base 64.
	if !strings.HasPrefix(secret, "yore_") || len(secret) != len("yore_")+43 {
		t.Errorf("the token is %q", secret)
	}
	got, ok, err := db.TokenOf(ctx, sha256.Sum256([]byte(secret)))
	if err != nil || !ok || got.ID != made.ID || strings.Join(got.Workspaces, "|") != "a|b|\xff\x00" || !got.Valid(time.Now()) || got.Valid(time.Now().Add(2*time.Hour)) {
		t.Errorf("%+v, %v, %v", got, ok, err)
	}
	if _, ok, err := db.TokenOf(ctx, sha256.Sum256([]byte(secret+"x"))); ok || err != nil {
		t.Errorf("another token is known: %v", err)
	}
	conn, err := pgx.Connect(ctx, dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(ctx)
	var row string
	if err := conn.QueryRow(ctx, `SELECT t::text FROM yore.token t`).Scan(&row); err != nil || strings.Contains(row, secret[5:]) {
		t.Errorf("%v: the row is %s", err, row)
	}
	if _, err := conn.Exec(ctx, `SET ROLE yore_serving`); err != nil {
		t.Fatal(err)
	}
	for _, table := range []string{"token", "audit"} {
		if _, err := conn.Exec(ctx, `SELECT * FROM yore.`+table); err == nil || !strings.Contains(err.Error(), "permission denied") {
			t.Errorf("the serving role reads %s: %v", table, err)
		}
	}
	if err := db.Revoke(ctx, made.ID); err != nil {
		t.Fatal(err)
	}
	if got, _, err := db.TokenOf(ctx, sha256.Sum256([]byte(secret))); err != nil || got.Valid(time.Now()) {
		t.Errorf("revoked: %+v, %v", got, err)
	}
	if err := db.Revoke(ctx, "none"); !errors.Is(err, fault.InvalidArgs) {
		t.Error(err)
	}
	for name, bad := range map[string]postgres.Token{
		"no tenant":          {Person: "p", Workspaces: []string{"w"}, Rights: []string{"read"}},
		"no person":          {Tenant: "t", Workspaces: []string{"w"}, Rights: []string{"read"}},
		"no right":           {Tenant: "t", Person: "p", Workspaces: []string{"w"}},
		"an unknown right":   {Tenant: "t", Person: "p", Workspaces: []string{"w"}, Rights: []string{"write"}},
		"no workspace":       {Tenant: "t", Person: "p", Rights: []string{"push"}},
		"an empty workspace": {Tenant: "t", Person: "p", Rights: []string{"push"}, Workspaces: []string{""}},
		"expired":            {Tenant: "t", Person: "p", Workspaces: []string{"w"}, Rights: []string{"read"}, Expires: time.Now().Add(-time.Second)},
	} {
		if _, _, err := db.Mint(ctx, bad); !errors.Is(err, fault.InvalidArgs) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestAudit(t *testing.T) {
	db := postgrestest.Open(t, postgres.Options{})
	ctx, now := t.Context(), time.Now().UTC().Truncate(time.Microsecond)
	for i, tenant := range []string{"acme", "acme", "other"} {
		err := db.Record(ctx, postgres.Audit{At: now.Add(time.Duration(i-1) * time.Hour), Token: "t", Tenant: tenant, Person: "ada", Action: "read", Detail: "{}"})
		if err != nil {
			t.Fatal(err)
		}
	}
	if all, err := db.Records(ctx, "acme", now.Add(-24*time.Hour), 10); err != nil || len(all) != 2 || !all[0].At.Equal(now.Add(-time.Hour)) {
		t.Errorf("%+v, %v", all, err)
	}
	if n, err := db.TrimAudit(ctx, "acme", now); n != 1 || err != nil {
		t.Error(n, err)
	}
	if tokens, records, err := db.Tenant("acme").ForgetPerson(ctx, "ada"); tokens != 0 || records != 1 || err != nil {
		t.Error(tokens, records, err)
	}
	if all, err := db.Records(ctx, "other", time.Time{}, 10); err != nil || len(all) != 1 {
		t.Errorf("%+v, %v", all, err)
	}
}
