package sqlite

import (
	"bufio"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/yorehq/yore/internal/ingest"
	"github.com/yorehq/yore/query"
	"github.com/yorehq/yore/session"
)

// A history that can be told from any point on: version v of session s has
// texts that follow from s and v alone, so a shard can be compared with what it
// must hold, whenever its writer was killed.

const killedSessions = 12

// killedTexts are what version v of session s says. A version is a text more
// than the one before, but every seventh begins anew.
func killedTexts(s, v int) (texts []string) {
	for i := v - v%7; i <= v; i++ {
		random := rand.New(rand.NewPCG(uint64(s), uint64(i)))
		var b strings.Builder
		most := 200
		if s < 2 {
			most = 5000 // so that merges take several transactions
		}
		for range 1 + random.IntN(most) {
			fmt.Fprintf(&b, "w%d u%x ", random.IntN(60), random.Uint32())
		}
		fmt.Fprintf(&b, "s%dv%d", s, i)
		texts = append(texts, b.String())
	}
	return texts
}

// advance brings a session from the version that it is stored with to the next,
// in the way of an update. One version in eleven is that it is gone.
func advance(ctx context.Context, tx ingest.Writer, s int) error {
	source := fmt.Sprint("/logs/", s)
	all, err := tx.Stored(ctx, ingest.StoredLookup{Sources: []string{source}})
	if err != nil {
		return err
	}
	st := ingest.Stored{Source: source, Header: session.Header{Agent: session.DSH, ID: session.ID(source), Cwd: workspace}, LastStep: -1, Mapping: "-1"}
	if len(all) > 0 {
		st = all[0]
	}
	v, err := strconv.Atoi(st.Mapping)
	if err != nil {
		return err
	}
	if v++; v%11 == 10 && st.Num != 0 {
		return tx.Delete(ctx, st.Num)
	}
	st.Mapping = fmt.Sprint(v)
	if err := tx.Put(ctx, &st); err != nil {
		return err
	}
	texts := killedTexts(s, v)
	if len(texts) == 1 && v > 0 {
		if err := tx.Clear(ctx, st.Num); err != nil {
			return err
		}
	}
	n := len(texts) - 1
	return tx.Append(ctx, st.Num, batch(int64(n), texts[n:]...))
}

// childOfKills changes the shard until it is killed: appends, rewrites,
// deletions, with their merges, and purges.
func childOfKills(dir string, seed uint64) error {
	ctx := context.Background()
	x, err := Open(ctx, Options{Dir: dir})
	if err != nil {
		return err
	}
	defer x.Close()
	random := rand.New(rand.NewPCG(seed, uint64(os.Getpid())))
	for i := 0; ; i++ {
		err := x.Write(ctx, workspace, func(tx ingest.Writer) error {
			for range 1 + random.IntN(3) {
				if err := advance(ctx, tx, random.IntN(killedSessions)); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
		if i == 0 {
			fmt.Println("committed")
		}
		if random.IntN(12) == 0 {
			if _, err := x.Purge(ctx, workspace); err != nil {
				return err
			}
		}
	}
}

// whole holds a shard against what its sessions' versions say: at a boundary of
// transactions it is neither less nor more.
func whole(t *testing.T, x *Index) (versions int) {
	t.Helper()
	stored, err := x.Peek(t.Context(), workspace, ingest.StoredLookup{})
	if err != nil {
		t.Fatal(err)
	}
	view, err := x.Snapshot(t.Context(), workspace)
	if err != nil {
		t.Fatal(err)
	}
	if view == nil {
		return 0
	}
	defer view.Close()
	var documents int64
	counts := map[string]map[query.DocID]int32{"w7": {}, "w33": {}}
	for _, st := range stored {
		s, err := strconv.Atoi(strings.TrimPrefix(st.Source, "/logs/"))
		if err != nil {
			t.Fatal(err)
		}
		v, err := strconv.Atoi(st.Mapping)
		if err != nil {
			t.Fatal(err)
		}
		versions += v
		for n, text := range killedTexts(s, v) {
			id := query.NewDocID(st.Num, int64(n))
			documents++
			if got, err := view.Text(t.Context(), id); got != text || err != nil {
				t.Fatalf("session %d, version %d: text %d is %.40q, %v", s, v, n, got, err)
			}
			for w := range counts {
				if c := int32(strings.Count(text, w+" ")); c > 0 {
					counts[w][id] = c
				}
			}
		}
		last := fmt.Sprintf("s%dv%d", s, v)
		found, err := query.Collect(t.Context(), view, []string{last}, nil)
		if err != nil || len(found) != 1 || found[0].Doc.Session() != st.Num {
			t.Fatalf("%s is found as %v, %v", last, found, err)
		}
	}
	for w, want := range counts {
		found, err := query.Collect(t.Context(), view, []string{w}, nil)
		if err != nil {
			t.Fatal(err)
		}
		got := map[query.DocID]int32{}
		for _, p := range found {
			got[p.Doc] = p.Count
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("%s (-texts +index):\n%s", w, diff)
		}
	}
	if totals, err := view.Totals(t.Context(), nil); err != nil || totals.Documents != documents {
		t.Fatalf("%+v, %v, want %d documents", totals, err, documents)
	}
	return versions
}

// TestKilledAnywhere kills a writer again and again, at moments that nobody
// chose, and looks at what it leaves.
func TestKilledAnywhere(t *testing.T) {
	dir := t.TempDir()
	random := rand.New(rand.NewPCG(7, 71))
	versions, writes := 0, 0
	for round := range *rounds {
		c := command(t, dir, fmt.Sprint("kill ", round))
		out, err := c.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		if bufio.NewScanner(out).Scan() { // it has begun; nothing is known of where it is now
			time.Sleep(time.Duration(random.IntN(20_000)) * time.Microsecond)
			writes++
		}
		if err := c.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		c.Wait()
		func() {
			x, err := Open(t.Context(), Options{Dir: dir, BusyTimeout: 2 * time.Second})
			if err != nil {
				t.Fatal(err)
			}
			defer x.Close()
			versions += whole(t, x)
			health, err := x.Check(t.Context(), true)
			if err != nil || len(health.Shards) > 0 && health.Shards[0].Problem != "" {
				t.Fatalf("round %d: %+v, %v", round, health, err)
			}
			// One refresh: what the logs say by now is brought in, and the merges and
			// purges that were under way go on.
			err = x.Write(t.Context(), workspace, func(tx ingest.Writer) error {
				for s := range killedSessions {
					if err := advance(t.Context(), tx, s); err != nil {
						return err
					}
				}
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
			whole(t, x)
			if round%10 == 9 {
				if done, err := x.Purge(t.Context(), workspace); !done || err != nil {
					t.Fatalf("Purge = %v, %v", done, err)
				}
				whole(t, x)
			}
		}()
	}
	if writes < *rounds*9/10 || versions == 0 {
		t.Errorf("%d of %d writers began, %d versions", writes, *rounds, versions)
	}
}
