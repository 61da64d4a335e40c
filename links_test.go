package yore_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/yorehq/yore"
	"github.com/yorehq/yore/session"
)

// Below a root links lead nowhere, whatever the format: neither a log nor a
// database nor a folder of them that lies elsewhere is read (decision 4). The root
// itself may be one.
func TestLinksAreNotFollowed(t *testing.T) {
	for agent, root := range map[session.Agent]string{
		session.DSH: "testdata/dsh/sessions", session.Claude: "testdata/claude/projects", session.Codex: "testdata/codex",
		session.Gemini: "testdata/gemini", session.Qwen: "testdata/qwen", session.OpenCode: "testdata/opencode",
	} {
		t.Run(string(agent), func(t *testing.T) {
			outside := filepath.Join(t.TempDir(), "outside")
			if err := os.CopyFS(outside, os.DirFS(root)); err != nil {
				t.Fatal(err)
			}
			dir := t.TempDir()
			whole, files, folders := filepath.Join(dir, "whole"), filepath.Join(dir, "files"), filepath.Join(dir, "folders")
			link := func(from, to string) {
				t.Helper()
				if err := os.Symlink(from, to); err != nil {
					t.Skip(err) // a system that lets few people make links
				}
			}
			link(outside, whole)
			if err := filepath.WalkDir(outside, func(path string, d fs.DirEntry, err error) error {
				rel, _ := filepath.Rel(outside, path)
				if err == nil && d.IsDir() {
					err = os.MkdirAll(filepath.Join(files, rel), 0o700)
				} else if err == nil {
					link(path, filepath.Join(files, rel))
				}
				return err
			}); err != nil {
				t.Fatal(err)
			}
			if err := os.MkdirAll(folders, 0o700); err != nil {
				t.Fatal(err)
			}
			entries, err := os.ReadDir(outside)
			if err != nil {
				t.Fatal(err)
			}
			for _, e := range entries {
				link(filepath.Join(outside, e.Name()), filepath.Join(folders, e.Name()))
			}
			known := func(root string) int {
				t.Helper()
				h, err := yore.Open(t.Context(), yore.Options{Sources: []yore.Source{{Agent: agent, Root: root}}, IndexDir: t.TempDir()})
				if err != nil {
					t.Fatal(err)
				}
				defer h.Close()
				if _, err := h.Refresh(t.Context(), session.Scope{}, nil); err != nil {
					t.Fatal(err)
				}
				view, err := h.OwnerView()
				if err != nil {
					t.Fatal(err)
				}
				workspaces, err := view.Workspaces(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				return len(workspaces)
			}
			if n := known(whole); n == 0 {
				t.Error("a root that is a link has no sessions: this test tests nothing")
			}
			for what, root := range map[string]string{"links to files": files, "links to folders": folders} {
				if n := known(root); n != 0 {
					t.Errorf("sessions of %d workspaces are read through %s", n, what)
				}
			}
		})
	}
}
