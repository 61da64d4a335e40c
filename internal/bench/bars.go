package main

import (
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
)

// result is one bar and what was measured, in one round or in several.
type result struct {
	name     string
	bar      float64
	least    bool // the bar is a lower bound
	unit     string
	measured float64 // the median of the rounds; of work, the worst
	low      float64 // the spread of the rounds
	high     float64
	work     bool // an amount of work: it fails a short run too
	silent   bool // the system does not tell
}

func (r *result) reached() bool {
	return r.silent || r.least && r.measured >= r.bar || !r.least && r.measured <= r.bar
}

// failed reports whether the run fails by it.
func (r *result) failed(short bool) bool { return !r.reached() && (r.work || !short) }

// combine makes one result of those of several rounds, by their names. A ratio
// was taken within its round.
func combine(all []result) (out []result) {
	values := map[string][]float64{}
	for _, r := range all {
		if values[r.name] == nil {
			out = append(out, r)
		}
		values[r.name] = append(values[r.name], r.measured)
	}
	for i := range out {
		r, some := &out[i], values[out[i].name]
		r.low, r.high, r.measured = slices.Min(some), slices.Max(some), median(some)
		if r.work {
			r.measured = r.high
		}
	}
	return out
}

// median of an odd number of rounds; of an even one the lower of the middle two.
func median(all []float64) float64 {
	all = slices.Sorted(slices.Values(all))
	return all[(len(all)-1)/2]
}

// measure does all rounds, and what takes too long for that once.
func (l *lab) measure() ([]result, error) {
	var all []result
	for n := range l.rounds {
		r := round{lab: l, number: n}
		r.large()
		r.crowded()
		r.many()
		if n == 0 {
			r.worst()
			r.huge()
		}
		if r.err != nil {
			return nil, r.err
		}
		all = append(all, r.results...)
	}
	return combine(all), nil
}

// round is one round of measurements; after a failure it does nothing more.
type round struct {
	*lab
	number  int
	results []result
	err     error
}

// did is what a process cost and told.
type did struct {
	cpu, memory float64 // milliseconds, megabytes
	got         map[string]float64
}

func (r *round) run(site, phase string, times int) did {
	d := did{got: map[string]float64{}}
	if r.err == nil {
		var out outcome
		if out, r.err = process(job{Phase: phase, Site: site, Times: times, First: r.number * appendsEach}); r.err == nil {
			d = did{float64(out.cpu.Microseconds()) / 1000, float64(out.memory) / 1e6, out.got}
		}
	}
	return d
}

func (r *round) most(name string, bar float64, unit string, v float64) {
	r.results = append(r.results, result{name: name, bar: bar, unit: unit, measured: v})
}

func (r *round) least(name string, bar float64, unit string, v float64) {
	r.results = append(r.results, result{name: name, bar: bar, unit: unit, measured: v, least: true})
}

func (r *round) amount(name string, bar, v float64) {
	r.results = append(r.results, result{name: name, bar: bar, measured: v, work: true})
}

func (r *round) memory(name string, bar, v float64) {
	r.results = append(r.results, result{name: name, bar: bar, unit: "MB", measured: v, silent: v == 0})
}

// percentiles compares a kind of searches with bars.
func (r *round) percentiles(name string, p50, p95, most float64, d did, kind string) {
	r.most("search "+name+", p50", p50, "ms", d.got[kind+" p50"])
	r.most("search "+name+", p95", p95, "ms", d.got[kind+" p95"])
	r.most("search "+name+", max", most, "ms", d.got[kind+" max"])
}

// large measures the large workspace.
func (r *round) large() {
	empty := r.run(r.main, "nothing", 0)
	fold, fts, index := r.run(r.main, "fold", 0), r.run(r.main, "fts", 0), r.run(r.main, "index", 0)
	r.least("first index, rate against FTS5's", 2.2, "×", (fts.cpu-fold.cpu)/(index.cpu-empty.cpu))
	r.most("index, size against the text", 1.05, "×", r.size(r.text)/float64(r.text.Text))
	r.most("postings, size against the text", 0.45, "×", index.got["postings"]/float64(r.text.Text))
	for _, agent := range richAgents() {
		tokens, rich := r.run(r.rich[agent], "tokens", 0), r.run(r.rich[agent], "index", 0)
		of := "logs of " + string(agent) + ", a sixth of them text, "
		r.least("first index of "+of+"rate against a loop over JSON tokens", 0.2, "×", (tokens.cpu-empty.cpu)/(rich.cpu-empty.cpu))
		r.most("index of "+of+"size against the logs", 0.3, "×", r.size(r.richSites[agent])/float64(r.richSites[agent].Logs))
	}
	wide := r.run(r.wide, "index", 0)
	r.memory("peak memory of a first index", 150, index.memory)
	r.memory("the same with a line of 200 MB", 150, wide.memory)

	p := r.run(r.main, "phrases", 3)
	r.percentiles("by matches", 4, 15, 40, p, "matches")
	r.percentiles("by relevance", 5, 20, 60, p, "relevance")
	for _, by := range []string{"matches", "relevance"} {
		for _, k := range []struct{ kind, name string }{{"type", "one type of event"}, {"time", "a span of time"}, {"session", "within one session"}} {
			r.percentiles("by "+by+", "+k.name, p.got[by+" p50"], p.got[by+" p95"], p.got[by+" max"], p, by+" "+k.kind)
		}
	}
	r.most("search, automatic, p95", 40, "ms", p.got["auto p95"])
	r.most("search, automatic, one type of event, p95", 40, "ms", p.got["auto type p95"])
	for _, name := range []string{"rare", "identifier", "path", "cjk"} {
		r.most("search: "+name, max(1, 2*fts.got[name]), "ms", p.got[name])
	}
	once, a := r.run(r.main, "search", 1), r.run(r.main, "append", appendsEach) // it searches once before
	r.most("append of 10 events until they are found, mean CPU", 10, "ms", (a.cpu-once.cpu)/appendsEach)
	r.most("append of 10 events until they are found, p95 CPU", 10, "ms", a.got["append p95"])
	r.most("append of 10 events until they are found, max CPU", 100, "ms", a.got["append max"])
	r.most("append of 10 events until they are found, max with its waits for the disk", 100, "ms", a.got["append wall max"])
	d := r.run(r.main, "read", 3)
	r.most("exact read, p95", 5, "ms", d.got["read p95"])
	r.most("trace of an event, p95", 5, "ms", d.got["trace p95"])
}

// crowded measures a start among very many logs.
func (r *round) crowded() {
	r.run(r.crowd, "index", 0)
	start, c := r.run(r.crowd, "search", 1), r.run(r.crowd, "counts", 0)
	r.most("start, look at 500 logs of 20,000, search, end", 25, "ms", start.cpu)
	r.amount("files that the look stats", float64(r.files/40), c.got["file stats"])
	r.amount("folders that the look stats", 1000, c.got["folder stats"])
	r.amount("bytes of logs that the look parses", 0, c.got["bytes"])
	r.amount("logs that the look opens", 0, c.got["identified"])
	r.amount("rows that the look writes", 0, c.got["rows"])
	r.amount("statements that the look runs", 80, c.got["statements"])
	r.amount("connections that the look makes", 2, c.got["connections"])
}

// many measures a search over all of very many workspaces.
func (r *round) many() {
	r.run(r.lab.many, "index", 0)
	const repeats = 10
	cold, warm := r.run(r.lab.many, "search", 1), r.run(r.lab.many, "search", 1+repeats)
	r.most("search over 300 workspaces, cold", 600, "ms", cold.cpu)
	r.most("search over 300 workspaces, warm", 150, "ms", (warm.cpu-cold.cpu)/repeats)
	r.results = append(r.results, result{name: "files open after it", bar: 32 + standing, measured: warm.got["files"], work: true, silent: warm.got["files"] == 0})
	c := r.run(r.lab.many, "rest", 0)
	// What is shown of the twenty best sessions may need one; the others do not.
	r.amount("connections that a search over shards at rest makes", 20, c.got["connections"])
	r.amount("times that it opens a shard without one, each", 5, c.got["stills"]/c.got["shards"])
	r.amount("kilobytes of postings that it reads, each", 70, c.got["postings"]/1000/c.got["shards"])
}

// worst measures five times as much as the large workspace holds.
func (r *round) worst() {
	index := r.run(r.lab.worst, "index", 0)
	events := fmt.Sprintf("%.1f million events", float64(r.worstSite.Events)/1e6)
	r.most("first sessions can be found after, of "+events, 1, "s", index.got["first"])
	r.memory("peak memory of a first index of "+events, 150, index.memory)
	w := r.run(r.lab.worst, "word", 5)
	r.most("the worst word in "+events+", by matches", 20, "ms", w.got["matches"])
	r.most("the worst word in "+events+", by relevance", 40, "ms", w.got["relevance"])
}

// huge measures reads in one log that is very long.
func (r *round) huge() {
	r.run(r.hugePlain, "index", 0)
	d := r.run(r.hugePlain, "read", 1)
	r.most("exact read in one log of 1 GB, p95", 5, "ms", d.got["read p95"])
	r.most("trace of an event in it, p95", 5, "ms", d.got["trace p95"])
	r.run(r.hugeFrame, "index", 0)
	whole, d := r.run(r.hugeFrame, "unpack", 1), r.run(r.hugeFrame, "read", 1)
	r.most("exact read in a quarter of that as one stream of zstd, p95 against unpacking it", 1.1, "×", d.got["read p95"]/whole.got["unpack"])
	r.most("trace of an event in that, p95 against unpacking it", 1.1, "×", d.got["trace p95"]/whole.got["unpack"])
}

// size is how many bytes the shards of a site take.
func (r *round) size(s site) float64 {
	total := int64(0)
	if r.err == nil {
		total, r.err = size(filepath.Join(s.Index, "shards"))
	}
	return float64(total)
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
