// Package cli owns the command line: commands, configuration, exit codes, and
// what a person sees on a terminal. It is the only place that reads the
// environment, and the only one that knows every part of the product.
//
// It acts for the person whose history it is, restricted to one workspace
// unless told otherwise, and asks everything through a View; it knows no store
// and no log format. Start at Main, then newRoot; search.go shows one command
// from its flags to its output.
package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/yorehq/yore/fault"
	"github.com/yorehq/yore/internal/render"
)

// The exit codes.
const (
	exitAnswered    = 0   // answered, even if the answer is empty
	exitFailed      = 1   // failed
	exitUsage       = 2   // the command line or the configuration is wrong
	exitPartial     = 3   // answered in part, or doctor found something wrong
	exitInterrupted = 130 // stopped by a signal
)

// Main runs one command line and returns the exit code. It handles interrupts
// and a closed pipe for the whole process.
func Main(args []string, in io.Reader, out, errs io.Writer) int {
	// A reader that went away shall be an error to return from, not the end of
	// the process: there may be a private index to remove.
	signal.Ignore(syscall.SIGPIPE)
	tuneMemory(os.Getenv)
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	// A second interrupt ends the process if the first one does not.
	context.AfterFunc(ctx, stop)
	a := &app{
		in: in, raw: out, out: bufio.NewWriter(out), errs: errs, getenv: os.Getenv,
		screen: isTerminal(out), errScreen: isTerminal(errs),
	}
	return a.run(ctx, args)
}

// app is one run of the program.
type app struct {
	in        io.Reader
	raw       io.Writer     // standard output as it is, for protocols and exact bytes
	out       *bufio.Writer // standard output for everything else
	errs      io.Writer
	getenv    func(string) string
	screen    bool // standard output is a terminal
	errScreen bool // standard error is one

	command  string // as it was called, without flags and arguments
	settings settings
	logger   *slog.Logger
	began    bool // the command line was understood
	partial  bool // the answer is not complete
}

func (a *app) run(ctx context.Context, args []string) int {
	root := a.newRoot()
	helpCommands(root)
	root.SetArgs(args)
	root.SetIn(a.in)
	root.SetOut(a.out)
	root.SetErr(a.errs)
	cmd, err := root.ExecuteContextC(ctx)
	if flushed := a.out.Flush(); err == nil {
		err = flushed
	}
	return a.verdict(ctx, cmd, err)
}

// verdict says on standard error what went wrong and gives the exit code.
func (a *app) verdict(ctx context.Context, cmd *cobra.Command, err error) int {
	code, coded := fault.Of(err)
	switch {
	case errors.Is(err, syscall.EPIPE), errors.Is(err, io.ErrClosedPipe):
		return exitAnswered // who was reading has read enough
	case err != nil && ctx.Err() != nil:
		fmt.Fprintln(a.errs, "yore: interrupted")
		return exitInterrupted
	case err != nil && !a.began:
		a.complain(render.Line(err.Error(), 0), "Usage: "+cmd.UseLine()+"; `"+cmd.CommandPath()+" --help` explains it.")
		return exitUsage
	case err != nil && coded:
		a.explain(cmd, code, err)
		if usage(code) {
			return exitUsage
		}
		return exitFailed
	case err != nil:
		a.complain(render.Line(err.Error(), 0), "")
		return exitFailed
	case a.partial:
		return exitPartial
	}
	return exitAnswered
}

// usage reports whether a failure is about what was typed or configured.
func usage(code fault.Code) bool {
	switch code {
	case fault.InvalidArgs, fault.InvalidQuery, fault.InvalidFilter, fault.InvalidLimit, fault.InvalidWindow, fault.InvalidConfig:
		return true
	}
	return false
}

// explain shows a failure to the owner: what, why, and what to do.
func (a *app) explain(cmd *cobra.Command, code fault.Code, err error) {
	text, what := fault.SafeText(err), remedy(code)
	bare := text == fault.Sentence(code)
	if code == fault.IndexFailed && ofServer(cmd) { // what is stored there is no index of this machine's
		what = "Its address is what --database or YORE_DATABASE says; who may log in, PostgreSQL's pg_hba.conf."
		if bare {
			text = "The team's database cannot be used."
		}
	}
	if !usage(code) && bare {
		// It is the owner's own machine: the cause may be seen.
		if cause := strings.TrimPrefix(strings.TrimPrefix(err.Error(), string(code)), ": "); cause != "" {
			text += " (" + cause + ")"
		}
	}
	a.complain(render.Line(text, 0), strings.ReplaceAll(what, "yore COMMAND", cmd.CommandPath()))
}

func (a *app) complain(text, remedy string) {
	fmt.Fprintln(a.errs, a.paint(a.errScreen, red, "yore:")+" "+text)
	if remedy != "" {
		fmt.Fprintln(a.errs, "      "+remedy)
	}
}

// remedy says what a person at a terminal can do about a failure.
func remedy(code fault.Code) string {
	switch code {
	case fault.Unauthorized, fault.SessionNotFound:
		return "`yore list` shows the ids of this workspace; --workspace DIR chooses another, --all takes every one."
	case fault.EventNotFound:
		return "`yore events SESSION` lists the sequence numbers of a session."
	case fault.InvalidArgs, fault.InvalidConfig, fault.InvalidFilter, fault.InvalidQuery, fault.InvalidLimit, fault.InvalidWindow:
		return "`yore COMMAND --help` shows what each flag takes."
	case fault.ToolFailed, fault.IndexFailed, fault.CorruptSession, fault.Persistence, fault.InvalidSurface:
		return "`yore doctor` names files, places and reasons."
	case fault.SearchDisabled:
		return "Reads, lists and traces still work."
	}
	return fault.Remedy(code)
}

func (a *app) newRoot() *cobra.Command {
	root := &cobra.Command{
		Use:   "yore COMMAND",
		Short: "Search, trace and read the prior sessions of AI coding agents",
		Long: `yore answers questions about the prior sessions of AI coding agents: what was
said and done, where a session came from, what became of an event, and the exact
record of it. It reads the agents' own logs, keeps a disposable index beside
them, and writes nothing to an agent's folders, unless told by setup --write to
put the tools into its configuration.

Commands look at the sessions of one workspace: the directory you are in, exactly
as the agent recorded it. --workspace DIR takes another one, --all every one.

Exit codes: 0 answered (even if empty), 1 failed, 2 wrong usage or configuration,
3 answered in part, 130 interrupted.`,
		Example: `  yore search linker fails            sessions that speak of it, best first
  yore events 5ae95e linker           the events of one of them
  yore read 5ae95e 12 -C 2            event 12 as logged, and its neighbours
  yore demo                           a tour over samples, without any set-up`,
		Args:                  func(root *cobra.Command, args []string) error { return unknownCommand(root, args) },
		RunE:                  func(root *cobra.Command, _ []string) error { return root.Help() },
		Version:               version(),
		DisableFlagsInUseLine: true,
		SilenceErrors:         true,
		SilenceUsage:          true,
		PersistentPreRunE:     a.prepare,
	}
	root.SetVersionTemplate("yore {{.Version}}\n")
	root.SetFlagErrorFunc(misuse)
	f := root.PersistentFlags()
	f.String("index", "", "`DIR` of the index (default: below the user's cache folder)")
	f.StringArray("root", nil, "where an agent keeps its sessions, as `AGENT=DIR`; repeatable, replaces the known places")
	f.String("config", "", "configuration `FILE` (default: yore/config.toml in the user's configuration folder)")
	f.String("log-level", "", "`LEVEL` of what is logged to standard error: debug, info, warn or error (default warn)")
	root.AddCommand(
		a.tuiCommand(), a.searchCommand(), a.eventsCommand(), a.listCommand(), a.showCommand(), a.statsCommand(), a.readCommand(), a.traceCommand(), a.eventTraceCommand(),
		a.indexCommand(), a.archiveCommand(), a.forgetCommand(), a.pushCommand(), a.doctorCommand(), a.setupCommand(), a.mcpCommand(), a.serveCommand(), a.webCommand(), a.demoCommand(), a.manCommand(), a.versionCommand(),
	)
	a.offers(root)
	return root
}

// helpCommands makes the commands that Cobra adds by itself refuse what they do
// not know, like all others.
func helpCommands(root *cobra.Command) {
	root.InitDefaultCompletionCmd()
	root.InitDefaultHelpCmd()
	for _, c := range root.Commands() {
		switch c.Name() {
		case "completion":
			shells := c
			c.Args = func(_ *cobra.Command, args []string) error { return unknownCommand(shells, args) }
			c.RunE = func(c *cobra.Command, _ []string) error { return c.Help() }
		case "help":
			c.Run = nil
			c.Args = func(_ *cobra.Command, args []string) error {
				_, rest, err := root.Find(args)
				if err == nil && len(rest) > 0 {
					var known []string
					for _, c := range root.Commands() {
						known = append(known, c.Name())
					}
					err = fmt.Errorf("there is no command %q to explain%s", strings.Join(args, " "), didYouMean(args[0], known))
				}
				return err
			}
			c.RunE = func(_ *cobra.Command, args []string) error {
				about, _, err := root.Find(args)
				if err != nil {
					return err
				}
				about.InitDefaultHelpFlag()
				return about.Help()
			}
		}
	}
}

// prepare resolves the configuration before any command runs.
func (a *app) prepare(cmd *cobra.Command, _ []string) error {
	// Cobra would look at these only later, when a wrong use is no longer told
	// from a failure.
	if err := exclusive(cmd); err != nil {
		return err
	}
	if err := checkFlags(cmd); err != nil {
		return err
	}
	a.began, a.command = true, cmd.CommandPath()
	a.logger = slog.New(slog.NewTextHandler(a.errs, &slog.HandlerOptions{Level: slog.LevelWarn}))
	if unconfigured(cmd) {
		return nil
	}
	s, err := a.configure(cmd)
	if err != nil {
		return err
	}
	a.settings = s
	a.logger = slog.New(slog.NewTextHandler(a.errs, &slog.HandlerOptions{Level: s.logLevel}))
	return nil
}

// unconfigured reports whether a command works whatever the configuration says.
func unconfigured(cmd *cobra.Command) bool {
	if !cmd.HasParent() || cmd.Parent().Name() == "completion" {
		return true
	}
	switch cmd.Name() {
	case "version", "demo", "man", "help", "completion", cobra.ShellCompRequestCmd, cobra.ShellCompNoDescRequestCmd:
		return true
	}
	return false
}
