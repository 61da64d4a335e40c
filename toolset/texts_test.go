package toolset_test

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/yorehq/yore"
	"github.com/yorehq/yore/authz"
	"github.com/yorehq/yore/session"
	"github.com/yorehq/yore/toolset"
)

var update = flag.Bool("update", false, "rewrite generated files; read the difference before committing it")

// compare checks a generated file, or rewrites it.
func compare(t *testing.T, path, got string) {
	t.Helper()
	if *update {
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(got), 0o666); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(got, "\n")); d != "" {
		t.Errorf("%s is not current; run the tests with -update and read the difference\n%s", path, d)
	}
}

// openMain opens the main corpus of the recorded cases with default options.
func openMain(t *testing.T) *yore.History {
	t.Helper()
	h, err := yore.Open(t.Context(), yore.Options{
		Sources:  []yore.Source{{Agent: session.DSH, Root: filepath.Join("..", "testdata", "golden", "corpus", "main")}},
		IndexDir: t.TempDir(),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := h.Close(); err != nil {
			t.Error(err)
		}
	})
	return h
}

// TestTexts shows what a model reads, in the default deployment.
func TestTexts(t *testing.T) {
	h := openMain(t)
	var b strings.Builder
	for _, c := range []struct{ tool, args string }{
		{"session_search", `{"query":"linker"}`},
		{"session_search", `{"query":"walnut"}`},
		{"session_search", `{"query":"linker marble ledger"}`},
		{"session_search", `{"query":"linker marble ledger","match":"literal"}`},
		{"session_search", `{"query":"periwinkle"}`},
		{"session_search", `{"query":"walnut","parent_session_ids":["beta-root","never-was"]}`},
		{"session_search", `{"query":"walnut","created_at_from":"yesterday"}`},
		{"session_search", `{"query":7,"availability":["remote"]}`},
		{"session_event_search", `{"session_id":"alpha-compact","query":"quota ledger"}`},
		{"session_event_search", `{"query":"quota"}`},
		{"session_event_search", `{"session_id":"alpha-compact","query":"zzz"}`},
		{"session_trace", `{"session_id":"alpha-fork-parent"}`},
		{"session_trace", `{"session_id":"alpha-under-beta"}`},
		{"session_trace", `{"session_id":"alpha-cycle-a"}`},
		{"session_trace", `{"session_id":"beta-root"}`},
		{"session_event_trace", `{"session_id":"alpha-compact","seq":14}`},
		{"session_event_trace", `{"session_id":"alpha-compact","seq":999}`},
		{"session_event_read", `{"session_id":"alpha-prune","seq":6,"before":2,"after":2}`},
		{"session_event_read", `{"session_id":"alpha-prune","seq":6,"before":51}`},
		{"session_event_read", `{"session_id":"alpha-torn-turn","seq":5}`},
		{"session_event_read", `{"session_id":"alpha-prune","seq":-1}`},
	} {
		o := h.Tools().Call(t.Context(), toolset.Call{Caller: authz.Caller{Workspace: "/srv/code/alpha"}, Tool: c.tool, Args: json.RawMessage(c.args)})
		text := o.Text
		if o.Err != nil {
			text = o.Err.Error()
		}
		fmt.Fprintf(&b, "-- %s %s --\n%s\n", c.tool, c.args, text)
	}
	for _, c := range []struct {
		who    string
		caller authz.Caller
		tool   string
	}{
		{"nobody", authz.Caller{}, "session_search"},
		{"nobody", authz.Caller{}, "session_trace"},
		{"a session without a workspace", authz.Caller{Session: &session.Key{Agent: session.DSH, ID: "nocwd-one"}}, "session_search"},
		{"a session that is not there", authz.Caller{Workspace: "/srv/code/alpha", Session: &session.Key{Agent: session.DSH, ID: "new"}}, "session_trace"},
	} {
		o := h.Tools().Call(t.Context(), toolset.Call{Caller: c.caller, Tool: c.tool, Args: json.RawMessage(`{"query":"x"}`)})
		fmt.Fprintf(&b, "-- %s called by %s --\n%v\n", c.tool, c.who, o.Err)
	}
	compare(t, filepath.Join("testdata", "texts.txtar"), b.String())
}

// A missing, a guessed and a foreign target cannot be told apart.
func TestMissingAndForbiddenAreOne(t *testing.T) {
	h := openMain(t)
	for _, tool := range []string{"session_event_search", "session_trace", "session_event_trace", "session_event_read"} {
		answers := map[string]bool{}
		for _, id := range []string{"beta-root", "never-was", "", "dsh:beta-root", "dsh:never-was", "nocwd-one"} {
			args, err := json.Marshal(map[string]any{"session_id": id, "query": "rudder", "seq": 1})
			if err != nil {
				t.Fatal(err)
			}
			o := h.Tools().Call(t.Context(), toolset.Call{Caller: authz.Caller{Workspace: "/srv/code/alpha"}, Tool: tool, Args: args})
			answers[fmt.Sprint(o.Err, o.Text, o.Value)] = true
		}
		if len(answers) != 1 {
			t.Errorf("%s tells them apart: %v", tool, answers)
		}
	}
	// Nor by the parents they are asked for.
	answers := map[string]bool{}
	for _, id := range []string{"beta-root", "never-was"} {
		args := json.RawMessage(`{"query":"walnut","parent_session_ids":["` + id + `"]}`)
		o := h.Tools().Call(t.Context(), toolset.Call{Caller: authz.Caller{Workspace: "/srv/code/alpha"}, Tool: "session_search", Args: args})
		answers[fmt.Sprint(o.Err, o.Text)] = true
	}
	if len(answers) != 1 {
		t.Errorf("parents are told apart: %v", answers)
	}
}

// A caller's budget and progress reach a search.
func TestSearchObeysTheCall(t *testing.T) {
	h := openMain(t)
	told := 0
	call := toolset.Call{
		Caller: authz.Caller{Workspace: "/srv/code/alpha"}, Tool: "session_search", Args: json.RawMessage(`{"query":"walnut"}`),
		Progress: func(done, total int) {
			told++
			if done < 0 || done > total {
				t.Errorf("%d of %d done", done, total)
			}
		},
	}
	whole := h.Tools().Call(t.Context(), call)
	if whole.Err != nil || told == 0 {
		t.Fatalf("%v, progress told %d times", whole.Err, told)
	}
	call.InlineBytes = len(whole.Text) - 1
	short := h.Tools().Call(t.Context(), call)
	if short.Err != nil || len(short.Text) > call.InlineBytes || !strings.Contains(short.Text, "left out for length") {
		t.Errorf("budget of %d bytes: %v\n%s", call.InlineBytes, short.Err, short.Text)
	}
	if d := cmp.Diff(len(whole.Value.(*toolset.SessionsResult).Hits), len(short.Value.(*toolset.SessionsResult).Hits)); d != "" {
		t.Errorf("the budget is rendering's, the facts are not cut: %s", d)
	}
}

// An owner without a workspace searches everything; a model never is one.
type ownerViews struct{ h *yore.History }

func (o ownerViews) View(context.Context, authz.Caller) (*authz.View, error) { return o.h.OwnerView() }

func TestOwner(t *testing.T) {
	set, err := toolset.New(ownerViews{openMain(t)}, toolset.Options{})
	if err != nil {
		t.Fatal(err)
	}
	o := set.Call(t.Context(), toolset.Call{Tool: "session_search", Args: json.RawMessage(`{"query":"walnut","match":"literal"}`)})
	if o.Err != nil {
		t.Fatal(o.Err)
	}
	workspaces := map[string]bool{}
	for _, h := range o.Value.(*toolset.SessionsResult).Hits {
		workspaces[h.Info.Header.Cwd] = true
	}
	if !workspaces["/srv/code/alpha"] || !workspaces["/srv/code/beta"] {
		t.Errorf("the owner finds %v", workspaces)
	}
}
