package main

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"
)

// column is what was measured over one corpus.
type column struct {
	site   Site
	values []value
}

// value is one cell of the table; names are the same in every column.
type value struct{ name, text string }

// measure runs all phases over a site.
func measure(at string, site Site, rounds int) (column, error) {
	c := column{site: site}
	put := func(name, text string) { c.values = append(c.values, value{name, text}) }
	put("sessions", fmt.Sprint(site.Sessions))
	put("logs before compression", size(site.Bytes))

	next := 0 // piece to append
	// extra is the cost of doing a phase more often: the setup of the process,
	// and what only the first time costs, drop out.
	extra := func(phase string, base, times int) (time.Duration, error) {
		var all []time.Duration
		for range rounds {
			few, err := child(Job{Phase: phase, Times: base, Dir: at, First: next})
			if err != nil {
				return 0, err
			}
			if phase == "append" {
				next += base
			}
			many, err := child(Job{Phase: phase, Times: base + times, Dir: at, First: next})
			if err != nil {
				return 0, err
			}
			if phase == "append" {
				next += base + times
			}
			all = append(all, (many.cpu-few.cpu)/time.Duration(times))
		}
		return median(all), nil
	}
	for _, phase := range []struct{ phase, name string }{{"read", "read all logs"}, {"fold", "read and fold all logs"}} {
		d, err := extra(phase.phase, 0, 1)
		if err != nil {
			return c, err
		}
		put(phase.name, milliseconds(d))
	}
	var cpu []time.Duration
	var memory int64
	for range rounds {
		one, err := child(Job{Phase: "index", Times: 1, Dir: at})
		if err != nil {
			return c, err
		}
		cpu, memory = append(cpu, one.cpu), max(memory, one.memory)
	}
	put("first index of everything", milliseconds(median(cpu)))
	put("peak memory of it", size(memory))
	bytes, err := folderSize(site.Index)
	if err != nil {
		return c, err
	}
	put("size of the index", size(bytes))
	put("log that grows, events", fmt.Sprint(site.LargestSize))
	d, err := extra("refresh", 1, 5)
	if err != nil {
		return c, err
	}
	put("refresh, nothing has changed", milliseconds(d))
	if d, err = extra("append", 1, growths); err != nil {
		return c, err
	}
	put("append of 11 events until they are found", milliseconds(d))
	for _, s := range searches() {
		if d, err = extra(s.name, 1, repeats); err != nil {
			return c, err
		}
		put("search: "+s.name, milliseconds(d))
	}
	return c, nil
}

// median of an odd number of rounds; of an even one the lower of the middle two.
func median(all []time.Duration) time.Duration {
	all = slices.Sorted(slices.Values(all))
	return all[(len(all)-1)/2]
}

func milliseconds(d time.Duration) string {
	ms := float64(d.Microseconds()) / 1000
	if ms >= 100 {
		return fmt.Sprintf("%.0f ms", ms)
	}
	return fmt.Sprintf("%.1f ms", ms)
}

func size(bytes int64) string {
	if bytes <= 0 {
		return "unknown"
	}
	return fmt.Sprintf("%.1f MB", float64(bytes)/1e6)
}

func folderSize(dir string) (int64, error) {
	total := int64(0)
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		if err == nil {
			total += info.Size()
		}
		return err
	})
	return total, err
}

// table sets the columns side by side, in Markdown.
func table(columns []column) string {
	var b strings.Builder
	b.WriteString("| CPU time |")
	for _, c := range columns {
		fmt.Fprintf(&b, " %d events |", c.site.Events)
	}
	b.WriteString("\n| --- |" + strings.Repeat(" ---: |", len(columns)) + "\n")
	if len(columns) == 0 {
		return b.String()
	}
	for i, v := range columns[0].values {
		fmt.Fprintf(&b, "| %s |", v.name)
		for _, c := range columns {
			fmt.Fprintf(&b, " %s |", c.values[i].text)
		}
		b.WriteString("\n")
	}
	return b.String()
}

// machine is the line that a measurement is worthless without.
func machine(now time.Time) string {
	kind := runtime.GOARCH
	if text, err := os.ReadFile("/proc/cpuinfo"); err == nil {
		for line := range strings.Lines(string(text)) {
			if name, model, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(name) == "model name" {
				kind = strings.TrimSpace(model)
				break
			}
		}
	}
	return fmt.Sprintf("Measured on %s: %s, %d cores, %s/%s, %s.", now.Format(time.DateOnly), kind, runtime.NumCPU(),
		runtime.GOOS, runtime.GOARCH, runtime.Version())
}
