package authz_test

import (
	"math/rand/v2"
	"testing"

	"github.com/yorehq/yore/authz"
	"github.com/yorehq/yore/query"
	"github.com/yorehq/yore/session"
)

// TestCountsAndKeysStayInside asks as random callers for counts and for every
// session by key, whatever workspace the request names, and compares both with
// the rule of the policy.
func TestCountsAndKeysStayInside(t *testing.T) {
	counted, refused := 0, 0
	for seed := range uint64(6) {
		r := rand.New(rand.NewPCG(seed, 21))
		c := newCorpus(t, r, 40)
		for range 20 {
			caller := authz.Caller{Workspace: workspaces[r.IntN(len(workspaces)-1)]}
			own := c.headers[r.IntN(len(c.headers))]
			if r.IntN(2) == 0 && own.Cwd != "" {
				key := own.Key()
				caller = authz.Caller{Workspace: own.Cwd, Session: &key}
			}
			v, err := authz.New(t.Context(), c.engine, c.policy, nil, caller)
			if err != nil {
				t.Fatal(err)
			}
			want := 0
			for _, h := range c.headers {
				may := c.may(caller, h)
				grants, err := v.Targets(t.Context(), h.Key())
				if err != nil {
					t.Fatal(err)
				}
				if may != (len(grants) == 1) {
					t.Fatalf("seed %d: %+v gets %d grants for %+v", seed, caller, len(grants), h)
				}
				if may && (caller.Session == nil || h.Key() != *caller.Session) {
					want++
				}
				if !may {
					refused++
				}
			}
			req := query.SessionSearch{Query: "zephyr", Inherited: true}
			req.Sessions.Scope = session.Scope{All: true, Workspaces: []string{"/w", "/w/app"}}
			f, err := v.Facets(t.Context(), req, nil)
			if err != nil {
				t.Fatal(err)
			}
			if f.Sessions != want {
				t.Errorf("seed %d: %+v counts %d sessions, want %d", seed, caller, f.Sessions, want)
			}
			for _, w := range f.Workspaces {
				if w.Value != caller.Workspace {
					t.Errorf("seed %d: %+v is told of %q", seed, caller, w.Value)
				}
			}
			counted += f.Sessions
		}
	}
	if counted < 100 || refused < 100 {
		t.Errorf("counted %d, refused %d: the corpora test nothing", counted, refused)
	}
	c := newCorpus(t, rand.New(rand.NewPCG(1, 1)), 3)
	key := c.headers[0].Key()
	v, err := authz.New(t.Context(), c.engine, c.policy, nil, authz.Caller{Session: &key})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := v.Facets(t.Context(), query.SessionSearch{Query: "zephyr"}, nil); err == nil {
		t.Error("a caller without a workspace may count")
	}
}
