// Command bench measures the whole way from an agent's logs to an answer:
// reading, folding, the first index, an append until it can be found, searches;
// over corpora of several sizes, plain and compressed. It prints the tables of
// docs/performance.md.
//
// Times are CPU times (user plus system), because wall time on a shared machine
// says little. Every system reports them for a finished process, so each measure
// is the difference between two fresh processes: one that does the work once and
// one that does it n times more. Start at measures, then work.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"time"

	"github.com/yorehq/yore/internal/corpus"
	"github.com/yorehq/yore/session"
)

func main() {
	var job Job
	sizes := flag.String("events", "1000,100000", "sizes of the corpora, in events")
	rounds := flag.Int("rounds", 3, "rounds; medians are printed")
	megabytes := flag.Int("rich", 32, "megabytes of rich logs of each agent; 0: none")
	encodings := flag.String("encodings", "raw,zstd", "how the logs are stored")
	dir := flag.String("dir", "", "folder for corpora and indexes; default: a temporary one, removed at the end")
	flag.StringVar(&job.Phase, "phase", "", "used by the command itself, in the processes that it measures")
	flag.IntVar(&job.Times, "times", 0, "used by the command itself")
	flag.StringVar(&job.Dir, "site", "", "used by the command itself")
	flag.IntVar(&job.First, "first", 0, "used by the command itself")
	flag.Parse()
	err := error(nil)
	if job.Phase != "" {
		err = work(context.Background(), job)
	} else {
		err = bench(*sizes, *encodings, *megabytes, *rounds, *dir)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// Site is one corpus with its index, as the measured processes find it.
type Site struct {
	Agent       session.Agent
	Root, Index string
	Events      int64
	Sessions    int
	Bytes       int64 // of the logs, before compression
	Workspace   string
	Largest     string // path of the log that grows
	LargestSize int64  // events
	Appends     []string
}

const (
	siteFile = "site.json"
	repeats  = 20 // of a search within one process
	growths  = 5  // appends within one process
)

// appendText is the phrase that the i-th append holds and nothing else does.
func appendText(i int) string { return fmt.Sprintf("grackle%dvane heliotrope question", i) }

func bench(sizes, encodings string, megabytes, rounds int, dir string) error {
	if dir == "" {
		temp, err := os.MkdirTemp("", "yore-bench-")
		if err != nil {
			return err
		}
		defer os.RemoveAll(temp)
		dir = temp
	}
	fmt.Println(machine(time.Now()))
	if megabytes > 0 {
		text, err := rich(filepath.Join(dir, "rich"), megabytes<<20, rounds)
		if err != nil {
			return err
		}
		fmt.Printf("\nRich logs\n\n%s", text)
	}
	for _, encoding := range strings.Split(encodings, ",") {
		var columns []column
		for _, text := range strings.Split(sizes, ",") {
			events, err := strconv.Atoi(strings.TrimSpace(text))
			if err != nil || events < 1 {
				return fmt.Errorf("-events: %q is no size", text)
			}
			at := filepath.Join(dir, fmt.Sprintf("%s-%d", encoding, events))
			site, err := prepare(at, events, corpus.Encoding(encoding), rounds*(growths+2))
			if err != nil {
				return err
			}
			c, err := measure(at, site, rounds)
			if err != nil {
				return err
			}
			columns = append(columns, c)
		}
		fmt.Printf("\nLogs: %s\n\n%s", encoding, table(columns))
	}
	return nil
}

// prepare writes a corpus and the pieces that will be appended to its largest log.
func prepare(at string, events int, encoding corpus.Encoding, appends int) (Site, error) {
	o := corpus.Options{Events: events, Sessions: max(events/500, 10), Workspaces: 10, Encoding: encoding}
	if events >= 1_000_000 {
		o.Largest = 100_000
	}
	site := Site{Agent: session.DSH, Root: filepath.Join(at, "sessions"), Index: filepath.Join(at, "index")}
	if err := os.RemoveAll(at); err != nil {
		return site, err
	}
	stats, err := corpus.Generate(site.Root, o)
	if err != nil {
		return site, err
	}
	largest := stats.Sessions[0]
	site.Workspace, site.Sessions, site.Events, site.Bytes = largest.Cwd, len(stats.Sessions), stats.Events, stats.Bytes
	for _, s := range stats.Sessions {
		if s.Events > largest.Events && s.Cwd == site.Workspace {
			largest = s
		}
	}
	site.Largest, site.LargestSize = largest.Path, largest.Events
	// The pieces are made beforehand, so that making them is not measured: the
	// log grows, is cut into pieces, and shrinks again.
	info, err := os.Stat(largest.Path)
	if err != nil {
		return site, err
	}
	whole := info.Size()
	for i := range appends {
		from, err := os.Stat(largest.Path)
		if err != nil {
			return site, err
		}
		if _, err := corpus.Append(largest, 10, appendText(i)); err != nil {
			return site, err
		}
		text, err := os.ReadFile(largest.Path)
		if err != nil {
			return site, err
		}
		piece := filepath.Join(at, fmt.Sprintf("append-%03d", i))
		if err := os.WriteFile(piece, text[from.Size():], 0o600); err != nil {
			return site, err
		}
		site.Appends = append(site.Appends, piece)
	}
	if err := os.Truncate(largest.Path, whole); err != nil {
		return site, err
	}
	return site, site.save(at)
}

func (s Site) save(at string) error {
	text, err := json.Marshal(s)
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(at, siteFile), text, 0o600)
}

// cost is what one process took.
type cost struct {
	cpu    time.Duration
	memory int64 // peak resident bytes; 0: the system does not tell
}

// child runs a job in a process of its own.
func child(job Job) (cost, error) {
	self, err := os.Executable()
	if err != nil {
		return cost{}, err
	}
	cmd := exec.Command(self, "-phase", job.Phase, "-times", strconv.Itoa(job.Times), "-site", job.Dir, "-first", strconv.Itoa(job.First))
	cmd.Stderr = os.Stderr
	if err := cmd.Run(); err != nil {
		return cost{}, fmt.Errorf("phase %s: %w", job.Phase, err)
	}
	return cost{cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime(), peak(cmd.ProcessState.SysUsage())}, nil
}

// peak digs the largest resident size out of what the system tells of a
// process. Only Linux is trusted for the unit, kilobytes.
func peak(usage any) int64 {
	v := reflect.Indirect(reflect.ValueOf(usage))
	if v.Kind() != reflect.Struct {
		return 0
	}
	if _, err := os.Stat("/proc/self"); err != nil {
		return 0
	}
	if f := v.FieldByName("Maxrss"); f.IsValid() && f.CanInt() {
		return f.Int() << 10
	}
	return 0
}
