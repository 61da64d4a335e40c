package serve

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"time"

	"github.com/yorehq/yore/authz"
	"github.com/yorehq/yore/fault"
	"github.com/yorehq/yore/internal/identity"
	"github.com/yorehq/yore/internal/mask"
	"github.com/yorehq/yore/internal/mcpserver"
	"github.com/yorehq/yore/query"
	"github.com/yorehq/yore/session"
	"github.com/yorehq/yore/toolset"
)

// seat is what one token has in front of it: the tools over its workspaces. It
// implements what toolset and mcpserver ask for, and everything in it follows
// from the token; a call can say nothing that changes it.
type seat struct {
	server    *Server
	principal Principal
	engine    *query.Engine
	set       *toolset.Set
	mcp       http.Handler
}

// maxSeats bounds how many are kept; making one anew costs about a millisecond.
const maxSeats = 4096

// seatOf returns the seat of a principal.
func (s *Server) seatOf(p Principal) (*seat, error) {
	key := p.Token + "\x00" + strings.Join(p.Workspaces, "\x00")
	s.mu.Lock()
	known := s.seats[key]
	s.mu.Unlock()
	if known != nil {
		return known, nil
	}
	made := &seat{server: s, principal: p}
	h := s.Store.History(p.Tenant, p.Workspaces)
	// No log is here that could have grown: everything is searchable once it is taken in.
	var err error
	if made.engine, err = query.New(query.Config{Disk: query.Corpus{Store: h, Logs: h, Refresher: upToDate{}}, Logger: s.Logger}); err != nil {
		return nil, err
	}
	if made.set, err = toolset.New(made, toolset.Options{SearchTimeout: s.Deadline, Logger: s.Logger}); err != nil {
		return nil, err
	}
	made.mcp, err = mcpserver.Handler(mcpserver.Options{Tools: made, Callers: made, Version: s.Version, Logger: s.Logger}, true)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.seats) >= maxSeats {
		clear(s.seats)
	}
	s.seats[key] = made
	return made, nil
}

// upToDate is the refresher of what is always up to date.
type upToDate struct{}

func (upToDate) Refresh(ctx context.Context, _ session.Scope, _ func(done, total int)) (session.Coverage, error) {
	return session.Coverage{}, ctx.Err()
}

// nowhere is the workspace of a token that was narrowed to nothing: no session
// has it, since a NUL is in no path.
const nowhere = "\x00"

// caller is who stands behind every call of the seat.
func (t *seat) caller() authz.Caller {
	if len(t.principal.Workspaces) == 0 {
		return authz.Caller{Workspace: nowhere}
	}
	return authz.Caller{Workspace: t.principal.Workspaces[0]}
}

// View implements toolset.Views. Whoever is said to call, it is the token.
func (t *seat) View(ctx context.Context, _ authz.Caller) (*authz.View, error) {
	return authz.New(ctx, t.engine, authz.Repository, t, t.caller())
}

// Same implements authz.Resolver: a token's workspaces are one to it.
func (t *seat) Same(context.Context, string, func(context.Context) ([]string, error)) ([]string, error) {
	return t.principal.Workspaces, nil
}

// Caller implements mcpserver.Callers.
func (t *seat) Caller(context.Context, identity.Call) (identity.Caller, error) {
	return identity.Caller{Workspace: t.caller().Workspace}, nil
}

// Call implements mcpserver.Tools: it is put on record that something is asked,
// and then it is answered.
func (t *seat) Call(ctx context.Context, call toolset.Call) toolset.Outcome {
	call.Caller = t.caller()
	if err := t.server.record(ctx, t.principal, call.Tool, call.Args); err != nil {
		t.server.Logger.Error("the audit log failed", "error", err)
		return toolset.Outcome{Err: &toolset.Failure{Code: fault.IndexFailed, Message: fault.Sentence(fault.IndexFailed)}}
	}
	began := time.Now()
	out := t.set.Call(ctx, call)
	t.server.meters.call(call.Tool, out.Err == nil, time.Since(began))
	return out
}

// maxDetail is how much of what was asked is put on record, in bytes.
const maxDetail = 2000

var detailMask = mask.New()

// record puts a request on record. Credentials in it are masked.
func (s *Server) record(ctx context.Context, p Principal, action string, detail json.RawMessage) error {
	masked, _ := detailMask.JSON(detail)
	text := strings.ToValidUTF8(string(masked[:min(len(masked), maxDetail)]), "")
	return s.Audit.Record(ctx, Record{
		Time: time.Now(), Token: p.Token, Tenant: p.Tenant, Person: p.Person, Action: action,
		Detail: strings.ReplaceAll(text, "\x00", ""), Outcome: "asked",
	})
}
