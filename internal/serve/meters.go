package serve

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/yorehq/yore/toolset"
)

// meters count what the server does, in the text format of Prometheus
// (version 0.0.4). Labels are paths, tools and outcomes: nothing in them is a
// tenant's, and there is a fixed number of them.
type meters struct {
	start time.Time

	mu       sync.Mutex
	requests map[string]int64 // by labels
	seconds  map[string]*histogram
	calls    map[string]int64
	pushes   map[string]int64
	events   int64
	bytes    int64
}

// bounds are the upper ends of a histogram's buckets, in seconds.
var bounds = [...]float64{0.005, 0.02, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10, 30}

type histogram struct {
	buckets [len(bounds)]int64
	count   int64
	sum     float64
}

func (h *histogram) add(seconds float64) {
	for i, b := range bounds {
		if seconds <= b {
			h.buckets[i]++
		}
	}
	h.count++
	h.sum += seconds
}

func (m *meters) request(path string, status int, took time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.requests == nil {
		m.requests, m.seconds = map[string]int64{}, map[string]*histogram{}
	}
	m.requests[fmt.Sprintf("path=%q,status=%q", path, strconv.Itoa(status))]++
	label := fmt.Sprintf("path=%q", path)
	if m.seconds[label] == nil {
		m.seconds[label] = &histogram{}
	}
	m.seconds[label].add(took.Seconds())
}

// toolNames are the tools that there are.
var toolNames = sync.OnceValue(func() map[string]bool {
	names := map[string]bool{}
	for _, t := range toolset.Catalogue() {
		names[t.Name] = true
	}
	return names
})

// call counts a tool that was called; one that does not exist has no name here.
func (m *meters) call(tool string, answered bool, _ time.Duration) {
	if !toolNames()[tool] {
		tool = "unknown"
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.calls == nil {
		m.calls = map[string]int64{}
	}
	m.calls[fmt.Sprintf("tool=%q,answered=\"%t\"", tool, answered)]++
}

func (m *meters) pushed(outcome string, events, bytes int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.pushes == nil {
		m.pushes = map[string]int64{}
	}
	m.pushes[fmt.Sprintf("outcome=%q", outcome)]++
	m.events += events
	m.bytes += bytes
}

// metrics prints the counters.
func (s *Server) metrics(w http.ResponseWriter, _ *http.Request, _ Principal) {
	s.mu.Lock()
	running := 0
	for _, n := range s.busy {
		running += n
	}
	seats := len(s.seats)
	s.mu.Unlock()
	var b strings.Builder
	head := func(name, kind, help string) { fmt.Fprintf(&b, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, kind) }
	gauge := func(name, help string, value any) {
		head(name, "gauge", help)
		fmt.Fprintf(&b, "%s %v\n", name, value)
	}
	m := &s.meters
	gauge("yore_uptime_seconds", "How long the server has been running.", int64(time.Since(m.start).Seconds()))
	gauge("yore_requests_running", "Requests of tokens at work.", running)
	gauge("yore_pushes_running", "Stretches that are being taken in.", len(s.pushing))
	gauge("yore_seats", "Tokens whose tools are kept ready.", seats)
	if s.Pool != nil {
		open, busy, most := s.Pool()
		head("yore_database_connections", "gauge", "Connections to the database.")
		fmt.Fprintf(&b, "yore_database_connections{state=\"open\"} %d\nyore_database_connections{state=\"busy\"} %d\nyore_database_connections{state=\"most\"} %d\n", open, busy, most)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	counter := func(name, help string, values map[string]int64) {
		head(name, "counter", help)
		for _, labels := range slices.Sorted(maps.Keys(values)) {
			fmt.Fprintf(&b, "%s{%s} %d\n", name, labels, values[labels])
		}
	}
	counter("yore_requests_total", "Requests, by path and status.", m.requests)
	counter("yore_tool_calls_total", "Calls of tools.", m.calls)
	counter("yore_pushes_total", "Stretches, by what became of them.", m.pushes)
	head("yore_pushed_events_total", "counter", "Events that were stored.")
	fmt.Fprintf(&b, "yore_pushed_events_total %d\n", m.events)
	head("yore_pushed_bytes_total", "counter", "Bytes of stretches, as sent.")
	fmt.Fprintf(&b, "yore_pushed_bytes_total %d\n", m.bytes)
	head("yore_request_seconds", "histogram", "How long requests took.")
	for _, label := range slices.Sorted(maps.Keys(m.seconds)) {
		h := m.seconds[label]
		for i, bound := range bounds {
			fmt.Fprintf(&b, "yore_request_seconds_bucket{%s,le=\"%g\"} %d\n", label, bound, h.buckets[i])
		}
		fmt.Fprintf(&b, "yore_request_seconds_bucket{%s,le=\"+Inf\"} %d\n", label, h.count)
		fmt.Fprintf(&b, "yore_request_seconds_sum{%s} %g\nyore_request_seconds_count{%s} %d\n", label, h.sum, label, h.count)
	}
	w.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
	_, _ = w.Write([]byte(b.String())) // whoever asked may be gone
}
