package cli

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"runtime"
	"time"

	"github.com/spf13/cobra"

	"github.com/yorehq/yore/fault"
	"github.com/yorehq/yore/internal/web"
	"github.com/yorehq/yore/session"
)

// webOptions are what `yore web` is asked.
type webOptions struct {
	port   int
	noOpen bool
}

func (a *app) webCommand() *cobra.Command {
	var o webOptions
	cmd := &cobra.Command{
		Use:   "web",
		Short: "Open a local page to search and read every session",
		Long: `Web serves a page on this machine and opens it in your browser: search with
facets, the timeline of a session, what replaced what, forks and subagents as a
picture, and the exact record of every event. It shows every workspace, and the
team's sessions where a server is configured; changes nothing, and ends with Ctrl-C.

The page is served on 127.0.0.1 to whoever has the address that is printed: it
holds a token. Other users of the machine do not get in without it.`,
		Example: `  yore web
  yore web --no-open                  print the address and open nothing
  yore web --no-open --port 7777      for a tunnel: ssh -L 7777:127.0.0.1:7777 HOST`,
		Args: takes(),
		RunE: func(cmd *cobra.Command, _ []string) error { return a.web(cmd.Context(), o) },
	}
	cmd.Flags().IntVar(&o.port, "port", 0, "`PORT` to serve on (default: a free one)")
	cmd.Flags().BoolVar(&o.noOpen, "no-open", false, "print the address and open no browser")
	return cmd
}

func (a *app) web(ctx context.Context, o webOptions) (err error) {
	if o.port < 0 || o.port > 65535 {
		return fault.New(fault.InvalidConfig, "--port is %d: want 1 to 65535, or 0 for a free one", o.port)
	}
	h, closing, err := a.history(ctx)
	if err != nil {
		return err
	}
	defer closing(&err)
	view, err := h.OwnerView()
	if err != nil {
		return err
	}
	others, beside := a.teamHistory()
	s, err := web.Listen(web.Options{
		View: view, Resume: h.Resume, Zone: time.Local, Port: o.port, Match: a.settings.match, Order: a.settings.order, Logger: a.logger, Team: others, Beside: beside,
		Index: func(ctx context.Context, progress func(done, total int)) error {
			_, err := h.Refresh(ctx, session.Scope{All: true}, progress)
			return err
		},
	})
	if err != nil {
		return err
	}
	if err := a.emit(s.URL() + "\n"); err != nil {
		return errors.Join(err, s.Close())
	}
	if err := a.out.Flush(); err != nil {
		return errors.Join(err, s.Close())
	}
	if a.errScreen {
		a.note("Serving every session of this machine to this address alone. Ctrl-C ends it.")
	}
	if !o.noOpen {
		if err := a.browse(ctx, s.Ticket()); err != nil {
			a.note("No browser could be started (%v): open the address yourself.", err)
		}
	}
	return s.Run(ctx)
}

// browse opens an address in the person's browser, which outlives us.
func (a *app) browse(ctx context.Context, address string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	var cmd *exec.Cmd
	switch {
	case a.getenv("BROWSER") != "":
		cmd = exec.Command(a.getenv("BROWSER"), address)
	case runtime.GOOS == "darwin":
		cmd = exec.Command("open", address)
	case runtime.GOOS == "windows":
		cmd = exec.Command("rundll32", "url.dll,FileProtocolHandler", address)
	default:
		if a.getenv("DISPLAY") == "" && a.getenv("WAYLAND_DISPLAY") == "" {
			return fmt.Errorf("there is no screen")
		}
		cmd = exec.Command("xdg-open", address)
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	return cmd.Process.Release()
}
