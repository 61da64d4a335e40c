package sqlite

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"hash"
	"math/rand/v2"
	"os"
	"sync"
	"testing"
)

// moved fills a shard with rows of all sizes at random places, so that SQLite
// moves rows from page to page, and deletes every second one. It returns what the
// rest adds up to.
func moved(t *testing.T, x *Index, rows int) (sum string) {
	t.Helper()
	put(t, x, "begin", "one")
	c, err := x.acquire(t.Context(), x.shardOf(workspace), true)
	if err != nil {
		t.Fatal(err)
	}
	defer x.release(c)
	random := rand.New(rand.NewPCG(1, 54))
	place := random.Perm(rows)
	for at := 0; at < rows; at += 4000 {
		err := c.transaction(t.Context(), func() error {
			for _, n := range place[at:min(at+4000, rows)] {
				prefix := []string{"kk", gonePrefix}[n%2]
				data := []byte(scattered(random, prefix, 1+random.IntN(60)))
				if err := c.exec(t.Context(), `INSERT INTO texts VALUES (?, ?, ?)`, int64(1<<50+n), len(data), data); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	err = c.transaction(t.Context(), func() error {
		return errors.Join(
			c.exec(t.Context(), `DELETE FROM texts WHERE first % 2 = 1`),
			c.exec(t.Context(), `UPDATE shard SET purge = ?`, purgeTruncate),
		)
	})
	if err != nil {
		t.Fatal(err)
	}
	return textsSum(t, c)
}

func textsSum(t *testing.T, c *conn) string {
	t.Helper()
	var sum hash.Hash = sha256.New()
	err := c.rowsOf(t.Context(), `SELECT first, data FROM texts ORDER BY first`, func(r row) error {
		fmt.Fprintln(sum, r.int(0), string(r.blob(1)))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("%x", sum.Sum(nil))
}

// TestScrub wipes a shard of several pointer map pages, beside a reader whose
// view is of now, and compares every row that stays.
func TestScrub(t *testing.T) {
	x := openAt(t, t.TempDir())
	want := moved(t, x, 40_000)
	info, err := os.Stat(x.shardOf(workspace).path)
	if err != nil || info.Size() < 3*pageSize*pageSize/5 {
		t.Fatalf("too small to tell: %v, %v", info, err)
	}
	if holding(t, x.dir, gonePrefix) == nil {
		t.Fatal("nothing is left to begin with")
	}
	if done, err := x.Purge(t.Context(), workspace); !done || err != nil {
		t.Fatalf("Purge = %v, %v", done, err)
	}
	remains(t, x.dir)
	for _, y := range []*Index{x, openAt(t, x.dir)} {
		c, err := y.acquire(t.Context(), y.shardOf(workspace), false)
		if err != nil {
			t.Fatal(err)
		}
		if got := textsSum(t, c); got != want {
			t.Error("the rows that stay are not what they were")
		}
		if err := c.rowsOf(t.Context(), `PRAGMA integrity_check`, func(r row) error {
			if r.text(0) != "ok" {
				t.Error(r.text(0))
			}
			return nil
		}); err != nil {
			t.Error(err)
		}
		y.release(c)
	}
}

// TestScrubBesideAWriter: who has pages in memory from before a step, gaps and
// all, and writes them after it, is noticed.
func TestScrubBesideAWriter(t *testing.T) {
	x := openAt(t, t.TempDir())
	moved(t, x, 6_000)
	y := openAt(t, x.dir)
	other, err := y.acquire(t.Context(), y.shardOf(workspace), true)
	if err != nil {
		t.Fatal(err)
	}
	textsSum(t, other) // every page that its memory takes
	write := func(ctx context.Context) error {
		return other.transaction(ctx, func() error {
			return other.exec(ctx, `UPDATE texts SET size = size + 1 WHERE first % 200 = 0`)
		})
	}
	ctx, stop := context.WithCancel(t.Context())
	var writing sync.WaitGroup
	writing.Go(func() {
		for ctx.Err() == nil {
			if err := write(ctx); err != nil && ctx.Err() == nil {
				t.Error(err)
			}
		}
	})
	c, err := x.acquire(t.Context(), x.shardOf(workspace), true)
	if err != nil {
		t.Fatal(err)
	}
	if err := c.scrub(t.Context(), 8); !errors.Is(err, errHeld) && !errors.Is(err, errMoved) {
		t.Errorf("scrub beside a writer = %v", err)
	}
	x.release(c)
	if due, _ := x.Check(t.Context(), false); !due.Shards[0].PurgeDue {
		t.Error("nothing is due")
	}
	stop()
	writing.Wait()
	// Its memory is of before the purge that follows.
	textsSum(t, other)
	if done, err := x.Purge(t.Context(), workspace); !done || err != nil {
		t.Fatalf("Purge = %v, %v", done, err)
	}
	if err := write(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := other.checkpointLog(); err != nil {
		t.Fatal(err)
	}
	y.release(other)
	remains(t, x.dir)
}

// TestScrubRefusesDamage: nothing is written to a page that is not well-formed.
func TestScrubRefusesDamage(t *testing.T) {
	l := layout{size: 512, usable: 512}
	page := make([]byte, 512)
	page[0], page[4], page[5] = 13, 2, 1 // two cells, from 256 on
	if gaps, err := l.gaps(page, 2); err != nil || len(gaps) != 1 || gaps[0] != [2]int{12, 256} {
		t.Errorf("gaps = %v, %v", gaps, err)
	}
	// A freeblock of 20 bytes at 300, then one of 4 at 400.
	page[1], page[2] = 300>>8, 300&255
	copy(page[300:], []byte{400 >> 8, 400 & 255, 0, 20})
	copy(page[400:], []byte{0, 0, 0, 4})
	if gaps, err := l.gaps(page, 2); err != nil || fmt.Sprint(gaps) != "[[12 256] [304 320] [404 404]]" {
		t.Errorf("gaps = %v, %v", gaps, err)
	}
	for name, spoil := range map[string]func([]byte){
		"an unknown kind":               func(p []byte) { p[0] = 1 },
		"cells before their pointers":   func(p []byte) { p[3] = 1 },
		"cells behind the end":          func(p []byte) { p[5] = 3 },
		"a freeblock in the pointers":   func(p []byte) { p[1], p[2] = 0, 20 },
		"a freeblock behind the end":    func(p []byte) { p[303] = 255 },
		"a ring of freeblocks":          func(p []byte) { copy(p[400:], []byte{300 >> 8, 300 & 255}) },
		"a freeblock shorter than 4":    func(p []byte) { p[303] = 3 },
		"a freeblock that ends outside": func(p []byte) { p[402] = 1 },
	} {
		p := append([]byte(nil), page...)
		spoil(p)
		if gaps, err := l.gaps(p, 2); err == nil {
			t.Errorf("%s: %v", name, gaps)
		}
	}
}

// BenchmarkScrub measures how long the write lock is held at most.
func BenchmarkScrub(b *testing.B) {
	x := openAt(b, b.TempDir())
	var texts []string
	random := rand.New(rand.NewPCG(1, 55))
	for range 400 {
		texts = append(texts, scattered(random, "k", 20_000))
	}
	for i := 0; i < len(texts); i += 40 {
		put(b, x, fmt.Sprint("s", i), texts[i:i+40]...)
	}
	c, err := x.acquire(b.Context(), x.shardOf(workspace), true)
	if err != nil {
		b.Fatal(err)
	}
	defer x.release(c)
	size, _ := c.integer(b.Context(), `SELECT page_count * page_size FROM pragma_page_count, pragma_page_size`)
	b.SetBytes(size)
	for b.Loop() {
		if err := c.scrub(b.Context(), scrubWhole); err != nil {
			b.Fatal(err)
		}
	}
}
