package sqlite

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/yorehq/yore/internal/ingest"
	"github.com/yorehq/yore/query"
)

// large is how large a shard is made to be purged. Only one beyond 64 MB is wiped in
// more than one step, which takes half a minute to make.
//
//	go test ./sqlite -count=1 -run TestPurgeOfALargeShard -large 100 -v
var large = flag.Int("large", 2, "MB of the shard that a test purges")

// remove deletes sessions.
func remove(t *testing.T, x *Index, nums ...int64) {
	t.Helper()
	err := x.Write(t.Context(), workspace, func(w ingest.Writer) error {
		for _, num := range nums {
			if err := w.Delete(t.Context(), num); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// childAtRest holds a view of a shard at rest, says so, and when it is told to goes
// on reads it to its end and then another one.
func childAtRest(dir string) error {
	ctx := context.Background()
	x, err := Open(ctx, Options{Dir: dir})
	if err != nil {
		return err
	}
	defer x.Close()
	count := func(view query.Snapshot) string {
		kept, err := query.Collect(ctx, view, []string{"zephyr"}, nil)
		if errors.Is(err, query.ErrMoved) {
			return "moved"
		}
		if err != nil {
			return err.Error()
		}
		return fmt.Sprint(len(kept))
	}
	view, err := x.Snapshot(ctx, workspace)
	if err != nil {
		return err
	}
	if x.Work().Stills == 0 {
		return errors.New("the shard is not at rest")
	}
	fmt.Println("held")
	bufio.NewReader(os.Stdin).ReadString('\n')
	fmt.Println(count(view))
	view.Close()
	if view, err = x.Snapshot(ctx, workspace); err != nil {
		return err
	}
	defer view.Close()
	fmt.Println(count(view))
	return nil
}

// TestPurgeBesideAViewAtRest purges a shard while another process has a view of it
// that it reads without SQLite: that holds no lock, so nothing waits for it, and no
// byte is left on its account.
func TestPurgeBesideAViewAtRest(t *testing.T) {
	x := openAt(t, t.TempDir())
	random := rand.New(rand.NewPCG(1, 61))
	var goes []int64
	const sessions = 40
	for i := range sessions {
		if i%4 == 0 {
			goes = append(goes, put(t, x, fmt.Sprint(gonePrefix, i), "zephyr "+scattered(random, gonePrefix, 400)))
		} else {
			put(t, x, fmt.Sprint("stays", i), "zephyr "+scattered(random, "kk", 400))
		}
	}
	if err := x.Close(); err != nil {
		t.Fatal(err)
	}
	path := x.shardOf(workspace).path
	aged(t, path, time.Minute)
	c := command(t, x.dir, "at rest")
	in, err := c.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	c.Stderr = os.Stderr
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	said := bufio.NewScanner(out)
	if !said.Scan() || said.Text() != "held" {
		t.Fatalf("it holds no view: %q", said.Text())
	}
	y := openAt(t, x.dir)
	remove(t, y, goes...)
	if done, err := y.Purge(t.Context(), workspace); !done || err != nil {
		t.Errorf("Purge beside a view at rest = %v, %v", done, err)
	}
	remains(t, x.dir)
	fmt.Fprintln(in)
	var answers []string
	for said.Scan() {
		answers = append(answers, said.Text())
	}
	if err := c.Wait(); err != nil {
		t.Error(err)
	}
	stay := fmt.Sprint(sessions - len(goes))
	if len(answers) != 2 || answers[0] != "moved" && answers[0] != fmt.Sprint(sessions) || answers[1] != stay {
		t.Errorf("the view says %q, want what was there or that it moved, and then %s", answers, stay)
	}
	remains(t, x.dir)
}

// TestReadingAtRestBesidePurges reads a shard that is at rest now and then, while
// sessions come and go and are wiped: each reading is of one state, or says that
// the shard moved.
func TestReadingAtRestBesidePurges(t *testing.T) {
	dir := t.TempDir()
	x := openAt(t, dir)
	random := rand.New(rand.NewPCG(1, 62))
	for i := range 12 {
		put(t, x, fmt.Sprint("stays", i), "zephyr "+scattered(random, "kk", 300), "zephyr two")
	}
	if err := x.Close(); err != nil {
		t.Fatal(err)
	}
	aged(t, x.shardOf(workspace).path, time.Minute)
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var reading sync.WaitGroup
	stills, moved, whole := int64(0), 0, 0
	reading.Go(func() {
		for ctx.Err() == nil {
			y, err := Open(t.Context(), Options{Dir: dir, BusyTimeout: 5 * time.Second})
			if err != nil {
				t.Error(err)
				return
			}
			err = func() error {
				view, err := y.Snapshot(t.Context(), workspace)
				if err != nil {
					return err
				}
				defer view.Close()
				totals, err := view.Totals(t.Context(), nil)
				if err != nil {
					return err
				}
				found, err := query.Collect(t.Context(), view, []string{"zephyr"}, nil)
				if err == nil && int64(len(found)) != totals.Documents {
					t.Errorf("%d of %d documents", len(found), totals.Documents)
				}
				return err
			}()
			switch {
			case errors.Is(err, query.ErrMoved):
				moved++
			case err != nil:
				t.Error(err)
			default:
				whole++
			}
			stills += y.Work().Stills
			if err := y.Close(); err != nil {
				t.Error(err)
			}
		}
	})
	for round := range 12 {
		z, err := Open(t.Context(), Options{Dir: dir, BusyTimeout: 5 * time.Second})
		if err != nil {
			t.Fatal(err)
		}
		num := put(t, z, fmt.Sprint(gonePrefix, round), "zephyr "+scattered(random, gonePrefix, 300))
		remove(t, z, num)
		if _, err := z.Purge(t.Context(), workspace); err != nil { // not done beside a reader in SQLite
			t.Fatal(err)
		}
		if err := z.Close(); err != nil {
			t.Fatal(err)
		}
		aged(t, x.shardOf(workspace).path, time.Minute)
		time.Sleep(20 * time.Millisecond)
	}
	stop()
	reading.Wait()
	t.Logf("%d readings whole, %d moved, %d at rest", whole, moved, stills)
	if whole == 0 || stills == 0 {
		t.Error("nothing was read at rest")
	}
	if done, err := openAt(t, dir).Purge(t.Context(), workspace); !done || err != nil {
		t.Fatalf("Purge = %v, %v", done, err)
	}
	remains(t, dir)
}

// TestPurgeOfALargeShard deletes every third session of a shard that is wiped in
// steps, and looks for their words in every byte.
func TestPurgeOfALargeShard(t *testing.T) {
	x := openAt(t, t.TempDir())
	random := rand.New(rand.NewPCG(1, 63))
	var goes []int64
	size := int64(0)
	begin := time.Now()
	for i := 0; size < int64(*large)<<20; i++ {
		prefix := []string{"kk", "kk", gonePrefix}[i%3]
		var texts []string
		for range 20 {
			texts = append(texts, scattered(random, string(rune('a'+random.IntN(26)))+prefix, 1000))
		}
		num := put(t, x, fmt.Sprint(prefix, i), texts...)
		if i%3 == 2 {
			goes = append(goes, num)
		}
		if info, err := os.Stat(x.shardOf(workspace).path); err == nil {
			size = info.Size()
		}
	}
	t.Logf("a shard of %d MB after %v, %d sessions go", size>>20, time.Since(begin).Round(time.Second), len(goes))
	remove(t, x, goes...)
	begin = time.Now()
	if done, err := x.Purge(t.Context(), workspace); !done || err != nil {
		t.Fatalf("Purge = %v, %v", done, err)
	}
	t.Logf("purged after %v", time.Since(begin).Round(100*time.Millisecond))
	remains(t, x.dir)
	if health, err := x.Check(t.Context(), true); err != nil || health.Shards[0].Problem != "" || health.Shards[0].PurgeDue {
		t.Errorf("Check = %+v, %v", health, err)
	}
}
