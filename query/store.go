package query

import (
	"cmp"
	"context"
	"slices"
	"sort"

	"github.com/yorehq/yore/fault"
	"github.com/yorehq/yore/session"
)

// Store is what the engine needs of an index: the headers of everything, and a
// consistent view of one workspace. The disk index and the overlay of live
// sessions are two instances of it.
type Store interface {
	// Headers returns what is catalogued, whatever the workspace: headers
	// only, no text and no titles. Sources that contradict each other are all
	// returned.
	Headers(ctx context.Context, which Lookup) ([]Known, error)

	// Snapshot opens a consistent view of a workspace's shard. A workspace
	// that has none gives nil and no error.
	Snapshot(ctx context.Context, workspace string) (Snapshot, error)

	// Workspaces returns the workspaces that have a shard, sorted.
	Workspaces(ctx context.Context) ([]string, error)
}

// Lookup chooses catalogued headers; set fields are ANDed.
type Lookup struct {
	IDs        []session.ID // any of these, without duplicates and at most 10,000; nil: all
	Parent     *session.ID
	Workspaces []string // any of these, without duplicates; nil: all
}

// Known is one catalogued source.
type Known struct {
	Header  session.Header
	Path    string
	Problem *Problem // why it is not a session of the corpus
}

// Problem is why a source stays out of results, for doctor.
type Problem struct {
	Code   fault.Code
	Line   int64 // 0: unknown
	Offset int64 // bytes
	Reason string
}

// DocID numbers a document within a shard: session number << 24 | number in the session.
type DocID int64

// docBits is the width of a document's number within its session.
const docBits = 24

// NewDocID composes a document number. MaxDocs is the limit of n.
func NewDocID(num int64, n int64) DocID { return DocID(num<<docBits | n) }

// MaxDocs is how many documents and surface events one session can have.
const MaxDocs = 1 << docBits

// Session returns the number of the document's session.
func (d DocID) Session() int64 { return int64(d) >> docBits }

// Span is an inclusive range of document numbers.
type Span struct{ From, To DocID }

// SpanOf is all documents of one session.
func SpanOf(num int64) Span { return Span{NewDocID(num, 0), NewDocID(num, MaxDocs-1)} }

// Posting is a document that holds a phrase.
type Posting struct {
	Doc   DocID
	Count int32 // merged spans: overlapping matches are one
}

// Run is documents of one session that hold a phrase, in columns of one length.
// It is valid during the call that hands it on; Clone is valid until the snapshot
// is closed.
type Run struct {
	Session int64    // the session's number in the shard
	Docs    []uint32 // numbers within the session
	Counts  []uint32 // merged spans: overlapping matches are one
	Tokens  []int32  // length of the text in tokens
	Roles   []Role

	// Places say where a store finds what else it knows of the documents, and
	// Look finds it: the metadata of one, but for its tool. Type and Points find
	// one fact alone, which is cheaper.
	Places []uint32
	Type   func(place uint32) (string, error)
	Points func(place uint32) (int32, error)
	Look   func(place uint32, id DocID) (Document, error)
}

// At returns the metadata of the i-th document, but for its tool.
func (r *Run) At(i int) (Document, error) { return r.Look(r.Places[i], r.Doc(i)) }

// Clone returns a run to be kept.
func (r *Run) Clone() *Run {
	return &Run{
		Session: r.Session, Docs: slices.Clone(r.Docs), Counts: slices.Clone(r.Counts), Tokens: slices.Clone(r.Tokens),
		Roles: slices.Clone(r.Roles), Places: slices.Clone(r.Places), Type: r.Type, Points: r.Points, Look: r.Look,
	}
}

// Doc returns the number of the i-th document in the shard.
func (r *Run) Doc(i int) DocID { return NewDocID(r.Session, int64(r.Docs[i])) }

// Least is how many spans a document must hold to be of interest, by its role.
// Who wants documents may raise it while they come.
type Least [8]uint32

// Of returns how many a document of a role must hold.
func (l *Least) Of(r Role) uint32 { return l[r&7] }

// Collect returns what Match finds as postings, ascending.
func Collect(ctx context.Context, s Snapshot, phrase []string, within []Span) (all []Posting, err error) {
	err = s.Match(ctx, phrase, within, nil, func(r *Run) error {
		for i := range r.Docs {
			all = append(all, Posting{r.Doc(i), int32(r.Counts[i])})
		}
		return nil
	})
	slices.SortFunc(all, func(a, b Posting) int { return cmp.Compare(a.Doc, b.Doc) })
	return all, err
}

// Document is what ranking and filters need of a document.
type Document struct {
	Doc         DocID
	Seq         int64
	Time        int64 // epoch milliseconds
	Points      int32 // length of the text in code points
	Tokens      int32 // length of the text in tokens; 0: a surface event without text
	Type        string
	Tool        string // name of the tool, of a call or a result where it is known; ""
	Role        Role
	Native      uint64 // a hash of the record's own id, by which copies in forks are recognised; 0: none
	Surface     bool   // the event took part in the surface at some time
	Provisional bool
	Clipped     bool
}

// Totals are the statistics that ranking needs of a shard.
type Totals struct {
	Documents int64 // with at least one token
	Tokens    int64
	Holding   []int64 // documents, for each token asked about
}

// Row is what a shard knows of one of its sessions.
type Row struct {
	Num         int64 // the session's number in the shard
	Header      session.Header
	Source      string // where its log is; meaningful to Logs only
	Title       *string
	TitleFail   fault.Code
	Problem     *Problem // unsound: no documents
	Events      int64    // closing records included
	Provisional int64    // how many of these are closing records
	Documents   int64    // documents and surface events
	LastStep    int64    // seq of the latest step start; -1: none
	Changed     int64    // time of the latest event
	Clipped     int64    // how many of its texts are longer than what is searchable
	Damaged     bool     // the log ends before damage, and more lies behind it
}

// ErrMoved says that a snapshot could not be read to its end: more were open
// than a store keeps, and the shard changed meanwhile. What needs it begins again.
const ErrMoved = moved("the shard changed while its snapshot was put aside")

type moved string

func (m moved) Error() string { return string(m) }

// Snapshot is one consistent view of a shard. It is for one goroutine and must
// be closed.
type Snapshot interface {
	// Generation changes whenever the shard does.
	Generation() uint64

	// Totals returns the statistics over all documents, and how many hold each
	// of some tokens.
	Totals(ctx context.Context, tokens []string) (Totals, error)

	// Sessions returns every session, sound or not, in ascending Num. The slice
	// must not be changed.
	Sessions(ctx context.Context) ([]Row, error)

	// Match calls found with the documents that hold the tokens adjacent and in
	// order, within the spans (nil: everywhere), each once and in no order. At
	// most 64 tokens. An error of found ends it and is returned. Documents of
	// which least (nil: none) says that they are of no interest may be left out.
	Match(ctx context.Context, phrase []string, within []Span, least *Least, found func(*Run) error) error

	// Documents returns the metadata of documents, in the order of ids, which
	// must ascend.
	Documents(ctx context.Context, ids []DocID) ([]Document, error)

	// Text returns a document's searchable text.
	Text(ctx context.Context, id DocID) (string, error)

	// Log opens what the shard knows of one session's events.
	Log(num int64) Log

	Close() error
}

// Bounded is implemented by snapshots that may count a common phrase in the newest
// of their documents alone.
type Bounded interface {
	// Since returns from which time on documents were counted of some phrase that
	// was asked about since the snapshot was opened, in epoch milliseconds; 0: all were.
	Since() int64
}

// Log is what a shard knows of one session's events, beyond its documents.
type Log interface {
	// States returns who shadows whom: runs of surface events, ascending and
	// disjoint. A surface event in no run is current.
	States(ctx context.Context) ([]Shadow, error)

	// Shadow returns the run of States that seq lies in; By is -1 if there is none.
	Shadow(ctx context.Context, seq int64) (Shadow, error)

	// Surface returns the current list in order.
	Surface(ctx context.Context) ([]int64, error)

	// Removed returns what the event at seq took off the surface, in surface order.
	Removed(ctx context.Context, seq int64) ([]int64, error)

	// Derived returns the events that cite seq, ascending.
	Derived(ctx context.Context, seq int64) ([]int64, error)

	// Checkpoint returns the nearest checkpoint with a seq ≤ seq, among those with
	// a state if there are any.
	Checkpoint(ctx context.Context, seq int64) (session.Checkpoint, error)

	// Documents returns the documents and surface events with from ≤ seq ≤ to, ascending.
	Documents(ctx context.Context, from, to int64) ([]Document, error)
}

// Shadow is a run of surface events, all with From ≤ seq ≤ To, taken out by one event.
type Shadow struct{ From, To, By int64 }

// NoShadow is where nobody took anything out.
var NoShadow = Shadow{From: -1, To: -1, By: -1}

// RunAt finds the run that a seq lies in among ascending and disjoint ones;
// NoShadow if it lies in none.
func RunAt(runs []Shadow, seq int64) Shadow {
	i := sort.Search(len(runs), func(i int) bool { return runs[i].To >= seq })
	if i < len(runs) && runs[i].From <= seq {
		return runs[i]
	}
	return NoShadow
}

// Logs reads events as they were written.
type Logs interface {
	// Window emits the events of a source with from ≤ seq ≤ to, with the bytes of
	// those in natives, and returns the header that the same observation of the
	// log states.
	Window(ctx context.Context, source string, at session.Checkpoint, from, to int64, natives session.Range, emit func(session.Raw) error) (session.Header, error)
}

// Refresher brings a scope up to date.
type Refresher interface {
	// Refresh makes everything that was in the scope's logs when it was called
	// searchable, newest sessions first, commits as it goes, and returns what
	// it could not do before its context's deadline. progress may be nil.
	Refresh(ctx context.Context, scope session.Scope, progress func(done, total int)) (session.Coverage, error)
}

// Outside is what agents say of their sessions outside of their logs.
type Outside interface {
	// Running returns the sessions that a process has open now.
	Running(ctx context.Context) (map[session.Key]bool, error)

	// Title returns the title that an agent keeps for a source elsewhere; it
	// outranks what the log gives.
	Title(ctx context.Context, source string, h session.Header) (title string, ok bool, err error)
}
