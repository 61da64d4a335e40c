package yore_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/yorehq/yore"
	"github.com/yorehq/yore/authz"
	"github.com/yorehq/yore/query"
	"github.com/yorehq/yore/session"
)

// plantTree writes a session of OpenCode as files, in which a person asked one
// thing; all of it was written at a time.
func plantTree(t *testing.T, root, id, asked string, at time.Time) {
	t.Helper()
	for path, text := range map[string]string{
		"storage/session/p/" + id + ".json":                 fmt.Sprintf(`{"id":%q,"projectID":"p","directory":"/w","title":"T","version":"1.1.65","time":{"created":1760000000000,"updated":1760000000000}}`, id),
		"storage/message/" + id + "/msg_1" + id + ".json":   fmt.Sprintf(`{"id":%q,"sessionID":%q,"role":"user","time":{"created":1760000000000}}`, "msg_1"+id, id),
		"storage/part/msg_1" + id + "/prt_1" + id + ".json": fmt.Sprintf(`{"id":%q,"messageID":%q,"sessionID":%q,"type":"text","text":%q}`, "prt_1"+id, "msg_1"+id, id, asked),
	} {
		path = filepath.Join(root, filepath.FromSlash(path))
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		for _, p := range []string{path, filepath.Dir(path)} {
			if err := os.Chtimes(p, at, at); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// A look at sessions of OpenCode that are files costs a stat for each that is at
// rest, and reads the one that has changed.
func TestOpenCodeTreeCosts(t *testing.T) {
	root, long := t.TempDir(), time.Now().Add(-48*time.Hour)
	const sessions = 60
	for i := range sessions {
		plantTree(t, root, fmt.Sprintf("ses_%02d", i), fmt.Sprintf("the medlar plan %d", i), long)
	}
	h, err := yore.Open(t.Context(), yore.Options{Sources: []yore.Source{{Agent: session.OpenCode, Root: root}}, IndexDir: filepath.Join(t.TempDir(), "index")})
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	find := func(words string) int {
		t.Helper()
		view, err := h.View(t.Context(), authz.Caller{Workspace: "/w"})
		if err != nil {
			t.Fatal(err)
		}
		page, err := view.SearchSessions(t.Context(), query.SessionSearch{Query: words, Limit: 100})
		if err != nil {
			t.Fatal(err)
		}
		return len(page.Hits)
	}
	if n := find("medlar"); n != sessions {
		t.Fatalf("%d sessions are found, want %d", n, sessions)
	}
	before := h.Work()
	find("medlar")
	after := h.Work()
	if files := after.Files - before.Files; after.Bytes != before.Bytes || after.Identified != before.Identified || files != sessions {
		t.Errorf("a look at what is at rest: %+v, and before %+v", after, before)
	}
	plantTree(t, root, "ses_07", "the quince instead", time.Now().Add(-time.Minute))
	if n := find("quince"); n != 1 {
		t.Errorf("what was written is found %d times", n)
	}
	if bytes := h.Work().Bytes - after.Bytes; bytes == 0 || bytes > 1000 {
		t.Errorf("one session of %d was written and %d bytes were read", sessions, bytes)
	}
}

// A session that the database took over is one session, as the database has it.
func TestOpenCodeTreeBesideTheDatabase(t *testing.T) {
	root := t.TempDir()
	text, err := os.ReadFile("testdata/opencode/opencode.db")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(root, "opencode.db"), text, 0o600); err != nil {
		t.Fatal(err)
	}
	const id = "ses_dd4549265ffeG57T7fF3fCVbWt"
	long := time.Now().Add(-48 * time.Hour)
	plantTree(t, root, id, "an older quince", long)
	plantTree(t, root, "ses_alone", "the medlar alone", long)
	for _, path := range []string{"storage/session/p/" + id + ".json", "storage/session/p/ses_alone.json"} {
		path = filepath.Join(root, path)
		file, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(strings.Replace(string(file), `"/w"`, `"/home/dev/proj"`, 1)), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	h, err := yore.Open(t.Context(), yore.Options{Sources: []yore.Source{{Agent: session.OpenCode, Root: root}}, IndexDir: filepath.Join(t.TempDir(), "index")})
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	for words, want := range map[string]int{"quince": 0, "medlar": 1, "greeting": 1} {
		view, err := h.View(t.Context(), authz.Caller{Workspace: "/home/dev/proj"})
		if err != nil {
			t.Fatal(err)
		}
		page, err := view.SearchSessions(t.Context(), query.SessionSearch{Query: words, Limit: 100})
		if err != nil {
			t.Fatal(err)
		}
		if len(page.Hits) != want {
			t.Errorf("%s is found in %d sessions, want %d: %+v", words, len(page.Hits), want, page.Hits)
		}
	}
}
