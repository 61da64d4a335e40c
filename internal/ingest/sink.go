package ingest

import (
	"context"
	"encoding/binary"
	"hash/fnv"
	"io"

	"github.com/yorehq/yore/fault"
	"github.com/yorehq/yore/reader"
	"github.com/yorehq/yore/session"
)

// Catalog is the discovery cache that all processes share: which folders and
// files are known below each root, and what header each file states. It may lag
// behind the disk and behind a shard; it holds no text and no titles.
type Catalog interface {
	// Folders returns known folders of a root (the root itself included): those
	// to be listed again when they change, and the leaves that no file was found
	// in yet. They come by path unless the lookup says otherwise.
	Folders(ctx context.Context, which FolderLookup) ([]Folder, error)

	// Below returns what is known inside a folder, at any depth: the paths of
	// folders, and of files with their folders.
	Below(ctx context.Context, folder string) (Inside, error)

	// Files returns catalogued files.
	Files(ctx context.Context, which FileLookup) ([]FileRow, error)

	// Catalogued returns the workspaces that the headers of files state, sorted.
	Catalogued(ctx context.Context) ([]string, error)

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

// FolderLookup chooses known folders of a root. Of the fields behind Root at most
// one is set; the zero value of all is every folder. What a lookup costs grows
// with what it returns, not with what is known.
type FolderLookup struct {
	Root      string
	Paths     []string // these
	Below     string   // this one and those inside it
	Workspace *string  // those that hold a source of this workspace
	Latest    int      // at most so many: those never listed, then those that changed last
	Sweep     Sweep
}

// Sweep chooses Count folders by path, the From-th first (counted round).
type Sweep struct{ From, Count int }

// Inside is what is known below a folder.
type Inside struct {
	Folders map[string]bool
	Files   map[string]bool
	Holders map[string]bool // the folders of the files
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
	Shelf   bool           // it holds many sessions, each of which has a row of its own; it states no header
	Problem *reader.Problem
}

// FileLookup chooses catalogued files; set fields are ANDed. The zero value is
// every file.
type FileLookup struct {
	Workspace *string // sources whose header states this cwd (problems included)
	Folder    *string
	ID        *session.ID
	Pending   bool    // only those whose header is still to come
	Shelves   bool    // only shelves, which a lookup of a workspace or of the pending ones never gives
	PartsOf   *string // the parts of this file, and the sources on this shelf
	Latest    int     // at most so many, those that changed last first; 0: all, by path
	Path      *string
	Root      *string // below this root
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
	// Peek returns the saved state of sessions of a shard, in ascending Num,
	// without the write lock. A shard that is not there has none.
	Peek(ctx context.Context, workspace string, which StoredLookup) ([]Stored, error)

	// Glances returns what tells whether the sessions of a shard are up to date,
	// or that of one session alone. It takes no lock either.
	Glances(ctx context.Context, workspace string, only *session.Key) ([]Glance, error)

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
	// Stored returns the saved state of sessions, in ascending Num.
	Stored(ctx context.Context, which StoredLookup) ([]Stored, error)

	// Current returns the surface events of a session that are current and whose
	// position keys are at least from and below to, in ascending Order.
	// Provisional ones are not among them. It should cost no more than what lies
	// in the range, for a fold asks for it again and again.
	Current(ctx context.Context, num, from, to int64) ([]session.Node, error)

	// Nodes returns the surface events among some seqs, current or not, in
	// ascending Seq; provisional ones are not among them. The Order of one that is
	// not current says nothing.
	Nodes(ctx context.Context, num int64, seqs []int64) ([]session.Node, error)

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

// StoredLookup chooses sessions of a shard. Of the fields before After at most one
// is set; the zero value is every session.
type StoredLookup struct {
	Sources   []string // of these
	Root      string   // those whose first event has this native id
	PartsOf   string   // of the parts of this file
	Naming    bool     // those that have titles for others, or one from another
	Unrelated bool     // see Stored

	After int64 // those with a greater number
	Most  int   // no more than so many; 0: all
}

// Glance is as much of a stored session as a look at an unchanged log needs.
type Glance struct {
	Num       int64
	Source    string
	Fork      Fork
	Stamp     reader.Stamp
	Sum       uint64 // see Stored.Sum
	Alone     bool
	Divided   bool  // see Stored
	Unnamed   bool  // it has titles for others that have not been looked up
	Unrelated bool  // see Stored
	Unsound   bool  // it has a problem
	Damaged   bool  // its log ends before damage, and more lies behind it
	Clipped   int64 // how many of its texts are longer than what is searchable
}

// Stored is what a shard remembers of a session between two updates.
type Stored struct {
	Num       int64 // 0: not in the shard yet
	Source    string
	Header    session.Header // as the log states it
	Fork      Fork
	Settled   bool // growth can change nothing of Fork
	Unrelated bool // it has joined or left a family that is too large to be looked at at once
	Position  reader.Position
	Alone     bool   // while the stamp is the same nothing can have changed: the log depends on no other file
	Divided   bool   // the position knows parts of the file, which are sessions of their own
	Mapping   string // versions of reader, fold and text that made it; another one means: make it again
	Problem   *reader.Problem

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

// Sum is a hash over what makes a stored session another one, however unchanged
// its log is: the header that was stated and the mapping.
func (s *Stored) Sum() uint64 { return sumOf(s.Mapping, s.Header) }

func sumOf(mapping string, h session.Header) uint64 {
	sum := fnv.New64a()
	for _, text := range [...]string{mapping, string(h.Agent), string(h.ID), h.Cwd, string(h.ParentSession), h.Origin, h.AgentPreset} {
		io.WriteString(sum, text)
		sum.Write([]byte{0})
	}
	var numbers [32]byte
	for i, n := range [...]int64{h.Version, h.CreatedAt, h.SeedLength, h.DelegationDepth} {
		binary.LittleEndian.PutUint64(numbers[8*i:], uint64(n))
	}
	sum.Write(numbers[:])
	return sum.Sum64()
}

// Glance is what a look needs of the session.
func (s *Stored) Glance() Glance {
	return Glance{
		Num: s.Num, Source: s.Source, Fork: s.Fork, Stamp: s.Position.Stamp, Sum: s.Sum(), Alone: s.Alone, Divided: s.Divided, Unnamed: s.Naming.unsought(), Unrelated: s.Unrelated,
		Unsound: s.Problem != nil, Damaged: s.Skip != nil && s.Skip.Rest != 0, Clipped: s.Clipped,
	}
}

// Batch is what a run of consecutive events brings to a shard.
type Batch struct {
	Entries     []Entry
	Removals    []Removal
	Restored    []session.Node // events that a select brought back, with their new keys
	Citations   []Citation
	Checkpoints []session.Checkpoint // without Until; those with a State are all kept
	Breaks      []int64              // events that do not follow from the state of the checkpoint before them
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
