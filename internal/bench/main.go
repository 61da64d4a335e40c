// Command bench proves the promises of docs/performance.md: what a first index,
// an append, a start, a search and a read cost, and how much memory they take.
// It prints a table of bars, what was measured, and whether each was reached.
//
// Costs of whole processes are CPU times (user plus system) of fresh ones, which
// every system reports. Costs of single calls are the shortest of several tries
// in one process: on a shared machine the rest is other people's work. Where a
// bar is a ratio, both sides are measured in the same round; of several rounds the
// medians count, and the spread is told.
//
// With -short everything runs small, and only amounts of work can fail: times
// say nothing on a machine that others use. Start at bars, then work.
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"strings"
	"time"
)

func main() {
	job := flag.String("job", "", "used by the command itself, in the processes that it measures")
	short := flag.Bool("short", false, "small corpora; only amounts of work can fail")
	rounds := flag.Int("rounds", 3, "rounds; ratios are taken within one, medians are compared")
	events := flag.Int("events", 400_000, "size of the large corpus; the largest has five times as many")
	dir := flag.String("dir", "", "folder for corpora and indexes; default: a temporary one, removed at the end")
	flag.Parse()
	err := error(nil)
	if *job != "" {
		err = child(context.Background(), *job)
	} else {
		o := sizes{rounds: max(*rounds, 1), events: *events, files: 20_000, workspaces: 300, line: 200 << 20, bytes: 64 << 20, log: 1 << 30}
		if *short {
			o = sizes{rounds: 1, events: 6000, files: 1600, workspaces: 24, line: 4 << 20, bytes: 1 << 20, log: 4 << 20, short: true}
		}
		err = run(o, *dir)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// sizes says how large everything is.
type sizes struct {
	rounds     int
	events     int // of the large workspace, and of all the many together
	files      int // of the crowd
	workspaces int
	line       int // bytes of the long line
	bytes      int // of the logs of each agent that are mostly no text
	log        int // bytes of the log that is very long
	short      bool
}

func run(o sizes, dir string) error {
	if dir == "" {
		temp, err := os.MkdirTemp("", "yore-bench-")
		if err != nil {
			return err
		}
		defer os.RemoveAll(temp)
		dir = temp
	}
	fmt.Println(machine(time.Now()))
	l := &lab{sizes: o, dir: dir}
	if err := l.prepare(); err != nil {
		return err
	}
	results, err := l.measure()
	if err != nil {
		return err
	}
	fmt.Print("\n", table(results))
	for _, r := range results {
		if r.failed(o.short) {
			return fmt.Errorf("a bar is not reached: %s", r.name)
		}
	}
	return nil
}

// job is what one measured process does.
type job struct {
	Phase string
	Site  string // its file
	Times int
	First int // number of the first piece to append
}

// outcome is what a process took and found.
type outcome struct {
	cpu    time.Duration
	memory int64 // peak resident bytes; 0: the system does not tell
	got    map[string]float64
}

// process runs a job in a process of its own.
func process(j job) (out outcome, err error) {
	text, err := json.Marshal(j)
	if err != nil {
		return out, err
	}
	self, err := os.Executable()
	if err != nil {
		return out, err
	}
	var said bytes.Buffer
	cmd := exec.Command(self, "-job", string(text))
	cmd.Stdout, cmd.Stderr = &said, os.Stderr
	if err := cmd.Run(); err != nil {
		return out, fmt.Errorf("%s of %s: %w", j.Phase, filepath.Base(filepath.Dir(j.Site)), err)
	}
	out = outcome{cpu: cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime(), got: map[string]float64{}}
	err = json.Unmarshal(said.Bytes(), &out.got)
	out.memory = int64(out.got["memory"])
	return out, err
}

// child does a job and says on standard output what it found.
func child(ctx context.Context, text string) error {
	var j job
	if err := json.Unmarshal([]byte(text), &j); err != nil {
		return err
	}
	debug.SetGCPercent(400) // as the command does for itself
	debug.SetMemoryLimit(96 << 20)
	got, err := work(ctx, j)
	if err != nil {
		return err
	}
	got["memory"] = peak()
	return json.NewEncoder(os.Stdout).Encode(got)
}

// peak returns the largest resident size of this process in bytes; 0: the system
// does not tell. What a parent is told of its child counts the parent's own
// memory from before the child became another program.
func peak() float64 {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(status)) {
		var kilobytes float64
		if n, _ := fmt.Sscanf(line, "VmHWM: %f kB", &kilobytes); n == 1 {
			return kilobytes * 1024
		}
	}
	return 0
}
