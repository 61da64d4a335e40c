package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/yorehq/yore/fault"
	"github.com/yorehq/yore/internal/push"
	"github.com/yorehq/yore/internal/render"
)

// pushOptions are what `yore push` is asked.
type pushOptions struct {
	preview, follow bool
	again           bool
	every           time.Duration
	json            bool
}

func (a *app) pushCommand() *cobra.Command {
	var o pushOptions
	cmd := &cobra.Command{
		Use:   "push",
		Short: "Send sessions of chosen workspaces to your team's server",
		Long: `Push sends what is new in the sessions of the workspaces that you have chosen to
your team's server (yore serve), where those who hold a token for them find it.
Nothing is sent of any other workspace, and without a choice nothing at all.

What is sent is each event as the agent logged it, with every credential that the
rules of masking know replaced by a mark before it leaves; where a log lies on
this machine is not sent. --preview reads and masks all of it, says how much that
would be, and sends nothing. --follow goes on sending while agents work.

A session that you have told yore to forget is never sent, and one that was sent
before is taken back from the server. An interrupted push goes on where it was;
nothing is stored twice.

In the configuration file:

  [team]
  url = "https://yore.example.com"
  token-file = "~/.config/yore/team-token"
  [team.names]                         # what a workspace is called on the server
  "~/src/app" = "app"
  [push]
  workspaces = ["~/src/app"]`,
		Example: `  yore push --preview
  yore push
  yore push --follow`,
		Args: takes(),
		RunE: func(cmd *cobra.Command, _ []string) error { return a.push(cmd.Context(), o) },
	}
	f := cmd.Flags()
	f.BoolVar(&o.preview, "preview", false, "say what would be sent, and send nothing")
	f.BoolVar(&o.follow, "follow", false, "go on until you stop it")
	f.BoolVar(&o.again, "again", false, "compare every session with what the server has, for one that was set back to a backup")
	f.DurationVar(&o.every, "every", 10*time.Second, "how often --follow looks for what is new, a `DURATION` from 1s on")
	jsonFlag(cmd, &o.json)
	cmd.MarkFlagsMutuallyExclusive("preview", "follow", "again")
	return cmd
}

func (a *app) push(ctx context.Context, o pushOptions) error {
	if o.every < time.Second {
		return fault.New(fault.InvalidArgs, "--every is %s: want at least 1s", o.every)
	}
	workspaces, err := a.settings.team.sends()
	if err != nil {
		return err
	}
	roots, err := a.agentRoots()
	if err != nil {
		return err
	}
	dir, err := pushDir()
	if err != nil {
		return err
	}
	server, err := a.teamServer()
	if err != nil && !o.preview {
		return err
	}
	p, err := push.New(push.Options{
		Roots: roots, Workspaces: workspaces, Forgets: forgets(forgetList(a.logger)), Server: server, Dir: dir, Logger: a.logger, Again: o.again,
	})
	switch {
	case err != nil:
		return err
	case o.preview:
		return a.pushPreview(ctx, p, o.json)
	case server == nil:
		return fault.New(fault.InvalidConfig, "no team's server is configured: set url and token-file under [team] in the configuration file")
	case o.follow:
		return p.Follow(ctx, o.every, func(r push.Report, err error) {
			if err != nil {
				a.logger.Warn("nothing can be sent at present", "error", err)
				return
			}
			if a.pushReport(r, o.json) == nil {
				_ = a.out.Flush() // the next run fails the same way
			}
		})
	}
	r, err := p.Run(ctx, nil)
	if err != nil {
		return err
	}
	a.partial = len(r.Skips) > 0
	return a.pushReport(r, o.json)
}

// pushDir is where it is remembered what was sent: beside the configuration, as
// a cache may be deleted at any time.
func pushDir() (string, error) {
	dir, err := os.UserConfigDir()
	if err != nil {
		return "", fault.New(fault.InvalidConfig, "there is no configuration folder to remember in what was sent")
	}
	return filepath.Join(dir, "yore", "sent"), nil
}

func (a *app) pushPreview(ctx context.Context, p *push.Pusher, lines bool) error {
	out, err := p.Preview(ctx)
	if err != nil {
		return err
	}
	a.partial = len(out.Skips) > 0
	var b strings.Builder
	for _, w := range out.Workspaces {
		if lines {
			text, err := json.Marshal(map[string]any{
				"workspace": w.Workspace, "name": w.Name, "sessions": w.Sessions, "to_send": w.New, "events": w.Events, "bytes": w.Bytes, "masked": w.Masked,
			})
			if err != nil {
				return err
			}
			if err := a.emitLine(text); err != nil {
				return err
			}
			continue
		}
		fmt.Fprintf(&b, "%s as %q: %d sessions, of which %d have something new: %d events, %s of text, %d credentials masked\n",
			render.Name(w.Workspace), w.Name, w.Sessions, w.New, w.Events, sizeOf(w.Bytes), w.Masked)
	}
	if lines {
		return nil
	}
	skipText(&b, out.Skips)
	b.WriteString("Nothing was sent.\n")
	return a.emitPainted(b.String())
}

func (a *app) pushReport(r push.Report, lines bool) error {
	if lines {
		text, err := json.Marshal(map[string]any{
			"sessions": r.Sessions, "sent": r.Sent, "anew": r.Anew, "events": r.Events, "bytes": r.Bytes, "masked": r.Masked,
			"withdrawn": r.Withdrawn, "skipped": len(r.Skips),
		})
		if err != nil {
			return err
		}
		return a.emitLine(text)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%d sessions, of which %d had something new: %d events, %s sent, %d credentials masked\n", r.Sessions, r.Sent, r.Events, sizeOf(r.Bytes), r.Masked)
	if r.Withdrawn > 0 {
		fmt.Fprintf(&b, "%d forgotten sessions taken back from the server\n", r.Withdrawn)
	}
	skipText(&b, r.Skips)
	return a.emitPainted(b.String())
}

// sizeOf prints a number of bytes for a person.
func sizeOf(n int64) string {
	switch {
	case n < 10<<10:
		return fmt.Sprintf("%d bytes", n)
	case n < 10<<20:
		return fmt.Sprintf("%d KB", n>>10)
	}
	return fmt.Sprintf("%d MB", n>>20)
}
