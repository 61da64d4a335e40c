package cli

import (
	"context"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/yorehq/yore/internal/render"
	"github.com/yorehq/yore/query"
	"github.com/yorehq/yore/session"
)

// What a shell offers while a command line is typed comes from the index as it
// is: nobody waits for logs to be read at every press of a key. Whatever cannot
// be told is left out without a word.

// maxOffers is how many sessions a shell is offered, the newest ones.
const maxOffers = 500

// offers completes flags and arguments of every command.
func (a *app) offers(root *cobra.Command) {
	lists := map[string]func(*cobra.Command) []string{
		"agent":        func(*cobra.Command) []string { return agentNames() },
		"availability": func(*cobra.Command) []string { return availabilities() },
		"columns":      func(*cobra.Command) []string { return columnNames() },
		"format":       func(*cobra.Command) []string { return traceForms() },
		"log-level":    func(*cobra.Command) []string { return logLevels() },
		"match":        func(*cobra.Command) []string { return []string{string(query.Auto), string(query.Literal)} },
		"order":        func(*cobra.Command) []string { return []string{string(query.Relevance), string(query.Matches)} },
		"parent":       a.offerSessions,
		"role":         func(*cobra.Command) []string { return roleNames() },
		"session":      a.offerSessions,
		"sort":         func(*cobra.Command) []string { return sortNames() },
		"state":        func(*cobra.Command) []string { return stateNames() },
		"surface":      func(*cobra.Command) []string { return stateNames() },
		"tool": func(c *cobra.Command) []string {
			return a.offerCounts(c, func(s query.Stats) []query.Count { return s.Tools })
		},
		"type": func(c *cobra.Command) []string {
			return a.offerCounts(c, func(s query.Stats) []query.Count { return s.Types })
		},
		"workspace": a.offerWorkspaces,
	}
	for _, name := range []string{"created-from", "created-to", "time-from", "time-to"} {
		lists[name] = func(*cobra.Command) []string { return []string{"today", "yesterday", "2h", "24h", "7d", "30d"} }
	}
	for _, cmd := range append(root.Commands(), root) {
		for name, of := range lists {
			if cmd.Flags().Lookup(name) == nil && cmd.PersistentFlags().Lookup(name) == nil {
				continue
			}
			repeated := cmd.Flag(name) != nil && cmd.Flag(name).Value.Type() == "stringSlice"
			// It fails for a flag that is not there alone.
			_ = cmd.RegisterFlagCompletionFunc(name, func(c *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
				return offer(of(c), typed, repeated), offerDirective(name)
			})
		}
		if takesSession(cmd) {
			cmd.ValidArgsFunction = func(c *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
				if len(args) > 0 {
					return nil, cobra.ShellCompDirectiveNoFileComp
				}
				return offer(a.offerSessions(c), typed, false), cobra.ShellCompDirectiveNoFileComp
			}
		} else if cmd.ValidArgsFunction == nil && cmd.HasParent() {
			cmd.ValidArgsFunction = cobra.NoFileCompletions
		}
	}
}

func takesSession(cmd *cobra.Command) bool { return strings.Contains(cmd.Use, " SESSION") }

func offerDirective(flag string) cobra.ShellCompDirective {
	if flag == "workspace" {
		return cobra.ShellCompDirectiveDefault // any folder can be one
	}
	return cobra.ShellCompDirectiveNoFileComp
}

// offer keeps what goes on from what is typed. In a list with commas the last
// value is completed.
func offer(all []string, typed string, list bool) []string {
	before := ""
	if i := strings.LastIndexByte(typed, ','); list && i >= 0 {
		before, typed = typed[:i+1], typed[i+1:]
	}
	var out []string
	for _, o := range all {
		if strings.HasPrefix(o, typed) {
			out = append(out, before+o)
		}
	}
	return out
}

// plain reports whether a word can be offered to any shell as it is.
func plain(word string) bool {
	return word != "" && render.Name(word) == word && !strings.HasPrefix(word, "-") && !strings.HasPrefix(word, "~")
}

// settled hands on a view of the scope that a command line names, without
// looking at any log.
func (a *app) settled(cmd *cobra.Command, use func(context.Context, *corpus) []string) []string {
	ctx, cancel := context.WithTimeout(cmd.Context(), 3*time.Second)
	defer cancel()
	s, err := a.configure(cmd)
	if err != nil {
		return nil
	}
	a.settings = s
	var where scope
	where.dir, _ = cmd.Flags().GetString("workspace")
	where.all, _ = cmd.Flags().GetBool("all")
	c, closing, err := a.open(ctx, where)
	if err != nil {
		return nil
	}
	defer closing(&err)
	c.view = c.view.AsIndexed()
	return use(ctx, c)
}

// offerSessions offers ids with their titles.
func (a *app) offerSessions(cmd *cobra.Command) []string {
	return a.settled(cmd, func(ctx context.Context, c *corpus) []string {
		list, err := c.view.List(ctx, query.SessionFilter{Scope: c.scope}, maxOffers, "")
		if err != nil {
			return nil
		}
		var out []string
		for _, i := range list.Sessions {
			if id := string(i.Header.ID); plain(id) {
				out = append(out, id+"\t"+minute(i.Header.CreatedAt)+" "+render.Line(i.Title, 60))
			}
		}
		return out
	})
}

// offerWorkspaces offers the directories that have sessions.
func (a *app) offerWorkspaces(cmd *cobra.Command) []string {
	return a.settled(cmd, func(ctx context.Context, c *corpus) []string {
		owner, err := c.OwnerView()
		if err != nil {
			return nil
		}
		all, err := owner.AsIndexed().Workspaces(ctx)
		if err != nil {
			return nil
		}
		var out []string
		for _, w := range all {
			if plain(w) {
				out = append(out, w)
			}
		}
		return out
	})
}

// offerCounts offers the names of one of the groups that are counted.
func (a *app) offerCounts(cmd *cobra.Command, of func(query.Stats) []query.Count) []string {
	return a.settled(cmd, func(ctx context.Context, c *corpus) []string {
		stats, err := c.view.Stats(ctx, query.SessionFilter{Scope: session.Scope{Workspaces: c.scope.Workspaces, All: c.scope.All}}, nil)
		if err != nil {
			return nil
		}
		var out []string
		for _, count := range of(stats) {
			if plain(count.Name) {
				out = append(out, count.Name)
			}
		}
		return out
	})
}
