package openclaw

import (
	"context"
	"os"
	"testing"

	"github.com/yorehq/yore/reader"
	"github.com/yorehq/yore/reader/readertest"
	"github.com/yorehq/yore/session"
)

// Whatever stands in rows: a reading ends, what it gives makes sense, and a window
// gives the same number of events.
func FuzzRows(f *testing.F) {
	f.Add(user("a", "", "hi"), `{"type":"leaf","id":"l","parentId":"a","targetId":null}`, []byte("(\xb5\x2f\xfd"))
	f.Add(`{"type":"reset","id":"r","firstKeptEntryId":"r"}`, `{"type":"leaf","id":"r","parentId":"r","targetId":"r"}`, []byte{})
	f.Add(`{"type":"plugin","id":"p","parentId":"p"}`, assistant("p", "p", "x"), packed(f, user("q", "p", "y")))
	f.Fuzz(func(t *testing.T, a, b string, compressed []byte) {
		c := newClaw(t)
		c.start("s1", "k", 1000)
		for i, text := range []string{a, b, a} {
			c.exec(`INSERT INTO transcript_events (session_id, seq, event_json, created_at) VALUES ('s1', ?, ?, 1)`, i+1, text)
		}
		c.exec(`INSERT INTO transcript_events (session_id, seq, event_zstd, event_utf8_bytes, created_at) VALUES ('s1', 4, ?, ?, 1)`, compressed, len(compressed))
		src, ok := c.sources()["s1"]
		if !ok {
			t.Fatal("the session is not listed")
		}
		events, _ := read(t, src, reader.Position{})
		current(t, events)
		n := 0
		_, err := New().Window(context.Background(), src, session.Checkpoint{}, 0, session.MaxSafe, session.Every(), func(session.Raw) error { n++; return nil })
		if err != nil || n != len(events) {
			t.Fatalf("%d events in a window of %d: %v", n, len(events), err)
		}
	})
}

// closed is a database with sessions in it that nobody has open, an archive among
// its rows included.
func closed(t testing.TB) *claw {
	c := newClaw(t)
	for _, id := range []string{"s1", "s2", "s3"} {
		c.start(id, "key-of-"+id, 1000)
		c.add(id, user("a", "", "hello"), assistant("b", "a", "hi"), `{"type":"leaf","id":"l","parentId":"a","targetId":"a"}`, user("c", "a", "again"))
	}
	c.pack("s2", 2)
	c.freeze("s3", true)
	c.exec(`PRAGMA journal_mode = delete`)
	if err := c.db.Close(); err != nil {
		t.Fatal(err)
	}
	return c
}

// Whatever stands in the place of the database.
func TestExtremes(t *testing.T) {
	c := closed(t)
	readertest.ShelfExtremes(t, New(), c.root, c.path)
}

// A database with damage anywhere in it.
func FuzzFile(f *testing.F) {
	c := closed(f)
	base, err := os.ReadFile(c.path)
	if err != nil {
		f.Fatal(err)
	}
	if n := readertest.Shelf(f, New(), c.root, c.path); n != 3 {
		f.Fatalf("%d sessions are read of the sound one", n)
	}
	f.Add([]byte{})
	f.Add([]byte{0, 0, 100, 5, 0, 0x13, 0, 1})
	f.Fuzz(func(t *testing.T, patch []byte) {
		if err := os.WriteFile(c.path, readertest.Patched(base, patch), 0o600); err != nil {
			t.Fatal(err)
		}
		readertest.Shelf(t, New(), c.root, c.path)
	})
}
