package sqlite

import (
	"context"
	"math/bits"
	"path/filepath"
	"strings"

	"github.com/yorehq/yore/internal/ingest"
	"github.com/yorehq/yore/query"
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

// anyOf asks that a column holds one of the ids. The list is filled up to a
// power of two, so that few statements serve lists of every length.
func (q *conditions) anyOf(column string, ids []session.ID) {
	if len(ids) == 0 {
		q.add(`0`)
		return
	}
	args := make([]any, 1<<bits.Len(uint(len(ids)-1)))
	for i := range args {
		args[i] = string(ids[min(i, len(ids)-1)])
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
		q.anyOf(`id`, which.IDs)
	}
	if which.Parent != nil {
		q.add(`(f_parent = ? AND f_parent <> '' OR parent = ? AND f_parent = '')`, string(*which.Parent), string(*which.Parent))
	}
	if which.Workspace != nil {
		q.add(`cwd = ?`, *which.Workspace)
	}
	var all []query.Known
	err := x.readCatalog(ctx, `SELECT path, `+headerColumns+`, `+forkColumns+`, `+problemColumns+` FROM files`+q.where()+` ORDER BY path`, func(r row) error {
		h := r.fork(1 + headerWidth).Apply(r.header(1))
		all = append(all, query.Known{Path: r.text(0), Header: h, Problem: publicProblem(r.problem(1 + headerWidth + forkWidth))})
		return nil
	}, q.args...)
	return all, err
}

// Folders returns the known folders of a root, by path.
func (x *Index) Folders(ctx context.Context, root string) ([]ingest.Folder, error) {
	var all []ingest.Folder
	err := x.readCatalog(ctx, `SELECT path, root, leaf, modified, listed FROM folders WHERE root = ? ORDER BY path`, func(r row) error {
		all = append(all, ingest.Folder{Path: r.text(0), Root: r.text(1), Leaf: r.bool(2), ModTime: r.int(3), Listed: r.int(4)})
		return nil
	}, root)
	return all, err
}

const fileColumns = `path, root, folder, reader, pending, ` + headerColumns + `, ` + forkColumns + `, ` + stampColumns + `, ` + problemColumns

// Files returns catalogued files, by path. A pending file states no workspace.
func (x *Index) Files(ctx context.Context, which ingest.FileLookup) ([]ingest.FileRow, error) {
	var q conditions
	if which.Workspace != nil {
		q.add(`NOT pending AND cwd = ?`, *which.Workspace)
	}
	if which.Folder != nil {
		q.add(`folder = ?`, *which.Folder)
	}
	if which.Pending {
		q.add(`pending`)
	}
	if which.Path != nil {
		q.add(`path = ?`, *which.Path)
	}
	var all []ingest.FileRow
	err := x.readCatalog(ctx, `SELECT `+fileColumns+` FROM files`+q.where()+` ORDER BY path`, func(r row) error {
		all = append(all, ingest.FileRow{
			Path: r.text(0), Root: r.text(1), Folder: r.text(2), Agent: session.Agent(r.text(3)), Pending: r.bool(4),
			Header: r.header(5), Fork: r.fork(5 + headerWidth),
			Stamp: r.stamp(5 + headerWidth + forkWidth), Problem: r.problem(5 + headerWidth + forkWidth + stampWidth),
		})
		return nil
	}, q.args...)
	return all, err
}

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
	return nil
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
		args := append([]any{f.Path, f.Root, f.Folder, string(f.Agent), f.Pending}, bindHeader(f.Header)...)
		args = append(append(append(args, bindFork(f.Fork)...), bindStamp(f.Stamp)...), bindProblem(f.Problem)...)
		if err := c.exec(ctx, `INSERT OR REPLACE INTO files (`+fileColumns+`) VALUES (`+marks(len(args))+`)`, args...); err != nil {
			return err
		}
	}
	return nil
}

// below gives the range of the paths inside a folder: from low on, before high.
func below(folder string) (low, high string) {
	separator := string(filepath.Separator)
	low = strings.TrimSuffix(folder, separator) + separator
	return low, low[:len(low)-1] + string(filepath.Separator+1)
}
