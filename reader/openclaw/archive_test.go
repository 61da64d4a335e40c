package openclaw

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/yorehq/yore/reader"
	"github.com/yorehq/yore/reader/readertest"
	"github.com/yorehq/yore/session"
)

// A window without a row is none yet; one whose beginning is not told begins with
// its transcript, and was written when its last row was.
func TestListed(t *testing.T) {
	c := newClaw(t)
	c.start("s1", "k1", 0)
	c.add("s1", user("a", "", "hi"))
	c.exec(`UPDATE transcript_events SET created_at = 1790000000000 WHERE seq = 1`)
	c.exec(`INSERT INTO session_windows (session_id, session_key, reason, created_at, updated_at) VALUES ('empty', 'k2', 'initial', 5, 5)`)
	var names []string
	err := New().List(context.Background(), c.root, c.path, func(l reader.Listed) error {
		names = append(names, l.Name)
		if want := time.UnixMilli(1790000000000); l.Stamp.ModTime != want.UnixNano() || l.Header.CreatedAt != 1789996400000 {
			t.Errorf("%+v", l)
		}
		return nil
	})
	if diff := cmp.Diff([]string{"s1"}, names); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
}

// What the agent would not have made is not taken for an archive of its.
func TestForeignArchives(t *testing.T) {
	for name, set := range map[string]string{
		"another name":        `archive_name = '../../../x.jsonl.zst'`,
		"another length":      `archive_bytes = archive_bytes + 1`,
		"a length beyond all": `archive_bytes = 1000000000`,
		"another sum":         `archive_sha256 = 'ab'`,
		"more rows":           `last_seq = 7`,
		"another session":     `session_id = 's2'`,
	} {
		for _, inside := range []bool{false, true} {
			c := newClaw(t)
			c.start("s1", "k", 1000)
			c.add("s1", user("a", "", "hi"))
			c.freeze("s1", inside)
			if set == `session_id = 's2'` {
				c.start("s2", "k2", 1000)
				c.exec(`DELETE FROM transcript_events`)
			}
			c.exec(`UPDATE session_transcript_cold_archives SET ` + set)
			switch src, ok := c.sources()["s1"]; {
			case !ok, inside && name == "another name":
			case name == "more rows": // the list looks at its beginning alone
				if _, _, err := readertest.ReadFrom(New(), src, reader.Position{}); err == nil {
					t.Errorf("inside %t: an archive that ends early is read", inside)
				}
			default:
				t.Errorf("%s, inside %t: s1 is a session", name, inside)
			}
			if _, ok := c.sources()["s2"]; ok {
				t.Errorf("%s, inside %t: another session's archive is s2", name, inside)
			}
		}
	}
}

// Without a table of rewrites an archive's own generation tells of one; what is
// behind a position is read from an archive as from rows.
func TestArchiveGoesOn(t *testing.T) {
	c := newClaw(t)
	c.start("s1", "k", 1000)
	c.add("s1", user("a", "", "hi"), user("b", "a", "two"))
	_, before := read(t, c.sources()["s1"], reader.Position{})
	c.add("s1", user("c", "b", "three"))
	c.freeze("s1", true)
	src := c.sources()["s1"]
	if more, _ := read(t, src, before.Position); len(more) != 1 || more[0].Seq != 2 || said(&more[0]) != "user/message three" {
		t.Errorf("behind the position: %q", all(more))
	}
	c.exec(`DROP TABLE transcript_rewrite_watermarks`)
	src = c.sources()["s1"]
	_, tail := read(t, src, reader.Position{})
	if rev, _, err := New().Revise(context.Background(), src, tail.Position); err != nil || rev != reader.Unchanged {
		t.Errorf("revision %d, %v", rev, err)
	}
	c.exec(`UPDATE session_transcript_cold_archives SET generation = 'g2'`)
	if rev, _, err := New().Revise(context.Background(), src, tail.Position); err != nil || rev != reader.Replaced {
		t.Errorf("rewritten: revision %d, %v", rev, err)
	}
}

// An archive is looked for where the agent puts it, and nowhere else: a name that
// leads to a sound one elsewhere is none.
func TestArchiveElsewhere(t *testing.T) {
	c := newClaw(t)
	c.start("s1", "k", 1000)
	c.add("s1", user("a", "", "hi"))
	path := c.freeze("s1", false)
	if err := os.Rename(path, filepath.Join(c.root, "x.jsonl.zst")); err != nil {
		t.Fatal(err)
	}
	c.exec(`UPDATE session_transcript_cold_archives SET archive_name = '../../../../x.jsonl.zst'`)
	if _, ok := c.sources()["s1"]; ok {
		t.Error("s1 is a session")
	}
}

// A row says how long it is, and holds one record.
func TestOddRows(t *testing.T) {
	c := newClaw(t)
	c.start("s1", "k", 1000)
	c.add("s1", user("a", "", "hi"), user("b", "a", "short"), user("c", "a", "glued")+`{"type":"x"}`, user("d", "a", "bye"))
	c.pack("s1", 2)
	c.exec(`UPDATE transcript_events SET event_utf8_bytes = event_utf8_bytes + 1 WHERE seq = 2`)
	events, tail := read(t, c.sources()["s1"], reader.Position{})
	if diff := cmp.Diff([]string{"user/message hi", "x/unparsed", "x/unparsed", "user/message bye"}, all(events)); diff != "" || len(tail.Skips) != 2 {
		t.Errorf("%d skips (-want +got):\n%s", len(tail.Skips), diff)
	}
}

// Files of chats with topics have an id between them; what a file was forked from
// is told by a path.
func TestFilesIdentified(t *testing.T) {
	root := t.TempDir()
	dir := filepath.Join(root, agentsDir, "main", sessionsDir)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		parent string
		want   session.Header
	}{
		"t1-topic-5.jsonl": {"", session.Header{ID: "t1-topic-5"}},
		"other.jsonl":      {"", session.Header{ID: "t1"}},
		"f.jsonl":          {`,"parentSession":"C:\\x\\p1.jsonl"`, session.Header{ID: "t1", ParentSession: "p1"}},
		"t1.jsonl":         {`,"parentSession":"/x/t1.jsonl"`, session.Header{ID: "t1"}},
		"g.jsonl":          {`,"parentSession":"/x/odd"`, session.Header{ID: "t1"}},
	} {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(`{"type":"session","version":3,"id":"t1","timestamp":"2026-09-21T13:13:20.000Z","cwd":"/w"`+c.parent+"}\n"+user("a", "", "hi")+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		h, err := New().Identify(context.Background(), root, path)
		c.want.Agent, c.want.Cwd, c.want.CreatedAt = session.OpenClaw, "/w", 1789996400000
		if h != c.want || err != nil {
			t.Errorf("%s: %+v, %v", name, h, err)
		}
	}
}

// A rewritten transcript is another one: by its generation, or by what is gone.
func TestRewrites(t *testing.T) {
	for name, change := range map[string]func(c *claw){
		"another generation": func(c *claw) { c.exec(`UPDATE transcript_rewrite_watermarks SET generation = 'g2'`) },
		"the last row changed": func(c *claw) {
			c.exec(`UPDATE transcript_events SET event_json = ? WHERE seq = 2`, user("b", "a", "other"))
			c.add("s1", user("c", "b", "more"))
		},
		"the last row gone": func(c *claw) { c.exec(`DELETE FROM transcript_events WHERE seq = 2`) },
		"an earlier row gone": func(c *claw) {
			c.exec(`DELETE FROM transcript_events WHERE seq = 1`)
			c.add("s1", user("c", "b", "more"))
		},
		"forked in afterwards": func(c *claw) { c.exec(`UPDATE session_nodes SET spawned_by = 'k'`) },
	} {
		c := newClaw(t)
		c.start("s1", "k", 1000)
		c.add("s1", user("a", "", "hi"), user("b", "a", "two"))
		src := c.sources()["s1"]
		_, tail := read(t, src, reader.Position{})
		if rev, _, err := New().Revise(context.Background(), src, tail.Position); err != nil || rev != reader.Unchanged {
			t.Fatalf("revision %d, %v", rev, err)
		}
		change(c)
		if rev, _, err := New().Revise(context.Background(), src, tail.Position); err != nil || rev != reader.Replaced {
			t.Errorf("%s: revision %d, %v", name, rev, err)
		}
	}
}

// A file that the agent has taken over is no session any more; labels are read.
func TestFilesOfBefore(t *testing.T) {
	c := newClaw(t)
	c.start("s1", "k", 1000)
	src := file(t, c.root, "s2", user("a", "", "hi"))
	list := `{"agent:main:main":{"sessionId":"s2","label":"Reading list"}}`
	if err := os.WriteFile(filepath.Join(filepath.Dir(src.Path), labels), []byte(list), 0o600); err != nil {
		t.Fatal(err)
	}
	if title, ok, err := New().Title(context.Background(), src); title != "Reading list" || !ok || err != nil {
		t.Errorf("title %q, %t, %v", title, ok, err)
	}
	c.start("s2", "k2", 2000)
	if _, err := New().Identify(context.Background(), c.root, src.Path); !errors.Is(err, reader.ErrPending) {
		t.Errorf("a file that was taken over: %v", err)
	}
}
