package ingest_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/yorehq/yore/internal/forget"
	"github.com/yorehq/yore/internal/ingest"
	"github.com/yorehq/yore/reader/dsh"
	"github.com/yorehq/yore/session"
)

// child is the header of a subagent, or of a fork.
func child(id, parent, more string) string {
	return fmt.Sprintf(`{"type":"session","version":0,"id":%q,"createdAt":1790000000000,"cwd":%q,"parentSession":%q%s}`+"\n", id, workspace, parent, more)
}

const subagent = `,"origin":"subagent","delegationDepth":1`

// forgetful has the bench forget by a list.
func (b *bench) forgetful(shards ingest.Shards) *forget.List {
	list := forget.New(filepath.Join(b.t.TempDir(), "forgotten"))
	b.in = ingest.New(ingest.Options{
		Roots: []ingest.Root{{Reader: dsh.New(), Path: b.root}}, Catalog: b.index, Shards: shards, Forgotten: list,
	})
	return list
}

func key(id string) session.Key { return session.Key{Agent: session.DSH, ID: session.ID(id)} }

// TestSubagentsAreForgotten: those there are and those to come, at any depth; forks stay.
func TestSubagentsAreForgotten(t *testing.T) {
	b := newBench(t)
	list := b.forgetful(b.index)
	b.write("root", header("root")+user(0, "a zephyr"))
	b.write("sub", child("sub", "root", subagent)+user(0, "a zephyr"))
	b.write("subsub", child("subsub", "sub", subagent)+user(0, "a zephyr"))
	b.write("fork", child("fork", "root", `,"delegationDepth":0`)+user(0, "a zephyr"))
	b.write("other", header("other")+user(0, "a zephyr"))
	b.refresh()
	if n := b.found("zephyr"); n != 5 {
		t.Fatalf("%d sessions to begin with", n)
	}
	if err := list.Add([]session.Key{key("root")}, time.Now()); err != nil {
		t.Fatal(err)
	}
	if cov := b.refresh(); cov.Sessions != 2 {
		t.Errorf("coverage %+v, want the fork and the other one", cov)
	}
	if n := b.found("zephyr"); n != 2 {
		t.Errorf("%d sessions are left, want the fork and the other one", n)
	}
	b.write("later", child("later", "subsub", subagent)+user(0, "a zephyr"))
	b.append("root", user(1, "zephyr once more"))
	b.refresh()
	if n := b.found("zephyr"); n != 2 {
		t.Errorf("%d sessions after more was spawned", n)
	}
	// A log that is forgotten is not opened again and again.
	before := b.in.Work()
	b.refresh()
	if after := b.in.Work(); after.Bytes != before.Bytes || after.Identified != before.Identified {
		t.Errorf("a quiet look read %+v, then %+v", before, after)
	}
	if err := list.Remove([]session.Key{key("root")}); err != nil {
		t.Fatal(err)
	}
	b.refresh()
	if n := b.found("zephyr"); n != 7 { // one of them says it twice
		t.Errorf("%d events are remembered, want those of all six sessions", n)
	}
}

// interjected does something before the first transaction that writes, when the
// plan is made and the lock is not held.
type interjected struct {
	ingest.Shards
	once func()
}

func (i *interjected) Write(ctx context.Context, workspace string, work func(ingest.Writer) error) error {
	if once := i.once; once != nil {
		i.once = nil
		once()
	}
	return i.Shards.Write(ctx, workspace, work)
}

// TestForgottenBetweenPlanAndWrite: who planned to index a session before it was
// forgotten does not write it afterwards.
func TestForgottenBetweenPlanAndWrite(t *testing.T) {
	b := newBench(t)
	shards := &interjected{Shards: b.index}
	list := b.forgetful(shards)
	b.write("a", header("a")+user(0, "a zephyr"))
	b.write("b", header("b")+user(0, "a zephyr"))
	wrote := 0
	shards.once = func() {
		if err := list.Add([]session.Key{key("a")}, time.Now()); err != nil {
			t.Fatal(err)
		}
		wrote++
	}
	b.refresh()
	if n := b.found("zephyr"); n != 1 || wrote != 1 {
		t.Errorf("%d sessions are found, %d interjections", n, wrote)
	}
}

// TestForgottenAndGone: when the log of a forgotten session goes, the catalog
// forgets its header as well, and not while its whole root is away.
func TestForgottenAndGone(t *testing.T) {
	b := newBench(t)
	list := b.forgetful(b.index)
	b.write("a", header("a")+user(0, "a zephyr"))
	b.write("b", header("b")+user(0, "a zephyr"))
	b.refresh()
	if err := list.Add([]session.Key{key("a")}, time.Now()); err != nil {
		t.Fatal(err)
	}
	known := func() int {
		rows, err := b.index.Files(t.Context(), ingest.FileLookup{})
		if err != nil {
			t.Fatal(err)
		}
		return len(rows)
	}
	b.refresh()
	if n := known(); n != 2 {
		t.Errorf("%d files are catalogued", n)
	}
	away := b.root + "-away"
	if err := os.Rename(b.root, away); err != nil {
		t.Fatal(err)
	}
	b.refresh()
	if n := known(); n != 2 {
		t.Errorf("%d files are catalogued while the root is away", n)
	}
	if err := os.Rename(away, b.root); err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(filepath.Dir(b.path("a"))); err != nil {
		t.Fatal(err)
	}
	b.refresh()
	if n := known(); n != 1 {
		t.Errorf("%d files are catalogued when the log is gone", n)
	}
}

// TestClockJumps looks with a clock that stands in 1970, in 2106 and goes back and
// forth, at logs whose times do the same: nothing is missed and nothing is an error.
func TestClockJumps(t *testing.T) {
	b := newBench(t)
	at := time.Now()
	b.in = ingest.New(ingest.Options{
		Roots: []ingest.Root{{Reader: dsh.New(), Path: b.root}}, Catalog: b.index, Shards: b.index, Now: func() time.Time { return at },
	})
	year := func(y int) time.Time { return time.Date(y, 2, 7, 6, 28, 16, 0, time.UTC) }
	var next []int // of each session
	events := 0
	for i, now := range []time.Time{time.Now(), time.Unix(0, 0), year(2106), time.Now().Add(-time.Hour), year(2106), year(1970), time.Now(), time.Unix(-1, 0), time.Now().Add(time.Hour), time.Now()} {
		at = now
		id := fmt.Sprint("s", i)
		b.write(id, header(id)+user(0, fmt.Sprintf("a zephyr of %d", i)))
		next = append(next, 1)
		for _, stamp := range []time.Time{now, year(1971), year(2105)} {
			for j := range next {
				one := fmt.Sprint("s", j)
				b.append(one, user(next[j], "mistral"))
				if err := os.Chtimes(b.path(one), stamp, stamp); err != nil {
					t.Fatal(err)
				}
				next[j]++
				events++
			}
			if cov := b.refresh(); cov != (session.Coverage{Sessions: i + 1}) {
				t.Errorf("%v, logs of %v: coverage %+v", now, stamp, cov)
			}
			if sessions, said := b.found("zephyr"), b.found("mistral"); sessions != i+1 || said != events {
				t.Errorf("%v, logs of %v: %d sessions and %d events are found, want %d and %d", now, stamp, sessions, said, i+1, events)
			}
		}
	}
}
