package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/yorehq/yore"
	"github.com/yorehq/yore/authz"
	"github.com/yorehq/yore/fault"
	"github.com/yorehq/yore/internal/render"
	"github.com/yorehq/yore/query"
	"github.com/yorehq/yore/session"
)

// scope is which workspaces a command looks at.
type scope struct {
	dir    string
	all    bool
	reveal bool // credentials are shown, to a person at a terminal
}

func (s *scope) flags(cmd *cobra.Command) {
	cmd.Flags().StringVarP(&s.dir, "workspace", "w", "", "the workspace `DIR` (default: the one you are in)")
	cmd.Flags().BoolVarP(&s.all, "all", "a", false, "every workspace")
	cmd.MarkFlagsMutuallyExclusive("workspace", "all")
}

// workspace returns the absolute directory that the scope names.
func (s *scope) workspace() (string, error) {
	if filepath.IsAbs(s.dir) {
		return filepath.Clean(s.dir), nil
	}
	// Not os.Getwd, which believes $PWD: agents write the system's own spelling
	// into their logs, and workspaces are compared as exact strings.
	dir, err := syscall.Getwd()
	if err != nil {
		return "", fault.New(fault.InvalidConfig, "the working directory is not known: give --workspace DIR or --all")
	}
	return filepath.Join(dir, s.dir), nil
}

// corpus is an open history as one command sees it.
type corpus struct {
	*yore.History
	view  *authz.View
	scope session.Scope
	bar   func() (progress func(done, total int), done func())

	revealed func(*session.Key) error // puts on record which session is revealed; nil: none is
}

// open opens the history and the view that a scope gives of it. The caller
// closes the history by closing, which adds its own failure to err.
func (a *app) open(ctx context.Context, s scope, change ...func(*yore.Options)) (c *corpus, closing func(*error), err error) {
	if s.reveal {
		if err := a.mayReveal(); err != nil {
			return nil, nil, err
		}
		if err := a.recordReveal(nil); err != nil {
			return nil, nil, err
		}
	}
	h, closing, err := a.history(ctx, change...)
	if err != nil {
		return nil, nil, err
	}
	c = &corpus{History: h, bar: a.bar}
	if s.all {
		c.scope.All = true
		c.view, err = h.OwnerView()
	} else {
		var dir string
		if dir, err = s.workspace(); err == nil {
			c.scope.Workspaces = []string{dir}
			c.view, err = h.View(ctx, authz.Caller{Workspace: dir})
		}
	}
	if err != nil {
		closing(&err)
		return nil, nil, err
	}
	if s.reveal {
		c.view, c.revealed = c.view.Revealed(), a.recordReveal
	}
	return c, closing, nil
}

// history opens the history that is configured.
func (a *app) history(ctx context.Context, change ...func(*yore.Options)) (*yore.History, func(*error), error) {
	o := yore.Options{
		Sources: a.settings.sources, IndexDir: a.settings.index, NetworkIndex: a.settings.network, Match: a.settings.match, Order: a.settings.order,
		Inherited: a.settings.inherited, SnippetPoints: a.settings.snippet, Logger: a.logger,
	}
	for _, c := range change {
		c(&o)
	}
	scratch := ""
	if o.IndexDir == "" {
		if _, err := yore.DefaultIndexDir(); err != nil {
			// Without a home folder there is no cache folder: a private one for this run.
			if scratch, err = os.MkdirTemp("", "yore-index-"); err != nil {
				return nil, nil, err
			}
			o.IndexDir = scratch
			a.logger.Warn("there is no folder for caches; a private index is made for this run only", "remedy", "--index DIR or YORE_INDEX")
		}
	}
	h, err := yore.Open(ctx, o)
	if err != nil {
		return nil, nil, errors.Join(err, remove(scratch))
	}
	return h, func(err *error) {
		if closed := errors.Join(h.Close(), remove(scratch)); *err == nil {
			*err = closed
		}
	}, nil
}

func remove(dir string) error {
	if dir == "" {
		return nil
	}
	return os.RemoveAll(dir)
}

// target finds the session that a text names: its exact id, else the beginning
// of exactly one visible id.
func (c *corpus) target(ctx context.Context, text string) (*authz.Grant, error) {
	g, err := c.find(ctx, text)
	if err == nil && c.revealed != nil {
		key := g.Header().Key()
		err = c.revealed(&key)
	}
	return g, err
}

func (c *corpus) find(ctx context.Context, text string) (*authz.Grant, error) {
	g, err := c.view.Target(ctx, &text)
	several := c.scope.All && errors.Is(err, fault.InvalidFilter)
	if err == nil || !several && !errors.Is(err, fault.Unauthorized) {
		return g, err
	}
	infos, failed := c.visible(ctx)
	if failed != nil {
		return nil, failed
	}
	key, failed := c.resolve(text, infos)
	if failed != nil {
		return nil, failed
	}
	id := key.String()
	return c.view.Target(ctx, &id)
}

// resolve finds the one session that a text names: by its exact id, then as
// agent:id, then by the beginning of either. A beginning of a session's id begins
// the ids of its subagents as well, where these are the session's with more
// behind it: the session is meant.
func (c *corpus) resolve(text string, infos []query.Info) (session.Key, error) {
	for _, reads := range []func(query.Info) bool{
		func(i query.Info) bool { return string(i.Header.ID) == text },
		func(i query.Info) bool { return i.Header.Key().String() == text },
		func(i query.Info) bool {
			return strings.HasPrefix(string(i.Header.ID), text) || strings.HasPrefix(i.Header.Key().String(), text)
		},
	} {
		var found []query.Info
		for _, i := range infos {
			if reads(i) {
				found = append(found, i)
			}
		}
		switch {
		case len(found) == 1:
			return found[0].Header.Key(), nil
		case len(found) > 1:
			if whole, ok := wholeOf(found); ok {
				return whole.Header.Key(), nil
			}
			return session.Key{}, c.ambiguous(text, found)
		}
	}
	return session.Key{}, c.unknown(text, infos)
}

// wholeOf returns the session that all others are parts of, if there is one.
func wholeOf(found []query.Info) (query.Info, bool) {
	whole := slices.MinFunc(found, func(a, b query.Info) int { return len(a.Header.ID) - len(b.Header.ID) })
	for _, i := range found {
		same := i.Header.Key() == whole.Header.Key() && i.Header.Cwd == whole.Header.Cwd
		part := i.Header.Agent == whole.Header.Agent && i.Header.Cwd == whole.Header.Cwd && strings.HasPrefix(string(i.Header.ID), string(whole.Header.ID)+"/")
		if !same && !part {
			return query.Info{}, false
		}
	}
	return whole, true
}

// ambiguous refuses a text that names several sessions, with what tells them apart.
func (c *corpus) ambiguous(text string, found []query.Info) error {
	ids, keys := map[session.ID]bool{}, map[session.Key]bool{}
	for _, i := range found {
		ids[i.Header.ID], keys[i.Header.Key()] = true, true
	}
	how := "name one as AGENT:ID, or choose by --workspace DIR in place of --all"
	switch {
	case len(ids) > 1:
		return fault.New(fault.InvalidFilter, "%d sessions begin with %s, type more of it: %s", len(found), render.Name(text), names(found, c.scope.All))
	case len(keys) == len(found):
		how = "name one as AGENT:ID"
	case len(keys) == 1:
		how = "choose by --workspace DIR in place of --all"
	}
	return fault.New(fault.InvalidFilter, "several sessions have the id %s, %s: %s", render.Name(string(found[0].Header.ID)), how, names(found, true))
}

// unknown says that no session has an id, and which one was likely meant.
func (c *corpus) unknown(text string, infos []query.Info) error {
	where := "in any workspace"
	if !c.scope.All {
		where = "in " + render.Name(c.scope.Workspaces[0])
	}
	var ids []string
	for _, i := range infos {
		ids = append(ids, string(i.Header.ID))
	}
	return fault.New(fault.Unauthorized, "no session %s %s%s", render.Name(text), where, didYouMean(text, ids))
}

// maxCandidates is how many ids a message names.
const maxCandidates = 8

// names lists ids, and the agents and workspaces that tell them apart.
func names(found []query.Info, everywhere bool) string {
	var names []string
	for _, i := range found[:min(len(found), maxCandidates)] {
		name := render.Name(string(i.Header.ID))
		if everywhere {
			name = render.Name(i.Header.Key().String()) + " in " + render.Workspace(i.Header)
		}
		names = append(names, name)
	}
	if more := len(found) - maxCandidates; more > 0 {
		names = append(names, fmt.Sprintf("and %d more", more))
	}
	return strings.Join(names, ", ")
}

// visible lists every session of the scope, which the first time has to be indexed.
func (c *corpus) visible(ctx context.Context) ([]query.Info, error) {
	progress, cleared := c.bar()
	_, err := c.Refresh(ctx, c.scope, progress)
	cleared()
	if err != nil {
		return nil, err
	}
	var all []query.Info
	for cursor := ""; ; {
		list, err := c.view.List(ctx, query.SessionFilter{Scope: c.scope}, query.MaxLimit, cursor)
		if err != nil {
			return nil, err
		}
		all = append(all, list.Sessions...)
		if cursor = list.Next; cursor == "" {
			return all, nil
		}
	}
}

// keys resolves the ids of a filter to keys, many of them by one look at all sessions.
func (c *corpus) keys(ctx context.Context, ids []string) ([]session.Key, error) {
	var infos []query.Info
	if len(ids) > 1 {
		var err error
		if infos, err = c.visible(ctx); err != nil {
			return nil, err
		}
	}
	var keys []session.Key
	for _, id := range ids {
		key, err := c.resolve(id, infos)
		if errors.Is(err, fault.Unauthorized) {
			// No list has a session whose sources contradict each other.
			var g *authz.Grant
			if g, err = c.target(ctx, id); err == nil {
				key = g.Header().Key()
			}
		}
		if err != nil {
			return nil, err
		}
		keys = append(keys, key)
	}
	return keys, nil
}

// noteCoverage says what an answer may have missed.
func (a *app) noteCoverage(c session.Coverage) {
	if text := render.CoverageText(c); text != "" {
		a.note("%s", strings.TrimSuffix(text, "\n"))
	}
}

// noteMasked says how many credentials of an answer are masked.
func (a *app) noteMasked(n int) {
	if text := render.MaskedText(n); text != "" {
		a.note("%s", strings.TrimSuffix(text, "\n"))
	}
}

// covered remembers what an answer may have missed.
func (a *app) covered(c session.Coverage) {
	a.partial = a.partial || c.Behind > 0 || c.Unreadable > 0 || c.Damaged > 0 || c.Clipped > 0 || c.Since != 0 || c.Stale
}
