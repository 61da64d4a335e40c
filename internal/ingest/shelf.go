package ingest

import (
	"errors"
	"io/fs"
	"path/filepath"

	"github.com/yorehq/yore/fault"
	"github.com/yorehq/yore/reader"
)

// A shelf (reader.Shelver) is to its sessions what a folder is to files: a look
// stats it, lists it when it changed, and catalogues what it holds. The stamps in
// that list stand for stats of the sessions from there on:
//
//	5,000 sessions, none changed     some stats of the shelf
//	5,000 sessions, one has grown    and one list, one Revise, one Read
//
// The catalog thus knows of each session on a shelf what its last list said, and
// a plan compares that with the shard without a look at the shelf.

// shelved reports whether a row is that of a session on a shelf.
func (in *Ingester) shelved(row FileRow) bool {
	if reader.FileOf(row.Path) == row.Path {
		return false
	}
	root, ok := in.root(row)
	return ok && reader.OnShelf(root.Reader, root.Path, row.Path)
}

// single takes a root that is a file.
func (w *walk) single(info fs.FileInfo) error {
	if w.root.Reader.Classify(".", false) != reader.Shelf {
		w.blind++
		return nil
	}
	known, err := w.in.Catalog.Files(w.ctx, FileLookup{Path: &w.root.Path})
	if err == nil && len(known) == 0 {
		w.fresh = append(w.fresh, arrival{root: w.root, path: w.root.Path, kind: reader.Shelf, changed: info.ModTime()})
	}
	return err
}

// shelves looks at every shelf that is known.
func (w *walk) shelves() error {
	rows, err := w.in.Catalog.Files(w.ctx, FileLookup{Shelves: true})
	if err != nil {
		return err
	}
	for _, row := range rows {
		root, ok := w.in.root(row)
		if !ok {
			continue
		}
		shelver, ok := root.Reader.(reader.Shelver)
		if !ok {
			continue
		}
		if err := w.shelf(root, shelver, row); err != nil {
			return err
		}
		if err := w.apply(); err != nil {
			return err
		}
	}
	return nil
}

// shelf lists a shelf if it changed.
func (w *walk) shelf(root Root, shelver reader.Shelver, row FileRow) error {
	w.in.work.files.Add(1)
	stamp, err := shelver.ShelfStamp(row.Path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		// Of a root that is away altogether nothing can be said; one that is a file
		// is away with it.
		if away, err := w.absences.away(w.ctx, root.Path); away || err != nil {
			return err
		}
		return w.clearShelf(row, true)
	case err == nil && stamp == row.Stamp:
		return nil
	}
	fresh := row
	fresh.Stamp, fresh.Problem = stamp, nil
	if err == nil {
		err = w.list(root, shelver, row)
	}
	var p *reader.Problem
	switch {
	case err == nil:
	case fault.IsContext(err):
		return err
	case errors.Is(err, reader.ErrRetry):
		w.in.Logger.Info("a shelf is being rewritten; what is known of it stays", "path", row.Path)
		return nil
	case errors.Is(err, reader.ErrNoShelf):
		if err := w.clearShelf(row, false); err != nil {
			return err
		}
	case errors.As(err, &p):
		fresh.Problem = p
	case w.isOwn(err):
		return err
	default:
		fresh.Problem = reader.Unreadable(row.Path, 0, 0, "%s", withoutPath(err))
		fresh.Stamp = reader.Stamp{} // rights can change and leave the stamp as it is: try every time
	}
	if w.in.Now().UnixNano()-stamp.ModTime < int64(settle) {
		fresh.Stamp = reader.Stamp{} // clocks of file systems are coarse: more may come under the same stamp
	}
	if fresh.Stamp != row.Stamp || (fresh.Problem == nil) != (row.Problem == nil) || fresh.Problem != nil && *fresh.Problem != *row.Problem {
		w.change.Files = append(w.change.Files, fresh)
	}
	return nil
}

// catalogError is a failure of the catalog in the midst of a list.
type catalogError struct{ error }

func (e catalogError) Unwrap() error { return e.error }

func (w *walk) isOwn(err error) bool {
	var own catalogError
	return errors.As(err, &own)
}

// list brings the catalog in step with a shelf.
func (w *walk) list(root Root, shelver reader.Shelver, shelf FileRow) error {
	w.in.work.listed.Add(1)
	rows, err := w.in.Catalog.Files(w.ctx, FileLookup{PartsOf: &shelf.Path})
	if err != nil {
		return catalogError{err}
	}
	known := make(map[string]FileRow, len(rows))
	for _, row := range rows {
		known[row.Path] = row
	}
	err = shelver.List(w.ctx, root.Path, shelf.Path, func(l reader.Listed) error {
		path := reader.PartPath(shelf.Path, l.Name)
		row := FileRow{
			Path: path, Root: root.Path, Folder: filepath.Dir(shelf.Path), Agent: root.Reader.Agent(),
			Header: l.Header, Stamp: l.Stamp, Problem: l.Problem, Pending: l.Header.ID == "",
		}
		before, ok := known[path]
		delete(known, path)
		row.Fork = before.Fork
		if ok && before.Header == row.Header && before.Stamp == row.Stamp && before.Pending == row.Pending &&
			(before.Problem == nil) == (row.Problem == nil) && (row.Problem == nil || *before.Problem == *row.Problem) {
			return nil
		}
		w.change.Files = append(w.change.Files, row)
		if len(w.change.Files) >= applyEvery {
			if err := w.apply(); err != nil {
				return catalogError{err}
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	for path := range known {
		w.change.RemoveFiles = append(w.change.RemoveFiles, path)
	}
	return nil
}

// clearShelf takes the sessions of a shelf that is gone, or is none any more, out
// of the catalog, and the shelf with them if it is gone.
func (w *walk) clearShelf(row FileRow, gone bool) error {
	rows, err := w.in.Catalog.Files(w.ctx, FileLookup{PartsOf: &row.Path})
	if err != nil {
		return err
	}
	for _, r := range rows {
		w.change.RemoveFiles = append(w.change.RemoveFiles, r.Path)
	}
	if gone {
		w.change.RemoveFiles = append(w.change.RemoveFiles, row.Path)
	}
	return nil
}

// glance judges a session on a shelf by what the shelf's list said of it.
func (in *Ingester) glance(root Root, row FileRow, s *Glance) bool {
	return s.Sum == sumOf(root.mapping, row.Header) && s.Stamp == row.Stamp && s.Stamp != (reader.Stamp{})
}
