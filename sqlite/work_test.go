package sqlite

import (
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/yorehq/yore/internal/ingest"
	"github.com/yorehq/yore/query"
	"github.com/yorehq/yore/session"
)

// grown makes a shard of 100,000 documents of some 20 words, 500 a session.
func grown(t *testing.T) (x *Index, random *rand.Rand) {
	x, random = openAt(t, t.TempDir()), rand.New(rand.NewPCG(9, 81))
	for i := range 200 {
		var b ingest.Batch
		for n := range int64(500) {
			b.Entries = append(b.Entries, ingest.Entry{Seq: n, Type: session.UserMessage, Speaker: session.Human, Text: sentence(random, 20), Surface: true, Order: defaultOrder(n)})
		}
		st := ingest.Stored{Source: fmt.Sprint("/logs/", i), LastStep: -1}
		err := x.Write(t.Context(), workspace, func(w ingest.Writer) error {
			if err := w.Put(t.Context(), &st); err != nil {
				return err
			}
			return w.Append(t.Context(), st.Num, &b)
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return x, random
}

func sentence(random *rand.Rand, words int) string {
	var b strings.Builder
	for range words {
		switch random.IntN(4) {
		case 0:
			b.WriteString("the ")
		case 1:
			fmt.Fprintf(&b, "word%d ", random.IntN(2000))
		default:
			fmt.Fprintf(&b, "%x ", random.Uint32N(1<<20))
		}
	}
	return b.String()
}

// TestWorkOnALargeShard holds what appends and searches may cost: an append
// writes for what is new, on average and at most, whatever merges it finds due;
// a search reads what the rarest word and the narrowest range leave.
func TestWorkOnALargeShard(t *testing.T) {
	x, random := grown(t)
	const appends = 300
	var logged []int64 // bytes of pages that each append wrote
	path := x.shardOf(workspace).path + "-wal"
	c, err := x.acquire(t.Context(), x.shardOf(workspace), true)
	if err != nil {
		t.Fatal(err)
	}
	x.release(c)
	for i := range int64(appends) {
		if err := c.truncate(t.Context()); err != nil {
			t.Fatal(err)
		}
		var b ingest.Batch
		for n := range int64(10) {
			seq := 500 + 10*i + n
			b.Entries = append(b.Entries, ingest.Entry{Seq: seq, Type: session.UserMessage, Speaker: session.Human, Text: sentence(random, 20), Surface: true, Order: defaultOrder(seq)})
		}
		if i == appends-1 {
			b.Entries[3].Text = "the needle"
		}
		if err := x.Write(t.Context(), workspace, func(w ingest.Writer) error { return w.Append(t.Context(), 7, &b) }); err != nil {
			t.Fatal(err)
		}
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		logged = append(logged, info.Size())
	}
	sum := int64(0)
	for _, n := range logged {
		sum += n
	}
	slices.Sort(logged)
	t.Logf("bytes of pages an append: mean %d, median %d, most %d", sum/appends, logged[appends/2], logged[appends-1])
	// A step writes stepLeast at least and removes as much, in pages that are half
	// full at worst; a small merge moves atOnce.
	if sum/appends > 200<<10 || logged[appends/2] > 200<<10 || logged[appends-1] > 3<<20 {
		t.Errorf("an append of 10 documents to 100,000 wrote %d bytes on average and %d at most", sum/appends, logged[appends-1])
	}
	y := openAt(t, x.dir) // with nothing in memory
	view, err := y.Snapshot(t.Context(), workspace)
	if err != nil {
		t.Fatal(err)
	}
	defer view.Close()
	cost := func(want int, phrase []string, within []query.Span) (statements int64) {
		t.Helper()
		before := y.Work().Statements
		found, err := query.Collect(t.Context(), view, phrase, within)
		if err != nil || len(found) < want {
			t.Fatalf("%q: %d found, %v", phrase, len(found), err)
		}
		return y.Work().Statements - before
	}
	cost(0, []string{"absent"}, nil) // what any search reads first
	inOne := cost(1, []string{"the"}, []query.Span{query.SpanOf(50)})
	rare := cost(1, []string{"the", "needle"}, nil)
	common := cost(90_000, []string{"the"}, nil)
	t.Logf("statements: %d for a common word, %d beside a rare one, %d in one session", common, rare, inOne)
	states, _ := (&world{t: t, x: y}).segments()
	if live := int64(states[segmentLive]); rare > 3*live+8 || inOne > 2*live+8 || common < 10*inOne {
		t.Errorf("%d statements for a common word, %d beside a rare one, %d in one session; %d segments", common, rare, inOne, live)
	}
}
