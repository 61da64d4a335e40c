package attack

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/yorehq/yore"
	"github.com/yorehq/yore/authz"
	"github.com/yorehq/yore/query"
	"github.com/yorehq/yore/session"
)

// question is what is asked of a view, and what it says beside its results.
type question struct {
	name string
	said string // what the asker knows and says
	ask  func(ctx context.Context, v *authz.View) (any, error)
}

// filter makes up what chooses sessions; what is not the asker's business to
// choose as well.
func (a *asker) filter() (f query.SessionFilter) {
	f.Scope.All = a.IntN(3) == 0
	for range a.IntN(3) {
		f.Scope.Workspaces = append(f.Scope.Workspaces, a.spec().header.Cwd)
	}
	if a.IntN(8) == 0 {
		key := a.spec().header.Key()
		f.Scope.Only = &key
	}
	for range a.IntN(2) * a.IntN(3) {
		f.IDs = append(f.IDs, a.id())
	}
	for range a.IntN(2) * a.IntN(3) {
		f.Parents = append(f.Parents, a.spec().header.Key())
	}
	f.Roots = a.IntN(4) == 0
	if a.IntN(6) == 0 {
		f.Exclude = []query.Target{query.TargetOf(a.spec().header)}
	}
	if a.IntN(6) == 0 {
		f.Agents = []session.Agent{session.DSH}
	}
	return f
}

// question makes up a question to a view.
func (a *asker) question() question {
	filter, words, id, target := a.filter(), a.words(), a.id(), query.TargetOf(a.spec().header)
	limit, seq := pick(a.Rand, 1, 2, 100, 0, -1), int64(a.IntN(10)-1)
	cursor := pick(a.Rand, "", "", "", "", "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA", words)
	said := fmt.Sprintf("%+v %q %q %+v", filter, words, id, target)
	if filter.Scope.Only != nil {
		said += filter.Scope.Only.String()
	}
	search := query.SessionSearch{Query: words, Sessions: filter, Limit: limit, Cursor: cursor, Inherited: a.IntN(2) == 0, Match: pick(a.Rand, query.Auto, query.Literal)}
	type view = *authz.View
	of := func(name string, ask func(ctx context.Context, v view) (any, error)) question {
		return question{name + " " + said, said, ask}
	}
	switch a.IntN(12) {
	case 0, 1:
		return of("SearchSessions", func(ctx context.Context, v view) (any, error) {
			p, err := v.SearchSessions(ctx, search)
			p.Next = ""
			return p, err
		})
	case 2:
		return of("List", func(ctx context.Context, v view) (any, error) {
			l, err := v.List(ctx, filter, limit, cursor)
			l.Next = ""
			return l, err
		})
	case 3:
		return of("Facets", func(ctx context.Context, v view) (any, error) { return v.Facets(ctx, search, nil) })
	case 4:
		return of("Stats", func(ctx context.Context, v view) (any, error) { return v.Stats(ctx, filter, nil) })
	case 5:
		return of("Workspaces", func(ctx context.Context, v view) (any, error) { return v.Workspaces(ctx) })
	case 6:
		return of("Parents", func(ctx context.Context, v view) (any, error) { return v.Parents(ctx, []string{id, words}) })
	case 7:
		return of("Complete", func(ctx context.Context, v view) (any, error) { return v.Complete(ctx, filter.Scope, words) })
	case 8:
		return of("Targets", func(ctx context.Context, v view) (any, error) {
			all, err := v.Targets(ctx, target.Key)
			return granted(ctx, all, words, seq, limit), err
		})
	case 9:
		return of("Session", func(ctx context.Context, v view) (any, error) {
			g, err := v.Session(ctx, target)
			return granted(ctx, []*authz.Grant{g}, words, seq, limit), err
		})
	}
	return of("Target", func(ctx context.Context, v view) (any, error) {
		named := &id
		if seq < 0 {
			named = nil
		}
		g, err := v.Target(ctx, named)
		return granted(ctx, []*authz.Grant{g}, words, seq, limit), err
	})
}

// granted asks everything of sessions that may be read.
func granted(ctx context.Context, all []*authz.Grant, words string, seq int64, limit int) any {
	var out []any
	note := func(value any, err error) { out = append(out, value, fmt.Sprint(err)) }
	for _, g := range all {
		if g == nil {
			continue
		}
		note(g.Header(), nil)
		note(g.Info(ctx))
		note(g.CurrentStep(ctx))
		page, err := g.SearchEvents(ctx, query.EventSearch{Query: words, Limit: limit, Target: query.Target{Workspace: "/w"}})
		page.Next = ""
		note(page, err)
		events, err := g.Events(ctx, query.EventFilter{}, limit, "")
		events.Next = ""
		note(events, err)
		note(g.Passages(ctx, seq, 3, 50))
		note(g.OrdinalOf(ctx, seq))
		w, err := g.Read(ctx, seq, 1, 1)
		note(string(w.Event.Native), err)
		note(w, err)
		note(g.TraceEvent(ctx, seq))
		l, err := g.Trace(ctx)
		l.Descendants = append([]authz.Kin{}, slices.DeleteFunc(l.Descendants, func(k authz.Kin) bool { return k.Outside })...)
		note(l, err)
		_, shadows, err := g.Replacements(ctx)
		note(shadows, err)
		_, surface, err := g.Surface(ctx)
		note(surface, err)
	}
	return out
}

// TestAuthorityOfTheLibrary is TestAuthorityOfTools for a host that asks in Go.
// The header of a visible session says whose child it is, whoever may see that
// one: it is that session's own. Failures are compared by what a host may show;
// their causes are for its log.
func TestAuthorityOfTheLibrary(t *testing.T) {
	words := 0
	inWorlds(t, *calls, func(t *testing.T, a *asker, h *yore.History, w *twins) {
		c := a.caller()
		q := a.question()
		answer := func(h *yore.History) string {
			v, err := h.View(t.Context(), c)
			if err != nil {
				return shown(err)
			}
			value, err := q.ask(t.Context(), v)
			text, failed := json.Marshal(value)
			if failed != nil {
				t.Fatal(failed)
			}
			return shown(err) + string(text)
		}
		got, want := answer(h), answer(w.of(c))
		if word := leaked(got, a.world.foreign(c, q.said+c.Workspace, true)); word != "" {
			t.Errorf("%s as %s gives %q away:\n%s", q.name, who(c), word, around(got, word))
		}
		if got != want {
			mine, theirs := apart(got, want)
			t.Errorf("%s as %s:\n%s\nand where nothing else exists:\n%s", q.name, who(c), mine, theirs)
		}
		words += strings.Count(got, "qz")
	})
	t.Logf("%d words", words)
	if words < *calls {
		t.Errorf("%d calls were answered with %d words: ask better ones", *calls, words)
	}
}
