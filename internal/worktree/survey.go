package worktree

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// settle is how long a folder that proves nothing must have been left alone
// before its path is void: git makes and removes worktrees step by step.
const settle = time.Minute

// survey is one look at the file system for one workspace.
type survey struct {
	book  *book
	now   time.Time
	known []string // every workspace there is, in which links are not believed
}

// top is a directory that is proved to belong to a group.
type top struct {
	path string // canonical
	info fs.FileInfo
}

// same returns the workspace and the candidates that belong to its group.
func (s *survey) same(ctx context.Context, workspace string, candidates []string) ([]string, error) {
	set := []string{workspace}
	mine, ok := s.groupOf(workspace)
	if !ok {
		return set, nil
	}
	tops := s.tops(mine)
	for _, c := range candidates {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if c != workspace && s.member(c, mine, tops) {
			set = append(set, c)
		}
	}
	if !mine.Git && len(set) == 1 {
		return set, nil // a plain directory with one spelling: nothing to remember
	}
	for _, t := range tops {
		s.book.put(t.path, mine)
	}
	for _, path := range set {
		s.book.put(path, mine)
	}
	return set, nil
}

// groupOf finds what a workspace belongs to: what it proves now, or, if nothing
// is there, what is recorded.
func (s *survey) groupOf(workspace string) (group, bool) {
	if !filepath.IsAbs(workspace) || s.book.void(workspace) {
		return group{}, false
	}
	_, err := os.Lstat(workspace)
	if errors.Is(err, fs.ErrNotExist) {
		g, ok := s.book.of(workspace)
		return g, ok && g.stands()
	}
	path, ok := s.canonical(workspace)
	if err != nil || !ok {
		return group{}, false
	}
	live, ok := prove(path)
	if !ok {
		live, ok = plain(path)
	}
	if !ok {
		return group{}, false
	}
	s.adopt(live)
	// The canonical spelling must be as clean as the one that was asked for.
	return live, s.agrees(workspace, path, live) && s.agrees(path, path, live)
}

// adopt gives a repository that was renamed what is recorded of it.
func (s *survey) adopt(live group) {
	for _, old := range s.book.groups() {
		if old.renamedTo(live) {
			s.book.move(old, live)
		}
	}
}

// agrees reports whether what is recorded of a path allows what is proved of it
// now, and makes the path void if not. path is the canonical spelling.
func (s *survey) agrees(spelling, path string, live group) bool {
	if s.book.void(spelling) {
		return false
	}
	old, recorded := s.book.of(spelling)
	if !recorded || old.is(live) {
		return true
	}
	if !old.Git {
		// A plain directory may have become a worktree where it is.
		if now, ok := plain(path); ok && old.is(now) {
			return true
		}
		s.book.spoil(spelling)
		return false
	}
	if live.Git || s.abandoned(path, old) {
		s.book.spoil(spelling)
	}
	return false
}

// abandoned reports whether a folder that proves nothing has nothing to do with
// a repository any more.
func (s *survey) abandoned(path string, old group) bool {
	if claims(path, old) {
		return false
	}
	info, err := os.Stat(path)
	return err == nil && s.now.Sub(info.ModTime()) >= settle
}

// tops lists the top-level directories that belong to a group now.
func (s *survey) tops(g group) []top {
	paths := []string{g.Path}
	if g.Git {
		paths = linked(g)
		if filepath.Base(g.Path) == gitName {
			paths = append(paths, filepath.Dir(g.Path))
		}
	}
	var tops []top
	for _, p := range paths {
		if g.Git {
			if live, ok := prove(p); !ok || !live.is(g) {
				continue
			}
		}
		info, err := os.Stat(p)
		if err != nil || !s.agrees(p, p, g) {
			continue
		}
		tops = append(tops, top{p, info})
		s.known = append(s.known, p)
	}
	return tops
}

// member reports whether a candidate belongs to the group.
func (s *survey) member(candidate string, mine group, tops []top) bool {
	if !filepath.IsAbs(candidate) || s.book.void(candidate) {
		return false
	}
	old, recorded := s.book.of(candidate)
	recorded = recorded && old.is(mine)
	_, err := os.Lstat(candidate)
	if errors.Is(err, fs.ErrNotExist) {
		return recorded
	}
	info, err := os.Stat(candidate)
	if err != nil || !info.IsDir() {
		return false
	}
	for _, t := range tops {
		if os.SameFile(info, t.info) {
			path, ok := s.canonical(candidate)
			return ok && s.agrees(candidate, path, mine)
		}
	}
	if recorded {
		s.elsewhere(candidate)
	}
	return false
}

// elsewhere looks at what has taken the place of a recorded member.
func (s *survey) elsewhere(candidate string) {
	path, ok := s.canonical(candidate)
	if !ok {
		return
	}
	live, ok := prove(path)
	if !ok {
		live, ok = plain(path)
	}
	if ok {
		s.agrees(candidate, path, live)
	}
}
