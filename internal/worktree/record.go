package worktree

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"unicode/utf8"
)

// The record is one JSON object: version, and members oldest first.
const (
	recordVersion = 1
	maxRecord     = 1 << 20 // bytes of the file
	maxMembers    = 4096
	maxPath       = 4096 // bytes of a path that is recorded
)

// member is one line of the record.
type member struct {
	Path string `json:"path"`
	Void bool   `json:"void,omitempty"` // taken by something else since: belongs to nothing
	group
}

type record struct {
	Version int      `json:"version"`
	Members []member `json:"members"`
}

// book is the record while it is looked at, and what was learned meanwhile.
type book struct {
	members map[string]member
	changes []member
}

func (b *book) void(path string) bool { return b.members[path].Void }

// of returns the group that a path is recorded under.
func (b *book) of(path string) (group, bool) {
	m, ok := b.members[path]
	return m.group, ok && !m.Void
}

// put records a path. What is void stays void.
func (b *book) put(path string, g group) {
	old, ok := b.members[path]
	if ok && (old.Void || old.group == g) || !recordable(path) || !recordable(g.Path) {
		return
	}
	b.change(member{Path: path, group: g})
}

// spoil makes a recorded path void.
func (b *book) spoil(path string) { b.change(member{Path: path, Void: true}) }

// move puts every member of one group into another.
func (b *book) move(from, to group) {
	for path, m := range b.members {
		if !m.Void && m.is(from) {
			b.put(path, to)
		}
	}
}

func (b *book) change(m member) {
	b.members[m.Path] = m
	b.changes = append(b.changes, m)
}

// groups returns the groups that have members.
func (b *book) groups() []group {
	var all []group
	for _, m := range b.members {
		if !m.Void && !slices.Contains(all, m.group) {
			all = append(all, m.group)
		}
	}
	return all
}

// recordable reports whether a path comes back from JSON as it was.
func recordable(path string) bool {
	return len(path) <= maxPath && utf8.ValidString(path)
}

// load reads the record; a file that is not there is an empty one.
func load(file string) (*book, error) {
	b := &book{members: map[string]member{}}
	rec, err := read(file)
	if err != nil {
		return nil, err
	}
	for _, m := range rec.Members {
		b.members[m.Path] = m
	}
	return b, nil
}

func read(file string) (record, error) {
	empty := record{Version: recordVersion}
	if file == "" {
		return empty, nil
	}
	info, err := os.Lstat(file)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return empty, nil
	case err != nil:
		return empty, err
	case !info.Mode().IsRegular():
		return empty, fmt.Errorf("%s is no plain file", file)
	case runtime.GOOS != "windows" && info.Mode().Perm()&0o022 != 0:
		return empty, fmt.Errorf("%s can be written by others", file)
	}
	f, err := os.Open(file)
	if err != nil {
		return empty, err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxRecord+1))
	if err != nil {
		return empty, err
	}
	rec, err := decode(text)
	if err != nil {
		return empty, fmt.Errorf("%s: %w", file, err)
	}
	return rec, nil
}

// decode reads the record's text and refuses what it would not write itself.
func decode(text []byte) (record, error) {
	var rec record
	if len(text) > maxRecord {
		return rec, errors.New("it is too long")
	}
	if err := json.Unmarshal(text, &rec); err != nil {
		return rec, err
	}
	if rec.Version != recordVersion {
		return rec, fmt.Errorf("its version is %d: want %d", rec.Version, recordVersion)
	}
	seen := map[string]bool{}
	for _, m := range rec.Members {
		switch {
		case !filepath.IsAbs(m.Path) || seen[m.Path]:
			return rec, fmt.Errorf("the member %q is no absolute path, or is there twice", m.Path)
		case !m.Void && (!filepath.IsAbs(m.group.Path) || m.Mark == ""):
			return rec, fmt.Errorf("the member %q belongs to nothing", m.Path)
		}
		seen[m.Path] = true
	}
	return rec, nil
}

// save applies changes to the record as it is now, which another process may
// have written meanwhile, and puts it in place at once.
func save(file string, changes []member) error {
	rec, err := read(file)
	if err != nil {
		return err
	}
	void := map[string]bool{}
	for _, m := range rec.Members {
		void[m.Path] = m.Void
	}
	for _, c := range changes {
		if void[c.Path] {
			continue
		}
		rec.Members = append(slices.DeleteFunc(rec.Members, func(m member) bool { return m.Path == c.Path }), c)
	}
	text, err := encode(rec)
	if err != nil {
		return err
	}
	dir := filepath.Dir(file)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	f, err := os.CreateTemp(dir, filepath.Base(file)+".*") // 0600
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(f.Name(), file)
	}
	if err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	return nil
}

// encode writes the record within its bounds: the oldest members go first,
// those that are void last of all.
func encode(rec record) ([]byte, error) {
	rec.Members = slices.Clone(rec.Members)
	for {
		if len(rec.Members) <= maxMembers {
			text, err := json.MarshalIndent(rec, "", " ")
			if err != nil || len(text) < maxRecord {
				return append(text, '\n'), err
			}
		}
		over := max(len(rec.Members)-maxMembers, len(rec.Members)/16, 1)
		before := len(rec.Members)
		rec.Members = slices.DeleteFunc(rec.Members, func(m member) bool {
			drop := over > 0 && !m.Void
			if drop {
				over--
			}
			return drop
		})
		if len(rec.Members) == before {
			rec.Members = rec.Members[min(over, before):]
		}
	}
}
