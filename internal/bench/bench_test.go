package main

import (
	"context"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/yorehq/yore/internal/corpus"
)

// Every phase runs over a small corpus, so that the benchmark cannot rot unseen
// and each planted phrase is found by the whole product, from log to answer.
func TestPhases(t *testing.T) {
	ctx := context.Background()
	for _, encoding := range []corpus.Encoding{corpus.Raw, corpus.Zstd} {
		at := filepath.Join(t.TempDir(), "site")
		site, err := prepare(at, 1000, encoding, 3)
		if err != nil {
			t.Fatal(err)
		}
		if site.Events < 900 || site.Sessions != 10 || len(site.Appends) != 3 {
			t.Errorf("site %+v", site)
		}
		jobs := []Job{{Phase: "nothing"}, {Phase: "read", Times: 1}, {Phase: "fold", Times: 1}, {Phase: "index", Times: 1},
			{Phase: "refresh", Times: 2}, {Phase: "append", Times: 1}, {Phase: "append", Times: 2, First: 1}}
		for _, s := range searches() {
			jobs = append(jobs, Job{Phase: s.name, Times: 2})
		}
		for _, job := range jobs {
			job.Dir = at
			if err := work(ctx, job); err != nil {
				t.Errorf("%s, %s: %v", encoding, job.Phase, err)
			}
		}
		for _, job := range []Job{{Phase: "no such phase", Dir: at}, {Phase: "append", Times: 1, First: 3, Dir: at}} {
			if err := work(ctx, job); err == nil {
				t.Errorf("%s, %+v is taken", encoding, job)
			}
		}
	}
}

// Rich logs of every agent go the whole way too.
func TestRichPhases(t *testing.T) {
	ctx := context.Background()
	for agent := range readers() {
		at := filepath.Join(t.TempDir(), "site")
		site, err := prepareRich(at, agent, 300_000)
		if err != nil {
			t.Fatal(err)
		}
		if site.Bytes < 200_000 || site.Bytes > 3_000_000 || site.Sessions < 1 {
			t.Errorf("%s: %+v", agent, site)
		}
		for _, phase := range []string{"tokens", "read", "index"} {
			if err := work(ctx, Job{Phase: phase, Times: 1, Dir: at}); err != nil {
				t.Errorf("%s, %s: %v", agent, phase, err)
			}
		}
	}
}

// A search that finds nothing where it must, or something where nothing is,
// fails: the numbers of a broken search are worth nothing.
func TestFindIsStrict(t *testing.T) {
	ctx := context.Background()
	at := filepath.Join(t.TempDir(), "site")
	site, err := prepare(at, 300, corpus.Raw, 1)
	if err != nil {
		t.Fatal(err)
	}
	h, err := open(ctx, site)
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	for _, s := range []search{{"", "zyxomma", true}, {"", "obsidian lantern protocol", false}, {"", appendText(0), true}} {
		if err := find(ctx, h, site, s); err == nil {
			t.Errorf("%q: no complaint", s.query)
		}
	}
}

func TestMedian(t *testing.T) {
	for _, tc := range []struct {
		all  []time.Duration
		want time.Duration
	}{
		{[]time.Duration{5}, 5},
		{[]time.Duration{9, 1, 5}, 5},
		{[]time.Duration{4, 3, 2, 1}, 2},
	} {
		if got := median(tc.all); got != tc.want {
			t.Errorf("median of %v is %d, want %d", tc.all, got, tc.want)
		}
	}
}

func TestTable(t *testing.T) {
	got := table([]column{
		{Site{Events: 1000}, []value{{"read", milliseconds(1234 * time.Microsecond)}, {"memory", size(0)}}},
		{Site{Events: 200000}, []value{{"read", milliseconds(250400 * time.Microsecond)}, {"memory", size(12_340_000)}}},
	})
	want := `| CPU time | 1000 events | 200000 events |
| --- | ---: | ---: |
| read | 1.2 ms | 250 ms |
| memory | unknown | 12.3 MB |
`
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
