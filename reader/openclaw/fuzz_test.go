package openclaw

import (
	"context"
	"testing"

	"github.com/yorehq/yore/reader"
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
