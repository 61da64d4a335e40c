package identity

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/yorehq/yore/reader"
	"github.com/yorehq/yore/session"
)

// lineReader reads logs of one word a line: "call ID TOOL ARGS", "result ID",
// "turn", or "bad". It counts the lines that it parses.
type lineReader struct{ parsed int }

func (*lineReader) Agent() session.Agent                              { return "test" }
func (*lineReader) Version() int                                      { return 1 }
func (*lineReader) DefaultRoots(func(string) string, string) []string { return nil }
func (*lineReader) Classify(string, bool) reader.Kind                 { return reader.Ignore }
func (*lineReader) Identify(context.Context, string, string) (session.Header, error) {
	return session.Header{}, reader.ErrPending
}

func (*lineReader) Revise(_ context.Context, src reader.Source, at reader.Position) (reader.Revision, reader.Stamp, error) {
	return reader.ReviseAppended(src.Path, at)
}

func (*lineReader) Window(context.Context, reader.Source, session.Checkpoint, int64, int64, session.Range, func(session.Raw) error) (session.Header, error) {
	return session.Header{}, reader.ErrPending
}

func (r *lineReader) Read(_ context.Context, src reader.Source, from reader.Position, emit func(session.Event) error) (reader.Tail, error) {
	f, stamp, err := reader.OpenRegular(src.Path)
	if err != nil {
		return reader.Tail{}, err
	}
	defer f.Close()
	if _, err := f.Seek(from.Offset, 0); err != nil {
		return reader.Tail{}, err
	}
	for lines := bufio.NewScanner(f); lines.Scan(); from.Next++ {
		r.parsed++
		w := strings.SplitN(lines.Text(), " ", 4)
		e := session.Event{Seq: from.Next}
		switch w[0] {
		case "call":
			e.Type = session.ToolCall
			e.Body = session.Body{CallID: w[1], Blocks: []session.Block{{Kind: session.CallBlock, Name: w[2], Text: w[3]}}}
		case "result":
			e.Type, e.Body.CallID = session.ToolResult, w[1]
		case "turn":
			e.Type = session.TurnEnd
		default:
			return reader.Tail{}, reader.Unreadable(src.Path, 0, 0, "no such word")
		}
		if err := emit(e); err != nil {
			return reader.Tail{}, err
		}
	}
	from.Offset, from.Stamp = stamp.Size, stamp
	from.Check, err = reader.CheckBefore(f, from.Offset)
	return reader.Tail{Position: from}, err
}

// folder is a workspace's store on disk: each log a file.
type folder struct {
	t       *testing.T
	dir     string
	sources []reader.Source
	clock   time.Time
}

func (f *folder) write(id, cwd, text string) {
	f.t.Helper()
	path := filepath.Join(f.dir, id)
	file, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		f.t.Fatal(err)
	}
	if _, err := file.WriteString(text); err != nil {
		f.t.Fatal(err)
	}
	if err := file.Close(); err != nil {
		f.t.Fatal(err)
	}
	f.clock = f.clock.Add(time.Second)
	if err := os.Chtimes(path, f.clock, f.clock); err != nil {
		f.t.Fatal(err)
	}
	for _, s := range f.sources {
		if s.Path == path {
			return
		}
	}
	f.sources = append(f.sources, reader.Source{Agent: "test", Path: path, Header: session.Header{Agent: "test", ID: session.ID(id), Cwd: cwd}})
}

// logs is a finder whose clock stands at the last write.
func (f *folder) logs(readers ...reader.Reader) *Logs {
	return NewLogs(LogsOptions{List: f.list, Readers: readers, Now: func() time.Time { return f.clock }})
}

func (f *folder) list(context.Context, string) ([]reader.Source, error) { return f.sources, nil }

func TestLogs(t *testing.T) {
	f := &folder{t: t, dir: t.TempDir(), clock: time.Unix(1e9, 0)}
	r := &lineReader{}
	logs := f.logs(r)
	const tool = "session_search"
	find := func(call PendingCall) string {
		t.Helper()
		keys, err := logs.FindCall(t.Context(), "/w", call)
		if err != nil {
			t.Fatal(err)
		}
		var ids []string
		for _, k := range keys {
			ids = append(ids, string(k.ID))
		}
		return strings.Join(ids, " ")
	}
	want := func(step, want string, call PendingCall) {
		t.Helper()
		if got := find(call); got != want {
			t.Errorf("%s: found %q, want %q", step, got, want)
		}
	}
	args := PendingCall{Tool: tool, Args: json.RawMessage(`{"query":"x"}`)}

	want("no logs", "", args)
	f.write("one", "/w", "call 1 mcp__yore__session_search {\"query\": \"x\"}\n")
	f.write("foreign", "/v", "call 1 session_search {\"query\":\"x\"}\n")
	want("a call", "one", args)
	want("other arguments", "", PendingCall{Tool: tool, Args: json.RawMessage(`{"query":"y"}`)})
	want("another tool", "", PendingCall{Tool: "session_event_search", Args: args.Args})

	before := r.parsed
	want("again", "one", args)
	if r.parsed != before {
		t.Errorf("an unchanged log was read again: %d lines", r.parsed-before)
	}
	f.write("two", "/w", "call 9 yore.session_search {\"query\":\"x\"}\n")
	want("two sessions, the last written first", "two one", args)
	before = r.parsed
	f.write("two", "/w", "result 9\n")
	want("answered", "one", args)
	if r.parsed != before+1 {
		t.Errorf("%d lines were read where 1 was added", r.parsed-before)
	}
	f.write("one", "/w", "turn\n")
	want("given up", "", args)

	f.write("one", "/w", "call 2 session_search {\"query\":\"x\"}\nbad\n")
	want("a log that cannot be read", "", args)
	if err := os.WriteFile(filepath.Join(f.dir, "one"), []byte("call 3 session_search {\"query\":\"x\"}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	f.write("one", "/w", "")
	want("a log that was rewritten", "one", args)
	want("of this agent", "one", PendingCall{Agent: "test", Tool: tool, Args: args.Args})
	want("of another agent", "", PendingCall{Agent: "other", Tool: tool, Args: args.Args})
	if err := os.Remove(filepath.Join(f.dir, "one")); err != nil {
		t.Fatal(err)
	}
	want("a log that is gone", "", args)
}

func TestLogsLooksAtTheLastWrittenOnly(t *testing.T) {
	f := &folder{t: t, dir: t.TempDir(), clock: time.Unix(1e9, 0)}
	call := "call 1 session_search {}\n"
	f.write("old", "/w", call)
	for i := range maxLogs {
		f.write(fmt.Sprint("new", i), "/w", "turn\n")
	}
	logs := f.logs(&lineReader{})
	want := []session.Key(nil)
	got, err := logs.FindCall(t.Context(), "/w", PendingCall{Tool: "session_search"})
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	f.write("old", "/w", call)
	want = []session.Key{{Agent: "test", ID: "old"}}
	got, err = logs.FindCall(t.Context(), "/w", PendingCall{Tool: "session_search"})
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("written again: %v (-want +got):\n%s", err, diff)
	}
}

// A log that is not being written is not even opened: nobody makes the call that
// it ends with.
func TestLogsPassesOverWhatIsNotBeingWritten(t *testing.T) {
	call := "call 1 session_search {}\n"
	for _, tc := range []struct {
		name string
		now  time.Duration // after the write
		want int
	}{
		{"written just now", 0, 1},
		{"written a minute ago", time.Minute, 1},
		{"written longer ago", time.Minute + 1, 0},
		{"twenty days old", 20 * 24 * time.Hour, 0},
		{"by a clock that goes a little before ours", -time.Second, 1},
		{"from the future", -time.Hour, 0},
	} {
		f := &folder{t: t, dir: t.TempDir(), clock: time.Unix(1e9, 0)}
		f.write("one", "/w", call)
		f.clock = f.clock.Add(tc.now)
		r := &lineReader{}
		got, err := f.logs(r).FindCall(t.Context(), "/w", PendingCall{Tool: "session_search"})
		if err != nil || len(got) != tc.want || r.parsed != tc.want {
			t.Errorf("%s: %v, %v; %d lines were read", tc.name, got, err, r.parsed)
		}
	}
}

// A log that rests and goes on is not read from its beginning again.
func TestLogsRemembersALogThatRests(t *testing.T) {
	f := &folder{t: t, dir: t.TempDir(), clock: time.Unix(1e9, 0)}
	r := &lineReader{}
	logs := f.logs(r)
	find := func() int {
		t.Helper()
		got, err := logs.FindCall(t.Context(), "/w", PendingCall{Tool: "session_search"})
		if err != nil {
			t.Fatal(err)
		}
		return len(got)
	}
	f.write("one", "/w", "turn\nturn\n")
	find()
	f.clock = f.clock.Add(time.Hour)
	find()
	f.write("one", "/w", "call 1 session_search {}\n")
	if got := find(); got != 1 || r.parsed != 3 {
		t.Errorf("%d found, %d lines read where 3 were written", got, r.parsed)
	}
}

// idReader finds calls by their ids and is never to read a log whole.
type idReader struct {
	lineReader
	agent session.Agent
	found map[string]session.ID // by root
	err   error
}

func (r *idReader) Agent() session.Agent { return r.agent }

func (r *idReader) FindCall(_ context.Context, root, workspace, callID string) (session.ID, bool, error) {
	if r.err != nil {
		return "", false, r.err
	}
	id, ok := r.found[root]
	return id, ok && workspace == "/w" && callID == "call-1", nil
}

func TestLogsByID(t *testing.T) {
	f := &folder{t: t, dir: t.TempDir(), clock: time.Unix(1e9, 0)}
	f.write("one", "/w", "call call-1 session_search {}\n")
	roots := func(a session.Agent) []string {
		return map[session.Agent][]string{"a": {"/a1", "/a2"}, "b": {"/b1"}}[a]
	}
	a := &idReader{agent: "a", found: map[string]session.ID{"/a2": "mine"}}
	b := &idReader{agent: "b", found: map[string]session.ID{"/b1": "other"}}
	broken := &idReader{agent: "a", err: errors.New("unreadable")}
	plain := &lineReader{}
	for _, tc := range []struct {
		name string
		call PendingCall
		rs   []reader.Reader
		want []session.Key
	}{
		{"the agent's second root", PendingCall{Agent: "a", ID: "call-1"}, []reader.Reader{a, b}, []session.Key{{Agent: "a", ID: "mine"}}},
		{"any agent", PendingCall{ID: "call-1"}, []reader.Reader{b}, []session.Key{{Agent: "b", ID: "other"}}},
		{"another id", PendingCall{Agent: "a", ID: "call-2"}, []reader.Reader{a, b}, nil},
		{"a reader that finds no calls", PendingCall{ID: "call-1", Tool: "session_search"}, []reader.Reader{plain}, nil},
		{"a root that cannot be read", PendingCall{Agent: "a", ID: "call-1"}, []reader.Reader{broken}, nil},
	} {
		logs := NewLogs(LogsOptions{List: f.list, Roots: roots, Readers: tc.rs, Now: func() time.Time { return f.clock }})
		got, err := logs.FindCall(t.Context(), "/w", tc.call)
		if diff := cmp.Diff(tc.want, got); diff != "" || err != nil {
			t.Errorf("%s: %v (-want +got):\n%s", tc.name, err, diff)
		}
	}
	if n := a.parsed + b.parsed + plain.parsed; n != 0 {
		t.Errorf("%d lines were read", n)
	}
}

func TestLogsFailures(t *testing.T) {
	broken := errors.New("no catalogue")
	logs := NewLogs(LogsOptions{List: func(context.Context, string) ([]reader.Source, error) { return nil, broken }, Readers: []reader.Reader{&lineReader{}}})
	if _, err := logs.FindCall(t.Context(), "/w", PendingCall{Tool: "session_search"}); !errors.Is(err, broken) {
		t.Errorf("got %v", err)
	}
	// An agent without a reader here is passed over.
	f := &folder{t: t, dir: t.TempDir(), clock: time.Unix(1e9, 0)}
	f.write("one", "/w", "call 1 session_search {}\n")
	if got, err := f.logs().FindCall(t.Context(), "/w", PendingCall{Tool: "session_search"}); got != nil || err != nil {
		t.Errorf("got %v, %v", got, err)
	}
}

// Every way a log moves on.
func TestOpenCalls(t *testing.T) {
	call := func(id, name string) session.Event {
		return session.Event{Type: session.ToolCall, Body: session.Body{CallID: id, Blocks: []session.Block{{Kind: session.CallBlock, Name: name}}}}
	}
	of := func(kind string) session.Event { return session.Event{Type: kind} }
	for _, tc := range []struct {
		name   string
		events []session.Event
		want   bool
	}{
		{"open", []session.Event{call("1", "t")}, true},
		{"beside an answered one", []session.Event{call("1", "t"), call("2", "t"), {Type: session.ToolResult, Body: session.Body{CallID: "1"}}}, true},
		{"answered", []session.Event{call("1", "t"), {Type: session.ToolResult, Body: session.Body{CallID: "1"}}}, false},
		{"a turn ended", []session.Event{call("1", "t"), of(session.TurnEnd)}, false},
		{"a turn began", []session.Event{call("1", "t"), of(session.TurnStart)}, false},
		{"a step began", []session.Event{call("1", "t"), of(session.StepStart)}, false},
		{"a message between", []session.Event{call("1", "t"), of(session.UserMessage)}, true},
		{"a call without id", []session.Event{call("", "t")}, false},
		{"arguments beyond measure", []session.Event{{Type: session.ToolCall, Body: session.Body{CallID: "1", Blocks: []session.Block{{Kind: session.CallBlock, Name: "t", Text: strings.Repeat(" ", maxArgs+1)}}}}}, false},
	} {
		open := make(openCalls)
		for _, e := range tc.events {
			open.apply(&e)
		}
		if got := open.has(PendingCall{Tool: "t"}); got != tc.want {
			t.Errorf("%s: %v", tc.name, got)
		}
	}
}
