// Package corpus writes synthetic DSH session logs for tests and benchmarks:
// seeded, of any size, with the shapes a real log has (turns, steps, tool calls,
// stream chunks, compactions, forks, titles) and with phrases planted in known
// numbers, so that a search has an expected answer.
//
// It knows the file format from its description and nothing of the module's
// readers, so that the two check each other. No product package imports it.
// Start at Generate.
package corpus

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// Encoding is how the logs of a root are stored; a root never mixes two.
type Encoding string

// The encodings.
const (
	Raw  Encoding = "raw"  // session.jsonl
	Zstd Encoding = "zstd" // session.jsonl.zstd: one frame for the header, one for each append
)

// Options say what to write. The zero value is a small corpus.
type Options struct {
	Seed       uint64   // same seed and options, same bytes; default 1
	Sessions   int      // default 20
	Events     int      // in all sessions together, about; default 2000
	Workspaces int      // default 4; the first has a third of the sessions
	Encoding   Encoding // default Raw
	Chunks     bool     // write the model's stream too, as packed rows
	Rich       bool     // write everything that makes genuine logs long and is no searchable text: the stream in small pieces, requests, encrypted state
	CJK        int      // percent of texts in Chinese, Japanese or Korean; 0 is 5, negative is none
	Largest    int      // at least so many events in the first session; 0: like the others
}

// Marker is a planted phrase. Inherited copies in forks are not counted.
type Marker struct {
	Name, Text  string
	Every       int // one eligible text in so many carries it (user, assistant and result texts are eligible)
	Times       int // occurrences in a text that carries it
	Events      int // events that carry it
	Occurrences int
}

// Session is one written log, with what Append needs to go on.
type Session struct {
	ID, Cwd, Parent string
	Path            string // of the log
	CreatedAt       int64  // epoch milliseconds
	Seed            int64  // events inherited from the parent
	Events          int64  // events in the log; the next seq
	Changed         int64  // time of the latest event, epoch milliseconds
	Turns           int
	Encoding        Encoding
	surface         []node
}

// Stats is what was written.
type Stats struct {
	Sessions []*Session // in order of creation
	Markers  []Marker
	Events   int64
	Bytes    int64 // before compression
}

// Marker returns the planted phrase of a name.
func (s *Stats) Marker(name string) (Marker, error) {
	for _, m := range s.Markers {
		if m.Name == name {
			return m, nil
		}
	}
	return Marker{}, fmt.Errorf("no marker is called %q", name)
}

func (o Options) resolve() (Options, error) {
	def := func(v *int, d int) {
		if *v == 0 {
			*v = d
		}
	}
	def(&o.Sessions, 20)
	def(&o.Events, 2000)
	def(&o.Workspaces, 4)
	def(&o.CJK, 5)
	o.CJK = max(o.CJK, 0)
	if o.Seed == 0 {
		o.Seed = 1
	}
	if o.Encoding == "" {
		o.Encoding = Raw
	}
	switch {
	case o.Encoding != Raw && o.Encoding != Zstd:
		return o, fmt.Errorf("unknown encoding %q", o.Encoding)
	case o.Sessions < 0 || o.Events < 0 || o.Workspaces < 0 || o.Largest < 0:
		return o, errors.New("a negative number")
	}
	return o, nil
}

// Generate writes a corpus below dir, the root of an agent's sessions, which
// is made if it is not there.
func Generate(dir string, o Options) (Stats, error) {
	o, err := o.resolve()
	if err != nil {
		return Stats{}, fmt.Errorf("corpus: %w", err)
	}
	g := newGenerator(o)
	stats := Stats{}
	sizes := shares(o)
	base := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC).UnixMilli()
	apart := (150 * 24 * time.Hour).Milliseconds() / int64(o.Sessions)
	latest := map[string]*writer{} // the latest session of a workspace, which the next may fork
	for i, size := range sizes {
		r := rand.New(rand.NewPCG(o.Seed, 1000+uint64(i)))
		g.r = r
		w := &writer{g: g, s: &Session{
			ID: uuid(r), Cwd: workspace(o, r, i), CreatedAt: base + int64(i)*apart, Encoding: o.Encoding,
		}}
		if from := latest[w.s.Cwd]; from != nil && r.IntN(10) == 0 {
			w.fork(from)
		}
		w.rich = o.Rich
		if err := w.write(dir, int64(size), o.Chunks || o.Rich); err != nil {
			return Stats{}, fmt.Errorf("corpus: session %s: %w", w.s.ID, err)
		}
		latest[w.s.Cwd] = w
		stats.Sessions = append(stats.Sessions, w.s)
		stats.Events += w.s.Events
		stats.Bytes += w.bytes
	}
	stats.Markers = g.markers
	return stats, nil
}

// shares spreads the events over the sessions, unevenly as real ones are: a
// few long sessions hold most of them.
func shares(o Options) []int {
	r := rand.New(rand.NewPCG(o.Seed, 8))
	weights := make([]float64, o.Sessions)
	sum := 0.0
	for i := range weights {
		weights[i] = math.Exp(r.NormFloat64())
		sum += weights[i]
	}
	sizes := make([]int, o.Sessions)
	for i := range sizes {
		sizes[i] = int(weights[i] / sum * float64(o.Events))
	}
	if o.Largest > 0 {
		sizes[0] = max(sizes[0], o.Largest+turnLength)
	}
	return sizes
}

// workspace chooses a session's folder; the first one is the busiest, and the
// first session is in it.
func workspace(o Options, r *rand.Rand, i int) string {
	n := 0
	if i > 0 && r.IntN(3) > 0 {
		n = r.IntN(o.Workspaces)
	}
	return fmt.Sprintf("/home/dev/work/project-%02d", n)
}

// folder is where DSH keeps a log: the names used here hold no letter that it
// would have to escape.
func folder(dir string, s *Session) string {
	return filepath.Join(dir, "--"+strings.TrimLeft(strings.ReplaceAll(s.Cwd, "/", "-"), "-")+"--", s.ID)
}

// Append adds short turns of eleven events to the end of a written log, each in
// one append as its agent would, until the log has at least n more events. The
// first prompt is text. It returns how many events were added. A full context
// is summed up before it, in four events more.
func Append(s *Session, n int64, text string) (int64, error) {
	g := newGenerator(Options{Seed: uint64(s.Events), CJK: 5})
	g.r = rand.New(rand.NewPCG(uint64(s.Events), 5000))
	g.plain = true
	w := &writer{g: g, s: s, surface: s.surface, prompt: text, short: true}
	f, err := os.OpenFile(s.Path, os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		return 0, err
	}
	w.out = f
	before := s.Events
	for err == nil && s.Events < before+n {
		err = w.turn(false)
	}
	s.surface = w.surface
	return s.Events - before, errors.Join(err, w.flush(), f.Close())
}
