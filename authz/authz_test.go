package authz_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/yorehq/yore/authz"
	"github.com/yorehq/yore/fault"
	"github.com/yorehq/yore/internal/ingest"
	"github.com/yorehq/yore/query"
	"github.com/yorehq/yore/session"
	"github.com/yorehq/yore/sqlite"
)

// corpus is a corpus in memory, and what the oracle knows of it.
type corpus struct {
	engine  *query.Engine
	headers []session.Header
	policy  authz.Policy
	same    [][]string // under the repository policy: the sets that are one workspace each
}

// workspaces are names that are easily taken for one another.
var workspaces = []string{"/w/app", "/w/app/", "/w/app2", "/w/App", "/w", "/w/app/sub", `C:\w\app`, `c:\w\app`, "/v/app", ""}

func newCorpus(t *testing.T, r *rand.Rand, n int) *corpus {
	t.Helper()
	index, err := sqlite.OpenMemory(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { index.Close() })
	set := ingest.NewLiveSet(index, index)
	c := &corpus{}
	for i := range n {
		h := session.Header{Agent: session.DSH, ID: session.ID(fmt.Sprintf("s%d", i)), Cwd: workspaces[r.IntN(len(workspaces))], CreatedAt: int64(r.IntN(5))}
		if r.IntN(6) == 0 {
			h.ID = session.ID(h.Cwd + "/../" + string(h.ID)) // ids that look like paths
		}
		if i > 0 && r.IntN(2) == 0 {
			h.ParentSession = c.headers[r.IntN(i)].ID // across workspaces as it comes
		}
		if r.IntN(10) == 0 {
			h.ParentSession = "missing"
		}
		l, err := set.Register(t.Context(), h)
		if err != nil {
			t.Fatal(err)
		}
		title := fmt.Sprintf("title of %s in <%s>", h.ID, h.Cwd)
		for seq, e := range []session.Event{
			{Type: session.UserMessage, Op: session.Op{Kind: session.OpAppend}, Body: session.Body{Speaker: session.Human, Blocks: []session.Block{{Text: secret(h) + " zephyr"}}}},
			{Type: session.TitleEvent, Body: session.Body{Title: &title}},
		} {
			e.Seq = int64(seq)
			if err := l.Append(session.Raw{Event: e, Native: []byte(fmt.Sprintf("%q", secret(h)))}); err != nil {
				t.Fatal(err)
			}
		}
		c.headers = append(c.headers, h)
	}
	if c.engine, err = query.New(query.Config{Disk: query.Corpus{Store: index, Refresher: set, Logs: set}}); err != nil {
		t.Fatal(err)
	}
	return c
}

// secret is a word that only this session holds.
func secret(h session.Header) string {
	return "secret" + strings.NewReplacer("/", "x", ".", "y", `\`, "z", ":", "q").Replace(string(h.ID))
}

// may is the oracle: the rule of the policy.
func (c *corpus) may(caller authz.Caller, h session.Header) bool {
	own := caller.Session != nil && h.Key() == *caller.Session && h.Cwd == caller.Workspace
	if own || caller.Workspace != "" && h.Cwd == caller.Workspace {
		return true
	}
	for _, set := range c.same {
		if slices.Contains(set, caller.Workspace) && slices.Contains(set, h.Cwd) {
			return true
		}
	}
	return false
}

// Same implements authz.Resolver.
func (c *corpus) Same(ctx context.Context, workspace string, candidates func(context.Context) ([]string, error)) ([]string, error) {
	list, err := candidates(ctx)
	if err != nil {
		return nil, err
	}
	for _, h := range c.headers {
		if !slices.Contains(list, h.Cwd) {
			return nil, fmt.Errorf("the workspace %q is no candidate", h.Cwd)
		}
	}
	var out []string
	for _, set := range c.same {
		if slices.Contains(set, workspace) {
			for _, w := range list {
				if slices.Contains(set, w) {
					out = append(out, w)
				}
			}
		}
	}
	return out, nil
}

// TestNothingForeignLeaves asks everything of random corpora as random callers
// and compares whatever comes back with the oracle.
func TestNothingForeignLeaves(t *testing.T) {
	t.Run("exact", func(t *testing.T) { nothingForeignLeaves(t, authz.Exact, nil) })
	t.Run("repository", func(t *testing.T) {
		nothingForeignLeaves(t, authz.Repository, [][]string{{"/w/app", "/w/app/", "/v/app"}, {"/w", "/w/App"}, {"/w/app2", "/nobody/works/here"}})
	})
}

func nothingForeignLeaves(t *testing.T, policy authz.Policy, same [][]string) {
	calls := 0
	for seed := range uint64(8) {
		r := rand.New(rand.NewPCG(seed, 7))
		c := newCorpus(t, r, 40)
		c.policy, c.same = policy, same
		for range 60 {
			caller := authz.Caller{Workspace: workspaces[r.IntN(len(workspaces))]}
			if h := c.headers[r.IntN(len(c.headers))]; r.IntN(2) == 0 && h.Cwd == caller.Workspace {
				key := h.Key()
				caller.Session = &key
			}
			view, err := authz.New(t.Context(), c.engine, policy, c, caller)
			if caller.Workspace == "" && caller.Session == nil {
				if !errors.Is(err, fault.MissingAgent) {
					t.Fatalf("a caller without identity: %v", err)
				}
				continue
			}
			if err != nil {
				t.Fatal(err)
			}
			calls += checkSearch(t, r, c, view)
			calls += checkTargets(t, r, c, view)
		}
	}
	if calls < 3000 {
		t.Errorf("only %d calls were made", calls)
	}
}

func checkSearch(t *testing.T, r *rand.Rand, c *corpus, view *authz.View) int {
	caller := view.Caller()
	target := c.headers[r.IntN(len(c.headers))]
	req := query.SessionSearch{Query: []string{"zephyr", secret(target)}[r.IntN(2)], Limit: 100, Match: query.Literal}
	// A model cannot choose a scope; a caller of the library that tries must fail too.
	req.Sessions.Scope = session.Scope{All: r.IntN(2) == 0, Workspaces: []string{target.Cwd}}
	if r.IntN(3) == 0 {
		req.Sessions.IDs = []string{string(target.ID), "missing"}
	}
	if r.IntN(3) == 0 {
		keys, err := view.Parents(t.Context(), []string{string(target.ID), "missing"})
		if err != nil {
			t.Fatal(err)
		}
		if (len(keys) == 1) != c.may(caller, target) {
			t.Fatalf("parents %v for %+v asked by %+v", keys, target, caller)
		}
		req.Sessions.Parents, req.Sessions.Roots = keys, true
	}
	stats, err := view.Stats(t.Context(), query.SessionFilter{Scope: req.Sessions.Scope}, nil)
	if (err != nil) != (caller.Workspace == "") || err != nil && !errors.Is(err, fault.Unauthorized) {
		t.Fatalf("stats for %+v: %v", caller, err)
	}
	listed, err := view.Workspaces(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, w := range listed {
		if caller.Workspace == "" || !slices.ContainsFunc(c.headers, func(h session.Header) bool { return h.Cwd == w && c.may(caller, h) }) {
			t.Fatalf("%+v is told of the workspace %q", caller, w)
		}
	}
	if caller.Workspace != "" {
		visible := int64(0)
		for _, h := range c.headers {
			if c.may(caller, h) {
				visible++
			}
		}
		if stats.Total.Sessions != visible {
			t.Fatalf("stats count %d sessions for %+v, who may see %d", stats.Total.Sessions, caller, visible)
		}
	}
	page, err := view.SearchSessions(t.Context(), req)
	if caller.Workspace == "" {
		if !errors.Is(err, fault.Unauthorized) {
			t.Fatalf("a caller without workspace searches: %v", err)
		}
		return 1
	}
	if err != nil {
		t.Fatal(err)
	}
	if want := slices.IndexFunc(c.headers, func(h session.Header) bool { return c.may(caller, h) }); want < 0 && page.Coverage.Sessions != 0 {
		t.Fatalf("coverage %+v tells of foreign sessions", page.Coverage)
	}
	for _, hit := range page.Hits {
		h := hit.Info.Header
		if !c.may(caller, h) || caller.Session != nil && h.Key() == *caller.Session {
			t.Fatalf("%+v was shown %+v", caller, h)
		}
		parent := slices.IndexFunc(c.headers, func(p session.Header) bool { return p.ID == h.ParentSession })
		switch {
		case h.ParentSession == "" && hit.Parent.Kind != authz.ParentRoot,
			h.ParentSession != "" && (parent < 0 || !c.may(caller, c.headers[parent])) && hit.Parent != (authz.Parent{Kind: authz.ParentOutside}),
			parent >= 0 && c.may(caller, c.headers[parent]) && hit.Parent.Key != c.headers[parent].Key():
			t.Fatalf("parent of %+v shown to %+v as %+v", h, caller, hit.Parent)
		}
	}
	return 1
}

func checkTargets(t *testing.T, r *rand.Rand, c *corpus, view *authz.View) int {
	caller := view.Caller()
	calls := 0
	for range 8 {
		h := c.headers[r.IntN(len(c.headers))]
		id := string(h.ID)
		if r.IntN(3) == 0 {
			id = h.Key().String()
		}
		grant, err := view.Target(t.Context(), &id)
		calls++
		if !c.may(caller, h) {
			missing := "no such id"
			_, absent := view.Target(t.Context(), &missing)
			if !errors.Is(err, fault.Unauthorized) || err.Error() != absent.Error() {
				t.Fatalf("%+v targets %+v: %v, a missing one: %v", caller, h, err, absent)
			}
			continue
		}
		if err != nil {
			t.Fatalf("%+v targets its own %+v: %v", caller, h, err)
		}
		checkGrant(t, c, caller, grant)
	}
	return calls
}

func checkGrant(t *testing.T, c *corpus, caller authz.Caller, grant *authz.Grant) {
	t.Helper()
	w, err := grant.Read(t.Context(), 0, 0, 0)
	if err != nil || string(w.Event.Native) != fmt.Sprintf("%q", secret(grant.Header())) {
		t.Fatalf("read %s, %v", w.Event.Native, err)
	}
	list, err := grant.Passages(t.Context(), 0, 10, -1)
	if err != nil || len(list.Passages) != 1 || list.Passages[0].Text != secret(grant.Header())+" zephyr" {
		t.Fatalf("passages of %+v: %+v, %v", grant.Header(), list.Passages, err)
	}
	if n, err := grant.OrdinalOf(t.Context(), 1); n != 0 || err != nil {
		t.Fatalf("ordinal %d, %v", n, err)
	}
	line, err := grant.Trace(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	foreign := false
	for _, a := range line.Ancestors {
		foreign = foreign || !c.may(caller, a.Header)
	}
	for _, d := range line.Descendants {
		foreign = foreign || !d.Outside && !c.may(caller, d.Info.Header)
		if d.Outside && d.Info != (query.Info{}) {
			t.Fatalf("a boundary marker says %+v", d.Info)
		}
	}
	if foreign {
		t.Fatalf("the lineage of %+v shows a foreign session to %+v", grant.Header(), caller)
	}
	if wantBoundary(c, caller, grant.Header()) != line.Boundary {
		t.Fatalf("boundary %v of %+v for %+v", line.Boundary, grant.Header(), caller)
	}
}

// wantBoundary follows the chain of parents to where the caller may not see.
func wantBoundary(c *corpus, caller authz.Caller, h session.Header) bool {
	for h.ParentSession != "" {
		i := slices.IndexFunc(c.headers, func(p session.Header) bool { return p.ID == h.ParentSession })
		if i < 0 || !c.may(caller, c.headers[i]) {
			return true
		}
		h = c.headers[i]
	}
	return false
}

func TestOwnSessionUnknown(t *testing.T) {
	c := newCorpus(t, rand.New(rand.NewPCG(1, 1)), 3)
	for _, caller := range []authz.Caller{{Workspace: "/w"}, {Workspace: "/w", Session: &session.Key{Agent: session.DSH, ID: "unheard of"}}} {
		view, err := authz.New(t.Context(), c.engine, authz.Exact, nil, caller)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := view.Target(t.Context(), nil); !errors.Is(err, fault.MissingAgent) {
			t.Errorf("%+v: %v", caller, err)
		}
	}
}
