package worktree

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"strings"
)

// group is what members have in common: a repository, or a plain directory
// that has several spellings.
type group struct {
	Git    bool   `json:"git,omitempty"`
	Path   string `json:"of,omitempty"`     // canonical: the common directory, or the plain one
	Mark   string `json:"mark,omitempty"`   // what a folder keeps when renamed and loses when made anew; never ""
	Device uint64 `json:"device,omitempty"` // 0 where the system has none
}

// is reports whether two groups are one, as far as one place can tell.
func (g group) is(o group) bool { return g.Git == o.Git && g.Path == o.Path && g.Mark == o.Mark }

// renamedTo reports whether a repository is another one that was moved: the
// same folder by every mark, more than an inode, and nothing at the old place.
func (g group) renamedTo(now group) bool {
	if !g.Git || !now.Git || g.Path == now.Path || g.Mark != now.Mark || g.Device != now.Device || !strings.Contains(g.Mark, " ") {
		return false
	}
	_, err := os.Lstat(g.Path)
	return errors.Is(err, fs.ErrNotExist)
}

// stands reports whether the group is still where it was.
func (g group) stands() bool {
	now, ok := plain(g.Path)
	if g.Git {
		now, ok = repository(g.Path)
	}
	return ok && g.is(now)
}

// plain identifies a directory by itself.
func plain(path string) (group, bool) { return identify(path, false) }

// identify marks the directory at a canonical path. It fails where the system
// tells nothing of a directory that a new one in its place would not have too.
func identify(path string, git bool) (group, bool) {
	info, err := os.Lstat(path)
	if err != nil || !info.IsDir() {
		return group{}, false
	}
	inode, _ := number(info, "Ino")
	device, _ := number(info, "Dev")
	var marks []string
	if inode != 0 {
		marks = append(marks, fmt.Sprintf("inode:%d", inode))
	}
	if born := birth(info); born != "" {
		marks = append(marks, "born:"+born)
	}
	if len(marks) == 0 {
		return group{}, false
	}
	if git {
		// Git writes this file when it makes a repository and never again.
		if d, err := os.Lstat(filepath.Join(path, "description")); err == nil && d.Mode().IsRegular() {
			marks = append(marks, fmt.Sprintf("made:%d", d.ModTime().UnixNano()))
		}
	}
	return group{Git: git, Path: path, Mark: strings.Join(marks, " "), Device: device}, true
}

// number reads a field that systems with inodes put into their stat.
func number(info fs.FileInfo, name string) (uint64, bool) {
	v := reflect.Indirect(reflect.ValueOf(info.Sys()))
	if v.Kind() != reflect.Struct {
		return 0, false
	}
	switch f := v.FieldByName(name); {
	case !f.IsValid():
		return 0, false
	case f.CanUint():
		return f.Uint(), true
	case f.CanInt():
		return uint64(f.Int()), true
	}
	return 0, false
}

// birth reads when a file was made, under the names that systems have for it.
func birth(info fs.FileInfo) string {
	v := reflect.Indirect(reflect.ValueOf(info.Sys()))
	if v.Kind() != reflect.Struct {
		return ""
	}
	for _, name := range []string{"Birthtimespec", "CreationTime"} {
		if f := v.FieldByName(name); f.IsValid() {
			return strings.ReplaceAll(fmt.Sprint(f.Interface()), " ", ",")
		}
	}
	return ""
}
