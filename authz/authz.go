// Package authz owns the question who may see what: from a caller and a policy
// it makes a View, and no surface reaches the engine except through one.
//
// The caller comes from the host, never from an argument. Rules (exact policy):
// a session is visible when its workspace equals the caller's as an exact
// string; the caller's own session is always visible to it; a caller without a
// workspace sees only its own session; no identity at all fails closed. Missing
// and forbidden targets give the same failure after the same work. Every
// direct target is authorized before anything of it is read, and again on the
// header that came back in the same observation as the payload.
//
// Under the repository policy the caller's workspace stands for a set of
// workspaces that are proved to be the same one; everything else is as above.
// The set is found once, when the view is made.
//
// The package reads no index, no log and no workspace itself. Start at View.
package authz

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/yorehq/yore/fault"
	"github.com/yorehq/yore/query"
	"github.com/yorehq/yore/session"
)

// Caller is who is behind a call, as the host tells. It is a label that
// narrows, never a right that widens.
type Caller struct {
	Workspace string       // absolute directory, compared as an exact string; "": none known
	Session   *session.Key // the caller's own session; nil: unknown
}

// Policy says how far a caller's sight reaches.
type Policy uint8

// The policies.
const (
	Exact      Policy = iota // the caller's own workspace
	Owner                    // every workspace: the person whose history it is, at their own terminal
	Repository               // the workspaces that a Resolver proves to be the caller's own
)

// Resolver proves which workspaces are the same one. What it says is believed.
type Resolver interface {
	// Same returns those of the candidates that are the same workspace as the
	// caller's, which may be among the result and counts in any case. What is in
	// doubt is left out. It fails only where no answer can be given at all.
	Same(ctx context.Context, workspace string, candidates func(context.Context) ([]string, error)) ([]string, error)
}

// View is the corpus as one caller may see it. It is safe for concurrent use.
type View struct {
	engine     *query.Engine
	policy     Policy
	caller     Caller
	workspaces []string // that the caller may see, sorted; none for one without a workspace
}

// New makes a view. But for the owner, a caller with neither a workspace nor a
// session is refused with fault.MissingAgent. The resolver is asked under the
// repository policy alone and may be nil otherwise; its failures are returned.
func New(ctx context.Context, engine *query.Engine, policy Policy, resolver Resolver, caller Caller) (*View, error) {
	if policy != Owner && caller.Workspace == "" && caller.Session == nil {
		return nil, fmt.Errorf("%w: no caller identity", fault.MissingAgent)
	}
	v := &View{engine: engine, policy: policy, caller: caller}
	if caller.Workspace == "" {
		return v, nil
	}
	v.workspaces = []string{caller.Workspace}
	if policy != Repository {
		return v, nil
	}
	if resolver == nil {
		return nil, fault.New(fault.InvalidConfig, "the repository policy needs a resolver")
	}
	same, err := resolver.Same(ctx, caller.Workspace, engine.Workspaces)
	if err != nil {
		return nil, err
	}
	v.workspaces = append(v.workspaces, same...)
	slices.Sort(v.workspaces)
	v.workspaces = slices.Compact(v.workspaces)
	return v, nil
}

// AsIndexed returns a view with the same rights that answers from what the
// index holds and never looks at the logs for what is new (query.Engine.AsIndexed).
func (v *View) AsIndexed() *View {
	still := *v
	still.engine = v.engine.AsIndexed()
	return &still
}

// Caller returns who the view was made for.
func (v *View) Caller() Caller { return v.caller }

// own reports whether t is the caller's own session.
func (v *View) own(t query.Target) bool {
	return v.caller.Session != nil && t.Key == *v.caller.Session && t.Workspace == v.caller.Workspace
}

// sees reports whether a session is visible.
func (v *View) sees(h session.Header) bool {
	switch {
	case v.policy == Owner, v.own(query.TargetOf(h)):
		return true
	}
	return slices.Contains(v.workspaces, h.Cwd)
}

// reach returns the workspaces that any visible session is of; nil: all.
func (v *View) reach() []string {
	switch {
	case v.policy == Owner:
		return nil
	case v.caller.Workspace == "":
		return []string{""} // the caller's own session has none either
	}
	return v.workspaces
}

// scope narrows a requested scope to what the view may search.
func (v *View) scope(asked session.Scope) (session.Scope, error) {
	if v.policy == Owner {
		if len(asked.Workspaces) == 0 {
			asked.All = true
		}
		return asked, nil
	}
	if v.caller.Workspace == "" {
		return session.Scope{}, fmt.Errorf("%w: the caller has no workspace", fault.Unauthorized)
	}
	return session.Scope{Workspaces: slices.Clone(v.workspaces)}, nil
}

// MaySearch fails with fault.Unauthorized where SearchSessions would: a caller
// without a workspace sees no session but its own.
func (v *View) MaySearch() error {
	_, err := v.scope(session.Scope{})
	return err
}

// Complete returns what finishes the last word of a query that is being typed;
// "" where there is nothing to add. It is the owner's alone, since it draws on
// words of all sessions of a workspace: others get fault.Unauthorized.
func (v *View) Complete(ctx context.Context, asked session.Scope, query string) (string, error) {
	if v.policy != Owner {
		return "", fmt.Errorf("%w: words are completed for the owner alone", fault.Unauthorized)
	}
	scope, err := v.scope(asked)
	if err != nil {
		return "", err
	}
	rest, err := v.engine.Complete(ctx, scope, query)
	return v.completion(query, rest), err
}

// SearchSessions searches the visible sessions; the caller's own is never
// among them. Scope and exclusions of the request are narrowed, never widened.
// A caller without a workspace gets fault.Unauthorized.
func (v *View) SearchSessions(ctx context.Context, req query.SessionSearch) (SessionPage, error) {
	scope, err := v.scope(req.Sessions.Scope)
	if err != nil {
		return SessionPage{}, err
	}
	req.Sessions.Scope = scope
	req.Sessions.Exclude = v.exclude(req.Sessions.Exclude)
	page, err := v.engine.SearchSessions(ctx, req)
	if err != nil {
		return SessionPage{}, err
	}
	out := SessionPage{More: page.More, Next: page.Next, Coverage: page.Coverage}
	var headers []session.Header
	for _, hit := range page.Hits {
		if !v.sees(hit.Info.Header) {
			return SessionPage{}, fmt.Errorf("%w: a hit moved out of the caller's workspace", fault.Unauthorized)
		}
		headers = append(headers, hit.Info.Header)
	}
	parents, err := v.parentsOf(ctx, headers)
	if err != nil {
		return SessionPage{}, err
	}
	s := v.shown()
	for i, hit := range page.Hits {
		hit.Info, hit.Best, parents[i].Key = s.info(hit.Info), s.hit(hit.Best), s.key(parents[i].Key)
		for n := range hit.Forks {
			hit.Forks[n] = s.key(hit.Forks[n])
		}
		out.Hits = append(out.Hits, SessionHit{hit, parents[i]})
	}
	out.Shared = slices.ContainsFunc(headers, func(h session.Header) bool { return h.Agent != headers[0].Agent })
	return out, nil
}

func (v *View) exclude(asked []query.Target) []query.Target {
	if v.caller.Session == nil {
		return asked
	}
	return append(slices.Clone(asked), query.Target{Key: *v.caller.Session, Workspace: v.caller.Workspace})
}

// Parents returns those of the ids that name visible sessions, each once. The
// caller's own id counts as visible.
func (v *View) Parents(ctx context.Context, ids []string) ([]session.Key, error) {
	found, err := v.visible(ctx, ids)
	if err != nil {
		return nil, err
	}
	var keys []session.Key
	seen := map[session.Key]bool{}
	for _, one := range found {
		for _, f := range one {
			if key := f.Header.Key(); !seen[key] {
				seen[key] = true
				keys = append(keys, key)
			}
		}
	}
	return keys, nil
}

// List returns the visible sessions that pass a filter, newest first.
func (v *View) List(ctx context.Context, filter query.SessionFilter, limit int, cursor string) (query.SessionList, error) {
	scope, err := v.scope(filter.Scope)
	if err != nil {
		return query.SessionList{}, err
	}
	filter.Scope = scope
	list, err := v.engine.Sessions(ctx, filter, limit, cursor)
	v.shown().infos(list.Sessions)
	return list, err
}

// Workspaces returns the workspaces that may be seen and have a session, sorted;
// new files are looked for first.
func (v *View) Workspaces(ctx context.Context) ([]string, error) {
	all, err := v.engine.Workspaces(ctx)
	if v.policy != Owner {
		all = slices.DeleteFunc(all, func(w string) bool { return !slices.Contains(v.workspaces, w) })
	}
	s := v.shown()
	for i := range all {
		s.name(&all[i])
	}
	return all, err
}

// Stats counts over the visible sessions that pass a filter; days are those of
// zone (nil: UTC).
func (v *View) Stats(ctx context.Context, filter query.SessionFilter, zone *time.Location) (query.Stats, error) {
	scope, err := v.scope(filter.Scope)
	if err != nil {
		return query.Stats{}, err
	}
	filter.Scope = scope
	stats, err := v.engine.Stats(ctx, filter, zone)
	s := v.shown()
	s.counts(stats.Agents, stats.Workspaces, stats.Types, stats.Tools)
	stats.Masked = s.masked
	return stats, err
}

// visible finds, for each text, the visible sessions that it names: an exact
// native id first, then agent:id. Sessions of the caller's own workspace hide
// those of the same key elsewhere, which no text could name apart.
func (v *View) visible(ctx context.Context, texts []string) ([][]query.Located, error) {
	var ids []session.ID
	for _, text := range texts {
		for _, reading := range query.ReadID(text) {
			ids = append(ids, reading.ID)
		}
	}
	found, failed := v.engine.FindAll(ctx, ids, v.reach())
	if fault.IsContext(failed) {
		return nil, failed
	}
	by := map[session.ID][]query.Located{}
	for _, f := range found {
		by[f.Header.ID] = append(by[f.Header.ID], f)
	}
	out := make([][]query.Located, len(texts))
	for i, text := range texts {
		for _, reading := range query.ReadID(text) {
			for _, f := range by[reading.ID] {
				if (reading.Agent == "" || f.Header.Agent == reading.Agent) && v.sees(f.Header) {
					out[i] = append(out[i], f)
				}
			}
			if out[i] != nil {
				out[i] = v.homeFirst(out[i])
				break
			}
		}
		// It may be where nothing could be read. That another workspace has a session
		// of this id says nothing against it, and must not be noticed.
		if out[i] == nil && failed != nil {
			return nil, failed
		}
	}
	return out, nil
}

// homeFirst leaves out what a session of the caller's own workspace hides.
func (v *View) homeFirst(found []query.Located) []query.Located {
	if v.policy != Repository {
		return found
	}
	home := map[session.Key]bool{}
	for _, f := range found {
		if f.Header.Cwd == v.caller.Workspace {
			home[f.Header.Key()] = true
		}
	}
	return slices.DeleteFunc(found, func(l query.Located) bool {
		return home[l.Header.Key()] && l.Header.Cwd != v.caller.Workspace
	})
}

// Target authorizes a session by id; nil is the caller's own. A session that is
// missing and one that is not visible both give fault.Unauthorized; an own
// session that is not known gives fault.MissingAgent; a bare id that two
// visible sessions share gives fault.InvalidFilter naming both forms.
func (v *View) Target(ctx context.Context, id *string) (*Grant, error) {
	if id == nil {
		return v.ownTarget(ctx)
	}
	named, err := v.visible(ctx, []string{*id})
	if err != nil {
		return nil, err
	}
	found := named[0]
	switch {
	case len(found) == 0:
		return nil, fmt.Errorf("%w: no visible session has this id", fault.Unauthorized)
	case len(found) > 1:
		return nil, v.ambiguous(found)
	}
	return v.grant(found[0]), nil
}

// Session authorizes a session by its exact key and workspace, as an answer
// named it. One that is missing and one that is not visible both give
// fault.Unauthorized.
func (v *View) Session(ctx context.Context, t query.Target) (*Grant, error) {
	found, err := v.engine.FindAll(ctx, []session.ID{t.Key.ID}, v.reach())
	if fault.IsContext(err) {
		return nil, err
	}
	for _, f := range found {
		if query.TargetOf(f.Header) == t && v.sees(f.Header) {
			return v.grant(f), nil
		}
	}
	if err != nil {
		return nil, err
	}
	return nil, fmt.Errorf("%w: no visible session has this key", fault.Unauthorized)
}

func (v *View) ownTarget(ctx context.Context) (*Grant, error) {
	if v.caller.Session == nil {
		return nil, fault.New(fault.MissingAgent, "the caller's own session is not known here: pass session_id (session_search lists the ids of this workspace)")
	}
	found, err := v.engine.Find(ctx, *v.caller.Session, v.reach())
	for _, f := range found {
		if v.own(query.TargetOf(f.Header)) {
			return v.grant(f), nil
		}
	}
	if err != nil {
		return nil, err
	}
	return nil, fault.New(fault.MissingAgent, "the caller's own session has no log yet: pass the session_id of another session")
}

func (v *View) ambiguous(found []query.Located) error {
	text := "several sessions have this id; name one of:"
	apart := slices.ContainsFunc(found, func(f query.Located) bool { return f.Header.Cwd != found[0].Header.Cwd })
	s := v.shown()
	for _, f := range found {
		h := s.header(f.Header)
		text += " " + h.Key().String()
		if apart {
			text += fmt.Sprintf(" (in %q)", h.Cwd)
		}
	}
	return fault.New(fault.InvalidFilter, "%s", text)
}

// parentsOf says for each header what may be shown of its parent.
func (v *View) parentsOf(ctx context.Context, headers []session.Header) ([]Parent, error) {
	out := make([]Parent, len(headers))
	for i, h := range headers {
		if h.ParentSession == "" {
			continue
		}
		out[i].Kind = ParentOutside
		parent, ok, err := v.engine.Parent(ctx, h, v.reach(), v.sees)
		if err != nil {
			return nil, err
		}
		if ok && v.sees(parent) {
			out[i] = Parent{ParentVisible, parent.Key()}
		}
	}
	return out, nil
}
