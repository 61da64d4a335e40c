package main

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/klauspost/compress/zstd"
	"github.com/ncruces/go-sqlite3"

	"github.com/yorehq/yore"
	"github.com/yorehq/yore/authz"
	"github.com/yorehq/yore/internal/ingest"
	"github.com/yorehq/yore/query"
	"github.com/yorehq/yore/session"
	"github.com/yorehq/yore/sqlite"
)

// ingester is what keeps an index in step with the logs of a site.
func (s *site) ingester(index *sqlite.Index) *ingest.Ingester {
	o := ingest.Options{Catalog: index, Shards: index}
	for _, source := range s.Sources {
		for _, r := range yore.Readers() {
			if r.Agent() == source.Agent {
				o.Roots = append(o.Roots, ingest.Root{Reader: r, Path: source.Root})
			}
		}
	}
	return ingest.New(o)
}

// counts is what one look at an unchanged workspace costs, in work.
func counts(ctx context.Context, s site) (map[string]float64, error) {
	index, err := sqlite.Open(ctx, sqlite.Options{Dir: s.Index})
	if err != nil {
		return nil, err
	}
	defer index.Close()
	in := s.ingester(index)
	if _, err := in.Refresh(ctx, session.Scope{Workspaces: []string{s.Workspace}}, nil); err != nil {
		return nil, err
	}
	w, x := in.Work(), index.Work()
	return map[string]float64{
		"file stats": float64(w.Files), "folder stats": float64(w.Folders), "bytes": float64(w.Bytes), "identified": float64(w.Identified),
		"statements": float64(x.Statements), "rows": float64(x.Rows),
		"connections": float64(x.Connections),
	}, nil
}

// rest is what a first search over everything costs in work, when no shard was
// written to lately.
func rest(ctx context.Context, s site) (map[string]float64, error) {
	shards, err := filepath.Glob(filepath.Join(s.Index, "shards", "*.db"))
	if err != nil || len(shards) == 0 {
		return nil, errors.Join(err, errors.New("no shards"))
	}
	old := time.Now().Add(-time.Hour)
	for _, path := range shards {
		if err := os.Chtimes(path, old, old); err != nil {
			return nil, err
		}
	}
	index, err := sqlite.Open(ctx, sqlite.Options{Dir: s.Index})
	if err != nil {
		return nil, err
	}
	defer index.Close()
	in := s.ingester(index)
	engine, err := query.New(query.Config{Disk: query.Corpus{Store: index, Refresher: in, Logs: in}})
	if err != nil {
		return nil, err
	}
	v, err := authz.New(ctx, engine, authz.Owner, nil, authz.Caller{})
	if err != nil {
		return nil, err
	}
	before := index.Work()
	if err := find(ctx, v.AsIndexed(), query.SessionSearch{Query: s.Phrases[0], Limit: 20}, true); err != nil {
		return nil, err
	}
	w := index.Work()
	return map[string]float64{
		"connections": float64(w.Connections - before.Connections), "stills": float64(w.Stills - before.Stills),
		"postings": float64(w.Postings - before.Postings), "shards": float64(len(shards)),
	}, nil
}

// postingsOf is how many bytes of dictionaries and lists the shards of an index hold.
func postingsOf(dir string) (sum float64, err error) {
	shards, err := filepath.Glob(filepath.Join(dir, "shards", "*.db"))
	for _, path := range shards {
		n, failed := postingsIn(path)
		sum, err = sum+n, errors.Join(err, failed)
	}
	return sum, err
}

func postingsIn(path string) (sum float64, err error) {
	db, err := sqlite3.Open(path)
	if err != nil {
		return 0, err
	}
	defer db.Close()
	all, _, err := db.Prepare(`SELECT sum(length(data)) FROM pieces`)
	if err != nil {
		return 0, err
	}
	defer all.Close()
	if all.Step() {
		sum = all.ColumnFloat(0)
	}
	return sum, all.Err()
}

// unpack notes how many milliseconds it takes to unpack the largest log.
func unpack(s site, got map[string]float64) error {
	f, err := os.Open(s.Largest)
	if err != nil {
		return err
	}
	defer f.Close()
	start := time.Now()
	dec, err := zstd.NewReader(f, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true))
	if err != nil {
		return err
	}
	defer dec.Close()
	_, err = io.Copy(io.Discard, dec)
	got["unpack"] = float64(time.Since(start).Microseconds()) / 1000
	return err
}
