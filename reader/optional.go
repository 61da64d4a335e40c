package reader

import (
	"context"
	"time"

	"github.com/yorehq/yore/session"
)

// Process is a running process of an agent.
type Process struct {
	PID  int
	Busy bool // it is working on something now, as far as the agent says
}

// Liveness is implemented by readers whose agent says which sessions are open.
type Liveness interface {
	// Running returns the sessions below a root that a process has open, by the
	// agent's own registry or locks, each checked against the process. It only
	// reads and takes no lock. What cannot be read is left out.
	Running(ctx context.Context, root string) (map[session.ID]Process, error)
}

// CallFinder is implemented by readers that can tell in which session a tool
// call was made.
type CallFinder interface {
	// FindCall looks for the session of a workspace whose log holds the tool call
	// with this id, newest files first and from their ends; how far it looks is
	// bounded.
	FindCall(ctx context.Context, root, workspace, callID string) (session.ID, bool, error)
}

// OpenCall is a tool call that has no result yet.
type OpenCall struct {
	Session session.ID
	Name    string
	Args    string // JSON, as recorded
}

// OpenCaller is implemented by readers that hold back what is not finished, so
// that reading a session does not show the calls that are being made in it.
type OpenCaller interface {
	// OpenCalls returns the calls that are open in the sessions of a shelf that
	// changed last; how many it looks at is bounded.
	OpenCalls(ctx context.Context, path string) ([]OpenCall, error)
}

// Resumer is implemented by readers whose agent can take a session up again.
type Resumer interface {
	// ResumeCommand returns the shell command that does so, from any directory
	// (see ShellCommand); "" if there is none for this session.
	ResumeCommand(h session.Header) string
}

// Titler is implemented by readers whose agent keeps titles outside of its logs.
type Titler interface {
	// Title returns a session's title, if it has one there. It outranks what the
	// log itself gives.
	Title(ctx context.Context, src Source) (title string, ok bool, err error)
}

// Pruner is implemented by readers whose agent deletes old logs by itself.
type Pruner interface {
	// PrunesAfter returns how long after its last change the agent keeps a log
	// below a root; ok is false if it keeps it for ever. It only reads settings.
	PrunesAfter(root string) (age time.Duration, ok bool)
}

// Elsewhere says whether sessions of a workspace come into other folders than
// those that an agent puts new ones into.
type Elsewhere uint8

// The kinds.
const (
	Possible Elsewhere = iota // the agent may do so
	ByHand                    // by hand only: restored, copied
	Never                     // what lies elsewhere is no session of the workspace
)

// Placer is implemented by readers whose agent chooses a session's folder by
// its workspace or by the day. It saves looks into folders that cannot hold, or
// hardly ever hold, something new of a workspace.
type Placer interface {
	// Places returns the folders, relative to the root and separated by
	// slashes, that a session of the workspace which is made now would be put
	// into, and whether others, which do not lie below them, may get one.
	Places(workspace string, now time.Time) (folders []string, others Elsewhere)
}

// Loner is implemented by readers that can tell from a position whether a
// source depends on its primary file alone.
type Loner interface {
	// Alone reports that while the stamp of a position is the same, Revise finds
	// the source Unchanged.
	Alone(src Source, at Position) bool
}

// Ranker is implemented by readers whose agent may keep one session in several
// forms at once, one of which tells more than the others.
type Ranker interface {
	// Rank returns how much the form of a source tells, by its path below the
	// root. Of the sources of one session only those of the highest rank count;
	// what the others state of it is no contradiction. Equal ranks are copies.
	Rank(root, path string) int
}

// RankOf is the rank of a source of any reader; 0 of one without ranks.
func RankOf(r Reader, root, path string) int {
	if ranker, ok := r.(Ranker); ok {
		return ranker.Rank(root, path)
	}
	return 0
}
