package sqlite

import (
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/yorehq/yore/internal/ingest"
	"github.com/yorehq/yore/query"
)

// TestIndexAgreesWithFullText changes small shards at random, so that segments
// are many and merged at once, and asks after each transaction.
func TestIndexAgreesWithFullText(t *testing.T) {
	asked, found := 0, 0
	for seed := range uint64(7) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			x, err := OpenMemory(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			defer x.Close()
			w := newWorld(t, x, seed)
			for i := range 60 {
				w.step(12)
				found += w.compare(8)
				asked += 8
				if i%13 == 12 {
					if done, err := x.Purge(t.Context(), workspace); !done || err != nil {
						t.Fatalf("Purge = %v, %v", done, err)
					}
					w.note("purge")
					w.compare(8)
				}
			}
		})
	}
	if found < 4*asked {
		t.Errorf("%d questions found %d documents", asked, found)
	}
}

// TestPurgeBesideAGivenUpView: a snapshot whose connection was taken and which
// takes one again sees the same, although a purge wrote all segments anew, or says
// that it has to be taken again.
func TestPurgeBesideAGivenUpView(t *testing.T) {
	x := openAt(t, t.TempDir())
	num := int64(0)
	err := x.Write(t.Context(), workspace, func(w ingest.Writer) error { // one segment of both
		for _, texts := range [][]string{{"alpha gamma", "beta"}, {"alpha beta", "beta alpha"}} {
			st := ingest.Stored{Source: texts[0], LastStep: -1}
			if err := w.Put(t.Context(), &st); err != nil {
				return err
			}
			if num == 0 {
				num = st.Num
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
	if err := x.Write(t.Context(), workspace, func(w ingest.Writer) error { return w.Delete(t.Context(), num) }); err != nil {
		t.Fatal(err)
	}
	view, err := x.Snapshot(t.Context(), workspace)
	if err != nil {
		t.Fatal(err)
	}
	defer view.Close()
	moved := false
	look := func() (found []query.Posting) {
		for _, phrase := range [][]string{{"alpha"}, {"beta", "alpha"}, {"gamma"}} {
			some, err := query.Collect(t.Context(), view, phrase, nil)
			if errors.Is(err, query.ErrMoved) {
				moved = true
				return nil
			}
			if err != nil {
				t.Fatal(err)
			}
			found = append(found, some...)
		}
		return found
	}
	before := look()
	for x.giveUpOne() {
	}
	if done, err := x.Purge(t.Context(), workspace); !done || err != nil {
		t.Fatalf("Purge = %v, %v", done, err)
	}
	if diff := cmp.Diff(before, look()); diff != "" && !moved || len(before) != 3 {
		t.Errorf("(-before the purge +behind it)\n%s", diff)
	}
}

// TestMergesOfAllSizes brings so much into a shard that merges take many
// transactions, while documents are added, die and are withdrawn. Segments must
// stay few, none may be left behind, and the file must not grow beyond what is
// in it.
func TestMergesOfAllSizes(t *testing.T) {
	for seed := range uint64(1) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			x := openAt(t, t.TempDir())
			w := newWorld(t, x, 100+seed)
			stepped, most, waiting, peak := 0, 0, 0, int64(0)
			for i := range 110 {
				// A merge that one transaction brings about is done in it, as far as its
				// inputs are no larger than what was added six times. So: sizes that
				// grow by merges, and then little at a time, so that the steps are small.
				if w.bulk = 0; i < 64 {
					w.bulk = 16_000
				}
				w.step(10)
				w.compare(4)
				states, size := w.segments()
				if states[segmentMade] > 2 {
					w.fail("%d merges at a time", states[segmentMade])
				}
				if states[segmentMade] > 0 {
					stepped++
				}
				peak = max(peak, size)
				most, waiting = max(most, states[segmentLive]), max(waiting, states[segmentMerged])
				if i == 55 || i == 80 {
					if done, err := x.Purge(t.Context(), workspace); !done || err != nil {
						w.fail("Purge = %v, %v", done, err)
					}
					w.compare(4)
				}
			}
			if stepped < 4 {
				t.Errorf("merges in steps were under way in %d transactions only", stepped)
			}
			// 12 of a size are more than one merge takes; there are few sizes here.
			if most > 4*2*fanIn || waiting > 4*2*fanIn {
				t.Errorf("%d live segments, %d replaced ones", most, waiting)
			}
			// What is under way ends although little is written from here on.
			w.bulk = 0
			rounds := 0
			for states := [3]int{}; ; rounds++ {
				if states, _ = w.segments(); states[segmentMade]+states[segmentMerged] == 0 {
					break
				}
				if rounds == 200 {
					w.fail("segments %v are left", states)
				}
				w.step(1)
			}
			w.compare(20)
			if done, err := x.Purge(t.Context(), workspace); !done || err != nil {
				w.fail("Purge = %v, %v", done, err)
			}
			w.compare(20)
			states, _ := w.segments()
			t.Logf("stepped %d, live at most %d, replaced %d, rounds %d, %v", stepped, most, waiting, rounds, states)
			tidy(t, x, peak)
		})
	}
}

// tidy holds that rows of the index belong to segments, and that they and free
// pages take no more than a few times the bytes that live segments had at most.
func tidy(t *testing.T, x *Index, peak int64) {
	t.Helper()
	c, err := x.acquire(t.Context(), x.shardOf(workspace), false)
	if err != nil {
		t.Fatal(err)
	}
	defer x.release(c)
	for _, sql := range []string{
		`SELECT count(*) FROM pieces WHERE id >> 24 NOT IN (SELECT id FROM segments)`,
		`SELECT count(*) FROM columns WHERE id >> 24 NOT IN (SELECT id FROM segments)`,
		`SELECT count(*) FROM terms WHERE segment NOT IN (SELECT id FROM segments)`,
	} {
		if n, err := c.integer(t.Context(), sql); n != 0 || err != nil {
			t.Errorf("%s: %d, %v", sql, n, err)
		}
	}
	number := func(sql string) int64 {
		n, err := c.integer(t.Context(), sql)
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	all, free := number(`PRAGMA page_count`)*pageSize, number(`PRAGMA freelist_count`)*pageSize
	t.Logf("live segments at most %d, all pages %d, free %d", peak, all, free)
	// A merge needs the room of its inputs until they are swept; texts take a half or so.
	if all > 4*peak+1<<20 {
		t.Errorf("%d bytes of pages, %d of them free, for %d of live segments", all, free, peak)
	}
}
