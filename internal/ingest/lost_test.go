package ingest_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/yorehq/yore/session"
)

// Of a shard that cannot be used the sessions are counted as left out of a look
// at everything, and the others are brought up to date all the same.
func TestAShardThatCannotBeUsedIsCounted(t *testing.T) {
	b := newBench(t)
	b.write("a", header("a")+user(0, "a zephyr"))
	b.write("b", header("b")+user(0, "another zephyr"))
	b.refresh()
	shards, err := filepath.Glob(filepath.Join(b.dir, "shards", "*.db"))
	if err != nil || len(shards) != 1 {
		t.Fatal(shards, err)
	}
	if err := b.index.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(shards[0], shards[0]+"-away"); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(shards[0], 0o700); err != nil {
		t.Fatal(err)
	}
	other := strings.ReplaceAll(header("c"), workspace, "/w/two") + user(0, "a third zephyr")
	path := filepath.Join(b.root, "--w-two--", "c", "session.jsonl")
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(other), 0o600); err != nil {
		t.Fatal(err)
	}
	b.open()
	cov, err := b.in.Refresh(t.Context(), session.Scope{All: true}, nil)
	if want := (session.Coverage{Sessions: 3, Unreadable: 2}); err != nil || cov != want {
		t.Errorf("coverage %+v, %v, want %+v", cov, err, want)
	}
	snap, err := b.index.Snapshot(t.Context(), "/w/two")
	if err != nil || snap == nil {
		t.Fatal(snap, err)
	}
	defer snap.Close()
	if rows, err := snap.Sessions(t.Context()); err != nil || len(rows) != 1 {
		t.Errorf("%d sessions, %v", len(rows), err)
	}
	if _, err := b.in.Refresh(t.Context(), session.Scope{Workspaces: []string{workspace}}, nil); err == nil {
		t.Error("the workspace alone is brought up to date without its shard")
	}
}
