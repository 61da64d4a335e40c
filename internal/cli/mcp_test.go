package cli

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// deadline ends a test that would hang.
const deadline = 60 * time.Second

// server is the command line of a server over the samples, with a home and an
// index of its own.
func server(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	dir := t.TempDir()
	logs, err := filepath.Abs("../demo/samples")
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("yore", append([]string{"mcp", "--workspace", "/srv/code/alpha"}, args...)...)
	cmd.Env = append(os.Environ(), "HOME="+dir, "XDG_CACHE_HOME="+dir, "XDG_CONFIG_HOME="+dir, "YORE_ROOTS=dsh="+logs, "YORE_INDEX="+filepath.Join(dir, "index"))
	cmd.Stderr = t.Output()
	return cmd
}

func connect(t *testing.T, ctx context.Context) *mcp.ClientSession {
	t.Helper()
	client := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil)
	s, err := client.Connect(ctx, &mcp.CommandTransport{Command: server(t)}, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("the server ends with %v", err)
		}
	})
	return s
}

func call(t *testing.T, ctx context.Context, s *mcp.ClientSession, tool string, args map[string]any) (string, bool) {
	t.Helper()
	r, err := s.CallTool(ctx, &mcp.CallToolParams{Name: tool, Arguments: args})
	if err != nil {
		t.Fatalf("%s: %v", tool, err)
	}
	if len(r.Content) != 1 || r.StructuredContent != nil {
		t.Fatalf("%s: %d pieces of content", tool, len(r.Content))
	}
	text, ok := r.Content[0].(*mcp.TextContent)
	if !ok {
		t.Fatalf("%s: content of type %T", tool, r.Content[0])
	}
	return text.Text, r.IsError
}

func TestClientOverStdio(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), deadline)
	defer cancel()
	s := connect(t, ctx)
	list, err := s.ListTools(ctx, nil)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, tool := range list.Tools {
		names = append(names, tool.Name)
	}
	slices.Sort(names)
	if d := cmp.Diff([]string{"session_event_read", "session_event_search", "session_event_trace", "session_search", "session_trace"}, names); d != "" {
		t.Errorf("tools (-want +got):\n%s", d)
	}
	compact := map[string]any{"session_id": "alpha-compact", "seq": 3}
	for _, tc := range []struct {
		tool   string
		args   map[string]any
		want   string
		failed bool
	}{
		{"session_search", map[string]any{"query": "quota ledger"}, "\nalpha-compact 2026-03-02T10:00:00.000Z root: Quota ledger questions\n #1 user/message shadowed", false},
		{"session_event_search", map[string]any{"query": "quota ledger", "session_id": "alpha-compact"}, "\n6 events, best first:\n #1 ", false},
		{"session_trace", map[string]any{"session_id": "alpha-fork-child"}, "\n alpha-fork-parent ", false},
		{"session_event_trace", compact, "\nreplacement chain: 14, 24\n", false},
		{"session_event_read", compact, `"text":"The quota ledger is a table in the billing store."`, false},
		{"session_event_read", map[string]any{"session_id": "session-a6645acb-f32d-44d0-8c9f-4cb93bc04029", "seq": 7}, "SESSION_QUERY_TOOL_UNAUTHORIZED: ", true},
		{"session_event_read", map[string]any{"session_id": "alpha-compact"}, "INVALID_ARGS: ", true},
	} {
		text, failed := call(t, ctx, s, tc.tool, tc.args)
		if failed != tc.failed || !strings.Contains(text, tc.want) {
			t.Errorf("%s %v: failed %v, no %q in\n%s", tc.tool, tc.args, failed, tc.want, text)
		}
	}
}

func TestTwoCallsAtOnce(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), deadline)
	defer cancel()
	s := connect(t, ctx)
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			tool, args, want := "session_event_read", map[string]any{"session_id": "alpha-compact", "seq": 20 + i}, fmt.Sprintf("\n#%d ", 20+i)
			if i%2 == 0 {
				tool, args, want = "session_search", map[string]any{"query": "quota ledger"}, "alpha-compact"
			}
			r, err := s.CallTool(ctx, &mcp.CallToolParams{Name: tool, Arguments: args})
			if err != nil {
				t.Errorf("%s: %v", tool, err)
				return
			}
			if text := r.Content[0].(*mcp.TextContent).Text; !strings.Contains(text, want) {
				t.Errorf("%s %v: %s", tool, args, text)
			}
		})
	}
	wg.Wait()
}

// A call that is given up ends for its caller, and the server goes on.
func TestCancellation(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), deadline)
	defer cancel()
	s := connect(t, ctx)
	given, giveUp := context.WithCancel(ctx)
	giveUp()
	if _, err := s.CallTool(given, &mcp.CallToolParams{Name: "session_search", Arguments: map[string]any{"query": "quota"}}); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	if text, failed := call(t, ctx, s, "session_search", map[string]any{"query": "quota"}); failed || !strings.Contains(text, "alpha-compact") {
		t.Errorf("after it: %s", text)
	}
}

// wire is a server that is spoken to line by line.
type wire struct {
	t   *testing.T
	in  io.WriteCloser
	out *bufio.Reader
	cmd *exec.Cmd
}

func raw(t *testing.T) *wire {
	t.Helper()
	cmd := server(t)
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	timer := time.AfterFunc(deadline, func() { _ = cmd.Process.Kill() })
	t.Cleanup(func() { timer.Stop() })
	w := &wire{t, in, bufio.NewReader(out), cmd}
	w.send(`{"jsonrpc":"2.0","id":"hello","method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"raw","version":"1"}}}`)
	if m := w.receive(); m["id"] != "hello" {
		t.Fatalf("got %v", m)
	}
	w.send(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	return w
}

func (w *wire) send(line string) {
	w.t.Helper()
	if _, err := io.WriteString(w.in, line+"\n"); err != nil {
		w.t.Fatal(err)
	}
}

func (w *wire) receive() map[string]any {
	w.t.Helper()
	line, err := w.out.ReadBytes('\n')
	if err != nil {
		w.t.Fatalf("%v after %q", err, line)
	}
	var m map[string]any
	if err := json.Unmarshal(line, &m); err != nil {
		w.t.Fatalf("%q: %v", line, err)
	}
	return m
}

const searchCall = `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"session_search","arguments":{"query":"quota ledger"}}}`

// A line that is no message is answered, and the next one as well. The end of
// the input waits for the answer that is under way, and is no failure.
func TestBadLineAndEndOfInput(t *testing.T) {
	w := raw(t)
	w.send(`{"jsonrpc":"2.0","id":`)
	m := w.receive()
	problem, _ := m["error"].(map[string]any)
	if problem["code"] != float64(-32700) {
		t.Errorf("a bad line is answered with %v", m)
	}
	w.send(searchCall)
	if err := w.in.Close(); err != nil {
		t.Fatal(err)
	}
	if m := w.receive(); m["id"] != float64(7) || !strings.Contains(fmt.Sprint(m["result"]), "alpha-compact") {
		t.Errorf("got %v", m)
	}
	if rest, err := io.ReadAll(w.out); err != nil || len(rest) > 0 {
		t.Errorf("then %q, %v", rest, err)
	}
	if err := w.cmd.Wait(); err != nil {
		t.Errorf("the server ends with %v", err)
	}
}

// An interrupt ends the server, index and all, with its own exit code.
func TestInterrupt(t *testing.T) {
	w := raw(t)
	w.send(searchCall)
	w.receive()
	if err := w.cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	var exit *exec.ExitError
	if err := w.cmd.Wait(); !errors.As(err, &exit) || exit.ExitCode() != exitInterrupted {
		t.Errorf("the server ends with %v", err)
	}
}
