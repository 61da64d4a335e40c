// Package spill owns what happens to a result that is longer than its reader
// takes: it is saved whole to a private file, and a preview that says where
// takes its place. Old files are swept by age.
//
// It knows nothing of sessions, tools or protocols; it sees text, a budget and
// a folder. Whoever can read the folder can read the results, so the folder is
// its owner's alone and names in it cannot be guessed. Start at Policy.Apply.
package spill

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"time"
	"unicode"
)

// DefaultMaxAge is how long a spilled result is kept at least.
const DefaultMaxAge = 24 * time.Hour

// Policy says when results spill and where to. The zero value never spills.
// It is safe for concurrent use, also by several processes on one folder.
type Policy struct {
	Dir      string        // absolute; made when it is first needed; "": no spill
	MaxBytes int           // the longest text that stays as it is, and the longest preview; 0 or less: no spill
	MaxAge   time.Duration // Sweep removes older files; 0: DefaultMaxAge; negative: never
}

// Result is what takes the place of a text.
type Result struct {
	Text    string // the text itself, or a preview of at most MaxBytes bytes
	Path    string // where the whole text is; "": Text is whole
	LeftOut int    // bytes of the text that are not in the preview
	Err     error  // why a long text was left whole, for logs; nil where it fits or was spilled
}

// Apply returns a text that fits whole, and of any other a preview: its head
// and its tail with a notice between them that gives the number of bytes left
// out, the file and how to go on. The file holds exactly the text's bytes. A
// text that cannot be saved, or whose notice alone would not fit, stays whole.
func (p Policy) Apply(text string) Result {
	if p.Dir == "" || p.MaxBytes <= 0 || len(text) <= p.MaxBytes {
		return Result{Text: text}
	}
	name := prefix + rand.Text() + suffix
	path := filepath.Join(p.Dir, name)
	if err := printable(path); err != nil {
		return Result{Text: text, Err: err}
	}
	head, tail, ok := preview(text, path, p.MaxBytes)
	if !ok {
		return Result{Text: text, Err: fmt.Errorf("a preview of %d bytes has no room for its notice", p.MaxBytes)}
	}
	if err := p.save(name, text); err != nil {
		return Result{Text: text, Err: fmt.Errorf("save a long result: %w", err)}
	}
	left := len(text) - len(head) - len(tail)
	return Result{Text: head + notice(left, len(text), path) + tail, Path: path, LeftOut: left}
}

const (
	prefix = "result-"
	suffix = ".txt"
)

// ours is what rand.Text makes: 26 characters of base32.
var ours = regexp.MustCompile(`^` + prefix + `[A-Z2-7]{26,}` + regexp.QuoteMeta(suffix) + `$`)

// printable refuses a path that could break out of the notice's line.
func printable(path string) error {
	for _, r := range path {
		if !unicode.IsPrint(r) || r == unicode.ReplacementChar {
			return fmt.Errorf("the spill folder's name %q cannot be shown on one line", path)
		}
	}
	return nil
}

// save writes a new file in the folder, or nothing.
func (p Policy) save(name, text string) error {
	root, err := p.open(true)
	if err != nil {
		return err
	}
	defer root.Close()
	f, err := root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	if err == nil {
		// The umask can have taken the owner's own bits.
		err = f.Chmod(0o600)
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return errors.Join(err, root.Remove(name))
	}
	return nil
}

// open gives a handle on the folder once it is known to be private. Everything
// after that goes through the handle, so that the folder cannot be exchanged
// for another between the check and the use.
func (p Policy) open(create bool) (*os.Root, error) {
	if !filepath.IsAbs(p.Dir) {
		return nil, fmt.Errorf("the spill folder %s is not an absolute path", p.Dir)
	}
	if create {
		if err := makePrivate(p.Dir); err != nil {
			return nil, err
		}
	}
	named, err := os.Lstat(p.Dir)
	if err != nil {
		return nil, err
	}
	if !named.IsDir() {
		return nil, fmt.Errorf("%s is no folder", p.Dir)
	}
	root, err := os.OpenRoot(p.Dir)
	if err != nil {
		return nil, err
	}
	info, err := root.Stat(".")
	switch {
	case err != nil:
	case !os.SameFile(named, info):
		err = fmt.Errorf("%s was exchanged while it was opened", p.Dir)
	case runtime.GOOS != "windows" && info.Mode().Perm()&0o077 != 0:
		// Only the owner can do this, so a stranger's folder is refused here.
		err = root.Chmod(".", 0o700)
	}
	if err != nil {
		return nil, errors.Join(err, root.Close())
	}
	return root, nil
}

// makePrivate makes the folder, and those above it that are missing, whatever
// the umask says.
func makePrivate(dir string) error {
	if _, err := os.Lstat(dir); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if parent := filepath.Dir(dir); parent != dir {
		if err := makePrivate(parent); err != nil {
			return err
		}
	}
	if err := os.Mkdir(dir, 0o700); err != nil {
		if errors.Is(err, fs.ErrExist) {
			return nil
		}
		return err
	}
	return os.Chmod(dir, 0o700)
}

// Sweep removes the spilled results that were written before now-MaxAge and
// returns how many. Whatever else lies in the folder stays. A folder that is
// not there has nothing to sweep.
func (p Policy) Sweep(now time.Time) (int, error) {
	age := p.MaxAge
	if age == 0 {
		age = DefaultMaxAge
	}
	if p.Dir == "" || age < 0 {
		return 0, nil
	}
	root, err := p.open(false)
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return 0, nil
		}
		return 0, err
	}
	defer root.Close()
	entries, err := fs.ReadDir(root.FS(), ".")
	if err != nil {
		return 0, err
	}
	removed := 0
	var failures []error
	for _, e := range entries {
		if !ours.MatchString(e.Name()) || !e.Type().IsRegular() {
			continue
		}
		info, err := e.Info()
		if err == nil {
			if !info.ModTime().Before(now.Add(-age)) {
				continue
			}
			err = root.Remove(e.Name())
		}
		switch {
		case err == nil:
			removed++
		case !errors.Is(err, fs.ErrNotExist): // another process sweeps as well
			failures = append(failures, err)
		}
	}
	return removed, errors.Join(failures...)
}
