package sqlite

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/yorehq/yore/internal/ingest"
	"github.com/yorehq/yore/query"
)

// The test binary is its own second process.
const (
	childDir  = "YORE_TEST_CHILD_INDEX"
	childWork = "YORE_TEST_CHILD_WORK"
)

func TestMain(m *testing.M) {
	if dir := os.Getenv(childDir); dir != "" {
		if err := child(dir, os.Getenv(childWork)); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// child appends to the session that is there, one document a transaction:
// twenty times, or until it is killed.
func child(dir, work string) error {
	if work == "at rest" {
		return childAtRest(dir)
	}
	if work == "many" {
		return childOfMany(dir)
	}
	if seed, ok := strings.CutPrefix(work, "kill "); ok {
		n, err := strconv.ParseUint(seed, 10, 64)
		if err != nil {
			return err
		}
		return childOfKills(dir, n)
	}
	ctx := context.Background()
	x, err := Open(ctx, Options{Dir: dir})
	if err != nil {
		return err
	}
	defer x.Close()
	for i := 0; i < 20 || work == "forever"; i++ {
		if err := appendOne(ctx, x, "child"); err != nil {
			return err
		}
		fmt.Println("committed")
	}
	return nil
}

// appendOne adds a document behind the last one of the shard's only session.
func appendOne(ctx context.Context, x *Index, word string) error {
	return x.Write(ctx, workspace, func(w ingest.Writer) error {
		all, err := w.Stored(ctx, ingest.StoredLookup{})
		if err != nil {
			return err
		}
		st := all[0]
		if err := w.Append(ctx, st.Num, batch(st.Events, fmt.Sprintf("%s number%d", word, st.Events))); err != nil {
			return err
		}
		st.Events++
		return w.Put(ctx, &st)
	})
}

func command(t *testing.T, dir, work string) *exec.Cmd {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	c := exec.CommandContext(t.Context(), self)
	c.Env = append(os.Environ(), childDir+"="+dir, childWork+"="+work)
	return c
}

// consistent checks a shard against itself: the counters, the records, the
// postings and the texts all tell of the same documents.
func consistent(t *testing.T, x *Index) (events int64) {
	t.Helper()
	view, err := x.Snapshot(t.Context(), workspace)
	if err != nil || view == nil {
		t.Fatalf("snapshot %v, %v", view, err)
	}
	defer view.Close()
	rows, err := view.Sessions(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	docs, err := view.Log(rows[0].Num).Documents(t.Context(), 0, 1<<40)
	if err != nil {
		t.Fatal(err)
	}
	events = rows[0].Events
	totals, err := view.Totals(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if rows[0].Documents != events || int64(len(docs)) != events || totals.Documents != events || totals.Tokens != 2*events {
		t.Errorf("%d events, %d entries, %d documents, totals %+v", events, rows[0].Documents, len(docs), totals)
	}
	for n := range events {
		id := query.NewDocID(rows[0].Num, n)
		found, err := query.Collect(t.Context(), view, []string{fmt.Sprint("number", n)}, nil)
		if err != nil || len(found) != 1 || found[0].Doc != id {
			t.Errorf("document %d: found %v, %v", n, found, err)
		}
		text, err := view.Text(t.Context(), id)
		if err != nil || !strings.HasSuffix(text, fmt.Sprint(" number", n)) {
			t.Errorf("document %d: text %q, %v", n, text, err)
		}
	}
	health, err := x.Check(t.Context(), true)
	if err != nil || health.Shards[0].Problem != "" {
		t.Errorf("Check = %+v, %v", health, err)
	}
	return events
}

func TestTwoProcesses(t *testing.T) {
	x := openAt(t, t.TempDir())
	put(t, x, "shared")
	kept, err := x.Snapshot(t.Context(), workspace)
	if err != nil {
		t.Fatal(err)
	}
	c := command(t, x.dir, "twenty")
	var said bytes.Buffer
	c.Stderr = &said
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	for range 20 {
		if err := appendOne(t.Context(), x, "parent"); err != nil {
			t.Error(err)
		}
	}
	if err := c.Wait(); err != nil {
		t.Fatalf("%v: %s", err, said.String())
	}
	if early, err := kept.Totals(t.Context(), nil); err != nil || early.Documents != 0 {
		t.Errorf("the early snapshot counts %d documents, %v", early.Documents, err)
	}
	kept.Close()
	if events := consistent(t, x); events != 40 {
		t.Errorf("%d events, want 40", events)
	}
	if got := hits(t, x, "child"); got != 20 {
		t.Errorf("%d documents of the other process", got)
	}
}

func TestKilledWriter(t *testing.T) {
	x := openAt(t, t.TempDir())
	put(t, x, "shared")
	var committed int64
	for round := range 3 {
		c := command(t, x.dir, "forever")
		out, err := c.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		lines := bufio.NewScanner(out)
		for range 10 + 7*round {
			if lines.Scan() {
				committed++
			}
		}
		if err := c.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		for lines.Scan() {
			committed++
		}
		c.Wait()
		if err := appendOne(t.Context(), x, "parent"); err != nil {
			t.Fatalf("after the kill: %v", err)
		}
		committed++
		events := consistent(t, x)
		if events < committed {
			t.Errorf("%d events, %d were committed", events, committed)
		}
		committed = events
	}
}

func TestTwoInstances(t *testing.T) {
	x := openAt(t, t.TempDir())
	y := openAt(t, x.dir)
	put(t, x, "shared")
	var group sync.WaitGroup
	for _, one := range []*Index{x, y, x, y} {
		group.Go(func() {
			for range 15 {
				if err := appendOne(t.Context(), one, "both"); err != nil {
					t.Error(err)
				}
				touch(t.Context(), one)
			}
		})
	}
	group.Wait()
	for _, one := range []*Index{x, y} {
		if events := consistent(t, one); events != 60 {
			t.Errorf("%d events, want 60", events)
		}
	}
}

func TestBusy(t *testing.T) {
	x := openAt(t, t.TempDir())
	put(t, x, "one")
	y, err := Open(t.Context(), Options{Dir: x.dir, BusyTimeout: 30 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	defer y.Close()
	nothing := func(ingest.Writer) error {
		t.Error("work ran without the lock")
		return nil
	}
	err = x.Write(t.Context(), workspace, func(ingest.Writer) error {
		if err := y.Write(t.Context(), workspace, nothing); !errors.Is(err, ingest.ErrBusy) {
			t.Errorf("Write beside a writer = %v", err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
		defer cancel()
		err := x.Write(ctx, workspace, nothing)
		if !errors.Is(err, ingest.ErrBusy) || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Write with a short context = %v", err)
		}
		if hits(t, y, "x") != 0 {
			t.Error("a reader did not see an empty shard")
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
	if err := y.Write(t.Context(), workspace, func(ingest.Writer) error { return nil }); err != nil {
		t.Errorf("Write after the writer = %v", err)
	}
}

func TestCancelled(t *testing.T) {
	x := openAt(t, t.TempDir())
	texts := make([]string, 3000)
	for i := range texts {
		texts[i] = strings.Repeat("the ", 60)
	}
	put(t, x, "one", texts...)
	view, err := x.Snapshot(t.Context(), workspace)
	if err != nil {
		t.Fatal(err)
	}
	defer view.Close()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := query.Collect(ctx, view, []string{"the"}, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("Match = %v", err)
	}
	// The end of a context interrupts a statement that runs.
	ctx, cancel = context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	for err = nil; err == nil; {
		_, err = query.Collect(ctx, view, []string{"the", "the"}, nil)
	}
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("Match = %v", err)
	}
	if found, err := query.Collect(t.Context(), view, []string{"the", "the"}, nil); len(found) != len(texts) || err != nil {
		t.Errorf("after it: %d found, %v", len(found), err)
	}
	if _, err := x.Snapshot(ctx, workspace); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("Snapshot = %v", err)
	}
	err = x.Write(t.Context(), workspace, func(w ingest.Writer) error { return w.Clear(ctx, 1) })
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("Write = %v", err)
	}
	if got := hits(t, x, "the"); got != len(texts) {
		t.Errorf("%d hits after a cancelled Clear", got)
	}
}

func TestPoolIsBounded(t *testing.T) {
	x, err := Open(t.Context(), Options{Dir: filepath.Join(t.TempDir(), "index"), MaxOpen: 3})
	if err != nil {
		t.Fatal(err)
	}
	defer x.Close()
	for i := range 10 {
		err := x.Write(t.Context(), fmt.Sprint("/w", i), func(w ingest.Writer) error {
			return w.Put(t.Context(), &ingest.Stored{Source: "s"})
		})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := x.Peek(t.Context(), fmt.Sprint("/w", i/2), ingest.StoredLookup{}); err != nil {
			t.Fatal(err)
		}
		if n := len(x.idle); n > 3 {
			t.Errorf("%d connections are kept", n)
		}
	}
	all, err := x.Workspaces(t.Context())
	if err != nil || len(all) != 10 {
		t.Errorf("Workspaces = %v, %v", all, err)
	}
}

func TestDriverPanic(t *testing.T) {
	x := openAt(t, t.TempDir())
	put(t, x, "one", "text")
	c, err := x.acquire(t.Context(), x.shardOf(workspace), false)
	if err != nil {
		t.Fatal(err)
	}
	err = c.rowsOf(t.Context(), `SELECT 1`, func(row) error { panic("out of memory") })
	if err == nil || !strings.Contains(err.Error(), "out of memory") {
		t.Errorf("error %v", err)
	}
	x.release(c)
	for _, kept := range x.idle {
		if kept == c {
			t.Error("the connection is kept")
		}
	}
	if got := hits(t, x, "text"); got != 1 {
		t.Errorf("%d hits", got)
	}
}
