// Package mockmodel is a scripted stand-in for a model API, for tests that run
// real coding agents offline: it answers each request with the next turn of a
// script, and remembers what it was sent: conversations and results of tools.
//
// It owns four wire formats, Anthropic Messages (anthropic.go), OpenAI Responses
// (openai.go), OpenAI Chat Completions (chat.go) and Gemini's generateContent
// (gemini.go), as far as the agents use them. It judges nothing, dials nowhere,
// and knows neither the product nor any agent. Start at Handler.
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
	// Stall sends half of the text, says so (Handler.Stalled), and then nothing
	// until the client goes away. The two formats of chat.go and gemini.go have it.
	Stall bool
}

// Thread is what the model answers to one prompt.
type Thread struct {
	Prompt string // a part of the prompt's text
	Turns  []Turn
}

// Message is a piece of a conversation that a request repeats. What a model is
// told about itself (system, developer) is none.
type Message struct {
	Role string // user, assistant, call or result
	Text string // of a call its arguments, as JSON
	Call string // the id of a call, of a call and of its result; "" where the wire has none
	Tool string // the name of a call's tool
}

// Request is one request for an answer, as it came.
type Request struct {
	Messages []Message // only of the formats of chat.go and gemini.go
	Tools    []string  // names that are offered
}

// Handler serves a script. It is safe for concurrent use.
type Handler struct {
	turns   []Turn
	threads []Thread
	side    string
	salt    string // begins the ids of its calls: a real model never gives one twice
	stalled chan struct{}

	mu      sync.Mutex
	results map[string]string
	unknown []string
	sent    []Request
}

// New returns a handler that answers a conversation's n-th request with the
// n-th turn, counted by the answers that the request repeats, so that an agent
// may ask again. After the last turn it says "Done."; a request that offers no
// tools (a title, a topic) gets "ok".
func New(turns []Turn) *Handler {
	return &Handler{turns: turns, side: "ok", salt: rand.Text()[:8], stalled: make(chan struct{}, 16), results: map[string]string{}}
}

// NewThreads returns a handler that answers by the latest prompt of the user that
// one of the threads names, with the turn that is due since that prompt: so it
// survives that an agent shortens its conversation, takes some of it back, or
// goes on with it elsewhere. A request that offers no tools gets side, and one
// that fits no thread "Done.". It needs the formats that Request has messages of.
func NewThreads(side string, threads []Thread) *Handler {
	h := New(nil)
	h.side, h.threads = side, threads
	return h
}

// Stalled receives a value when a turn with Stall has sent what it sends.
func (h *Handler) Stalled() <-chan struct{} { return h.stalled }

// Sent returns the requests for an answer so far, in the order they came.
func (h *Handler) Sent() []Request {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.sent)
}

// Result returns the text that came back for a call: turn and call count from 0.
func (h *Handler) Result(turn, call int) (string, bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	text, ok := h.results[h.salt+callID(turn, call)]
	return text, ok
}

// ThreadResult is Result for NewThreads; thread, turn and call count from 0.
func (h *Handler) ThreadResult(thread, turn, call int) (string, bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	text, ok := h.results[h.salt+threadID(thread)+callID(turn, call)]
	return text, ok
}

// Requests returns how many requests for an answer came, and the paths of those
// that were not understood.
func (h *Handler) Requests() (n int, unknown []string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.sent), slices.Clone(h.unknown)
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
	size    int // of the request, in tokens, roughly
	turn    int // answers of the model so far
	tools   []offered
	results map[string]string
	said    []Message
}

// answer is the chosen turn.
type answer struct {
	turn  Turn
	index int
	salt  string
	model string
	size  int       // of the request, in tokens, roughly: agents shorten what has become long
	tools []offered // of the turn's calls
	pause func()    // nil, or called when half of the text was sent
}

// callID names a call. Its form lets a request's items be put back into turns.
func callID(turn, call int) string { return fmt.Sprintf("t%02d_%d", turn, call) }

func threadID(thread int) string { return fmt.Sprintf("p%02d", thread) }

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
	case r.Method == http.MethodPost && strings.HasSuffix(path, "/chat/completions"):
		c, send = fromChat(request), sendChat
	case r.Method == http.MethodPost && strings.HasSuffix(path, ":countTokens"):
		write(w, object{"totalTokens": len(body) / 4})
		return
	case r.Method == http.MethodPost && (strings.HasSuffix(path, ":generateContent") || strings.HasSuffix(path, ":streamGenerateContent")):
		c, send = fromGemini(request), sendGemini
		c.stream = strings.HasSuffix(path, ":streamGenerateContent")
	default:
		h.mu.Lock()
		h.unknown = append(h.unknown, r.Method+" "+path)
		h.mu.Unlock()
		http.Error(w, `{"error":{"type":"not_found_error","message":"no such route"}}`, http.StatusNotFound)
		return
	}
	c.size = len(body) / 4
	a := h.choose(c)
	if a.turn.Stall {
		a.pause = func() {
			h.stalled <- struct{}{}
			<-r.Context().Done()
		}
	}
	w.Header().Set("Content-Type", "application/json")
	if c.stream {
		w.Header().Set("Content-Type", "text/event-stream")
	}
	send(w, a, c.stream)
}

func (h *Handler) choose(c conversation) answer {
	h.mu.Lock()
	defer h.mu.Unlock()
	request := Request{Messages: c.said}
	for _, t := range c.tools {
		request.Tools = append(request.Tools, t.name)
	}
	h.sent = append(h.sent, request)
	maps.Copy(h.results, c.results)
	a := answer{index: c.turn, salt: h.salt, model: c.model, size: c.size}
	turns := h.turns
	if h.threads != nil {
		var thread int
		thread, a.index = h.due(c.said)
		a.salt += threadID(thread)
		if turns = nil; thread >= 0 {
			turns = h.threads[thread].Turns
		}
	}
	switch {
	case len(c.tools) == 0:
		a.turn.Text = h.side
	case a.index >= len(turns):
		a.turn.Text = "Done."
	default:
		a.turn = turns[a.index]
	}
	for _, call := range a.turn.Calls {
		a.tools = append(a.tools, resolve(call.Tool, c.tools))
	}
	return a
}

// due returns the thread of the latest prompt that has one (-1: none has), and
// how many answers have been given since.
func (h *Handler) due(said []Message) (thread, turn int) {
	answering := false
	for _, m := range slices.Backward(said) {
		answer := m.Role == "assistant" || m.Role == "call"
		if !answer && answering {
			turn++
		}
		answering = answer
		if m.Role != "user" {
			continue
		}
		// An agent may join prompts that have no answer: the last one counts.
		thread, last := -1, -1
		for i, t := range h.threads {
			if at := strings.LastIndex(m.Text, t.Prompt); at > last {
				thread, last = i, at
			}
		}
		if thread >= 0 {
			return thread, turn
		}
	}
	return -1, 0
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

// event sends one event of a stream; name may be "".
func event(w http.ResponseWriter, name string, v any) {
	var b bytes.Buffer
	if name != "" {
		fmt.Fprintf(&b, "event: %s\n", name)
	}
	b.WriteString("data: ")
	write(&b, v)
	b.WriteByte('\n')
	_, _ = w.Write(b.Bytes())
	if f, ok := w.(http.Flusher); ok {
		f.Flush()
	}
}
