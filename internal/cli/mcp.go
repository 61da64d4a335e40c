package cli

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/yorehq/yore"
	"github.com/yorehq/yore/fault"
	"github.com/yorehq/yore/internal/identity"
	"github.com/yorehq/yore/internal/mcpserver"
	"github.com/yorehq/yore/internal/spill"
	"github.com/yorehq/yore/internal/team"
	"github.com/yorehq/yore/reader"
	"github.com/yorehq/yore/reader/archive"
	"github.com/yorehq/yore/session"
	"github.com/yorehq/yore/toolset"
)

func (a *app) mcpCommand() *cobra.Command {
	var workspace string
	cmd := &cobra.Command{
		Use:   "mcp",
		Short: "Serve the five tools to an agent over MCP, on standard input and output",
		Long: `Mcp speaks the Model Context Protocol on standard input and output, for an agent
that starts it as a server. The agent gets five read-only tools over the sessions
of one workspace: the directory the server was started in, or --workspace.

Which session is calling is found out where the agent tells; it can narrow what
is seen and never widen it. Logs go to standard error.

With --workspace-policy repository the top-level directories of one git
repository's worktrees count as one workspace, and so do other spellings of the
same directory. Membership is proved on the file system and recorded in
yore/worktrees.json in the user's configuration folder, so that the sessions of a
worktree are found after it was removed. A path that another project took over
is a workspace of its own until its line is taken out of that file.

A result that is longer than the agent takes is saved whole to a private file,
and the agent gets its beginning and end and where the file is.
--max-inline-bytes 0 turns that off.`,
		Example: `  claude mcp add yore -- yore mcp
  codex mcp add yore -- yore mcp
  yore mcp --workspace /srv/code/alpha --search-mode first-search
  yore mcp --workspace-policy repository`,
		Args: takes(),
		RunE: func(cmd *cobra.Command, _ []string) error { return a.mcp(cmd.Context(), workspace) },
	}
	f := cmd.Flags()
	f.StringVarP(&workspace, "workspace", "w", "", "the workspace `DIR` (default: the one the server was started in)")
	f.String("search-mode", "", "`WHEN` indexing begins: startup, first-search, or never, without search (default startup)")
	f.String("workspace-policy", "", "`WHICH` sessions are seen: exact, those of the workspace; repository, those of all its worktrees (default exact)")
	f.String("max-inline-bytes", "", "the longest result given inline, `N` bytes; 0: any (default: by the agent)")
	rankFlags(cmd)
	return cmd
}

func (a *app) mcp(ctx context.Context, workspace string) (err error) {
	finder := &sessions{}
	logs := identity.NewLogs(identity.LogsOptions{
		List: finder.logs, Roots: finder.roots,
		Readers: slices.DeleteFunc(yore.Readers(), func(r reader.Reader) bool {
			return r.Agent() == archive.Agent // a kept copy is no log of a session at work
		}),
	})
	resolver, err := identity.New(identity.Options{
		Workspace: workspace, Getenv: a.getenv, Finder: finder, Calls: logs, Running: finder.running, Logger: a.logger,
	})
	if err != nil {
		return err
	}
	// What can be known before the first call. In doubt nothing is indexed yet.
	expected, expectErr := resolver.Caller(ctx, identity.Call{})
	h, closing, err := a.history(ctx, func(o *yore.Options) {
		o.Search, o.Policy = a.settings.searchMode, a.settings.policy
		if expectErr == nil {
			o.Workspaces = []string{expected.Workspace}
		}
	})
	if err != nil {
		return err
	}
	defer closing(&err)
	finder.history = h
	tools := &tidied{Set: h.Tools(), tidy: func() {
		if err := h.Tidy(ctx); err != nil && !fault.IsContext(err) {
			a.logger.Warn("remains of deleted sessions are still in the index", "error", err)
		}
	}}
	defer tools.wait()
	all := mcpserver.Tools(tools)
	if server, err := a.teamServer(); err != nil {
		a.logger.Warn("the team's server is not asked", "error", err)
	} else if server != nil {
		all = &team.Tools{Local: tools, Server: server, Name: a.settings.team.name}
	}
	err = mcpserver.Serve(ctx, mcpserver.Options{
		Tools: all, Callers: resolver, Version: version(), MaxInlineBytes: a.settings.inlineBytes,
		Spill: spill.Policy{Dir: a.settings.spill}, Logger: a.logger,
	}, a.in, a.raw)
	return err
}

// tidied is the tool set, which cleans up behind an answer: one cleaning at a
// time, while the answer is on its way.
type tidied struct {
	*toolset.Set
	tidy func()

	mu      sync.Mutex
	busy    bool
	working sync.WaitGroup
}

// Call implements mcpserver.Tools.
func (t *tidied) Call(ctx context.Context, call toolset.Call) toolset.Outcome {
	out := t.Set.Call(ctx, call)
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.busy {
		t.busy = true
		t.working.Go(func() {
			t.tidy()
			t.mu.Lock()
			t.busy = false
			t.mu.Unlock()
		})
	}
	return out
}

func (t *tidied) wait() { t.working.Wait() }

// sessions answers identity's questions out of a history.
type sessions struct{ history *yore.History }

// lookup is how long a question about who is calling may take.
const lookup = 2 * time.Second

// HasSession implements identity.Finder. It asks for the workspace itself,
// whatever the policy: who calls is never widened.
func (s *sessions) HasSession(ctx context.Context, workspace string, key session.Key) (bool, error) {
	ctx, cancel := context.WithTimeout(ctx, lookup)
	defer cancel()
	sources, err := s.logs(ctx, workspace)
	return slices.ContainsFunc(sources, func(src reader.Source) bool { return src.Header.Key() == key }), err
}

// logs lists the sources of a workspace.
func (s *sessions) logs(ctx context.Context, workspace string) ([]reader.Source, error) {
	if s.history == nil {
		return nil, nil
	}
	return s.history.Logs(ctx, workspace)
}

// roots lists the folders of an agent's sessions.
func (s *sessions) roots(agent session.Agent) []string {
	if s.history == nil {
		return nil
	}
	return s.history.Roots(agent)
}

// running tells which sessions are open in which process.
func (s *sessions) running(ctx context.Context) (map[session.Key]reader.Process, error) {
	if s.history == nil {
		return nil, nil
	}
	return s.history.Running(ctx)
}

// NewestSession implements identity.NewestFinder.
func (s *sessions) NewestSession(ctx context.Context, workspace string, agent session.Agent) (session.Key, bool, error) {
	sources, err := s.logs(ctx, workspace)
	var newest session.Key
	var latest int64
	for _, src := range sources {
		if src.Header.Agent != agent || src.Header.Origin != "" {
			continue
		}
		if stamp, err := reader.StatRegular(reader.FileOf(src.Path)); err == nil && stamp.ModTime > latest {
			newest, latest = src.Header.Key(), stamp.ModTime
		}
	}
	return newest, latest > 0, err
}
