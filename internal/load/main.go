// Command load keeps an index busy as a crowd of agents does: servers that are
// asked without a pause, indexers that look at everything again and again, and
// logs that grow every two milliseconds. It fails by errors, by readers that wait
// too long, and by write-ahead logs, memory or descriptors that grow.
//
//	go run ./internal/load -for 10m
//	go run ./internal/load -team -for 10m    a team's server instead (team.go)
//
// It builds the program and talks to it as agents do, over the Model Context
// Protocol. It reads /proc of Linux for memory and descriptors.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"sync"
	"time"
)

func main() {
	o := options{}
	flag.DurationVar(&o.length, "for", 30*time.Second, "how long")
	flag.IntVar(&o.servers, "servers", 8, "servers, each asked without a pause")
	flag.IntVar(&o.indexers, "indexers", 2, "processes that index everything, again and again")
	flag.DurationVar(&o.every, "every", 2*time.Millisecond, "how often a log grows by an event")
	flag.IntVar(&o.sessions, "sessions", 200, "sessions that are there to begin with")
	flag.DurationVar(&o.patience, "p99", time.Second, "the longest that one call in a hundred may take; 0: any")
	teams := flag.Bool("team", false, "load a team's server")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	dir, err := os.MkdirTemp("", "yore-load-")
	if err == nil {
		o.dir = dir
		if *teams {
			err = teamLoad{dir, o.length, 4, 4, o.sessions, o.patience}.run(ctx)
		} else {
			err = o.run(ctx)
		}
		err2 := os.RemoveAll(dir)
		if err == nil {
			err = err2
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "load:", err)
		os.Exit(1)
	}
}

type options struct {
	dir               string
	length, every     time.Duration
	servers, indexers int
	sessions          int
	patience          time.Duration
}

// tally is what all parts of a run report to.
type tally struct {
	mu     sync.Mutex
	calls  []time.Duration
	errors []error
	counts map[string]int
}

func (t *tally) fail(err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.errors = append(t.errors, err)
}

func (t *tally) took(d time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.calls = append(t.calls, d)
}

func (t *tally) count(what string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.counts[what]++
}

// rank is how long a share of the calls took at most.
func (t *tally) rank(share float64) time.Duration {
	if len(t.calls) == 0 {
		return 0
	}
	slices.Sort(t.calls)
	return t.calls[int(share*float64(len(t.calls)-1))]
}

func (o options) run(ctx context.Context) error {
	yore := filepath.Join(o.dir, "yore")
	if out, err := exec.CommandContext(ctx, "go", "build", "-o", yore, "github.com/yorehq/yore/cmd/yore").CombinedOutput(); err != nil {
		return fmt.Errorf("build: %w\n%s", err, out)
	}
	logs := &logs{root: filepath.Join(o.dir, "logs")}
	for i := range o.sessions {
		if err := logs.begin(fmt.Sprint("old-", i), 40); err != nil {
			return err
		}
	}
	at := place{yore: yore, home: o.dir, root: logs.root, index: filepath.Join(o.dir, "index")}
	if err := at.indexAll(ctx); err != nil {
		return err
	}
	t := &tally{counts: map[string]int{}}
	busy, stop := context.WithTimeout(ctx, o.length)
	defer stop()
	var group sync.WaitGroup
	var servers []*server
	for range o.servers {
		s, err := at.serve(ctx)
		if err != nil {
			return err
		}
		defer s.close()
		servers = append(servers, s)
	}
	for i, s := range servers {
		group.Go(func() { s.ask(busy, i, t) })
	}
	for range o.indexers {
		group.Go(func() {
			for busy.Err() == nil {
				if err := at.indexAll(ctx); err != nil {
					t.fail(err)
				}
				t.count("runs of the indexers")
			}
		})
	}
	group.Go(func() {
		if err := logs.grow(busy, o.every, t); err != nil {
			t.fail(err)
		}
	})
	w := &watched{}
	group.Go(func() { w.watch(busy, at.index, servers, o.length) })
	group.Wait()
	return o.judge(t, w)
}

// judge prints what was measured and says what is wrong with it.
func (o options) judge(t *tally, w *watched) error {
	rank := t.rank
	fmt.Printf("calls            %d, half under %v, 99 %% under %v, the longest %v\n", len(t.calls), rank(0.5), rank(0.99), rank(1))
	for _, what := range slices.Sorted(keys(t.counts)) {
		fmt.Printf("%-16s %d\n", what, t.counts[what])
	}
	fmt.Printf("write-ahead logs %d KB at most\n", w.wal>>10)
	fmt.Printf("memory           %d KB a server after a quarter, %d KB at the end\n", w.early.memory, w.late.memory)
	fmt.Printf("descriptors      %d a server after a quarter, %d at the end\n", w.early.files, w.late.files)
	switch {
	case len(t.errors) > 0:
		return fmt.Errorf("%d failures, the first: %w", len(t.errors), t.errors[0])
	case len(t.calls) == 0:
		return fmt.Errorf("no call was answered")
	case o.patience > 0 && rank(0.99) > o.patience:
		return fmt.Errorf("a reader in a hundred waits longer than %v", o.patience)
	case w.wal > mostLog:
		return fmt.Errorf("a write-ahead log grew to %d bytes", w.wal)
	case w.late.memory > w.early.memory+w.early.memory/2+32<<10:
		return fmt.Errorf("memory grows")
	case w.late.files > w.early.files+8:
		return fmt.Errorf("descriptors are leaked")
	}
	return nil
}
