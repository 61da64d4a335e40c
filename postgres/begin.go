package postgres

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/yorehq/yore/fault"
)

// servingRole is who asks and writes on behalf of tenants: it owns nothing, may
// not log in and does not get around row-level security. Every transaction of a
// tenant steps down to it, whoever logged in.
const servingRole = "yore_serving"

// reach is what a transaction may see: the rows of one tenant's scopes and of
// some workspaces.
type reach struct {
	tenant string
	keys   []int64
}

func (r reach) list() string {
	words := make([]string, len(r.keys))
	for i, k := range r.keys {
		words[i] = strconv.FormatInt(k, 10)
	}
	return strings.Join(words, ",")
}

var (
	reading = pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly}
	writing = pgx.TxOptions{IsoLevel: pgx.ReadCommitted, AccessMode: pgx.ReadWrite}
)

// stepDown narrows a transaction. Plans are small and short: compiling them, or
// starting processes for them, costs more than it saves. A bitmap that does not fit into memory would have every
// document of a page taken apart again. Whoever reads is planned for each time: for
// a common word in one session, the plan that suits most words goes through all
// documents of the workspace that hold it.
const stepDown = `SELECT set_config('role', '` + servingRole + `', true), set_config('yore.tenant', $1, true), set_config('yore.ws_keys', $2, true),
	set_config('jit', 'off', true), set_config('max_parallel_workers_per_gather', '0', true), set_config('work_mem', '64MB', true), set_config('statement_timeout', $3, true), set_config('lock_timeout', $4, true),
	set_config('enable_bitmapscan', $5, true), set_config('enable_seqscan', $5, true),
	set_config('plan_cache_mode', CASE $5 WHEN 'on' THEN 'force_custom_plan' ELSE 'auto' END, true)`

// wide says whether a transaction's statements may go through much of a workspace.
// One that writes asks by keys, and of tables that statistics may not know yet: to
// whoever plans for such a table, reading all of it or of the index of tokens looks
// as good as any other way.
func wide(how pgx.TxOptions) string {
	if how.AccessMode == pgx.ReadWrite {
		return "off"
	}
	return "on"
}

// begin opens a narrowed transaction on a connection.
func (d *Database) begin(ctx context.Context, c *pgxpool.Conn, how pgx.TxOptions, r reach) (pgx.Tx, error) {
	tx, err := c.BeginTx(ctx, how)
	if err != nil {
		return nil, err
	}
	if _, err := tx.Exec(ctx, stepDown, r.tenant, r.list(), timeout(ctx), strconv.FormatInt(d.lockWait.Milliseconds(), 10), wide(how)); err != nil {
		undo(tx)
		return nil, err
	}
	return tx, nil
}

// timeout is what is left of a context's time, in milliseconds, "0" for no end:
// should the word that a call was given up get lost, the database stops as well.
func timeout(ctx context.Context) string {
	end, ok := ctx.Deadline()
	if !ok {
		return "0"
	}
	return strconv.FormatInt(max(1, time.Until(end).Milliseconds()), 10)
}

// undo rolls back whatever has become of the context.
func undo(tx pgx.Tx) {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	_ = tx.Rollback(ctx) // a connection that cannot even do this is closed, which does it too
}

// within runs work in a narrowed transaction of its own and commits it. An error
// or a panic of work rolls it back.
func (d *Database) within(ctx context.Context, how pgx.TxOptions, r reach, work func(pgx.Tx) error) error {
	c, err := d.pool.Acquire(ctx)
	if err != nil {
		return fail(ctx, err)
	}
	defer c.Release()
	tx, err := d.begin(ctx, c, how, r)
	if err != nil {
		return fail(ctx, err)
	}
	done := false
	defer func() {
		if !done {
			undo(tx)
		}
	}()
	if err := work(tx); err != nil {
		return fail(ctx, err)
	}
	done = true
	return fail(ctx, tx.Commit(ctx))
}

// fail gives a failure of the database its code. The end of the context wins.
func fail(ctx context.Context, err error) error {
	if err == nil {
		return nil
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	var p *pgconn.PgError
	if errors.As(err, &p) && p.Code == "57014" && strings.Contains(p.Message, "statement timeout") {
		return fmt.Errorf("%w: %s", context.DeadlineExceeded, p.Message)
	}
	return fault.Wrap(fault.IndexFailed, err)
}

// hasCode reports whether PostgreSQL failed with one of some codes (SQLSTATE).
func hasCode(err error, codes ...string) bool {
	var p *pgconn.PgError
	if !errors.As(err, &p) {
		return false
	}
	for _, c := range codes {
		if p.Code == c {
			return true
		}
	}
	return false
}
