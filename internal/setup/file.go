package setup

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"slices"

	"github.com/yorehq/yore/fault"
)

// Change says what became of a file.
type Change string

// The changes.
const (
	Unchanged Change = "unchanged" // it was as wanted already
	Added     Change = "added"
	Replaced  Change = "replaced"
	Removed   Change = "removed"
	Restored  Change = "restored" // to the bytes it had before the entry was added
	Deleted   Change = "deleted"  // it had been made for the entry and held nothing else
)

// Result is what was done.
type Result struct {
	Path   string // the file itself, links followed
	Change Change
	Backup string // where the former content is; "": there was none, or nothing changed
}

// maxBytes is the longest configuration file that is edited.
const maxBytes = 64 << 20

// content is a file as it was found.
type content struct {
	path   string // links followed
	text   []byte
	mode   fs.FileMode
	exists bool
}

func (t Target) read() (content, error) {
	c := content{path: t.Path, mode: 0o600}
	if _, err := os.Lstat(t.Path); errors.Is(err, fs.ErrNotExist) {
		return c, nil
	}
	path, err := filepath.EvalSymlinks(t.Path)
	if err != nil {
		return c, t.refuse(fmt.Errorf("the link cannot be followed: %w", err))
	}
	c.path = path
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return c, t.refuse(err)
	case !info.Mode().IsRegular():
		return c, t.refuse(errors.New("this is no file"))
	case info.Size() > maxBytes:
		return c, t.refuse(fmt.Errorf("the file has %d bytes, more than are edited", info.Size()))
	}
	c.mode, c.exists = info.Mode().Perm(), true
	if c.text, err = os.ReadFile(path); err != nil {
		return c, t.refuse(err)
	}
	return c, nil
}

// refuse gives a failure its code and its file.
func (t Target) refuse(err error) error {
	var f *flaw
	if errors.As(err, &f) && f.line > 0 {
		return fault.New(fault.InvalidConfig, "%s, line %d: %s; nothing was changed", t.Path, f.line, f.what)
	}
	return fault.New(fault.InvalidConfig, "%s: %s; nothing was changed", t.Path, err)
}

// find returns the entry of a name, nil if there is none.
func (t Target) find(c content, name string) (*entry, error) {
	all, err := t.format.entries(c.text)
	if err != nil {
		return nil, t.refuse(err)
	}
	i := slices.IndexFunc(all, func(e entry) bool { return e.Name == name })
	if i < 0 {
		return nil, nil
	}
	if slices.ContainsFunc(all[i+1:], func(e entry) bool { return e.Name == name }) {
		return nil, t.refuse(flawed(all[i].line, "the server %q stands twice in the file", name))
	}
	return &all[i], nil
}

// Write puts the server into the file, which is made if it is not there. An
// equal entry is left as it is. A different one under the same name is
// fault.InvalidConfig unless replace says otherwise.
func (t Target) Write(s Server, replace bool) (Result, error) {
	c, err := t.read()
	if err != nil {
		return Result{}, err
	}
	old, err := t.find(c, s.Name)
	if err != nil {
		return Result{}, err
	}
	out := Result{Path: c.path, Change: Added}
	text := c.text
	if old != nil {
		if old.equal(s) && !old.other {
			out.Change = Unchanged
			return out, nil
		}
		if !replace {
			return Result{}, t.refuse(flawed(old.line, "the server %q is there already and differs from what would be written", s.Name))
		}
		out.Change = Replaced
		if text, err = t.format.remove(text, s.Name); err != nil {
			return Result{}, t.refuse(err)
		}
	}
	if text, err = t.format.add(text, s); err != nil {
		return Result{}, t.refuse(err)
	}
	if err := t.verify(c.text, text, s.Name, &s); err != nil {
		return Result{}, err
	}
	out.Backup, err = t.replace(c, text)
	return out, err
}

// Pending says what Write would do with a server if it may replace an entry:
// Unchanged, Added or Replaced.
func (t Target) Pending(s Server) (Change, error) {
	c, err := t.read()
	if err != nil {
		return "", err
	}
	old, err := t.find(c, s.Name)
	switch {
	case err != nil:
		return "", err
	case old == nil:
		return Added, nil
	case old.equal(s) && !old.other:
		return Unchanged, nil
	}
	return Replaced, nil
}

// Undo takes the entry out again. If nothing but it was added since a backup,
// the file becomes that backup, byte for byte; a file that was made for the
// entry goes. Otherwise an entry that setup did not write is
// fault.InvalidConfig, unless replace is set: one with settings or arguments of
// its own, or with a command that own does not report to be this program's.
func (t Target) Undo(name string, own func(command string) bool, replace bool) (Result, error) {
	c, err := t.read()
	if err != nil {
		return Result{}, err
	}
	old, err := t.find(c, name)
	if err != nil {
		return Result{}, err
	}
	out := Result{Path: c.path, Change: Unchanged}
	if old == nil {
		return out, nil
	}
	if before, ok := t.before(c, old.Server); ok {
		if before == nil {
			out.Change = Deleted
			return out, t.delete(c)
		}
		out.Change = Restored
		out.Backup, err = t.replace(c, before)
		return out, err
	}
	if why := old.foreign(own); why != "" && !replace {
		return Result{}, t.refuse(flawed(old.line, "setup did not write the server %q: %s; --replace takes it out all the same", name, why))
	}
	text, err := t.format.remove(c.text, name)
	if err != nil {
		return Result{}, t.refuse(err)
	}
	if err := t.verify(c.text, text, name, nil); err != nil {
		return Result{}, err
	}
	out.Change = Removed
	out.Backup, err = t.replace(c, text)
	return out, err
}

// before finds what a file was before exactly this server was added to it; nil
// if it was not there.
func (t Target) before(c content, s Server) ([]byte, bool) {
	became := func(text []byte) bool {
		after, err := t.format.add(text, s)
		return err == nil && bytes.Equal(after, c.text)
	}
	backups, err := backupsOf(c.path)
	if err != nil {
		return nil, false
	}
	for _, path := range slices.Backward(backups) {
		if text, err := os.ReadFile(path); err == nil && became(text) {
			return append([]byte{}, text...), true
		}
	}
	return nil, len(backups) == 0 && became(nil)
}

// verify parses an edited text again: the entry must read as wanted, nil for
// none, and everything else as before.
func (t Target) verify(before, after []byte, name string, want *Server) error {
	old, err1 := t.format.without(before, name)
	now, err2 := t.format.without(after, name)
	all, err3 := t.format.entries(after)
	if err := errors.Join(err1, err2, err3); err != nil {
		return t.refuse(fmt.Errorf("the file cannot be edited as text, change it by hand (%v)", err))
	}
	all = slices.DeleteFunc(all, func(e entry) bool { return e.Name != name })
	entryOK := want == nil && len(all) == 0 || want != nil && len(all) == 1 && !all[0].other && all[0].equal(*want)
	if !entryOK || !reflect.DeepEqual(old, now) {
		return t.refuse(errors.New("the file is written in a way that cannot be edited as text, change it by hand"))
	}
	return nil
}

// replace writes a file anew, whole or not at all, after saving what it held.
func (t Target) replace(c content, text []byte) (backup string, err error) {
	if c.exists && c.mode&0o200 == 0 {
		return "", t.refuse(errors.New("the file is read-only"))
	}
	dir := filepath.Dir(c.path)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", t.refuse(err)
	}
	next, err := os.CreateTemp(dir, filepath.Base(c.path)+".yore-*.tmp")
	if err != nil {
		return "", t.refuse(err)
	}
	defer func() {
		if err != nil {
			_ = os.Remove(next.Name())
		}
	}()
	_, err = next.Write(text)
	err = errors.Join(err, next.Sync(), next.Close())
	if err == nil {
		err = os.Chmod(next.Name(), c.mode)
	}
	if err != nil {
		return "", t.refuse(err)
	}
	if backup, err = t.save(c); err != nil {
		return "", err
	}
	if err := t.current(c); err != nil {
		return backup, err
	}
	if err := os.Rename(next.Name(), c.path); err != nil {
		return backup, t.refuse(err)
	}
	return backup, nil
}

func (t Target) delete(c content) error {
	if err := t.current(c); err != nil {
		return err
	}
	if err := os.Remove(c.path); err != nil {
		return t.refuse(err)
	}
	return nil
}

// current makes sure that nobody wrote the file since it was read: agents do.
func (t Target) current(c content) error {
	now, err := t.read()
	if err != nil {
		return err
	}
	if now.exists != c.exists || now.path != c.path || !bytes.Equal(now.text, c.text) {
		return t.refuse(errors.New("another program is writing this file; try again"))
	}
	return nil
}

const backupSuffix = ".yore-backup"

func backupName(path string, n int) string {
	if n > 1 {
		return fmt.Sprintf("%s%s-%d", path, backupSuffix, n)
	}
	return path + backupSuffix
}

// backupsOf lists the backups of a file, oldest first.
func backupsOf(path string) ([]string, error) {
	var all []string
	for n := 1; ; n++ {
		name := backupName(path, n)
		if _, err := os.Lstat(name); errors.Is(err, fs.ErrNotExist) {
			return all, nil
		} else if err != nil {
			return nil, err
		}
		all = append(all, name)
	}
}

// save keeps what a file held in a backup of its own, never over another one.
// A backup that holds it already is enough.
func (t Target) save(c content) (string, error) {
	if !c.exists {
		return "", nil
	}
	backups, err := backupsOf(c.path)
	if err != nil {
		return "", t.refuse(err)
	}
	for _, b := range backups {
		if text, err := os.ReadFile(b); err == nil && bytes.Equal(text, c.text) {
			return b, nil
		}
	}
	name := backupName(c.path, len(backups)+1)
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, c.mode&0o700)
	if err != nil {
		return "", t.refuse(err)
	}
	_, err = io.Copy(f, bytes.NewReader(c.text))
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return "", t.refuse(err)
	}
	return name, nil
}
