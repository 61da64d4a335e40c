// Package team is the way to a team's server: the connection, what is asked over
// it, and what the five tools answer when both this machine and the team know
// something. It owns no history and reads no configuration; without a server
// that somebody named, nothing here is ever called.
//
// Start at Dial, then Tools.Call.
package team

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/yorehq/yore/fault"
)

// Prefix stands before the ids of sessions that the team's server has.
const Prefix = "team:"

// NarrowHeader names a workspace, as the server calls it, to which a question is
// narrowed. A workspace that the token does not hold narrows to nothing.
const NarrowHeader = "Yore-Workspace"

// Options say where a server is and who asks.
type Options struct {
	URL     string        // https://host[:port][/path]; http:// for this machine alone
	Token   string        // as `yore serve token mint` printed it
	Version string        // of the product, for the server's log
	Timeout time.Duration // of one question; 0: 2 s
}

// Server is a team's server. It is safe for concurrent use.
type Server struct {
	base    *url.URL
	token   string
	agent   string
	timeout time.Duration
	client  *http.Client
}

// Dial checks where a server is said to be. It opens no connection. Whatever
// would carry the token in the clear over a network is fault.InvalidConfig.
func Dial(o Options) (*Server, error) {
	base, err := url.Parse(o.URL)
	if err != nil || base.Host == "" || base.User != nil || base.RawQuery != "" || base.Fragment != "" {
		return nil, fault.New(fault.InvalidConfig, "the team's url is %q: want https://HOST", o.URL)
	}
	switch {
	case base.Scheme == "https", base.Scheme == "http" && loopback(base.Hostname()):
	default:
		return nil, fault.New(fault.InvalidConfig, "the team's url is %q: want https, or http on this machine alone, since the token goes with every question", o.URL)
	}
	if o.Token == "" || strings.ContainsFunc(o.Token, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return nil, fault.New(fault.InvalidConfig, "the team's token is empty or holds characters that no token has")
	}
	if o.Timeout == 0 {
		o.Timeout = 2 * time.Second
	}
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.MaxIdleConnsPerHost = 4
	transport.ResponseHeaderTimeout = 2 * time.Minute
	return &Server{
		base: base, token: o.Token, agent: "yore/" + o.Version, timeout: o.Timeout,
		client: &http.Client{
			Transport: transport,
			// A redirect would carry the token to wherever it points.
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
	}, nil
}

func loopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// Host names the server for a person.
func (s *Server) Host() string { return s.base.Host }

// Timeout is how long one question may take.
func (s *Server) Timeout() time.Duration { return s.timeout }

// StatusError is an answer of the server that is no success.
type StatusError struct {
	Status int           // of HTTP
	Code   fault.Code    // of the failure; "": none was given
	Text   string        // what may be shown
	After  time.Duration // when the server wants to be asked again; 0: it does not say
	Body   []byte        // as it came, at most 64 KB
}

// Error gives what may be shown.
func (e *StatusError) Error() string {
	if e.Text != "" {
		return e.Text
	}
	return fmt.Sprintf("the team's server answered %d %s", e.Status, http.StatusText(e.Status))
}

// Unwrap gives the code, if there is one.
func (e *StatusError) Unwrap() error {
	if e.Code == "" {
		return nil
	}
	return e.Code
}

// maxAnswer is how many bytes of an answer are read.
const maxAnswer = 64 << 20

// Do sends one request below the server's address and returns the body of the
// answer. An answer that is no success is *StatusError.
func (s *Server) Do(ctx context.Context, method, path string, query url.Values, body []byte, header http.Header) ([]byte, error) {
	to := s.base.JoinPath(path)
	to.RawQuery = query.Encode()
	req, err := http.NewRequestWithContext(ctx, method, to.String(), bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	for name, values := range header {
		req.Header[name] = values
	}
	req.Header.Set("Authorization", "Bearer "+s.token)
	req.Header.Set("User-Agent", s.agent)
	res, err := s.client.Do(req)
	if err != nil {
		var u *url.Error
		if errors.As(err, &u) {
			err = u.Err // without the address, which is in the configuration
		}
		return nil, err
	}
	defer res.Body.Close()
	text, err := io.ReadAll(io.LimitReader(res.Body, maxAnswer+1))
	switch {
	case err != nil:
		return nil, err
	case len(text) > maxAnswer:
		return nil, fmt.Errorf("the team's server answered with more than %d bytes", maxAnswer)
	case res.StatusCode >= 200 && res.StatusCode < 300:
		return text, nil
	}
	failed := &StatusError{Status: res.StatusCode, Body: text[:min(len(text), 64<<10)]}
	if n, err := strconv.Atoi(res.Header.Get("Retry-After")); err == nil && n >= 0 {
		failed.After = time.Duration(n) * time.Second
	}
	var told struct {
		Error struct {
			Code    fault.Code
			Message string
		}
	}
	if json.Unmarshal(failed.Body, &told) == nil {
		failed.Code, failed.Text = told.Error.Code, told.Error.Message
	}
	return nil, failed
}

// Question is one call of a tool on the server.
type Question struct {
	Tool      string
	Args      json.RawMessage
	Workspace string // to which the question is narrowed; "": all that the token holds
	Bytes     int    // of the text; 0: the server's own limit
}

// Answer is what the server says to a question.
type Answer struct {
	Text  string `json:"text"`
	Empty bool   `json:"empty"` // a search found nothing
}

// Ask calls a tool on the server. The ids in the answer carry Prefix; those in
// the arguments must not.
func (s *Server) Ask(ctx context.Context, q Question) (Answer, error) {
	ctx, cancel := context.WithTimeout(ctx, s.timeout)
	defer cancel()
	if len(q.Args) == 0 {
		q.Args = json.RawMessage("{}")
	}
	body, err := json.Marshal(map[string]any{"arguments": q.Args, "bytes": q.Bytes, "prefix": Prefix})
	if err != nil {
		return Answer{}, err
	}
	header := http.Header{"Content-Type": {"application/json"}}
	if q.Workspace != "" {
		header.Set(NarrowHeader, url.QueryEscape(q.Workspace))
	}
	text, err := s.Do(ctx, http.MethodPost, "/v1/tools/"+q.Tool, nil, body, header)
	if err != nil {
		return Answer{}, err
	}
	var a Answer
	if err := json.Unmarshal(text, &a); err != nil {
		return Answer{}, fmt.Errorf("the team's server did not answer as one: %w", err)
	}
	return a, nil
}

// Lines asks one of the server's JSON forms (search, events, list, trace,
// event-trace, read) and returns its lines, one object each, as the command line
// prints them for the local history; also list, show, record and replacements. The
// question is narrowed to workspaces as the server calls them, if any are named.
func (s *Server) Lines(ctx context.Context, what string, query url.Values, workspaces ...string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, s.timeout)
	defer cancel()
	header := http.Header{}
	for _, w := range workspaces {
		header.Add(NarrowHeader, url.QueryEscape(w))
	}
	query.Set("prefix", Prefix)
	return s.Do(ctx, http.MethodGet, "/v1/"+what, query, nil, header)
}

// Split takes the prefix off an id and reports whether it had one, in front of
// the id or behind its agent.
func Split(id string) (rest string, ours bool) {
	if rest, ok := strings.CutPrefix(id, Prefix); ok {
		return rest, true
	}
	if agent, rest, ok := strings.Cut(id, ":"); ok {
		if rest, ok := strings.CutPrefix(rest, Prefix); ok {
			return agent + ":" + rest, true
		}
	}
	return id, false
}
