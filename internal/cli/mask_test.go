package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/yorehq/yore"
	"github.com/yorehq/yore/authz"
	"github.com/yorehq/yore/internal/mask/masktest"
	"github.com/yorehq/yore/query"
	"github.com/yorehq/yore/session"
	"github.com/yorehq/yore/toolset"
)

const kept = "/srv/code/kept"

// secretive makes a home with one session that holds every credential there is.
func secretive(t *testing.T) (dir, logs string, env []string) {
	t.Helper()
	dir = t.TempDir()
	logs = filepath.Join(dir, "logs")
	folder := filepath.Join(logs, "--srv-code-kept--", "kept-1")
	if err := os.MkdirAll(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(folder, "session.jsonl"), []byte(strings.Join(masktest.Log("kept-1", kept), "\n")+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return dir, logs, append(os.Environ(), "HOME="+dir, "XDG_CACHE_HOME="+dir, "XDG_CONFIG_HOME="+dir, "XDG_STATE_HOME="+dir, "XDG_RUNTIME_DIR="+dir,
		"YORE_ROOTS=dsh="+logs, "YORE_INDEX="+filepath.Join(dir, "index"), "TMPDIR="+dir)
}

// No command prints a piece of a credential, in any of its forms.
func TestNoCommandLeaks(t *testing.T) {
	_, _, env := secretive(t)
	run := func(args ...string) string {
		cmd := exec.Command("yore", append(args, "-w", kept)...)
		cmd.Env = env
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Errorf("%v: %v: %.300s", args, err, out)
		}
		return string(out)
	}
	masked := 0
	check := func(args ...string) {
		out := run(args...)
		if p := masktest.Left(out); p != "" {
			at := strings.Index(out, strings.SplitN(p, ": ", 2)[1])
			t.Errorf("yore %s shows %q: %q", strings.Join(args, " "), p, out[max(0, at-120):min(len(out), at+60)])
		}
		masked += strings.Count(out, ", masked]")
	}
	for _, form := range [][]string{nil, {"--json"}} {
		for _, base := range [][]string{
			{"search", "walnut"}, {"search", "walnut", "behind", "it"}, {"search", "--match", "literal", "walnut"},
			{"events", "kept-1"}, {"events", "kept-1", "walnut"}, {"events", "kept-1", "--text", "walnut"}, {"list"}, {"show", "kept-1"}, {"stats"}, {"trace", "kept-1"}, {"event-trace", "kept-1", "1"},
		} {
			check(append(base, form...)...)
		}
	}
	check("show", "kept-1", "--markdown")
	check("show", "kept-1", "--html")
	check("show", "kept-1", "--text-limit", "60")
	check("trace", "kept-1", "--format", "svg")
	check("trace", "kept-1", "--format", "mermaid")
	check("event-trace", "kept-1", "1", "--format", "svg")
	check("list", "--columns", "session,title,workspace,agent,preset,parent")
	check("__complete", "show", "")
	check("__complete", "search", "--tool", "")
	for seq := 1; seq < 3*len(masktest.All())+3; seq += 9 {
		check("read", "kept-1", fmt.Sprint(seq), "-C", "5")
		check("read", "kept-1", fmt.Sprint(seq), "-C", "5", "--json")
		check("read", "kept-1", fmt.Sprint(seq+1), "--raw")
	}
	// What is looked for is found, and not shown.
	for _, c := range masktest.All()[:6] {
		check("search", "--match", "literal", c.Secret)
	}
	if masked < 300 {
		t.Errorf("only %d marks in all", masked)
	}
}

// The five tools, in process and over standard input and output, with what spills.
func TestNoToolLeaks(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), deadline)
	defer cancel()
	dir, logs, env := secretive(t)
	calls := []struct {
		tool string
		args map[string]any
	}{
		{"session_search", map[string]any{"query": "walnut"}},
		{"session_search", map[string]any{"query": masktest.All()[2].Secret}},
		{"session_event_search", map[string]any{"session_id": "kept-1", "query": "walnut"}},
		{"session_event_search", map[string]any{"session_id": "kept-1", "query": "behind it walnut"}},
		{"session_trace", map[string]any{"session_id": "kept-1"}},
		{"session_event_trace", map[string]any{"session_id": "kept-1", "seq": 1}},
		{"session_event_read", map[string]any{"session_id": "kept-1", "seq": 50, "before": 50, "after": 50}},
	}
	for seq := range 3*len(masktest.All()) + 3 {
		calls = append(calls, struct {
			tool string
			args map[string]any
		}{"session_event_read", map[string]any{"session_id": "kept-1", "seq": seq}})
	}
	h, err := yore.Open(ctx, yore.Options{Sources: []yore.Source{{Agent: session.DSH, Root: logs}}, IndexDir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	masked := 0
	check := func(where, text string) {
		if p := masktest.Left(text); p != "" {
			t.Errorf("%s shows %q: %.1000q", where, p, text)
		}
		masked += strings.Count(text, ", masked]")
	}
	for _, c := range calls {
		out := h.Tools().Call(ctx, toolset.Call{Caller: authz.Caller{Workspace: kept}, Tool: c.tool, Args: encoded(t, c.args)})
		if out.Err != nil {
			t.Errorf("%s %v: %v", c.tool, c.args, out.Err)
		}
		check(fmt.Sprintf("%s %v", c.tool, c.args), out.Text)
		check(fmt.Sprintf("the value of %s %v", c.tool, c.args), fmt.Sprintf("%+v %s", out.Value, natives(out.Value)))
	}
	cmd := exec.Command("yore", "mcp", "--workspace", kept)
	cmd.Env, cmd.Stderr = env, t.Output()
	s, err := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil).Connect(ctx, &mcp.CommandTransport{Command: cmd}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for _, c := range calls {
		text, failed := call(t, ctx, s, c.tool, c.args)
		if failed {
			t.Errorf("%s %v: %s", c.tool, c.args, text)
		}
		check(fmt.Sprintf("over MCP, %s %v", c.tool, c.args), text)
	}
	spilled, err := filepath.Glob(filepath.Join(dir, "yore-results", "*"))
	if err != nil || len(spilled) == 0 {
		t.Errorf("nothing spilled: %v", err)
	}
	for _, name := range spilled {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		check("what spilled", string(text))
	}
	if masked < 300 {
		t.Errorf("only %d marks in all", masked)
	}
}

func encoded(t *testing.T, args map[string]any) []byte {
	t.Helper()
	b, err := json.Marshal(args)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// natives are the bytes of a read, which print as numbers otherwise.
func natives(v any) string {
	if w, ok := v.(query.Window); ok {
		return fmt.Sprintf("%s %+v", w.Event.Native, w.Event.Event.Body)
	}
	return ""
}
