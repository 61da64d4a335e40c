// Package web owns the local page: search, timeline, lineage and overview of a
// corpus in the browser of the person whose history it is.
//
// It serves one View, and the team's history beside it where there is one, on the
// loopback address, to whoever shows the token that
// was made at the start, and answers GET and HEAD only. Whatever comes from a
// session reaches a page as text: pages are html/template, scripts are files of
// this package and put text into a page as text, and the headers of every answer
// let a browser load nothing else (see guard.go).
//
// It knows no store, no log format and no agent, opens no browser and reads no
// environment. Start at Listen, then routes; guard.go is who may ask,
// address.go how pages are named.
package web

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"encoding/base64"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/yorehq/yore/authz"
	"github.com/yorehq/yore/fault"
	"github.com/yorehq/yore/internal/team"
	"github.com/yorehq/yore/query"
	"github.com/yorehq/yore/session"
)

// Options are what a page is made of.
type Options struct {
	View   *authz.View                 // what is shown; needed
	Resume func(session.Header) string // the shell command that goes on with a session, "" if there is none; nil: never any
	Zone   *time.Location              // of times and days; nil is UTC
	Port   int                         // 0 is any free one
	Match  query.Match                 // of searches; "" is query.Auto
	Order  query.Order                 // of searches; "" is query.Relevance

	// Index brings everything up to date while the page is there already; nil:
	// the first search does it.
	Index func(ctx context.Context, progress func(done, total int)) error

	// Team answers beside View, on searches and lists, and shows its sessions; nil:
	// there is no team. It is asked by this process: a browser speaks with nobody else.
	Team *team.History

	// Beside says why something is not on the page although it might be looked for
	// there; "" is nothing.
	Beside string

	Logger *slog.Logger // nil discards; never told a token
}

// Server is a page that is listened for. Run serves it.
type Server struct {
	Options
	still    *authz.View // the same rights, without a look at the logs
	listener net.Listener
	port     string
	token    string
	handler  http.Handler

	mu     sync.Mutex
	ticket string    // for one use; "" once it was used
	until  time.Time // when the ticket ends

	fresh freshness
	index progress
}

// How long a browser may take to start, an answer may take, and the end of the
// server may wait for answers.
const (
	ticketLife  = time.Minute
	answerTime  = 20 * time.Second
	farewell    = 2 * time.Second
	headerBytes = 64 << 10
)

// Listen makes a page and listens on 127.0.0.1. The caller ends it by Run or Close.
func Listen(o Options) (*Server, error) {
	if o.View == nil {
		return nil, fault.New(fault.InvalidConfig, "a page needs a view")
	}
	if o.Port < 0 || o.Port > 65535 {
		return nil, fault.New(fault.InvalidConfig, "port %d: want 0 to 65535", o.Port)
	}
	if o.Resume == nil {
		o.Resume = func(session.Header) string { return "" }
	}
	if o.Zone == nil {
		o.Zone = time.UTC
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	l, err := net.Listen("tcp4", net.JoinHostPort("127.0.0.1", strconv.Itoa(o.Port)))
	if err != nil {
		return nil, fmt.Errorf("the page cannot be served: %w", err)
	}
	_, port, err := net.SplitHostPort(l.Addr().String())
	if err != nil {
		return nil, errors.Join(err, l.Close())
	}
	s := &Server{Options: o, still: o.View.AsIndexed(), listener: l, port: port, token: secret(), ticket: secret()}
	s.until = time.Now().Add(ticketLife)
	routes, err := s.routes()
	if err != nil {
		return nil, errors.Join(err, l.Close())
	}
	s.handler = s.guard(routes)
	return s, nil
}

// secret returns 256 random bits as text.
func secret() string {
	b := make([]byte, 32)
	rand.Read(b) // never fails
	return base64.RawURLEncoding.EncodeToString(b)
}

// URL returns the address of the page with its token, which is good as long as
// the server runs.
func (s *Server) URL() string { return s.address(s.token) }

// Ticket returns the address of the page with a ticket that is good for one
// use within a minute: a browser is started with it, since other users of a
// machine can see how a program was started.
func (s *Server) Ticket() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.address(s.ticket)
}

func (s *Server) address(token string) string {
	return "http://127.0.0.1:" + s.port + "/?token=" + token
}

// admits reports whether a text is the token or the unused ticket, and takes
// the latter away.
func (s *Server) admits(text string) bool {
	if subtle.ConstantTimeCompare([]byte(text), []byte(s.token)) == 1 {
		return true
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ticket == "" || subtle.ConstantTimeCompare([]byte(text), []byte(s.ticket)) != 1 {
		return false
	}
	s.ticket = ""
	return time.Now().Before(s.until)
}

// Run serves until ctx ends, then waits a moment for answers under way and ends
// them. Nothing is left running. It returns nil when ctx ended it.
func (s *Server) Run(ctx context.Context) error {
	answers, stop := context.WithCancel(ctx)
	defer stop()
	server := &http.Server{
		Handler:           s.handler,
		ReadHeaderTimeout: 10 * time.Second,
		IdleTimeout:       2 * time.Minute,
		MaxHeaderBytes:    headerBytes,
		BaseContext:       func(net.Listener) context.Context { return answers },
		ErrorLog:          slog.NewLogLogger(s.Logger.Handler(), slog.LevelDebug),
	}
	var work sync.WaitGroup
	defer work.Wait()
	defer stop()
	if s.Index != nil {
		s.index.begin()
		work.Go(func() { s.bring(answers) })
	}
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(s.listener) }()
	var err error
	select {
	case err = <-ended:
	case <-ctx.Done():
		stop()
		last, cancel := context.WithTimeout(context.Background(), farewell)
		defer cancel()
		err = server.Shutdown(last)
		if errors.Is(err, context.DeadlineExceeded) {
			err = nil
		}
		err = errors.Join(err, server.Close())
		<-ended
	}
	if errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return err
}

// Close ends a server that was never run.
func (s *Server) Close() error { return s.listener.Close() }

// freshness says when the logs were looked at last. Answers to what is typed
// come from the index in between, so that a keystroke does not cost a look at
// every log.
type freshness struct {
	mu   sync.Mutex
	last time.Time
}

// lookEvery is how old an answer may be.
const lookEvery = 3 * time.Second

// bring runs the first indexing.
func (s *Server) bring(ctx context.Context) {
	began := time.Now()
	err := s.Index(ctx, s.index.set)
	s.index.end()
	switch {
	case err == nil:
		s.looked(began)
	case ctx.Err() == nil:
		s.Logger.Error("indexing failed", "error", err)
	}
}

func (s *Server) looked(began time.Time) {
	s.fresh.mu.Lock()
	defer s.fresh.mu.Unlock()
	s.fresh.last = began
}

// view returns a view for one answer and what to call when a look at the logs
// has succeeded. While they are being indexed nobody waits for it.
func (s *Server) view() (v *authz.View, looked func()) {
	if _, _, busy := s.index.get(); busy {
		return s.still, func() {}
	}
	s.fresh.mu.Lock()
	defer s.fresh.mu.Unlock()
	if began := time.Now(); began.Sub(s.fresh.last) > lookEvery {
		return s.View, func() { s.looked(began) }
	}
	return s.still, func() {}
}

// progress is how far the first indexing is.
type progress struct {
	mu          sync.Mutex
	done, total int
	busy        bool
}

func (p *progress) begin() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.busy = true
}

func (p *progress) end() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.busy = false
}

func (p *progress) set(done, total int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.done, p.total = done, total
}

func (p *progress) get() (done, total int, busy bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.done, p.total, p.busy
}
