package sqlite

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/yorehq/yore/fault"
	"github.com/yorehq/yore/internal/ingest"
)

// Workspaces returns the workspaces that have a shard, sorted. A file among the
// shards that is none is passed over.
func (x *Index) Workspaces(ctx context.Context) ([]string, error) {
	if x.memory != "" {
		return x.memoryWorkspaces(), nil
	}
	return x.diskWorkspaces(ctx)
}

func (x *Index) memoryWorkspaces() []string {
	x.mu.Lock()
	defer x.mu.Unlock()
	var all []string
	for _, c := range x.keepers {
		if !c.at.catalog {
			all = append(all, c.at.workspace)
		}
	}
	slices.Sort(all)
	return all
}

// diskWorkspaces names the workspaces of shard files: most are known to the
// catalog, the rest say it themselves.
func (x *Index) diskWorkspaces(ctx context.Context) ([]string, error) {
	known := map[string]string{shardName(""): ""}
	err := x.readCatalog(ctx, `SELECT DISTINCT cwd FROM files`, func(r row) error {
		cwd := r.text(0)
		known[shardName(cwd)] = cwd
		return nil
	})
	if err != nil {
		return nil, err
	}
	var paths []string
	err = x.withRoom(func() (err error) {
		paths, err = x.shardFiles()
		return err
	})
	if err != nil {
		return nil, fault.Wrap(fault.IndexFailed, err)
	}
	var all []string
	for _, path := range paths {
		cwd, ok := known[strings.TrimSuffix(filepath.Base(path), shardSuffix)]
		if !ok {
			err := x.withRoom(func() (err error) {
				cwd, err = x.askShard(ctx, path)
				return err
			})
			if errors.Is(err, errOutgrown) {
				continue
			}
			if isUnusable(err) || errors.Is(err, ingest.ErrDamaged) {
				x.log.Warn("index file passed over", "path", path, "cause", err.Error())
				continue
			}
			if err != nil {
				return nil, err
			}
		}
		all = append(all, cwd)
	}
	slices.Sort(all)
	return all, ctx.Err()
}

// unusable is why a file among ours is none that can be used, and stays.
type unusable string

func (u unusable) Error() string { return string(u) }

func (u unusable) fault() error {
	return &fault.Error{Code: fault.IndexFailed, Safe: string(u), Cause: u}
}

func isUnusable(err error) bool {
	var u unusable
	return errors.As(err, &u)
}

// askShard reads which workspace a shard's file is of.
func (x *Index) askShard(ctx context.Context, path string) (cwd string, err error) {
	c, err := x.dialWithRoom(ctx, place{path: path}, false)
	if errors.Is(err, os.ErrNotExist) {
		return "", unusable("it is gone")
	}
	if err != nil {
		return "", fault.Wrap(fault.IndexFailed, err)
	}
	c.broken = true // it was opened without the checks of open
	defer x.release(c)
	older, err := c.isOurs(ctx)
	if err == nil && older {
		// Nobody asks for a workspace that the catalog does not know: what is in
		// the file would stay for good.
		if err = x.removeOutgrown(ctx, c); err == nil {
			err = errOutgrown
		}
	}
	if err != nil {
		return "", err
	}
	err = c.rowsOf(ctx, `SELECT workspace FROM shard`, func(r row) error {
		cwd = r.text(0)
		return nil
	})
	if err == nil && shardName(cwd)+shardSuffix != filepath.Base(path) {
		err = unusable("it holds another workspace than its name says")
	}
	return cwd, err
}

// RemoveShard removes a workspace's shard, files and all. While another
// connection has it open it fails with an error that wraps ingest.ErrBusy and
// the shard stays. It is no error if there is none.
func (x *Index) RemoveShard(ctx context.Context, workspace string) error {
	at := x.shardOf(workspace)
	if x.memory != "" {
		x.mu.Lock()
		keeper := x.keepers[at.path]
		delete(x.keepers, at.path)
		x.mu.Unlock()
		if keeper != nil {
			x.dropIdle(keeper.path)
			return keeper.close()
		}
		return nil
	}
	x.dropIdle(at.path)
	if found, err := sniff(at.path); err != nil || found.kind == missing {
		return fault.Wrap(fault.IndexFailed, err)
	}
	c, err := x.acquire(ctx, at, true)
	if err != nil {
		return err
	}
	c.broken = true // never to be used again
	defer x.release(c)
	// Leaving the write-ahead mode takes the only lock that readers do not
	// share, and takes the log away: nobody can lose what is written meanwhile.
	mode := ""
	err = c.rowsOf(ctx, `PRAGMA locking_mode = EXCLUSIVE`, func(row) error { return nil })
	if err == nil {
		err = c.rowsOf(ctx, `PRAGMA journal_mode = DELETE`, func(r row) error {
			mode = r.text(0)
			return nil
		})
	}
	if isBusy(err) || err == nil && mode != "delete" {
		return fmt.Errorf("%w: %w", fault.IndexFailed, ingest.ErrBusy)
	}
	if err == nil {
		err = c.exec(ctx, `BEGIN EXCLUSIVE`)
	}
	if err != nil {
		return err
	}
	if err = os.Remove(c.path); err == nil {
		x.mu.Lock()
		delete(x.seen, c.path) // nobody takes this for damage
		x.mu.Unlock()
	}
	c.rollback()
	return fault.Wrap(fault.IndexFailed, err)
}
