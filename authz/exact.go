package authz

import (
	"context"
	"time"

	"github.com/yorehq/yore/fault"
	"github.com/yorehq/yore/query"
	"github.com/yorehq/yore/session"
)

// Targets authorizes every visible session with a key: more than one only where
// several workspaces have it. None, missing or not visible, is no failure.
func (v *View) Targets(ctx context.Context, key session.Key) ([]*Grant, error) {
	found, err := v.engine.Find(ctx, key, v.reach())
	var grants []*Grant
	for _, f := range found {
		if v.sees(f.Header) {
			grants = append(grants, v.grant(f))
		}
	}
	if grants != nil && !fault.IsContext(err) {
		err = nil // that something cannot be read hides nothing that can
	}
	return grants, err
}

// Facets counts what SearchSessions finds for the same request; the caller's
// own session is not counted, and nothing that it may not see. A caller without
// a workspace gets fault.Unauthorized.
func (v *View) Facets(ctx context.Context, req query.SessionSearch, zone *time.Location) (query.Facets, error) {
	scope, err := v.scope(req.Sessions.Scope)
	if err != nil {
		return query.Facets{}, err
	}
	req.Sessions.Scope = scope
	req.Sessions.Exclude = v.exclude(req.Sessions.Exclude)
	f, err := v.engine.Facets(ctx, req, zone)
	s := v.shown()
	s.facets(f.Agents, f.Workspaces, f.Types)
	f.Masked = s.masked
	return f, err
}

// Replacements returns who took which events off the session's surface: runs,
// ascending and disjoint.
func (g *Grant) Replacements(ctx context.Context) (query.Info, []query.Shadow, error) {
	info, runs, err := g.view.engine.Replacements(ctx, g.at, g.Own())
	if err := g.again(info.Header, err); err != nil {
		return query.Info{}, nil, err
	}
	return g.view.shown().info(info), runs, nil
}
