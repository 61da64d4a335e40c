package dsh

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The layers of the agent's composition say where sessions are; what they compute,
// what is relative and what belongs to other rows does not.
func TestPatchedRoots(t *testing.T) {
	home := t.TempDir()
	for path, text := range map[string]string{
		"cordis.patch.yml": `
- insert:
    - id: other
      name: '@acme/other'
      config: {path: /srv/other.db, root: /srv/other}
    - name: '@deepseek-ai/dsh-session-persistence-sqlite'
      config:
        path: /srv/dsh/all.db
- update:
    id: session-persistence-jsonl
    config: {root: "/srv/dsh/sessions/"}
`,
		"profiles/web/cordis.patch.yml":   "- insert:\n  - {name: session-persistence-sqlite, config: {path: ./here.db}}\n  - {name: session-persistence-sqlite, config: {path: !expr '/srv/x'}}\n  - {name: session-persistence-sqlite, config: {path: /srv/dsh/all.db}}\n",
		"profiles/tui/cordis.patch.yml":   "- {name: session-persistence-sqlite, config: {path: /srv/tui.db}}\n",
		"profiles/torn/cordis.patch.yml":  "- [",
		"profiles/plain/cordis.patch.yml": "just text",
	} {
		file := filepath.Join(home, filepath.FromSlash(path))
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if filepath.Separator != '/' {
		t.Log("not run: the layers name paths as POSIX systems do")
		return
	}
	want := []string{filepath.Join(home, "sessions"), "/srv/dsh/all.db", "/srv/dsh/sessions", "/srv/tui.db"}
	got := New().DefaultRoots(func(string) string { return home }, "/nowhere")
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
