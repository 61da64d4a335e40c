package ingest

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/yorehq/yore/fault"
	"github.com/yorehq/yore/reader"
	"github.com/yorehq/yore/session"
)

// settle is how long after its last change a folder's listing is not trusted:
// clocks of file systems are coarse.
const settle = 2 * time.Second

// discover brings the catalog in step with the folders below the roots: it
// stats folders that sessions of the scope may appear in, lists those that
// changed, and opens only files it has not seen, for their header. Which folders
// a look goes to is in watch.go.
//
// With first it opens the newest files alone if there are very many, and says
// by more that others are left: what is opened first is searchable first.
// blind is how many folders it could not look into.
func (in *Ingester) discover(ctx context.Context, scope session.Scope, first bool) (blind int, more bool, err error) {
	in.discovering.Lock()
	defer in.discovering.Unlock()
	w := &walk{in: in, ctx: ctx, visited: map[string]bool{}, absences: in.absences()}
	for i, r := range in.Roots {
		info, err := os.Stat(r.Path)
		if err != nil {
			if !errors.Is(err, fs.ErrNotExist) {
				w.blind++
			}
			continue // the whole root is away (or not there yet): nothing can be said of what is below
		}
		if away, err := w.absences.away(ctx, r.Path); err != nil {
			return w.blind, false, err
		} else if away {
			continue
		}
		w.root = r
		if !info.IsDir() {
			if err := w.single(info); err != nil {
				return w.blind, false, err
			}
			continue
		}
		folders, err := in.watched(ctx, r, scope, len(in.Roots)-i, len(w.visited))
		if err != nil {
			return w.blind, false, err
		}
		for _, f := range folders {
			if err := w.visit(f, nil); err != nil {
				return w.blind, false, err
			}
		}
	}
	more, err = w.identifyNew(first)
	if err == nil {
		err = w.pending(scope)
	}
	if err == nil {
		err = w.apply()
	}
	if err == nil {
		err = w.shelves()
	}
	if w.blind > 1 {
		in.Logger.Warn("folders cannot be listed", "count", w.blind)
	}
	return w.blind, more, err
}

// walk is one look for new files. Folders that were listed are noted as such
// only after the files in them, so that a look that is cut short is repeated.
type walk struct {
	in       *Ingester
	ctx      context.Context
	root     Root
	visited  map[string]bool
	absences *absences
	blind    int // folders that cannot be listed
	fresh    []arrival
	listed   []Folder
	change   CatalogChange
}

// arrival is a file that is not known yet.
type arrival struct {
	root    Root
	path    string
	kind    reader.Kind
	changed time.Time
}

const (
	// applyEvery bounds what a discovery holds in memory and what a killed one loses.
	applyEvery = 1000

	// firstFiles is how many of very many new files are opened before the newest
	// of them are read.
	firstFiles = 64
)

func (w *walk) apply() error {
	c := w.change
	w.change = CatalogChange{}
	if len(c.Files)+len(c.Folders)+len(c.RemoveFiles)+len(c.RemoveFolders) == 0 {
		return nil
	}
	return w.in.Catalog.Update(w.ctx, c)
}

// visit lists a folder if it changed since it was listed. inside is what is
// known below a folder that it lies in, nil if nobody asked yet.
func (w *walk) visit(f Folder, inside *Inside) error {
	if err := w.ctx.Err(); err != nil || w.visited[f.Path] {
		return err
	}
	w.visited[f.Path] = true
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
	if inside == nil {
		known, err := w.in.Catalog.Below(w.ctx, f.Path)
		if err != nil {
			return err
		}
		inside = &known
	}
	found := false
	for _, e := range entries {
		file, err := w.take(f.Path, e, inside)
		if err != nil {
			return err
		}
		found = found || file
	}
	if f.Leaf && found {
		w.change.RemoveFolders = append(w.change.RemoveFolders, f.Path) // no longer waited for
		return nil
	}
	f.ModTime, f.Listed = changed, now
	w.listed = append(w.listed, f)
	return nil
}

// outOfReach remembers a folder that is there and cannot be listed, so that it
// is tried again every time.
func (w *walk) outOfReach(f Folder, cause error) error {
	if w.blind++; w.blind == 1 { // of thousands one is enough
		w.in.Logger.Warn("a folder cannot be listed", "error", cause)
	}
	if f.Listed < 0 {
		return nil // that is known
	}
	f.ModTime, f.Listed = 0, -1
	w.change.Folders = append(w.change.Folders, f)
	return nil
}

// take looks at one entry of a folder and reports whether it is a file of ours.
func (w *walk) take(dir string, e fs.DirEntry, inside *Inside) (bool, error) {
	path := filepath.Join(dir, e.Name())
	rel, err := filepath.Rel(w.root.Path, path)
	if err != nil || e.Type()&fs.ModeSymlink != 0 {
		return false, nil // links are not followed: they may lead anywhere
	}
	kind := w.root.Reader.Classify(filepath.ToSlash(rel), e.IsDir())
	switch {
	case kind == reader.Folder && e.IsDir():
		if !inside.Folders[path] {
			return false, w.visit(Folder{Path: path, Root: w.root.Path}, inside)
		}
	case kind == reader.Leaf && e.IsDir():
		if !inside.Folders[path] && !inside.Holders[path] {
			return false, w.visit(Folder{Path: path, Root: w.root.Path, Leaf: true}, inside)
		}
	case (kind == reader.File || kind == reader.Misplaced || kind == reader.Shelf) && !e.IsDir():
		if !inside.Files[path] {
			a := arrival{root: w.root, path: path, kind: kind}
			if info, err := e.Info(); err == nil {
				a.changed = info.ModTime()
			}
			w.fresh = append(w.fresh, a)
		}
		return kind == reader.File, nil
	}
	return false, nil
}

// identifyNew catalogues the files that are not known yet, newest first, and
// then what was listed. With first it stops after some if there are very many.
func (w *walk) identifyNew(first bool) (more bool, err error) {
	slices.SortStableFunc(w.fresh, func(a, b arrival) int { return b.changed.Compare(a.changed) })
	if first && len(w.fresh) > 4*firstFiles {
		w.fresh, more = w.fresh[:firstFiles], true
		w.listed = nil
		w.change.RemoveFolders = nil // they would not be waited for any more
	}
	for _, a := range w.fresh {
		if err := w.file(a); err != nil {
			return more, err
		}
		if len(w.change.Files) >= applyEvery {
			if err := w.apply(); err != nil {
				return more, err
			}
		}
	}
	w.fresh = nil
	w.change.Folders = append(w.change.Folders, w.listed...)
	return more, nil
}

// file catalogues a file that is not known yet.
func (w *walk) file(a arrival) error {
	row := FileRow{Shelf: a.kind == reader.Shelf, Path: a.path, Root: a.root.Path, Folder: filepath.Dir(a.path), Agent: a.root.Reader.Agent()}
	if row.Shelf {
		w.change.Files = append(w.change.Files, row) // and is listed with the others
		return nil
	}
	row, err := w.in.header(w.ctx, a.root, row)
	if err != nil {
		return err
	}
	if a.kind == reader.Misplaced && row.Problem == nil {
		row.Problem = reader.Unreadable(a.path, 0, 0, "the file lies where its agent does not look for sessions")
		row.Pending = false
	}
	w.change.Files = append(w.change.Files, row)
	return nil
}

// pendingFiles is how many files without a whole header a look at some
// workspaces goes to: those that changed last. The rest waits for a look at all.
const pendingFiles = 64

// pending looks again at the files whose header was not complete.
func (w *walk) pending(scope session.Scope) error {
	which := FileLookup{Pending: true}
	if !thorough(scope) {
		which.Latest = pendingFiles
	}
	rows, err := w.in.Catalog.Files(w.ctx, which)
	if err != nil {
		return err
	}
	for _, row := range rows {
		root, ok := w.in.root(row)
		if !ok {
			continue
		}
		if away, err := w.absences.away(w.ctx, root.Path); err != nil {
			return err
		} else if away {
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
		fresh, err := w.in.header(w.ctx, root, row)
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
