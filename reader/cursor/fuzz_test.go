package cursor

import (
	"os"
	"testing"

	"github.com/yorehq/yore/reader/readertest"
)

// closed is a database with sessions in it that nobody has open.
func closed(t testing.TB) *editor {
	e := newEditor(t)
	for _, id := range []string{"one", "two"} {
		e.composer(id, `,"name":"A name","status":"completed"`, "b1", "b2", "b3")
		e.bubble(id, "b1", `"type":1,"text":"hello"`)
		e.bubble(id, "b2", `"type":2,"text":"hi","toolFormerData":{"name":"n","status":"completed","result":"r"}`)
		e.bubble(id, "b3", `"type":2,"text":"done"`)
	}
	e.put("composerData:old", `{"createdAt":1796000000000,"conversation":[{"type":1,"text":"x"},{"type":2,"text":"y"}]}`)
	if err := e.c.Exec(`PRAGMA journal_mode = delete`); err != nil {
		t.Fatal(err)
	}
	if err := e.c.Close(); err != nil {
		t.Fatal(err)
	}
	return e
}

// Whatever stands in the place of the editor's database.
func TestExtremes(t *testing.T) {
	e := closed(t)
	readertest.ShelfExtremes(t, e.reader(), e.root, e.path)
}

// The editor's database with damage anywhere in it.
func FuzzFile(f *testing.F) {
	e := closed(f)
	base, err := os.ReadFile(e.path)
	if err != nil {
		f.Fatal(err)
	}
	if n := readertest.Shelf(f, e.reader(), e.root, e.path); n != 3 {
		f.Fatalf("%d sessions are read of the sound one", n)
	}
	f.Add([]byte{})
	f.Add([]byte{0, 0, 100, 5, 0, 0x13, 0, 1})
	f.Fuzz(func(t *testing.T, patch []byte) {
		if err := os.WriteFile(e.path, readertest.Patched(base, patch), 0o600); err != nil {
			t.Fatal(err)
		}
		readertest.Shelf(t, e.reader(), e.root, e.path)
	})
}
