package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/yorehq/yore"
	"github.com/yorehq/yore/authz"
	"github.com/yorehq/yore/query"
	"github.com/yorehq/yore/reader"
	"github.com/yorehq/yore/session"
)

// Job is what one measured process does: a phase, so many times.
type Job struct {
	Phase string
	Times int
	Dir   string // of the site
	First int    // number of the first piece to append
}

// search is one kind of query, with what it must find.
type search struct {
	name, query string
	hits        bool
}

// searches are the queries that are measured. The phrases are planted in the
// corpus; a search that does not find its phrase fails the benchmark.
func searches() []search {
	return []search{
		{"rare phrase", "obsidian lantern protocol", true},
		{"medium phrase", "quarterly heron audit", true},
		{"common phrase", "nominal drift", true},
		{"very common word", "the", true},
		{"Chinese, inside a sentence", "量子退火", true},
		{"Japanese, inside a sentence", "鯨類図鑑", true},
		{"identifier", "frobnicate_widget_cache", true},
		{"path", "/srv/app/internal/zephyr/codec.go", true},
		{"words that do not stand together", "lantern heron drift", true},
		{"absent", "zyxomma quennel", false},
	}
}

// work does a job.
func work(ctx context.Context, job Job) error {
	var site Site
	text, err := os.ReadFile(filepath.Join(job.Dir, siteFile))
	if err != nil {
		return err
	}
	if err := json.Unmarshal(text, &site); err != nil {
		return err
	}
	switch job.Phase {
	case "nothing":
		return nil
	case "read", "fold":
		for range job.Times {
			if err := readAll(ctx, site, job.Phase == "fold"); err != nil {
				return err
			}
		}
		return nil
	case "tokens":
		for range job.Times {
			if err := tokens(site); err != nil {
				return err
			}
		}
		return nil
	case "index":
		if err := os.RemoveAll(site.Index); err != nil {
			return err
		}
		return withHistory(ctx, site, func(h *yore.History) error { return refresh(ctx, h, job.Times) })
	case "refresh":
		return withHistory(ctx, site, func(h *yore.History) error { return refresh(ctx, h, job.Times) })
	case "append":
		return withHistory(ctx, site, func(h *yore.History) error { return grow(ctx, h, site, job) })
	}
	for _, s := range searches() {
		if s.name == job.Phase {
			return withHistory(ctx, site, func(h *yore.History) error {
				for range job.Times {
					if err := find(ctx, h, site, s); err != nil {
						return err
					}
				}
				return nil
			})
		}
	}
	return fmt.Errorf("unknown phase %q", job.Phase)
}

func open(ctx context.Context, site Site) (*yore.History, error) {
	return yore.Open(ctx, yore.Options{
		Sources:  []yore.Source{{Agent: site.Agent, Root: site.Root}},
		IndexDir: site.Index,
	})
}

func withHistory(ctx context.Context, site Site, do func(*yore.History) error) error {
	h, err := open(ctx, site)
	if err != nil {
		return err
	}
	return errors.Join(do(h), h.Close())
}

// readAll reads every log of the corpus once and, if asked, folds it.
func readAll(ctx context.Context, site Site, fold bool) error {
	r := readers()[site.Agent]
	events := int64(0)
	err := filepath.WalkDir(site.Root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		header, err := r.Identify(ctx, site.Root, path)
		if err != nil {
			return err
		}
		var f session.Fold
		src := reader.Source{Agent: site.Agent, Root: site.Root, Path: path, Header: header}
		tail, err := r.Read(ctx, src, reader.Position{}, func(e session.Event) error {
			if !fold {
				return nil
			}
			_, err := f.Apply(&e)
			return err
		})
		events += tail.Position.Next
		return err
	})
	if err == nil && events < site.Events {
		err = fmt.Errorf("%d events read, %d are there", events, site.Events)
	}
	return err
}

// refresh brings the whole corpus up to date, as often as asked.
func refresh(ctx context.Context, h *yore.History, times int) error {
	for range times {
		coverage, err := h.Refresh(ctx, session.Scope{All: true}, nil)
		if err != nil {
			return err
		}
		if coverage.Behind > 0 || coverage.Unreadable > 0 {
			return fmt.Errorf("incomplete: %+v", coverage)
		}
	}
	return nil
}

// grow appends piece after piece to the largest log and searches each at once.
func grow(ctx context.Context, h *yore.History, site Site, job Job) error {
	for i := job.First; i < job.First+job.Times; i++ {
		if i >= len(site.Appends) {
			return fmt.Errorf("no piece %d to append", i)
		}
		piece, err := os.ReadFile(site.Appends[i])
		if err != nil {
			return err
		}
		log, err := os.OpenFile(site.Largest, os.O_WRONLY|os.O_APPEND, 0)
		if err != nil {
			return err
		}
		_, err = log.Write(piece)
		if err := errors.Join(err, log.Close()); err != nil {
			return err
		}
		if err := find(ctx, h, site, search{"append", appendText(i), true}); err != nil {
			return err
		}
	}
	return nil
}

// find asks as an agent in the busiest workspace would.
func find(ctx context.Context, h *yore.History, site Site, s search) error {
	view, err := h.View(ctx, authz.Caller{Workspace: site.Workspace})
	if err != nil {
		return err
	}
	page, err := view.SearchSessions(ctx, query.SessionSearch{Query: s.query, Limit: 20})
	if err != nil {
		return err
	}
	if found := len(page.Hits) > 0; found != s.hits {
		return fmt.Errorf("search %q: %d hits", s.query, len(page.Hits))
	}
	return nil
}
