package serve

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"net"
	"net/http"
	"net/url"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/yorehq/yore/fault"
	"github.com/yorehq/yore/internal/team"
)

// Who may ask, in the order it is checked:
//
//	Host     a name of this server               a name that was bent to this address (DNS rebinding) is refused
//	Origin   none, or our own                    no page of another site asks with somebody's token
//	Token    Authorization: Bearer …             by its SHA-256; unknown, revoked and expired are one answer
//	Right    read, push or metrics               what the path needs
//	Narrow   Yore-Workspace: …                   takes workspaces away, never adds one
//	Load     so many requests of one token       429 and Retry-After beyond that

// ServeHTTP implements http.Handler.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	began := time.Now()
	seen := &watched{ResponseWriter: w}
	defer func() {
		if thrown := recover(); thrown != nil && thrown != http.ErrAbortHandler {
			s.Logger.Error("a request panicked", "path", r.URL.Path, "cause", thrown, "stack", string(debug.Stack()))
			if seen.status == 0 {
				refuse(seen, http.StatusInternalServerError, fault.ToolFailed, "")
			}
		}
		took := time.Since(began)
		s.meters.request(route(r), seen.status, took)
		s.Logger.Info("request", "method", r.Method, "path", route(r), "status", seen.status, "ms", took.Milliseconds(), "token", seen.token, "tenant", seen.tenant)
	}()
	h := seen.Header()
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Cache-Control", "no-store")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'")
	switch {
	case !s.ours(r) && r.URL.Path != "/healthz" && r.URL.Path != "/readyz":
		refuse(seen, http.StatusMisdirectedRequest, "", "this server does not go by that name: see --host")
	case !near(r):
		refuse(seen, http.StatusForbidden, "", "a page of another site may not ask")
	default:
		s.mux.ServeHTTP(seen, r)
	}
}

// watched remembers how a request was answered and for whom.
type watched struct {
	http.ResponseWriter
	status        int
	token, tenant string
}

func (w *watched) WriteHeader(status int) {
	if w.status == 0 {
		w.status = status
	}
	w.ResponseWriter.WriteHeader(status)
}

func (w *watched) Write(b []byte) (int, error) {
	if w.status == 0 {
		w.status = http.StatusOK
	}
	return w.ResponseWriter.Write(b)
}

// Unwrap lets http.ResponseController reach what is within.
func (w *watched) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// route is the path of a request without what it was given.
func route(r *http.Request) string {
	if _, pattern, ok := strings.Cut(r.Pattern, " "); ok {
		return pattern
	}
	if r.Pattern != "" {
		return r.Pattern
	}
	return "other"
}

// ours reports whether a request asks for a name of this server.
func (s *Server) ours(r *http.Request) bool {
	if s.Hosts != nil {
		return slices.Contains(s.Hosts, strings.ToLower(r.Host))
	}
	host := r.Host
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	ip := net.ParseIP(strings.Trim(host, "[]"))
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// near reports whether no page of another site is behind a request.
func near(r *http.Request) bool {
	if origin := r.Header.Get("Origin"); origin != "" && origin != "http://"+r.Host && origin != "https://"+r.Host {
		return false
	}
	switch r.Header.Get("Sec-Fetch-Site") {
	case "", "none", "same-origin":
		return true
	}
	return false
}

// right is what a path needs of a token.
type right func(Principal) bool

func mayRead(p Principal) bool    { return p.Read }
func mayPush(p Principal) bool    { return p.Push }
func mayMeasure(p Principal) bool { return p.Metrics }

// maxToken is how long a token can be, in bytes.
const maxToken = 200

// allowed runs a handler for whoever a request's token stands for.
func (s *Server) allowed(may right, next func(http.ResponseWriter, *http.Request, Principal)) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		token, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
		if !ok || token == "" || len(token) > maxToken {
			w.Header().Set("WWW-Authenticate", `Bearer realm="yore"`)
			refuse(w, http.StatusUnauthorized, "", "a token is needed: Authorization: Bearer …")
			return
		}
		p, err := s.Tokens.Principal(r.Context(), sha256.Sum256([]byte(token)))
		switch {
		case errors.Is(err, ErrNoToken):
			w.Header().Set("WWW-Authenticate", `Bearer realm="yore", error="invalid_token"`)
			refuse(w, http.StatusUnauthorized, "", ErrNoToken.Error())
			return
		case err != nil:
			s.down(w, r, err)
			return
		}
		if seen, ok := w.(*watched); ok {
			seen.token, seen.tenant = p.Token, p.Tenant
		}
		if !may(p) {
			refuse(w, http.StatusForbidden, "", "the token is not good for this")
			return
		}
		if p.Workspaces, ok = narrowed(p.Workspaces, r.Header.Values(team.NarrowHeader)); !ok {
			refuse(w, http.StatusBadRequest, fault.InvalidArgs, team.NarrowHeader+" holds a workspace that is not encoded as in a URL")
			return
		}
		if !s.enter(p.Token) {
			busy(w)
			return
		}
		defer s.leave(p.Token)
		ctx, cancel := context.WithTimeout(r.Context(), s.Deadline)
		defer cancel()
		next(w, r.WithContext(ctx), p)
	})
}

// narrowed takes away the workspaces that a request does not ask for.
func narrowed(held, asked []string) (left []string, ok bool) {
	if len(asked) == 0 {
		return held, true
	}
	for _, text := range asked {
		name, err := url.QueryUnescape(text)
		if err != nil {
			return nil, false
		}
		if slices.Contains(held, name) && !slices.Contains(left, name) {
			left = append(left, name)
		}
	}
	slices.Sort(left)
	return left, true
}

// enter counts a request of a token in, unless it has too many at work.
func (s *Server) enter(token string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.busy[token] >= s.PerToken {
		return false
	}
	s.busy[token]++
	return true
}

func (s *Server) leave(token string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.busy[token]--; s.busy[token] <= 0 {
		delete(s.busy, token)
	}
}

// busy tells a client to come again.
func busy(w http.ResponseWriter) {
	w.Header().Set("Retry-After", "1")
	refuse(w, http.StatusTooManyRequests, "", "too many requests at a time")
}

// down answers for a database that does not.
func (s *Server) down(w http.ResponseWriter, r *http.Request, err error) {
	if r.Context().Err() == nil {
		s.Logger.Error("the database failed", "path", route(r), "error", err)
	}
	w.Header().Set("Retry-After", "2")
	refuse(w, http.StatusServiceUnavailable, fault.IndexFailed, "the server cannot reach its database")
}

// refuse answers with a failure in the form that all of them have.
func refuse(w http.ResponseWriter, status int, code fault.Code, text string) {
	if text == "" {
		text = fault.Sentence(code)
	}
	answer(w, status, map[string]any{"error": map[string]any{"code": code, "message": text}})
}

func answer(w http.ResponseWriter, status int, value any) {
	body, err := json.Marshal(value)
	if err != nil {
		status, body = http.StatusInternalServerError, []byte(`{"error":{"code":"","message":"the answer cannot be written"}}`)
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(append(body, '\n')) // whoever asked may be gone
}

func (s *Server) healthz(w http.ResponseWriter, _ *http.Request) {
	answer(w, http.StatusOK, map[string]string{"status": "alive"})
}

// readyz says whether work should come here: the database answers and the server
// is not about to stop.
func (s *Server) readyz(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	draining := s.draining
	s.mu.Unlock()
	ctx, cancel := context.WithTimeout(r.Context(), 3*time.Second)
	defer cancel()
	switch {
	case draining:
		answer(w, http.StatusServiceUnavailable, map[string]string{"status": "stopping"})
	case s.Ready != nil && s.Ready(ctx) != nil:
		answer(w, http.StatusServiceUnavailable, map[string]string{"status": "no database"})
	default:
		answer(w, http.StatusOK, map[string]string{"status": "ready"})
	}
}
