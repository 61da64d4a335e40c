package opencode

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/ncruces/go-sqlite3"

	"github.com/yorehq/yore/reader/readertest"
)

// Whatever stands in the rows of a session, and wherever its revert points.
func FuzzRows(f *testing.F) {
	f.Add(done, tool("completed", `,"output":"x"`), `{"type":"compaction","auto":true,"tail_start_id":"a"}`, `{"messageID":"b","partID":"b.0"}`)
	f.Add(`{"role":"user"}`, `{"type":"subtask","prompt":"p"}`, `{"type":"file","mime":"image/png","url":"data:,x"}`, `{}`)
	f.Add(`{"role":"assistant","summary":true,"parentID":"b","time":{"completed":1},"error":{"name":"MessageAbortedError"}}`, `{"type":"text","text":"\ud800"}`, tool("error", `,"error":"no","time":{"compacted":7}`), `[`)
	f.Fuzz(func(t *testing.T, message, one, two, revert string) {
		for _, text := range []string{message, one, two, revert} {
			if len(text) > 4<<10 {
				return
			}
		}
		d := newDesk(t)
		d.session("s", "s") // its own parent
		d.user("s", "a", "first")
		d.message("s", "b", message, one, two)
		d.message("s", "c", done, two, one)
		d.message("s", "d", message, one)
		d.exec(fmt.Sprintf(`UPDATE session SET revert = %s`, sqlite3.Quote(revert)))
		if n := readertest.Shelf(t, at(time.UnixMilli(d.now).Add(2*time.Hour)), filepath.Dir(d.path), d.path); n != 1 {
			t.Errorf("%d sessions are read", n)
		}
	})
}

// Whatever stands in the place of the database.
func TestExtremes(t *testing.T) {
	base, err := os.ReadFile(genuine + "opencode-driven.db")
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "opencode.db")
	if err := os.WriteFile(path, base, 0o600); err != nil {
		t.Fatal(err)
	}
	readertest.ShelfExtremes(t, at(then), filepath.Dir(path), path)
}

// A genuine database with damage anywhere in it.
func FuzzFile(f *testing.F) {
	base, err := os.ReadFile(genuine + "opencode-driven.db")
	if err != nil {
		f.Fatal(err)
	}
	f.Add([]byte{})
	f.Add([]byte{0, 0, 100, 5, 0, 4, 0, 1})
	path := filepath.Join(f.TempDir(), "opencode.db")
	f.Fuzz(func(t *testing.T, patch []byte) {
		if err := os.WriteFile(path, readertest.Patched(base, patch), 0o600); err != nil {
			t.Fatal(err)
		}
		readertest.Shelf(t, at(then), filepath.Dir(path), path)
	})
}
