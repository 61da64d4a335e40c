package cli

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/yorehq/yore/internal/render"
	"github.com/yorehq/yore/session"
)

func (a *app) indexCommand() *cobra.Command {
	var (
		s      scope
		asJSON bool
	)
	cmd := &cobra.Command{
		Use:   "index",
		Short: "Bring the index of a workspace up to date",
		Long: `Index reads what is new in the logs of a workspace. Searches do so by themselves;
the first one of a large workspace is quicker after it. Interrupting it loses at
most the last moments of its work. When another process is indexing, index waits
for it.`,
		Example: `  yore index
  yore index --all`,
		Args: takes(),
		RunE: func(cmd *cobra.Command, _ []string) (err error) {
			c, closing, err := a.open(cmd.Context(), s)
			if err != nil {
				return err
			}
			defer closing(&err)
			coverage, err := a.settle(cmd.Context(), c)
			if err != nil {
				return err
			}
			covered := coverage
			covered.Clipped = 0 // as much as can be is indexed
			a.covered(covered)
			if asJSON {
				return a.emitLine(render.CoverageJSON(coverage, false, 0))
			}
			return a.emit(indexed(coverage))
		},
	}
	s.flags(cmd)
	jsonFlag(cmd, &asJSON)
	return cmd
}

// retry is how long to wait before a look whether another process has finished.
const retry = 200 * time.Millisecond

// settle brings the scope up to date, and waits for others who are at it.
func (a *app) settle(ctx context.Context, c *corpus) (session.Coverage, error) {
	progress, cleared := a.bar()
	defer cleared()
	for {
		coverage, err := c.Refresh(ctx, c.scope, progress)
		if err != nil || !coverage.Stale {
			return coverage, err
		}
		select {
		case <-ctx.Done():
			return coverage, ctx.Err()
		case <-time.After(retry):
		}
	}
}

func indexed(c session.Coverage) string {
	var b strings.Builder
	fmt.Fprintf(&b, "sessions    %d\n", c.Sessions)
	fmt.Fprintf(&b, "up to date  %d\n", max(0, c.Sessions-c.Behind-c.Unreadable))
	if c.Behind > 0 {
		fmt.Fprintf(&b, "behind      %d\n", c.Behind)
	}
	if c.Unreadable > 0 {
		fmt.Fprintf(&b, "unreadable  %d  (`yore doctor` says why)\n", c.Unreadable)
	}
	if c.Damaged > 0 {
		fmt.Fprintf(&b, "damaged     %d  (up to date as far as they can be read; `yore doctor` says where)\n", c.Damaged)
	}
	return b.String()
}
