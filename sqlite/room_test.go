package sqlite

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/yorehq/yore/fault"
	"github.com/yorehq/yore/internal/ingest"
	"github.com/yorehq/yore/query"
)

const manyShards = 80

func numbered(i int) string { return fmt.Sprint("/many/", i) }

// makeMany makes shards of one document each.
func makeMany(ctx context.Context, x *Index, n int) error {
	for i := range n {
		err := x.Write(ctx, numbered(i), func(w ingest.Writer) error {
			st := ingest.Stored{Source: "s"}
			if err := w.Put(ctx, &st); err != nil {
				return err
			}
			return w.Append(ctx, st.Num, batch(0, fmt.Sprint("everywhere word", i)))
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// fanOut has snapshots of all shards open at a time and reads each several
// times, as a search over everything does.
func fanOut(ctx context.Context, x *Index, n int) (err error) {
	all := make([]query.Snapshot, n)
	for i := range all {
		if all[i], err = x.Snapshot(ctx, numbered(i)); err != nil || all[i] == nil {
			return fmt.Errorf("snapshot %d: %v, %w", i, all[i], err)
		}
		defer all[i].Close()
	}
	for range 3 {
		for i, view := range all {
			found, err := query.Collect(ctx, view, []string{fmt.Sprint("word", i)}, nil)
			if err != nil || len(found) != 1 {
				return fmt.Errorf("match %d: %v, %w", i, found, err)
			}
			text, err := view.Text(ctx, found[0].Doc)
			if err != nil || text != fmt.Sprint("everywhere word", i) {
				return fmt.Errorf("text %d: %q, %w", i, text, err)
			}
			log := view.Log(1)
			for range 2 {
				docs, err := log.Documents(ctx, 0, 9)
				if err != nil || len(docs) != 1 {
					return fmt.Errorf("documents %d: %v, %w", i, docs, err)
				}
			}
		}
	}
	return nil
}

// childOfMany works on many shards under whatever limit it was started with.
func childOfMany(dir string) error {
	ctx := context.Background()
	x, err := Open(ctx, Options{Dir: dir, MaxOpen: 60, Logger: slog.New(slog.NewTextHandler(os.Stderr, nil))})
	if err != nil {
		return err
	}
	defer x.Close()
	if all, err := x.Workspaces(ctx); err != nil {
		return err
	} else if len(all) == 0 {
		if err := makeMany(ctx, x, manyShards); err != nil {
			return err
		}
	}
	return fanOut(ctx, x, manyShards)
}

// TestFewDescriptors: a process that may open few files makes and searches many
// shards, and takes none of them for damaged.
func TestFewDescriptors(t *testing.T) {
	shell, err := exec.LookPath("sh")
	if err != nil {
		t.Logf("no shell sets a limit here: %v", err)
		return
	}
	dir := filepath.Join(t.TempDir(), "index")
	var before map[string]os.FileInfo
	for round, limit := range []int{128, 64} {
		self := command(t, dir, "many")
		c := exec.CommandContext(t.Context(), shell, "-c", fmt.Sprintf(`ulimit -n %d && exec "$0"`, limit), self.Path)
		c.Env = self.Env
		said, err := c.CombinedOutput()
		if err != nil || strings.Contains(string(said), "damaged") {
			t.Fatalf("with %d descriptors, round %d: %v\n%s", limit, round, err, said)
		}
		after := files(t, filepath.Join(dir, shardFolder))
		if len(after) != manyShards+1 {
			t.Errorf("%d files among the shards", len(after))
		}
		for name, info := range before {
			if !os.SameFile(info, after[name]) {
				t.Errorf("%s was made anew", name)
			}
		}
		before = after
	}
}

// TestExhausted: what cannot be opened at all for want of descriptors fails with
// that reason.
func TestExhausted(t *testing.T) {
	shell, err := exec.LookPath("sh")
	if err != nil {
		t.Logf("no shell sets a limit here: %v", err)
		return
	}
	x := openAt(t, filepath.Join(t.TempDir(), "index"))
	if err := errors.Join(makeMany(t.Context(), x, manyShards), x.Close()); err != nil {
		t.Fatal(err)
	}
	before := files(t, filepath.Join(x.dir, shardFolder))
	self := command(t, x.dir, "many")
	failed := 0 // the runtime has a few files of its own, so the limit at which it fails varies
	for _, limit := range []int{7, 9, 12} {
		c := exec.CommandContext(t.Context(), shell, "-c", fmt.Sprintf(`ulimit -n %d && exec "$0"`, limit), self.Path)
		c.Env = self.Env
		said, err := c.CombinedOutput()
		if strings.Contains(string(said), "damaged") || strings.Contains(string(said), "no database") {
			t.Errorf("with %d descriptors: %s", limit, said)
		}
		if err != nil {
			failed++
		}
		if err != nil && strings.Contains(string(said), string(fault.IndexFailed)) && !strings.Contains(string(said), "too many open files") && !strings.Contains(string(said), "unable to open") {
			t.Errorf("with %d descriptors no reason is given: %s", limit, said)
		}
	}
	if failed == 0 {
		t.Error("no limit was low enough")
	}
	after := files(t, filepath.Join(x.dir, shardFolder))
	for name, info := range before {
		if strings.HasSuffix(name, shardSuffix) && !os.SameFile(info, after[name]) {
			t.Errorf("%s was made anew", name)
		}
	}
}

func TestOpenIsBounded(t *testing.T) {
	const bound = 5
	x, err := Open(t.Context(), Options{Dir: filepath.Join(t.TempDir(), "index"), MaxOpen: bound})
	if err != nil {
		t.Fatal(err)
	}
	defer x.Close()
	if err := makeMany(t.Context(), x, 20); err != nil {
		t.Fatal(err)
	}
	check := func() {
		t.Helper()
		x.mu.Lock()
		defer x.mu.Unlock()
		if x.opened > bound || x.opened != len(x.idle)+len(x.views) {
			t.Errorf("%d connections are open, %d idle, %d of snapshots", x.opened, len(x.idle), len(x.views))
		}
	}
	var all []query.Snapshot
	for i := range 20 {
		view, err := x.Snapshot(t.Context(), numbered(i))
		if err != nil {
			t.Fatal(err)
		}
		defer view.Close()
		all = append(all, view)
		check()
	}
	for i, view := range all {
		if found, err := query.Collect(t.Context(), view, []string{fmt.Sprint("word", i)}, nil); err != nil || len(found) != 1 {
			t.Errorf("match %d: %v, %v", i, found, err)
		}
		check()
	}
	// The views are as of when they were opened, or say that they are not.
	err = x.Write(t.Context(), numbered(3), func(w ingest.Writer) error {
		return w.Put(t.Context(), &ingest.Stored{Source: "another"})
	})
	if err != nil {
		t.Fatal(err)
	}
	stale := 0
	for _, view := range all {
		switch rows, err := view.Sessions(t.Context()); {
		case errors.Is(err, fault.StaleCursor):
			stale++
		case err != nil || len(rows) != 1:
			t.Errorf("sessions: %v, %v", rows, err)
		}
	}
	if stale > 1 {
		t.Errorf("%d views are stale, one shard was changed", stale)
	}
	if _, err := all[19].Sessions(t.Context()); err != nil {
		t.Error(err)
	}
	for _, view := range all {
		view.Close()
	}
	check()
	if _, err := all[0].Sessions(t.Context()); !errors.Is(err, fault.IndexFailed) {
		t.Errorf("Sessions of a closed snapshot = %v", err)
	}
}

// TestStaleView: a view whose connection was given up and whose shard changed
// does not show the new state as the old.
func TestStaleView(t *testing.T) {
	x := openAt(t, t.TempDir())
	put(t, x, "one", "text")
	view, err := x.Snapshot(t.Context(), workspace)
	if err != nil {
		t.Fatal(err)
	}
	defer view.Close()
	for x.giveUpOne() {
	}
	if found, err := query.Collect(t.Context(), view, []string{"text"}, nil); len(found) != 1 || err != nil {
		t.Errorf("Match after giving up = %v, %v", found, err)
	}
	was := view.Generation()
	for x.giveUpOne() {
	}
	put(t, x, "two", "text")
	for range 2 {
		if text, err := view.Text(t.Context(), query.NewDocID(1, 0)); !errors.Is(err, fault.StaleCursor) {
			t.Errorf("Text of a changed shard = %q, %v", text, err)
		}
	}
	if found, err := query.Collect(t.Context(), view, []string{"text"}, nil); len(found) != 1 || err != nil {
		t.Errorf("Match of what the view has in memory = %v, %v", found, err)
	}
	if found, err := query.Collect(t.Context(), view, []string{"texts"}, nil); !errors.Is(err, fault.StaleCursor) {
		t.Errorf("Match of a changed shard = %v, %v", found, err)
	}
	if view.Generation() != was {
		t.Error("its generation changed")
	}
}

// TestGiveUpBesideReaders: connections are taken from snapshots that other
// goroutines read.
func TestGiveUpBesideReaders(t *testing.T) {
	x, err := Open(t.Context(), Options{Dir: filepath.Join(t.TempDir(), "index"), MaxOpen: 3})
	if err != nil {
		t.Fatal(err)
	}
	defer x.Close()
	if err := makeMany(t.Context(), x, 8); err != nil {
		t.Fatal(err)
	}
	var group sync.WaitGroup
	for range 4 {
		group.Go(func() {
			if err := fanOut(t.Context(), x, 8); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	if x.opened > 3 {
		t.Errorf("%d connections are left open", x.opened)
	}
}

// TestUnreadableIsNotDamage: a file that cannot be opened says nothing of what
// is in it.
func TestUnreadableIsNotDamage(t *testing.T) {
	x := openAt(t, t.TempDir())
	put(t, x, "one", "text")
	if err := x.Close(); err != nil {
		t.Fatal(err)
	}
	path := x.shardOf(workspace).path
	for _, hidden := range []string{path, x.catalogPath()} {
		if err := os.Chmod(hidden, 0); err != nil {
			t.Fatal(err)
		}
		if f, err := os.Open(hidden); err == nil {
			f.Close()
			t.Log("this user may read everything")
			if err := os.Chmod(hidden, fileMode); err != nil {
				t.Fatal(err)
			}
			continue
		}
		y, err := Open(t.Context(), Options{Dir: x.dir})
		if err == nil {
			_, err = y.Peek(t.Context(), workspace, ingest.StoredLookup{})
			y.Close()
		}
		if !errors.Is(err, fault.IndexFailed) || !errors.Is(err, os.ErrPermission) {
			t.Errorf("%s: %v", hidden, err)
		}
		if err := os.Chmod(hidden, fileMode); err != nil {
			t.Fatal(err)
		}
	}
	// The same for whatever else can stand in the way of a look: here what should
	// be a folder is none.
	if found, err := sniff(filepath.Join(path, "below")); err == nil {
		t.Errorf("sniff = %v", found)
	}
	z := openAt(t, x.dir)
	if got := hits(t, z, "text"); got != 1 {
		t.Errorf("%d hits", got)
	}
}
