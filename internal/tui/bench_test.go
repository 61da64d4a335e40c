package tui

import (
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/yorehq/yore"
	"github.com/yorehq/yore/internal/corpus"
	"github.com/yorehq/yore/session"
)

var benchEvents = flag.Int("keystroke.events", 10_000, "events of the corpus that BenchmarkKeystroke types in")

// processor is the processor time that the process has used, where the system
// keeps it in files; else the time it is. On a machine that does other work
// besides, the former says more.
func processor() time.Duration {
	tasks, _ := filepath.Glob("/proc/self/task/*/schedstat")
	if len(tasks) == 0 {
		return time.Duration(time.Now().UnixNano())
	}
	sum := int64(0)
	for _, task := range tasks {
		text, _ := os.ReadFile(task)
		used, _, _ := strings.Cut(string(text), " ")
		n, _ := strconv.ParseInt(used, 10, 64)
		sum += n
	}
	return time.Duration(sum)
}

// BenchmarkKeystroke types queries letter by letter over a made corpus and
// reports the processor time of a key: until its answer is on the screen (what
// is typed next would not wait for that), while the keyboard is not listened to,
// and of the preview behind it.
func BenchmarkKeystroke(b *testing.B) {
	root := b.TempDir()
	stats, err := corpus.Generate(filepath.Join(root, "logs"), corpus.Options{Events: *benchEvents, Sessions: max(20, *benchEvents/500)})
	if err != nil {
		b.Fatal(err)
	}
	h, err := yore.Open(b.Context(), yore.Options{
		Sources: []yore.Source{{Agent: session.DSH, Root: filepath.Join(root, "logs")}}, IndexDir: filepath.Join(root, "index"),
	})
	if err != nil {
		b.Fatal(err)
	}
	defer h.Close()
	if _, err := h.Refresh(b.Context(), session.Scope{All: true}, nil); err != nil {
		b.Fatal(err)
	}
	view, err := h.OwnerView()
	if err != nil {
		b.Fatal(err)
	}
	now := time.UnixMilli(noon)
	m := newModel(b.Context(), Options{View: view, Refresh: h.Refresh, All: true, Theme: Dark, Colours: true, Now: func() time.Time { return now }})
	defer m.desk.close()
	m.fresh.done, m.fresh.ended = true, now
	m.width, m.height = 120, 40
	var answered, deaf, previewed []time.Duration
	texts := []string{"the error in the build", "连接"}
	for _, marker := range stats.Markers[:min(len(stats.Markers), 4)] {
		texts = append(texts, marker.Text)
	}
	for b.Loop() {
		for _, text := range texts {
			m.input.SetValue("")
			for _, r := range text {
				began := processor()
				_, cmd := m.Update(tea.KeyPressMsg{Code: r, Text: string(r)})
				m.View()
				deaf = append(deaf, processor()-began)
				next := carry(m, cmd)
				m.View()
				answered = append(answered, processor()-began)
				if !m.results.ready || m.results.err != nil {
					b.Fatalf("%q is not answered: %v", m.input.Value(), m.results.err)
				}
				began = processor()
				for _, cmd := range next {
					carry(m, cmd)
				}
				m.View()
				previewed = append(previewed, processor()-began)
			}
			if len(m.results.items) == 0 {
				b.Fatalf("%q finds nothing", text)
			}
		}
	}
	report := func(name string, times []time.Duration) {
		slices.Sort(times)
		ms := func(q float64) float64 { return float64(times[int(q*float64(len(times)-1))].Microseconds()) / 1000 }
		b.ReportMetric(ms(0.5), name+"-p50-ms")
		b.ReportMetric(ms(0.95), name+"-p95-ms")
		b.ReportMetric(ms(1), name+"-max-ms")
	}
	report("answer", answered)
	report("deaf", deaf)
	report("preview", previewed)
	b.ReportMetric(float64(stats.Events), "events")
}

// carry does a command and those in a batch of it, and returns what their
// answers want done.
func carry(m *Model, cmd tea.Cmd) (next []tea.Cmd) {
	if cmd == nil {
		return nil
	}
	msg := cmd()
	if batch, ok := msg.(tea.BatchMsg); ok {
		for _, c := range batch {
			next = append(next, carry(m, c)...)
		}
		return next
	}
	if msg == nil {
		return nil
	}
	_, after := m.Update(msg)
	return append(next, after)
}
