package yore_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/yorehq/yore"
	"github.com/yorehq/yore/authz"
	"github.com/yorehq/yore/session"
	"github.com/yorehq/yore/toolset"
)

// Callers of one history at the same time, while a log grows, live sessions speak,
// others are forgotten and what they left is tidied away: nobody gets another
// answer than alone, and the race detector finds nothing (tools/race).
func TestCallersAtOnce(t *testing.T) {
	root, dir := t.TempDir(), t.TempDir()
	path := writeLog(t, root, "grows", "heron 0")
	for i := range 4 {
		writeLog(t, root, fmt.Sprint("goes-", i), "the curlew")
	}
	h, err := yore.Open(t.Context(), yore.Options{
		Sources: []yore.Source{{Agent: session.DSH, Root: root}}, IndexDir: filepath.Join(dir, "index"), ForgetFile: filepath.Join(dir, "forgotten"),
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var callers, others sync.WaitGroup
	const rounds = 12
	caller := authz.Caller{Workspace: childWorkspace}
	call := func(tool string, args map[string]any) toolset.Outcome {
		raw, err := json.Marshal(args)
		if err != nil {
			t.Error(err)
		}
		return h.Tools().Call(t.Context(), toolset.Call{Caller: caller, Tool: tool, Args: raw})
	}
	for range 4 {
		callers.Go(func() {
			for n := range rounds {
				for tool, args := range map[string]map[string]any{
					"session_search":       {"query": "heron"},
					"session_event_search": {"session_id": "grows", "query": "heron"},
					"session_event_read":   {"session_id": "grows", "seq": 0},
					"session_trace":        {"session_id": "grows"},
					"session_event_trace":  {"session_id": "grows", "seq": 0},
				} {
					if o := call(tool, args); o.Err != nil || !strings.Contains(o.Text, "grows") && !strings.Contains(o.Text, "heron") {
						t.Errorf("round %d: %s: %v %s", n, tool, o.Err, o.Text)
					}
				}
			}
		})
	}
	others.Go(func() { // an agent
		f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0)
		if err != nil {
			t.Error(err)
			return
		}
		defer f.Close()
		for n := 1; n < 200 && ctx.Err() == nil; n++ {
			if _, err := f.WriteString(userLine(n, fmt.Sprint("heron ", n))); err != nil {
				t.Error(err)
			}
		}
	})
	others.Go(func() { // a host's own session
		l, err := h.Register(session.Header{ID: "live", Cwd: childWorkspace, CreatedAt: 1})
		if err != nil {
			t.Error(err)
			return
		}
		for n := range 50 {
			if err := l.Append([]byte(strings.TrimSuffix(userLine(n, "a live heron"), "\n"))); err != nil {
				t.Error(err)
			}
		}
	})
	others.Go(func() { // their owner
		for i := range 4 {
			if _, err := h.Forget(t.Context(), []session.Key{{Agent: session.DSH, ID: session.ID(fmt.Sprint("goes-", i))}}); err != nil {
				t.Error(err)
			}
			if err := h.Tidy(t.Context()); err != nil {
				t.Error(err)
			}
			if _, err := h.Health(t.Context(), yore.Headers, nil); err != nil {
				t.Error(err)
			}
		}
	})
	callers.Wait()
	stop()
	others.Wait()
	if o := call("session_search", map[string]any{"query": "curlew"}); o.Err != nil || strings.Contains(o.Text, "goes-") {
		t.Errorf("forgotten sessions are found: %v %s", o.Err, o.Text)
	}
	if o := call("session_search", map[string]any{"query": "live heron"}); o.Err != nil || !strings.Contains(o.Text, "live") {
		t.Errorf("the live session is not found: %v %s", o.Err, o.Text)
	}
	if err := h.Close(); err != nil {
		t.Error(err)
	}
}
