package yore_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ncruces/go-sqlite3"

	"github.com/yorehq/yore"
	"github.com/yorehq/yore/authz"
	"github.com/yorehq/yore/query"
	"github.com/yorehq/yore/session"
)

// shelf is a database in which an agent keeps two sessions in one workspace: both
// speak of a wombat, and one that is to go, alone, of a zqgonezq.
type shelf struct {
	agent        session.Agent
	workspace    string
	goes, stays  session.ID
	make, growth string // SQL; what goes grows by the second
	file         string // below the root; one that is there is copied from testdata
}

var shelves = []shelf{{
	agent: session.DSH, workspace: "/srv/shelf", goes: "gone", stays: "kept", file: "store.sqlite",
	make: `PRAGMA application_id = 1146308688; PRAGMA user_version = 17;
		CREATE TABLE persistence_state (singleton INTEGER PRIMARY KEY CHECK (singleton = 1), store_id TEXT NOT NULL) STRICT;
		CREATE TABLE sessions (id TEXT PRIMARY KEY, version INTEGER NOT NULL, created_at INTEGER NOT NULL, cwd TEXT, parent_session TEXT,
			seed_length INTEGER, origin TEXT, delegation_depth INTEGER, agent_preset TEXT, incarnation TEXT NOT NULL, revision INTEGER NOT NULL) STRICT;
		CREATE TABLE events (session_id TEXT NOT NULL, seq INTEGER NOT NULL, type TEXT NOT NULL, time INTEGER NOT NULL, data ANY NOT NULL,
			source_event_seqs ANY, surface_op TEXT, ignorable INTEGER, PRIMARY KEY (session_id, seq)) STRICT;
		INSERT INTO persistence_state VALUES (1, '6f1c2f5e-7f5e-4b8e-9a63-0d4c0a8a2f11');
		INSERT INTO sessions VALUES ('gone', 0, 1790000000000, '/srv/shelf', NULL, NULL, NULL, 0, NULL, 'a', 1), ('kept', 0, 1790000000001, '/srv/shelf', NULL, NULL, NULL, 0, NULL, 'b', 1);
		INSERT INTO events VALUES ('gone', 0, 'user/message', 1790000000002, '{"id":"u0","role":"user","content":[{"type":"text","text":"a wombat and a zqgonezq"}],"source":{"kind":"user"}}', NULL, '"append"', NULL),
			('kept', 0, 'user/message', 1790000000003, '{"id":"u1","role":"user","content":[{"type":"text","text":"a wombat alone"}],"source":{"kind":"user"}}', NULL, '"append"', NULL);`,
	growth: `INSERT INTO events VALUES ('gone', 1, 'user/message', 1790000000004, '{"id":"u2","role":"user","content":[{"type":"text","text":"zqgonezq goes on"}],"source":{"kind":"user"}}', NULL, '"append"', NULL);
		UPDATE sessions SET revision = 2 WHERE id = 'gone';`,
}, {
	agent: session.Cursor, workspace: "/home/dev/proj", goes: "gone", stays: "kept", file: "globalStorage/state.vscdb",
	make: `CREATE TABLE cursorDiskKV (key TEXT UNIQUE ON CONFLICT REPLACE, value BLOB);
		INSERT INTO cursorDiskKV VALUES
			('composerData:gone', '{"createdAt":1796000000000,"workspaceIdentifier":{"id":"w"},"name":"Of a zqgonezq","status":"completed","fullConversationHeadersOnly":[{"bubbleId":"a"}]}'),
			('bubbleId:gone:a', '{"type":1,"text":"a wombat and a zqgonezq"}'), ('bubbleId:gone:b', '{"type":1,"text":"zqgonezq goes on"}'),
			('composerData:kept', '{"createdAt":1796000000001,"workspaceIdentifier":{"id":"w"},"name":"Kept","status":"completed","fullConversationHeadersOnly":[{"bubbleId":"a"}]}'),
			('bubbleId:kept:a', '{"type":1,"text":"a wombat alone"}');`,
	growth: `UPDATE cursorDiskKV SET value = replace(value, '{"bubbleId":"a"}', '{"bubbleId":"a"},{"bubbleId":"b"}') WHERE key = 'composerData:gone'`,
}, {
	agent: session.OpenCode, workspace: "/home/dev/proj", goes: "ses_dd27237a6ffenNOnOEA2Okc5Lp", stays: "ses_dd26defa0ffeTksFPt2CEtKTqG", file: "opencode-driven.db",
	make:   `UPDATE part SET data = replace(data, 'The wombat said', 'The wombat and the zqgonezq said') WHERE session_id = 'ses_dd27237a6ffenNOnOEA2Okc5Lp'`,
	growth: `UPDATE part SET data = replace(data, 'I look around', 'I look around for the zqgonezq') WHERE session_id = 'ses_dd27237a6ffenNOnOEA2Okc5Lp'; UPDATE session SET time_updated = time_updated + 1000`,
}}

func (s *shelf) change(t *testing.T, path, sql string) {
	t.Helper()
	c, err := sqlite3.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(c.Exec(sql), c.Close()); err != nil {
		t.Fatal(err)
	}
}

// root makes the agent's folder.
func (s *shelf) root(t *testing.T) (root, path string) {
	t.Helper()
	root = t.TempDir()
	path = filepath.Join(root, s.file)
	content, err := os.ReadFile(filepath.Join("testdata", "opencode", s.file))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	if err != nil {
		content = nil // an empty file becomes a database
	}
	w := filepath.Join(root, "workspaceStorage", "w", "workspace.json")
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, content, 0o600), os.MkdirAll(filepath.Dir(w), 0o700),
		os.WriteFile(w, []byte(`{"folder":"file:///home/dev/proj"}`), 0o600)); err != nil {
		t.Fatal(err)
	}
	s.change(t, path, s.make)
	return root, path
}

// TestForgetInADatabase forgets one of the sessions that an agent keeps in one
// database: no byte of it is left in a file of ours, also when it goes on or the
// index is made anew, and the others of the database stay. The database is as it was.
func TestForgetInADatabase(t *testing.T) {
	for _, s := range shelves {
		t.Run(string(s.agent), func(t *testing.T) {
			root, path := s.root(t)
			state := t.TempDir()
			index, list := filepath.Join(state, "index"), filepath.Join(state, "config", "forgotten")
			open := func() *yore.History {
				t.Helper()
				h, err := yore.Open(t.Context(), yore.Options{Sources: []yore.Source{{Agent: s.agent, Root: root}}, IndexDir: index, ForgetFile: list})
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() { h.Close() })
				return h
			}
			found := func(h *yore.History, word string) (ids []string) {
				t.Helper()
				view, err := h.View(t.Context(), authz.Caller{Workspace: s.workspace})
				if err != nil {
					t.Fatal(err)
				}
				page, err := view.SearchSessions(t.Context(), query.SessionSearch{Query: word, Limit: 10, Match: query.Literal})
				if err != nil {
					t.Fatal(err)
				}
				for _, hit := range page.Hits {
					ids = append(ids, string(hit.Info.Header.ID))
				}
				return ids
			}
			h := open()
			if got := found(h, "zqgonezq"); len(got) != 1 || got[0] != string(s.goes) || holding(t, state, "zqgonezq") == nil {
				t.Fatalf("to begin with it is found in %v, and in the files %v", got, holding(t, state, "zqgonezq"))
			}
			before, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if done, err := h.Forget(t.Context(), []session.Key{{Agent: s.agent, ID: s.goes}}); !done || err != nil {
				t.Fatalf("Forget = %v, %v", done, err)
			}
			gone := func(when string, h *yore.History) {
				t.Helper()
				if got := found(h, "zqgonezq"); got != nil {
					t.Errorf("%s: it is found in %v", when, got)
				}
				if got := strings.Join(found(h, "wombat"), " "); !strings.Contains(got, string(s.stays)) || strings.Contains(got, string(s.goes)) {
					t.Errorf("%s: the rest is %q", when, got)
				}
				if err := h.Tidy(t.Context()); err != nil {
					t.Error(err)
				}
				if names := holding(t, state, "zqgonezq"); names != nil {
					t.Errorf("%s: it is in %v", when, names)
				}
			}
			gone("forgotten", h)
			if after, err := os.ReadFile(path); err != nil || string(after) != string(before) {
				t.Errorf("the agent's database was written to, %v", err)
			}
			s.change(t, path, s.growth)
			gone("gone on", h)
			if err := errors.Join(h.Close(), os.RemoveAll(index)); err != nil {
				t.Fatal(err)
			}
			h = open()
			gone("made anew", h)
			// Taken off the list it is there again, with what it said meanwhile.
			if err := h.Unforget(t.Context(), []session.Key{{Agent: s.agent, ID: s.goes}}); err != nil {
				t.Fatal(err)
			}
			if got := found(h, "zqgonezq"); len(got) != 1 {
				t.Errorf("taken off the list it is found in %v", got)
			}
		})
	}
}
