package cli

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/yorehq/yore/authz"
	"github.com/yorehq/yore/fault"
	"github.com/yorehq/yore/internal/render"
	"github.com/yorehq/yore/query"
	"github.com/yorehq/yore/session"
)

// showOptions are what `yore show` is asked.
type showOptions struct {
	scope                        scope
	from, to                     int64
	states, types, roles, tools  []string
	limit                        int
	text                         int
	markdown, html, json, direct bool
}

func (a *app) showCommand() *cobra.Command {
	var o showOptions
	cmd := &cobra.Command{
		Use:   "show SESSION",
		Short: "Show what was said in a session, from its beginning to its end",
		Long: `Show prints a session as a transcript: who speaks, which tools were called, and of
each event whether it is in the model's context at present (current), was
replaced (shadowed, and by which event), or never was in it (log-only).

On a terminal the transcript goes through a pager: $YORE_PAGER, else $PAGER, else
less. --html makes one file that needs nothing else and runs no script:
it can be opened, kept and sent. Texts that are long are cut in the plain form;
--text-limit 0 shows all of them.`,
		Example: `  yore show 5ae95e
  yore show 5ae95e --from 120 --to 180
  yore show 5ae95e --state current           what the model has in its context
  yore show 5ae95e --role user,assistant
  yore show 5ae95e --tool Bash
  yore show 5ae95e --html > session.html`,
		Args: takes("SESSION"),
		RunE: func(cmd *cobra.Command, args []string) error { return a.showSession(cmd, o, args[0]) },
	}
	o.scope.flags(cmd)
	revealFlag(cmd, &o.scope)
	f := cmd.Flags()
	f.Int64Var(&o.from, "from", 0, "from sequence number `SEQ` on")
	f.Int64Var(&o.to, "to", session.MaxSafe, "up to sequence number `SEQ`")
	f.Lookup("to").DefValue = "0" // the last one there is
	f.StringSliceVar(&o.states, "state", nil, "only events with one of these `STATES`: current, shadowed, log-only")
	f.StringSliceVar(&o.types, "type", nil, "only these `TYPES`, such as user/message or tool/call")
	f.StringSliceVar(&o.roles, "role", nil, "only these `ROLES`: "+strings.Join(roleNames(), ", "))
	f.StringSliceVar(&o.tools, "tool", nil, "only calls and results of these `TOOLS`")
	f.IntVarP(&o.limit, "limit", "n", 0, "at most `N` events (default all)")
	f.IntVar(&o.text, "text-limit", 2000, "characters `N` of a text in the plain form; 0: all of it")
	f.BoolVar(&o.markdown, "markdown", false, "print Markdown")
	f.BoolVar(&o.html, "html", false, "print an HTML page that needs nothing else")
	f.BoolVar(&o.direct, "no-pager", false, "print to the terminal without a pager")
	jsonFlag(cmd, &o.json)
	cmd.MarkFlagsMutuallyExclusive("markdown", "html", "json")
	return cmd
}

// roleNames are the values of --role. A session's first prompt is a user's too.
func roleNames() []string {
	return []string{"user", "assistant", "tool-call", "tool-result", "context", "other"}
}

// sieve returns the events that the flags choose.
func (o *showOptions) sieve() (func(query.Passage) bool, error) {
	var states []session.State
	for _, s := range o.states {
		state, ok := session.ParseState(s)
		if !ok {
			return nil, oneOf("--state", s, stateNames())
		}
		states = append(states, state)
	}
	for _, r := range o.roles {
		if err := oneOf("--role", r, roleNames()); err != nil {
			return nil, err
		}
	}
	switch {
	case o.from < 0 || o.to < 0 || o.from > session.MaxSafe || o.to > session.MaxSafe:
		return nil, fault.New(fault.InvalidFilter, "--from and --to are sequence numbers: want 0, 1, 2, …")
	case o.from > o.to:
		return nil, fault.New(fault.InvalidFilter, "--from %d lies after --to %d", o.from, o.to)
	case o.limit < 0:
		return nil, fault.New(fault.InvalidLimit, "--limit is %d: want 1 or more, or 0 for all", o.limit)
	case o.text < 0:
		return nil, fault.New(fault.InvalidLimit, "--text-limit is %d: want 1 or more, or 0 for all of it", o.text)
	}
	return func(p query.Passage) bool {
		role := p.Role.String()
		if p.Role == query.RoleFirstPrompt {
			role = query.RoleUser.String()
		}
		return p.Seq >= o.from && (states == nil || slices.Contains(states, p.State)) && (o.types == nil || slices.Contains(o.types, p.Type)) &&
			(o.roles == nil || slices.Contains(o.roles, role)) && (o.tools == nil || slices.Contains(o.tools, p.Tool))
	}, nil
}

func (a *app) showSession(cmd *cobra.Command, o showOptions, id string) (err error) {
	ctx := cmd.Context()
	passes, err := o.sieve()
	if err != nil {
		return err
	}
	if ours, err := a.showTeam(ctx, o, id, passes); ours {
		return err
	}
	c, closing, err := a.open(ctx, o.scope)
	if err != nil {
		return err
	}
	defer closing(&err)
	g, err := c.target(ctx, id)
	if err != nil {
		return err
	}
	// The first page brings the index up to date; the others are of what it holds.
	first, err := g.Passages(ctx, 0, 1, 0)
	if err != nil {
		return err
	}
	still, err := c.view.AsIndexed().Session(ctx, query.TargetOf(g.Header()))
	if err != nil {
		return err
	}
	first.Coverage.Unreadable = 0 // of other sessions
	a.covered(first.Coverage)
	t := render.Transcript{Info: first.Info, Resume: c.Resume(first.Info.Header), Cut: "`yore show --text-limit 0 --from %[1]d --to %[1]d` shows all of it"}
	shown, masked := 0, first.Info.Masked
	err = a.paged(ctx, o.direct || o.html || o.json, func() error {
		form := a.form(o, t, first.Total)
		if err := form.head(); err != nil {
			return err
		}
		err := o.passages(ctx, still, first.Total, form.points, passes, func(p query.Passage) error {
			shown++
			masked += p.Masked
			return form.passage(p)
		})
		if err == nil {
			err = form.foot(shown, masked)
		}
		return err
	})
	if err != nil || shown > 0 {
		return err
	}
	return a.nothingOf(ctx, c, first.Info.Header, true, o.tools, o.types)
}

// nothingOf says which tools and types that were asked for a session does not
// have, and which were likely meant; if it cannot be sure, since an event without
// text may have that type, only what was likely meant.
func (a *app) nothingOf(ctx context.Context, c *corpus, h session.Header, sure bool, tools, types []string) error {
	if tools == nil && types == nil {
		return nil
	}
	stats, err := c.view.AsIndexed().Stats(ctx, query.SessionFilter{Scope: session.Scope{Workspaces: []string{h.Cwd}}, IDs: []string{h.Key().String()}}, time.UTC)
	if err != nil {
		return err
	}
	a.noneOf("The session has", sure, "tool", tools, stats.Tools)
	a.noneOf("The session has", sure, "type", types, stats.Types)
	return nil
}

// noneOf notes what was asked for and is not there; if that is not sure, only
// where something is near.
func (a *app) noneOf(who string, sure bool, what string, given []string, counts []query.Count) {
	var known []string
	for _, k := range counts {
		known = append(known, k.Name)
	}
	for _, g := range given {
		if near := didYouMean(g, known); !slices.Contains(known, g) && (sure || near != "") {
			a.note("%s no event of the %s %s%s", who, what, render.Name(g), cmp.Or(near, "."))
		}
	}
}

// The sizes of pages: of records alone, and of records with their texts.
const (
	recordPage = 1000
	textPage   = 100
	pagePoints = 4000 // code points of each text in a page; the rest of a longer one is read alone
)

// passages visits what passes, with at most points code points of each text
// (negative: all of it). No more than one page, or one whole text, is held.
func (o *showOptions) passages(ctx context.Context, g *authz.Grant, total int64, points int, passes func(query.Passage) bool, visit func(query.Passage) error) error {
	if total == 0 {
		return nil
	}
	from, err := g.OrdinalOf(ctx, o.from)
	if err != nil {
		return err
	}
	shown := 0
	for from < total {
		page, err := g.Passages(ctx, from, recordPage, 0)
		if err != nil {
			return err
		}
		for i := 0; i < len(page.Passages); {
			n := 0
			for i+n < len(page.Passages) && n < textPage && page.Passages[i+n].Seq <= o.to && passes(page.Passages[i+n]) {
				n++
			}
			if o.limit > 0 {
				n = min(n, o.limit-shown)
			}
			if n == 0 {
				if page.Passages[i].Seq > o.to || o.limit > 0 && shown >= o.limit {
					return nil
				}
				i++
				continue
			}
			if err := texts(ctx, g, page.Passages[i].Ordinal, int64(n), points, visit); err != nil {
				return err
			}
			shown += n
			i += n
		}
		if len(page.Passages) == 0 {
			return nil
		}
		from += int64(len(page.Passages))
	}
	return nil
}

// texts visits a run of passages with their texts.
func texts(ctx context.Context, g *authz.Grant, from, n int64, points int, visit func(query.Passage) error) error {
	some := points
	if some < 0 || some > pagePoints {
		some = pagePoints
	}
	page, err := g.Passages(ctx, from, n, some)
	if err != nil {
		return err
	}
	for _, p := range page.Passages {
		if p.Cut && some != points {
			whole, err := g.Passages(ctx, p.Ordinal, 1, points)
			if err != nil {
				return err
			}
			if len(whole.Passages) == 1 {
				p = whole.Passages[0]
			}
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := visit(p); err != nil {
			return err
		}
	}
	return nil
}

// form is how a transcript is printed.
type form struct {
	points  int // code points of a text; negative: all
	head    func() error
	passage func(query.Passage) error
	foot    func(shown, masked int) error
}

func (a *app) form(o showOptions, t render.Transcript, total int64) form {
	note := func(_, masked int) error {
		if masked == 0 {
			return nil
		}
		return a.emit("\n" + render.MaskedText(masked))
	}
	switch {
	case o.json:
		return form{-1, func() error { return a.emitLine(t.JSON(total)) }, func(p query.Passage) error { return a.emitLine(render.PassageJSON(p)) },
			func(_, masked int) error {
				if masked == 0 {
					return nil
				}
				return a.emitLine(render.MaskedJSON(masked))
			}}
	case o.html:
		return form{-1, func() error { return a.emit(t.HTMLHead()) }, func(p query.Passage) error { return a.emit(t.HTML(p)) },
			func(_, masked int) error { return a.emit(t.HTMLFoot(masked)) }}
	case o.markdown:
		return form{-1, func() error { return a.emit(t.MarkdownHead()) }, func(p query.Passage) error { return a.emit(t.Markdown(p)) }, note}
	}
	points := o.text
	if points == 0 {
		points = -1
	}
	width := a.width()
	return form{points, func() error { return a.emitPainted(t.Head()) },
		func(p query.Passage) error { return a.emitPassage(t.Text(p, width), p) },
		func(shown, masked int) error {
			if shown == 0 {
				return a.emit("\nNo event with text passes.\n")
			}
			return note(shown, masked)
		}}
}

// emitPassage prints a passage: its first line bold, what is not in the model's
// context dim.
func (a *app) emitPassage(text string, p query.Passage) error {
	if !a.colours(a.screen) {
		return a.emit(text)
	}
	text = strings.TrimPrefix(harmless(text), "\n")
	head, body, _ := strings.Cut(text, "\n")
	look := map[query.Role]style{query.RoleFirstPrompt: blue, query.RoleUser: blue, query.RoleAssistant: green, query.RoleCall: yellow, query.RoleResult: yellow, query.RoleContext: magenta}[p.Role]
	if look == "" {
		look = bold
	}
	var b strings.Builder
	b.WriteString("\n" + a.paint(true, look, head) + "\n")
	for line := range strings.Lines(body) {
		if p.State != session.Current && p.Role != query.RoleCall {
			line = a.paint(true, dim, strings.TrimSuffix(line, "\n")) + "\n"
		}
		b.WriteString(line)
	}
	_, err := fmt.Fprint(a.out, b.String())
	return err
}
