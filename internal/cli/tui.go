package cli

import (
	"bytes"
	"errors"
	"log/slog"
	"os"
	"os/exec"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/yorehq/yore"
	"github.com/yorehq/yore/internal/render"
	"github.com/yorehq/yore/internal/tui"
	"github.com/yorehq/yore/query"
	"github.com/yorehq/yore/reader/archive"
	"github.com/yorehq/yore/session"
)

// tuiOptions are what `yore tui` is asked.
type tuiOptions struct {
	scope scope
	theme string
	now   string
}

func (a *app) tuiCommand() *cobra.Command {
	var o tuiOptions
	cmd := &cobra.Command{
		Use:   "tui [QUERY...]",
		Short: "Search and read sessions on a full screen",
		Long: `Tui searches while you type and shows the sessions that match beside a preview
of their best event. From there it goes on to whole sessions, to where a session
comes from and what came from it, and to what became of an event. Filters (agent,
workspace, time, event type, state), the order and the way to match are a key
each. The last row names the keys; ? explains them all.

It begins with the workspace you are in, or with DIR, or with every one; w turns
to the other. Without a query it lists the newest sessions. What is new is indexed
beside your typing: at the start, and every few seconds in which you ask anything.

A whole session opens in your pager. Ids and the commands that resume a session are
sent to the terminal's clipboard (OSC 52), which works over SSH where the terminal
allows it, and are shown. NO_COLOR is heeded.`,
		Example: `  yore tui
  yore tui linker fails
  yore tui --all --order matches quota ledger`,
		RunE: func(cmd *cobra.Command, args []string) error { return a.tui(cmd, o, strings.Join(args, " ")) },
	}
	o.scope.flags(cmd)
	cmd.Flags().StringVar(&o.theme, "theme", "auto", "colours for a `BACKGROUND`: auto (the terminal is asked), light or dark")
	// Ages on a screen that is compared with a kept one have to stand still.
	cmd.Flags().StringVar(&o.now, "now", "", "the `TIME` it is")
	_ = cmd.Flags().MarkHidden("now") // fails for unknown flags alone
	rankFlags(cmd)
	return cmd
}

func (a *app) tui(cmd *cobra.Command, o tuiOptions, text string) (err error) {
	if err := oneOf("--theme", o.theme, []string{"auto", "light", "dark"}); err != nil {
		return err
	}
	theme := map[string]tui.Theme{"auto": tui.Auto, "light": tui.Light, "dark": tui.Dark}[o.theme]
	now := time.Now
	if o.now != "" {
		at, _, err := instant("--now", o.now, time.Now())
		if err != nil {
			return err
		}
		now = func() time.Time { return at }
	}
	in, _ := a.in.(*os.File)
	if in == nil || !term.IsTerminal(int(in.Fd())) || !isTerminal(a.raw) || a.getenv("TERM") == "dumb" {
		return errors.New("tui needs a terminal on standard input and output; `yore search` and `yore list` do without one")
	}
	workspace, err := o.scope.workspace()
	if err != nil && !o.scope.all {
		return err
	}
	// What is logged meanwhile would be written over the screen.
	var logged later
	defer func() { _, _ = logged.buffer.WriteTo(a.errs) }()
	logger := slog.New(slog.NewTextHandler(&logged, &slog.HandlerOptions{Level: a.settings.logLevel}))
	h, closing, err := a.history(cmd.Context(), func(y *yore.Options) { y.Logger = logger })
	if err != nil {
		return err
	}
	defer closing(&err)
	view, err := h.OwnerView()
	if err != nil {
		return err
	}
	others, beside := a.teamHistory()
	if beside != "" {
		a.note("%s", beside)
	}
	return tui.Run(cmd.Context(), tui.Options{
		View: view, Team: others, Refresh: h.Refresh, Resume: h.Resume, Pager: a.wholePager,
		Workspace: workspace, All: o.scope.all, Query: render.Line(text, query.MaxQuery), Agents: agentsOf(a.settings.sources),
		Match: a.settings.match, Order: a.settings.order, Inherited: a.settings.inherited,
		In: in, Out: a.raw, Environ: os.Environ(), Colours: a.colours(true), Theme: theme, Now: now,
	})
}

// agentsOf returns the agents of the sources, each once.
func agentsOf(sources []yore.Source) []session.Agent {
	var agents []session.Agent
	seen := map[session.Agent]bool{archive.Agent: true} // whose sessions are of the others
	for _, s := range sources {
		if !seen[s.Agent] {
			seen[s.Agent] = true
			agents = append(agents, s.Agent)
		}
	}
	return agents
}

// wholePager makes the command that shows its input on the whole screen; nil:
// the person wants none. It stays until it is left, however short the text is.
func (a *app) wholePager() *exec.Cmd {
	words := a.pager()
	if len(words) == 0 {
		return nil
	}
	cmd := exec.Command(words[0], words[1:]...)
	cmd.Env = os.Environ()
	if a.getenv("LESSCHARSET") == "" {
		cmd.Env = append(cmd.Env, "LESSCHARSET=utf-8")
	}
	return cmd
}

// later keeps the end of what is written, for after the screen.
type later struct {
	mu     sync.Mutex
	buffer bytes.Buffer
}

// maxLater is how many bytes are kept.
const maxLater = 16 << 10

// Write implements io.Writer.
func (l *later) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if over := l.buffer.Len() + len(p) - maxLater; over > 0 {
		l.buffer.Next(over)
	}
	return l.buffer.Write(p)
}
