package sqlite

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/yorehq/yore/internal/ingest"
	"github.com/yorehq/yore/query"
	"github.com/yorehq/yore/session"
)

// fill builds a shard of documents of some 130 words, in transactions of 1,000,
// 200 documents a session, and returns the bytes of text in it. Words are
// Zipf-distributed; every 50,000th document holds "needle".
func fill(b *testing.B, x *Index, documents int) (size int64) {
	b.Helper()
	random := rand.New(rand.NewPCG(1, 1))
	zipf := rand.NewZipf(random, 1.1, 4, 60_000)
	var text strings.Builder
	var st ingest.Stored
	for done := 0; done < documents; done += 1000 {
		err := x.Write(b.Context(), workspace, func(w ingest.Writer) error {
			for n := done; n < min(done+1000, documents); {
				var batch ingest.Batch
				st = ingest.Stored{Source: fmt.Sprint(n), Header: session.Header{ID: session.ID(fmt.Sprint(n))}}
				if err := w.Put(b.Context(), &st); err != nil {
					return err
				}
				for seq := int64(0); seq < 200 && n < documents; seq++ {
					text.Reset()
					for range 60 + random.IntN(140) {
						fmt.Fprintf(&text, "w%d ", zipf.Uint64())
					}
					if n%50_000 == 0 {
						text.WriteString("needle")
					}
					size += int64(text.Len())
					batch.Entries = append(batch.Entries, ingest.Entry{
						Seq: seq, Type: session.UserMessage, Speaker: session.Human, Text: text.String(), Surface: true, Order: defaultOrder(seq),
					})
					n++
				}
				if err := w.Append(b.Context(), st.Num, &batch); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			b.Fatal(err)
		}
	}
	return size
}

func BenchmarkBuild(b *testing.B) {
	for _, documents := range []int{1_000, 20_000} {
		b.Run(fmt.Sprint(documents), func(b *testing.B) {
			for b.Loop() {
				x := openAt(b, b.TempDir())
				b.SetBytes(fill(b, x, documents))
			}
		})
	}
}

func BenchmarkAppend(b *testing.B) {
	x := openAt(b, b.TempDir())
	num := put(b, x, "one", make([]string, 10_000)...)
	seq := int64(10_000)
	for b.Loop() {
		err := x.Write(b.Context(), workspace, func(w ingest.Writer) error {
			return w.Append(b.Context(), num, batch(seq, "a few", "words of", "some length"))
		})
		if err != nil {
			b.Fatal(err)
		}
		seq += 3
	}
}

func BenchmarkRead(b *testing.B) {
	x := openAt(b, b.TempDir())
	fill(b, x, 100_000)
	view, err := x.Snapshot(b.Context(), workspace)
	if err != nil {
		b.Fatal(err)
	}
	defer view.Close()
	for _, c := range []struct {
		name   string
		phrase []string
		within []query.Span
	}{
		{"rare", []string{"needle"}, nil},
		{"common", []string{"w0"}, nil},
		{"phrase", []string{"w0", "w1"}, nil},
		{"overlapping", []string{"w0", "w0"}, nil},
		{"session", []string{"w0"}, []query.Span{query.SpanOf(250)}},
	} {
		b.Run("match/"+c.name, func(b *testing.B) {
			hits := 0
			for b.Loop() {
				found, err := query.Collect(b.Context(), view, c.phrase, c.within)
				if err != nil {
					b.Fatal(err)
				}
				hits = len(found)
			}
			b.ReportMetric(float64(hits), "hits")
		})
	}
	b.Run("documents of common", func(b *testing.B) {
		found, err := query.Collect(b.Context(), view, []string{"w0"}, nil)
		if err != nil {
			b.Fatal(err)
		}
		ids := make([]query.DocID, len(found))
		for i := range found {
			ids[i] = found[i].Doc
		}
		for b.Loop() {
			if _, err := view.Documents(b.Context(), ids); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("text", func(b *testing.B) {
		random := rand.New(rand.NewPCG(2, 2))
		for b.Loop() {
			if _, err := view.Text(b.Context(), query.NewDocID(1+random.Int64N(500), random.Int64N(200))); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("snapshot", func(b *testing.B) {
		for b.Loop() {
			other, err := x.Snapshot(b.Context(), workspace)
			if err != nil {
				b.Fatal(err)
			}
			if _, err := other.Sessions(b.Context()); err != nil {
				b.Fatal(err)
			}
			other.Close()
		}
	})
}
