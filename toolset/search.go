package toolset

import (
	"context"
	"errors"

	"github.com/yorehq/yore/authz"
	"github.com/yorehq/yore/fault"
	"github.com/yorehq/yore/internal/render"
	"github.com/yorehq/yore/query"
)

// searchSessions checks in this order: caller, its workspace, query,
// session_ids, created_at, availability, the event filters, the parents.
func (s *Set) searchSessions(ctx context.Context, call Call, a args) (string, any, error) {
	view, err := s.view(ctx, call)
	if err != nil {
		return "", nil, err
	}
	if err := view.MaySearch(); errors.Is(err, fault.Unauthorized) {
		return "", nil, refuse(fault.Unauthorized, "the caller has no workspace, so no session but its own can be searched: call session_event_search without session_id")
	} else if err != nil {
		return "", nil, err
	}
	req := query.SessionSearch{
		Match: s.match(a), Order: s.options.Order, Inherited: s.options.Inherited,
		Limit: s.options.MaxSearchResults, Progress: call.Progress,
	}
	if req.Query, err = a.queryText(); err != nil {
		return "", nil, err
	}
	if req.Sessions, err = a.sessionFilter(); err != nil {
		return "", nil, err
	}
	if req.Events, err = a.eventFilter("event_seq", "event_time", "event_surfaces"); err != nil {
		return "", nil, err
	}
	parents, err := a.some("parent_session_ids")
	if err != nil {
		return "", nil, err
	}
	if parents != nil {
		if req.Sessions.Parents, err = view.Parents(ctx, parents); err != nil {
			return "", nil, err
		}
		if len(req.Sessions.Parents) == 0 && !req.Sessions.Roots {
			// Nothing can match, and no search may tell a missing parent from
			// a foreign one.
			none := &SessionsResult{}
			return render.SessionsText(*none, s.budget(call)), none, nil
		}
	}
	page, err := view.SearchSessions(ctx, req)
	if err != nil {
		return "", nil, err
	}
	out := &SessionsResult{Hits: page.Hits, Capped: page.More, Shared: page.Shared, Coverage: page.Coverage}
	return render.SessionsText(*out, s.budget(call)), out, nil
}

// searchEvents checks in this order: caller, target, query, sequence bounds,
// the own session's step, then (after an empty window has been answered) times,
// types and surfaces.
func (s *Set) searchEvents(ctx context.Context, call Call, a args) (string, any, error) {
	grant, err := s.target(ctx, call, a)
	if err != nil {
		return "", nil, err
	}
	req := query.EventSearch{
		Match: s.match(a), Order: s.options.Order,
		Limit: s.options.MaxSearchResults, Progress: call.Progress,
	}
	if req.Query, err = a.queryText(); err != nil {
		return "", nil, err
	}
	seqs, err := a.seqRange("seq")
	if err != nil {
		return "", nil, err
	}
	if grant.Own() {
		step, err := grant.CurrentStep(ctx)
		if err != nil {
			return "", nil, err
		}
		// A search must not find the step that is making it.
		if last := step - 1; seqs.To == nil || last < *seqs.To {
			seqs.To = &last
		}
		if seqs.Empty() || *seqs.To < 0 {
			info, err := grant.Info(ctx)
			if err != nil {
				return "", nil, err
			}
			none := &EventsResult{Info: info}
			return render.EventsText(*none, s.budget(call)), none, nil
		}
	}
	if req.Events, err = a.eventFilter("", "time", "surfaces"); err != nil {
		return "", nil, err
	}
	req.Events.Seq = seqs
	page, err := grant.SearchEvents(ctx, req)
	if err != nil {
		return "", nil, err
	}
	out := &EventsResult{Info: page.Info, Hits: page.Hits, Capped: page.More, Coverage: page.Coverage}
	return render.EventsText(*out, s.budget(call)), out, nil
}

// budget is how many bytes the text of a search may have; 0: no limit.
func (s *Set) budget(call Call) int {
	own := max(0, s.options.SearchBytes)
	if own == 0 || call.InlineBytes == 0 {
		return own + call.InlineBytes
	}
	return min(own, call.InlineBytes)
}

// view is the corpus as the caller may see it.
func (s *Set) view(ctx context.Context, call Call) (*authz.View, error) {
	view, err := s.views.View(ctx, call.Caller)
	if call.Caller.Workspace == "" && call.Caller.Session == nil && errors.Is(err, fault.MissingAgent) {
		return nil, refuse(fault.MissingAgent, "nobody is known to be behind this call: the host must name a workspace or a session")
	}
	return view, err
}

// target authorizes the session that a call names, or the caller's own.
func (s *Set) target(ctx context.Context, call Call, a args) (*authz.Grant, error) {
	view, err := s.view(ctx, call)
	if err != nil {
		return nil, err
	}
	if id, ok := a.text("session_id"); ok {
		return view.Target(ctx, &id)
	}
	return view.Target(ctx, nil)
}

func (s *Set) match(a args) query.Match {
	if m, ok := a.text("match"); ok {
		return query.Match(m)
	}
	return s.options.Match
}

// sessionFilter reads session_ids, created_at and availability, in this order.
func (a args) sessionFilter() (f query.SessionFilter, err error) {
	if f.IDs, err = a.some("session_ids"); err != nil {
		return f, err
	}
	if f.CreatedAt, err = a.timeRange("created_at"); err != nil {
		return f, err
	}
	where, err := a.some("availability")
	for _, w := range where {
		f.Availability = append(f.Availability, query.Availability(w))
	}
	f.Roots = a.flag("include_root_sessions")
	return f, err
}

// eventFilter reads sequence numbers (under the name seq, "" for none), times,
// event_types and surfaces, in this order.
func (a args) eventFilter(seq, time, surfaces string) (f query.EventFilter, err error) {
	if seq != "" {
		if f.Seq, err = a.seqRange(seq); err != nil {
			return f, err
		}
	}
	if f.Time, err = a.timeRange(time); err != nil {
		return f, err
	}
	if f.Types, err = a.some("event_types"); err != nil {
		return f, err
	}
	f.States, err = a.states(surfaces)
	return f, err
}
