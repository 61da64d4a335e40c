// Package servetest serves a team's history out of memory, for tests of what asks
// one: the real server over a store of SQLite's, without PostgreSQL. Sending,
// tenants and what stands behind them are not here (postgrestest).
package servetest

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/yorehq/yore/authz"
	"github.com/yorehq/yore/internal/ingest"
	"github.com/yorehq/yore/internal/serve"
	"github.com/yorehq/yore/internal/team"
	"github.com/yorehq/yore/query"
	"github.com/yorehq/yore/session"
	"github.com/yorehq/yore/sqlite"
)

// Team is a team's server with sessions that tests put there. Its one token reads
// Workspaces.
type Team struct {
	URL   string
	Asked atomic.Int64 // requests that have come

	t     testing.TB
	index query.Store
	set   *ingest.LiveSet
	logs  map[session.ID]*ingest.LiveLog
	at    *httptest.Server

	mu     sync.Mutex
	fails  int           // with which status every request fails; 0: none does
	hold   chan struct{} // requests wait for its end; nil: they do not
	audits []serve.Record
}

// Workspaces are those of the token.
var Workspaces = []string{"app", "lib"}

// New starts a server, which ends with the test.
func New(t testing.TB) *Team {
	t.Helper()
	index, err := sqlite.OpenMemory(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { index.Close() })
	out := &Team{t: t, index: index, set: ingest.NewLiveSet(index, index), logs: map[session.ID]*ingest.LiveLog{}}
	s, err := serve.New(serve.Options{Store: store{index, out.set}, Tokens: out, Audit: out, Version: "test"})
	if err != nil {
		t.Fatal(err)
	}
	out.at = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		out.Asked.Add(1)
		out.mu.Lock()
		fails, hold := out.fails, out.hold
		out.mu.Unlock()
		if hold != nil {
			select {
			case <-hold:
			case <-r.Context().Done():
				return
			}
		}
		if fails != 0 {
			w.WriteHeader(fails)
			return
		}
		s.ServeHTTP(w, r)
	}))
	t.Cleanup(out.at.Close)
	t.Cleanup(func() { out.Hold()() })
	out.URL = out.at.URL
	return out
}

// Put adds a session of DSH with what a person said and, unless it is "", a title.
func (t *Team) Put(id, workspace, title string, texts ...string) {
	t.t.Helper()
	l, err := t.set.Register(t.t.Context(), session.Header{Agent: session.DSH, ID: session.ID(id), Cwd: workspace, CreatedAt: 1_780_300_000_000})
	if err != nil {
		t.t.Fatal(err)
	}
	t.logs[session.ID(id)] = l
	for _, text := range texts {
		t.Say(id, session.Event{
			Type: session.UserMessage, Op: session.Op{Kind: session.OpAppend},
			Body: session.Body{Speaker: session.Human, Blocks: []session.Block{{Text: text}}},
		})
	}
	if title != "" {
		t.Say(id, session.Event{Type: session.TitleEvent, Body: session.Body{Title: &title}})
	}
}

// Say adds an event behind the others of a session. Its bytes are those of an
// object with its number, with white space in it.
func (t *Team) Say(id string, e session.Event) {
	t.t.Helper()
	l := t.logs[session.ID(id)]
	e.Seq = l.Len()
	e.Time = 1_780_300_000_000 + 1000*e.Seq
	if err := l.Append(session.Raw{Event: e, Native: fmt.Appendf(nil, `{"n": %d,  "of": "%s"}`, e.Seq, id)}); err != nil {
		t.t.Fatal(err)
	}
	if _, err := t.set.Refresh(t.t.Context(), session.Scope{All: true}, nil); err != nil {
		t.t.Fatal(err)
	}
}

// History asks the server as a machine does whose workspace /w/NAME is called NAME.
func (t *Team) History(timeout time.Duration) *team.History {
	t.t.Helper()
	s, err := team.Dial(team.Options{URL: t.URL, Token: "token", Timeout: timeout})
	if err != nil {
		t.t.Fatal(err)
	}
	return &team.History{Server: s, Name: func(w string) string {
		if len(w) > 3 && w[:3] == "/w/" {
			return w[3:]
		}
		return w
	}}
}

// Fail lets every request fail with a status; 0: none any more.
func (t *Team) Fail(status int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.fails = status
}

// Hold lets requests wait until the function that is returned is called.
func (t *Team) Hold() (release func()) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.hold == nil {
		t.hold = make(chan struct{})
	}
	hold := t.hold
	return sync.OnceFunc(func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		if t.hold == hold {
			close(hold)
			t.hold = nil
		}
	})
}

// Close ends the server.
func (t *Team) Close() { t.at.Close() }

// Audits are the questions on record, in their order.
func (t *Team) Audits() []serve.Record {
	t.mu.Lock()
	defer t.mu.Unlock()
	return append([]serve.Record(nil), t.audits...)
}

// Principal implements serve.Tokens.
func (t *Team) Principal(context.Context, [32]byte) (serve.Principal, error) {
	return serve.Principal{Token: "t1", Tenant: "acme", Person: "ada", Workspaces: Workspaces, Read: true}, nil
}

// Record implements serve.Audit.
func (t *Team) Record(_ context.Context, r serve.Record) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.audits = append(t.audits, r)
	return nil
}

// store is the sessions of one tenant.
type store struct {
	query.Store
	logs query.Logs
}

// history is all of them; the view of the server looks at those of the token.
type history struct {
	query.Store
	query.Logs
}

func (s store) History(string, []string) serve.History { return history{s.Store, s.logs} }

func (s store) Apply(context.Context, serve.Place, string, func(serve.Keeper) error) (uint64, bool, error) {
	return 0, false, fmt.Errorf("nothing is sent to this server")
}

// View is the view of the owner of all these sessions, without HTTP: what the
// server's answers are compared with.
func (t *Team) View() *authz.View {
	t.t.Helper()
	engine, err := query.New(query.Config{Disk: query.Corpus{Store: t.index, Refresher: t.set, Logs: t.set}})
	if err != nil {
		t.t.Fatal(err)
	}
	view, err := authz.New(t.t.Context(), engine, authz.Owner, nil, authz.Caller{})
	if err != nil {
		t.t.Fatal(err)
	}
	return view
}
