package yore_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/yorehq/yore"
	"github.com/yorehq/yore/authz"
	"github.com/yorehq/yore/query"
	"github.com/yorehq/yore/session"
	"github.com/yorehq/yore/toolset"
)

// A session of Pi that was forked into another folder is that folder's, with what
// it took over; its origin is not, and nothing that is said there names it. The
// origin's folder learns nothing of the fork.
func TestForkIntoAnotherFolder(t *testing.T) {
	const origin, fork = "0190a000-0000-7000-8000-00000000000a", "0190b000-0000-7000-8000-00000000000b"
	root := t.TempDir()
	lines := func(header string, texts ...string) string {
		list := []string{header}
		for i, text := range texts {
			parent := `null`
			if i > 0 {
				parent = `"0000000` + string(rune('0'+i-1)) + `"`
			}
			at := "2026-01-01T09:00:0" + string(rune('1'+i)) + "Z"
			if strings.HasPrefix(text, "own") {
				at = "2026-01-02T09:00:01Z"
			}
			list = append(list, `{"type":"message","id":"0000000`+string(rune('0'+i))+`","parentId":`+parent+`,"timestamp":"`+at+`","message":{"role":"user","content":"`+text+`"}}`)
		}
		return strings.Join(list, "\n") + "\n"
	}
	path := func(cwd, stamp, id string) string { return filepath.Join(root, cwd, stamp+"_"+id+".jsonl") }
	first := path("--srv-a--", "2026-01-01T09-00-00-000Z", origin)
	for file, text := range map[string]string{
		first: lines(`{"type":"session","version":3,"id":"`+origin+`","timestamp":"2026-01-01T09:00:00Z","cwd":"/srv/a"}`, "the medlar plan", "private later quince"),
		path("--srv-b--", "2026-01-02T09-00-00-000Z", fork): lines(`{"type":"session","version":3,"id":"`+fork+`","timestamp":"2026-01-02T09:00:00Z","cwd":"/srv/b","parentSession":"`+first+`"}`,
			"the medlar plan", "own sorb"),
	} {
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	h, err := yore.Open(t.Context(), yore.Options{Sources: []yore.Source{{Agent: session.Pi, Root: root}}, IndexDir: filepath.Join(t.TempDir(), "index")})
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	for workspace, c := range map[string]struct {
		own, other, folder string
		found              map[string]int
	}{
		"/srv/a": {origin, fork, "/srv/b", map[string]int{"medlar": 1, "quince": 1, "sorb": 0}},
		"/srv/b": {fork, origin, "/srv/a", map[string]int{"medlar": 1, "quince": 0, "sorb": 1}},
	} {
		view, err := h.View(t.Context(), authz.Caller{Workspace: workspace})
		if err != nil {
			t.Fatal(err)
		}
		for words, want := range c.found {
			page, err := view.SearchSessions(t.Context(), query.SessionSearch{Query: words, Limit: 10})
			if err != nil {
				t.Fatal(err)
			}
			if len(page.Hits) != want {
				t.Errorf("%s: %s is found %d times, want %d", workspace, words, len(page.Hits), want)
			}
		}
		grant, err := view.Target(t.Context(), &c.own)
		if err != nil {
			t.Fatal(err)
		}
		lineage, err := grant.Trace(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(workspace == "/srv/b", lineage.Boundary); diff != "" || len(lineage.Ancestors) != 0 {
			t.Errorf("%s: %+v", workspace, lineage)
		}
		if _, err := view.Target(t.Context(), &c.other); err == nil {
			t.Errorf("%s: the other session is open", workspace)
		}
		for tool, args := range map[string]string{
			"session_search": `{"query":"medlar"}`, "session_event_search": `{"query":"medlar","session_id":"` + c.own + `"}`, "session_trace": `{"session_id":"` + c.own + `"}`,
			"session_event_trace": `{"session_id":"` + c.own + `","seq":0}`, "session_event_read": `{"session_id":"` + c.own + `","seq":0}`,
		} {
			out := h.Tools().Call(t.Context(), toolset.Call{Caller: authz.Caller{Workspace: workspace}, Tool: tool, Args: json.RawMessage(args)})
			if out.Err != nil {
				t.Errorf("%s: %v", tool, out.Err)
			}
			if strings.Contains(out.Text, c.other) || strings.Contains(out.Text, c.folder) {
				t.Errorf("%s in %s names the other session:\n%s", tool, workspace, out.Text)
			}
		}
	}
}
