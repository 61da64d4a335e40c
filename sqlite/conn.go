package sqlite

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/ncruces/go-sqlite3"
	_ "github.com/ncruces/go-sqlite3/vfs/mvcc" // databases in memory whose readers hold up no writer

	"github.com/yorehq/yore/fault"
	"github.com/yorehq/yore/internal/ingest"
)

// conn is one connection to one database, used by one goroutine at a time.
type conn struct {
	x      *Index
	at     place
	path   string
	writer bool
	info   os.FileInfo // the file as it was opened; nil in memory
	db     *sqlite3.Conn
	stmts  map[string]*sqlite3.Stmt
	broken bool  // not to be used again
	heavy  int64 // size of the write-ahead log when it could not be begun anew; see relieve.go

	pending *pending // the segment that a transaction gathers; its memory is kept
	merging struct { // the columns that a merge read last
		id      int64
		columns *columns
	}
}

// dial opens a database that is there and sets the connection up.
func (x *Index) dial(ctx context.Context, at place, writer bool) (c *conn, err error) {
	c = &conn{x: x, at: at, path: at.path, writer: writer, stmts: map[string]*sqlite3.Stmt{}}
	defer func() {
		if err != nil {
			c.broken = true
			c.close()
			c = nil
		}
	}()
	defer c.guard(&err)
	x.work.connections.Add(1)
	if x.memory == "" {
		if c.info, err = os.Stat(at.path); err != nil {
			return c, err
		}
		if err = readyCompanions(at.path); err != nil {
			return c, err
		}
		c.db, err = openPrivate(at.path)
	} else {
		c.db, err = sqlite3.OpenFlags("file:"+at.path+"?vfs=mvcc", sqlite3.OPEN_READWRITE|sqlite3.OPEN_CREATE|sqlite3.OPEN_URI)
	}
	if err != nil {
		return c, err
	}
	if err = c.setUp(ctx); isDamage(err) || errors.Is(err, sqlite3.IOERR) || errors.Is(err, sqlite3.FULL) {
		err = c.fail(ctx, err)
	}
	return c, err
}

func (c *conn) setUp(ctx context.Context) error {
	if err := c.db.BusyTimeout(c.x.busy); err != nil {
		return err
	}
	c.db.SetInterrupt(ctx)
	if !c.writer {
		return c.execAll(`PRAGMA temp_store = MEMORY; PRAGMA cache_size = -4000`) // a search over many shards opens each anew
	}
	return c.execAll(`PRAGMA temp_store = MEMORY; PRAGMA secure_delete = ON; PRAGMA synchronous = NORMAL; PRAGMA cache_size = -16000;
		PRAGMA journal_size_limit = 4194304`)
}

// guard turns a panic of the driver into an error: it panics when its memory
// runs out, and the connection is of no use then.
func (c *conn) guard(err *error) {
	if r := recover(); r != nil {
		c.broken = true
		*err = fmt.Errorf("%w: the database driver gave up: %v", fault.IndexFailed, r)
	}
}

// close closes the connection for good.
func (c *conn) close() (err error) {
	defer c.guard(&err)
	if c.db == nil {
		return nil
	}
	c.db.SetInterrupt(context.Background())
	for _, s := range c.stmts {
		s.Close()
	}
	c.stmts = nil
	return c.db.Close()
}

// fail gives an error of the driver its meaning: the end of the context wins,
// damage condemns the file, see damage.go.
func (c *conn) fail(ctx context.Context, err error) error {
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil && (errors.Is(err, sqlite3.INTERRUPT) || errors.Is(err, sqlite3.BUSY)):
		return ctx.Err()
	case isDamage(err) && !errors.Is(err, ingest.ErrDamaged):
		c.broken = true
		if c.info == nil {
			break
		}
		c.x.condemn(c, err)
		return damaged(err)
	case errors.Is(err, sqlite3.READONLY), errors.Is(err, sqlite3.PERM):
		err = fmt.Errorf("%w: %w", os.ErrPermission, err)
	case errors.Is(err, sqlite3.FULL), errors.Is(err, sqlite3.IOERR) && c.info != nil && isFull(filepath.Dir(c.path)):
		err = fmt.Errorf("%w: %w", errFull, err)
	}
	return fault.Wrap(fault.IndexFailed, err)
}

func isBusy(err error) bool {
	return errors.Is(err, sqlite3.BUSY) || errors.Is(err, ingest.ErrBusy) || errors.Is(err, errReplaced)
}

// begin starts a transaction that holds the write lock.
func (c *conn) begin(ctx context.Context) error {
	// The driver tries as long as its timeout says; a context that ends cuts it short.
	deadline := time.Now().Add(c.x.busy)
	for {
		err := c.rawExec(ctx, `BEGIN IMMEDIATE`)
		switch {
		case err == nil:
			return nil
		case ctx.Err() != nil && (errors.Is(err, sqlite3.INTERRUPT) || errors.Is(err, sqlite3.BUSY)):
			return fmt.Errorf("%w: %w", ingest.ErrBusy, ctx.Err())
		case errors.Is(err, sqlite3.BUSY) && time.Now().Before(deadline):
			time.Sleep(time.Millisecond) // a stale snapshot is refused at once
		case errors.Is(err, sqlite3.BUSY):
			return fmt.Errorf("%w: %w", fault.IndexFailed, ingest.ErrBusy)
		default:
			return c.fail(ctx, err)
		}
	}
}

func (c *conn) commit(ctx context.Context) error {
	err := c.rawExec(ctx, `COMMIT`)
	if err == nil {
		return nil
	}
	c.rollback()
	return c.fail(ctx, err)
}

// rollback ends whatever transaction is open.
func (c *conn) rollback() {
	var err error
	func() {
		defer c.guard(&err)
		c.db.SetInterrupt(context.Background())
		for _, s := range c.stmts {
			s.Reset()
		}
		if !c.db.GetAutocommit() {
			err = c.db.Exec(`ROLLBACK`)
		}
	}()
	if err != nil {
		c.broken = true
	}
}

// execAll runs statements that return nothing and are not worth keeping.
func (c *conn) execAll(sql string) (err error) {
	defer c.guard(&err)
	c.x.work.statements.Add(1)
	return c.db.Exec(sql)
}

// prepare returns the kept statement for sql, its arguments bound: int64, int,
// bool, string, []byte, *string (nil is null) or nil.
func (c *conn) prepare(ctx context.Context, sql string, args []any) (*sqlite3.Stmt, error) {
	c.x.work.statements.Add(1)
	c.db.SetInterrupt(ctx)
	s, ok := c.stmts[sql]
	if !ok {
		var err error
		if s, _, err = c.db.PrepareFlags(sql, sqlite3.PREPARE_PERSISTENT); err != nil {
			return nil, err
		}
		c.stmts[sql] = s
	}
	for i, a := range args {
		if err := bind(s, i+1, a); err != nil {
			return nil, err
		}
	}
	return s, nil
}

func bind(s *sqlite3.Stmt, at int, a any) error {
	switch v := a.(type) {
	case int64:
		return s.BindInt64(at, v)
	case int:
		return s.BindInt64(at, int64(v))
	case bool:
		return s.BindBool(at, v)
	case string:
		return s.BindText(at, v)
	case []byte:
		return s.BindBlob(at, v)
	case *string:
		if v != nil {
			return s.BindText(at, *v)
		}
	case nil:
	default:
		return fmt.Errorf("%w: cannot bind a %T", fault.IndexFailed, a)
	}
	return s.BindNull(at)
}

func (c *conn) rawExec(ctx context.Context, sql string, args ...any) (err error) {
	defer c.guard(&err)
	s, err := c.prepare(ctx, sql, args)
	if err != nil {
		return err
	}
	return s.Exec()
}

// exec runs a statement that returns no rows.
func (c *conn) exec(ctx context.Context, sql string, args ...any) error {
	return c.fail(ctx, c.rawExec(ctx, sql, args...))
}

// rowsOf runs a statement and calls each for every row; each must not use the
// connection.
func (c *conn) rowsOf(ctx context.Context, sql string, each func(row) error, args ...any) (err error) {
	defer c.guard(&err)
	s, err := c.prepare(ctx, sql, args)
	if err != nil {
		return c.fail(ctx, err)
	}
	for s.Step() {
		if err := each(row{Stmt: s}); err != nil {
			s.Reset()
			return err
		}
	}
	err = s.Err()
	s.Reset()
	return c.fail(ctx, err)
}

// integer returns the first column of the first row; 0 where there is none.
func (c *conn) integer(ctx context.Context, sql string, args ...any) (n int64, err error) {
	err = c.rowsOf(ctx, sql, func(r row) error {
		n = r.int(0)
		return nil
	}, args...)
	return n, err
}
