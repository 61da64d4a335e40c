// Package yore answers questions about the prior sessions of AI coding agents:
// search over everything that people, models and tools said in them, traces of
// sessions and events, and exact reads of the agents' own logs.
//
// A host opens a History over the agents' folders, optionally registers its own
// live sessions, and gives its model the five tools of History.Tools; each call
// names its caller, and a caller reaches only the sessions of its own
// workspace. Go code asks the same questions through a View.
//
// Nothing here writes to an agent's folders, opens a network connection, or
// starts a process. The index is a disposable cache. Start at Open.
package yore

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/yorehq/yore/authz"
	"github.com/yorehq/yore/fault"
	"github.com/yorehq/yore/internal/forget"
	"github.com/yorehq/yore/internal/ingest"
	"github.com/yorehq/yore/internal/worktree"
	"github.com/yorehq/yore/query"
	"github.com/yorehq/yore/reader"
	"github.com/yorehq/yore/reader/archive"
	"github.com/yorehq/yore/reader/claude"
	"github.com/yorehq/yore/reader/codex"
	"github.com/yorehq/yore/reader/copilot"
	"github.com/yorehq/yore/reader/cursor"
	"github.com/yorehq/yore/reader/dsh"
	"github.com/yorehq/yore/reader/gemini"
	"github.com/yorehq/yore/reader/kimi"
	"github.com/yorehq/yore/reader/openclaw"
	"github.com/yorehq/yore/reader/opencode"
	"github.com/yorehq/yore/reader/pi"
	"github.com/yorehq/yore/reader/qwen"
	"github.com/yorehq/yore/session"
	"github.com/yorehq/yore/sqlite"
	"github.com/yorehq/yore/toolset"
)

// History is an open corpus: the agents' logs, the index over them, and the
// live sessions of this process. It is safe for concurrent use.
type History struct {
	engine  *query.Engine
	policy  authz.Policy
	same    authz.Resolver // nil unless the policy asks for it
	tools   *toolset.Set
	ingest  *ingest.Ingester // nil while the index cannot be used
	live    *ingest.LiveSet
	index   *sqlite.Index // nil while it cannot be used
	overlay *sqlite.Index
	logger  *slog.Logger
	roots   []ingest.Root
	forgets *forget.List
	scratch string // a private index folder to remove at the end
	err     error  // why the index cannot be used

	stop    context.CancelFunc
	working sync.WaitGroup
}

// Open opens a history. That the index folder is not ours (a plain file,
// another application's database) is no failure of Open: live sessions work,
// everything else answers fault.IndexFailed. A folder that cannot be made or
// written is replaced by a private temporary one, with a warning.
func Open(ctx context.Context, o Options) (*History, error) {
	o, err := o.resolve()
	if err != nil {
		return nil, err
	}
	h := &History{logger: o.Logger, policy: o.Policy}
	if o.ForgetFile != "" {
		h.forgets = forget.New(o.ForgetFile)
	}
	if o.Policy == authz.Repository {
		h.same = worktree.New(worktree.Options{File: o.WorktreeFile, Logger: o.Logger})
	}
	for _, s := range o.Sources {
		r, ok := readerOf(s.Agent)
		if !ok {
			return nil, fault.New(fault.InvalidConfig, "no reader for agent %q: the known ones are %s", s.Agent, agents())
		}
		root, err := filepath.Abs(s.Root)
		if err != nil {
			return nil, err
		}
		h.roots = append(h.roots, ingest.Root{Reader: r, Path: root})
	}
	if h.overlay, err = sqlite.OpenMemory(ctx); err != nil {
		return nil, err
	}
	h.live = ingest.NewLiveSet(h.overlay, h.overlay)
	h.openIndex(ctx, o)
	config := query.Config{
		DiskErr: h.err, Search: o.Search, Snippet: o.SnippetPoints, Window: o.ReadWindow, Logger: o.Logger,
		Live: query.Corpus{Store: h.overlay, Refresher: h.live, Logs: h.live},
	}
	if h.err == nil {
		h.ingest = ingest.New(ingest.Options{Roots: h.roots, Catalog: h.index, Shards: h.index, Forgotten: h.forgets, Logger: o.Logger})
		config.Disk = query.Corpus{Store: remembered{h.index, h.ingest}, Refresher: h.ingest, Logs: h.ingest, Outside: h.ingest}
	}
	h.engine, err = query.New(config)
	if err == nil {
		h.tools, err = toolset.New(h, toolset.Options{
			MaxSearchResults: o.MaxSearchResults, SearchTimeout: o.SearchTimeout, SearchBytes: o.SearchBytes, ReadWindow: o.ReadWindow,
			Match: o.Match, Order: o.Order, Inherited: o.Inherited, Logger: o.Logger,
		})
	}
	if err != nil {
		return nil, errors.Join(err, h.Close())
	}
	h.work(o)
	return h, nil
}

// openIndex opens the index on disk, or a private one in its stead.
func (h *History) openIndex(ctx context.Context, o Options) {
	h.index, h.err = sqlite.Open(ctx, sqlite.Options{Dir: o.IndexDir, Network: o.NetworkIndex, Logger: o.Logger})
	if h.err == nil || !errors.Is(h.err, os.ErrPermission) && !errors.Is(h.err, errReadOnly) {
		return
	}
	scratch, err := os.MkdirTemp("", "yore-index-")
	if err != nil {
		return
	}
	index, err := sqlite.Open(ctx, sqlite.Options{Dir: scratch, Logger: o.Logger})
	if err != nil {
		h.err = errors.Join(h.err, err, os.RemoveAll(scratch))
		return
	}
	o.Logger.Warn("the index folder cannot be written; a private index is made for this run only", "error", h.err)
	h.index, h.scratch, h.err = index, scratch, nil
}

// work starts what goes on beside answers, under an owner that Close waits for:
// the first indexing in startup mode.
func (h *History) work(o Options) {
	ctx, cancel := context.WithCancel(context.Background())
	h.stop = cancel
	if h.ingest == nil || o.Search != query.SearchStartup || len(o.Workspaces) == 0 {
		return
	}
	h.working.Go(func() {
		if _, err := h.ingest.Refresh(ctx, session.Scope{Workspaces: o.Workspaces}, nil); err != nil && ctx.Err() == nil {
			h.logger.Warn("indexing at start-up failed", "error", err)
		}
	})
}

// Close stops what is under way, removes what deletions left in the index, and
// closes everything. Views and tools of the history fail afterwards.
func (h *History) Close() error {
	var errs []error
	if h.stop != nil {
		h.stop()
		h.working.Wait()
	}
	if h.index != nil {
		errs = append(errs, h.Tidy(context.Background()), h.index.Close())
	}
	if h.overlay != nil {
		errs = append(errs, h.overlay.Close())
	}
	if h.scratch != "" {
		errs = append(errs, os.RemoveAll(h.scratch))
	}
	return errors.Join(errs...)
}

// Tidy removes what deletions left in the files of the index. Call it after an
// answer; Close does it too.
func (h *History) Tidy(ctx context.Context) error {
	if h.ingest == nil {
		return nil
	}
	return h.ingest.Tidy(ctx)
}

// Tools returns the five tools.
func (h *History) Tools() *toolset.Set { return h.tools }

// View returns the corpus as a caller may see it: the sessions of its own
// workspace, as far as Options.Policy says that reaches. A caller with neither
// workspace nor session is fault.MissingAgent.
func (h *History) View(ctx context.Context, caller authz.Caller) (*authz.View, error) {
	return authz.New(ctx, h.engine, h.policy, h.same, caller)
}

// OwnerView returns the whole corpus, for the person whose history it is. It is
// not for models.
func (h *History) OwnerView() (*authz.View, error) {
	return authz.New(context.Background(), h.engine, authz.Owner, nil, authz.Caller{})
}

// Refresh brings a scope up to date; searches do so by themselves. progress may be nil.
func (h *History) Refresh(ctx context.Context, scope session.Scope, progress func(done, total int)) (session.Coverage, error) {
	if h.err != nil {
		return session.Coverage{}, h.err
	}
	return h.ingest.Refresh(ctx, scope, progress)
}

// readerOf returns the reader for an agent's logs.
func readerOf(a session.Agent) (reader.Reader, bool) {
	for _, r := range Readers() {
		if r.Agent() == a {
			return r, true
		}
	}
	return nil, false
}

// agents names the agents that have a reader.
func agents() string {
	var names []string
	for _, r := range Readers() {
		names = append(names, string(r.Agent()))
	}
	return strings.Join(names, ", ")
}

// Readers returns a reader for every agent that this build knows.
func Readers() []reader.Reader {
	return []reader.Reader{dsh.New(), claude.New(), codex.New(), pi.New(), copilot.New(), kimi.New(), gemini.New(), qwen.New(), cursor.New(), opencode.New(), opencode.NewKilo(), openclaw.New(), archive.New()}
}

// DefaultSources returns where the known agents keep their sessions, whether or
// not the folders exist. getenv looks up the environment.
func DefaultSources(getenv func(string) string, home string) []Source {
	var all []Source
	for _, r := range Readers() {
		for _, root := range r.DefaultRoots(getenv, home) {
			all = append(all, Source{Agent: r.Agent(), Root: root})
		}
	}
	return all
}

// DefaultIndexDir returns where the index lives unless told otherwise: below
// the user's cache folder.
func DefaultIndexDir() (string, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("%w: no cache folder: %w", fault.InvalidConfig, err)
	}
	return filepath.Join(cache, "yore"), nil
}

// DefaultWorktreeFile returns where proofs of worktrees are recorded unless
// told otherwise: below the user's configuration folder, since a cache may be
// deleted at any time.
func DefaultWorktreeFile() (string, error) {
	dir, err := os.UserConfigDir()
	if err != nil {
		return "", fmt.Errorf("%w: no configuration folder: %w", fault.InvalidConfig, err)
	}
	return filepath.Join(dir, "yore", "worktrees.json"), nil
}
