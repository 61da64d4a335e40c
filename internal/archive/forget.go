package archive

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/yorehq/yore/fault"
	"github.com/yorehq/yore/reader"
	format "github.com/yorehq/yore/reader/archive"
	"github.com/yorehq/yore/session"
)

// Forgets says whether a session is one that its owner wants forgotten.
type Forgets func(session.Header) (bool, error)

// Without returns an archiver that archives no forgotten session.
func (a *Archiver) Without(forgets Forgets) *Archiver {
	b := *a
	b.forgets = forgets
	return &b
}

// without takes the forgotten out of what is to be archived.
func (a *Archiver) without(all []original) ([]original, error) {
	if a.forgets == nil {
		return all, nil
	}
	kept := all[:0]
	for _, o := range all {
		has, err := a.forgets(o.src.Header)
		if err != nil {
			return nil, err
		}
		if !has {
			kept = append(kept, o)
		}
	}
	return kept, nil
}

// withdraw removes a file that was just written if its session was forgotten
// meanwhile. Whoever forgets puts the session on the list before it looks into
// the archive, so one of the two finds the file.
func (a *Archiver) withdraw(h session.Header) error {
	if a.forgets == nil {
		return nil
	}
	has, err := a.forgets(h)
	if err == nil && has {
		err = removeCopy(format.Path(a.dir, h))
	}
	return err
}

// Copy is a session's file in an archive.
type Copy struct {
	Header session.Header
	Path   string
}

// Copies returns what the archive in dir has of sessions, whatever the workspace.
func Copies(ctx context.Context, dir string, which func(session.Header) bool) ([]Copy, error) {
	var all []Copy
	err := walk(ctx, Root{format.New(), dir}, func(path string) error {
		h, err := format.New().Identify(ctx, dir, path)
		if fault.IsContext(err) {
			return err
		}
		if h.ID != "" && which(h) { // its header may be readable although the rest is not
			all = append(all, Copy{h, path})
		}
		return nil
	})
	return all, err
}

// CopyAt returns the copy of a session that which takes, if that is what is at path.
func CopyAt(ctx context.Context, path string, which func(session.Header) bool) (Copy, bool, error) {
	root := filepath.Dir(filepath.Dir(filepath.Dir(path)))
	rel, err := filepath.Rel(root, path)
	if err != nil || format.New().Classify(filepath.ToSlash(rel), false) != reader.File {
		return Copy{}, false, nil
	}
	h, err := format.New().Identify(ctx, root, path)
	if fault.IsContext(err) {
		return Copy{}, false, err
	}
	// No agent keeps its own log under that name.
	return Copy{h, path}, h.ID != "" && which(h) && format.Path(root, h) == path, nil
}

// Remove removes copies for good, and what an interrupted archiver may have left
// of them beside.
func Remove(copies []Copy) error {
	var errs []error
	for _, c := range copies {
		errs = append(errs, removeCopy(c.Path))
	}
	return errors.Join(errs...)
}

func removeCopy(path string) error {
	folder := filepath.Dir(path)
	var errs []error
	names, _ := filepath.Glob(filepath.Join(folder, remains))
	for _, name := range append(names, path) {
		if err := os.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			errs = append(errs, err)
		}
	}
	syncFolder(folder)
	return errors.Join(errs...)
}
