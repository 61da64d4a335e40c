// Package identity owns the step from what a host tells to who is calling: a
// workspace, and the session in it that makes the call, if that can be known.
//
// Identity is a label that narrows what a call may see and never a right that
// widens it: every id that comes over a wire must name a session of the
// server's own workspace, and where the workspace is in doubt the call is
// refused with a sentence that says what to do. The package knows no protocol
// library and no index; it sees a client's name, metadata, environment and
// process, and asks through the interfaces it declares. Start at Resolver.Caller.
package identity

import (
	"context"
	"encoding/json"
	"log/slog"
	"path/filepath"
	"syscall"
	"time"

	"github.com/yorehq/yore/fault"
	"github.com/yorehq/yore/reader"
	"github.com/yorehq/yore/session"
)

// Finder answers whether a workspace holds a session.
type Finder interface {
	// HasSession reports whether the session of this key is known and its header
	// states exactly this workspace.
	HasSession(ctx context.Context, workspace string, key session.Key) (bool, error)
}

// NewestFinder is what a Finder may offer besides. Without it no id is
// believed that goes stale while its process lives.
type NewestFinder interface {
	// NewestSession returns the agent's session in the workspace whose log was
	// written last, false if there is none.
	NewestSession(ctx context.Context, workspace string, agent session.Agent) (session.Key, bool, error)
}

// CallFinder finds the sessions whose logs hold a call that is being made.
type CallFinder interface {
	// FindCall returns the sessions of exactly this workspace with such a call,
	// each once, in any order.
	FindCall(ctx context.Context, workspace string, call PendingCall) ([]session.Key, error)
}

// Options say what is known of the host before the first call. The zero value
// asks the system for the working directory and knows no sessions.
type Options struct {
	Workspace string // chosen by whoever configured the server; relative to Dir; "": not chosen
	Dir       string // the process's working directory; "": asked from the system
	Getenv    func(string) string
	Finder    Finder       // nil: no session is ever known
	Calls     CallFinder   // nil: no pending calls are looked for
	Logger    *slog.Logger // nil discards

	// Running returns the sessions that processes of their agents have open, by
	// the agents' own registries; nil: none are known.
	Running func(ctx context.Context) (map[session.Key]reader.Process, error)
	// Ancestors returns the processes above this one, the parent first; nil:
	// asked from the system.
	Ancestors func() []int
}

// Resolver tells who is calling. It is safe for concurrent use.
type Resolver struct {
	chosen string // the configured workspace, absolute; "": none
	dir    string // the working directory, absolute; "": not known
	getenv func(string) string
	finder Finder
	calls  CallFinder
	log    *slog.Logger

	running   func(ctx context.Context) (map[session.Key]reader.Process, error)
	ancestors func() []int
}

// New checks the options. A workspace that cannot be made absolute is
// fault.InvalidConfig; everything else that is wrong with the host refuses the
// calls and not the server, so that the agent gets to read why.
func New(o Options) (*Resolver, error) {
	r := &Resolver{dir: o.Dir, getenv: o.Getenv, finder: o.Finder, calls: o.Calls, log: o.Logger, running: o.Running, ancestors: o.Ancestors}
	if r.ancestors == nil {
		r.ancestors = ancestors
	}
	if r.getenv == nil {
		r.getenv = func(string) string { return "" }
	}
	if r.log == nil {
		r.log = slog.New(slog.DiscardHandler)
	}
	if r.dir == "" {
		// Not os.Getwd, which believes $PWD: some hosts hand on a stale one, and
		// agents write the system's own spelling into their logs.
		dir, err := syscall.Getwd()
		if err != nil {
			r.log.Warn("the working directory is not known", "error", err)
		}
		r.dir = dir
	}
	if !filepath.IsAbs(r.dir) {
		r.dir = ""
	}
	if o.Workspace != "" {
		r.chosen = o.Workspace
		if !filepath.IsAbs(r.chosen) {
			if r.dir == "" {
				return nil, fault.New(fault.InvalidConfig, "The workspace is a relative path and the working directory is not known; give an absolute path.")
			}
			r.chosen = filepath.Join(r.dir, r.chosen)
		}
		r.chosen = filepath.Clean(r.chosen)
	}
	return r, nil
}

// Call is what a host tells with one call.
type Call struct {
	Client string         // the client's own name for itself; "": not told
	Meta   map[string]any // the call's metadata as decoded JSON; never written by a model
	Tool   string
	Args   json.RawMessage
	Remote bool // came over a network: this process's folder and environment are not the caller's
}

// Caller is who makes a call.
type Caller struct {
	Workspace string // never empty
	Session   *session.Key
}

// Caller resolves one call. A workspace that is not certain is
// fault.MissingAgent with a sentence for the agent. A session that is not
// certain is no failure, nor is a lookup that fails or takes longer than it
// gives itself: Session is nil. Besides, only the context's own error returns.
func (r *Resolver) Caller(ctx context.Context, call Call) (Caller, error) {
	workspace, err := r.workspace(call)
	if err != nil {
		return Caller{}, err
	}
	caller := Caller{Workspace: workspace}
	for look := 1; ; look++ {
		if caller.Session, err = r.session(ctx, workspace, call); err != nil || caller.Session != nil {
			return caller, err
		}
		if look == looks || !r.patient(call) {
			return caller, nil
		}
		select {
		case <-ctx.Done():
			return Caller{}, ctx.Err()
		case <-time.After(interval):
		}
	}
}

// session is the session that makes a call, nil if that is not certain now.
func (r *Resolver) session(ctx context.Context, workspace string, call Call) (*session.Key, error) {
	for _, rule := range []func(context.Context, string, Call) (*session.Key, error){
		r.byThread, r.byCallID, r.byRegistry, r.byEnvironment, r.byPendingCall,
	} {
		key, err := rule(ctx, workspace, call)
		switch {
		case err != nil && ctx.Err() != nil:
			return nil, ctx.Err()
		case err != nil:
			r.log.Warn("the calling session could not be looked up", "error", err)
		case key != nil:
			return key, nil
		}
	}
	return nil, nil
}
