// Package serve is a team's server: the five tools over the Model Context
// Protocol, a small JSON interface for the command line, and the place where
// other machines' sessions are taken in.
//
// It owns who may ask: a request is somebody's because of its token and nothing
// else, and sees the workspaces that the token names and no more. It knows no
// SQL; Store, Tokens and Audit are what it needs of a database (database.go
// gives package postgres that form). What a question means is toolset's and
// query's business, exactly as on one machine.
//
// Start at New, then Server.ServeHTTP in gate.go.
package serve

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/yorehq/yore/fault"
	"github.com/yorehq/yore/internal/ingest"
	"github.com/yorehq/yore/query"
	"github.com/yorehq/yore/reader/archive"
	"github.com/yorehq/yore/session"
)

// Store is where the histories of tenants are.
type Store interface {
	// History returns some workspaces of a tenant. Nothing else of the tenant, and
	// nothing of any other, can be reached through it.
	History(tenant string, workspaces []string) History

	// Apply runs work in one transaction on a workspace, which is made if it is
	// not there, once for each batch, and returns the workspace's generation with
	// it. again says that the batch was applied before, and work has not run.
	Apply(ctx context.Context, to Place, batch string, work func(Keeper) error) (generation uint64, again bool, err error)
}

// Place is a workspace of a tenant, and on whose behalf it is written to.
type Place struct{ Tenant, Workspace, Person string }

// History is what a query engine asks.
type History interface {
	query.Store
	query.Logs
}

// Keeper is a writer that keeps the events themselves.
type Keeper interface {
	ingest.Writer

	// Person returns who sent a session; "": it is not there, and nobody else can
	// send it before the transaction ends.
	Person(ctx context.Context, key session.Key) (string, error)

	// Keep keeps events of a session, behind those that it has.
	Keep(ctx context.Context, num int64, events []archive.Piece) error
}

// Tokens finds who a token stands for.
type Tokens interface {
	// Principal returns what the token with a SHA-256 stands for. One that is
	// unknown, revoked or expired is ErrNoToken.
	Principal(ctx context.Context, hash [32]byte) (Principal, error)
}

// ErrNoToken says that a token stands for nobody.
var ErrNoToken = errors.New("the token is unknown, revoked or expired")

// Principal is who a token stands for and what it is good for.
type Principal struct {
	Token      string // public id
	Tenant     string
	Person     string
	Workspaces []string // exact; sorted; at least one
	Read       bool     // may ask
	Push       bool     // may send sessions and take its own back
	Metrics    bool     // may see the server's counters, and nothing of any tenant
}

// Record is one line of the audit log: who asked for what, never an answer.
type Record struct {
	Time    time.Time
	Token   string
	Tenant  string
	Person  string
	Action  string // a tool's name, or push, withdraw, list
	Detail  string // the arguments, masked and at most 2,000 bytes; of a push the session
	Outcome string // "asked", written before the answer is made
}

// Audit keeps records. A request whose record cannot be kept is not answered.
type Audit interface {
	Record(ctx context.Context, r Record) error
}

// Options are what a server is made of. Store, Tokens and Audit are required.
type Options struct {
	Store   Store
	Tokens  Tokens
	Audit   Audit
	Ready   func(context.Context) error   // whether the database answers; nil: always
	Pool    func() (open, busy, most int) // connections to the database, for metrics; nil: not told
	Hosts   []string                      // names that a request may ask for, with the port if it is not the scheme's own; nil: those of this machine
	Version string

	PerToken int           // requests of one token at a time; 0: 8
	Pushes   int           // stretches that are taken in at a time, whoever sends them; 0: 4
	Deadline time.Duration // of one question; 0: 30 s
	MaxBody  int64         // of a stretch, bytes as sent; 0: 32 MiB
	MaxText  int64         // and of its text; 0: 256 MiB

	Logger *slog.Logger // nil discards; never told what was asked
}

// Server is a team's server as an http.Handler.
type Server struct {
	Options
	mux     *http.ServeMux
	meters  meters
	pushing chan struct{}

	mu       sync.Mutex
	busy     map[string]int   // requests at work, by token
	seats    map[string]*seat // by token
	draining bool
}

// New checks the options and makes a server. Failures carry fault.InvalidConfig.
func New(o Options) (*Server, error) {
	if o.Store == nil || o.Tokens == nil || o.Audit == nil {
		return nil, fault.New(fault.InvalidConfig, "a server needs a store, tokens and an audit log")
	}
	if o.PerToken == 0 {
		o.PerToken = 8
	}
	if o.Pushes == 0 {
		o.Pushes = 4
	}
	if o.Deadline == 0 {
		o.Deadline = 30 * time.Second
	}
	if o.MaxBody == 0 {
		o.MaxBody = 32 << 20
	}
	if o.MaxText == 0 {
		o.MaxText = 256 << 20
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	s := &Server{
		Options: o, mux: http.NewServeMux(), pushing: make(chan struct{}, o.Pushes),
		busy: map[string]int{}, seats: map[string]*seat{},
	}
	s.meters.start = time.Now()
	s.routes()
	return s, nil
}

func (s *Server) routes() {
	s.mux.HandleFunc("GET /healthz", s.healthz)
	s.mux.HandleFunc("GET /readyz", s.readyz)
	s.mux.Handle("GET /metrics", s.allowed(mayMeasure, s.metrics))
	s.mux.Handle("/mcp", s.allowed(mayRead, s.mcp))
	s.mux.Handle("POST /v1/tools/{tool}", s.allowed(mayRead, s.tool))
	s.mux.Handle("GET /v1/{what}", s.allowed(mayRead, s.lines))
	s.mux.Handle("POST /v1/push", s.allowed(mayPush, s.push))
	s.mux.Handle("POST /v1/withdraw", s.allowed(mayPush, s.withdraw))
}

// drain is how long requests at work may take once the server is told to stop.
const drain = 20 * time.Second

// Run serves on a listener until the context ends, then refuses new work, lets
// what is under way come to its end, and closes the listener. certFile and
// keyFile may be empty: then it speaks without TLS.
func (s *Server) Run(ctx context.Context, l net.Listener, certFile, keyFile string) error {
	h := &http.Server{
		Handler: s, ReadHeaderTimeout: 10 * time.Second, ReadTimeout: 2 * time.Minute, WriteTimeout: 3 * time.Minute,
		IdleTimeout: 2 * time.Minute, MaxHeaderBytes: 64 << 10,
		ErrorLog: slog.NewLogLogger(s.Logger.Handler(), slog.LevelInfo),
	}
	failed := make(chan error, 1)
	go func() {
		if certFile != "" {
			failed <- h.ServeTLS(l, certFile, keyFile)
		} else {
			failed <- h.Serve(l)
		}
	}()
	select {
	case err := <-failed:
		return err
	case <-ctx.Done():
	}
	s.mu.Lock()
	s.draining = true // /readyz tells a balancer
	s.mu.Unlock()
	within, cancel := context.WithTimeout(context.WithoutCancel(ctx), drain)
	defer cancel()
	err := h.Shutdown(within)
	if errors.Is(err, context.DeadlineExceeded) {
		s.Logger.Warn("requests were still at work and have been cut off")
		err = h.Close()
	}
	if got := <-failed; !errors.Is(got, http.ErrServerClosed) {
		err = errors.Join(err, got)
	}
	return err
}
