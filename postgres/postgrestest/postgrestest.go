// Package postgrestest gives tests a PostgreSQL of their own: one throw-away
// cluster a test process, one database a test. It uses the PostgreSQL that is
// installed, on a socket in a temporary folder and on no port, and nothing of it
// outlives the process, however that ends. Without PostgreSQL tests are skipped
// and say why; YORE_POSTGRES=1 makes that a failure.
//
// Start at Open.
package postgrestest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/yorehq/yore/postgres"
)

// Cluster is a running PostgreSQL.
type Cluster struct {
	dir     string // the socket's folder; data lies below
	account string // whom it runs as; "": who runs the tests
	args    []string
	server  *exec.Cmd
	stdin   interface{ Close() error } // the server lives as long as this is open
	made    atomic.Int64

	template sync.Once
	failed   error
}

// shared is the process's cluster, started by the first who asks.
var shared = sync.OnceValues(func() (*Cluster, error) {
	return Start(Programs(), "fsync=off", "synchronous_commit=off", "full_page_writes=off")
})

// Shared returns the process's cluster, which does not wait for disks.
func Shared(t testing.TB) *Cluster {
	t.Helper()
	installed(t)
	c, err := shared()
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// Open returns an empty, migrated database that is dropped when the test ends.
func Open(t testing.TB, o postgres.Options) *postgres.Database {
	t.Helper()
	o.DSN = Shared(t).Database(t)
	db, err := postgres.Open(context.Background(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(db.Close)
	return db
}

// installed returns the folder of PostgreSQL's programs; without them the test is
// skipped, or fails if it must not be.
func installed(t testing.TB) string {
	t.Helper()
	bin := Programs()
	if bin == "" {
		if os.Getenv("YORE_POSTGRES") == "1" {
			t.Fatal("PostgreSQL is not installed, and YORE_POSTGRES=1 asks for it")
		}
		t.Skip("PostgreSQL is not installed (Debian: apt-get install postgresql)")
	}
	return bin
}

// Programs returns the folder of the newest installed PostgreSQL's programs, "" if
// there is none.
func Programs() string {
	var best string
	var version int
	found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/initdb")
	for _, path := range found {
		bin := filepath.Dir(path)
		if n, err := strconv.Atoi(filepath.Base(filepath.Dir(bin))); err == nil && n > version {
			best, version = bin, n
		}
	}
	if best != "" {
		return best
	}
	if path, err := exec.LookPath("initdb"); err == nil {
		if path, err = filepath.EvalSymlinks(path); err == nil {
			return filepath.Dir(path)
		}
	}
	return ""
}

// Start makes a cluster with the programs of a folder and some settings. It refuses
// to run as root, so that root lends it another account.
func Start(bin string, settings ...string) (c *Cluster, err error) {
	c = &Cluster{}
	// The path of a socket is short; a test's own folder may be long.
	if c.dir, err = os.MkdirTemp("", "yorepg"); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			os.RemoveAll(c.dir)
		}
	}()
	if os.Getuid() == 0 {
		for _, name := range []string{"postgres", "nobody"} {
			u, err := user.Lookup(name)
			if err != nil {
				continue
			}
			uid, _ := strconv.Atoi(u.Uid)
			gid, _ := strconv.Atoi(u.Gid)
			if err := os.Chown(c.dir, uid, gid); err != nil {
				return nil, err
			}
			c.account = name
			break
		}
		if c.account == "" {
			return nil, errors.New("there is no account that PostgreSQL could run as")
		}
	}
	data := filepath.Join(c.dir, "data")
	out, err := c.command(quoted(filepath.Join(bin, "initdb"), "-D", data, "-U", "yore", "-A", "trust", "-E", "UTF8", "--locale=C", "-N", "--no-instructions")).CombinedOutput()
	if err != nil {
		return nil, fmt.Errorf("initdb: %w: %s", err, out)
	}
	c.args = []string{filepath.Join(bin, "postgres"), "-D", data, "-k", c.dir, "-h", ""}
	for _, s := range append([]string{"jit=off", "shared_buffers=128MB", "max_connections=200", "autovacuum_naptime=5", "log_min_messages=error"}, settings...) {
		c.args = append(c.args, "-c", s)
	}
	if err := c.Run(); err != nil {
		return nil, err
	}
	return c, nil
}

// quoted gives words as a shell takes them.
func quoted(words ...string) string {
	out := make([]string, len(words))
	for i, w := range words {
		out[i] = "'" + strings.ReplaceAll(w, "'", `'\''`) + "'"
	}
	return strings.Join(out, " ")
}

func (c *Cluster) command(line string) *exec.Cmd {
	cmd := exec.Command("/bin/sh", "-c", line)
	if c.account != "" {
		cmd = exec.Command("su", c.account, "-s", "/bin/sh", "-c", line)
	}
	cmd.Dir = c.dir
	return cmd
}

// Run starts the server of a cluster that was killed.
func (c *Cluster) Run() error {
	// A shell ends the server when its input does: with this process at the latest.
	line := fmt.Sprintf(`%s </dev/null & server=$!; cat >/dev/null; kill -INT $server 2>/dev/null; wait $server; [ -e %s ] || rm -rf %s`,
		quoted(c.args...), quoted(filepath.Join(c.dir, "keep")), quoted(c.dir))
	c.server = c.command(line)
	var said bytes.Buffer
	c.server.Stdout, c.server.Stderr = &said, &said
	stdin, err := c.server.StdinPipe()
	if err != nil {
		return err
	}
	c.stdin = stdin
	if err := c.server.Start(); err != nil {
		return err
	}
	for range 300 {
		conn, err := pgx.Connect(context.Background(), c.dsn("postgres"))
		if err == nil {
			return conn.Close(context.Background())
		}
		time.Sleep(50 * time.Millisecond)
	}
	c.Stop()
	return fmt.Errorf("PostgreSQL did not start: %s", said.String())
}

func (c *Cluster) dsn(database string) string {
	return fmt.Sprintf("host=%s user=yore dbname=%s", c.dir, database)
}

// Dir returns the cluster's folder: its files lie in data.
func (c *Cluster) Dir() string { return c.dir }

// Pid returns the process of the server.
func (c *Cluster) Pid() (int, error) {
	text, err := os.ReadFile(filepath.Join(c.dir, "data", "postmaster.pid"))
	if err != nil {
		return 0, err
	}
	first, _, _ := strings.Cut(string(text), "\n")
	return strconv.Atoi(first)
}

// Kill ends the server as a loss of power does, without a word, and keeps its
// files: Run starts it again.
func (c *Cluster) Kill() error {
	if err := os.WriteFile(filepath.Join(c.dir, "keep"), nil, 0o644); err != nil {
		return err
	}
	pid, err := c.Pid()
	if err != nil {
		return err
	}
	children, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", pid, pid))
	if err != nil {
		return err
	}
	p, err := os.FindProcess(pid)
	if err != nil {
		return err
	}
	if err := p.Kill(); err != nil {
		return err
	}
	c.stdin.Close()
	c.server.Wait()
	// Its own processes notice and end; until then none can start anew.
	for _, child := range strings.Fields(string(children)) {
		for range 500 {
			if _, err := os.Stat("/proc/" + child); err != nil {
				break
			}
			time.Sleep(10 * time.Millisecond)
		}
	}
	return os.Remove(filepath.Join(c.dir, "keep"))
}

// Stop ends the cluster and removes its files.
func (c *Cluster) Stop() {
	if c.stdin != nil {
		c.stdin.Close()
		c.server.Wait()
	}
	os.RemoveAll(c.dir)
}

// template is the database that those of tests are copies of.
const template = "yore_template"

// Database makes an empty, migrated database, dropped when the test ends, and
// returns its address.
func (c *Cluster) Database(t testing.TB) string {
	t.Helper()
	c.template.Do(func() { c.failed = c.makeTemplate() })
	if c.failed != nil {
		t.Fatal(c.failed)
	}
	return c.make(t, " TEMPLATE "+template)
}

// Bare makes an empty database without tables.
func (c *Cluster) Bare(t testing.TB) string {
	t.Helper()
	return c.make(t, "")
}

func (c *Cluster) make(t testing.TB, how string) string {
	t.Helper()
	name := fmt.Sprintf("test_%d", c.made.Add(1))
	if err := c.Exec("postgres", "CREATE DATABASE "+name+how); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Exec("postgres", "DROP DATABASE IF EXISTS "+name+" WITH (FORCE)"); err != nil {
			t.Error(err)
		}
	})
	return c.dsn(name)
}

func (c *Cluster) makeTemplate() error {
	ctx := context.Background()
	if err := c.Exec("postgres", "CREATE DATABASE "+template); err != nil {
		return err
	}
	db, err := postgres.Open(ctx, postgres.Options{DSN: c.dsn(template)})
	if err != nil {
		return err
	}
	defer db.Close()
	_, _, err = db.Migrate(ctx, postgres.Setup{Partitions: 4}) // as many as there are by default take a second to copy
	return err
}

// Exec runs statements in a database, as the owner of everything.
func (c *Cluster) Exec(database string, statements ...string) error {
	ctx := context.Background()
	conn, err := pgx.Connect(ctx, c.dsn(database))
	if err != nil {
		return err
	}
	defer conn.Close(ctx)
	for _, s := range statements {
		if _, err := conn.Exec(ctx, s); err != nil {
			return fmt.Errorf("%s: %w", s, err)
		}
	}
	return nil
}

// Holding returns the files of the cluster's data that hold some bytes, sorted,
// relative to it: those of the log of changes apart.
func (c *Cluster) Holding(marker []byte) (tables, changes []string, err error) {
	root := filepath.Join(c.dir, "data")
	err = filepath.WalkDir(root, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() || !d.Type().IsRegular() {
			if errors.Is(err, os.ErrNotExist) {
				return nil // it went meanwhile
			}
			return err
		}
		text, err := os.ReadFile(path)
		if errors.Is(err, os.ErrNotExist) {
			return nil
		}
		if err != nil || !bytes.Contains(text, marker) {
			return err
		}
		rel, err := filepath.Rel(root, path)
		if strings.HasPrefix(rel, "pg_wal") {
			changes = append(changes, rel)
		} else {
			tables = append(tables, rel)
		}
		return err
	})
	slices.Sort(tables)
	slices.Sort(changes)
	return tables, changes, err
}
