package session_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/yorehq/yore/session"
)

// conversation makes n events as a long session has them: a third on the
// surface, a result pruned at times, a compaction of everything every 2,000
// events and a rewind now and then.
func conversation(n int) []session.Event {
	events := make([]session.Event, 0, n)
	var surface []int64 // what stands since the last compaction, the compaction first
	for len(events) < n {
		seq := int64(len(events))
		e := log(seq)
		switch {
		case seq%2000 == 1999 && len(surface) > 1:
			e = replace(seq, surface[0], surface[len(surface)-1], surface...)
			surface = []int64{seq}
		case seq%700 == 699 && len(surface) > 10:
			surface = surface[:len(surface)-10]
			e = choose(seq, surface[len(surface)-1])
		case seq%3 == 0:
			e = user(seq)
			surface = append(surface, seq)
		}
		e.Sources = slices.Clone(e.Sources)
		events = append(events, e)
	}
	return events
}

func BenchmarkFold(b *testing.B) {
	for _, n := range []int{1_000, 100_000, 1_000_000} {
		events := conversation(n)
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				var f session.Fold
				for i := range events {
					if _, err := f.Apply(&events[i]); err != nil {
						b.Fatal(err)
					}
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(n), "ns/event")
		})
	}
}

// BenchmarkRestore is what one more event costs a fold that was put away.
func BenchmarkRestore(b *testing.B) {
	for _, n := range []int{1_000, 100_000, 1_000_000} {
		var f session.Fold
		for _, e := range conversation(n) {
			if _, err := f.Apply(&e); err != nil {
				b.Fatal(err)
			}
		}
		nodes := sorted(f.Nodes())
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			for b.Loop() {
				if session.Restore(int64(n), nodes).Next() != int64(n) {
					b.Fatal("the fold lost its place")
				}
			}
		})
	}
}
