package postgres_test

import (
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/yorehq/yore/internal/ingest"
	"github.com/yorehq/yore/postgres"
	"github.com/yorehq/yore/postgres/postgrestest"
	"github.com/yorehq/yore/session"
)

// TestKilled kills PostgreSQL while batches come in, some of which are sent again
// because no answer came: whatever was acknowledged is there, and everything once.
func TestKilled(t *testing.T) {
	cluster, err := postgrestest.Start(programs(t)) // this one waits for its disks
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(cluster.Stop)
	dsn := cluster.Database(t)
	db := openAt(t, dsn)
	tenant := db.Tenant("acme")
	const writers, rounds = 3, 3
	var acked [writers]int64 // batches that were acknowledged, in order
	var again atomic.Int64
	for round := range rounds {
		stop := make(chan struct{})
		ended := make(chan int, writers)
		for n := range writers {
			go func() {
				defer func() { ended <- n }()
				workspace := fmt.Sprint("/w", n%2)
				for {
					select {
					case <-stop:
						return
					default:
					}
					batch := acked[n]
					_, known, err := tenant.Apply(t.Context(), workspace, fmt.Sprint(n, " ", batch), func(w *postgres.Writer) error {
						all, err := w.Stored(t.Context(), ingest.StoredLookup{Sources: []string{fmt.Sprint(n)}})
						if err != nil {
							return err
						}
						st := ingest.Stored{Source: fmt.Sprint(n), Header: session.Header{Agent: session.DSH, ID: session.ID(fmt.Sprint(n)), Cwd: workspace}, LastStep: -1}
						if len(all) > 0 {
							st = all[0]
						}
						if st.Events != 3*batch {
							return fmt.Errorf("the session has %d events before batch %d", st.Events, batch)
						}
						st.Events += 3
						if err := w.Put(t.Context(), &st); err != nil {
							return err
						}
						var b ingest.Batch
						for i := range int64(3) {
							b.Entries = append(b.Entries, entry(3*batch+i, fmt.Sprint("writer", n, " word")))
						}
						return w.Append(t.Context(), st.Num, &b)
					})
					if known {
						again.Add(1)
					}
					if err == nil {
						acked[n]++
						continue
					}
					time.Sleep(5 * time.Millisecond) // killed, or not up yet: the same batch again
				}
			}()
		}
		time.Sleep(time.Duration(300+200*round) * time.Millisecond)
		if err := cluster.Kill(); err != nil {
			t.Fatal(err)
		}
		if err := cluster.Run(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(300 * time.Millisecond)
		close(stop)
		for range writers {
			<-ended
		}
	}
	total := int64(0)
	for n := range writers {
		total += acked[n]
		have := int64(found(t, tenant, fmt.Sprint("/w", n%2), fmt.Sprint("writer", n)))
		if have != 3*acked[n] {
			t.Errorf("writer %d was acknowledged %d events, and %d are there", n, 3*acked[n], have)
		}
	}
	if total < 10 {
		t.Errorf("only %d batches were acknowledged: the test shows nothing", total)
	}
	t.Logf("%d batches acknowledged, %d of them at the second asking", total, again.Load())
}
