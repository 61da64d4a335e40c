package dsh

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/yorehq/yore/reader/readertest"
)

// closed is a database of sessions that nobody has open.
func closed(t testing.TB) string {
	path := filepath.Join(t.TempDir(), "x")
	s := newStore(t, path)
	for _, src := range readertest.Discover(t, New(), filepath.Join(corpus, "main"))[:8] {
		s.take(src)
	}
	s.exec(`PRAGMA journal_mode = delete`)
	if err := s.c.Close(); err != nil {
		t.Fatal(err)
	}
	return path
}

// Whatever stands in the place of the database.
func TestTableExtremes(t *testing.T) {
	path := closed(t)
	readertest.ShelfExtremes(t, New(), filepath.Dir(path), path)
}

// Whatever stands in the rows of a session: its columns hold any bytes, of the
// class that the schema asks for or, as data and sources may, of another.
func FuzzTable(f *testing.F) {
	const said = `{"id":"m","role":"user","content":[{"type":"text","text":"x"}],"source":{"kind":"user"}}`
	f.Add("user/message", []byte(said), []byte{}, `"append"`, int64(0), int64(5), false)
	f.Add("tool/result", []byte("(\xb5\x2f\xfd"), []byte{0, 2}, `{"replace":{"start":0,"end":0}}`, int64(1), int64(0), true)
	f.Add("compaction/summary", []byte(said), []byte{0x80}, `["keep",0]`, int64(7), int64(-1), true)
	s := newStore(f, filepath.Join(f.TempDir(), "x"))
	s.exec(`PRAGMA journal_mode = memory`)
	id := s.header([]byte(`{"type":"session","version":0,"id":"s","createdAt":1,"delegationDepth":0}`))
	f.Fuzz(func(t *testing.T, typ string, data, sources []byte, op string, ignorable, at int64, blob bool) {
		if len(data)+len(sources)+len(op)+len(typ) > 8<<10 {
			return
		}
		s.t = t
		s.exec(`BEGIN; DELETE FROM events`)
		s.record(id, []byte(`{"type":"user/message","seq":0,"time":1,"surfaceOp":"append","data":`+said+`}`))
		value := any(string(data))
		if blob {
			value = data
		}
		for seq := int64(1); seq < 4; seq++ {
			s.exec(`INSERT INTO events VALUES ('s', ?, ?, ?, ?, ?, ?, ?)`, seq, typ, at, value, sources, op, ignorable)
		}
		s.exec(`COMMIT`)
		readertest.Shelf(t, New(), filepath.Dir(s.path), s.path)
	})
}

// A database with damage anywhere in it.
func FuzzTableFile(f *testing.F) {
	path := closed(f)
	base, err := os.ReadFile(path)
	if err != nil || len(base) > 1<<20 {
		f.Fatal(len(base), err)
	}
	if n := readertest.Shelf(f, New(), filepath.Dir(path), path); n < 4 {
		f.Fatalf("%d sessions are read of the sound one", n)
	}
	f.Add([]byte{})
	f.Add([]byte{0, 0, 100, 5, 0, 0x13, 0, 1})
	f.Fuzz(func(t *testing.T, patch []byte) {
		if err := os.WriteFile(path, readertest.Patched(base, patch), 0o600); err != nil {
			t.Fatal(err)
		}
		readertest.Shelf(t, New(), filepath.Dir(path), path)
	})
}
