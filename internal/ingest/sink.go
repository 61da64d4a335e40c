package ingest

import (
	"context"

	"github.com/yorehq/yore/fault"
	"github.com/yorehq/yore/reader"
	"github.com/yorehq/yore/session"
)

// Catalog is the discovery cache that all processes share: which folders and
// files are known below each root, and what header each file states. It may lag
// behind the disk and behind a shard; it holds no text and no titles.
type Catalog interface {
	// Folders returns the known folders below a root (the root itself
	// included): those to be listed again when they change, and the leaves
	// that no file was found in yet.
	Folders(ctx context.Context, root string) ([]Folder, error)

	// Files returns catalogued files.
	Files(ctx context.Context, which FileLookup) ([]FileRow, error)

	// Update applies a change in one short transaction.
	Update(ctx context.Context, change CatalogChange) error
}

// Folder is a known folder. Path is absolute.
type Folder struct {
	Path    string
	Root    string
	Leaf    bool  // the folder of one session
	ModTime int64 // epoch nanoseconds; 0: it was not there
	Listed  int64 // when it was last listed, epoch nanoseconds
}

// FileRow is a catalogued file: a session's source, or one that may become one.
type FileRow struct {
	Path    string // absolute; the key
	Root    string
	Folder  string // the folder that holds it
	Agent   session.Agent
	Header  session.Header // as the file states it; zero while Pending
	Fork    Fork           // what was found out about where its history comes from
	Stamp   reader.Stamp   // when the header was read
	Pending bool           // the header is not complete yet
	Problem *reader.Problem
}

// FileLookup chooses catalogued files; set fields are ANDed. The zero value is
// every file.
type FileLookup struct {
	Workspace *string // sources whose header states this cwd (problems included)
	Folder    *string
	Pending   bool // only those whose header is still to come
	Path      *string
}

// CatalogChange is applied as a whole.
type CatalogChange struct {
	Folders       []Folder  // put
	Files         []FileRow // put
	RemoveFolders []string  // with everything below them
	RemoveFiles   []string
}

// Shards is what ingest needs of the index: one shard a workspace.
type Shards interface {
	// Peek returns the saved state of a shard's sessions without the write
	// lock. A shard that is not there has none.
	Peek(ctx context.Context, workspace string) ([]Stored, error)

	// Write runs work in one transaction that holds the shard's write lock. It
	// waits for the lock until ctx ends or for a bounded time, then fails with
	// an error that wraps ErrBusy. An error of work rolls everything back. The
	// shard is made if it is not there.
	Write(ctx context.Context, workspace string, work func(Writer) error) error

	// Purge removes, in bounded steps, what deletions left in the files of a
	// shard, and reports whether nothing is left to do.
	Purge(ctx context.Context, workspace string) (done bool, err error)
}

// ErrDamaged says that a call met a damaged file of the catalog or of a shard.
// The file is removed: what the index knew of it has to be found again, from the
// discovery of files on.
const ErrDamaged = damaged("a file of the index was damaged")

type damaged string

func (d damaged) Error() string { return string(d) }

// ErrBusy says that another process holds a shard's write lock.
const ErrBusy = busy("another process is writing to the shard")

type busy string

func (b busy) Error() string { return string(b) }

// Writer changes a shard within one transaction.
type Writer interface {
	// Stored returns the saved state of the shard's sessions.
	Stored(ctx context.Context) ([]Stored, error)

	// Surface returns every surface event of a session, current ones in
	// ascending Order; provisional ones are not among them.
	Surface(ctx context.Context, num int64) ([]session.Node, error)

	// Put saves a session's state; Num 0 is a new session and gets a number.
	Put(ctx context.Context, s *Stored) error

	// Append adds what events brought. Entries ascend and lie behind all earlier ones.
	Append(ctx context.Context, num int64, b *Batch) error

	// Withdraw takes back the provisional events at the end of a session.
	Withdraw(ctx context.Context, num int64) error

	// Clear removes everything a session's events brought; its state stays.
	Clear(ctx context.Context, num int64) error

	// Delete removes a session and everything of it.
	Delete(ctx context.Context, num int64) error

	// Holders returns which sessions have entries with one of the given Natives,
	// in ascending Num and, within one, in ascending seq.
	Holders(ctx context.Context, natives []uint64) ([]Holder, error)
}

// Holder is a session with an entry whose Native was asked for.
type Holder struct {
	Num    int64
	Native uint64
}

// Fork is a lineage fact that a log does not state and that ingest found out
// from records it shares with another one. The zero value says nothing.
type Fork struct {
	Parent    session.ID
	Seed      int64 // how many leading events came from the parent
	CreatedAt int64 // time of the first event of its own, epoch milliseconds
}

// Apply completes a stated header.
func (f Fork) Apply(h session.Header) session.Header {
	if f.Parent != "" {
		h.ParentSession, h.SeedLength, h.CreatedAt = f.Parent, f.Seed, f.CreatedAt
	}
	return h
}

// Stored is what a shard remembers of a session between two updates.
type Stored struct {
	Num      int64 // 0: not in the shard yet
	Source   string
	Header   session.Header // as the log states it
	Fork     Fork
	Settled  bool // growth can change nothing of Fork
	Position reader.Position
	Mapping  string // versions of reader, fold and text that made it; another one means: make it again
	Problem  *reader.Problem

	Events      int64 // number of events, closing records included
	Provisional int64 // how many closing records stand at the end
	Title       *string
	TitleFail   fault.Code
	Naming      Naming       // titles from and for other sessions
	LastStep    int64        // seq of the latest step start; -1: none
	Prompted    bool         // the first human prompt has been seen
	Root        string       // the first event's native id, by which copies of a log are recognised
	Clipped     int64        // how many of its texts are longer than what is searchable
	Skip        *reader.Skip // the damage that the log ends before, if any
	Footprints  []string     // ids of the latest calls of the product's own tools
	Calls       []Call       // the latest calls that wait for their results, oldest first
	Changed     int64        // time of the latest event, epoch milliseconds
}

// Call is a tool call: its id and the name of the tool.
type Call struct{ ID, Tool string }

// Batch is what a run of consecutive events brings to a shard.
type Batch struct {
	Entries     []Entry
	Removals    []Removal
	Restored    []session.Node // events that a select brought back, with their new keys
	Citations   []Citation
	Checkpoints []session.Checkpoint
}

// Entry is a document or a surface event; events that are neither have none.
type Entry struct {
	Seq         int64
	Time        int64 // epoch milliseconds
	Type        string
	Tool        string // name of the tool, of a call or a result where it is known; ""
	Speaker     session.Speaker
	First       bool   // the session's first human prompt
	Text        string // searchable text; ""
	Surface     bool
	Order       int64  // position key, if Surface
	Sameness    uint64 // of a tool/result
	Native      uint64 // a hash of the record's own id and the event's type; 0: none. Kept unless there is a Sameness
	Provisional bool
	Clipped     bool // there was more text than is searchable
}

// Removal is what one event took off the surface, in surface order.
type Removal struct {
	By   int64
	Seqs []int64
}

// Citation is one event's sources, as recorded.
type Citation struct {
	By      int64
	Sources []int64
}
