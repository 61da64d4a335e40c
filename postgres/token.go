package postgres

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/yorehq/yore/fault"
)

// tokenSchema is a migration: what a token stands for, and the log of what was
// asked. The serving role gets no right on either: they are the operator's, and
// no transaction of a tenant can read or write them. On a distributed database
// token is a reference table and audit stays on the coordinator.
const tokenSchema = `
CREATE TABLE yore.token (
	id text COLLATE "C" PRIMARY KEY, hash bytea NOT NULL UNIQUE, tenant text COLLATE "C" NOT NULL, person text COLLATE "C" NOT NULL,
	workspaces bytea[] NOT NULL, rights text[] NOT NULL, created timestamptz NOT NULL, expires timestamptz, revoked timestamptz
);
CREATE INDEX token_tenant ON yore.token (tenant, person);
CREATE TABLE yore.audit (
	at timestamptz NOT NULL, token text COLLATE "C" NOT NULL, tenant text COLLATE "C" NOT NULL, person text COLLATE "C" NOT NULL,
	action text COLLATE "C" NOT NULL, detail text NOT NULL
);
CREATE INDEX audit_at ON yore.audit (tenant, at);
ALTER TABLE yore.audit ALTER COLUMN token SET STATISTICS 0, ALTER COLUMN person SET STATISTICS 0,
	ALTER COLUMN action SET STATISTICS 0, ALTER COLUMN detail SET STATISTICS 0;
ALTER TABLE yore.token ALTER COLUMN id SET STATISTICS 0, ALTER COLUMN hash SET STATISTICS 0,
	ALTER COLUMN person SET STATISTICS 0, ALTER COLUMN rights SET STATISTICS 0;
REVOKE ALL ON yore.token, yore.audit FROM PUBLIC;
`

// The rights that a token can have.
const (
	RightRead    = "read"    // ask
	RightPush    = "push"    // send sessions, and take its own person's back
	RightMetrics = "metrics" // the server's counters
)

// TokenPrefix is how every token begins, so that it is known for one.
const TokenPrefix = "yore_"

// Token is what a token stands for. The token itself is nowhere.
type Token struct {
	ID         string // public; names the token in lists and in the audit log
	Tenant     string
	Person     string
	Workspaces []string // exact, sorted
	Rights     []string
	Created    time.Time
	Expires    time.Time // zero: never
	Revoked    time.Time // zero: it is not
}

// Valid reports whether a token is good for something at a time.
func (t *Token) Valid(now time.Time) bool {
	return t.Revoked.IsZero() && (t.Expires.IsZero() || now.Before(t.Expires))
}

// maxTokenName is how long a name of a token can be, in bytes.
const maxTokenName = 4096

// Mint makes a token and returns it, for the only time: what is kept is its
// SHA-256, which is as good as a slow hash for 256 random bits. Failures of what
// is asked for carry fault.InvalidArgs.
func (d *Database) Mint(ctx context.Context, t Token) (secret string, made Token, err error) {
	t.Workspaces = slices.Clone(t.Workspaces)
	slices.Sort(t.Workspaces)
	t.Workspaces = slices.Compact(t.Workspaces)
	switch {
	case t.Tenant == "" || len(t.Tenant) > 200 || t.Person == "" || len(t.Person) > 200:
		return "", t, fault.New(fault.InvalidArgs, "a token needs a tenant and a person, of at most 200 bytes each")
	case len(t.Rights) == 0:
		return "", t, fault.New(fault.InvalidArgs, "a token needs a right: read, push or metrics")
	case len(t.Workspaces) == 0 && (slices.Contains(t.Rights, RightRead) || slices.Contains(t.Rights, RightPush)):
		return "", t, fault.New(fault.InvalidArgs, "a token that may read or push needs a workspace")
	case !t.Expires.IsZero() && !t.Expires.After(time.Now()):
		return "", t, fault.New(fault.InvalidArgs, "the token would have expired already")
	}
	for _, r := range t.Rights {
		if r != RightRead && r != RightPush && r != RightMetrics {
			return "", t, fault.New(fault.InvalidArgs, "there is no right %q: want read, push or metrics", r)
		}
	}
	for _, w := range t.Workspaces {
		if w == "" || len(w) > maxTokenName {
			return "", t, fault.New(fault.InvalidArgs, "a workspace of a token has 1 to %d bytes", maxTokenName)
		}
	}
	random := make([]byte, 38)
	if _, err := rand.Read(random); err != nil {
		return "", t, err
	}
	secret = TokenPrefix + base64.RawURLEncoding.EncodeToString(random[6:])
	t.ID, t.Created, t.Revoked = hex.EncodeToString(random[:6]), time.Now().UTC().Truncate(time.Microsecond), time.Time{}
	hash := sha256.Sum256([]byte(secret))
	err = d.owned(ctx, func(tx pgx.Tx) error {
		_, err := tx.Exec(ctx, `INSERT INTO yore.token (id, hash, tenant, person, workspaces, rights, created, expires) VALUES ($1, $2, $3, $4, $5, $6, $7, $8)`,
			t.ID, hash[:], t.Tenant, t.Person, bytesOf(t.Workspaces), t.Rights, t.Created, orNull(t.Expires))
		return err
	})
	return secret, t, err
}

func bytesOf(texts []string) [][]byte {
	out := make([][]byte, len(texts))
	for i, text := range texts {
		out[i] = []byte(text)
	}
	return out
}

func orNull(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return &t
}

const tokenColumns = `id, tenant, person, workspaces, rights, created, expires, revoked`

func scanToken(row pgx.CollectableRow) (Token, error) { return scanTokenAnd(row) }

// scanTokenAnd reads a token and what stands behind its columns.
func scanTokenAnd(row pgx.CollectableRow, more ...any) (t Token, err error) {
	var workspaces [][]byte
	var expires, revoked *time.Time
	into := []any{&t.ID, &t.Tenant, &t.Person, &workspaces, &t.Rights, &t.Created, &expires, &revoked}
	if err := row.Scan(append(into, more...)...); err != nil {
		return t, err
	}
	for _, w := range workspaces {
		t.Workspaces = append(t.Workspaces, string(w))
	}
	if expires != nil {
		t.Expires = *expires
	}
	if revoked != nil {
		t.Revoked = *revoked
	}
	return t, nil
}

// TokenOf returns the token with a SHA-256, if there is one, valid or not.
func (d *Database) TokenOf(ctx context.Context, hash [32]byte) (t Token, ok bool, err error) {
	c, err := d.pool.Acquire(ctx)
	if err != nil {
		return t, false, fail(ctx, err)
	}
	defer c.Release()
	rows, err := c.Query(ctx, `SELECT `+tokenColumns+`, hash FROM yore.token WHERE hash = $1`, hash[:])
	if err != nil {
		return t, false, fail(ctx, err)
	}
	var kept []byte
	t, err = pgx.CollectExactlyOneRow(rows, func(row pgx.CollectableRow) (Token, error) { return scanTokenAnd(row, &kept) })
	if errors.Is(err, pgx.ErrNoRows) {
		return Token{}, false, nil
	}
	if err != nil {
		return Token{}, false, fail(ctx, err)
	}
	// The index has compared already, byte by byte; what it compares is a hash of
	// what the asker chose, so that its time tells nothing. This is for the eye.
	return t, subtle.ConstantTimeCompare(kept, hash[:]) == 1, nil
}

// Tokens returns a tenant's tokens ("": all), by tenant, person and age.
func (d *Database) Tokens(ctx context.Context, tenant string) (all []Token, err error) {
	err = d.owned(ctx, func(tx pgx.Tx) error {
		rows, err := tx.Query(ctx, `SELECT `+tokenColumns+` FROM yore.token WHERE $1 = '' OR tenant = $1 ORDER BY tenant, person, created, id`, tenant)
		if err != nil {
			return err
		}
		all, err = pgx.CollectRows(rows, scanToken)
		return err
	})
	return all, err
}

// Revoke ends a token by its public id, from the next request on. One that is not
// there is fault.InvalidArgs.
func (d *Database) Revoke(ctx context.Context, id string) error {
	return d.owned(ctx, func(tx pgx.Tx) error {
		tag, err := tx.Exec(ctx, `UPDATE yore.token SET revoked = coalesce(revoked, now()) WHERE id = $1`, id)
		if err == nil && tag.RowsAffected() == 0 {
			err = fault.New(fault.InvalidArgs, "there is no token %q", id)
		}
		return err
	})
}

// forgetPerson removes a person's tokens of a tenant and what they have asked,
// and returns how many of each there were.
func (d *Database) forgetPerson(ctx context.Context, tenant, person string) (tokens, records int64, err error) {
	err = d.owned(ctx, func(tx pgx.Tx) error {
		tag, err := tx.Exec(ctx, `DELETE FROM yore.token WHERE tenant = $1 AND person = $2`, tenant, person)
		if err != nil {
			return err
		}
		tokens = tag.RowsAffected()
		tag, err = tx.Exec(ctx, `DELETE FROM yore.audit WHERE tenant = $1 AND person = $2`, tenant, person)
		records = tag.RowsAffected()
		return err
	})
	if err != nil {
		return 0, 0, fmt.Errorf("the person's tokens and records: %w", err)
	}
	return tokens, records, nil
}
