package postgres

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"
)

// Audit is one line of the log of who asked what. No answer is in it.
type Audit struct {
	At     time.Time
	Token  string // public id
	Tenant string
	Person string
	Action string
	Detail string // what was asked; no NUL
}

// Record appends to the log, durably once it returns.
func (d *Database) Record(ctx context.Context, a Audit) error {
	c, err := d.pool.Acquire(ctx)
	if err != nil {
		return fail(ctx, err)
	}
	defer c.Release()
	_, err = c.Exec(ctx, `INSERT INTO yore.audit (at, token, tenant, person, action, detail) VALUES ($1, $2, $3, $4, $5, $6)`,
		a.At, a.Token, a.Tenant, a.Person, a.Action, a.Detail)
	return fail(ctx, err)
}

// Records returns a tenant's log since a time, oldest first, at most limit lines.
func (d *Database) Records(ctx context.Context, tenant string, since time.Time, limit int) (all []Audit, err error) {
	err = d.owned(ctx, func(tx pgx.Tx) error {
		rows, err := tx.Query(ctx, `SELECT at, token, tenant, person, action, detail FROM yore.audit WHERE tenant = $1 AND at >= $2 ORDER BY at LIMIT $3`, tenant, since, limit)
		if err != nil {
			return err
		}
		all, err = pgx.CollectRows(rows, pgx.RowToStructByPos[Audit])
		return err
	})
	return all, err
}

// TrimAudit removes what is older than a time from a tenant's log and returns how
// many lines that were.
func (d *Database) TrimAudit(ctx context.Context, tenant string, before time.Time) (n int64, err error) {
	err = d.owned(ctx, func(tx pgx.Tx) error {
		tag, err := tx.Exec(ctx, `DELETE FROM yore.audit WHERE tenant = $1 AND at < $2`, tenant, before)
		n = tag.RowsAffected()
		return err
	})
	return n, err
}
