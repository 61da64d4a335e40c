package tui

import (
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/yorehq/yore/authz"
	"github.com/yorehq/yore/internal/team"
	"github.com/yorehq/yore/query"
	"github.com/yorehq/yore/session"
)

// Theme says for which background the colours are made.
type Theme uint8

// The themes.
const (
	Auto  Theme = iota // the terminal is asked; one that does not answer counts as dark
	Light              // dark letters on a light background
	Dark               // light letters on a dark background
)

// Options are what the screens need of their surroundings.
type Options struct {
	View *authz.View   // the owner's
	Team *team.History // answers beside View; nil: there is no team

	// Refresh brings a scope up to date; yore.History.Refresh.
	Refresh func(ctx context.Context, scope session.Scope, progress func(done, total int)) (session.Coverage, error)

	Resume func(session.Header) string // the command that resumes a session, "" if there is none; may be nil
	Pager  func() *exec.Cmd            // a command that shows its input, made anew each time; nil, or nil from it: none

	Workspace string // the one that is "this one"; "": not known
	All       bool   // begin with every workspace
	Query     string // begin with this one
	Agents    []session.Agent
	Match     query.Match // "" is query.Auto
	Order     query.Order // "" is query.Relevance
	Inherited bool        // show a fork's inherited hits beside their origin's

	In      io.Reader
	Out     io.Writer
	Environ []string // tells what the terminal can do
	Colours bool     // false: weight and lines alone
	Theme   Theme
	Now     func() time.Time // nil is time.Now
}

// Run shows the screens until the person quits, which is no error, or ctx ends,
// which is its error. The terminal is as it was before, whatever happens.
func Run(ctx context.Context, o Options) error {
	if o.Now == nil {
		o.Now = time.Now
	}
	ctx, cancel := context.WithCancel(ctx)
	m := newModel(ctx, o)
	// Nothing asks the corpus once Run has returned: it may be closed then.
	defer m.desk.close()
	defer cancel()
	_, err := tea.NewProgram(m, tea.WithContext(ctx), tea.WithInput(o.In), tea.WithOutput(o.Out), tea.WithEnvironment(o.Environ),
		tea.WithoutSignalHandler()).Run()
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return err
}

// closed reports whether a pipe was closed at the other end.
func closed(err error) bool { return errors.Is(err, os.ErrClosed) }
