// Package mockmodel is a scripted stand-in for a model API, for tests that run
// real coding agents offline: it answers each request with the next turn of a
// script, and remembers the results of tools that come back.
//
// It owns two wire formats, Anthropic Messages (anthropic.go) and OpenAI
// Responses (openai.go), as far as the agents use them. It judges nothing, dials
// nowhere, and knows neither the product nor any agent. Start at Handler.
package mockmodel

import (
	"bytes"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
)

// Call is one scripted call of a tool. Tool is an offered name or the end of
// one: "session_search" finds "mcp__yore__session_search".
type Call struct {
	Tool string
	Args string // JSON; "": {}
}

// Turn is one answer of the model: text, calls, or both.
type Turn struct {
	Text  string
	Calls []Call
}

// Handler serves a script. It is safe for concurrent use.
type Handler struct {
	turns []Turn
	salt  string // begins the ids of its calls: a real model never gives one twice

	mu       sync.Mutex
	results  map[string]string
	unknown  []string
	requests int
}

// New returns a handler that answers a conversation's n-th request with the
// n-th turn, counted by the answers that the request repeats, so that an agent
// may ask again. After the last turn it says "Done."; a request that offers no
// tools (a title, a topic) gets "ok".
func New(turns []Turn) *Handler {
	return &Handler{turns: turns, salt: rand.Text()[:8], results: map[string]string{}}
}

// Result returns the text that came back for a call: turn and call count from 0.
func (h *Handler) Result(turn, call int) (string, bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	text, ok := h.results[h.salt+callID(turn, call)]
	return text, ok
}

// Requests returns how many requests for an answer came, and the paths of those
// that were not understood.
func (h *Handler) Requests() (n int, unknown []string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.requests, slices.Clone(h.unknown)
}

type object = map[string]any

func text(v any) string   { s, _ := v.(string); return s }
func list(v any) []any    { l, _ := v.([]any); return l }
func fields(v any) object { m, _ := v.(object); return m }

// offered is a tool of a request.
type offered struct{ name, namespace string }

// conversation is what both formats are reduced to.
type conversation struct {
	model   string
	stream  bool
	turn    int // answers of the model so far
	tools   []offered
	results map[string]string
}

// answer is the chosen turn.
type answer struct {
	turn  Turn
	index int
	salt  string
	model string
	tools []offered // of the turn's calls
}

// callID names a call. Its form lets a request's items be put back into turns.
func callID(turn, call int) string { return fmt.Sprintf("t%02d_%d", turn, call) }

func (a answer) id(call int) string { return a.salt + callID(a.index, call) }

func (a answer) args(call int) string {
	if a.turn.Calls[call].Args == "" {
		return "{}"
	}
	return a.turn.Calls[call].Args
}

// ServeHTTP implements http.Handler.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(io.LimitReader(r.Body, 64<<20))
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	var request object
	if err := json.Unmarshal(body, &request); err != nil {
		request = nil // a request without a body, or one that is not understood below
	}
	var c conversation
	var send func(http.ResponseWriter, answer, bool)
	switch path := r.URL.Path; {
	case strings.HasSuffix(path, "/count_tokens"):
		write(w, object{"input_tokens": len(body) / 4})
		return
	case strings.HasSuffix(path, "/models"):
		write(w, object{"object": "list", "data": []any{object{"id": "mock-1", "object": "model"}}})
		return
	case r.Method == http.MethodPost && strings.HasSuffix(path, "/messages"):
		c, send = fromMessages(request), sendMessage
	case r.Method == http.MethodPost && strings.HasSuffix(path, "/responses"):
		c, send = fromResponses(request), sendResponse
	default:
		h.mu.Lock()
		h.unknown = append(h.unknown, r.Method+" "+path)
		h.mu.Unlock()
		http.Error(w, `{"error":{"type":"not_found_error","message":"no such route"}}`, http.StatusNotFound)
		return
	}
	a := h.choose(c)
	w.Header().Set("Content-Type", "application/json")
	if c.stream {
		w.Header().Set("Content-Type", "text/event-stream")
	}
	send(w, a, c.stream)
}

func (h *Handler) choose(c conversation) answer {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.requests++
	maps.Copy(h.results, c.results)
	a := answer{index: c.turn, salt: h.salt, model: c.model}
	switch {
	case len(c.tools) == 0:
		a.turn.Text = "ok"
	case c.turn >= len(h.turns):
		a.turn.Text = "Done."
	default:
		a.turn = h.turns[c.turn]
	}
	for _, call := range a.turn.Calls {
		a.tools = append(a.tools, resolve(call.Tool, c.tools))
	}
	return a
}

// resolve finds the tool that a script means; one that is not offered is called
// by the script's own name, so that the agent's complaint comes back.
func resolve(want string, have []offered) offered {
	for _, matches := range []func(offered) bool{
		func(t offered) bool { return t.name == want },
		func(t offered) bool { return strings.HasSuffix(t.name, want) },
	} {
		if i := slices.IndexFunc(have, matches); i >= 0 {
			return have[i]
		}
	}
	return offered{name: want}
}

// texts joins the text of a string or of a list of blocks.
func texts(v any) string {
	if s, ok := v.(string); ok {
		return s
	}
	var parts []string
	for _, block := range list(v) {
		parts = append(parts, text(fields(block)["text"]))
	}
	return strings.Join(parts, "\n")
}

// write sends one JSON value. A client that went away needs no answer.
func write(w io.Writer, v any) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		panic(err) // a value that this package built
	}
	_, _ = w.Write(b.Bytes())
}

// event sends one event of a stream.
func event(w http.ResponseWriter, name string, v any) {
	var b bytes.Buffer
	fmt.Fprintf(&b, "event: %s\ndata: ", name)
	write(&b, v)
	b.WriteByte('\n')
	_, _ = w.Write(b.Bytes())
	if f, ok := w.(http.Flusher); ok {
		f.Flush()
	}
}
