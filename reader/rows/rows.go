// Package rows opens SQLite databases that belong to somebody else and gives
// their rows: without a lock, without a byte written beside them, and with
// whatever is in the file taken for hostile.
//
// It owns how such a file is opened (private.go), how a change of it is noticed
// (stamp.go) and how much of it is held at a time. It knows no agent and no
// schema: what the rows mean is the business of the readers beside it. Start at
// Open, then DB.Each.
package rows

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/ncruces/go-sqlite3"
	"github.com/ncruces/go-sqlite3/vfs"

	"github.com/yorehq/yore/fault"
)

// Failures that mean something to a reader. Others are those of the file system
// and of the driver; a context's error passes through.
const (
	// ErrNoDatabase says that a file is no SQLite database.
	ErrNoDatabase = failure("the file is no database")

	// ErrDamaged says that a database contradicts itself, or does not hold what
	// was asked of it.
	ErrDamaged = failure("the database is damaged")

	// ErrChanging says that the database's owner rewrites it faster than it could
	// be read. Nothing is wrong; the next look may find it still.
	ErrChanging = failure("the database is being rewritten")

	// ErrTooLong says that a value is longer than Most.
	ErrTooLong = failure("a value in the database is longer than is read")
)

type failure string

func (f failure) Error() string { return string(f) }

const (
	// Inline is the longest value, in bytes, that a query may return; a longer one
	// is an error, so queries ask for the length first (octet_length costs no
	// reading) and Value for the rest.
	Inline = 1 << 20

	// Most is the longest value that Value opens, in bytes.
	Most = 1 << 30

	pageCache = 8 << 10  // KiB
	heap      = 96 << 20 // bytes: a bound on what a statement may take, whatever the file says

	// What statements may do on one view, whatever the file says: pages that name
	// one another in many places make a small file hold more rows than anybody
	// could read. An honest query takes some dozen steps for each row.
	rowBytes  = 4         // no row takes less
	fewRows   = 1000      // nor is it worth counting so few
	byteSteps = 64        // SQLite's virtual steps for each byte of the file
	someSteps = 5_000_000 // and for what is not in it

	attempts = 4 // to open a database that is being rewritten
)

// DB is one unchanging view of a database, as it was when it was opened. It is
// for one goroutine and for a short time. What was read of it counts only if
// Steady says so afterwards.
type DB struct {
	conn   *sqlite3.Conn
	view   *view
	name   string // of the VFS
	broken bool
	tables map[string]map[string]bool
	marks  [2]int64 // application_id, user_version
	bytes  int64
	budget *budget
}

// budget is a context that ends when its statements have done more than the size
// of their file explains. SQLite asks it after each thousand of its steps, so it
// counts work and not time.
type budget struct {
	context.Context
	left int64 // thousands of steps
}

// Err implements context.Context.
func (b *budget) Err() error {
	if b.left--; b.left < 0 {
		return ErrDamaged
	}
	return b.Context.Err()
}

// interrupt lets a context, or the end of the budget, end the statement at hand.
func (d *DB) interrupt(ctx context.Context) {
	d.budget.Context = ctx
	d.conn.SetInterrupt(d.budget)
}

// errEndless is the failure of a file that holds itself many times over.
var errEndless = fmt.Errorf("%w: it holds itself many times over", ErrDamaged)

var views atomic.Int64

// Open opens a view of the database at path. It fails with ErrNoDatabase,
// ErrDamaged or ErrChanging, with an error that wraps fs.ErrNotExist, or
// with one that says that the path is no plain file.
func Open(ctx context.Context, path string) (*DB, error) {
	var d *DB
	var err error
	for range attempts {
		if d, err = open(ctx, path); err == nil || ctx.Err() != nil || !errors.Is(err, ErrChanging) {
			break
		}
	}
	return d, err
}

func open(ctx context.Context, path string) (d *DB, err error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	v, err := newView(path)
	if err != nil {
		return nil, err
	}
	d = &DB{view: v, name: fmt.Sprint("yore-rows-", views.Add(1)), budget: &budget{Context: ctx, left: (someSteps + byteSteps*v.bytes()) / 1000}}
	vfs.Register(d.name, v)
	defer func() {
		if err != nil {
			if !v.steady() {
				err = ErrChanging // whatever it looked like
			}
			d.Close()
			d = nil
		}
	}()
	defer d.guard(&err)
	// The view takes what a recovery would write, so the database is opened for writing.
	if d.conn, err = sqlite3.OpenFlags("file:"+viewName+"?vfs="+d.name, sqlite3.OPEN_READWRITE|sqlite3.OPEN_URI); err != nil {
		return d, d.fail(ctx, err)
	}
	d.interrupt(ctx)
	defer d.conn.SetInterrupt(context.Background())
	if err := d.harden(); err != nil {
		return d, d.fail(ctx, err)
	}
	if err := d.schema(ctx); err != nil {
		return d, err
	}
	return d, nil
}

// harden takes from the connection what a hostile file could make use of.
func (d *DB) harden() error {
	d.conn.HardHeapLimit(heap)
	for id, most := range map[sqlite3.LimitCategory]int{
		sqlite3.LIMIT_LENGTH: 8 * Inline, sqlite3.LIMIT_SQL_LENGTH: 64 << 10, sqlite3.LIMIT_COLUMN: 200, sqlite3.LIMIT_EXPR_DEPTH: 50,
		sqlite3.LIMIT_COMPOUND_SELECT: 8, sqlite3.LIMIT_VDBE_OP: 50_000, sqlite3.LIMIT_FUNCTION_ARG: 16, sqlite3.LIMIT_ATTACHED: 0,
		sqlite3.LIMIT_TRIGGER_DEPTH: 1,
	} {
		d.conn.Limit(id, most)
	}
	for op, on := range map[sqlite3.DBConfig]bool{
		sqlite3.DBCONFIG_NO_CKPT_ON_CLOSE: true, sqlite3.DBCONFIG_DEFENSIVE: true, sqlite3.DBCONFIG_TRUSTED_SCHEMA: false,
		sqlite3.DBCONFIG_ENABLE_TRIGGER: false, sqlite3.DBCONFIG_ENABLE_VIEW: false,
	} {
		if _, err := d.conn.Config(op, on); err != nil {
			return err
		}
	}
	// Exclusive: the index of the log is then kept in our memory, not in a file
	// beside the database. The view's locks are nobody else's business.
	err := d.conn.Exec(fmt.Sprintf(`PRAGMA locking_mode = EXCLUSIVE; PRAGMA temp_store = MEMORY; PRAGMA cache_size = -%d;
		PRAGMA mmap_size = 0; PRAGMA cell_size_check = ON; PRAGMA trusted_schema = OFF; PRAGMA wal_autocheckpoint = 0`, pageCache))
	return err
}

// authorize lets statements read tables and nothing else: no view, no trigger,
// no other database, no pragma.
func authorize(action sqlite3.AuthorizerActionCode, _, name, _, inner string) sqlite3.AuthorizerReturnCode {
	switch {
	case inner != "":
		return sqlite3.AUTH_DENY
	case action == sqlite3.AUTH_SELECT, action == sqlite3.AUTH_READ, action == sqlite3.AUTH_TRANSACTION, action == sqlite3.AUTH_RECURSIVE:
		return sqlite3.AUTH_OK
	case action == sqlite3.AUTH_FUNCTION:
		switch name {
		case "octet_length", "typeof", "max", "min", "count", "coalesce", "ifnull", "json_extract", "json_valid", "substr", "length", "total", "sum":
			return sqlite3.AUTH_OK
		}
	}
	return sqlite3.AUTH_DENY
}

// schema begins the one transaction and finds the real tables and their columns.
func (d *DB) schema(ctx context.Context) error {
	if err := d.conn.Exec(`BEGIN`); err != nil {
		return d.fail(ctx, err)
	}
	for i, pragma := range []string{`PRAGMA application_id`, `PRAGMA user_version`} {
		if err := d.Each(ctx, pragma, nil, func(r Row) error { d.marks[i] = r.Int(0); return nil }); err != nil {
			return err
		}
	}
	if err := d.conn.SetAuthorizer(authorize); err != nil {
		return d.fail(ctx, err)
	}
	d.tables = map[string]map[string]bool{}
	var names []string
	err := d.Each(ctx, `SELECT name FROM sqlite_schema WHERE type = 'table' AND rootpage > 0`, nil, func(r Row) error {
		names = append(names, r.Text(0))
		return nil
	})
	for _, name := range names {
		d.tables[name] = nil // its columns are looked up when somebody asks
	}
	return err
}

// Has reports whether there is an ordinary table with these columns.
func (d *DB) Has(table string, columns ...string) (ok bool) {
	known, there := d.tables[table]
	if !there {
		return false
	}
	var err error
	defer d.guard(&err)
	if known == nil {
		known = map[string]bool{}
		stmt, _, err := d.conn.Prepare(`SELECT * FROM ` + sqlite3.QuoteIdentifier(table))
		if err != nil {
			return false
		}
		for i := range stmt.ColumnCount() {
			known[stmt.ColumnName(i)] = true
		}
		stmt.Close()
		d.tables[table] = known
	}
	for _, c := range columns {
		if !known[c] {
			return false
		}
	}
	return true
}

// Marks returns the application_id and the user_version that the file states.
func (d *DB) Marks() (application, version int64) { return d.marks[0], d.marks[1] }

// Each runs one query and hands over its rows, in order. An error of row ends it
// and comes back as it is.
func (d *DB) Each(ctx context.Context, query string, args []any, row func(Row) error) (err error) {
	if d.broken {
		return ErrDamaged
	}
	defer d.guard(&err)
	d.interrupt(ctx)
	defer d.conn.SetInterrupt(context.Background())
	stmt, _, err := d.conn.Prepare(query)
	if err != nil {
		return d.fail(ctx, err)
	}
	defer stmt.Close()
	for i, a := range args {
		switch a := a.(type) {
		case string:
			err = stmt.BindText(i+1, a)
		case int64:
			err = stmt.BindInt64(i+1, a)
		case int:
			err = stmt.BindInt(i+1, a)
		default:
			err = fmt.Errorf("%w: a query has an argument of type %T", fault.ToolFailed, a)
		}
		if err != nil {
			return d.fail(ctx, err)
		}
	}
	for left := fewRows + d.view.bytes()/rowBytes; stmt.Step(); left-- {
		if left == 0 {
			return errEndless
		}
		if err := row(Row{stmt, d}); err != nil {
			return err
		}
	}
	return d.fail(ctx, stmt.Err())
}

// Row is the row at hand; it is of no use behind the call that it was given to.
type Row struct {
	stmt *sqlite3.Stmt
	d    *DB
}

// Null reports whether a column is NULL.
func (r Row) Null(i int) bool { return r.stmt.ColumnType(i) == sqlite3.NULL }

// IsText, IsBlob and IsInt tell the class that a value is stored in.
func (r Row) IsText(i int) bool { return r.stmt.ColumnType(i) == sqlite3.TEXT }

// IsBlob: see IsText.
func (r Row) IsBlob(i int) bool { return r.stmt.ColumnType(i) == sqlite3.BLOB }

// IsInt: see IsText.
func (r Row) IsInt(i int) bool { return r.stmt.ColumnType(i) == sqlite3.INTEGER }

// Int returns an integer; 0 for anything else.
func (r Row) Int(i int) int64 {
	if !r.IsInt(i) {
		return 0
	}
	return r.stmt.ColumnInt64(i)
}

// Text returns a text; "" for anything else.
func (r Row) Text(i int) string {
	if !r.IsText(i) {
		return ""
	}
	return string(r.raw(i))
}

// Bytes returns the bytes of a text or blob as they are stored, copied; nil for
// anything else.
func (r Row) Bytes(i int) []byte {
	if !r.IsText(i) && !r.IsBlob(i) {
		return nil
	}
	return append([]byte{}, r.raw(i)...)
}

func (r Row) raw(i int) []byte {
	b := r.stmt.ColumnRawBlob(i)
	r.d.bytes += int64(len(b))
	return b
}

// Steady reports whether everything read so far belongs together: the owner has
// not written over any of it since the view was opened. What it appended, or
// wrote into its log, does no harm.
func (d *DB) Steady() bool { return d.view.steady() }

// Read is how many bytes of values have been handed over.
func (d *DB) Read() int64 { return d.bytes }

// Close ends the view. What was read is as good as it was said to be.
func (d *DB) Close() {
	defer vfs.Unregister(d.name)
	defer d.view.close()
	var err error
	defer d.guard(&err)
	if d.conn == nil {
		return
	}
	d.conn.SetInterrupt(context.Background())
	_ = d.conn.Close() // it says once more what a statement has said
	d.conn = nil
}

// guard turns a panic of the driver into an error: it panics when its memory
// runs out, and the connection is of no use then.
func (d *DB) guard(err *error) {
	if r := recover(); r != nil {
		d.broken = true
		*err = fmt.Errorf("%w: the database driver gave up: %v", ErrDamaged, r)
	}
}

// fail gives an error of the driver its meaning.
func (d *DB) fail(ctx context.Context, err error) error {
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return ctx.Err()
	case !d.view.steady():
		return ErrChanging
	case d.budget.left < 0:
		return errEndless
	case errors.Is(err, sqlite3.NOTADB):
		return ErrNoDatabase
	case errors.Is(err, sqlite3.TOOBIG):
		return fmt.Errorf("%w: %w", ErrTooLong, err)
	}
	// Whatever else the driver says of a view that nobody writes to is due to what
	// is in the file.
	return fmt.Errorf("%w: %w", ErrDamaged, err)
}
