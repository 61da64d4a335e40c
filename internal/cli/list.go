package cli

import (
	"context"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/yorehq/yore/fault"
	"github.com/yorehq/yore/internal/render"
	"github.com/yorehq/yore/query"
)

// listOptions are what `yore list` is asked.
type listOptions struct {
	scope    scope
	sessions sessionFlags
	limit    int
	text     string
	columns  []string
	sort     string
	json     bool
}

func (a *app) listCommand() *cobra.Command {
	var o listOptions
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the sessions of a workspace, newest first",
		Long: `List shows the sessions of a workspace with their creation time, the time of their
latest event, their number of events, and their title.

--text keeps the sessions with an event that holds exactly this text, case and
punctuation included; ` + "`yore search`" + ` ranks and folds instead.

Where a team's server is configured, its sessions follow under a heading of their
own; their ids begin with team:, and show, events, read and trace take them.
` + timeHelp,
		Example: `  yore list
  yore list --all --limit 10
  yore list --roots --created-from 2026-03-01 --created-to 2026-03-31
  yore list --parent 5ae95e
  yore list --text 'exit status 1'
  yore list --sort events --columns session,events,title
  yore list --columns title,resume`,
		Args: takes(),
		RunE: func(cmd *cobra.Command, _ []string) error { return a.list(cmd, o) },
	}
	o.scope.flags(cmd)
	revealFlag(cmd, &o.scope)
	o.sessions.flags(cmd)
	cmd.Flags().StringVar(&o.text, "text", "", "only sessions with an event that holds this `TEXT` literally")
	cmd.Flags().StringSliceVar(&o.columns, "columns", nil, "show these `COLUMNS`: "+strings.Join(columnNames(), ", "))
	cmd.Flags().StringVar(&o.sort, "sort", "created", "sort by this `COLUMN`, latest, largest or a first; with - before it the other way round")
	limitFlag(cmd, &o.limit, 50, "sessions")
	jsonFlag(cmd, &o.json)
	return cmd
}

func (a *app) list(cmd *cobra.Command, o listOptions) (err error) {
	ctx := cmd.Context()
	if err := checkLimit(o.limit); err != nil {
		return err
	}
	columns, err := chooseColumns(o.columns, o.scope.all)
	if err != nil {
		return err
	}
	compare, usual, err := sortBy(o.sort)
	if err != nil {
		return err
	}
	c, closing, err := a.open(ctx, o.scope)
	if err != nil {
		return err
	}
	defer closing(&err)
	ask, err := a.teamList(ctx, o, usual)
	if err != nil {
		return err
	}
	// A list has no progress of its own, and the first one reads every log.
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
	filter.Text = o.text
	list, err := c.sorted(ctx, filter, o.limit, compare, usual)
	if err != nil {
		return err
	}
	a.covered(list.Coverage)
	if o.json {
		for _, i := range list.Sessions {
			if err := a.emitLine(render.SessionJSON(i)); err != nil {
				return err
			}
		}
		if err := a.emitTeamListLines(ask, o, compare, usual); err != nil {
			return err
		}
		return a.emitLine(render.CoverageJSON(list.Coverage, list.Next != "", render.MaskedInfos(list.Sessions)))
	}
	if len(list.Sessions) == 0 {
		if err := a.emit("No session.\n"); err != nil {
			return err
		}
		a.nothingIn(ctx, c)
	} else if err := a.emitPainted(table(c, columns, list.Sessions, a.width())); err != nil {
		return err
	}
	if err := a.emitTeamList(ask, o, columns, compare, usual); err != nil {
		return err
	}
	if list.Next != "" {
		a.note("More sessions follow: --limit takes more.")
	}
	a.noteCoverage(list.Coverage)
	a.noteMasked(render.MaskedInfos(list.Sessions))
	return nil
}

// sorted lists sessions in an order of choice. Next says only whether there are more.
func (c *corpus) sorted(ctx context.Context, filter query.SessionFilter, limit int, compare func(a, b query.Info) int, usual bool) (query.SessionList, error) {
	if usual {
		return c.view.List(ctx, filter, limit, "")
	}
	var all query.SessionList
	for cursor := ""; ; {
		list, err := c.view.List(ctx, filter, query.MaxLimit, cursor)
		if err != nil {
			return list, err
		}
		all.Sessions, all.Coverage = append(all.Sessions, list.Sessions...), list.Coverage
		if cursor = list.Next; cursor == "" {
			break
		}
	}
	slices.SortStableFunc(all.Sessions, compare)
	if len(all.Sessions) > limit {
		all.Sessions, all.Next = all.Sessions[:limit], "more"
	}
	return all, nil
}

// minute is a time as a list shows it.
func minute(ms int64) string {
	t := render.Time(ms)
	if len(t) != len("2026-03-01T09:30:00.000Z") {
		return t
	}
	return t[:10] + " " + t[11:16] + "Z"
}

// titleOf is a title, or why there is none, on one safe line.
func titleOf(i query.Info) string {
	switch {
	case i.Fault != "":
		return "(" + lowered(fault.Sentence(i.Fault)) + ")"
	case i.TitleFail != "":
		return query.Untitled + " (its title cannot be read)"
	}
	return render.Line(i.Title, maxEntry)
}

func lowered(sentence string) string {
	return strings.ToLower(sentence[:1]) + strings.TrimSuffix(sentence[1:], ".")
}
