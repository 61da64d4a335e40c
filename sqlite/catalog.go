package sqlite

import (
	"context"
	"math/bits"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/yorehq/yore/internal/ingest"
	"github.com/yorehq/yore/query"
	"github.com/yorehq/yore/reader"
	"github.com/yorehq/yore/session"
)

// readCatalog runs one query over the catalog.
func (x *Index) readCatalog(ctx context.Context, sql string, each func(row) error, args ...any) error {
	c, err := x.acquire(ctx, catalogOf(x), false)
	if err != nil {
		return err
	}
	defer x.release(c)
	if err := x.sameFile(x.catalogPath(), c); c == nil || err != nil {
		return err
	}
	return c.rowsOf(ctx, sql, each, args...)
}

// conditions collects what a lookup asks for.
type conditions struct {
	terms []string
	args  []any
}

func (q *conditions) add(term string, args ...any) {
	q.terms, q.args = append(q.terms, term), append(q.args, args...)
}

// anyOf asks that a column holds one of the values. The list is filled up to a
// power of two, so that few statements serve lists of every length.
func anyOf[T ~string](q *conditions, column string, values []T) {
	if len(values) == 0 {
		q.add(`0`)
		return
	}
	args := make([]any, 1<<bits.Len(uint(len(values)-1)))
	for i := range args {
		args[i] = string(values[min(i, len(values)-1)])
	}
	q.add(column+` IN (`+marks(len(args))+`)`, args...)
}

func (q *conditions) where() string {
	if len(q.terms) == 0 {
		return ""
	}
	return ` WHERE ` + strings.Join(q.terms, ` AND `)
}

// Headers returns the headers of all files but those that state none yet, by path.
func (x *Index) Headers(ctx context.Context, which query.Lookup) ([]query.Known, error) {
	var q conditions
	q.add(`NOT pending`)
	if which.IDs != nil {
		anyOf(&q, `id`, which.IDs)
	}
	if which.Parent != nil {
		q.add(`(f_parent = ? AND f_parent <> '' OR parent = ? AND f_parent = '')`, string(*which.Parent), string(*which.Parent))
	}
	from := `files`
	if which.Workspaces != nil {
		anyOf(&q, `cwd`, which.Workspaces)
		if which.IDs != nil {
			// The index tells the workspace (it is part of the key), so that a row of
			// another one is not even read: it costs what one costs that is not there.
			from = `files INDEXED BY files_id`
		}
	}
	var all []query.Known
	forks := map[session.Header]ingest.Fork{} // by what logs state
	err := x.readCatalog(ctx, `SELECT path, `+headerColumns+`, `+forkColumns+`, `+problemColumns+` FROM `+from+q.where()+` ORDER BY path`, func(r row) error {
		h := r.header(1)
		if f := r.fork(1 + headerWidth); f != (ingest.Fork{}) {
			forks[h] = f
		}
		all = append(all, query.Known{Path: r.text(0), Header: h, Problem: publicProblem(r.problem(1 + headerWidth + forkWidth))})
		return nil
	}, q.args...)
	// What was found out of a log holds for its copies too, also for one that has
	// just come and that no look has told yet.
	for i := range all {
		all[i].Header = forks[all[i].Header].Apply(all[i].Header)
	}
	return all, err
}

const folderColumns = `path, root, leaf, modified, listed`

// Folders returns known folders of a root.
func (x *Index) Folders(ctx context.Context, which ingest.FolderLookup) ([]ingest.Folder, error) {
	var all []ingest.Folder
	ask := func(rest string, args ...any) error {
		return x.readCatalog(ctx, `SELECT `+folderColumns+` FROM folders WHERE root = ? `+rest, func(r row) error {
			all = append(all, ingest.Folder{Path: r.text(0), Root: r.text(1), Leaf: r.bool(2), ModTime: r.int(3), Listed: r.int(4)})
			return nil
		}, append([]any{which.Root}, args...)...)
	}
	switch {
	case which.Paths != nil:
		var q conditions
		anyOf(&q, `path`, which.Paths)
		err := ask(`AND `+q.terms[0]+` ORDER BY path`, q.args...)
		return all, err
	case which.Below != "":
		low, high := below(which.Below)
		err := ask(`AND (path = ? OR path >= ? AND path < ?) ORDER BY path`, which.Below, low, high)
		return all, err
	case which.Workspace != nil:
		err := ask(`AND path IN (SELECT folder FROM files WHERE cwd = ? AND root = ? AND NOT pending) ORDER BY path`, *which.Workspace, which.Root)
		return all, err
	case which.Latest > 0:
		err := ask(`AND modified = 0 ORDER BY path LIMIT ?`, which.Latest)
		if left := which.Latest - len(all); err == nil && left > 0 {
			err = ask(`AND modified <> 0 ORDER BY modified DESC LIMIT ?`, left)
		}
		return all, err
	case which.Sweep.Count > 0:
		total := 0
		err := x.readCatalog(ctx, `SELECT count(*) FROM folders WHERE root = ?`, func(r row) error {
			total = int(r.int(0))
			return nil
		}, which.Root)
		if err != nil || total == 0 {
			return nil, err
		}
		from := which.Sweep.From % total
		err = ask(`ORDER BY path LIMIT ? OFFSET ?`, which.Sweep.Count, from)
		if left := min(which.Sweep.Count-len(all), from); err == nil && left > 0 {
			err = ask(`ORDER BY path LIMIT ?`, left)
		}
		return all, err
	}
	err := ask(`ORDER BY path`)
	return all, err
}

// Below returns what is known inside a folder.
func (x *Index) Below(ctx context.Context, folder string) (ingest.Inside, error) {
	in := ingest.Inside{Folders: map[string]bool{}, Files: map[string]bool{}, Holders: map[string]bool{}}
	low, high := below(folder)
	err := x.readCatalog(ctx, `SELECT path FROM folders WHERE path >= ? AND path < ?`, func(r row) error {
		in.Folders[r.text(0)] = true
		return nil
	}, low, high)
	if err != nil {
		return in, err
	}
	err = x.readCatalog(ctx, `SELECT path FROM files WHERE path >= ? AND path < ?`, func(r row) error {
		path := r.text(0)
		in.Files[path], in.Holders[holder(path)] = true, true
		return nil
	}, low, high)
	return in, err
}

// Catalogued returns the workspaces that headers state, sorted: one step in an
// index for each, not one for each file.
func (x *Index) Catalogued(ctx context.Context) ([]string, error) {
	var all []string
	err := x.readCatalog(ctx, `WITH RECURSIVE w (cwd) AS (
		SELECT min(cwd) FROM files WHERE NOT pending UNION ALL
		SELECT (SELECT min(cwd) FROM files WHERE NOT pending AND cwd > w.cwd) FROM w WHERE w.cwd IS NOT NULL
	) SELECT cwd FROM w WHERE cwd <> '' OR cwd = '' AND EXISTS (SELECT 1 FROM files WHERE cwd = '' AND NOT pending AND id <> '')`, func(r row) error {
		all = append(all, r.text(0))
		return nil
	})
	return all, err
}

const fileColumns = `path, root, folder, reader, pending, ` + headerColumns + `, ` + forkColumns + `, ` + stampColumns + `, ` + problemColumns

// Files returns catalogued files. A pending file states no workspace.
func (x *Index) Files(ctx context.Context, which ingest.FileLookup) ([]ingest.FileRow, error) {
	if which.Workspace == nil || which != (ingest.FileLookup{Workspace: which.Workspace}) || x.memory != "" {
		return x.readFiles(ctx, which)
	}
	// Every search asks this, and most find the catalog as it was: memo.go.
	stamp, info, sure := stampOf(x.catalogPath(), time.Now())
	x.mu.Lock()
	known, ok := x.files[*which.Workspace]
	seen := x.seen[x.catalogPath()]
	_, condemned := x.damaged[x.catalogPath()]
	x.mu.Unlock()
	if sure && ok && known.stamp == stamp && !condemned && seen != nil && os.SameFile(info, seen) {
		return slices.Clone(known.rows), nil
	}
	rows, err := x.readFiles(ctx, which)
	if err != nil || !sure {
		return rows, err
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	if len(x.files) >= mostLists {
		clear(x.files)
	}
	x.files[*which.Workspace] = fileList{stamp, slices.Clone(rows)}
	return rows, nil
}

// fileList is what the catalog says of a workspace's files while its own file is
// as its stamp says.
type fileList struct {
	stamp fileStamp
	rows  []ingest.FileRow
}

// mostLists bounds how many are remembered.
const mostLists = 64

func (x *Index) readFiles(ctx context.Context, which ingest.FileLookup) ([]ingest.FileRow, error) {
	var q conditions
	if which.Workspace != nil {
		q.add(`NOT pending AND cwd = ?`, *which.Workspace)
	}
	if which.Folder != nil {
		q.add(`folder = ?`, *which.Folder)
	}
	if which.ID != nil {
		q.add(`id = ?`, string(*which.ID))
	}
	if which.Pending {
		q.add(`pending AND pending = 1`)
	}
	if which.Shelves {
		q.add(`pending AND pending = 2`)
	}
	if which.PartsOf != nil {
		low := reader.PartPath(*which.PartsOf, "")
		q.add(`path >= ? AND path < ?`, low, low[:len(low)-1]+"0") // the byte behind a slash
	}
	if which.Root != nil {
		below := *which.Root + string(filepath.Separator)
		q.add(`root = ? AND path >= ? AND path < ?`, *which.Root, below, *which.Root+string(filepath.Separator+1))
	}
	if which.Path != nil {
		q.add(`path = ?`, *which.Path)
	}
	rest := q.where()
	if which.Latest > 0 {
		rest += ` ORDER BY mtime DESC LIMIT ?`
		q.args = append(q.args, which.Latest)
	}
	var all []ingest.FileRow
	var root, reads string
	err := x.readCatalog(ctx, `SELECT path, root, reader, pending, head, `+forkColumns+`, `+stampColumns+`, `+problemColumns+` FROM files`+rest, func(r row) error {
		var at places
		path := r.text(at.next(1))
		root, reads = r.same(at.next(1), root), r.same(at.next(1), reads)
		f := ingest.FileRow{Path: path, Root: root, Folder: holder(path), Agent: session.Agent(reads)}
		waits := r.int(at.next(1))
		f.Pending, f.Shelf = waits == 1, waits == 2
		f.Header, f.Fork = unpackHeader(r.ColumnRawBlob(at.next(1))), r.fork(at.next(forkWidth))
		f.Stamp, f.Problem = r.stamp(at.next(stampWidth)), r.problem(at.next(problemWidth))
		all = append(all, f)
		return nil
	}, q.args...)
	if which.Latest == 0 {
		slices.SortFunc(all, func(a, b ingest.FileRow) int { return strings.Compare(a.Path, b.Path) })
	}
	return all, err
}

// holder is the folder that holds a source's file.
func holder(path string) string { return filepath.Dir(reader.FileOf(path)) }

// Update applies removals, then puts, as a whole. It waits for the write lock a
// bounded time, then fails with an error that wraps ingest.ErrBusy.
func (x *Index) Update(ctx context.Context, change ingest.CatalogChange) error {
	c, err := x.begin(ctx, catalogOf(x))
	if err != nil {
		return err
	}
	defer x.release(c)
	before := c.db.TotalChanges()
	if err := c.apply(ctx, &change); err != nil {
		c.rollback()
		return err
	}
	if err := c.commit(ctx); err != nil {
		return err
	}
	x.count(c, before)
	return c.relieve()
}

func (c *conn) apply(ctx context.Context, change *ingest.CatalogChange) error {
	for _, path := range change.RemoveFolders {
		low, high := below(path)
		for _, table := range []string{"folders", "files"} {
			if err := c.exec(ctx, `DELETE FROM `+table+` WHERE path = ? OR path >= ? AND path < ?`, path, low, high); err != nil {
				return err
			}
		}
	}
	for _, path := range change.RemoveFiles {
		if err := c.exec(ctx, `DELETE FROM files WHERE path = ?`, path); err != nil {
			return err
		}
	}
	for _, f := range change.Folders {
		if err := c.exec(ctx, `INSERT OR REPLACE INTO folders VALUES (?, ?, ?, ?, ?)`, f.Path, f.Root, f.Leaf, f.ModTime, f.Listed); err != nil {
			return err
		}
	}
	for i := range change.Files {
		f := &change.Files[i]
		args := append([]any{f.Path, f.Root, f.Folder, string(f.Agent), waits(f)}, bindHeader(f.Header)...)
		args = append(append(append(args, bindFork(f.Fork)...), bindStamp(f.Stamp)...), bindProblem(f.Problem)...)
		if err := c.exec(ctx, `INSERT OR REPLACE INTO files (`+fileColumns+`) VALUES (`+marks(len(args))+`)`, args...); err != nil {
			return err
		}
	}
	return nil
}

// waits is the column pending of a file: it states no workspace if it is not 0.
func waits(f *ingest.FileRow) int {
	switch {
	case f.Shelf:
		return 2
	case f.Pending:
		return 1
	}
	return 0
}

// below gives the range of the paths inside a folder: from low on, before high.
func below(folder string) (low, high string) {
	separator := string(filepath.Separator)
	low = strings.TrimSuffix(folder, separator) + separator
	return low, low[:len(low)-1] + string(filepath.Separator+1)
}
