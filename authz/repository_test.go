package authz_test

import (
	"context"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/yorehq/yore/authz"
	"github.com/yorehq/yore/fault"
	"github.com/yorehq/yore/internal/ingest"
	"github.com/yorehq/yore/query"
	"github.com/yorehq/yore/session"
	"github.com/yorehq/yore/sqlite"
)

// stored is an engine over sessions that each say "zephyr" and their workspace.
func stored(t *testing.T, headers ...session.Header) *corpus {
	t.Helper()
	index, err := sqlite.OpenMemory(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { index.Close() })
	set := ingest.NewLiveSet(index, index)
	for _, h := range headers {
		l, err := set.Register(t.Context(), h)
		if err != nil {
			t.Fatal(err)
		}
		e := session.Event{Type: session.UserMessage, Op: session.Op{Kind: session.OpAppend}, Body: session.Body{Speaker: session.Human, Blocks: []session.Block{{Text: "zephyr in " + h.Cwd}}}}
		if err := l.Append(session.Raw{Event: e, Native: []byte(`{}`)}); err != nil {
			t.Fatal(err)
		}
	}
	e, err := query.New(query.Config{Disk: query.Corpus{Store: index, Refresher: set, Logs: set}})
	if err != nil {
		t.Fatal(err)
	}
	return &corpus{engine: e, headers: headers, policy: authz.Repository}
}

func (c *corpus) view(t *testing.T, workspace string) *authz.View {
	t.Helper()
	v, err := authz.New(t.Context(), c.engine, c.policy, c, authz.Caller{Workspace: workspace})
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func of(id, parent, cwd string) session.Header {
	return session.Header{Agent: session.DSH, ID: session.ID(id), ParentSession: session.ID(parent), Cwd: cwd, CreatedAt: 1}
}

// A foreign session with the id of a parent must not take the parent's place,
// although its workspace sorts before every other one.
func TestAForeignTwinHidesNoParent(t *testing.T) {
	c := stored(t, of("p", "", "/a/foreign"), of("p", "", "/w/two"), of("child", "p", "/w/one"))
	c.same = [][]string{{"/w/one", "/w/two"}}
	v := c.view(t, "/w/one")
	page, err := v.SearchSessions(t.Context(), query.SessionSearch{Query: "zephyr", Match: query.Literal, Limit: 9})
	if err != nil {
		t.Fatal(err)
	}
	shown := map[string]authz.Parent{}
	for _, hit := range page.Hits {
		shown[hit.Info.Header.Cwd+" "+string(hit.Info.Header.ID)] = hit.Parent
	}
	want := map[string]authz.Parent{
		"/w/one child": {Kind: authz.ParentVisible, Key: session.Key{Agent: session.DSH, ID: "p"}},
		"/w/two p":     {},
	}
	if d := cmp.Diff(want, shown); d != "" {
		t.Error(d)
	}
	for id, check := range map[string]func(authz.Lineage) bool{
		"child": func(l authz.Lineage) bool {
			return !l.Boundary && len(l.Ancestors) == 1 && l.Ancestors[0].Header.Cwd == "/w/two"
		},
		"p": func(l authz.Lineage) bool {
			return len(l.Descendants) == 1 && !l.Descendants[0].Outside && l.Descendants[0].Info.Header.Cwd == "/w/one"
		},
	} {
		g, err := v.Target(t.Context(), &id)
		if err != nil {
			t.Fatal(err)
		}
		line, err := g.Trace(t.Context())
		if err != nil || !check(line) {
			t.Errorf("lineage of %s: %+v, %v", id, line, err)
		}
	}
	// Who sees the foreign one alone sees a root without children.
	id := "p"
	g, err := c.view(t, "/a/foreign").Target(t.Context(), &id)
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range must(g.Trace(t.Context()))(t).Descendants {
		if !d.Outside {
			t.Errorf("the foreign view shows %+v", d)
		}
	}
}

func must[T any](v T, err error) func(*testing.T) T {
	return func(t *testing.T) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

// One id in several worktrees: the caller's own comes first; of others none is
// guessed.
func TestHomeFirst(t *testing.T) {
	c := stored(t, of("s", "", "/w/one"), of("s", "", "/w/two"), of("s", "", "/w/three"), of("far", "", "/w/two"), of("far", "", "/w/three"))
	c.same = [][]string{{"/w/one", "/w/two", "/w/three", "/w/four"}}
	id, far := "s", "far"
	for workspace, want := range map[string]string{"/w/one": "/w/one", "/w/two": "/w/two"} {
		g, err := c.view(t, workspace).Target(t.Context(), &id)
		if err != nil || g.Header().Cwd != want {
			t.Errorf("from %s: %v, want that of %s", workspace, err, want)
		}
	}
	if _, err := c.view(t, "/w/four").Target(t.Context(), &id); !errors.Is(err, fault.InvalidFilter) {
		t.Errorf("from a fourth: %v", err)
	}
	if _, err := c.view(t, "/w/one").Target(t.Context(), &far); !errors.Is(err, fault.InvalidFilter) {
		t.Errorf("two far ones: %v", err)
	}
}

// The own session is found in the caller's own workspace only, also when a
// worktree holds one of the same key.
func TestOwnSessionIsOfTheOwnWorkspace(t *testing.T) {
	c := stored(t, of("me", "", "/w/one"), of("me", "", "/w/two"))
	c.same = [][]string{{"/w/one", "/w/two"}}
	caller := authz.Caller{Workspace: "/w/one", Session: &session.Key{Agent: session.DSH, ID: "me"}}
	v, err := authz.New(t.Context(), c.engine, authz.Repository, c, caller)
	if err != nil {
		t.Fatal(err)
	}
	page, err := v.SearchSessions(t.Context(), query.SessionSearch{Query: "zephyr", Match: query.Literal, Limit: 9})
	if err != nil || len(page.Hits) != 1 || page.Hits[0].Info.Header.Cwd != "/w/two" {
		t.Errorf("%+v, %v", page.Hits, err)
	}
	g, err := v.Target(t.Context(), nil)
	if err != nil || !g.Own() || g.Header().Cwd != "/w/one" {
		t.Errorf("own target: %v", err)
	}
}

// answers is a resolver that says what it is told to.
type answers struct {
	set []string
	err error
}

func (a answers) Same(context.Context, string, func(context.Context) ([]string, error)) ([]string, error) {
	return a.set, a.err
}

func TestWhatTheResolverSays(t *testing.T) {
	c := stored(t, of("s", "", "/w"), of("far", "", "/x"))
	if _, err := authz.New(t.Context(), c.engine, authz.Repository, nil, authz.Caller{Workspace: "/w"}); !errors.Is(err, fault.InvalidConfig) {
		t.Errorf("without a resolver: %v", err)
	}
	if _, err := authz.New(t.Context(), c.engine, authz.Repository, answers{err: context.Canceled}, authz.Caller{Workspace: "/w"}); !errors.Is(err, context.Canceled) {
		t.Errorf("a resolver that fails: %v", err)
	}
	// The own workspace counts whatever is said, and the resolver is not asked
	// where the policy does not want it or there is no workspace.
	for _, tc := range []struct {
		policy authz.Policy
		says   answers
		caller authz.Caller
		want   []string
	}{
		{authz.Repository, answers{}, authz.Caller{Workspace: "/w"}, []string{"s"}},
		{authz.Repository, answers{set: []string{"/x", "/w", "/x"}}, authz.Caller{Workspace: "/w"}, []string{"far", "s"}},
		{authz.Exact, answers{set: []string{"/x"}}, authz.Caller{Workspace: "/w"}, []string{"s"}},
		{authz.Repository, answers{set: []string{"/w", "/x"}}, authz.Caller{Session: &session.Key{Agent: session.DSH, ID: "s"}}, nil},
	} {
		v, err := authz.New(t.Context(), c.engine, tc.policy, tc.says, tc.caller)
		if err != nil {
			t.Fatal(err)
		}
		list, err := v.List(t.Context(), query.SessionFilter{Scope: session.Scope{All: true}}, 9, "")
		if tc.want == nil {
			if !errors.Is(err, fault.Unauthorized) {
				t.Errorf("%+v: %v", tc, err)
			}
			continue
		}
		var got []string
		for _, i := range list.Sessions {
			got = append(got, string(i.Header.ID))
		}
		if d := cmp.Diff(tc.want, got); err != nil || d != "" {
			t.Errorf("%+v: %v %s", tc, err, d)
		}
	}
}

// A session that is named with its workspace is that one and no other, for
// whom may see it.
func TestSessionByKeyAndWorkspace(t *testing.T) {
	c := stored(t, of("s", "", "/w/one"), of("s", "", "/w/two"))
	owner, err := authz.New(t.Context(), c.engine, authz.Owner, nil, authz.Caller{})
	if err != nil {
		t.Fatal(err)
	}
	key := session.Key{Agent: session.DSH, ID: "s"}
	for _, v := range []*authz.View{owner, owner.AsIndexed()} {
		for _, w := range []string{"/w/one", "/w/two"} {
			g, err := v.Session(t.Context(), query.Target{Key: key, Workspace: w})
			if err != nil || g.Header().Cwd != w {
				t.Errorf("%s: %v", w, err)
			}
		}
	}
	for _, v := range []*authz.View{c.view(t, "/w/one"), c.view(t, "/w/one").AsIndexed()} {
		for target, want := range map[query.Target]error{
			{Key: key, Workspace: "/w/one"}:                                          nil,
			{Key: key, Workspace: "/w/two"}:                                          fault.Unauthorized,
			{Key: key, Workspace: "/w/none"}:                                         fault.Unauthorized,
			{Key: session.Key{Agent: session.DSH, ID: "none"}, Workspace: "/w/one"}:  fault.Unauthorized,
			{Key: session.Key{Agent: session.Codex, ID: "s"}, Workspace: "/w/one"}:   fault.Unauthorized,
			{Key: session.Key{Agent: session.DSH, ID: "dsh:s"}, Workspace: "/w/one"}: fault.Unauthorized,
		} {
			if _, err := v.Session(t.Context(), target); !errors.Is(err, want) {
				t.Errorf("%+v: %v, want %v", target, err, want)
			}
		}
	}
}
