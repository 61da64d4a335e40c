package openclaw

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/yorehq/yore/reader"
	"github.com/yorehq/yore/reader/readertest"
	"github.com/yorehq/yore/session"
)

// The agent rewrites a transcript while it is read: nothing of the later writing is
// taken for a continuation of the earlier one, and the next look begins anew.
func TestRewrittenInTheMidst(t *testing.T) {
	const long = 700 // more rows than are fetched at once
	c := newClaw(t)
	c.start("s1", "k", 1000)
	parent := ""
	for i := range long {
		id := fmt.Sprintf("m%d", i)
		c.add("s1", user(id, parent, "before"))
		parent = id
	}
	src := c.sources()["s1"]
	var said []string
	tail, err := New().Read(context.Background(), src, reader.Position{}, func(e session.Event) error {
		if e.Seq == 0 {
			c.exec(`UPDATE transcript_rewrite_watermarks SET generation = 'g2'`)
			c.exec(`UPDATE transcript_events SET event_json = replace(event_json, 'before', 'after')`)
			c.exec(`PRAGMA wal_checkpoint(TRUNCATE)`)
		}
		said = append(said, e.Body.Blocks[0].Text)
		return nil
	})
	if err != nil || strings.Contains(strings.Join(said, " "), "after") || len(said) == long {
		t.Errorf("%d events, %v", len(said), err)
	}
	if rev, _, err := New().Revise(context.Background(), src, tail.Position); err != nil || rev != reader.Replaced {
		t.Errorf("revision %d, %v", rev, err)
	}
	again, _ := read(t, src, reader.Position{})
	if len(again) != long || again[0].Body.Blocks[0].Text != "after" {
		t.Errorf("%d events", len(again))
	}
}

// An entry without a time has that of the one before, the first of all that of its row.
func TestTimes(t *testing.T) {
	c := newClaw(t)
	c.start("s1", "k", 1000)
	timeless := func(text string) string {
		return strings.Replace(text, `"timestamp":"2026-09-21T13:13:21.000Z",`, "", 1)
	}
	c.add("s1", timeless(user("a", "", "one")), timeless(user("b", "a", "two")), user("c", "b", "three"), timeless(user("d", "c", "four")))
	c.exec(`UPDATE transcript_events SET created_at = 1790000000000 + seq`)
	events, _ := read(t, c.sources()["s1"], reader.Position{})
	var times []int64
	for _, e := range events {
		times = append(times, e.Time)
	}
	if diff := cmp.Diff([]int64{1790000000000, 1790000000000, 1789996401000, 1789996401000}, times); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// A folder is told by a header alone, and by that of the transcript's beginning.
func TestHeaderOfRows(t *testing.T) {
	c := newClaw(t)
	c.start("s1", "k", 1000)
	c.exec(`UPDATE transcript_events SET event_json = '{"type":"custom","id":"x","parentId":null,"cwd":"/elsewhere"}'`)
	c.add("s1", user("a", "", "hi"))
	c.start("s2", "k2", 1000)
	c.add("s2", user("a", "", strings.Repeat("hello ", 100)))
	c.pack("s2", 0)
	c.pack("s2", 1)
	for id, want := range map[session.ID]string{"s1": "", "s2": "/home/dev/notes"} {
		if got := c.sources()[id].Header.Cwd; got != want {
			t.Errorf("%s: %q, want %q", id, got, want)
		}
	}
}

// A title is no event of the transcript: that it changes is a growth of nothing, and
// a state in which nothing changed is told as that.
func TestRenamed(t *testing.T) {
	c := newClaw(t)
	c.start("s1", "k", 1000)
	c.add("s1", user("a", "", "hi"))
	src := c.sources()["s1"]
	_, tail := read(t, src, reader.Position{})
	c.exec(`UPDATE session_nodes SET label = 'The reading list'`)
	rev, stamp, err := New().Revise(context.Background(), src, tail.Position)
	if err != nil || rev != reader.Grown || stamp == tail.Position.Stamp {
		t.Errorf("revision %d, %+v, %v", rev, stamp, err)
	}
	more, after := read(t, src, tail.Position)
	if len(more) != 0 || after.Position.Stamp != stamp {
		t.Errorf("%d events, %+v", len(more), after.Position.Stamp)
	}
	// One that was broken off is not said to be at its end.
	part, err := New().Read(context.Background(), src, reader.Position{}, func(session.Event) error { return reader.ErrStop })
	if err != nil || part.Position.Stamp != (reader.Stamp{}) {
		t.Errorf("%+v, %v", part.Position, err)
	}
}

// Who spawned is looked for among the windows of a key at that time: the latest that
// had begun, or the first if none had. A subagent copies nothing, whatever its ids are.
func TestSpawners(t *testing.T) {
	c := newClaw(t)
	for i, id := range []string{"w1", "w2", "w3"} {
		c.start(id, "agent:main:main", 1000*(i+1))
		c.add(id, user("a", "", "hi"))
	}
	for id, at := range map[string]int{"early": 500, "amid": 2000, "late": 9000} {
		key := "agent:main:subagent:" + id
		c.start(id, key, at)
		c.add(id, user("a", "", "hi"))
		c.exec(`UPDATE session_nodes SET spawned_by = 'agent:main:main' WHERE session_key = ?`, key)
	}
	c.start("lost", "agent:main:subagent:lost", 5000)
	c.add("lost", user("a", "", "hi"))
	c.exec(`UPDATE session_nodes SET spawned_by = 'agent:gone:main' WHERE session_key = 'agent:main:subagent:lost'`)
	for id, want := range map[session.ID]session.ID{"early": "w1", "amid": "w2", "late": "w3", "lost": ""} {
		h := c.sources()[id].Header
		if h.ParentSession != want || h.Origin != session.OriginSubagent || h.SeedLength != 0 || h.DelegationDepth != 1 {
			t.Errorf("%s: %+v", id, h)
		}
	}
}

// What a fork copied ends with the first entry that its origin does not have,
// although later ones have ids of it.
func TestSeed(t *testing.T) {
	c := newClaw(t)
	c.start("old", "k", 1000)
	c.add("old", user("a", "", "one"), assistant("b", "a", "two"), user("c", "b", "three"))
	c.start("fork", "k2", 2000)
	c.add("fork", user("a", "", "one"), assistant("b", "a", "two"), user("z", "b", "else"), user("c", "z", "three"))
	c.exec(`UPDATE session_nodes SET fork_source_session_id = 'old' WHERE session_key = 'k2'`)
	for _, reason := range []any{"fork", "initial", nil} {
		c.exec(`UPDATE session_windows SET reason = ? WHERE session_id = 'fork'`, reason)
		if h := c.sources()["fork"].Header; h.ParentSession != "old" || h.SeedLength != 2 {
			t.Errorf("%v: %+v", reason, h)
		}
	}
}

// Tables of earlier releases, and of one that keeps transcripts alone.
func TestEarlierTables(t *testing.T) {
	c := newClaw(t)
	c.start("s1", "k", 1000)
	c.add("s1", user("a", "", "hi"))
	c.exec(`UPDATE session_nodes SET label = 'A label'`)
	c.exec(`ALTER TABLE session_windows RENAME TO sessions; ALTER TABLE session_nodes RENAME TO session_entries;
		ALTER TABLE session_entries RENAME COLUMN current_session_id TO session_id`)
	src := c.sources()["s1"]
	if title, _, err := New().Title(context.Background(), src); title != "A label" || src.Header.CreatedAt != 1000 || err != nil {
		t.Errorf("%q, %+v, %v", title, src.Header, err)
	}
	c.exec(`DROP TABLE sessions; DROP TABLE session_entries; DROP TABLE transcript_event_identities; DROP TABLE transcript_rewrite_watermarks;
		DROP TABLE session_transcript_cold_archives; CREATE TABLE other (x); DELETE FROM transcript_events WHERE seq = 9`)
	src = c.sources()["s1"]
	events, _ := read(t, src, reader.Position{})
	want := session.Header{Agent: session.OpenClaw, ID: "s1", Cwd: "/home/dev/notes", CreatedAt: 1789996400000}
	if diff := cmp.Diff([]string{"user/message hi"}, all(events)); diff != "" || src.Header != want {
		t.Errorf("%+v (-want +got):\n%s", src.Header, diff)
	}
	c.exec(`ALTER TABLE transcript_events RENAME TO events_of_something`)
	err := New().List(context.Background(), c.root, c.path, func(reader.Listed) error { return nil })
	var p *reader.Problem
	if !errors.As(err, &p) {
		t.Errorf("a database of somebody else: %v", err)
	}
}

// Rows that are there count, and no archive that is left beside them.
func TestArchiveBesideRows(t *testing.T) {
	c := newClaw(t)
	c.start("s1", "k", 1000)
	c.add("s1", user("a", "", "old"))
	c.freeze("s1", true)
	c.next["s1"] = 0
	c.exec(`DELETE FROM transcript_event_identities`)
	c.add("s1", `{"type":"session","version":4,"id":"s1","timestamp":"2026-09-21T13:13:20.000Z","cwd":"/w"}`, user("a", "", "new"))
	src := c.sources()["s1"]
	events, _ := read(t, src, reader.Position{})
	if diff := cmp.Diff([]string{"user/message new"}, all(events)); diff != "" || src.Header.Cwd != "/w" {
		t.Errorf("%+v (-want +got):\n%s", src.Header, diff)
	}
}

// An archive begins by saying what it is.
func TestArchiveWithoutAHeader(t *testing.T) {
	c := newClaw(t)
	c.start("s1", "k", 1000)
	c.add("s1", user("a", "", "hi"))
	path := c.freeze("s1", false)
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	other := packed(t, `{"kind":"index","sessionId":"s1"}`+"\n"+`{"kind":"event","row":{"seq":1,"event_json":"{}","created_at":1}}`+"\n")
	name := sumName(other)
	if err := os.WriteFile(filepath.Join(filepath.Dir(path), name), other, 0o600); err != nil {
		t.Fatal(err)
	}
	c.exec(`UPDATE session_transcript_cold_archives SET archive_name = ?, archive_sha256 = ?, archive_bytes = ?`, name, strings.TrimSuffix(name, ".jsonl.zst"), len(other))
	if _, ok := c.sources()["s1"]; ok {
		t.Error("s1 is a session")
	}
}

// No compressed row of the agent's is longer than 4 MiB, however little it holds.
func TestPaddedRow(t *testing.T) {
	c := newClaw(t)
	c.start("s1", "k", 1000)
	text := user("a", "", "hi")
	c.add("s1", text, user("b", "a", "two"))
	skipped := make([]byte, 8+maxPacked)
	copy(skipped, "\x50\x2a\x4d\x18") // a frame that says nothing, by the format of zstd
	binary.LittleEndian.PutUint32(skipped[4:], maxPacked)
	for name, row := range map[string]struct {
		frame []byte
		want  []string
	}{
		"short": {append(append([]byte{}, "\x50\x2a\x4d\x18\x01\x00\x00\x00 "...), packed(t, text)...), []string{"user/message hi", "user/message two"}},
		"long":  {append(skipped, packed(t, text)...), []string{"x/unparsed", "user/message two"}},
	} {
		c.exec(`UPDATE transcript_events SET event_json = NULL, event_zstd = ?, event_utf8_bytes = ? WHERE seq = 1`, row.frame, len(text))
		events, _ := read(t, c.sources()["s1"], reader.Position{})
		if diff := cmp.Diff(row.want, all(events)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// Each session has its own entry in the list of before, under whatever key.
func TestLabelsOfBefore(t *testing.T) {
	root := t.TempDir()
	list := `{"note":"no entry","agent:main:main":{"sessionId":"s1","label":"","displayName":" A  name "},
		"agent:main:group":{"sessionId":"s2","subject":"A subject"},"agent:main:x":{"sessionId":"s3"}}`
	for id, want := range map[string]string{"s1": "A name", "s2": "A subject", "s3": "", "s4": ""} {
		src := file(t, root, id, user("a", "", "hi"))
		if err := os.WriteFile(filepath.Join(filepath.Dir(src.Path), labels), []byte(list), 0o600); err != nil {
			t.Fatal(err)
		}
		if title, ok, err := New().Title(context.Background(), src); title != want || ok != (want != "") || err != nil {
			t.Errorf("%s: %q, %t, %v", id, title, ok, err)
		}
	}
}

// A call is one block of its entry, and is given as that.
func TestBlocksOfRows(t *testing.T) {
	block := `{"type":"toolCall","id":"c1","name":"read","arguments":{"path":"x"}}`
	entry := `{"type":"message","id":"b","parentId":"a",` + at + `,"message":{"role":"assistant","content":[{"type":"text","text":"I look."},` + block + `]}}`
	c := newClaw(t)
	c.start("s1", "k", 1000)
	c.add("s1", user("a", "", "hi"), entry)
	var natives []string
	_, err := New().Window(context.Background(), c.sources()["s1"], session.Checkpoint{}, 1, 2, session.Every(), func(r session.Raw) error {
		natives = append(natives, string(r.Native))
		return nil
	})
	if diff := cmp.Diff([]string{entry, block}, natives); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	if events, _, err := readertest.ReadFrom(New(), c.sources()["s1"], reader.Position{}); err != nil || len(events) != 3 {
		t.Errorf("%d events, %v", len(events), err)
	}
}

// 2026.9 says no reasons. A window that follows on another goes on with it if it has
// its entries, as after a rewind, and begins something new if it has none; a fork's
// origin is that of the first window alone.
func TestNoReasons(t *testing.T) {
	c := newClaw(t)
	c.start("old", "k", 1000)
	c.add("old", user("a", "", "one"), user("b", "a", "two"))
	c.start("fork", "k2", 2000)
	c.add("fork", user("a", "", "one"), user("z", "a", "else"))
	c.start("rewound", "k2", 3000)
	c.add("rewound", user("a", "", "one"), user("z", "a", "else"), leafTo("l", "z", "a", ""))
	c.start("anew", "k2", 4000)
	c.add("anew", user("n", "", "new"))
	c.exec(`UPDATE session_nodes SET fork_source_session_id = 'old' WHERE session_key = 'k2'`)
	c.exec(`UPDATE session_windows SET reason = NULL`)
	c.exec(`UPDATE session_windows SET previous_session_id = 'fork' WHERE session_id = 'rewound'`)
	c.exec(`UPDATE session_windows SET previous_session_id = 'rewound' WHERE session_id = 'anew'`)
	for id, want := range map[session.ID]session.Header{
		"old": {}, "fork": {ParentSession: "old", SeedLength: 1}, "rewound": {ParentSession: "fork", SeedLength: 2}, "anew": {},
	} {
		h := c.sources()[id].Header
		if h.ParentSession != want.ParentSession || h.SeedLength != want.SeedLength || h.Origin != "" {
			t.Errorf("%s: %+v", id, h)
		}
	}
}
