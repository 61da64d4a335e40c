package main

import (
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
)

// result is one bar and what was measured.
type result struct {
	name     string
	bar      float64
	least    bool // the bar is a lower bound
	unit     string
	measured float64
	work     bool // an amount of work: it fails a short run too
	silent   bool // the system does not tell
}

func (r *result) reached() bool {
	return r.silent || r.least && r.measured >= r.bar || !r.least && r.measured <= r.bar
}

// failed reports whether the run fails by it.
func (r *result) failed(short bool) bool { return !r.reached() && (r.work || !short) }

// rounds runs a job several times and gathers what it gives, each the median.
type rounds struct {
	cpu, memory float64 // milliseconds, megabytes
	got         map[string]float64
}

func (l *lab) repeat(j job) (r rounds, err error) {
	var cpu, memory []float64
	got := map[string][]float64{}
	for range l.rounds {
		out, err := process(j)
		if err != nil {
			return r, err
		}
		cpu, memory = append(cpu, float64(out.cpu.Microseconds())/1000), append(memory, float64(out.memory)/1e6)
		for name, v := range out.got {
			got[name] = append(got[name], v)
		}
		if j.Phase == "append" {
			j.First += j.Times
		}
	}
	r = rounds{median(cpu), slices.Max(memory), map[string]float64{}}
	for name, all := range got {
		r.got[name] = median(all)
	}
	return r, nil
}

// median of an odd number of rounds; of an even one the lower of the middle two.
func median(all []float64) float64 {
	all = slices.Sorted(slices.Values(all))
	return all[(len(all)-1)/2]
}

// measure runs every job and compares with the bars.
func (l *lab) measure() (all []result, err error) {
	run := func(site, phase string, times int) (r rounds) {
		if err == nil {
			r, err = l.repeat(job{Phase: phase, Site: site, Times: times})
		}
		if r.got == nil {
			r.got = map[string]float64{}
		}
		return r
	}
	most := func(name string, bar float64, unit string, v float64) {
		all = append(all, result{name: name, bar: bar, unit: unit, measured: v})
	}
	least := func(name string, bar float64, unit string, v float64) {
		all = append(all, result{name: name, bar: bar, unit: unit, measured: v, least: true})
	}
	amount := func(name string, bar, v float64) {
		all = append(all, result{name: name, bar: bar, measured: v, work: true})
	}
	memory := func(name string, bar, v float64) {
		all = append(all, result{name: name, bar: bar, unit: "MB", measured: v, silent: v == 0})
	}
	empty := run(l.main, "nothing", 0)

	fold, fts, index := run(l.main, "fold", 0), run(l.main, "fts", 0), run(l.main, "index", 0)
	least("first index, rate against FTS5's", 2.2, "×", (fts.cpu-fold.cpu)/(index.cpu-empty.cpu))
	for _, agent := range richAgents() {
		tokens, rich := run(l.rich[agent], "tokens", 0), run(l.rich[agent], "index", 0)
		least("first index of logs of "+string(agent)+", a sixth of them text, rate against a loop over JSON tokens", 0.2, "×",
			(tokens.cpu-empty.cpu)/(rich.cpu-empty.cpu))
	}
	if err != nil {
		return nil, err
	}
	shards, err := size(filepath.Join(l.text.Index, "shards"))
	if err != nil {
		return nil, err
	}
	most("index, size against the text", 1.05, "×", float64(shards)/float64(l.text.Text))
	wide := run(l.wide, "index", 0)
	memory("peak memory of a first index", 150, index.memory)
	memory("the same with a line of 200 MB", 150, wide.memory)
	most("first sessions can be found after", 1, "s", wide.got["first"])

	p := run(l.main, "phrases", 3)
	for _, k := range []struct {
		name          string
		p50, p95, max float64
	}{{"matches", 4, 15, 40}, {"relevance", 5, 20, 60}} {
		most("search by "+k.name+", p50", k.p50, "ms", p.got[k.name+" p50"])
		most("search by "+k.name+", p95", k.p95, "ms", p.got[k.name+" p95"])
		most("search by "+k.name+", max", k.max, "ms", p.got[k.name+" max"])
	}
	most("search, automatic, p95", 40, "ms", p.got["auto p95"])
	most("search, automatic, one type of event, p95", 40, "ms", p.got["filtered p95"])
	for _, name := range []string{"rare", "identifier", "path", "cjk"} {
		most("search: "+name, max(1, 2*fts.got[name]), "ms", p.got[name])
	}
	const appends = 20
	once, a := run(l.main, "search", 1), run(l.main, "append", appends)
	most("append of 10 events until they are found, mean CPU", 10, "ms", (a.cpu-once.cpu)/appends)
	most("append of 10 events until they are found, p95", 10, "ms", a.got["append p95"])
	most("append of 10 events until they are found, max", 100, "ms", a.got["append max"])
	r := run(l.main, "read", 3)
	most("exact read, p95", 5, "ms", r.got["read p95"])
	most("trace of an event, p95", 5, "ms", r.got["trace p95"])

	run(l.crowd, "index", 0)
	start, c := run(l.crowd, "search", 1), run(l.crowd, "counts", 0)
	most("start, look at 500 logs of 20,000, search, end", 25, "ms", start.cpu)
	amount("files that the look stats", float64(l.files/40), c.got["file stats"])
	amount("folders that the look stats", 1000, c.got["folder stats"])
	amount("bytes of logs that the look parses", 0, c.got["bytes"])
	amount("logs that the look opens", 0, c.got["identified"])
	amount("rows that the look writes", 0, c.got["rows"])
	amount("statements that the look runs", 80, c.got["statements"])

	run(l.many, "index", 0)
	const repeats = 10
	cold, warm := run(l.many, "search", 1), run(l.many, "search", 1+repeats)
	most("search over 300 workspaces, cold", 600, "ms", cold.cpu)
	most("search over 300 workspaces, warm", 150, "ms", (warm.cpu-cold.cpu)/repeats)
	all = append(all, result{name: "files open after it", bar: 32 + standing, measured: warm.got["files"], work: true, silent: warm.got["files"] == 0})
	return all, err
}

// standing is how many descriptors a process has that are none of the index's:
// the standard streams, the poller's, the listing's own.
const standing = 8

func size(dir string) (total int64, err error) {
	err = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || strings.HasSuffix(path, "-shm") {
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
