// Package push sends the sessions of chosen workspaces to a team's server: what
// is new in each, every credential masked before it leaves, in stretches that
// are sent again as often as it takes and applied once.
//
// It owns what is sent and what is remembered of it. It knows no agent and no
// index, and reads agents' folders as an archiver does. What the other end makes
// of a stretch is the server's business. Start at Pusher.Run, then session.go.
package push

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/yorehq/yore/fault"
	"github.com/yorehq/yore/internal/archive"
	"github.com/yorehq/yore/internal/mask"
	"github.com/yorehq/yore/internal/team"
	"github.com/yorehq/yore/reader"
	"github.com/yorehq/yore/session"
)

// Options are what a Pusher is made of. Roots and Workspaces are required.
type Options struct {
	Roots      []archive.Root
	Workspaces map[string]string // of this machine → what each is called on the server; nothing else is ever sent
	Forgets    archive.Forgets   // nil: nothing is forgotten
	Server     *team.Server      // nil: Preview alone works
	Dir        string            // where it is remembered what was sent; absolute
	Logger     *slog.Logger      // nil discards

	// Again compares every session with what the server has, whatever is remembered
	// of it: the server may have been set back to a backup.
	Again bool

	// Patience is how long one stretch is sent again and again while the server
	// cannot be reached or is busy; 0: 2 minutes.
	Patience time.Duration
}

// Pusher sends sessions. It is for one goroutine.
type Pusher struct {
	Options
	mask   *mask.Masker
	memory *memory
}

// New checks the options and makes a Pusher. Failures carry fault.InvalidConfig.
func New(o Options) (*Pusher, error) {
	if len(o.Workspaces) == 0 {
		return nil, fault.New(fault.InvalidConfig, "no workspace is chosen to be sent: name some in workspaces under [push] in the configuration file")
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Patience == 0 {
		o.Patience = 2 * time.Minute
	}
	return &Pusher{Options: o, mask: mask.New(), memory: &memory{dir: o.Dir}}, nil
}

// Report is what a run did.
type Report struct {
	Sessions  int   // looked at
	Sent      int   // sessions of which something was sent
	Anew      int   // of these, sent from their beginning although the server had some
	Events    int64 // sent
	Bytes     int64 // sent, compressed
	Masked    int   // credentials
	Withdrawn int   // sessions taken back from the server, because they are forgotten
	Skips     []archive.Skip
}

// which takes the sessions of the chosen workspaces.
func (p *Pusher) which(workspace string) bool { _, ok := p.Workspaces[workspace]; return ok }

// Run sends what is new, once. A session that cannot be read or that the server
// refuses is skipped and reported. Errors are the server's, as far as they
// concern every session, and the context's. progress may be nil.
func (p *Pusher) Run(ctx context.Context, progress func(Report)) (Report, error) {
	var r Report
	if err := p.takeBack(ctx, &r); err != nil {
		return r, err
	}
	skips, err := archive.Visit(ctx, p.Roots, p.which, p.Forgets, func(o archive.Original) (reader.Position, error) {
		r.Sessions++
		at, err := p.send(ctx, o, &r)
		var refused *refusal
		switch reason, alone := archive.Reason(err); {
		case err == nil:
		case errors.As(err, &refused):
			r.Skips = append(r.Skips, skip(o, refused.reason))
			err = nil
		case alone && !isServers(err):
			r.Skips = append(r.Skips, skip(o, reason))
			err = nil
		}
		if progress != nil {
			progress(r)
		}
		return at, err
	})
	r.Skips = append(skips, r.Skips...)
	return r, err
}

func skip(o archive.Original, reason string) archive.Skip {
	h := o.Source.Header
	return archive.Skip{Agent: h.Agent, ID: h.ID, Path: o.Source.Path, Reason: reason}
}

// isServers reports whether a failure came from the way to the server.
func isServers(err error) bool {
	var s *serverError
	return errors.As(err, &s)
}

// serverError is a failure that concerns every session.
type serverError struct{ cause error }

func (e *serverError) Error() string { return "the team's server: " + e.cause.Error() }
func (e *serverError) Unwrap() error { return e.cause }

// refusal says why one session is not sent.
type refusal struct{ reason string }

func (r *refusal) Error() string { return r.reason }

// takeBack asks the server to remove what was sent of sessions that have been
// forgotten since.
func (p *Pusher) takeBack(ctx context.Context, r *Report) error {
	if p.Forgets == nil {
		return nil
	}
	all, err := p.memory.all()
	if err != nil {
		return err
	}
	for _, s := range all {
		forgotten, err := p.Forgets(s.Header)
		if err != nil {
			return err
		}
		if !forgotten || s.Host != p.Server.Host() {
			continue
		}
		err = p.trying(ctx, func() error {
			return p.Server.Withdraw(ctx, team.Withdrawal{Workspace: s.Name, Agent: s.Header.Agent, ID: s.Header.ID})
		})
		if err != nil {
			return &serverError{err}
		}
		if err := p.memory.drop(s.key()); err != nil {
			return err
		}
		r.Withdrawn++
	}
	return nil
}

// Follow runs again and again until the context ends, and reports each run in
// which something happened. A server that cannot be reached is tried again with
// the next run.
func (p *Pusher) Follow(ctx context.Context, every time.Duration, told func(Report, error)) error {
	for {
		r, err := p.Run(ctx, nil)
		if ctx.Err() != nil {
			return nil
		}
		var s *team.StatusError
		if errors.As(err, &s) && (s.Status == 401 || s.Status == 403) {
			return err // it will not change by itself
		}
		if err != nil && !isServers(err) {
			return err
		}
		if err != nil || r.Sent > 0 || r.Withdrawn > 0 {
			told(r, err)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(every):
		}
	}
}

// Preview is what would be sent, nothing of which leaves the machine.
type Preview struct {
	Workspaces []WorkspacePreview // sorted
	Skips      []archive.Skip
}

// WorkspacePreview is what would be sent of one workspace.
type WorkspacePreview struct {
	Workspace, Name string
	Sessions        int   // in all
	New             int   // sessions of which something would be sent
	Events          int64 // that would be sent
	Bytes           int64 // of text, before compression
	Masked          int   // credentials that would be masked
}

// Preview reads what is new and masks it, and sends nothing.
func (p *Pusher) Preview(ctx context.Context) (Preview, error) {
	var out Preview
	at := map[string]*WorkspacePreview{}
	for w, name := range p.Workspaces {
		at[w] = &WorkspacePreview{Workspace: w, Name: name}
	}
	skips, err := archive.Visit(ctx, p.Roots, p.which, p.Forgets, func(o archive.Original) (reader.Position, error) {
		w := at[o.Source.Header.Cwd]
		w.Sessions++
		s, err := p.open(ctx, o)
		if err != nil {
			if reason, alone := archive.Reason(err); alone {
				out.Skips = append(out.Skips, skip(o, reason))
				err = nil
			}
			return reader.Position{}, err
		}
		if s.known.Next < s.tail.Position.Next {
			w.New++
			err = s.each(ctx, s.known.Next, s.tail.Position.Next, func(raw session.Raw, _ int64) error {
				_, n := p.masked(&raw)
				w.Events++
				w.Bytes += weight(&raw)
				w.Masked += n
				return nil
			})
			if reason, alone := archive.Reason(err); err != nil && alone {
				out.Skips = append(out.Skips, skip(o, reason))
				err = nil
			}
		}
		return s.tail.Position, err
	})
	out.Skips = append(skips, out.Skips...)
	for _, w := range at {
		out.Workspaces = append(out.Workspaces, *w)
	}
	slices.SortFunc(out.Workspaces, func(a, b WorkspacePreview) int {
		if a.Workspace < b.Workspace {
			return -1
		}
		return 1
	})
	return out, err
}

// trying repeats what a server refuses for the moment, with growing pauses, as
// long as the patience lasts. A pause that the server asks for is kept.
func (p *Pusher) trying(ctx context.Context, do func() error) error {
	pause, deadline := 250*time.Millisecond, time.Now().Add(p.Patience)
	for {
		err := do()
		wait, again := retry(err, pause)
		if !again || ctx.Err() != nil {
			return err
		}
		if time.Now().Add(wait).After(deadline) {
			return fmt.Errorf("given up after %s: %w", p.Patience, err)
		}
		p.Logger.Info("the team's server is asked again", "in", wait, "error", err)
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(wait):
		}
		pause = min(2*pause, 30*time.Second)
	}
}

// retry says whether and when a request that failed is worth being sent again.
func retry(err error, pause time.Duration) (wait time.Duration, again bool) {
	var s *team.StatusError
	switch {
	case err == nil || errors.Is(err, context.Canceled):
		return 0, false
	case errors.As(err, &s):
		return max(s.After, pause), s.Status == 429 || s.Status == 408 || s.Status >= 500
	}
	return pause, true // the network
}
