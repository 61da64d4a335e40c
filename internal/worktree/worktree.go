// Package worktree owns the question which workspaces are one and the same:
// the top-level directories of the worktrees of one git repository, and other
// spellings of one directory.
//
// Nothing is believed that one side says alone. A linked worktree counts when
// its .git file names <common>/worktrees/<name>, that folder's commondir leads
// to the common directory, and that folder's gitdir names the worktree's .git
// back. Directories are compared by what they are (device and inode), never by
// name, so a planted .git file, a copied worktree, a hard link of a .git file
// and a worktree that was renamed behind git's back prove nothing. The main
// worktree is the folder that holds the common directory under the name .git: a
// folder of its own, no link, whatever its configuration says (core.bare and
// core.worktree are not read). So worktrees of a bare repository are members
// of each other and the bare folder is none; the checkout of a submodule, or
// of a repository with a separate git directory, is a member of nothing but
// itself. Exact top-level directories only: a folder below one is another
// workspace. Git is never run and the environment is not read.
//
// A link makes another spelling of a directory only where it lies outside of
// every workspace that is known: who works in a folder can plant links in it.
//
// # What is remembered
//
// Each proof is recorded when it is first seen, so that the history of a
// worktree outlives it. A record names a path and the repository it belonged
// to, and the repository is known by the path of its common directory and by
// marks that a folder keeps when it is renamed and loses when it is made anew
// or copied: its inode, its time of birth where the system tells, and the time
// of git's description file, which is written once. The device's number is
// kept as well but asked only when a repository seems to have been renamed,
// because systems number devices anew when they start.
//
// A record speaks for a path only while nothing at that path proves otherwise:
//
//   - nothing is there: the record counts, if the repository still has its marks;
//   - a worktree of the same repository is there: the proof counts by itself;
//   - anything else is there: the path is not a member.
//
// A path that was recorded and then taken by something else (another
// repository, a repository made anew in the same place, a plain folder that has
// been left alone for a minute, a link that leads elsewhere) is void from then
// on: sessions of both lie under one name and cannot be told apart, so it is a
// workspace of its own under every repository, also when the other thing has
// gone. Only the owner can undo that, by taking the line out of the file. A
// worktree whose .git still names the repository but is not named back (while
// it is being moved, or until `git worktree repair`) is left out and not void.
// A repository that was renamed keeps its members: its marks and device are the
// same and nothing is at its old place.
//
// What cannot be known is what a path was before it was first seen, and what
// came and went while nobody looked.
//
// The package knows no session and no index. Start at Resolver.Same.
package worktree

import (
	"context"
	"log/slog"
	"slices"
	"sync"
	"time"
)

// Options say where proofs are recorded. The zero value records nothing.
type Options struct {
	File   string           // absolute; made when it is first needed; "": no record
	Now    func() time.Time // nil: the system's clock
	Logger *slog.Logger     // nil discards
}

// Resolver answers which workspaces are the same. It is safe for concurrent
// use, also by several processes on one file.
type Resolver struct {
	file string
	now  func() time.Time
	log  *slog.Logger

	mu     sync.Mutex
	recent map[string]answer
}

// answer is a set that was found not long ago.
type answer struct {
	set []string
	at  time.Time
}

const (
	fresh     = 2 * time.Second // how long an answer is given again
	maxRecent = 64              // answers kept
)

// New makes a resolver.
func New(o Options) *Resolver {
	r := &Resolver{file: o.File, now: o.Now, log: o.Logger, recent: map[string]answer{}}
	if r.now == nil {
		r.now = time.Now
	}
	if r.log == nil {
		r.log = slog.New(slog.DiscardHandler)
	}
	return r
}

// Same returns the workspace and those of the candidates that are the same one,
// sorted, each once. Candidates are asked for only when the answer is not
// fresh. In any doubt a candidate is left out; when the record cannot be read
// all of them are. It fails only with the error of candidates or of ctx.
func (r *Resolver) Same(ctx context.Context, workspace string, candidates func(context.Context) ([]string, error)) ([]string, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if a, ok := r.recent[workspace]; ok && r.now().Sub(a.at).Abs() < fresh {
		return slices.Clone(a.set), nil
	}
	list, err := candidates(ctx)
	if err != nil {
		return nil, err
	}
	set, err := r.find(ctx, workspace, list)
	if err != nil {
		return nil, err
	}
	if len(r.recent) >= maxRecent {
		clear(r.recent)
	}
	r.recent[workspace] = answer{set, r.now()}
	return slices.Clone(set), nil
}

func (r *Resolver) find(ctx context.Context, workspace string, candidates []string) ([]string, error) {
	b, err := load(r.file)
	if err != nil {
		r.log.Warn("the record of worktrees cannot be used: each workspace stands for itself", "error", err)
		return []string{workspace}, nil
	}
	s := &survey{book: b, now: r.now(), known: append([]string{workspace}, candidates...)}
	set, err := s.same(ctx, workspace, candidates)
	if err != nil {
		return nil, err
	}
	if r.file != "" && len(b.changes) > 0 {
		if err := save(r.file, b.changes); err != nil {
			r.log.Warn("what is known of worktrees cannot be recorded", "error", err)
		}
	}
	for _, m := range b.changes {
		if m.Void {
			r.log.Warn("a worktree's path was taken by something else: it stands for itself from now on", "path", m.Path)
		}
	}
	slices.Sort(set)
	return slices.Compact(set), nil
}
