// Command corpusgen writes a synthetic corpus of DSH session logs, and beside it
// the list of planted phrases with their numbers. It is for people who want to
// try the index on a corpus of a known size; tests use package corpus itself.
package main

import (
	"flag"
	"fmt"
	"os"

	"github.com/yorehq/yore/internal/corpus"
)

func main() {
	var o corpus.Options
	out := flag.String("out", "sessions", "root of the sessions, made if it is not there")
	flag.Uint64Var(&o.Seed, "seed", 1, "same seed, same bytes")
	flag.IntVar(&o.Sessions, "sessions", 2000, "sessions")
	flag.IntVar(&o.Events, "events", 400_000, "events in all")
	flag.IntVar(&o.Workspaces, "workspaces", 40, "workspaces")
	flag.IntVar(&o.Largest, "largest", 0, "events of the first session, at least")
	flag.BoolVar(&o.Chunks, "chunks", false, "write the model's stream too")
	zstd := flag.Bool("zstd", false, "compress the logs")
	flag.Parse()
	if *zstd {
		o.Encoding = corpus.Zstd
	}
	stats, err := corpus.Generate(*out, o)
	if err != nil {
		fmt.Fprintln(os.Stderr, "corpusgen:", err)
		os.Exit(1)
	}
	for _, m := range stats.Markers {
		fmt.Printf("%s\t%s\t%d events\t%d occurrences\n", m.Name, m.Text, m.Events, m.Occurrences)
	}
	fmt.Printf("%d sessions, %d events, %.1f MB before compression\n", len(stats.Sessions), stats.Events, float64(stats.Bytes)/1e6)
}
