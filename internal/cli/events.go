package cli

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/yorehq/yore/authz"
	"github.com/yorehq/yore/fault"
	"github.com/yorehq/yore/internal/render"
	"github.com/yorehq/yore/query"
	"github.com/yorehq/yore/session"
)

// eventsOptions are what `yore events` is asked.
type eventsOptions struct {
	scope  scope
	events eventFlags
	text   string
	limit  int
	json   bool
}

func (a *app) eventsCommand() *cobra.Command {
	var o eventsOptions
	cmd := &cobra.Command{
		Use:   "events SESSION [QUERY...]",
		Short: "List the events of a session, or search in it",
		Long: `Without a query, events lists every event of the log in its order, those without
text included. With a query it shows the events that match, best first.

SESSION is an id, or the unique beginning of one. --text keeps the events of a
list that hold exactly this text, case and punctuation included; a query is
folded and ranked as in ` + "`yore search`" + `.
` + timeHelp,
		Example: `  yore events 5ae95e
  yore events 5ae95e --type user/message,assistant/message
  yore events 5ae95e --surface current       what the model has in its context
  yore events 5ae95e linker fails
  yore events 5ae95e --text 'exit status 1'`,
		Args: takes("SESSION", "[QUERY...]"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.events(cmd, o, args[0], strings.Join(args[1:], " "), len(args) > 1)
		},
	}
	o.scope.flags(cmd)
	revealFlag(cmd, &o.scope)
	o.events.flags(cmd)
	cmd.Flags().StringVar(&o.text, "text", "", "only events of the list that hold this `TEXT` literally")
	rankFlags(cmd)
	limitFlag(cmd, &o.limit, 100, "events")
	jsonFlag(cmd, &o.json)
	return cmd
}

func (a *app) events(cmd *cobra.Command, o eventsOptions, id, text string, search bool) (err error) {
	ctx := cmd.Context()
	if search && o.text != "" {
		return fault.New(fault.InvalidArgs, "--text is for lists; with a query it has no meaning")
	}
	if err := checkLimit(o.limit); err != nil {
		return err
	}
	filter, err := o.events.filter(cmd)
	if err != nil {
		return err
	}
	if ours, err := a.teamEvents(ctx, o, id, text, search); ours {
		return err
	}
	filter.Text = o.text
	c, closing, err := a.open(ctx, o.scope)
	if err != nil {
		return err
	}
	defer closing(&err)
	g, err := c.target(ctx, id)
	if err != nil {
		return err
	}
	if search {
		filter.Text = ""
		return a.searchEvents(ctx, g, o, filter, text)
	}
	n, err := a.listEvents(ctx, g, o, filter)
	if err == nil && n == 0 {
		err = a.nothingOf(ctx, c, g.Header(), false, nil, o.events.types)
	}
	return err
}

func (a *app) searchEvents(ctx context.Context, g *authz.Grant, o eventsOptions, filter query.EventFilter, text string) error {
	progress, cleared := a.bar()
	page, err := g.SearchEvents(ctx, query.EventSearch{
		Query: text, Match: a.settings.match, Order: a.settings.order, Events: filter, Limit: o.limit, Progress: progress,
	})
	cleared()
	if err != nil {
		return err
	}
	// This session was read; others of its workspace do not matter here.
	page.Coverage.Unreadable = 0
	a.covered(page.Coverage)
	if !o.json {
		return a.emitMarked(render.EventsText(render.Events{Info: page.Info, Hits: page.Hits, Capped: page.More, Coverage: page.Coverage}, 0), text)
	}
	for _, h := range page.Hits {
		if err := a.emitLine(render.EventHitJSON(page.Info.Header.Key(), h)); err != nil {
			return err
		}
	}
	return a.emitLine(render.CoverageJSON(page.Coverage, page.More, render.MaskedEvents(page.Info, page.Hits)))
}

// maxEntry is how many code points of an event's text its line shows.
const maxEntry = 120

// listEvents prints a list and returns its length.
func (a *app) listEvents(ctx context.Context, g *authz.Grant, o eventsOptions, filter query.EventFilter) (int, error) {
	list, err := g.Events(ctx, filter, o.limit, "")
	if err != nil {
		return 0, err
	}
	covered := session.Coverage{Clipped: list.Clipped}
	a.covered(covered)
	if o.json {
		for _, e := range list.Entries {
			if err := a.emitLine(render.EntryJSON(list.Info.Header.Key(), e)); err != nil {
				return 0, err
			}
		}
		masked := ""
		if n := render.MaskedEntries(list.Entries); n > 0 {
			masked = fmt.Sprintf(",\"masked\":%d", n)
		}
		return len(list.Entries), a.emit(fmt.Sprintf("{\"more\":%t%s}\n", list.Next != "", masked))
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s: %s\n", render.Name(string(list.Info.Header.ID)), events(list.Info.Events), render.Line(list.Info.Title, 0))
	for _, e := range list.Entries {
		fmt.Fprintf(&b, " #%d %s %s %s:", e.Seq, render.Name(e.Type), e.State, render.Time(e.Time))
		if e.Text != "" {
			b.WriteString(" " + render.Line(e.Text, maxEntry))
		}
		b.WriteByte('\n')
	}
	if len(list.Entries) == 0 {
		b.WriteString("No event passes.\n")
	}
	if err := a.emitPainted(b.String()); err != nil {
		return 0, err
	}
	a.noteCoverage(covered)
	a.noteMasked(list.Info.Masked + render.MaskedEntries(list.Entries))
	if list.Next != "" {
		a.note("More events follow: --seq-from %d goes on, --limit takes more at once.", list.Entries[len(list.Entries)-1].Seq+1)
	}
	return len(list.Entries), nil
}

func events(n int64) string {
	if n == 1 {
		return "1 event"
	}
	return fmt.Sprintf("%d events", n)
}
