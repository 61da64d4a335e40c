package toolset_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/yorehq/yore"
	"github.com/yorehq/yore/authz"
	"github.com/yorehq/yore/fault"
	"github.com/yorehq/yore/session"
	"github.com/yorehq/yore/toolset"
)

// What has no end is refused with its limit, before any work.
func TestEndlessArguments(t *testing.T) {
	h := openMain(t)
	list := func(n int, value func(int) string) string {
		all := make([]string, n)
		for i := range all {
			all[i] = value(i)
		}
		raw, err := json.Marshal(all)
		if err != nil {
			t.Fatal(err)
		}
		return string(raw)
	}
	id := func(i int) string { return fmt.Sprint("nobody-", i) }
	same := func(text string) func(int) string { return func(int) string { return text } }
	for _, tc := range []struct {
		tool, args string
		code       fault.Code // "": answered
		says       []string
	}{
		{"session_search", `{"query":"walnut","session_ids":` + list(1000, id) + `}`, "", nil},
		{"session_search", `{"query":"walnut","session_ids":` + list(1001, id) + `}`, fault.InvalidFilter, []string{"session_ids", "1001", "1000"}},
		{"session_search", `{"query":"walnut","session_ids":` + list(40000, id) + `}`, fault.InvalidFilter, []string{"session_ids", "40000", "1000"}},
		{"session_search", `{"query":"walnut","parent_session_ids":` + list(1000, id) + `}`, "", nil},
		{"session_search", `{"query":"walnut","parent_session_ids":` + list(40000, id) + `}`, fault.InvalidFilter, []string{"parent_session_ids", "40000", "1000"}},
		{"session_search", `{"query":"walnut","event_types":` + list(1001, id) + `}`, fault.InvalidFilter, []string{"event_types", "1000"}},
		{"session_search", `{"query":"walnut","availability":` + list(1001, same("live")) + `}`, fault.InvalidFilter, []string{"availability", "1000"}},
		{"session_event_search", `{"session_id":"alpha-compact","query":"quota","surfaces":` + list(1001, same("current")) + `}`, fault.InvalidFilter, []string{"surfaces", "1000"}},
		{"session_search", `{"query":"` + strings.Repeat("a ", 32<<10) + `"}`, "", nil},
		{"session_search", `{"query":"` + strings.Repeat("a ", 32<<10) + `a"}`, fault.InvalidQuery, []string{"65537", "65536", "64 KiB"}},
		{"session_event_search", `{"session_id":"alpha-compact","query":"` + strings.Repeat("a", 1<<20) + `"}`, fault.InvalidQuery, []string{"65536"}},
	} {
		o := h.Tools().Call(t.Context(), toolset.Call{Caller: authz.Caller{Workspace: "/srv/code/alpha"}, Tool: tc.tool, Args: json.RawMessage(tc.args)})
		name := tc.tool + " " + tc.args[:min(len(tc.args), 60)]
		if tc.code == "" && o.Err != nil || tc.code != "" && !errors.Is(o.Err, tc.code) {
			t.Errorf("%s: %v, want %q", name, o.Err, tc.code)
			continue
		}
		for _, text := range tc.says {
			if !strings.Contains(o.Err.Error(), text) {
				t.Errorf("%s: %q does not say %s", name, o.Err, text)
			}
		}
	}
}

// The lower of two limits holds, and a deployment may have none.
func TestSearchBytes(t *testing.T) {
	args := json.RawMessage(`{"query":"walnut"}`)
	for _, tc := range []struct{ own, inline, want int }{
		{-1, 0, 0}, {-1, 700, 700}, {700, 0, 700}, {700, 2000, 700}, {2000, 700, 700},
	} {
		h, err := yore.Open(t.Context(), yore.Options{
			Sources:  []yore.Source{{Agent: session.DSH, Root: filepath.Join("..", "testdata", "golden", "corpus", "main")}},
			IndexDir: t.TempDir(), SearchBytes: tc.own,
		})
		if err != nil {
			t.Fatal(err)
		}
		o := h.Tools().Call(t.Context(), toolset.Call{
			Caller: authz.Caller{Workspace: "/srv/code/alpha"}, Tool: "session_search", Args: args, InlineBytes: tc.inline,
		})
		cut := strings.Contains(o.Text, "left out for length")
		if o.Err != nil || cut != (tc.want > 0) || tc.want > 0 && len(o.Text) > tc.want || len(o.Text) < 500 {
			t.Errorf("%+v: %v, %d bytes\n%s", tc, o.Err, len(o.Text), o.Text)
		}
		if err := h.Close(); err != nil {
			t.Error(err)
		}
	}
}
