package query

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/yorehq/yore/fault"
	"github.com/yorehq/yore/internal/document"
)

// fill is how many results the automatic match wants: fewer literal ones are
// filled up with partial ones.
const fill = 10

// prepare checks and normalizes the parts that both searches share, so that a
// cursor fits however its request is spelled, and returns the query's tokens.
func prepare(query *string, match *Match, order *Order, limit int) ([]string, error) {
	normal, err := document.NormalizeQuery(*query)
	if err != nil {
		return nil, err
	}
	*query = normal
	if *match == "" {
		*match = Auto
	}
	if *order == "" {
		*order = Relevance
	}
	switch {
	case *match != Auto && *match != Literal:
		return nil, fault.New(fault.InvalidFilter, "match is %q: want auto or literal", *match)
	case *order != Relevance && *order != Matches:
		return nil, fault.New(fault.InvalidFilter, "order is %q: want relevance or matches", *order)
	}
	if err := checkLimit(limit); err != nil {
		return nil, err
	}
	return document.Terms(normal), nil
}

// searchable fails while search is turned off.
func (e *Engine) searchable() error {
	if e.Search == SearchNever {
		return fmt.Errorf("%w: search is turned off", fault.SearchDisabled)
	}
	return nil
}

// SearchSessions returns the sessions that hold the query, each with its
// strongest event. A query without any token finds nothing.
func (e *Engine) SearchSessions(ctx context.Context, req SessionSearch) (SessionPage, error) {
	return steady(ctx, func() (SessionPage, error) { return e.searchSessions(ctx, req) })
}

func (e *Engine) searchSessions(ctx context.Context, req SessionSearch) (page SessionPage, err error) {
	cursor := req.Cursor
	req.Cursor = ""
	phrase, err := prepare(&req.Query, &req.Match, &req.Order, req.Limit)
	if err != nil {
		return page, err
	}
	req.Sessions, req.Events = req.Sessions.normal(), req.Events.normal()
	if err := e.searchable(); err != nil {
		return page, err
	}
	if page.Coverage, err = e.refresh(ctx, req.Sessions.Scope, req.Progress); err != nil {
		return page, err
	}
	vs, err := e.openViews(ctx, req.Sessions.Scope)
	if err != nil {
		return page, err
	}
	defer func() { err = errors.Join(err, vs.Close()) }()
	state := vs.state()
	offset, err := e.open(cursor, req, state)
	if err != nil {
		return page, err
	}
	if err := vs.unambiguous(req.Sessions.IDs); err != nil {
		return page, err
	}
	s := &search{views: vs, phrase: phrase, order: req.Order, events: req.Events, hideInherited: !req.Inherited}
	chosen := newSieve(&req.Sessions)
	s.allow = chosen.passes
	vs.cover(&page.Coverage, chosen)
	ranked, literal, err := s.sessions(ctx, req.Match, offset+req.Limit+1)
	if err != nil {
		return page, err
	}
	vs.bound(&page.Coverage)
	for i := offset; i < min(len(ranked), offset+req.Limit); i++ {
		best, err := e.eventHit(ctx, s, ranked[i], i >= literal)
		if err != nil {
			return page, err
		}
		info, err := ranked[i].view.info(ctx, ranked[i].session, false)
		if err != nil {
			return page, err
		}
		page.Hits = append(page.Hits, SessionHit{Info: info, Best: best, Forks: s.forks(ranked[i])})
	}
	if page.More = len(ranked) > offset+req.Limit; page.More {
		page.Next, err = e.seal(req, state, offset+req.Limit)
	}
	return page, err
}

// SearchEvents returns the matching events of one session.
func (e *Engine) SearchEvents(ctx context.Context, at Located, req EventSearch) (EventPage, error) {
	return steady(ctx, func() (EventPage, error) { return e.searchEvents(ctx, at, req) })
}

func (e *Engine) searchEvents(ctx context.Context, at Located, req EventSearch) (page EventPage, err error) {
	cursor := req.Cursor
	req.Cursor = ""
	phrase, err := prepare(&req.Query, &req.Match, &req.Order, req.Limit)
	if err != nil {
		return page, err
	}
	req.Events = req.Events.normal()
	if err := e.searchable(); err != nil {
		return page, err
	}
	vs, v, en, coverage, err := e.openSession(ctx, at, req.Progress)
	if err != nil {
		return page, err
	}
	defer func() { err = errors.Join(err, vs.Close()) }()
	page.Coverage = coverage
	if page.Info, err = v.info(ctx, en, req.Own); err != nil {
		return page, err
	}
	state := vs.state()
	offset, err := e.open(cursor, req, state)
	if err != nil {
		return page, err
	}
	s := &search{views: views{v}, phrase: phrase, order: req.Order, events: req.Events, only: en, own: req.Own}
	s.allow = func(x *entry) bool { return x == en }
	page.Coverage.Clipped = int(en.row.Clipped)
	ranked, literal, err := s.documents(ctx, req.Match, offset+req.Limit+1)
	if err != nil {
		return page, err
	}
	for i := offset; i < min(len(ranked), offset+req.Limit); i++ {
		h, err := e.eventHit(ctx, s, ranked[i], i >= literal)
		if err != nil {
			return page, err
		}
		page.Hits = append(page.Hits, h)
	}
	if page.More = len(ranked) > offset+req.Limit; page.More {
		page.Next, err = e.seal(req, state, offset+req.Limit)
	}
	return page, err
}

// eventHit makes the public form of a ranked document.
func (e *Engine) eventHit(ctx context.Context, s *search, h *hit, partial bool) (EventHit, error) {
	text, err := h.view.snap.Text(ctx, h.doc.Doc)
	if err != nil {
		return EventHit{}, err
	}
	state, err := h.view.stateOf(ctx, h.doc)
	if err != nil {
		return EventHit{}, err
	}
	out := EventHit{
		Seq: h.doc.Seq, Type: h.doc.Type, State: state, Time: h.doc.Time,
		Count: int(h.count), Partial: partial, Clipped: h.doc.Clipped,
	}
	out.Snippet, out.Masked = e.snippet(text, s.firstMatch(text, partial), h.doc.Clipped)
	if s.order == Relevance {
		out.Score = h.score
	}
	return out, nil
}

// firstMatch is where the snippet should look: the first span of the phrase, or
// the first occurrence of the rarest token that a partial hit holds.
func (s *search) firstMatch(text string, partial bool) int {
	if !partial {
		at, _ := document.First(text, s.phrase)
		return at
	}
	at, best := 0, len(s.rarest)
	for t := range document.Tokens(text) {
		if r := slices.Index(s.rarest[:best], t.Text); r >= 0 {
			at, best = t.Start, r
		}
		if best == 0 {
			break
		}
	}
	return at
}
