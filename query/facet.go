package query

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/yorehq/yore/session"
)

// Facet is one value of a facet and how much of a search's answer has it.
type Facet struct {
	Value     string
	Documents int // events that hold the query literally
	Sessions  int // sessions with at least one of them
}

// Facets are the counts beside a search: how many events hold the query
// literally, and how they are spread. Agents, types, states and days are
// counted as if the filter on that facet alone were not there, so that each
// value says what choosing it would give; the sums are those of the whole
// request. Workspaces are those of the scope.
type Facets struct {
	Documents, Sessions int

	Agents     []Facet // most events first, then by name, as are the next three
	Workspaces []Facet // "" is the one of sessions without a workspace
	Types      []Facet
	States     []Facet
	Days       []Facet // 2006-01-02 in the zone that was asked for, ascending

	Coverage session.Coverage
	Masked   int // credentials in values that are masked
}

// Facets counts the events that SearchSessions ranks for the same request with
// the match Literal. Limit, Cursor, Match and Order are not looked at. zone says
// where a day begins; nil is UTC.
func (e *Engine) Facets(ctx context.Context, req SessionSearch, zone *time.Location) (Facets, error) {
	return steady(ctx, func() (Facets, error) { return e.facets(ctx, req, zone) })
}

func (e *Engine) facets(ctx context.Context, req SessionSearch, zone *time.Location) (f Facets, err error) {
	req.Match, req.Order, req.Limit, req.Cursor = Literal, Matches, 1, ""
	phrase, err := prepare(&req.Query, &req.Match, &req.Order, req.Limit)
	if err != nil {
		return f, err
	}
	if zone == nil {
		zone = time.UTC
	}
	req.Sessions, req.Events = req.Sessions.normal(), req.Events.normal()
	if err := e.searchable(); err != nil {
		return f, err
	}
	if f.Coverage, err = e.refresh(ctx, req.Sessions.Scope, req.Progress); err != nil {
		return f, err
	}
	vs, err := e.openViews(ctx, req.Sessions.Scope)
	if err != nil {
		return f, err
	}
	defer func() { err = errors.Join(err, vs.Close()) }()
	if err := vs.unambiguous(req.Sessions.IDs); err != nil {
		return f, err
	}
	vs.cover(&f.Coverage, newSieve(&req.Sessions))
	// The search itself decides what passes; a facet with a filter of its own is
	// counted by a second search without it.
	search := func(sessions SessionFilter, events EventFilter) ([]*hit, error) {
		s := &search{views: vs, phrase: phrase, order: req.Order, events: events, hideInherited: !req.Inherited}
		s.allow = newSieve(&sessions).passes
		return s.literal(ctx)
	}
	all, err := search(req.Sessions, req.Events)
	if err != nil {
		return f, err
	}
	f.Documents = len(all)
	f.Sessions = len(bestPerSession(all))
	without := func(filtered bool, drop func(*SessionFilter, *EventFilter)) ([]*hit, error) {
		if !filtered {
			return all, nil
		}
		sessions, events := req.Sessions, req.Events
		drop(&sessions, &events)
		return search(sessions, events)
	}
	count := func(hits []*hit, err error, value func(*hit) (string, error)) ([]Facet, error) {
		if err != nil {
			return nil, err
		}
		return facet(hits, value)
	}
	hits, err := without(req.Sessions.Agents != nil, func(s *SessionFilter, _ *EventFilter) { s.Agents = nil })
	if f.Agents, err = count(hits, err, func(h *hit) (string, error) { return string(h.session.row.Header.Agent), nil }); err != nil {
		return f, err
	}
	if f.Workspaces, err = count(all, nil, func(h *hit) (string, error) { return h.session.row.Header.Cwd, nil }); err != nil {
		return f, err
	}
	hits, err = without(req.Events.Types != nil, func(_ *SessionFilter, ev *EventFilter) { ev.Types = nil })
	if f.Types, err = count(hits, err, func(h *hit) (string, error) { return h.doc.Type, nil }); err != nil {
		return f, err
	}
	hits, err = without(req.Events.States != nil, func(_ *SessionFilter, ev *EventFilter) { ev.States = nil })
	if f.States, err = count(hits, err, func(h *hit) (string, error) {
		state, err := h.view.stateOf(ctx, h.doc)
		return state.String(), err
	}); err != nil {
		return f, err
	}
	hits, err = without(req.Events.Time != Range{}, func(_ *SessionFilter, ev *EventFilter) { ev.Time = Range{} })
	f.Days, err = count(hits, err, func(h *hit) (string, error) {
		return time.UnixMilli(h.doc.Time).In(zone).Format(time.DateOnly), nil
	})
	slices.SortFunc(f.Days, func(a, b Facet) int { return cmp.Compare(a.Value, b.Value) })
	vs.bound(&f.Coverage)
	return f, err
}

// facet counts hits by a value.
func facet(hits []*hit, value func(*hit) (string, error)) ([]Facet, error) {
	type seen struct {
		value   string
		session *entry
	}
	counts, known := map[string]Facet{}, map[seen]bool{}
	for _, h := range hits {
		v, err := value(h)
		if err != nil {
			return nil, err
		}
		c := counts[v]
		c.Value = v
		c.Documents++
		if at := (seen{v, h.session}); !known[at] {
			known[at] = true
			c.Sessions++
		}
		counts[v] = c
	}
	return slices.SortedFunc(maps.Values(counts), func(a, b Facet) int {
		return cmp.Or(cmp.Compare(b.Documents, a.Documents), cmp.Compare(a.Value, b.Value))
	}), nil
}
