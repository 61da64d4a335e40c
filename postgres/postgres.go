// Package postgres is the store of a team's history, on PostgreSQL 15 and newer.
// It keeps what package sqlite keeps, for any number of tenants, and beside it
// the exact bytes of every event, so that reads and traces work without the
// machine that a session ran on.
//
// It owns the tables and how they change, who may see which rows, transactions
// between servers, how a phrase is matched and counted, what is erased and how
// completely. It refuses to know agents, rankings, filters, tokens of callers and
// the wire: it stores what ingest brings and answers what query.Store asks. It
// never uses PostgreSQL's own tokenizer or phrase operator: one column holds the
// tokens of package document, the index proposes candidates, and whole tokens
// are counted (norm.go).
//
// Every statement on rows of a workspace names its key (ws_key), so that the same
// tables can be distributed by it. Row-level security is the second wall: each
// transaction steps down to a role that sees the rows of the keys it began with
// and no others (begin.go).
//
// Start at Open and Tenant; schema.go says what the tables hold, writer.go how a
// change is made, snapshot.go and match.go how one is read, erase.go how
// something is taken out for good.
package postgres

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgconn/ctxwatch"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/yorehq/yore/fault"
)

// Options says where a database is and how much it may be asked to do. The zero
// value of all but DSN is useful.
type Options struct {
	DSN      string        // a URL or key=value pairs, as libpq takes them
	Logger   *slog.Logger  // nil discards
	MaxConns int           // connections of the pool; 0: what the DSN says (pool_max_conns), else 16
	LockWait time.Duration // how long a writer waits for another one of the same workspace; 0: 5 s
	Budget   Budget
}

// Database is an open database of teams' histories. It is safe for concurrent
// use. Failures of the database carry fault.IndexFailed.
type Database struct {
	pool     *pgxpool.Pool
	log      *slog.Logger
	lockWait time.Duration
	budget   Budget
	held     chan struct{} // a place for each snapshot that keeps its connection

	mu   sync.Mutex
	keys map[scopeName]int64 // of workspaces, once they were seen
	rows map[int64]keptRows  // sessions of workspaces at one generation
	much map[tokenKey]uint64 // common tokens, and the generation at which they were
}

// Open connects to a database. It does not look at what is in it: Check does,
// and Migrate makes the tables.
func Open(ctx context.Context, o Options) (*Database, error) {
	config, err := pgxpool.ParseConfig(o.DSN)
	if err != nil {
		return nil, fault.New(fault.InvalidConfig, "the database's address cannot be understood") // the cause may hold a password
	}
	if o.MaxConns > 0 {
		config.MaxConns = int32(o.MaxConns)
	} else if config.MaxConns < 16 && !hasPoolSize(config) {
		config.MaxConns = 16
	}
	if config.ConnConfig.RuntimeParams["application_name"] == "" {
		config.ConnConfig.RuntimeParams["application_name"] = "yore"
	}
	// A call that ends early stops its statement and keeps the connection.
	config.ConnConfig.BuildContextWatcherHandler = func(c *pgconn.PgConn) ctxwatch.Handler {
		return &pgconn.CancelRequestContextWatcherHandler{Conn: c, CancelRequestDelay: 0, DeadlineDelay: time.Second}
	}
	d := &Database{
		log: o.Logger, lockWait: o.LockWait, budget: o.Budget.resolve(),
		held: make(chan struct{}, max(1, config.MaxConns/2)),
		keys: map[scopeName]int64{}, rows: map[int64]keptRows{}, much: map[tokenKey]uint64{},
	}
	if d.log == nil {
		d.log = slog.New(slog.DiscardHandler)
	}
	if d.lockWait <= 0 {
		d.lockWait = 5 * time.Second
	}
	if d.pool, err = pgxpool.NewWithConfig(ctx, config); err != nil {
		return nil, fault.Wrap(fault.IndexFailed, err)
	}
	if err := d.pool.Ping(ctx); err != nil {
		d.pool.Close()
		return nil, fail(ctx, err)
	}
	return d, nil
}

// hasPoolSize reports whether the address says how large the pool may be: pgx
// takes 4 or the number of cores otherwise, whichever is more.
func hasPoolSize(c *pgxpool.Config) bool {
	plain, err := pgxpool.ParseConfig("")
	return err == nil && c.MaxConns != plain.MaxConns
}

// Ping asks whether the database answers.
func (d *Database) Ping(ctx context.Context) error { return fail(ctx, d.pool.Ping(ctx)) }

// Pool is how many connections there are, how many are in use, and how many
// there may be at most.
type Pool struct{ Open, Busy, Most int }

// Pool returns the state of the connections, for metrics.
func (d *Database) Pool() Pool {
	s := d.pool.Stat()
	return Pool{Open: int(s.TotalConns()), Busy: int(s.AcquiredConns()), Most: int(s.MaxConns())}
}

// Close closes the connections. Snapshots must be closed before.
func (d *Database) Close() { d.pool.Close() }

// owned runs work in one transaction with the rights of the role that was logged
// in: for what belongs to no tenant.
func (d *Database) owned(ctx context.Context, work func(pgx.Tx) error) error {
	return fail(ctx, pgx.BeginFunc(ctx, d.pool, work))
}

func unknownSession(num int64) error {
	return fmt.Errorf("%w: the workspace has no session %d", fault.IndexFailed, num)
}
