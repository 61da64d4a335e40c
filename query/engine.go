// Package query owns the questions that can be asked of a corpus of sessions
// and the engine that answers them: list, filter, search, read, trace.
//
// The engine combines stores (the disk index and an overlay of live sessions)
// into one logical corpus, ranks with one Go function for every store, and
// binds pages to request and generation. It declares the interfaces it needs: a
// Store, Logs and a Refresher. It knows nothing of callers and rights: package
// authz stands in front of it, and no surface reaches it otherwise.
//
// Start at Engine, then SearchSessions.
package query

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/yorehq/yore/fault"
	"github.com/yorehq/yore/internal/mask"
	"github.com/yorehq/yore/session"
)

// SearchMode says when search begins to work.
type SearchMode string

// The modes.
const (
	SearchStartup SearchMode = "startup"      // indexing begins when the host starts
	SearchFirst   SearchMode = "first-search" // indexing begins with the first search
	SearchNever   SearchMode = "never"        // no search; reads and traces work
)

// MaxLimit is the largest page.
const MaxLimit = 10_000

// Corpus is one store with what keeps it up to date and reads its logs.
type Corpus struct {
	Store     Store
	Refresher Refresher
	Logs      Logs
	Outside   Outside // may be nil
}

// Config is what an engine is made of. Zero fields take their defaults.
type Config struct {
	Disk    Corpus        // persisted sessions
	DiskErr error         // why Disk cannot be used: whatever needs it fails with this
	Live    Corpus        // sessions registered in this process; may be empty
	Search  SearchMode    // SearchFirst
	Snippet int           // code points of a snippet; 240
	Window  int           // neighbours a side that a read may return; 50, negative: none
	Reserve time.Duration // how much of a deadline is kept for the answer; 5 s
	Logger  *slog.Logger  // nil discards
	Mask    *mask.Masker  // of credentials in what is returned; nil: one with every rule
}

// Engine answers questions about a corpus. It is safe for concurrent use.
type Engine struct {
	Config
	secret []byte // cursors are sealed with it
}

// New checks a configuration and makes an engine of it.
func New(c Config) (*Engine, error) {
	if c.Search == "" {
		c.Search = SearchFirst
	}
	if c.Snippet == 0 {
		c.Snippet = 240
	}
	if c.Window == 0 {
		c.Window = 50
	}
	if c.Reserve == 0 {
		c.Reserve = 5 * time.Second
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	if c.Mask == nil {
		c.Mask = mask.New()
	}
	switch {
	case c.Search != SearchStartup && c.Search != SearchFirst && c.Search != SearchNever:
		return nil, fault.New(fault.InvalidConfig, "search mode %q: want startup, first-search or never", c.Search)
	case c.Snippet < 0:
		return nil, fault.New(fault.InvalidConfig, "snippet length %d is negative", c.Snippet)
	case c.Disk.Store == nil && c.DiskErr == nil:
		return nil, fault.New(fault.InvalidConfig, "an engine needs a store")
	}
	e := &Engine{Config: c, secret: make([]byte, 32)}
	if _, err := rand.Read(e.secret); err != nil {
		return nil, err
	}
	return e, nil
}

// corpora returns the corpora in order of precedence: a live session hides its
// stored log.
func (e *Engine) corpora() []*Corpus {
	var all []*Corpus
	if e.Live.Store != nil {
		all = append(all, &e.Live)
	}
	if e.DiskErr == nil {
		all = append(all, &e.Disk)
	}
	return all
}

// Located is a session of the logical corpus.
type Located struct {
	Header    session.Header
	Live      bool
	Persisted bool
	Conflict  bool // its sources contradict each other: targets fail, searches leave it out
	corpus    *Corpus
	source    string
}

// ReadID gives the readings of an id as a person or a model writes it: the
// exact native id of any agent first, then agent:id.
func ReadID(text string) []session.Key {
	readings := []session.Key{{ID: session.ID(text)}}
	if agent, id, ok := strings.Cut(text, ":"); ok && agent != "" && id != "" {
		readings = append(readings, session.Key{Agent: session.Agent(agent), ID: session.ID(id)})
	}
	return readings
}

// Find returns the sessions with a key in any workspace; a key without an agent
// stands for every agent. New files are discovered first. An error says that there
// may be more; what was found is returned beside it. in is as in FindAll.
func (e *Engine) Find(ctx context.Context, key session.Key, in []string) ([]Located, error) {
	found, err := e.FindAll(ctx, []session.ID{key.ID}, in)
	if fault.IsContext(err) {
		return nil, err
	}
	found = slices.DeleteFunc(found, func(l Located) bool { return key.Agent != "" && l.Header.Agent != key.Agent })
	return found, err
}

// FindAll returns the sessions that have one of the native ids, of any agent in
// some workspaces (nil: all), after one look for new files. An error says that
// there may be more; what was found is returned beside it. A session in none of
// the workspaces costs what one costs that is nowhere.
func (e *Engine) FindAll(ctx context.Context, ids []session.ID, in []string) ([]Located, error) {
	diskErr := e.discover(ctx)
	if fault.IsContext(diskErr) {
		return nil, diskErr
	}
	ids = slices.Clone(ids)
	slices.Sort(ids)
	found, err := e.locate(ctx, Lookup{IDs: slices.Compact(ids), Workspaces: in})
	return found, errors.Join(diskErr, err)
}

func (e *Engine) discover(ctx context.Context) error {
	if e.DiskErr != nil {
		return e.DiskErr
	}
	_, err := e.Disk.Refresher.Refresh(ctx, session.Scope{}, nil)
	return err
}

// locate unites what the corpora know: one entry a session and workspace.
// Problematic sources are no sessions. What was found before an error is
// returned beside it.
func (e *Engine) locate(ctx context.Context, which Lookup) ([]Located, error) {
	var all []Located
	at := map[Target]int{}
	for _, c := range e.corpora() {
		live := c == &e.Live
		known, err := c.Store.Headers(ctx, which)
		if err != nil {
			return all, err
		}
		for _, k := range known {
			conflict := k.Problem != nil && k.Problem.Code == fault.ToolFailed
			if k.Problem != nil && !conflict {
				continue
			}
			t := TargetOf(k.Header)
			i, ok := at[t]
			if !ok {
				at[t] = len(all)
				all = append(all, Located{Header: k.Header, Live: live, Persisted: !live, Conflict: conflict, corpus: c, source: k.Path})
				continue
			}
			all[i].Persisted = all[i].Persisted || !live
			all[i].Conflict = all[i].Conflict || conflict || all[i].Header != k.Header
		}
	}
	return all, nil
}

// Parent returns the session that h names as its parent: of the same agent, in
// the same workspace if there is one, else one that sees holds for, so that a
// foreign log of the same id does not hide it. in is as in FindAll.
func (e *Engine) Parent(ctx context.Context, h session.Header, in []string, sees func(session.Header) bool) (session.Header, bool, error) {
	found, err := e.locate(ctx, Lookup{IDs: []session.ID{h.ParentSession}, Workspaces: in})
	if err != nil && len(found) == 0 {
		return session.Header{}, false, err
	}
	best, ok, seen := session.Header{}, false, false
	for _, f := range found {
		if f.Header.Agent != h.Agent {
			continue
		}
		if f.Header.Cwd == h.Cwd {
			return f.Header, true, nil
		}
		if s := sees(f.Header); !ok || s && !seen || s == seen && f.Header.Cwd < best.Cwd {
			best, ok, seen = f.Header, true, s
		}
	}
	return best, ok, nil
}

// Workspaces returns the workspaces of every session that is known, sorted,
// indexed or not; new files are discovered first. What cannot be looked at is
// left out: it fails only with the error of ctx.
func (e *Engine) Workspaces(ctx context.Context) ([]string, error) {
	diskErr := e.discover(ctx)
	found, err := e.locate(ctx, Lookup{})
	if err = errors.Join(diskErr, err); err != nil {
		if fault.IsContext(err) {
			return nil, err
		}
		e.Logger.Warn("workspaces may be missing", "error", err)
	}
	all := make([]string, 0, len(found))
	for _, f := range found {
		all = append(all, f.Header.Cwd)
	}
	slices.Sort(all)
	return slices.Compact(all), nil
}

// check refuses a target whose sources contradict each other.
func (e *Engine) check(at Located) error {
	if at.Conflict {
		return fmt.Errorf("%w: the sources of %s contradict each other", fault.ToolFailed, at.Header.Key())
	}
	return nil
}

// refresh brings a scope up to date in every corpus, keeping a part of the
// deadline for the answer.
func (e *Engine) refresh(ctx context.Context, scope session.Scope, progress func(done, total int)) (session.Coverage, error) {
	var sum session.Coverage
	if e.Live.Refresher != nil {
		if _, err := e.Live.Refresher.Refresh(ctx, scope, nil); err != nil {
			return sum, err
		}
	}
	if e.DiskErr != nil {
		return sum, e.DiskErr
	}
	bounded := ctx
	if deadline, ok := ctx.Deadline(); ok {
		left := time.Until(deadline)
		var cancel context.CancelFunc
		bounded, cancel = context.WithTimeout(ctx, max(left-e.Reserve, left/2))
		defer cancel()
	}
	sum, err := e.Disk.Refresher.Refresh(bounded, scope, progress)
	if err != nil && ctx.Err() == nil && fault.IsContext(err) {
		err = nil // our own reserve was reached: answer from what is committed
	}
	return sum, err
}
