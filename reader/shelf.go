package reader

import (
	"context"
	"path/filepath"

	"github.com/yorehq/yore/session"
)

// Shelver is implemented by readers whose files may be shelves: a file of the
// kind Shelf holds any number of sessions and is none itself, as a database is.
//
// Such a session is a source like any other, under the path that PartPath makes
// of the shelf's and the session's own name. It is found by listing the shelf,
// not by Identify, and a listing is all that tells of a change, so a stamp of a
// session is one that its reader makes up: of whatever changes with the
// session's rows, and with no others'. Revise and Read give the same stamps
// (Position.Stamp) as List does. Size and ModTime keep their meaning, roughly.
//
// A shelf is looked at by ShelfStamp, at the price of some stats. Only when that
// is another one than before is it listed, and only the sessions whose stamp in
// the list is another one than that of their position are revised and read.
type Shelver interface {
	// ShelfStamp returns the stamp of a shelf with whatever its agent keeps
	// beside it, by stats alone.
	ShelfStamp(path string) (Stamp, error)

	// List hands over the sessions of a shelf, each once, in any order, at the
	// price of one cheap query. A session that cannot be taken for one comes with
	// a Problem and as much of a header as could be read. A file that is no shelf
	// of this agent, and need not be one, gives ErrNoShelf; a shelf that cannot
	// be read a *Problem. An error of each ends the list and comes back as it is.
	List(ctx context.Context, root, path string, each func(Listed) error) error
}

// Listed is one session of a shelf.
type Listed struct {
	Name    string // of the part, see PartPath
	Header  session.Header
	Stamp   Stamp
	Problem *Problem
}

// ErrNoShelf says that a file only looked like a shelf by its name.
const ErrNoShelf = pending("the file is no shelf of this agent's")

// ErrRetry says that a shelf is being rewritten so fast that it could not be
// read. What is known of it stays, and the next look tries again.
const ErrRetry = pending("the file is being rewritten")

// OnShelf reports whether a source lies on a shelf, by its path below the root.
func OnShelf(r Reader, root, path string) bool {
	file, part := SplitPart(path)
	return part != "" && IsShelf(r, root, file)
}

// IsShelf reports whether a file may be a shelf, by its path below the root.
func IsShelf(r Reader, root, file string) bool {
	if _, ok := r.(Shelver); !ok {
		return false
	}
	rel, err := filepath.Rel(root, file)
	return err == nil && r.Classify(filepath.ToSlash(rel), false) == Shelf
}
