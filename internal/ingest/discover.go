package ingest

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/yorehq/yore/fault"
	"github.com/yorehq/yore/reader"
	"github.com/yorehq/yore/session"
)

// settle is how long after its last change a folder's listing is not trusted:
// clocks of file systems are coarse.
const settle = 2 * time.Second

// discover brings the catalog in step with the folders below the roots: it
// stats the folders that sessions may appear in, lists those that changed, and
// opens only files it has not seen, for their header. blind is how many folders
// it could not look into.
func (in *Ingester) discover(ctx context.Context) (blind int, err error) {
	in.discovering.Lock()
	defer in.discovering.Unlock()
	for _, r := range in.Roots {
		known, err := in.Catalog.Folders(ctx, r.Path)
		if err != nil {
			return blind, err
		}
		w := &walk{in: in, ctx: ctx, root: r, known: map[string]Folder{}}
		for _, f := range known {
			w.known[f.Path] = f
		}
		if _, ok := w.known[r.Path]; !ok {
			known = append(known, Folder{Path: r.Path, Root: r.Path})
		}
		if _, err := os.Stat(r.Path); err != nil {
			if !errors.Is(err, fs.ErrNotExist) {
				blind++
			}
			continue // the whole root is away (or not there yet): nothing can be said of what is below
		}
		for _, f := range known {
			if err := w.visit(f); err != nil {
				return blind, err
			}
		}
		if err := w.pending(); err != nil {
			return blind, err
		}
		if err := w.apply(); err != nil {
			return blind, err
		}
		blind += w.blind
	}
	return blind, nil
}

// walk is the discovery below one root.
type walk struct {
	in     *Ingester
	ctx    context.Context
	root   Root
	known  map[string]Folder
	blind  int // folders that cannot be listed
	change CatalogChange
}

// applyEvery bounds what a discovery holds in memory and what a killed one loses.
const applyEvery = 1000

func (w *walk) apply() error {
	c := w.change
	w.change = CatalogChange{}
	if len(c.Files)+len(c.Folders)+len(c.RemoveFiles)+len(c.RemoveFolders) == 0 {
		return nil
	}
	return w.in.Catalog.Update(w.ctx, c)
}

// visit lists a folder if it changed since it was listed.
func (w *walk) visit(f Folder) error {
	if err := w.ctx.Err(); err != nil {
		return err
	}
	w.in.work.folders.Add(1)
	info, err := os.Lstat(f.Path)
	if f.Path == w.root.Path {
		info, err = os.Stat(f.Path) // the root itself may be a link
	}
	switch {
	case errors.Is(err, fs.ErrNotExist) || err == nil && !info.IsDir():
		w.change.RemoveFolders = append(w.change.RemoveFolders, f.Path)
		return nil
	case err != nil:
		return w.outOfReach(f, err)
	}
	changed := info.ModTime().UnixNano()
	if f.ModTime == changed && f.Listed-changed >= int64(settle) {
		return nil
	}
	now := w.in.Now().UnixNano()
	entries, err := os.ReadDir(f.Path)
	if err != nil {
		return w.outOfReach(f, err)
	}
	found := false
	for _, e := range entries {
		file, err := w.take(f.Path, e)
		if err != nil {
			return err
		}
		found = found || file
	}
	if f.Leaf && found {
		w.change.RemoveFolders = append(w.change.RemoveFolders, f.Path) // no longer waited for
		return w.applyIfLarge()
	}
	f.ModTime, f.Listed = changed, now
	w.change.Folders = append(w.change.Folders, f)
	return w.applyIfLarge()
}

// outOfReach remembers a folder that is there and cannot be listed, so that it
// is tried again every time.
func (w *walk) outOfReach(f Folder, cause error) error {
	w.in.Logger.Warn("a folder cannot be listed", "error", cause)
	w.blind++
	if known, ok := w.known[f.Path]; ok && known.ModTime == 0 {
		return nil
	}
	f.ModTime, f.Listed = 0, 0
	w.change.Folders = append(w.change.Folders, f)
	return w.applyIfLarge()
}

func (w *walk) applyIfLarge() error {
	if len(w.change.Files)+len(w.change.Folders) < applyEvery {
		return nil
	}
	return w.apply()
}

// take looks at one entry of a folder and reports whether it is a file of ours.
func (w *walk) take(dir string, e fs.DirEntry) (bool, error) {
	path := filepath.Join(dir, e.Name())
	rel, err := filepath.Rel(w.root.Path, path)
	if err != nil || e.Type()&fs.ModeSymlink != 0 {
		return false, nil // links are not followed: they may lead anywhere
	}
	kind := w.root.Reader.Classify(filepath.ToSlash(rel), e.IsDir())
	switch {
	case kind == reader.Folder && e.IsDir():
		if _, ok := w.known[path]; !ok {
			return false, w.visit(Folder{Path: path, Root: w.root.Path})
		}
	case kind == reader.Leaf && e.IsDir():
		if _, waiting := w.known[path]; waiting {
			return false, nil
		}
		rows, err := w.in.Catalog.Files(w.ctx, FileLookup{Folder: &path})
		if err != nil || len(rows) > 0 {
			return false, err
		}
		return false, w.visit(Folder{Path: path, Root: w.root.Path, Leaf: true})
	case (kind == reader.File || kind == reader.Misplaced) && !e.IsDir():
		return kind == reader.File, w.file(path, kind)
	}
	return false, nil
}

// file catalogues a file that is not known yet.
func (w *walk) file(path string, kind reader.Kind) error {
	rows, err := w.in.Catalog.Files(w.ctx, FileLookup{Path: &path})
	if err != nil || len(rows) > 0 {
		return err
	}
	row := FileRow{Path: path, Root: w.root.Path, Folder: filepath.Dir(path), Agent: w.root.Reader.Agent()}
	row, err = w.in.header(w.ctx, w.root, row)
	if err != nil {
		return err
	}
	if kind == reader.Misplaced && row.Problem == nil {
		row.Problem = reader.Unreadable(path, 0, 0, "the file lies where its agent does not look for sessions")
		row.Pending = false
	}
	w.change.Files = append(w.change.Files, row)
	return nil
}

// pending looks again at the files whose header was not complete.
func (w *walk) pending() error {
	rows, err := w.in.Catalog.Files(w.ctx, FileLookup{Pending: true})
	if err != nil {
		return err
	}
	for _, row := range rows {
		if row.Root != w.root.Path || row.Agent != w.root.Reader.Agent() {
			continue
		}
		w.in.work.files.Add(1)
		stamp, err := reader.StatRegular(reader.FileOf(row.Path))
		switch {
		case errors.Is(err, fs.ErrNotExist):
			w.change.RemoveFiles = append(w.change.RemoveFiles, row.Path)
			continue
		case err != nil || stamp == row.Stamp:
			continue
		}
		fresh, err := w.in.header(w.ctx, w.root, row)
		if err != nil {
			return err
		}
		w.change.Files = append(w.change.Files, fresh)
	}
	return nil
}

// errOutOfReach says that a file is there and cannot be opened.
var errOutOfReach = errors.New("the file cannot be opened")

// identify reads a file's header again and catalogues it; ok says that it is
// (still) a session. A file that cannot be opened stays what it was, with
// errOutOfReach.
func (in *Ingester) identify(ctx context.Context, root Root, row FileRow) (fresh FileRow, ok bool, err error) {
	if fresh, err = in.header(ctx, root, row); err != nil {
		return fresh, false, err
	}
	if fresh.Problem != nil && fresh.Stamp == (reader.Stamp{}) {
		return row, false, errOutOfReach
	}
	if fresh.Header != row.Header || fresh.Stamp != row.Stamp || fresh.Pending || fresh.Problem != nil {
		err = in.Catalog.Update(ctx, CatalogChange{Files: []FileRow{fresh}})
	}
	return fresh, !fresh.Pending && fresh.Problem == nil, err
}

// header reads what a file states; only the end of ctx is an error.
func (in *Ingester) header(ctx context.Context, root Root, row FileRow) (FileRow, error) {
	in.work.identified.Add(1)
	row.Stamp, row.Header, row.Pending, row.Problem = reader.Stamp{}, session.Header{}, false, nil
	stamp, err := reader.StatRegular(reader.FileOf(row.Path))
	if err == nil {
		row.Stamp = stamp
		row.Header, err = root.Reader.Identify(ctx, root.Path, row.Path)
	}
	var p *reader.Problem
	switch {
	case err == nil:
	case fault.IsContext(err):
		return row, err
	case errors.Is(err, reader.ErrPending):
		row.Pending = true
	case errors.As(err, &p):
		row.Problem = p
	default:
		row.Problem = reader.Unreadable(row.Path, 0, 0, "%s", withoutPath(err))
		if isFileError(err) {
			row.Stamp = reader.Stamp{} // rights can change and leave the stamp as it is: try every time
		}
	}
	// Without a header no workspace will ever look at the file again: watch it here.
	row.Pending = row.Pending || row.Header.ID == ""
	return row, nil
}
