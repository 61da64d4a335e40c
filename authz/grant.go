package authz

import (
	"context"
	"fmt"

	"github.com/yorehq/yore/fault"
	"github.com/yorehq/yore/query"
	"github.com/yorehq/yore/session"
)

// Grant is one session that its view may read. Whatever it returns has been
// authorized again on the header that came with the payload.
type Grant struct {
	view *View
	at   query.Located
}

func (v *View) grant(at query.Located) *Grant { return &Grant{v, at} }

// Header returns the header that was authorized, as it is in truth: to compare and
// to address with. What is shown comes with an answer, masked.
func (g *Grant) Header() session.Header { return g.at.Header }

// Own reports whether it is the caller's own session.
func (g *Grant) Own() bool { return g.view.own(g.target()) }

func (g *Grant) target() query.Target { return query.TargetOf(g.at.Header) }

// again authorizes what came back.
func (g *Grant) again(h session.Header, err error) error {
	switch {
	case err != nil:
		return err
	case query.TargetOf(h) != g.target() || !g.view.sees(h):
		return fmt.Errorf("%w: the session moved while it was read", fault.Unauthorized)
	}
	return nil
}

// Info returns title, availability and size.
func (g *Grant) Info(ctx context.Context) (query.Info, error) {
	info, err := g.view.engine.Info(ctx, g.at, g.Own())
	if err := g.again(info.Header, err); err != nil {
		return query.Info{}, err
	}
	return g.view.shown().info(info), nil
}

// CurrentStep returns the seq at which the step that is making the call
// begins: the latest one of the log. Without any it is fault.NoCurrentStep.
func (g *Grant) CurrentStep(ctx context.Context) (int64, error) {
	return g.view.engine.LatestStep(ctx, g.at)
}

// SearchEvents searches the session's events; the request's target is set here.
func (g *Grant) SearchEvents(ctx context.Context, req query.EventSearch) (query.EventPage, error) {
	req.Target, req.Own = g.target(), g.Own()
	page, err := g.view.engine.SearchEvents(ctx, g.at, req)
	if err := g.again(page.Info.Header, err); err != nil {
		return query.EventPage{}, err
	}
	s := g.view.shown()
	page.Info, page.Hits = s.info(page.Info), s.hits(page.Hits)
	return page, nil
}

// Events lists the session's events that pass a filter, in sequence.
func (g *Grant) Events(ctx context.Context, filter query.EventFilter, limit int, cursor string) (query.EventList, error) {
	list, err := g.view.engine.Events(ctx, g.at, g.Own(), filter, limit, cursor)
	if err := g.again(list.Info.Header, err); err != nil {
		return query.EventList{}, err
	}
	s := g.view.shown()
	list.Info, list.Entries = s.info(list.Info), s.entries(list.Entries)
	return list, nil
}

// Passages returns up to n of the session's passages from an ordinal on, with up
// to points code points of each one's text; see query.Engine.Passages.
func (g *Grant) Passages(ctx context.Context, from, n int64, points int) (query.PassageList, error) {
	list, err := g.view.engine.Passages(ctx, g.at, g.Own(), from, n, points)
	if err := g.again(list.Info.Header, err); err != nil {
		return query.PassageList{}, err
	}
	s := g.view.shown()
	list.Info, list.Passages = s.info(list.Info), s.passages(list.Passages)
	return list, nil
}

// OrdinalOf returns the ordinal of the passage at seq or next to it; see
// query.Engine.OrdinalOf.
func (g *Grant) OrdinalOf(ctx context.Context, seq int64) (int64, error) {
	info, ordinal, err := g.view.engine.OrdinalOf(ctx, g.at, g.Own(), seq)
	if err := g.again(info.Header, err); err != nil {
		return -1, err
	}
	return ordinal, nil
}

// Surface returns the events that are in the model's context, in order.
func (g *Grant) Surface(ctx context.Context) (query.Info, []int64, error) {
	info, seqs, err := g.view.engine.Surface(ctx, g.at, g.Own())
	if err := g.again(info.Header, err); err != nil {
		return query.Info{}, nil, err
	}
	return g.view.shown().info(info), seqs, nil
}

// Read returns one event as it was written, with its neighbours.
func (g *Grant) Read(ctx context.Context, seq, before, after int64) (query.Window, error) {
	w, err := g.view.engine.Read(ctx, g.at, g.Own(), seq, before, after)
	if err := g.again(w.Info.Header, err); err != nil {
		return query.Window{}, err
	}
	s := g.view.shown()
	w.Event = s.raw(w.Event)
	w.Masked = s.masked
	w.Info, w.Entry, w.Before, w.After = s.info(w.Info), s.entry(w.Entry), s.entries(w.Before), s.entries(w.After)
	return w, nil
}

// TraceEvent returns the relations of one event.
func (g *Grant) TraceEvent(ctx context.Context, seq int64) (query.Relations, error) {
	r, err := g.view.engine.TraceEvent(ctx, g.at, g.Own(), seq)
	if err := g.again(r.Info.Header, err); err != nil {
		return query.Relations{}, err
	}
	s := g.view.shown()
	r.Info, r.Event = s.info(r.Info), s.entry(r.Event)
	return r, nil
}

// Trace returns the visible part of the session's lineage: the first ancestor
// that may not be seen ends the chain with a boundary marker, a descendant that
// may not be seen becomes one marker for its whole subtree.
func (g *Grant) Trace(ctx context.Context) (Lineage, error) {
	line, err := g.view.engine.Lineage(ctx, g.at, g.view.reach(), g.view.sees)
	if err := g.again(line.Target, err); err != nil {
		return Lineage{}, err
	}
	out := Lineage{Boundary: line.Missing != ""}
	show := []session.Header{line.Target}
	for _, a := range line.Ancestors {
		if !g.view.sees(a) {
			out.Boundary = true
			break
		}
		show = append(show, a)
	}
	ancestors := len(show) - 1
	hidden := -1 // depth of the hidden subtree we are in
	for _, d := range line.Descendants {
		if hidden >= 0 && d.Depth > hidden {
			continue
		}
		hidden = -1
		if !g.view.sees(d.Header) {
			hidden = d.Depth
			out.Descendants = append(out.Descendants, Kin{Depth: d.Depth, Outside: true})
			continue
		}
		show = append(show, d.Header)
		out.Descendants = append(out.Descendants, Kin{Depth: d.Depth})
	}
	infos, err := g.view.engine.Infos(ctx, show, func(h session.Header) bool { return g.view.own(query.TargetOf(h)) })
	if err != nil {
		return Lineage{}, err
	}
	for i, h := range show {
		if query.TargetOf(infos[i].Header) != query.TargetOf(h) {
			return Lineage{}, fmt.Errorf("%w: a session moved while it was read", fault.Unauthorized)
		}
	}
	g.view.shown().infos(infos)
	out.Target, out.Ancestors = infos[0], infos[1:1+ancestors]
	next := 1 + ancestors
	for i := range out.Descendants {
		if !out.Descendants[i].Outside {
			out.Descendants[i].Info = infos[next]
			next++
		}
	}
	return out, nil
}
