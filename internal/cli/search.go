package cli

import (
	"context"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/yorehq/yore/internal/render"
	"github.com/yorehq/yore/query"
)

// searchOptions are what `yore search` is asked.
type searchOptions struct {
	scope    scope
	sessions sessionFlags
	events   eventFlags
	limit    int
	json     bool
}

func (a *app) searchCommand() *cobra.Command {
	var o searchOptions
	cmd := &cobra.Command{
		Use:   "search QUERY...",
		Short: "Search the sessions of a workspace, best first",
		Long: `Search finds the sessions that hold a text and shows each with its best event.

The words are joined to one query. It is plain text: no character in it is an
operator. Sessions that hold the whole query, in order, come first; when there
are few of them, sessions that hold some of its words follow under a heading of
their own. Case, accents and the characters between words do not matter.

Everything that is in the logs when the search begins is found: what is new is
indexed first. When something may have been missed, the answer says so, and the
exit code is 3.

A session that its agent can take up again is shown with the command that does
so. On a terminal what matched is underlined, unless NO_COLOR is set.
` + timeHelp,
		Example: `  yore search linker fails
  yore search --match literal "ENOENT: no such file"
  yore search --all --created-from 7d quota ledger
  yore search --type tool/call git push
  yore search --json flaky | jq -r 'select(.event) | .session.id'`,
		Args: takes("QUERY..."),
		RunE: func(cmd *cobra.Command, args []string) error { return a.search(cmd, o, strings.Join(args, " ")) },
	}
	o.scope.flags(cmd)
	revealFlag(cmd, &o.scope)
	o.sessions.flags(cmd)
	o.events.flags(cmd)
	rankFlags(cmd)
	limitFlag(cmd, &o.limit, 20, "sessions")
	jsonFlag(cmd, &o.json)
	return cmd
}

func jsonFlag(cmd *cobra.Command, json *bool) {
	cmd.Flags().BoolVar(json, "json", false, "print JSON, one object a line")
}

func (a *app) search(cmd *cobra.Command, o searchOptions, text string) (err error) {
	ctx := cmd.Context()
	if err := checkLimit(o.limit); err != nil {
		return err
	}
	events, err := o.events.filter(cmd)
	if err != nil {
		return err
	}
	c, closing, err := a.open(ctx, o.scope)
	if err != nil {
		return err
	}
	defer closing(&err)
	sessions, err := o.sessions.filter(ctx, c)
	if err != nil {
		return err
	}
	ask := a.alsoTeam(ctx, o, text, sessions, events)
	progress, cleared := a.bar()
	page, err := c.view.SearchSessions(ctx, query.SessionSearch{
		Query: text, Match: a.settings.match, Order: a.settings.order, Sessions: sessions, Events: events,
		Inherited: a.settings.inherited, Limit: o.limit, Progress: progress,
	})
	cleared()
	if err != nil {
		return err
	}
	a.covered(page.Coverage)
	if !o.json {
		if len(page.Hits) == 0 {
			defer a.nothingIn(ctx, c)
		}
		err := a.emitMarked(render.SessionsText(render.Sessions{
			Hits: page.Hits, Capped: page.More, Shared: page.Shared, Workspaces: o.scope.all, Coverage: page.Coverage, Resume: c.Resume,
		}, 0), text)
		if err == nil {
			err = a.emitTeam(ask)
		}
		if err != nil || len(page.Hits) > 0 {
			return err
		}
		return a.noSuchType(ctx, c, o.events.types)
	}
	for _, h := range page.Hits {
		if err := a.emitLine(render.SessionHitJSON(h, c.Resume(h.Info.Header))); err != nil {
			return err
		}
	}
	if err := a.emitTeamLines(ask); err != nil {
		return err
	}
	return a.emitLine(render.CoverageJSON(page.Coverage, page.More, render.MaskedSessions(page.Hits)))
}

// noSuchType says which types that were asked for no event in sight has, and
// which were likely meant.
func (a *app) noSuchType(ctx context.Context, c *corpus, types []string) error {
	if types == nil {
		return nil
	}
	stats, err := c.view.AsIndexed().Stats(ctx, query.SessionFilter{Scope: c.scope}, time.UTC)
	if err != nil || stats.Total.Sessions == 0 {
		return err
	}
	a.noneOf("There is", true, "type", types, stats.Types)
	return nil
}
