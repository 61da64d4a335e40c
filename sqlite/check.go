package sqlite

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/yorehq/yore/fault"
)

// Health is what can be said of an index, for a person.
type Health struct {
	Path    string // the folder; "" in memory
	Size    int64  // bytes of all its files, logs included
	Schema  int
	Sources int64 // catalogued files
	Shards  []ShardHealth
	Damaged []string // damaged files that were kept by an earlier version
}

// ShardHealth is what can be said of one shard.
type ShardHealth struct {
	Workspace  string
	Path       string
	Size       int64 // bytes, log included
	Generation uint64
	Sessions   int64
	Documents  int64 // with at least one token
	PurgeDue   bool
	Problem    string // why it cannot be used, or what the integrity check found; "": sound
}

// Check gathers facts about the index; with integrity it also reads every page
// of it, which takes long. What is wrong with a shard is in its Problem; a
// damaged one is removed, for the next use to make it anew.
func (x *Index) Check(ctx context.Context, integrity bool) (Health, error) {
	h := Health{Path: x.dir, Schema: schemaVersion}
	err := x.readCatalog(ctx, `SELECT count(*) FROM files`, func(r row) error {
		h.Sources = r.int(0)
		return nil
	})
	if err != nil {
		return h, err
	}
	if x.memory == "" {
		if err := h.measure(x.dir); err != nil {
			return h, fault.Wrap(fault.IndexFailed, err)
		}
	}
	workspaces, err := x.Workspaces(ctx)
	if err != nil {
		return h, err
	}
	for _, w := range workspaces {
		one := x.checkShard(ctx, w, integrity)
		if err := ctx.Err(); err != nil {
			return h, err
		}
		h.Shards = append(h.Shards, one)
	}
	return h, nil
}

func (h *Health) measure(dir string) error {
	return filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil {
			return err
		}
		if isLeftover(d.Name()) {
			h.Damaged = append(h.Damaged, path)
		}
		h.Size += info.Size()
		return nil
	})
}

func (x *Index) checkShard(ctx context.Context, workspace string, integrity bool) ShardHealth {
	at := x.shardOf(workspace)
	h := ShardHealth{Workspace: workspace}
	if x.memory == "" {
		h.Path = at.path
		for _, suffix := range []string{"", "-wal"} {
			if info, err := os.Stat(at.path + suffix); err == nil {
				h.Size += info.Size()
			}
		}
	}
	c, err := x.acquire(ctx, at, false)
	if c == nil || err != nil {
		if err != nil {
			h.Problem = err.Error()
		}
		return h
	}
	defer x.release(c)
	at.path = c.path
	err = c.rowsOf(ctx, `SELECT generation, documents, purge, (SELECT count(*) FROM sessions) FROM shard`, func(r row) error {
		h.Generation, h.Documents, h.PurgeDue, h.Sessions = r.uint64(0), r.int(1), r.bool(2), r.int(3)
		return nil
	})
	if err == nil && integrity {
		err = x.integrity(ctx, at, &h)
	}
	if err != nil {
		h.Problem = err.Error()
	}
	return h
}

// integrity reads every page, and then everything that the index is made of. A
// kept connection will not do: its pages may be in memory, and sound.
func (x *Index) integrity(ctx context.Context, at place, h *ShardHealth) error {
	c, err := x.openPatiently(ctx, at, false)
	if c == nil || err != nil {
		return err
	}
	c.broken = true // not to be kept
	defer x.release(c)
	err = c.rowsOf(ctx, `PRAGMA integrity_check(1)`, func(r row) error {
		if said := r.text(0); said != "ok" {
			h.Problem = said
		}
		return nil
	})
	if err == nil && h.Problem == "" {
		h.Problem, err = c.inspect(ctx)
	}
	if err == nil && h.Problem != "" {
		x.condemn(c, damageError(h.Problem))
	}
	return err
}
