package sqlite

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/yorehq/yore/internal/ingest"
	"github.com/yorehq/yore/query"
	"github.com/yorehq/yore/session"
)

// gonePrefix is in every word of what is deleted.
const gonePrefix = "zqxjzq"

// scattered is a text of distinct words that all begin alike: some are the first
// of a block of the dictionary.
func scattered(random *rand.Rand, prefix string, n int) string {
	var b strings.Builder
	for range n {
		fmt.Fprintf(&b, "%s%08x ", prefix, random.Uint32())
	}
	return b.String()
}

// TestPurgeLeavesNothingAmongMany deletes sessions from a shard of many, in the
// midst of merges, and looks for their words, titles and ids in every byte.
func TestPurgeLeavesNothingAmongMany(t *testing.T) {
	for seed := range uint64(4) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			random := rand.New(rand.NewPCG(seed, 51))
			x := openAt(t, t.TempDir())
			var goes []int64
			one := func(i int, gone bool, words int) {
				prefix := "kk"
				if gone {
					prefix = gonePrefix
				}
				// Words of every beginning, so that dictionaries mix both kinds.
				var text []string
				for range 1 + random.IntN(4) {
					lead := string(rune('a' + random.IntN(26)))
					text = append(text, scattered(random, lead+prefix, 1+random.IntN(words)))
				}
				title := fmt.Sprint(prefix, "title", i)
				st := ingest.Stored{
					Source: fmt.Sprint("/logs/", prefix, "source", i, strings.Repeat("/x", random.IntN(40))), LastStep: -1, Title: &title,
					Header: session.Header{Agent: session.DSH, ID: session.ID(fmt.Sprint(prefix, "header", i)), Cwd: workspace},
				}
				err := x.Write(t.Context(), workspace, func(w ingest.Writer) error {
					if err := w.Put(t.Context(), &st); err != nil {
						return err
					}
					return w.Append(t.Context(), st.Num, batch(0, text...))
				})
				if err != nil {
					t.Fatal(err)
				}
				if gone {
					goes = append(goes, st.Num)
				}
			}
			for i := range 120 {
				one(i, random.IntN(5) == 0, []int{3, 40, 1200}[random.IntN(3)])
			}
			// A large one, whose merge is under way while others die.
			one(120, true, 60_000)
			one(121, false, 60_000)
			for i := range 7 {
				one(122+i, i%2 == 0, 3000)
			}
			var reader query.Snapshot
			if seed%2 == 1 { // held the log first
				var err error
				if reader, err = x.Snapshot(t.Context(), workspace); err != nil {
					t.Fatal(err)
				}
			}
			if names := holding(t, x.dir, gonePrefix); names == nil {
				t.Fatal("nothing is there to begin with")
			}
			for part := range slices.Chunk(goes, 1+len(goes)/3) {
				err := x.Write(t.Context(), workspace, func(w ingest.Writer) error {
					for _, num := range part {
						if err := w.Delete(t.Context(), num); err != nil {
							return err
						}
					}
					return nil
				})
				if err != nil {
					t.Fatal(err)
				}
				one(200+len(part), false, 500) // goes on between the deletions
			}
			if reader != nil {
				y, err := Open(t.Context(), Options{Dir: x.dir, BusyTimeout: 20 * time.Millisecond})
				if err != nil {
					t.Fatal(err)
				}
				if done, err := y.Purge(t.Context(), workspace); done || err != nil {
					t.Errorf("Purge beside a reader = %v, %v", done, err)
				}
				reader.Close()
				y.Close()
			}
			if done, err := x.Purge(t.Context(), workspace); !done || err != nil {
				t.Fatalf("Purge = %v, %v", done, err)
			}
			remains(t, x.dir)
			if health, err := x.Check(t.Context(), true); err != nil || health.Shards[0].Problem != "" || health.Shards[0].PurgeDue {
				t.Errorf("Check = %+v, %v", health, err)
			}
		})
	}
}

// remains fails for every place in an index that holds a word of what was deleted.
func remains(t *testing.T, dir string) {
	t.Helper()
	for name, info := range files(t, dir) {
		if !info.Mode().IsRegular() {
			continue
		}
		data, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		for at, n := 0, 0; n < 5; n++ {
			i := bytes.Index(data[at:], []byte(gonePrefix))
			if i < 0 {
				break
			}
			at += i
			t.Errorf("%s, byte %d (page %d): %q is left", name, at, at/pageSize+1, data[max(0, at-20):min(len(data), at+40)])
			at += pageSize
		}
	}
}

// TestPurgeInterrupted stops a purge after every number of its steps, and lets
// another process end it. What was deleted may stand in the plan of a merge.
func TestPurgeInterrupted(t *testing.T) {
	for steps := 1; steps < 3; steps++ {
		x := openAt(t, t.TempDir())
		random := rand.New(rand.NewPCG(uint64(steps), 52))
		err := x.Write(t.Context(), workspace, func(w ingest.Writer) error {
			for i := range 8 {
				prefix := []string{"kk", gonePrefix}[i%2]
				st := ingest.Stored{Source: fmt.Sprint("/logs/", prefix, i), LastStep: -1}
				if err := w.Put(t.Context(), &st); err != nil {
					return err
				}
				var texts []string
				for range 8 {
					texts = append(texts, scattered(random, string(rune('a'+random.IntN(26)))+prefix, 13_000))
				}
				if err := w.Append(t.Context(), st.Num, batch(0, texts...)); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		err = x.Write(t.Context(), workspace, func(w ingest.Writer) error {
			all, err := w.Stored(t.Context(), ingest.StoredLookup{})
			for _, st := range all {
				if err == nil && strings.Contains(st.Source, gonePrefix) {
					err = w.Delete(t.Context(), st.Num)
				}
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		c, err := x.acquire(t.Context(), x.shardOf(workspace), true)
		if err != nil {
			t.Fatal(err)
		}
		for range steps {
			err := c.transaction(t.Context(), func() error {
				_, err := c.purgeStep(t.Context())
				return err
			})
			if err != nil {
				t.Fatal(err)
			}
		}
		x.release(c)
		y := openAt(t, x.dir)
		if health, err := y.Check(t.Context(), true); err != nil || health.Shards[0].Problem != "" || !health.Shards[0].PurgeDue {
			t.Fatalf("%d steps: Check = %+v, %v", steps, health, err)
		}
		if done, err := y.Purge(t.Context(), workspace); !done || err != nil {
			t.Fatalf("%d steps: Purge = %v, %v", steps, done, err)
		}
		remains(t, x.dir)
		if health, err := y.Check(t.Context(), true); err != nil || health.Shards[0].Problem != "" || health.Shards[0].PurgeDue {
			t.Fatalf("%d steps: Check = %+v, %v", steps, health, err)
		}
	}
}

// TestPurgeLeavesNothingOfGrownSessions lets sessions grow in turn, as agents'
// logs do: SQLite then moves rows from page to page, and does not wipe where they
// stood. Texts so short are stored as they are.
func TestPurgeLeavesNothingOfGrownSessions(t *testing.T) {
	x := openAt(t, t.TempDir())
	random := rand.New(rand.NewPCG(1, 53))
	const sessions = 24
	all := make([]ingest.Stored, sessions)
	for round := range 40 {
		err := x.Write(t.Context(), workspace, func(w ingest.Writer) error {
			for i := range all {
				st := &all[i]
				prefix := []string{"kk", gonePrefix}[i%2]
				title := strings.Repeat(fmt.Sprint(prefix, "title"), 1+random.IntN(4))
				st.Source, st.Title, st.LastStep = fmt.Sprint("/logs/", prefix, i), &title, -1
				st.Header = session.Header{Agent: session.DSH, ID: session.ID(fmt.Sprint(prefix, i)), Cwd: workspace}
				if err := w.Put(t.Context(), st); err != nil {
					return err
				}
				if random.IntN(2) == 0 {
					continue
				}
				n := 1 + random.IntN(3)
				var texts []string
				for range n {
					texts = append(texts, scattered(random, string(rune('a'+random.IntN(26)))+prefix, 1+random.IntN(30)))
				}
				if err := w.Append(t.Context(), st.Num, batch(st.Events, texts...)); err != nil {
					return err
				}
				st.Events += int64(n)
				if err := w.Put(t.Context(), st); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(round, err)
		}
	}
	err := x.Write(t.Context(), workspace, func(w ingest.Writer) error {
		for i := range all {
			if i%2 == 1 {
				if err := w.Delete(t.Context(), all[i].Num); err != nil {
					return err
				}
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if done, err := x.Purge(t.Context(), workspace); !done || err != nil {
		t.Fatalf("Purge = %v, %v", done, err)
	}
	remains(t, x.dir)
	if health, err := x.Check(t.Context(), true); err != nil || health.Shards[0].Problem != "" || health.Shards[0].PurgeDue {
		t.Errorf("Check = %+v, %v", health, err)
	}
}
