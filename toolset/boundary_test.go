package toolset

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/yorehq/yore/authz"
	"github.com/yorehq/yore/fault"
	"github.com/yorehq/yore/session"
)

// viewFunc is a source of views that fails, blocks or panics as a test wants.
type viewFunc func(context.Context, authz.Caller) (*authz.View, error)

func (f viewFunc) View(ctx context.Context, c authz.Caller) (*authz.View, error) { return f(ctx, c) }

func failing(err error) viewFunc {
	return func(context.Context, authz.Caller) (*authz.View, error) { return nil, err }
}

func newSet(t *testing.T, views Views, log *bytes.Buffer) *Set {
	t.Helper()
	o := Options{}
	if log != nil {
		o.Logger = slog.New(slog.NewTextHandler(log, nil))
	}
	s, err := New(views, o)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func call(tool, args string) Call {
	return Call{Caller: authz.Caller{Workspace: "/w"}, Tool: tool, Args: json.RawMessage(args)}
}

// hostile is an error whose every method is a trap.
type hostile struct{}

func (hostile) Error() string        { panic("Error: /secret/path") }
func (hostile) Unwrap() error        { panic("Unwrap: /secret/path") }
func (hostile) Is(error) bool        { panic("Is: /secret/path") }
func (h hostile) As(target any) bool { panic(h) }

// rude is an error that can be looked at, but not printed.
type rude struct{}

func (rude) Error() string { panic("/secret/path") }

func TestBoundary(t *testing.T) {
	const secret = "/secret/path"
	whole := func(c fault.Code) string { return string(c) + ": " + fault.Sentence(c) + " " + fault.Remedy(c) }
	throw := func(v any) viewFunc {
		return func(context.Context, authz.Caller) (*authz.View, error) { panic(v) }
	}
	for _, c := range []struct {
		name  string
		views viewFunc
		want  string
	}{
		{"no code", failing(errors.New("open " + secret)), whole(fault.ToolFailed)},
		{"a code and diagnostics", failing(fmt.Errorf("%w: open %s", fault.Persistence, secret)), whole(fault.Persistence)},
		{"a safe text of a code with a fixed sentence", failing(fault.New(fault.Unauthorized, "session x of "+secret)), whole(fault.Unauthorized)},
		{"missing and forbidden", failing(fmt.Errorf("%w: no such session", fault.Unauthorized)), whole(fault.Unauthorized)},
		{"a safe text about an argument", failing(fault.New(fault.InvalidFilter, "name a:x\nor b:x")), "SESSION_QUERY_INVALID_FILTER: name a:x or b:x"},
		{"an argument's code with diagnostics", failing(fmt.Errorf("%w: %s", fault.InvalidFilter, secret)), whole(fault.InvalidFilter)},
		{"a long safe text", failing(fault.New(fault.InvalidFilter, "%s", strings.Repeat("x", 5000))), "SESSION_QUERY_INVALID_FILTER: " + strings.Repeat("x", 899) + "…"},
		{"a fault of the deployment", failing(fault.New(fault.InvalidConfig, secret)), whole(fault.ToolFailed)},
		{"a fold that only services meet", failing(fault.InvalidSurface), whole(fault.ToolFailed)},
		{"a foreign context's end", failing(context.Canceled), whole(fault.ToolFailed)},
		{"a code that is none of ours", failing(fault.Code("SELECT " + secret)), whole(fault.ToolFailed)},
		{"a panic", throw(secret), whole(fault.ToolFailed)},
		{"a panic with a hostile error", throw(hostile{}), whole(fault.ToolFailed)},
		{"a nil view", failing(nil), whole(fault.ToolFailed)},
		{"an error that is a trap", failing(hostile{}), whole(fault.ToolFailed)},
		{"a trap below a code", failing(&fault.Error{Code: fault.IndexFailed, Cause: rude{}}), whole(fault.IndexFailed)},
		{"an error that cannot be printed", failing(rude{}), whole(fault.ToolFailed)},
	} {
		for _, tool := range []string{"session_search", "session_event_read"} {
			var log bytes.Buffer
			got := newSet(t, c.views, &log).Call(t.Context(), call(tool, `{"query":"x","seq":1}`))
			var failure *Failure
			if !errors.As(got.Err, &failure) || got.Text != "" || got.Value != nil {
				t.Fatalf("%s: %+v", c.name, got)
			}
			if failure.Error() != c.want {
				t.Errorf("%s: %s\nwant %s", c.name, failure, c.want)
			}
			if !errors.Is(got.Err, failure.Code) {
				t.Errorf("%s: errors.Is does not find the code", c.name)
			}
			if !strings.Contains(log.String(), "code="+string(failure.Code)) {
				t.Errorf("%s is not logged: %s", c.name, log.String())
			}
			if len(failure.Error()) > 1024 {
				t.Errorf("%s: %d bytes", c.name, len(failure.Error()))
			}
		}
	}
}

func TestPanicIsLoggedWithItsPlace(t *testing.T) {
	var log bytes.Buffer
	views := viewFunc(func(context.Context, authz.Caller) (*authz.View, error) { panic("index out of range") })
	newSet(t, views, &log).Call(t.Context(), call("session_trace", `{}`))
	for _, want := range []string{"level=ERROR", "index out of range", "boundary_test.go"} {
		if !strings.Contains(log.String(), want) {
			t.Errorf("the log does not say %q: %s", want, log.String())
		}
	}
}

// brokenLog is a handler that cannot be used.
type brokenLog struct{ slog.Handler }

func (brokenLog) Enabled(context.Context, slog.Level) bool { panic("the logger is broken") }

func TestBrokenLogger(t *testing.T) {
	s, err := New(failing(rude{}), Options{Logger: slog.New(brokenLog{slog.DiscardHandler})})
	if err != nil {
		t.Fatal(err)
	}
	if got := codeOf(s.Call(t.Context(), call("session_trace", `{}`))); got != fault.ToolFailed {
		t.Errorf("%s", got)
	}
}

func TestUnknownTool(t *testing.T) {
	got := newSet(t, failing(nil), nil).Call(t.Context(), call("session_delete", `{}`))
	if want := "INVALID_ARGS: there is no tool of this name; the tools are session_search, session_event_search, session_trace, session_event_trace, session_event_read"; got.Err == nil || got.Err.Error() != want {
		t.Errorf("%v", got.Err)
	}
}

// codeOf is the code of an outcome's failure.
func codeOf(o Outcome) fault.Code {
	var f *Failure
	if errors.As(o.Err, &f) {
		return f.Code
	}
	return ""
}

func TestCancellationWins(t *testing.T) {
	t.Run("before", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		views := viewFunc(func(context.Context, authz.Caller) (*authz.View, error) {
			t.Error("a cancelled call was begun")
			return nil, nil
		})
		if got := codeOf(newSet(t, views, nil).Call(ctx, call("session_search", `{"query":7}`))); got != fault.AbortedBefore {
			t.Errorf("%s", got)
		}
	})
	for name, caused := range map[string]error{
		"context":  context.Canceled,
		"code":     fault.IndexFailed,
		"engine":   fault.EngineAborted,
		"argument": fault.New(fault.InvalidFilter, "x"),
		"rude":     rude{},
		"trap":     hostile{},
	} {
		t.Run("during, causes "+name, func(t *testing.T) {
			for _, tool := range []string{"session_search", "session_trace"} {
				ctx, cancel := context.WithCancel(t.Context())
				views := viewFunc(func(context.Context, authz.Caller) (*authz.View, error) { cancel(); return nil, caused })
				if got := codeOf(newSet(t, views, nil).Call(ctx, call(tool, `{"query":"x"}`))); got != fault.Aborted {
					t.Errorf("%s: %s", tool, got)
				}
			}
		})
	}
	t.Run("during, causes a panic", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		views := viewFunc(func(context.Context, authz.Caller) (*authz.View, error) { cancel(); panic("x") })
		if got := codeOf(newSet(t, views, nil).Call(ctx, call("session_trace", `{}`))); got != fault.Aborted {
			t.Errorf("%s", got)
		}
	})
}

func TestDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		wait := viewFunc(func(ctx context.Context, _ authz.Caller) (*authz.View, error) {
			<-ctx.Done()
			return nil, fault.IndexFailed
		})
		start := time.Now()
		if got := codeOf(newSet(t, wait, nil).Call(t.Context(), call("session_search", `{"query":"x"}`))); got != fault.Timeout {
			t.Errorf("%s", got)
		}
		if took := time.Since(start); took != 30*time.Second {
			t.Errorf("a search ended after %s", took)
		}
		// Reads have no deadline of their own, but the host's holds.
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		if got := codeOf(newSet(t, wait, nil).Call(ctx, call("session_event_read", `{"seq":1}`))); got != fault.Timeout {
			t.Errorf("%s", got)
		}
		if took := time.Since(start); took != time.Hour+30*time.Second {
			t.Errorf("a read ended after %s", took)
		}
	})
}

// Of one caller's searches one runs at a time; those of others, and reads, do
// not wait for it.
func TestSearchesTakeTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		key := func(id session.ID) *session.Key { return &session.Key{Agent: session.DSH, ID: id} }
		a, b, c := authz.Caller{Workspace: "/w", Session: key("a")}, authz.Caller{Workspace: "/w", Session: key("b")}, authz.Caller{Workspace: "/w"}
		running, most := map[string]int{}, map[string]int{}
		gate := make(chan struct{})
		entered := make(chan string, 100)
		lock := make(chan struct{}, 1)
		name := func(c authz.Caller) string {
			if c.Session == nil {
				return "nobody"
			}
			return string(c.Session.ID)
		}
		views := viewFunc(func(_ context.Context, who authz.Caller) (*authz.View, error) {
			n := name(who)
			lock <- struct{}{}
			running[n]++
			most[n] = max(most[n], running[n])
			<-lock
			entered <- n
			<-gate
			lock <- struct{}{}
			running[n]--
			<-lock
			return nil, fault.SearchDisabled
		})
		s := newSet(t, views, nil)
		done := make(chan fault.Code, 100)
		start := func(who authz.Caller, tool string) {
			go func() {
				done <- codeOf(s.Call(t.Context(), Call{Caller: who, Tool: tool, Args: json.RawMessage(`{"query":"x","seq":1}`)}))
			}()
		}
		start(a, "session_search")
		synctest.Wait()
		start(a, "session_event_search")
		start(a, "session_search")
		start(b, "session_search")
		start(c, "session_search")
		start(c, "session_search")
		synctest.Wait()
		if len(entered) != 3 {
			t.Errorf("%d searches began, want one of each caller", len(entered))
		}
		close(gate)
		for range 6 {
			if code := <-done; code != fault.SearchDisabled {
				t.Errorf("%s", code)
			}
		}
		for who, n := range most {
			if n != 1 {
				t.Errorf("%d searches of %s at once", n, who)
			}
		}
		if len(s.turns.lines) != 0 {
			t.Errorf("%d callers are remembered though nobody waits", len(s.turns.lines))
		}
	})
}

func TestReadsDoNotWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		gate := make(chan struct{})
		entered := make(chan struct{}, 10)
		s := newSet(t, viewFunc(func(context.Context, authz.Caller) (*authz.View, error) {
			entered <- struct{}{}
			<-gate
			return nil, fault.Persistence
		}), nil)
		done := make(chan Outcome, 10)
		for _, tool := range []string{"session_search", "session_event_read", "session_event_read", "session_trace"} {
			go func() { done <- s.Call(t.Context(), call(tool, `{"query":"x","seq":1}`)) }()
		}
		synctest.Wait()
		if len(entered) != 4 {
			t.Errorf("%d of 4 calls began", len(entered))
		}
		close(gate)
		for range 4 {
			<-done
		}
	})
}

// A search that is cancelled, or times out, while it waits leaves the line.
func TestWaitingEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		gate := make(chan struct{})
		s := newSet(t, viewFunc(func(context.Context, authz.Caller) (*authz.View, error) {
			<-gate
			return nil, fault.Persistence
		}), nil)
		first, second, third := make(chan Outcome, 1), make(chan Outcome, 1), make(chan Outcome, 1)
		go func() { first <- s.Call(t.Context(), call("session_search", `{"query":"x"}`)) }()
		synctest.Wait()
		ctx, cancel := context.WithCancel(t.Context())
		go func() { second <- s.Call(ctx, call("session_search", `{"query":"x"}`)) }()
		go func() { third <- s.Call(t.Context(), call("session_search", `{"query":"x"}`)) }()
		synctest.Wait()
		cancel()
		if got := codeOf(<-second); got != fault.Aborted {
			t.Errorf("cancelled while waiting: %s", got)
		}
		if got := codeOf(<-third); got != fault.Timeout {
			t.Errorf("deadline while waiting: %s", got)
		}
		close(gate)
		<-first
		if len(s.turns.lines) != 0 {
			t.Error("the line is remembered")
		}
	})
}

func TestNewRefuses(t *testing.T) {
	ok := failing(nil)
	for name, try := range map[string]func() (*Set, error){
		"views":   func() (*Set, error) { return New(nil, Options{}) },
		"results": func() (*Set, error) { return New(ok, Options{MaxSearchResults: -1}) },
		"many":    func() (*Set, error) { return New(ok, Options{MaxSearchResults: 1 << 30}) },
		"timeout": func() (*Set, error) { return New(ok, Options{SearchTimeout: -1}) },
		"match":   func() (*Set, error) { return New(ok, Options{Match: "fuzzy"}) },
		"order":   func() (*Set, error) { return New(ok, Options{Order: "newest"}) },
	} {
		if _, err := try(); !errors.Is(err, fault.InvalidConfig) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
