package cli

import (
	"strconv"

	"github.com/spf13/cobra"

	"github.com/yorehq/yore/authz"
	"github.com/yorehq/yore/fault"
	"github.com/yorehq/yore/internal/render"
	"github.com/yorehq/yore/internal/team"
)

// readOptions are what `yore read` is asked.
type readOptions struct {
	scope                  scope
	before, after, context int64
	raw, json              bool
}

func (a *app) readCommand() *cobra.Command {
	var o readOptions
	cmd := &cobra.Command{
		Use:   "read SESSION SEQ",
		Short: "Print one event as its log has it, but for masked credentials",
		Long: `Read prints the record that the agent wrote for an event, between two fences,
with the session's line before it and the text of its neighbours after it.

--raw prints the record and nothing else, byte for byte and without a line end of
its own; on a terminal, what would steer it is shown as JSON escapes. Credentials
in it are masked, within their strings, unless --reveal is given. An event that has no record of its own (one of
several that the agent packed into a row) is printed as it is reconstructed.`,
		Example: `  yore read 5ae95e 12
  yore read 5ae95e 12 -C 3
  yore read 5ae95e 12 --raw | jq .data`,
		Args: takes("SESSION", "SEQ"),
		RunE: func(cmd *cobra.Command, args []string) error { return a.read(cmd, o, args[0], args[1]) },
	}
	o.scope.flags(cmd)
	revealFlag(cmd, &o.scope)
	f := cmd.Flags()
	f.Int64VarP(&o.before, "before", "B", 0, "`N` events before it")
	f.Int64VarP(&o.after, "after", "A", 0, "`N` events after it")
	f.Int64VarP(&o.context, "context", "C", 0, "`N` events on both sides")
	f.BoolVar(&o.raw, "raw", false, "print the exact bytes of the record and nothing else")
	jsonFlag(cmd, &o.json)
	cmd.MarkFlagsMutuallyExclusive("raw", "json")
	return cmd
}

// sequence reads a sequence number as it is typed.
func sequence(text string) (int64, error) {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 0 {
		return 0, fault.New(fault.InvalidArgs, "%q is no sequence number: want 0, 1, 2, …", text)
	}
	return n, nil
}

func (a *app) read(cmd *cobra.Command, o readOptions, id, at string) error {
	if cmd.Flags().Changed("context") {
		if !cmd.Flags().Changed("before") {
			o.before = o.context
		}
		if !cmd.Flags().Changed("after") {
			o.after = o.context
		}
	}
	if _, ours := team.Split(id); ours {
		seq, err := sequence(at)
		switch {
		case err != nil:
			return err
		case o.raw:
			return a.teamRecord(cmd.Context(), id, seq)
		}
		_, err = a.fromTeam(cmd.Context(), id, "read", "session_event_read", map[string]any{"seq": seq, "before": o.before, "after": o.after}, o.json)
		return err
	}
	return a.aim(cmd, o.scope, id, at, func(g *authz.Grant, seq int64) error {
		w, err := g.Read(cmd.Context(), seq, o.before, o.after)
		switch {
		case err != nil:
			return err
		case o.raw && a.screen:
			err := a.emit(string(w.Event.Native))
			a.noteMasked(w.Masked)
			return err
		case o.raw:
			_, err := a.raw.Write(w.Event.Native)
			a.noteMasked(w.Masked)
			return err
		case o.json:
			return a.emitLine(render.WindowJSON(w))
		}
		return a.emit(render.WindowText(w) + "\n")
	})
}

// aim opens the corpus, finds a session and an event number, and hands them on.
func (a *app) aim(cmd *cobra.Command, s scope, id, at string, use func(*authz.Grant, int64) error) (err error) {
	seq, err := sequence(at)
	if err != nil {
		return err
	}
	c, closing, err := a.open(cmd.Context(), s)
	if err != nil {
		return err
	}
	defer closing(&err)
	g, err := c.target(cmd.Context(), id)
	if err != nil {
		return err
	}
	return use(g, seq)
}

// traceOptions are what both traces are asked.
type traceOptions struct {
	scope  scope
	format string
	json   bool
}

func (o *traceOptions) flags(cmd *cobra.Command) {
	o.scope.flags(cmd)
	revealFlag(cmd, &o.scope)
	cmd.Flags().StringVar(&o.format, "format", "text", "print `FORM`: "+orList(traceForms()))
	jsonFlag(cmd, &o.json)
	cmd.MarkFlagsMutuallyExclusive("format", "json")
}

func traceForms() []string { return []string{"text", "json", "mermaid", "svg"} }

// check refuses a form that is not there.
func (o *traceOptions) check() error {
	if o.json {
		o.format = "json"
	}
	return oneOf("--format", o.format, traceForms())
}

// emitTrace prints a trace as text, as JSON or as a picture.
func (a *app) emitTrace(format, text string, line []byte, p func() render.Picture) error {
	switch format {
	case "json":
		return a.emitLine(line)
	case "mermaid":
		return a.emit(p().Mermaid())
	case "svg":
		return a.emit(p().SVG())
	}
	return a.emitPainted(text)
}

func (a *app) traceCommand() *cobra.Command {
	var o traceOptions
	cmd := &cobra.Command{
		Use:   "trace SESSION",
		Short: "Show where a session came from and what came from it",
		Long: `Trace shows the sessions that a session was forked from or spawned by, nearest
first, and the tree of its own forks and subagents. What lies outside the
workspace is marked; --all shows it. --format svg draws a picture that needs nothing
else, --format mermaid writes the source of one.`,
		Example: `  yore trace 5ae95e
  yore trace 5ae95e --format svg > lineage.svg
  yore trace --all 5ae95e`,
		Args: takes("SESSION"),
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			if err := o.check(); err != nil {
				return err
			}
			if ours, err := a.fromTeam(cmd.Context(), args[0], "trace", "session_trace", map[string]any{}, o.format == "json"); ours {
				return err
			}
			c, closing, err := a.open(cmd.Context(), o.scope)
			if err != nil {
				return err
			}
			defer closing(&err)
			g, err := c.target(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			l, err := g.Trace(cmd.Context())
			if err != nil {
				return err
			}
			return a.emitTrace(o.format, render.LineageText(l), render.LineageJSON(l), func() render.Picture { return render.LineagePicture(l) })
		},
	}
	o.flags(cmd)
	return cmd
}

func (a *app) eventTraceCommand() *cobra.Command {
	var o traceOptions
	cmd := &cobra.Command{
		Use:   "event-trace SESSION SEQ",
		Short: "Show what replaced an event, what it replaced, and who cites it",
		Long: `Event-trace shows the two relations of an event. Replacement: a compaction,
pruning or rewind takes events out of the model's context and puts another in
their place. Citation: an event names earlier ones as its sources. --format svg
draws a picture that needs nothing else, --format mermaid writes the source of one.`,
		Example: `  yore event-trace 5ae95e 14
  yore event-trace 5ae95e 14 --format mermaid`,
		Args: takes("SESSION", "SEQ"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := o.check(); err != nil {
				return err
			}
			if _, ours := team.Split(args[0]); ours {
				seq, err := sequence(args[1])
				if err != nil {
					return err
				}
				_, err = a.fromTeam(cmd.Context(), args[0], "event-trace", "session_event_trace", map[string]any{"seq": seq}, o.format == "json")
				return err
			}
			return a.aim(cmd, o.scope, args[0], args[1], func(g *authz.Grant, seq int64) error {
				r, err := g.TraceEvent(cmd.Context(), seq)
				if err != nil {
					return err
				}
				return a.emitTrace(o.format, render.RelationsText(r), render.RelationsJSON(r), func() render.Picture { return render.RelationsPicture(r) })
			})
		},
	}
	o.flags(cmd)
	return cmd
}
