package main

import (
	"context"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/yorehq/yore/session"
)

// Every phase runs over small sites, so that the benchmark cannot rot unseen and
// what it searches for is found by the whole product, from log to answer.
func TestPhases(t *testing.T) {
	ctx := context.Background()
	l := &lab{sizes: sizes{rounds: 1, events: 800, files: 400, workspaces: 5, line: 1 << 20, bytes: 1 << 18, log: 1 << 18, short: true}, dir: t.TempDir()}
	if err := l.prepare(); err != nil {
		t.Fatal(err)
	}
	for _, j := range []job{
		{Phase: "nothing", Site: l.main}, {Phase: "tokens", Site: l.rich[session.Claude]}, {Phase: "fts", Site: l.main}, {Phase: "index", Site: l.main},
		{Phase: "index", Site: l.wide}, {Phase: "index", Site: l.rich[session.Claude]}, {Phase: "index", Site: l.rich[session.Codex]}, {Phase: "index", Site: l.rich[session.DSH]}, {Phase: "phrases", Site: l.main, Times: 1},
		{Phase: "append", Site: l.main, Times: 3}, {Phase: "read", Site: l.main, Times: 1}, {Phase: "index", Site: l.crowd},
		{Phase: "search", Site: l.crowd, Times: 1}, {Phase: "index", Site: l.many}, {Phase: "search", Site: l.many, Times: 2},
		{Phase: "index", Site: l.worst}, {Phase: "word", Site: l.worst, Times: 1},
		{Phase: "index", Site: l.hugePlain}, {Phase: "read", Site: l.hugePlain, Times: 1},
		{Phase: "index", Site: l.hugeFrame}, {Phase: "read", Site: l.hugeFrame, Times: 1}, {Phase: "unpack", Site: l.hugeFrame},
	} {
		if _, err := work(ctx, j); err != nil {
			t.Errorf("%s of %s: %v", j.Phase, j.Site, err)
		}
	}
	got, err := work(ctx, job{Phase: "counts", Site: l.crowd})
	if err != nil {
		t.Fatal(err)
	}
	if got["file stats"] != 10 || got["bytes"]+got["identified"]+got["rows"] != 0 {
		t.Errorf("a look at an unchanged crowd: %v", got)
	}
	if got, err = work(ctx, job{Phase: "rest", Site: l.many}); err != nil || got["connections"] > 1 || got["stills"] < 5 || got["postings"] == 0 || got["shards"] != 5 {
		t.Errorf("a search over shards at rest: %v, %v", got, err)
	}
	if got, err = work(ctx, job{Phase: "index", Site: l.main}); err != nil || got["postings"] < 10_000 || got["postings"] > float64(l.text.Text) {
		t.Errorf("postings of a text of %d bytes: %v, %v", l.text.Text, got, err)
	}
	if _, err := work(ctx, job{Phase: "no such phase", Site: l.main}); err == nil {
		t.Error("an unknown phase is taken")
	}
}

// A search that finds nothing where it must fails: the numbers of a broken
// search are worth nothing.
func TestFindIsStrict(t *testing.T) {
	ctx := context.Background()
	l := &lab{sizes: sizes{rounds: 1, events: 300, files: 80, workspaces: 2, line: 1 << 16, bytes: 1 << 16, log: 1 << 16}, dir: t.TempDir()}
	if err := l.prepare(); err != nil {
		t.Fatal(err)
	}
	s, err := load(l.main)
	if err != nil {
		t.Fatal(err)
	}
	s.Phrases = []string{"zyxomma quennel"}
	path, err := s.save(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := work(ctx, job{Phase: "search", Site: path, Times: 1}); err == nil {
		t.Error("no complaint about a phrase that is not there")
	}
	if _, err := work(ctx, job{Phase: "phrases", Site: path, Times: 1}); err == nil {
		t.Error("no complaint about a sampled phrase that is not there")
	}
}

func TestMedian(t *testing.T) {
	for _, tc := range []struct {
		all  []float64
		want float64
	}{{[]float64{5}, 5}, {[]float64{9, 1, 5}, 5}, {[]float64{4, 3, 2, 1}, 2}} {
		if got := median(tc.all); got != tc.want {
			t.Errorf("median of %v is %v, want %v", tc.all, got, tc.want)
		}
	}
}

func TestPercentilesOfTheShortestRounds(t *testing.T) {
	var l least
	for i := range 100 {
		l.took(i, time.Duration(200-i)*time.Millisecond)
		l.took(i, time.Duration(100-i)*time.Millisecond)
		l.took(i, time.Second)
	}
	got := map[string]float64{}
	l.into(got, "x")
	if d := cmp.Diff(map[string]float64{"x p50": 50, "x p95": 95, "x max": 100}, got); d != "" {
		t.Error(d)
	}
}

// Of several rounds the median counts, of work the worst, and no value of one
// round is compared with one of another.
func TestRoundsAreCombined(t *testing.T) {
	got := combine([]result{
		{name: "a", bar: 2, measured: 3}, {name: "w", measured: 1, work: true},
		{name: "a", bar: 2, measured: 1}, {name: "w", measured: 4, work: true}, {name: "once", measured: 7},
		{name: "a", bar: 2, measured: 2}, {name: "w", measured: 2, work: true},
	})
	want := []result{
		{name: "a", bar: 2, measured: 2, low: 1, high: 3}, {name: "w", measured: 4, low: 1, high: 4, work: true}, {name: "once", measured: 7, low: 7, high: 7},
	}
	if d := cmp.Diff(want, got, cmp.AllowUnexported(result{})); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

func TestTable(t *testing.T) {
	all := []result{
		{name: "a", bar: 25, unit: "ms", measured: 24.96, low: 20, high: 31.04}, {name: "b", bar: 2.2, least: true, unit: "×", measured: 2},
		{name: "c", bar: 0, measured: 3, work: true}, {name: "d", bar: 150, unit: "MB", silent: true},
	}
	want := `| | bar | measured | |
| --- | ---: | ---: | --- |
| a | ≤ 25 ms | 25 ms (20 to 31) | reached |
| b | ≥ 2.2 × | 2 × | **missed** |
| c | ≤ 0 | 3 | **missed** |
| d | ≤ 150 MB | unknown | reached |
`
	if d := cmp.Diff(want, table(all)); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	var failed []bool
	for i := range all {
		failed = append(failed, all[i].failed(true), all[i].failed(false))
	}
	if d := cmp.Diff([]bool{false, false, false, true, true, true, false, false}, failed); d != "" {
		t.Error(d)
	}
}
