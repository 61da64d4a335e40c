package mcpserver

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/yorehq/yore/authz"
	"github.com/yorehq/yore/fault"
	"github.com/yorehq/yore/internal/identity"
	"github.com/yorehq/yore/internal/spill"
	"github.com/yorehq/yore/session"
	"github.com/yorehq/yore/toolset"
)

const modernMeta = `"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}`

// connect joins the SDK's own client to a server in memory.
func connect(t *testing.T, o Options) *mcp.ClientSession {
	t.Helper()
	s, err := newServer(o, false)
	if err != nil {
		t.Fatal(err)
	}
	ours, theirs := mcp.NewInMemoryTransports()
	if _, err := s.Connect(t.Context(), ours, nil); err != nil {
		t.Fatal(err)
	}
	client := mcp.NewClient(&mcp.Implementation{Name: "x", Version: "1"}, nil)
	c, err := client.Connect(t.Context(), theirs, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

func TestToolList(t *testing.T) {
	list, err := connect(t, options(echo)).ListTools(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if list.CacheScope != "private" || list.NextCursor != "" {
		t.Errorf("cache scope %q, cursor %q", list.CacheScope, list.NextCursor)
	}
	catalogue := map[string]toolset.Tool{}
	for _, tool := range toolset.Catalogue() {
		catalogue[tool.Name] = tool
	}
	long := 0
	for _, tool := range list.Tools {
		wire, err := json.Marshal(tool)
		if err != nil {
			t.Fatal(err)
		}
		want := catalogue[tool.Name]
		delete(catalogue, tool.Name)
		expected := map[string]any{
			"name": want.Name, "title": want.Title, "description": want.Description,
			"inputSchema": value(t, string(want.Schema)),
			"annotations": map[string]any{"title": want.Title, "readOnlyHint": true, "idempotentHint": true, "destructiveHint": false, "openWorldHint": false},
		}
		if want.MaxResultChars {
			long++
			expected["_meta"] = map[string]any{"anthropic/maxResultSizeChars": 400000.0}
		}
		if diff := cmp.Diff(any(expected), value(t, string(wire))); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tool.Name, diff)
		}
	}
	if len(catalogue) != 0 || len(list.Tools) != 5 || long != 1 {
		t.Errorf("%d tools, %d long; not listed: %v", len(list.Tools), long, catalogue)
	}
}

// What the host tells reaches the one who decides, and what he decides the tool.
func TestCaller(t *testing.T) {
	me := session.Key{Agent: "codex", ID: "t1"}
	for _, tc := range []struct {
		name   string
		client string // handshake under this name; "": none
		params string
		want   identity.Call
	}{
		{
			name: "a handshake", client: "codex-mcp-client",
			params: `{"name":"session_trace","arguments":{"a":1},"_meta":{"threadId":"t1","codex/sandbox-state-meta":{"sandboxCwd":"/v"}}}`,
			want: identity.Call{Client: "codex-mcp-client", Tool: "session_trace", Args: json.RawMessage(`{"a":1}`),
				Meta: map[string]any{"threadId": "t1", "codex/sandbox-state-meta": map[string]any{"sandboxCwd": "/v"}}},
		},
		{
			name: "no handshake", params: `{"name":"session_trace","_meta":{` + modernMeta + `,"io.modelcontextprotocol/clientInfo":{"name":"claude-code","version":"2"}}}`,
			want: identity.Call{Client: "claude-code", Tool: "session_trace", Args: json.RawMessage(`{}`), Meta: map[string]any{
				"io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": map[string]any{},
				"io.modelcontextprotocol/clientInfo": map[string]any{"name": "claude-code", "version": "2"}}},
		},
		{
			// The request counts, not the connection.
			name: "a handshake, then a stateless request", client: "claude-code",
			params: `{"name":"session_trace","_meta":{` + modernMeta + `}}`,
			want: identity.Call{Tool: "session_trace", Args: json.RawMessage(`{}`), Meta: map[string]any{
				"io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": map[string]any{}}},
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var told identity.Call
			var called toolset.Call
			o := options(func(_ context.Context, call toolset.Call) toolset.Outcome {
				called = call
				return toolset.Outcome{Text: "ok"}
			})
			o.Callers = callerFunc(func(_ context.Context, call identity.Call) (identity.Caller, error) {
				told = call
				return identity.Caller{Workspace: "/w", Session: &me}, nil
			})
			p := serve(t, o)
			if tc.client != "" {
				p.handshake(tc.client)
			}
			p.send(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":` + tc.params + `}`)
			if m := p.receive(); m.text() != "ok" {
				t.Fatalf("got %+v", m)
			}
			if diff := cmp.Diff(tc.want, told); diff != "" {
				t.Errorf("told (-want +got):\n%s", diff)
			}
			want := authz.Caller{Workspace: "/w", Session: &me}
			if diff := cmp.Diff(want, called.Caller); diff != "" || called.Tool != tc.want.Tool || string(called.Args) != string(tc.want.Args) {
				t.Errorf("called %+v (-want +got):\n%s", called, diff)
			}
		})
	}
}

// A request of the stateless era follows one that named its client: the name
// is not carried over.
func TestClientIsNotRemembered(t *testing.T) {
	var clients []string
	o := options(echo)
	o.Callers = callerFunc(func(_ context.Context, call identity.Call) (identity.Caller, error) {
		clients = append(clients, call.Client)
		return identity.Caller{Workspace: "/w"}, nil
	})
	p := serve(t, o)
	for _, meta := range []string{modernMeta + `,"io.modelcontextprotocol/clientInfo":{"name":"claude-code","version":"2"}`, modernMeta, `"x":1`} {
		p.send(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"session_trace","_meta":{` + meta + `}}}`)
		if m := p.receive(); m.text() == "" {
			t.Errorf("got %+v", m)
		}
	}
	if diff := cmp.Diff([]string{"claude-code", "", ""}, clients); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestFailures(t *testing.T) {
	fails := func(f *toolset.Failure) toolFunc {
		return func(context.Context, toolset.Call) toolset.Outcome { return toolset.Outcome{Err: f} }
	}
	refuses := func(err error) callerFunc {
		return func(context.Context, identity.Call) (identity.Caller, error) { return identity.Caller{}, err }
	}
	for _, tc := range []struct {
		name    string
		tools   toolFunc
		callers Callers
		want    string
	}{
		{"a tool's failure", fails(&toolset.Failure{Code: fault.InvalidQuery, Message: "query is empty: pass some words"}), nil,
			"SESSION_QUERY_INVALID_QUERY: query is empty: pass some words"},
		{"a long failure", fails(&toolset.Failure{Code: fault.InvalidArgs, Message: strings.Repeat("é", 2000)}), nil,
			"INVALID_ARGS: " + strings.Repeat("é", 503) + "…"},
		{"a panicking tool", func(context.Context, toolset.Call) toolset.Outcome { panic("/secret/path") }, nil,
			"SESSION_QUERY_TOOL_FAILED: The request failed for a reason that is kept in the log. Try again; if it stays, the person who runs the agent can call `yore doctor`."},
		{"nobody", echo, refuses(fault.New(fault.MissingAgent, "Say who you are.")),
			"SESSION_QUERY_TOOL_MISSING_AGENT: Say who you are."},
		{"nobody, wrapped", echo, refuses(fmt.Errorf("/secret/path: %w", fault.New(fault.MissingAgent, "Say who you are."))),
			"SESSION_QUERY_TOOL_MISSING_AGENT: Say who you are."},
		{"a lookup that broke", echo, refuses(errors.New("/secret/path")),
			"SESSION_QUERY_TOOL_FAILED: The request failed for a reason that is kept in the log. Try again; if it stays, the person who runs the agent can call `yore doctor`."},
		{"a lookup that was cancelled", echo, refuses(context.Canceled),
			"ABORTED: The call was cancelled. Call again."},
		{"a lookup that panics", echo, callerFunc(func(context.Context, identity.Call) (identity.Caller, error) { panic(errors.New("x")) }),
			"SESSION_QUERY_TOOL_FAILED: The request failed for a reason that is kept in the log. Try again; if it stays, the person who runs the agent can call `yore doctor`."},
	} {
		t.Run(tc.name, func(t *testing.T) {
			o := options(tc.tools)
			if tc.callers != nil {
				o.Callers = tc.callers
			}
			p := serve(t, o)
			p.handshake("x")
			p.send(callTrace)
			m := p.receive()
			if m.text() != tc.want || m.Result == nil || !m.Result.IsError || m.Result.Structured != nil {
				t.Errorf("got %+v, text %q", m, m.text())
			}
			if len(m.text()) > 1024 || !utf8.ValidString(m.text()) {
				t.Errorf("%d bytes", len(m.text()))
			}
		})
	}
}

func TestBudgets(t *testing.T) {
	number := func(n int) *int { return &n }
	for _, tc := range []struct {
		client string
		given  *int
		want   int
	}{
		{"codex-mcp-client", nil, 10_000},
		{"pi", nil, 18_000},
		{"qwen-cli-mcp-client-yore", nil, 22_000},
		{"gemini-cli-mcp-client", nil, 36_000},
		{"gemini-cli-mcp-client-yore", nil, 36_000},
		{"dsh-mcp-client", nil, 45_000},
		{"claude-code", nil, 45_000},
		{"opencode", nil, 45_000},
		{"something else", nil, 10_000},
		{"", nil, 10_000},
		{"claude-code", number(5_000), 5_000},
		{"claude-code", number(0), 0},
	} {
		text := strings.Repeat("0123456789\n", 10_000)
		var inline int
		o := options(func(_ context.Context, call toolset.Call) toolset.Outcome {
			inline = call.InlineBytes
			return toolset.Outcome{Text: text}
		})
		o.MaxInlineBytes = tc.given
		o.Spill = spill.Policy{Dir: filepath.Join(t.TempDir(), "spill")}
		p := serve(t, o)
		p.handshake(tc.client)
		p.send(callTrace)
		got := p.receive().text()
		if inline != tc.want {
			t.Errorf("%q: the tool was given %d, want %d", tc.client, inline, tc.want)
		}
		if tc.want == 0 {
			if got != text {
				t.Errorf("%q: %d bytes without a limit", tc.client, len(got))
			}
			continue
		}
		if len(got) > tc.want || len(got) < tc.want-200 {
			t.Errorf("%q: %d bytes, want close to %d", tc.client, len(got), tc.want)
		}
		saved, err := filepath.Glob(filepath.Join(o.Spill.Dir, "*"))
		if err != nil || len(saved) != 1 || !strings.Contains(got, saved[0]) {
			t.Fatalf("%q: saved %v, %v", tc.client, saved, err)
		}
		if whole, err := os.ReadFile(saved[0]); err != nil || string(whole) != text {
			t.Errorf("%q: the file holds %d bytes, %v", tc.client, len(whole), err)
		}
	}
}

// Failures are short and never spill; without a folder long answers stay whole.
func TestNoSpill(t *testing.T) {
	text := strings.Repeat("<&>", 10_000)
	p := serve(t, options(func(context.Context, toolset.Call) toolset.Outcome { return toolset.Outcome{Text: text} }))
	p.handshake("codex-mcp-client")
	p.send(callTrace)
	line := p.line()
	if !strings.Contains(line, text) {
		t.Errorf("the text is not on the line as it stands: %.200s", line)
	}
}

func TestProgress(t *testing.T) {
	tools := func(_ context.Context, call toolset.Call) toolset.Outcome {
		if call.Progress == nil {
			return toolset.Outcome{Text: "nobody listens"}
		}
		for _, done := range []int{0, 1, 1, 3, 2, 3, 3} {
			call.Progress(done, 3)
		}
		return toolset.Outcome{Text: "done"}
	}
	p := serve(t, options(tools))
	p.handshake("x")
	p.send(callTrace)
	if m := p.receive(); m.text() != "nobody listens" {
		t.Errorf("got %+v", m)
	}
	p.send(`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"session_trace","_meta":{"progressToken":"tok"}}}`)
	var told []float64
	for {
		m := p.receive()
		if m.Method == "" {
			if m.text() != "done" {
				t.Errorf("got %+v", m)
			}
			break
		}
		if m.Method != "notifications/progress" || m.Params.Token != "tok" || m.Params.Total != 3 {
			t.Errorf("got %+v", m)
		}
		told = append(told, m.Params.Progress)
	}
	// The first at once, the end always, never twice and never back.
	if diff := cmp.Diff([]float64{1, 3}, told); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// A tool that goes on after its answer tells nobody.
func TestNoProgressAfterTheAnswer(t *testing.T) {
	var late func(done, total int)
	p := serve(t, options(func(_ context.Context, call toolset.Call) toolset.Outcome {
		late = call.Progress
		return toolset.Outcome{Text: "done"}
	}))
	p.handshake("x")
	p.send(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"session_trace","_meta":{"progressToken":5}}}`)
	if m := p.receive(); m.text() != "done" {
		t.Fatalf("got %+v", m)
	}
	late(3, 3)
	p.send(`{"jsonrpc":"2.0","id":2,"method":"ping"}`)
	if m := p.receive(); m.ID != 2.0 {
		t.Errorf("got %+v", m)
	}
}

func TestOptionsThatCannotBe(t *testing.T) {
	negative := -1
	for name, o := range map[string]Options{
		"nothing":           {},
		"no tools":          {Callers: callerFunc(someone)},
		"no callers":        {Tools: toolFunc(echo)},
		"a negative budget": {Tools: toolFunc(echo), Callers: callerFunc(someone), MaxInlineBytes: &negative},
	} {
		if err := Serve(t.Context(), o, strings.NewReader(""), &strings.Builder{}); !errors.Is(err, fault.InvalidConfig) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
