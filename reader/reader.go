// Package reader owns the contract for turning an agent's own files into
// session events: recognise files, identify a session cheaply, tell what has
// changed since a saved position, read on from there, and read single events
// as they were written.
//
// It knows no agent: each log format is a leaf package below, with its quirks
// in it and nowhere else, and readertest holds what every leaf must satisfy.
// Nothing here writes, locks or repairs an agent's file. Start at Reader.
package reader

import (
	"context"
	"encoding/json"

	"github.com/yorehq/yore/fault"
	"github.com/yorehq/yore/session"
)

// Kind says what a reader makes of a path below its root.
type Kind uint8

// The kinds of path.
const (
	Ignore    Kind = iota // nothing of ours
	Folder                // list it, and again whenever it changes: sessions may appear in it
	Leaf                  // the folder of one session: once its file is known, it is listed again only for the sake of that session
	File                  // may be a session's primary file
	Shelf                 // may be a file that holds many sessions and none of its own (Shelver)
	Misplaced             // looks like a session's file but lies where the agent would not look: reported, not read
)

// Source is one session in an agent's store.
type Source struct {
	Agent  session.Agent
	Root   string // the root below which it was found
	Path   string // absolute path of its primary file, or of a part of it (Divider, Shelver); with Agent it identifies the source
	Header session.Header

	// End is, of a part, where its latest record ends in the file, as far as the
	// file's own session has been read, in bytes; 0: not known. It saves work and
	// changes nothing else: a read goes no further, and a part that was read to
	// there is unchanged although its file has grown.
	End int64
}

// Stamp is what a stat tells of a file, or a list of a session on a shelf; equal
// stamps mean that it is unchanged.
type Stamp struct {
	Device, Inode uint64 // 0 where the system has none
	Size          int64  // bytes
	ModTime       int64  // epoch nanoseconds
}

// Position is where a reader stopped and what it needs to go on. The zero
// value is the beginning. Positions are stored; what is in State is the
// reader's own and small.
type Position struct {
	Next   int64           `json:"next"`   // seq of the next event
	Offset int64           `json:"offset"` // everything before this byte of the primary file has been read
	Check  uint64          `json:"check"`  // a hash over the bytes before Offset (which of them is the reader's choice), to notice a rewrite
	Stamp  Stamp           `json:"stamp"`  // the file when it was read
	State  json.RawMessage `json:"state,omitempty"`
}

// Revision says what has become of a source since a position was saved.
type Revision uint8

// The revisions.
const (
	Unchanged Revision = iota // the stamp is the same, or nothing of the source was added
	Grown                     // bytes were added; what was read before is still there
	Replaced                  // anything else: read it anew, from its header on
	Gone                      // the file is not there
)

// Tail is the outcome of a read.
type Tail struct {
	Position Position
	Closers  []session.Event // provisional events that close an interrupted turn in the view
	Skips    []Skip          // what this read passed over or ended before, and why
	Bytes    int64           // how many bytes of the file were parsed
}

// Skip is a piece of a file that was passed over without making the session
// unsound. Lengths count decoded text where a file is compressed.
type Skip struct {
	Place  session.Place
	Line   int64 // 1 is the first line; 0: unknown
	Length int64 // bytes
	Rest   int64 // bytes behind it that are no part of the session either; -1: an unknown amount
	Reason string
}

// Problem is why a file or a session cannot be read. It carries a code
// (fault.Persistence or fault.CorruptSession), the place and a reason that
// holds no session text.
type Problem struct {
	Code   fault.Code
	Path   string
	Line   int64 // 1 is the first line; 0: unknown
	Offset int64 // bytes; of the line, or of the frame that holds it
	Reason string
}

// ErrPending says that a file does not hold a whole header yet; it is tried
// again when the file grows.
const ErrPending = pending("the header is not complete yet")

// ErrStop is what an emit function returns to end a read early, with a position
// to go on from.
const ErrStop = pending("stop reading here")

// Closer is implemented by readers whose views close interrupted turns.
type Closer interface {
	// Closers makes, from a position's state alone, the closing events that a
	// read ending there returns, with their made records; next is the first seq.
	Closers(src Source, state json.RawMessage, next int64) []session.Raw
}

type pending string

func (p pending) Error() string { return string(p) }

// Reader reads the logs of one agent. Implementations hold no state between
// calls and are safe for concurrent use.
//
// A read never takes more memory than a few times its longest needed text, and
// a line of any length may be passed over. Every method stops soon after its
// context ends, with the context's error.
type Reader interface {
	// Agent names the product whose logs it reads.
	Agent() session.Agent

	// Version rises when the mapping from records to events changes.
	Version() int

	// DefaultRoots returns where the agent keeps its sessions, whether or not
	// the folders exist. getenv looks up the environment; home is the user's
	// home folder, absolute.
	DefaultRoots(getenv func(string) string, home string) []string

	// Classify says what a path is by its name alone. rel is relative to the
	// root, separated by slashes; dir tells whether it is a folder. A root may be
	// a shelf itself: it is then asked for ".".
	Classify(rel string, dir bool) Kind

	// Identify reads the header of the session in a file, from at most its
	// first 1 MiB, or further where the records it needs are longer than that
	// or stand behind copied ones. It returns ErrPending when the header may
	// still come, and a *Problem when the file cannot be (or must not be) taken
	// for a session; the header is then filled in as far as it could be read.
	Identify(ctx context.Context, root, path string) (session.Header, error)

	// Revise compares a source with a saved position, at the cost of one stat
	// if nothing changed and a short read else. It returns the stamp it saw.
	Revise(ctx context.Context, src Source, at Position) (Revision, Stamp, error)

	// Read emits the events after a position in sequence, as far as they are
	// complete, and returns where to go on. Growth never moves a seq. An
	// emitted event is the receiver's. If emit fails, its error is returned
	// as it is; ErrStop instead ends the read without an error at the next
	// place it can go on from (events may still be emitted up to there), with a
	// Tail without closers. A session that breaks its format's rules ends in a
	// *Problem.
	Read(ctx context.Context, src Source, from Position, emit func(session.Event) error) (Tail, error)

	// Window emits the events with from ≤ seq ≤ to as Read gives them, with the
	// bytes that were written for those in natives, starting the search at a
	// checkpoint with a seq ≤ from. Runs (Event.Span) are taken apart. Closing
	// records are not emitted. It returns the header that the same open file
	// states. The bytes of one event are held at a time, once; they are the
	// receiver's.
	Window(ctx context.Context, src Source, at session.Checkpoint, from, to int64, natives session.Range, emit func(session.Raw) error) (session.Header, error)
}
