package yore_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/ncruces/go-sqlite3"

	"github.com/yorehq/yore"
	"github.com/yorehq/yore/authz"
	"github.com/yorehq/yore/query"
	"github.com/yorehq/yore/session"
)

// A session that Cursor's editor keeps in its database, and of which its agent left
// a transcript too, is one session, with the result that only the database has.
// When the database goes, the transcript is what there is.
func TestCursorKeepsASessionTwice(t *testing.T) {
	home := t.TempDir()
	agent, editor := filepath.Join(home, ".cursor"), filepath.Join(home, ".config", "Cursor", "User")
	write := func(text string, name ...string) {
		path := filepath.Join(name...)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(`{"role":"user","message":{"content":[{"type":"text","text":"where is the wombat"}]}}`+"\n", agent, "projects", "home-dev-proj", "agent-transcripts", "id1", "id1.jsonl")
	write(`{"folder":"file:///home/dev/proj"}`, editor, "workspaceStorage", "w", "workspace.json")
	store := filepath.Join(editor, "globalStorage", "state.vscdb")
	write("", store)
	c, err := sqlite3.Open(store)
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Exec(`CREATE TABLE cursorDiskKV (key TEXT UNIQUE ON CONFLICT REPLACE, value BLOB);
		INSERT INTO cursorDiskKV VALUES ('composerData:id1', '{"createdAt":1796000000000,"workspaceIdentifier":{"id":"w"},"name":"Wombats","status":"completed",
			"fullConversationHeadersOnly":[{"bubbleId":"a"},{"bubbleId":"b"}]}'),
		('bubbleId:id1:a', '{"type":1,"text":"where is the wombat"}'),
		('bubbleId:id1:b', '{"type":2,"toolFormerData":{"name":"grep","rawArgs":"{}","result":"in the burrow","status":"completed"}}')`); err != nil {
		t.Fatal(err)
	}
	c.Close()
	h, err := yore.Open(t.Context(), yore.Options{
		Sources:  []yore.Source{{Agent: session.Cursor, Root: agent}, {Agent: session.Cursor, Root: editor}},
		IndexDir: filepath.Join(t.TempDir(), "index"),
	})
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	view, err := h.View(t.Context(), authz.Caller{Workspace: "/home/dev/proj"})
	if err != nil {
		t.Fatal(err)
	}
	expect := func(what, words string, want int) {
		t.Helper()
		page, err := view.SearchSessions(t.Context(), query.SessionSearch{Query: words, Limit: 10})
		if err != nil || len(page.Hits) != want {
			t.Errorf("%s: %d sessions, %v; want %d", what, len(page.Hits), err, want)
		}
	}
	expect("the prompt", "wombat", 1)
	expect("the result", "burrow", 1)
	id := "id1"
	one, err := view.Target(t.Context(), &id)
	if err != nil {
		t.Fatal(err)
	}
	if w, err := one.Read(t.Context(), 0, 0, 5); err != nil || w.Info.Title != "Wombats" {
		t.Errorf("an exact read: %+v, %v", w, err)
	}
	if l, err := one.Events(t.Context(), query.EventFilter{}, 10, ""); err != nil || len(l.Entries) < 2 {
		t.Errorf("its events: %+v, %v", l, err)
	}
	if _, err := one.Trace(t.Context()); err != nil {
		t.Errorf("its trace: %v", err)
	}
	if _, err := one.TraceEvent(t.Context(), 0); err != nil {
		t.Errorf("what an event is related to: %v", err)
	}
	health, err := h.Health(t.Context(), yore.Logs, nil)
	if err != nil || len(health.Problems) != 0 || health.Roots[0].Sound != 0 || health.Roots[1].Sound != 1 {
		t.Errorf("%+v, %v", health, err)
	}
	if entries, err := os.ReadDir(filepath.Dir(store)); err != nil || len(entries) != 1 {
		t.Errorf("the database's folder holds %v, %v", entries, err)
	}
	if err := os.Remove(store); err != nil {
		t.Fatal(err)
	}
	expect("the prompt, of the transcript", "wombat", 1)
	expect("the result, which is gone", "burrow", 0)
}
