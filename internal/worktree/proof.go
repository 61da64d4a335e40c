package worktree

import (
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

const (
	gitName      = ".git"
	worktreesDir = "worktrees"
	maxPointer   = 8 << 10  // bytes of a file that names a path
	maxLinked    = 10 << 10 // worktrees of one repository that are looked at
)

// prove returns the repository that the directory at a canonical path is a
// worktree's top-level directory of, if both sides say so.
func prove(path string) (group, bool) {
	pointer := filepath.Join(path, gitName)
	info, err := os.Lstat(pointer)
	if err == nil && info.IsDir() {
		return mainOf(pointer)
	}
	admin, ok := admin(path)
	if !ok {
		return group{}, false
	}
	common := filepath.Dir(filepath.Dir(admin))
	if said, ok := pointed(admin, "commondir", ""); !ok || !sameDir(said, common) {
		return group{}, false
	}
	back, ok := pointed(admin, "gitdir", "")
	// The folder is compared, not the .git file: of a file there may be hard links.
	if !ok || filepath.Base(back) != gitName || !sameDir(filepath.Dir(back), path) {
		return group{}, false
	}
	return repository(common)
}

// mainOf returns the repository whose common directory is this .git folder.
func mainOf(common string) (group, bool) {
	if _, err := os.Lstat(filepath.Join(common, "commondir")); err == nil {
		return group{}, false // it is somebody else's worktree's folder
	}
	return repository(common)
}

// admin returns the canonical folder that a linked worktree's .git file names,
// if it lies where git keeps such folders.
func admin(path string) (string, bool) {
	named, ok := pointed(path, gitName, "gitdir: ")
	if !ok {
		return "", false
	}
	folder, err := filepath.EvalSymlinks(named)
	if err != nil || filepath.Base(filepath.Dir(folder)) != worktreesDir {
		return "", false
	}
	return folder, true
}

// claims reports whether a worktree's .git file names a repository, however
// little that proves.
func claims(path string, g group) bool {
	named, ok := pointed(path, gitName, "gitdir: ")
	return ok && filepath.Dir(named) == filepath.Join(g.Path, worktreesDir)
}

// linked lists the canonical directories that a repository names as its linked
// worktrees, which proves nothing yet.
func linked(g group) []string {
	folder, err := os.Open(filepath.Join(g.Path, worktreesDir))
	if err != nil {
		return nil
	}
	defer folder.Close()
	names, err := folder.Readdirnames(maxLinked)
	if err != nil && err != io.EOF {
		return nil
	}
	var all []string
	for _, name := range names {
		back, ok := pointed(filepath.Join(g.Path, worktreesDir, name), "gitdir", "")
		if !ok {
			continue
		}
		if path, err := filepath.EvalSymlinks(filepath.Dir(back)); err == nil {
			all = append(all, path)
		}
	}
	return all
}

// repository identifies a common directory, if it looks like one.
func repository(common string) (group, bool) {
	head, err := os.Lstat(filepath.Join(common, "HEAD"))
	if err != nil || head.IsDir() {
		return group{}, false
	}
	objects, err := os.Stat(filepath.Join(common, "objects"))
	if err != nil || !objects.IsDir() {
		return group{}, false
	}
	return identify(common, true)
}

// pointed reads a small plain file in a folder that names a path after a
// prefix, and makes the path absolute: git writes it relative to the folder, or
// absolute.
func pointed(folder, name, prefix string) (string, bool) {
	file := filepath.Join(folder, name)
	info, err := os.Lstat(file)
	if err != nil || !info.Mode().IsRegular() || info.Size() > maxPointer {
		return "", false
	}
	f, err := os.Open(file)
	if err != nil {
		return "", false
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxPointer+1))
	if err != nil || len(text) > maxPointer {
		return "", false
	}
	path, ok := parsePointer(string(text), prefix)
	if !ok {
		return "", false
	}
	if !filepath.IsAbs(path) {
		path = filepath.Join(folder, path)
	}
	return filepath.Clean(path), true
}

// parsePointer takes the path out of a pointer file's text: the prefix, one
// line, line ends at its end.
func parsePointer(text, prefix string) (string, bool) {
	path, ok := strings.CutPrefix(strings.TrimRight(text, "\r\n"), prefix)
	if !ok || path == "" || strings.ContainsAny(path, "\x00\r\n") {
		return "", false
	}
	return filepath.FromSlash(path), true
}

// sameDir reports whether two paths lead to one directory.
func sameDir(a, b string) bool {
	x, err := os.Stat(a)
	if err != nil || !x.IsDir() {
		return false
	}
	y, err := os.Stat(b)
	return err == nil && os.SameFile(x, y)
}

// maxLinks is how many links one path may lead through.
const maxLinks = 40

// canonical resolves the links of a path. It fails where one of them lies in a
// workspace: who works there may have planted it.
func (s *survey) canonical(path string) (string, bool) {
	at, rest := split(path)
	links := 0
	for len(rest) > 0 {
		name := rest[0]
		rest = rest[1:]
		switch name {
		case "", ".":
			continue
		case "..":
			at = filepath.Dir(at)
			continue
		}
		next := filepath.Join(at, name)
		info, err := os.Lstat(next)
		if err != nil {
			return "", false
		}
		if info.Mode()&(fs.ModeSymlink|fs.ModeIrregular) == 0 {
			at = next
			continue
		}
		if links++; links > maxLinks || s.inWorkspace(at) {
			return "", false
		}
		target, err := os.Readlink(next)
		if err != nil {
			return "", false
		}
		var steps []string
		if filepath.IsAbs(target) {
			at, steps = split(target)
		} else {
			steps = strings.Split(filepath.ToSlash(target), "/")
		}
		rest = append(steps, rest...)
	}
	return at, true
}

// split cuts an absolute path into its root and the names below it.
func split(path string) (root string, names []string) {
	volume := filepath.VolumeName(path)
	return volume + string(filepath.Separator), strings.Split(filepath.ToSlash(path[len(volume):]), "/")
}

// inWorkspace reports whether a directory is, or lies below, a known workspace.
// The root folder is no workspace in this sense.
func (s *survey) inWorkspace(dir string) bool {
	for _, w := range s.known {
		if w = filepath.Clean(w); !filepath.IsAbs(w) || filepath.Dir(w) == w {
			continue
		}
		if dir == w || strings.HasPrefix(dir, w+string(filepath.Separator)) {
			return true
		}
	}
	return false
}
