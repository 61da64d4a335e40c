package cli

import (
	"time"

	"github.com/spf13/cobra"

	"github.com/yorehq/yore/fault"
	"github.com/yorehq/yore/internal/render"
)

// statsOptions are what `yore stats` is asked.
type statsOptions struct {
	scope    scope
	sessions sessionFlags
	top      int
	utc      bool
	json     bool
}

func (a *app) statsCommand() *cobra.Command {
	var o statsOptions
	cmd := &cobra.Command{
		Use:   "stats",
		Short: "Count sessions and events by agent, workspace, day, role, type and tool",
		Long: `Stats counts the events that have text or took part in a model's context, and the
sessions that have some, in tables with a bar for each line. What a fork
inherited counts where it came from alone. Days are those of the local time zone;
--utc takes those of UTC.

The filters choose sessions; all of a chosen session's events count.
` + timeHelp,
		Example: `  yore stats
  yore stats --all --created-from 7d
  yore stats --agent codex --top 0
  yore stats --all --json | jq '.days'`,
		Args: takes(),
		RunE: func(cmd *cobra.Command, _ []string) error { return a.stats(cmd, o) },
	}
	o.scope.flags(cmd)
	revealFlag(cmd, &o.scope)
	o.sessions.flags(cmd)
	cmd.Flags().IntVar(&o.top, "top", 10, "at most `N` lines of each table; 0: all")
	cmd.Flags().BoolVar(&o.utc, "utc", false, "days of UTC")
	jsonFlag(cmd, &o.json)
	return cmd
}

func (a *app) stats(cmd *cobra.Command, o statsOptions) (err error) {
	ctx := cmd.Context()
	if o.top < 0 {
		return fault.New(fault.InvalidLimit, "--top is %d: want 1 or more, or 0 for all", o.top)
	}
	c, closing, err := a.open(ctx, o.scope)
	if err != nil {
		return err
	}
	defer closing(&err)
	progress, cleared := a.bar()
	_, err = c.Refresh(ctx, c.scope, progress)
	cleared()
	if err != nil {
		return err
	}
	filter, err := o.sessions.filter(ctx, c)
	if err != nil {
		return err
	}
	zone := time.Local
	if o.utc {
		zone = time.UTC
	}
	s, err := c.view.Stats(ctx, filter, zone)
	if err != nil {
		return err
	}
	a.covered(s.Coverage)
	if o.json {
		return a.emitLine(render.StatsJSON(s))
	}
	if err := a.emitPainted(render.StatsText(s, o.top, a.width())); err != nil {
		return err
	}
	if s.Total.Sessions == 0 {
		a.nothingIn(ctx, c)
	}
	a.noteCoverage(s.Coverage)
	return nil
}
