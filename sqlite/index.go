// Package sqlite is the index on SQLite: a catalog of every known source that
// all processes share, and one shard a workspace that holds the documents, the
// postings and the saved state of its sessions.
//
// It owns the files, their permissions and schemas, transactions between
// processes, how a phrase is matched exactly, and how deleted text leaves the
// disk. It refuses to know agents, rankings and filters: it stores what ingest
// brings and answers what query.Store asks. Everything in it can be made again
// from the agents' logs.
//
// Start at Index; schema.go says what the tables hold, writer.go how a change
// is made, snapshot.go and match.go how one is read.
package sqlite

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/klauspost/compress/zstd"

	"github.com/yorehq/yore/fault"
	"github.com/yorehq/yore/internal/ingest"
	"github.com/yorehq/yore/query"
)

// Options says where an index lives. The zero value of all but Dir is useful.
type Options struct {
	Dir         string                  // the index's folder; made 0700 if it is not there
	Logger      *slog.Logger            // nil discards
	BusyTimeout time.Duration           // how long to wait for another writer; 0: 5 s
	Network     bool                    // a folder on a network file system is used all the same
	FileSystem  func(dir string) string // the type of the file system that a folder is on; nil: the package's FileSystem
	MaxOpen     int                     // connections open at a time, of three descriptors each; 0: 10
}

// Index is an open index. It is safe for concurrent use, by any number of
// processes. Failures of the index itself carry fault.IndexFailed.
type Index struct {
	dir    string
	memory string // name of an index in memory; "": on disk
	log    *slog.Logger
	busy   time.Duration
	enc    *zstd.Encoder
	dec    *zstd.Decoder
	work   counters

	making sync.Mutex // guards the making of databases in memory
	made   int

	mu      sync.Mutex
	closed  bool
	keep    int                    // most connections to be open
	opened  int                    // how many are; see room.go
	idle    []*conn                // oldest first
	views   []*snapshot            // those that have a connection, the latest read last
	keepers map[string]*conn       // what keeps the databases of an index in memory alive, by path
	damaged map[string]condemned   // files to be removed before their next use, by path
	seen    map[string]os.FileInfo // the files that were used, by path
	rows    map[string]cached
	files   map[string]fileList // by workspace
	memos   map[string]*memo    // by path; see memo.go
	trees   sync.Pool           // of *btree.File, for their memory

	caches
}

// cached is the sessions of a shard at one generation.
type cached struct {
	generation uint64
	birth      int64
	rows       []query.Row
}

// counters counts work; see Work.
type counters struct{ transactions, rows, statements, connections, stills, postings atomic.Int64 }

// Work is how much an Index has done since it was opened.
type Work struct {
	Transactions int64 // write transactions committed
	Rows         int64 // rows they inserted, changed or deleted
	Statements   int64 // statements run, for reading and writing
	Connections  int64 // connections made to databases
	Stills       int64 // times that a shard at rest was opened without one
	Postings     int64 // bytes of dictionaries and lists that were read without one
}

var (
	_ query.Store    = (*Index)(nil)
	_ ingest.Catalog = (*Index)(nil)
	_ ingest.Shards  = (*Index)(nil)
)

// Open opens the index in a folder and makes what is not there; a folder that is
// there keeps its mode. A path that is no folder, and a catalog that is not ours
// or of a newer version, is fault.IndexFailed and left as it is; an older
// version, an empty file and a damaged catalog are made anew.
func Open(ctx context.Context, o Options) (*Index, error) {
	if o.Dir == "" {
		return nil, fault.New(fault.InvalidConfig, "the index needs a folder")
	}
	dir, err := filepath.Abs(o.Dir)
	if err != nil {
		return nil, fault.Wrap(fault.IndexFailed, err)
	}
	x, err := newIndex(o)
	if err != nil {
		return nil, err
	}
	x.dir = dir
	if err := x.checkFileSystem(o); err != nil {
		return nil, err
	}
	if err := x.prepareFolder(); err != nil {
		return nil, fmt.Errorf("index folder: %w", fault.Wrap(fault.IndexFailed, err))
	}
	if err := x.openCatalog(ctx); err != nil {
		x.Close()
		return nil, fmt.Errorf("index catalog: %w", err)
	}
	return x, nil
}

// OpenMemory opens an empty index in memory, for one process. It is gone when
// it is closed. Its databases are made when something is put into them: most
// processes never do.
func OpenMemory(ctx context.Context) (*Index, error) {
	x, err := newIndex(Options{})
	if err != nil {
		return nil, err
	}
	x.memory = "yore-" + rand.Text()
	return x, ctx.Err()
}

func newIndex(o Options) (*Index, error) {
	x := &Index{
		caches: newCaches(),
		log:    o.Logger, busy: o.BusyTimeout, keep: o.MaxOpen,
		keepers: map[string]*conn{}, damaged: map[string]condemned{}, seen: map[string]os.FileInfo{}, rows: map[string]cached{}, memos: map[string]*memo{},
		files: map[string]fileList{},
	}
	if x.log == nil {
		x.log = slog.New(slog.DiscardHandler)
	}
	if x.busy <= 0 {
		x.busy = 5 * time.Second
	}
	if x.keep <= 0 {
		x.keep = 10
	}
	var err error
	if x.enc, err = zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(1), zstd.WithEncoderCRC(true), zstd.WithWindowSize(1<<20)); err != nil {
		return nil, fault.Wrap(fault.IndexFailed, err)
	}
	if x.dec, err = zstd.NewReader(nil, zstd.WithDecoderConcurrency(2), zstd.WithDecoderMaxMemory(maxBlock)); err != nil {
		return nil, fault.Wrap(fault.IndexFailed, err)
	}
	return x, nil
}

// openCatalog makes sure that the catalog is there and ours. A damaged catalog
// of ours is begun anew: it holds nothing that cannot be found again. A reader's
// connection is enough if it is there, and is the one that will be used next.
func (x *Index) openCatalog(ctx context.Context) error {
	c, err := x.acquire(ctx, catalogOf(x), false)
	for range 2 {
		if c == nil && err == nil || errors.Is(err, ingest.ErrDamaged) {
			c, err = x.acquire(ctx, catalogOf(x), true)
		}
	}
	if err != nil {
		return fault.Wrap(fault.IndexFailed, err)
	}
	x.release(c)
	x.removeLeftovers()
	return nil
}

// Work returns what was done so far.
func (x *Index) Work() Work {
	w := &x.work
	return Work{w.transactions.Load(), w.rows.Load(), w.statements.Load(), w.connections.Load(), w.stills.Load(), w.postings.Load()}
}

// count adds a committed transaction; before is the connection's total when it
// began.
func (x *Index) count(c *conn, before int64) {
	x.work.transactions.Add(1)
	x.work.rows.Add(c.db.TotalChanges() - before)
}

// Close closes what is open. Snapshots must be closed before.
func (x *Index) Close() error {
	x.mu.Lock()
	idle := x.idle
	for _, c := range x.keepers {
		idle = append(idle, c)
	}
	for _, d := range x.damaged {
		d.file.Close()
	}
	x.closed, x.idle, x.keepers, x.damaged = true, nil, nil, nil
	x.mu.Unlock()
	var errs []error
	for _, c := range idle {
		errs = append(errs, c.close())
	}
	x.enc.Close()
	x.dec.Close()
	return fault.Wrap(fault.IndexFailed, errors.Join(errs...))
}
