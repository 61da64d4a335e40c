package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"slices"
	"time"

	"github.com/yorehq/yore"
	"github.com/yorehq/yore/authz"
	"github.com/yorehq/yore/query"
	"github.com/yorehq/yore/session"
)

// work does a job.
func work(ctx context.Context, j job) (map[string]float64, error) {
	s, err := load(j.Site)
	if err != nil {
		return nil, err
	}
	got := map[string]float64{}
	switch j.Phase {
	case "nothing":
		return got, nil
	case "tokens":
		return got, tokenLoop(s)
	case "fold":
		return got, folded(ctx, s, func([]byte) error { return nil })
	case "fts":
		return ftsBaseline(ctx, s)
	case "index":
		if err := os.RemoveAll(s.Index); err != nil {
			return nil, err
		}
		start := time.Now()
		err := withHistory(ctx, s, func(h *yore.History, _ *authz.View) error {
			scope := session.Scope{All: true}
			if s.Workspace != "" {
				scope = session.Scope{Workspaces: []string{s.Workspace}}
			}
			coverage, err := h.Refresh(ctx, scope, func(int, int) {
				if _, told := got["first"]; !told {
					got["first"] = time.Since(start).Seconds()
				}
			})
			if err == nil && (coverage.Behind > 0 || coverage.Unreadable > 0) {
				err = fmt.Errorf("incomplete: %+v", coverage)
			}
			return err
		})
		if err == nil {
			got["postings"], err = postingsOf(s.Index)
		}
		return got, err
	case "counts":
		return counts(ctx, s)
	case "rest":
		return rest(ctx, s)
	case "unpack":
		return got, unpack(s, got)
	}
	return got, withHistory(ctx, s, func(h *yore.History, v *authz.View) error {
		switch j.Phase {
		case "search":
			for i := range j.Times {
				if err := find(ctx, v, query.SessionSearch{Query: s.Phrases[i%len(s.Phrases)], Limit: 20}, true); err != nil {
					return err
				}
			}
			got["files"] = openFiles()
			return nil
		case "phrases":
			return phrases(ctx, v.AsIndexed(), s, j.Times, got)
		case "word":
			return word(ctx, v.AsIndexed(), j.Times, got)
		case "append":
			return grow(ctx, v, s, j, got)
		case "read":
			return reads(ctx, v, s, j.Times, got)
		}
		return fmt.Errorf("unknown phase %q", j.Phase)
	})
}

func withHistory(ctx context.Context, s site, do func(*yore.History, *authz.View) error) error {
	h, err := yore.Open(ctx, yore.Options{Sources: s.Sources, IndexDir: s.Index})
	if err != nil {
		return err
	}
	v, err := h.OwnerView()
	if s.Workspace != "" {
		v, err = h.View(ctx, authz.Caller{Workspace: s.Workspace})
	}
	if err == nil {
		err = do(h, v)
	}
	return errors.Join(err, h.Close())
}

func find(ctx context.Context, v *authz.View, req query.SessionSearch, must bool) error {
	req.Sessions.Scope.All = v.Caller().Workspace == ""
	page, err := v.SearchSessions(ctx, req)
	if err == nil && must && len(page.Hits) == 0 {
		err = fmt.Errorf("search %q: nothing is found", req.Query)
	}
	return err
}

// least is the shortest of several rounds of each of some calls.
type least []time.Duration

func (l *least) took(i int, d time.Duration) {
	for len(*l) <= i {
		*l = append(*l, math.MaxInt64)
	}
	(*l)[i] = min((*l)[i], d)
}

// into notes percentiles, in milliseconds.
func (l least) into(got map[string]float64, name string) {
	all := slices.Sorted(slices.Values(l))
	if len(all) == 0 {
		return
	}
	at := func(p float64) float64 { return float64(all[int(p*float64(len(all)-1))].Microseconds()) / 1000 }
	got[name+" p50"], got[name+" p95"], got[name+" max"] = at(0.5), at(0.95), at(1)
}

// phrases searches for sampled phrases in each order, warm.
func phrases(ctx context.Context, v *authz.View, s site, rounds int, got map[string]float64) error {
	filtered := query.EventFilter{Types: []string{session.ToolResult}}
	var spanned query.EventFilter
	if s.Middle > 0 {
		spanned.Time.From = &s.Middle
	}
	kinds := []struct {
		name string
		req  query.SessionSearch
	}{{"auto", query.SessionSearch{Limit: 20}}, {"auto type", query.SessionSearch{Limit: 20, Events: filtered}}}
	for _, o := range []query.Order{query.Matches, query.Relevance} {
		req := query.SessionSearch{Match: query.Literal, Order: o, Limit: 20}
		add := func(name string, change func(*query.SessionSearch)) {
			r := req
			change(&r)
			kinds = append(kinds, struct {
				name string
				req  query.SessionSearch
			}{string(o) + name, r})
		}
		add("", func(*query.SessionSearch) {})
		add(" type", func(r *query.SessionSearch) { r.Events = filtered })
		add(" time", func(r *query.SessionSearch) { r.Events = spanned })
		if err := inOne(ctx, v, s, o, rounds, got); err != nil {
			return err
		}
	}
	for _, k := range kinds {
		must := k.req.Events.Types == nil && k.req.Events.Time == (query.Range{})
		var times least
		for range rounds {
			for i, p := range s.Phrases {
				k.req.Query = p
				start := time.Now()
				if err := find(ctx, v, k.req, must); err != nil {
					return err
				}
				times.took(i, time.Since(start))
			}
		}
		times.into(got, k.name)
	}
	for _, p := range []struct{ name, query string }{
		{"common", "the"}, {"rare", "obsidian lantern protocol"}, {"cjk", "量子退火"}, {"identifier", "frobnicate_widget_cache"},
		{"path", "/srv/app/internal/zephyr/codec.go"},
	} {
		var times least
		for range max(rounds, 5) {
			start := time.Now()
			req := query.SessionSearch{Query: p.query, Match: query.Literal, Limit: 1} // FTS5 shows none at all
			if err := find(ctx, v, req, false); err != nil {
				return err
			}
			times.took(0, time.Since(start))
		}
		got[p.name] = float64(times[0].Microseconds()) / 1000
	}
	return nil
}

// inOne searches for sampled phrases within the largest session.
func inOne(ctx context.Context, v *authz.View, s site, o query.Order, rounds int, got map[string]float64) error {
	var times least
	id := string(s.Session)
	for range rounds {
		for i, p := range s.Phrases {
			start := time.Now()
			g, err := v.Target(ctx, &id)
			if err == nil {
				_, err = g.SearchEvents(ctx, query.EventSearch{Query: p, Match: query.Literal, Order: o, Limit: 20})
			}
			if err != nil {
				return err
			}
			times.took(i, time.Since(start))
		}
	}
	times.into(got, string(o)+" session")
	return nil
}

// word searches for the most common word in each order, warm.
func word(ctx context.Context, v *authz.View, rounds int, got map[string]float64) error {
	for _, o := range []query.Order{query.Matches, query.Relevance} {
		var times least
		for range rounds {
			start := time.Now()
			if err := find(ctx, v, query.SessionSearch{Query: "the", Match: query.Literal, Order: o, Limit: 20}, true); err != nil {
				return err
			}
			times.took(0, time.Since(start))
		}
		got[string(o)] = float64(times[0].Microseconds()) / 1000
	}
	return nil
}

// reads reads and traces events all over the largest log.
func reads(ctx context.Context, v *authz.View, s site, rounds int, got map[string]float64) error {
	var read, trace least
	id := string(s.Session)
	count := s.Reads
	if count == 0 {
		count = 100
	}
	if s.Seqs == 0 {
		g, err := v.Target(ctx, &id)
		if err != nil {
			return err
		}
		info, err := g.Info(ctx)
		if err != nil {
			return err
		}
		s.Seqs = info.Events
	}
	for range rounds {
		for i := range count {
			seq := s.Seqs * int64(i) / int64(count)
			start := time.Now()
			g, err := v.Target(ctx, &id)
			if err == nil {
				_, err = g.Read(ctx, seq, 0, 0)
			}
			if err != nil {
				return err
			}
			read.took(i, time.Since(start))
			start = time.Now()
			if g, err = v.Target(ctx, &id); err == nil {
				_, err = g.TraceEvent(ctx, seq)
			}
			if err != nil {
				return err
			}
			trace.took(i, time.Since(start))
		}
	}
	read.into(got, "read")
	trace.into(got, "trace")
	return nil
}

// openFiles is how many files the process has open; 0: the system does not tell.
func openFiles() float64 {
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return 0
	}
	return float64(len(entries))
}
