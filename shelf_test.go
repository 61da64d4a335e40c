package yore_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/yorehq/yore"
	"github.com/yorehq/yore/authz"
	"github.com/yorehq/yore/query"
	"github.com/yorehq/yore/session"
)

// The sessions of an agent's database, as a caller in their workspace finds
// them: a fork that names no parent is its origin's child, what it took over is
// found once, and the database's folder stays as it was.
func TestHistoryOfADatabase(t *testing.T) {
	root := t.TempDir()
	text, err := os.ReadFile("testdata/opencode/opencode-driven.db")
	if err == nil {
		err = os.WriteFile(filepath.Join(root, "opencode.db"), text, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	for name, source := range map[string]string{"a folder": root, "the database itself": filepath.Join(root, "opencode.db")} {
		t.Run(name, func(t *testing.T) {
			h, err := yore.Open(t.Context(), yore.Options{
				Sources: []yore.Source{{Agent: session.OpenCode, Root: source}}, IndexDir: filepath.Join(t.TempDir(), "index"),
			})
			if err != nil {
				t.Fatal(err)
			}
			defer h.Close()
			view, err := h.View(t.Context(), authz.Caller{Workspace: "/home/dev/proj"})
			if err != nil {
				t.Fatal(err)
			}
			found := func(words string) []string {
				page, err := view.SearchSessions(t.Context(), query.SessionSearch{Query: words, Limit: 10})
				if err != nil {
					t.Fatal(err)
				}
				var ids []string
				for _, hit := range page.Hits {
					ids = append(ids, string(hit.Info.Header.ID)+" < "+string(hit.Info.Header.ParentSession))
				}
				return ids
			}
			const origin, fork, killed = "ses_dd27237a6ffenNOnOEA2Okc5Lp", "ses_dd26defa0ffeTksFPt2CEtKTqG", "ses_dd26c4b4affesuiOcaTyytSwSh"
			for words, want := range map[string][]string{
				"hello wombat": {origin + " < "}, "numbat": {fork + " < " + origin}, "bilby": {origin + " < "}, "wallaby": {killed + " < "},
			} {
				if diff := cmp.Diff(want, found(words)); diff != "" {
					t.Errorf("%s (-want +got):\n%s", words, diff)
				}
			}
			health, err := h.Health(t.Context(), yore.Logs, nil)
			if err != nil || len(health.Problems) != 0 || health.Roots[0].Sound != 3 || health.Roots[0].Files != 1 {
				t.Errorf("%+v, %v", health, err)
			}
			if entries, err := os.ReadDir(root); err != nil || len(entries) != 1 {
				t.Errorf("the database's folder holds %v, %v", entries, err)
			}
		})
	}
}
