package cli

import (
	"fmt"
	"strings"
	"text/tabwriter"

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
` + timeHelp,
		Example: `  yore list
  yore list --all --limit 10
  yore list --roots --created-from 2026-03-01 --created-to 2026-03-31
  yore list --parent 5ae95e
  yore list --text 'exit status 1'`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return a.list(cmd, o) },
	}
	o.scope.flags(cmd)
	o.sessions.flags(cmd)
	cmd.Flags().StringVar(&o.text, "text", "", "only sessions with an event that holds this `TEXT` literally")
	limitFlag(cmd, &o.limit, 50, "sessions")
	jsonFlag(cmd, &o.json)
	return cmd
}

func (a *app) list(cmd *cobra.Command, o listOptions) (err error) {
	ctx := cmd.Context()
	if err := checkLimit(o.limit); err != nil {
		return err
	}
	c, closing, err := a.open(ctx, o.scope)
	if err != nil {
		return err
	}
	defer closing(&err)
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
	list, err := c.view.List(ctx, filter, o.limit, "")
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
		return a.emitLine(render.CoverageJSON(list.Coverage, list.Next != ""))
	}
	if err := a.table(list.Sessions, o.scope.all); err != nil {
		return err
	}
	if list.Next != "" {
		a.note("More sessions follow: --limit takes more.")
	}
	if text := render.CoverageText(list.Coverage); text != "" {
		a.note("%s", strings.TrimSuffix(text, "\n"))
	}
	return nil
}

// minute is a time as a list shows it.
func minute(ms int64) string {
	t := render.Time(ms)
	if len(t) != len("2026-03-01T09:30:00.000Z") {
		return t
	}
	return t[:10] + " " + t[11:16] + "Z"
}

func (a *app) table(sessions []query.Info, workspaces bool) error {
	if len(sessions) == 0 {
		return a.emit("No session.\n")
	}
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	head := "SESSION\tAGENT\tCREATED\tCHANGED\tEVENTS\t"
	if workspaces {
		head += "WORKSPACE\t"
	}
	fmt.Fprintln(w, head+"TITLE")
	for _, i := range sessions {
		changed := "-"
		if i.Events > 0 {
			changed = minute(i.Changed)
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%d\t", render.Name(string(i.Header.ID)), render.Name(string(i.Header.Agent)), minute(i.Header.CreatedAt), changed, i.Events)
		if workspaces {
			at := "-"
			if i.Header.Cwd != "" {
				at = render.Name(i.Header.Cwd)
			}
			fmt.Fprintf(w, "%s\t", at)
		}
		fmt.Fprintln(w, titleOf(i))
	}
	if err := w.Flush(); err != nil {
		return err
	}
	return a.emitPainted(b.String())
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
