package openclaw

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"
	"github.com/ncruces/go-sqlite3"

	"github.com/yorehq/yore/reader"
	"github.com/yorehq/yore/reader/readertest"
	"github.com/yorehq/yore/session"
)

// The tables by the agent's description (schema 24), without those that are not read.
const schema = `
CREATE TABLE session_nodes (session_key TEXT NOT NULL PRIMARY KEY, current_session_id TEXT NOT NULL, entry_json TEXT NOT NULL, updated_at INTEGER NOT NULL,
	status TEXT, spawned_by TEXT, parent_session_key TEXT, fork_source_session_id TEXT, fork_source_entry_id TEXT, label TEXT, display_name TEXT) STRICT;
CREATE TABLE session_windows (session_id TEXT NOT NULL PRIMARY KEY, session_key TEXT NOT NULL, previous_session_id TEXT, reason TEXT,
	created_at INTEGER NOT NULL, updated_at INTEGER NOT NULL, status TEXT, spawned_by TEXT, display_name TEXT) STRICT;
CREATE TABLE transcript_events (session_id TEXT NOT NULL, seq INTEGER NOT NULL, event_json TEXT, created_at INTEGER NOT NULL, event_zstd BLOB,
	event_utf8_bytes INTEGER, navigation_json TEXT, PRIMARY KEY (session_id, seq)) STRICT;
CREATE TABLE transcript_event_identities (session_id TEXT NOT NULL, event_id TEXT NOT NULL, seq INTEGER NOT NULL, event_type TEXT, parent_id TEXT,
	created_at INTEGER NOT NULL, PRIMARY KEY (session_id, event_id)) STRICT;
CREATE TABLE transcript_rewrite_watermarks (session_id TEXT NOT NULL PRIMARY KEY, generation TEXT NOT NULL, updated_at INTEGER NOT NULL) STRICT;
CREATE TABLE session_transcript_cold_archives (session_id TEXT NOT NULL PRIMARY KEY, generation TEXT NOT NULL, archive_name TEXT NOT NULL UNIQUE,
	archive_sha256 TEXT NOT NULL, event_count INTEGER NOT NULL, raw_bytes INTEGER NOT NULL, archive_bytes INTEGER NOT NULL, last_seq INTEGER NOT NULL,
	archived_at INTEGER NOT NULL, storage TEXT NOT NULL, archive_blob BLOB) STRICT;`

// claw writes a database as the agent does.
type claw struct {
	t    testing.TB
	root string
	path string
	db   *sqlite3.Conn
	next map[string]int
}

func newClaw(t testing.TB) *claw {
	root := t.TempDir()
	c := &claw{t: t, root: root, path: filepath.Join(root, agentsDir, "main", databaseDir, database), next: map[string]int{}}
	if err := os.MkdirAll(filepath.Dir(c.path), 0o700); err != nil {
		t.Fatal(err)
	}
	db, err := sqlite3.Open(c.path)
	if err != nil {
		t.Fatal(err)
	}
	c.db = db
	t.Cleanup(func() { db.Close() })
	c.exec(`PRAGMA journal_mode = WAL; PRAGMA wal_autocheckpoint = 0;` + schema)
	return c
}

func (c *claw) exec(sql string, args ...any) {
	c.t.Helper()
	if len(args) == 0 {
		if err := c.db.Exec(sql); err != nil {
			c.t.Fatal(err)
		}
		return
	}
	stmt, _, err := c.db.Prepare(sql)
	if err != nil {
		c.t.Fatal(err)
	}
	defer stmt.Close()
	for i, a := range args {
		switch a := a.(type) {
		case nil:
			err = stmt.BindNull(i + 1)
		case string:
			err = stmt.BindText(i+1, a)
		case int:
			err = stmt.BindInt(i+1, a)
		case []byte:
			err = stmt.BindBlob(i+1, a)
		}
		if err != nil {
			c.t.Fatal(err)
		}
	}
	if err := stmt.Exec(); err != nil {
		c.t.Fatal(err)
	}
}

// start begins a session with its header.
func (c *claw) start(id, key string, at int) {
	c.t.Helper()
	c.exec(`INSERT OR IGNORE INTO session_nodes (session_key, current_session_id, entry_json, updated_at) VALUES (?, ?, '{}', ?)`, key, id, at)
	c.exec(`INSERT INTO session_windows (session_id, session_key, reason, created_at, updated_at) VALUES (?, ?, 'initial', ?, ?)`, id, key, at, at)
	c.exec(`INSERT INTO transcript_rewrite_watermarks VALUES (?, 'g1', ?)`, id, at)
	c.add(id, `{"type":"session","version":4,"id":"`+id+`","timestamp":"2026-09-21T13:13:20.000Z","cwd":"/home/dev/notes"}`)
}

// add appends an entry; the first row has the number 0.
func (c *claw) add(id string, entries ...string) {
	c.t.Helper()
	for _, text := range entries {
		seq := c.next[id]
		c.next[id]++
		c.exec(`INSERT INTO transcript_events (session_id, seq, event_json, created_at) VALUES (?, ?, ?, 1)`, id, seq, text)
		var e struct{ Type, ID, ParentID string }
		if json.Unmarshal([]byte(text), &e) == nil && e.ID != "" {
			c.exec(`INSERT INTO transcript_event_identities VALUES (?, ?, ?, ?, ?, 1)`, id, e.ID, seq, e.Type, e.ParentID)
		}
	}
}

func packed(t testing.TB, text string) []byte {
	t.Helper()
	w, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1))
	if err != nil {
		t.Fatal(err)
	}
	return w.EncodeAll([]byte(text), nil)
}

// pack compresses the row of an entry.
func (c *claw) pack(id string, seq int) {
	c.t.Helper()
	text := c.text(id, seq)
	c.exec(`UPDATE transcript_events SET event_json = NULL, event_zstd = ?, event_utf8_bytes = ?, navigation_json = '{}' WHERE session_id = ? AND seq = ?`,
		packed(c.t, text), len(text), id, seq)
}

func (c *claw) text(id string, seq int) (text string) {
	c.t.Helper()
	stmt, _, err := c.db.Prepare(`SELECT event_json FROM transcript_events WHERE session_id = '` + id + fmt.Sprintf(`' AND seq = %d`, seq))
	if err != nil {
		c.t.Fatal(err)
	}
	defer stmt.Close()
	if stmt.Step() {
		text = stmt.ColumnText(0)
	}
	return text
}

// freeze moves a transcript into an archive; it returns the archive's path, which
// is not written where the bytes stay in the database.
func (c *claw) freeze(id string, inside bool) string {
	c.t.Helper()
	lines := []string{`{"kind":"header","version":1,"sessionId":"` + id + `","generation":"g1"}`}
	for seq := range c.next[id] {
		text, err := json.Marshal(c.text(id, seq))
		if err != nil {
			c.t.Fatal(err)
		}
		lines = append(lines, fmt.Sprintf(`{"kind":"event","row":{"seq":%d,"event_json":%s,"created_at":1}}`, seq, text))
	}
	lines = append(lines, `{"kind":"index","row":{"indexed_seq":1,"leaf_event_id":null}}`)
	content := packed(c.t, strings.Join(lines, "\n")+"\n")
	name := sumName(content)
	path := filepath.Join(c.root, agentsDir, "main", sessionsDir, coldDir, name)
	var blob any
	storage := "file"
	if inside {
		blob, storage = content, "sqlite"
	} else {
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			c.t.Fatal(err)
		}
		if err := os.WriteFile(path, content, 0o600); err != nil {
			c.t.Fatal(err)
		}
	}
	c.exec(`DELETE FROM transcript_events WHERE session_id = '` + id + `'`)
	c.exec(`INSERT INTO session_transcript_cold_archives VALUES (?, 'g1', ?, ?, 1, 1, ?, ?, 1, ?, ?)`, id, name, strings.TrimSuffix(name, ".jsonl.zst"), len(content), c.next[id]-1, storage, blob)
	return path
}

// sumName is how the agent names an archive.
func sumName(content []byte) string {
	sum := sha256.Sum256(content)
	return hex.EncodeToString(sum[:]) + ".jsonl.zst"
}

func (c *claw) sources() map[session.ID]reader.Source {
	c.t.Helper()
	found := map[session.ID]reader.Source{}
	err := New().List(context.Background(), c.root, c.path, func(l reader.Listed) error {
		if l.Problem == nil {
			found[l.Header.ID] = reader.Source{Agent: session.OpenClaw, Root: c.root, Path: reader.PartPath(c.path, l.Name), Header: l.Header}
		}
		return nil
	})
	if err != nil {
		c.t.Fatal(err)
	}
	return found
}

func read(t testing.TB, src reader.Source, from reader.Position) ([]session.Event, reader.Tail) {
	t.Helper()
	events, tail, err := readertest.ReadFrom(New(), src, from)
	if err != nil {
		t.Fatal(err)
	}
	return events, tail
}

// said is what an event says.
func said(e *session.Event) string {
	line := e.Type
	for _, b := range e.Body.Blocks {
		line += " " + strings.TrimSpace(b.Name+" "+b.Text)
		for _, c := range b.Content {
			line += c.Text
		}
	}
	return line
}

func all(events []session.Event) (lines []string) {
	for i := range events {
		lines = append(lines, said(&events[i]))
	}
	return lines
}

// current is the surface after the events.
func current(t testing.TB, events []session.Event) (lines []string) {
	t.Helper()
	var fold session.Fold
	for i := range events {
		if _, err := fold.Apply(&events[i]); err != nil {
			t.Fatalf("event %d: %v", events[i].Seq, err)
		}
	}
	for _, seq := range fold.Surface() {
		lines = append(lines, said(&events[seq]))
	}
	return lines
}

// user, assistant: a message entry; parent "" is null.
func user(id, parent, text string) string { return entryText("user", id, parent, text) }

func assistant(id, parent, text string) string { return entryText("assistant", id, parent, text) }

func entryText(role, id, parent, text string) string {
	p := `null`
	if parent != "" {
		p = `"` + parent + `"`
	}
	return fmt.Sprintf(`{"type":"message","id":%q,"parentId":%s,"timestamp":"2026-09-21T13:13:21.000Z","message":{"role":%q,"content":[{"type":"text","text":%q}]}}`, id, p, role, text)
}
