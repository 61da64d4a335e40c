package sqlite

import (
	"os"
	"testing"
	"time"
)

// rest makes a shard look as if nobody had written to it lately.
func rest(t *testing.T, x *Index) {
	t.Helper()
	old := time.Now().Add(-time.Minute)
	for _, suffix := range []string{"", "-wal"} {
		if err := os.Chtimes(x.shardOf(workspace).path+suffix, old, old); err != nil && !os.IsNotExist(err) {
			t.Fatal(err)
		}
	}
}

// A shard that is as it was is not opened to tell so, whoever wrote it; one that
// another process writes to is read again at once.
func TestAQuietShardIsRememberedAndAChangedOneRead(t *testing.T) {
	dir := t.TempDir()
	x, y := openAt(t, dir), openAt(t, dir)
	put(t, x, "one", "zephyr")
	look := func(who *Index) (sessions int, statements int64) {
		t.Helper()
		before := who.Work().Statements
		glances, err := who.Glances(t.Context(), workspace, nil)
		if err != nil {
			t.Fatal(err)
		}
		view, err := who.Snapshot(t.Context(), workspace)
		if err != nil {
			t.Fatal(err)
		}
		defer view.Close()
		rows, err := view.Sessions(t.Context())
		if err != nil || len(rows) != len(glances) {
			t.Fatalf("%d rows, %d glances, %v", len(rows), len(glances), err)
		}
		return len(rows), who.Work().Statements - before
	}
	look(y)
	if n, cost := look(y); n != 1 || cost == 0 {
		t.Errorf("%d sessions, %d statements: a shard that was just written may change within the clock's grain", n, cost)
	}
	rest(t, x)
	look(y)
	if n, cost := look(y); n != 1 || cost != 0 {
		t.Errorf("%d sessions, %d statements for a quiet shard", n, cost)
	}
	for i := range 20 {
		put(t, x, string(rune('a'+i)), "zephyr")
		if n, _ := look(y); n != i+2 {
			t.Fatalf("%d sessions after %d", n, i+2)
		}
		rest(t, x)
		look(y)
	}
}

// What a memo says of a shard that is gone, and of another in its place, is not believed.
func TestAMemoIsOfOneFile(t *testing.T) {
	dir := t.TempDir()
	x, y := openAt(t, dir), openAt(t, dir)
	put(t, x, "one", "zephyr")
	rest(t, x)
	if all, err := y.Glances(t.Context(), workspace, nil); err != nil || len(all) != 1 {
		t.Fatal(all, err)
	}
	if err := x.Close(); err != nil {
		t.Fatal(err)
	}
	y.dropIdle("nothing")
	stamp, _, _ := stampOf(y.shardOf(workspace).path, time.Now())
	path := y.shardOf(workspace).path
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
	at := time.Unix(0, stamp.changed)
	if err := os.Chtimes(path, at, at); err != nil {
		t.Fatal(err)
	}
	if m := y.memoOf(y.shardOf(workspace)); m != nil {
		t.Error("another file of the same size and time is taken for the one that was read")
	}
}
