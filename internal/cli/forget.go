package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/yorehq/yore"
	"github.com/yorehq/yore/fault"
	"github.com/yorehq/yore/internal/archive"
	"github.com/yorehq/yore/internal/forget"
	"github.com/yorehq/yore/internal/render"
	"github.com/yorehq/yore/internal/spill"
	format "github.com/yorehq/yore/reader/archive"
	"github.com/yorehq/yore/session"
)

// forgetOptions are what `yore forget` is asked.
type forgetOptions struct {
	scope      scope
	ids        []string
	yes        bool
	list, undo bool
	json       bool
}

func (a *app) forgetCommand() *cobra.Command {
	var o forgetOptions
	cmd := &cobra.Command{
		Use:   "forget SESSION...",
		Short: "Take sessions out of everything yore keeps, for good",
		Long: `Forget takes sessions out of the index, with their titles and words, and keeps
them out: an index that is made anew does not bring them back. No command and no
agent finds, lists or reads them any more. Their subagents go with them, those to
come as well; forks are sessions of their own and stay, with the copy of what they
inherited, and are named so that you can forget them too.

It says first what goes, and asks; --yes does not ask. Copies in archives are
deleted, and so are the results that were saved for agents because they were too
long; the record of --reveal no longer names them. The agents' own logs are not touched, since yore never writes there: they
are named, and are yours to delete.

What is forgotten is a list of salted hashes in yore/forgotten in the user's
configuration folder. --list shows which known logs it covers; --undo takes
sessions off it, and they are found again as far as their logs are there.

The exit code is 3 when another process held a part of it back; the next command
that looks at the workspace takes the rest away.`,
		Example: `  yore forget 5ae95e
  yore forget --all --yes claude-code:383185b8-6109-4b67-8987-327d41cf174f
  yore forget --list
  yore forget --undo 5ae95e`,
		Args: func(cmd *cobra.Command, args []string) error {
			if o.list {
				return takes()(cmd, args)
			}
			return takes("SESSION...")(cmd, args)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			o.ids = args
			switch {
			case o.list:
				return a.forgotten(cmd.Context(), o)
			case o.undo:
				return a.unforget(cmd.Context(), o)
			}
			return a.forget(cmd.Context(), o)
		},
	}
	o.scope.flags(cmd)
	f := cmd.Flags()
	f.BoolVarP(&o.yes, "yes", "y", false, "do not ask")
	f.BoolVar(&o.list, "list", false, "show what is forgotten")
	f.BoolVar(&o.undo, "undo", false, "take the sessions off the list")
	cmd.MarkFlagsMutuallyExclusive("list", "undo")
	cmd.MarkFlagsMutuallyExclusive("list", "yes")
	cmd.MarkFlagsMutuallyExclusive("undo", "yes")
	jsonFlag(cmd, &o.json)
	return cmd
}

// forgetList is the list of forgotten sessions; nil where it can have no place.
func forgetList(log *slog.Logger) *forget.List {
	file, err := yore.DefaultForgetFile()
	if err != nil {
		log.Debug("there is no list of forgotten sessions", "error", err)
		return nil
	}
	return forget.New(file)
}

// forgets tells forgotten sessions for what goes through logs without an index.
func forgets(list *forget.List) archive.Forgets {
	return func(h session.Header) (bool, error) {
		set, err := list.Now()
		return err == nil && set.Covers(h), err
	}
}

// going is everything that a forgetting takes away.
type going struct {
	yore.Forgetting
	keys   []session.Key // as named
	copies []archive.Copy
}

func (a *app) forget(ctx context.Context, o forgetOptions) (err error) {
	c, closing, err := a.open(ctx, o.scope)
	if err != nil {
		return err
	}
	defer closing(&err)
	keys, err := c.leaving(ctx, o.ids)
	if err != nil {
		return err
	}
	goes := going{keys: keys}
	if goes.Forgetting, err = c.Forgetting(ctx, keys); err != nil {
		return err
	}
	if goes.copies, err = a.copiesOf(ctx, goes.Sessions, keys); err != nil {
		return err
	}
	if !o.yes {
		if err := a.emitPainted(goes.preview()); err != nil {
			return err
		}
		if err := a.confirm(ctx); err != nil {
			return err
		}
	}
	done, err := c.Forget(ctx, keys)
	if err != nil {
		return err
	}
	// Now that everybody leaves them out, what was made of them before goes.
	if goes.copies, err = a.copiesOf(ctx, goes.Sessions, keys); err != nil {
		return err
	}
	named := map[session.Key]bool{}
	for _, key := range keys {
		named[key] = true
	}
	for _, s := range goes.Sessions {
		named[s.Header.Key()] = true
	}
	swept, spillErr := spill.Policy{Dir: a.settings.spill, MaxAge: time.Nanosecond}.Sweep(time.Now().Add(time.Second))
	if err := errors.Join(archive.Remove(goes.copies), a.forgetReveals(named), spillErr); err != nil {
		return fault.Wrap(fault.Persistence, fmt.Errorf("they are forgotten, but copies of them could not be deleted: %w", err))
	}
	a.partial = !done
	if o.json {
		return a.emitLine(goes.json(done, swept))
	}
	return a.emitPainted(goes.report(done))
}

// leaving finds the sessions that are to be forgotten. One that is forgotten
// already may be named again: what could not be finished then (the program was
// killed, an archive was not there) is finished now.
func (c *corpus) leaving(ctx context.Context, ids []string) ([]session.Key, error) {
	keys, err := c.keys(ctx, ids)
	if !errors.Is(err, fault.Unauthorized) {
		return keys, err
	}
	known, _, failed := c.Forgotten(ctx)
	if failed != nil {
		return nil, failed
	}
	keys = nil
	for _, id := range ids {
		found, err := c.keys(ctx, []string{id})
		if errors.Is(err, fault.Unauthorized) {
			key, unknown := offList(c.History, known, id)
			if errors.Is(unknown, fault.Unauthorized) {
				return nil, err
			}
			found, err = []session.Key{key}, unknown
		}
		if err != nil {
			return nil, err
		}
		keys = append(keys, found...)
	}
	return keys, nil
}

// copiesOf finds what archives have of sessions: those that are configured, and
// those that the index remembers.
func (a *app) copiesOf(ctx context.Context, sessions []yore.Forgettable, keys []session.Key) ([]archive.Copy, error) {
	goes := map[session.Key]bool{}
	for _, key := range keys {
		goes[key] = true
	}
	for _, s := range sessions {
		goes[s.Header.Key()] = true
	}
	which := func(h session.Header) bool {
		return goes[h.Key()] || h.Origin == session.OriginSubagent && goes[session.Key{Agent: h.Agent, ID: h.ParentSession}]
	}
	var all []archive.Copy
	for _, s := range a.settings.sources {
		if s.Agent != format.Agent {
			continue
		}
		found, err := archive.Copies(ctx, s.Root, which)
		if err != nil {
			return nil, err
		}
		all = append(all, found...)
	}
	for _, s := range sessions {
		for _, path := range s.Paths {
			if slices.ContainsFunc(all, func(c archive.Copy) bool { return c.Path == path }) {
				continue
			}
			if one, ok, err := archive.CopyAt(ctx, path, which); err != nil {
				return nil, err
			} else if ok {
				all = append(all, one)
			}
		}
	}
	return all, nil
}

// confirm asks the person. Nobody can be asked without a terminal.
func (a *app) confirm(ctx context.Context) error {
	if err := a.out.Flush(); err != nil {
		return err
	}
	if in, ok := a.in.(io.Writer); !ok || !isTerminal(in) {
		return fault.New(fault.InvalidArgs, "nothing was forgotten: nobody can be asked here, --yes says that you mean it")
	}
	fmt.Fprint(a.errs, "Forget them? [y/N] ")
	answer := make(chan string, 1)
	go func() { // a read from a terminal cannot be called off; the process ends soon
		line, _ := bufio.NewReader(a.in).ReadString('\n')
		answer <- strings.ToLower(strings.TrimSpace(line))
	}()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case said := <-answer:
		if said == "y" || said == "yes" {
			return nil
		}
	}
	return fault.New(fault.InvalidArgs, "nothing was forgotten")
}

// isCopy reports whether a path is a copy in an archive, which goes.
func (g *going) isCopy(path string) bool {
	return slices.ContainsFunc(g.copies, func(c archive.Copy) bool { return c.Path == path })
}

// logs names the agents' logs that stay, each once.
func (g *going) logs() (paths []string) {
	for _, s := range g.Sessions {
		for _, path := range s.Paths {
			if _, err := os.Lstat(path); g.isCopy(path) || errors.Is(err, fs.ErrNotExist) || slices.Contains(paths, path) {
				continue
			}
			paths = append(paths, path)
		}
	}
	return paths
}

func (g *going) preview() string {
	var b strings.Builder
	subagents := 0
	for _, s := range g.Sessions {
		if s.With {
			subagents++
		}
	}
	fmt.Fprintf(&b, "forget %d sessions", len(g.Sessions))
	if subagents > 0 {
		fmt.Fprintf(&b, ", %d of them subagents of others", subagents)
	}
	b.WriteString(":\n")
	for _, s := range g.Sessions {
		fmt.Fprintf(&b, "  %s in %s\n", render.Name(s.Header.Key().String()), render.Workspace(s.Header))
	}
	g.rest(&b, "to be deleted")
	return b.String()
}

// rest says what becomes of copies, logs and forks.
func (g *going) rest(b *strings.Builder, fate string) {
	if len(g.copies) > 0 {
		fmt.Fprintf(b, "copies in archives, %s:\n", fate)
		for _, c := range g.copies {
			fmt.Fprintf(b, "  %s\n", render.Line(c.Path, 0))
		}
	}
	if paths := g.logs(); len(paths) > 0 {
		b.WriteString("logs of the agents, which stay (yore never writes there):\n")
		for _, path := range paths {
			fmt.Fprintf(b, "  %s\n", render.Line(path, 0))
		}
	} else if len(g.copies) > 0 {
		b.WriteString("the agents' logs are gone: there is no way back\n")
	}
	if len(g.Forks) > 0 {
		b.WriteString("forks, which stay with what they inherited:\n")
		for _, h := range g.Forks {
			fmt.Fprintf(b, "  %s in %s\n", render.Name(h.Key().String()), render.Workspace(h))
		}
	}
}

func (g *going) report(done bool) string {
	var b strings.Builder
	fmt.Fprintf(&b, "forgotten  %d sessions\n", len(g.Sessions))
	g.rest(&b, "deleted")
	if !done {
		b.WriteString("not yet off the disk: another process reads or writes a part of the index, or it cannot be written to; the next command that can ends it\n")
	}
	return b.String()
}

func (a *app) forgotten(ctx context.Context, o forgetOptions) (err error) {
	h, closing, err := a.history(ctx)
	if err != nil {
		return err
	}
	defer closing(&err)
	if _, err := h.Refresh(ctx, session.Scope{}, nil); err != nil {
		return err
	}
	known, others, err := h.Forgotten(ctx)
	if err != nil {
		return err
	}
	if o.json {
		return a.emitLine(forgottenJSON(known, others))
	}
	var b strings.Builder
	fmt.Fprintf(&b, "forgotten  %d sessions whose logs are there\n", len(known))
	for _, s := range known {
		since := "with its session"
		if !s.With {
			since = s.Since
		}
		fmt.Fprintf(&b, "  %s in %s: %s\n", render.Name(s.Header.Key().String()), render.Workspace(s.Header), since)
		for _, path := range s.Paths {
			fmt.Fprintf(&b, "    %s\n", render.Line(path, 0))
		}
	}
	if others > 0 {
		fmt.Fprintf(&b, "and %d whose logs are gone, or under roots that were not given\n", others)
	}
	return a.emitPainted(b.String())
}

func (a *app) unforget(ctx context.Context, o forgetOptions) (err error) {
	h, closing, err := a.history(ctx)
	if err != nil {
		return err
	}
	defer closing(&err)
	if _, err := h.Refresh(ctx, session.Scope{}, nil); err != nil {
		return err
	}
	known, _, err := h.Forgotten(ctx)
	if err != nil {
		return err
	}
	var keys []session.Key
	for _, id := range o.ids {
		found, err := offList(h, known, id)
		if err != nil {
			return err
		}
		keys = append(keys, found)
	}
	if err := h.Unforget(ctx, keys); err != nil {
		return err
	}
	if o.json {
		return a.emitLine(keysJSON(keys))
	}
	var b strings.Builder
	for _, key := range keys {
		fmt.Fprintf(&b, "remembered  %s\n", render.Name(key.String()))
	}
	return a.emitPainted(b.String())
}

// offList finds the forgotten session that a text names: by the beginning of an
// id among those whose logs are known, else by a whole id.
func offList(h *yore.History, known []yore.Forgettable, text string) (session.Key, error) {
	var found []session.Key
	for _, s := range known {
		key := s.Header.Key()
		if s.With || !strings.HasPrefix(string(key.ID), text) && !strings.HasPrefix(key.String(), text) {
			continue
		}
		if string(key.ID) == text || key.String() == text {
			return key, nil
		}
		if !slices.Contains(found, key) {
			found = append(found, key)
		}
	}
	if len(found) == 1 {
		return found[0], nil
	}
	if len(found) > 1 {
		return session.Key{}, fault.New(fault.InvalidFilter, "%d forgotten sessions begin with %s: type more of it", len(found), render.Name(text))
	}
	for _, agent := range readable() {
		id, named := strings.CutPrefix(text, agent+":")
		for _, key := range []session.Key{{Agent: session.Agent(agent), ID: session.ID(id)}} {
			on, err := h.IsForgotten(key)
			if err != nil {
				return session.Key{}, err
			}
			if on && (named || id == text) {
				return key, nil
			}
		}
	}
	return session.Key{}, fault.New(fault.Unauthorized, "no forgotten session %s: one whose log is gone is found by its whole id alone, one that went with its session by that one's", render.Name(text))
}
