package sqlite

import (
	"fmt"
	"math/rand/v2"
	"testing"
)

// TestSegmentsStayFew plays the policy of merges on sizes alone, for appends of
// one size each: what is live at most, while a merge of hundreds of megabytes
// goes on in steps, is what a query has to look into.
func TestSegmentsStayFew(t *testing.T) {
	for _, each := range []int64{2 << 10, 20 << 10, 100 << 10, 200 << 10, 600 << 10, 2 << 20} {
		t.Run(fmt.Sprint(each>>10, " KB"), func(t *testing.T) {
			random := rand.New(rand.NewPCG(uint64(each), 41))
			var live []segment
			type merge struct{ id, size, left int64 }
			var running []merge
			underWay := map[int64]int64{}
			next, most, nesting, moved, total := int64(0), 0, 0, int64(0), int64(0)
			finish := func(m merge) {
				kept := []segment{}
				for _, g := range live {
					if underWay[g.id] != m.id {
						kept = append(kept, g)
					}
					if underWay[g.id] == m.id {
						delete(underWay, g.id)
					}
				}
				live = append(kept, segment{id: m.id, size: m.size})
				moved += m.size
			}
			for range int(min(60_000, (2<<30)/each)) {
				next++
				size := each/2 + random.Int64N(each)
				total += size
				live = append(live, segment{id: next, size: size})
				for {
					due := dueMerge(live, underWay)
					if due == nil {
						break
					}
					next++
					m := merge{next, sizeOf(due), sizeOf(due)}
					for _, g := range due {
						underWay[g.id] = m.id
					}
					if m.size > atOnce {
						running = append(running, m)
						break
					}
					finish(m)
				}
				if n := len(running); n > 0 {
					nesting = max(nesting, n)
					if running[n-1].left -= max(stepLeast, stepFactor*size); running[n-1].left <= 0 {
						finish(running[n-1])
						running = running[:n-1]
					}
				}
				most = max(most, len(live))
			}
			t.Logf("%d MB: at most %d live segments, %d merges at a time, each byte moved %.1f times", total>>20, most, nesting, float64(moved)/float64(total))
			if most > 80 || nesting > 6 || moved > 7*total {
				t.Errorf("%d live segments, %d merges at a time, %d bytes moved for %d", most, nesting, moved, total)
			}
		})
	}
}
