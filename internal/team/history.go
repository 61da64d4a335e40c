package team

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/yorehq/yore/authz"
	"github.com/yorehq/yore/fault"
	"github.com/yorehq/yore/query"
	"github.com/yorehq/yore/session"
)

// History is what the team's server knows, in the terms in which this machine's own
// history answers, for what shows the two beside each other. Ids of its sessions
// carry Prefix; their workspaces are called as the server calls them. A server that
// does not answer is a failure with a sentence for the person, by the deadline that
// it has.
type History struct {
	Server *Server

	// Name is what a workspace of this machine is called on the server.
	Name func(workspace string) string
}

// ErrFilter is the failure of a search or list with a filter that the server does
// not have.
var ErrFilter = errors.New("the team is not asked: it cannot filter by session, parent, agent or availability")

// Found is what the team has found.
type Found struct {
	Hits     []authz.SessionHit // of a search, in its order
	Sessions []query.Info       // of a list, newest first
	More     bool
	Coverage session.Coverage
}

// names are the workspaces that a scope asks for; nil: all that the token holds.
func (h *History) names(s session.Scope) []string {
	var names []string
	for _, w := range s.Workspaces {
		if name := h.Name(w); !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// Search searches the team's sessions. Of a request it takes the query, how it
// matches, filters and the limit; the order is the server's (relevance).
func (h *History) Search(ctx context.Context, req query.SessionSearch) (f Found, err error) {
	args, ok := Arguments(req.Query, req.Match, req.Sessions, req.Events)
	if !ok {
		return f, ErrFilter
	}
	if req.Match == "" {
		args["match"] = string(query.Auto)
	}
	args["limit"] = req.Limit
	lines, err := h.lines(ctx, "search", args, h.names(req.Sessions.Scope)...)
	if err != nil {
		return f, err
	}
	var end coverageLine
	if f.Hits, end, err = hitsOf(lines); err == nil {
		f.More, f.Coverage = end.More, end.coverage()
	}
	return f, err
}

// List lists the team's newest sessions, up to limit of them.
func (h *History) List(ctx context.Context, s query.SessionFilter, limit int) (f Found, err error) {
	args, ok := Arguments("", "", s, query.EventFilter{})
	if !ok {
		return f, ErrFilter
	}
	delete(args, "query")
	delete(args, "match")
	args["limit"] = limit
	lines, err := h.lines(ctx, "list", args, h.names(s.Scope)...)
	if err == nil {
		f.Sessions, f.More = Sessions(lines)
	}
	return f, err
}

// lines asks one of the server's JSON forms. What fails is for a person to read.
func (h *History) lines(ctx context.Context, what string, args map[string]any, workspaces ...string) ([]byte, error) {
	began := time.Now()
	lines, err := h.Server.Lines(ctx, what, Parameters(args), workspaces...)
	switch {
	case err == nil:
		return lines, nil
	case ctx.Err() != nil:
		return nil, ctx.Err() // nobody waits for it any more
	}
	return nil, h.Server.Failure(err, time.Since(began))
}

// Failure is a failure of asking as one with a code and a sentence for a person.
func (s *Server) Failure(err error, waited time.Duration) error {
	if code, ok := fault.Of(err); ok {
		return fault.New(code, "%s", err.Error())
	}
	return fault.New(fault.Timeout, "%s", s.Excuse(err, waited))
}

// Ours reports whether a session is the team's, by its id.
func Ours(k session.Key) bool {
	_, ours := Split(string(k.ID))
	return ours
}
