package yore_test

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/yorehq/yore"
	"github.com/yorehq/yore/authz"
	"github.com/yorehq/yore/internal/corpus"
	"github.com/yorehq/yore/internal/render"
	"github.com/yorehq/yore/query"
	"github.com/yorehq/yore/session"
)

// processor is the processor time that the process has used, where the system
// keeps it in files; else the time it is.
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

// BenchmarkMaskedSearch asks the same searches with credentials masked and
// revealed, in turns, and reports what share of a search masking is: the medians
// of processor time, hits rendered.
func BenchmarkMaskedSearch(b *testing.B) {
	root := b.TempDir()
	stats, err := corpus.Generate(filepath.Join(root, "logs"), corpus.Options{Events: 20_000, Sessions: 60})
	if err != nil {
		b.Fatal(err)
	}
	h, err := yore.Open(b.Context(), yore.Options{Sources: []yore.Source{{Agent: session.DSH, Root: filepath.Join(root, "logs")}}, IndexDir: filepath.Join(root, "index")})
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
	view = view.AsIndexed()
	texts := []string{"the error in the build", "连接", "error", "the"}
	for _, marker := range stats.Markers[:min(len(stats.Markers), 4)] {
		texts = append(texts, marker.Text)
	}
	var times [2][]time.Duration
	ask := func(v *authz.View, text string) time.Duration {
		began := processor()
		for range 10 {
			page, err := v.SearchSessions(b.Context(), query.SessionSearch{Query: text, Limit: 20})
			if err != nil {
				b.Fatal(err)
			}
			render.SessionsText(render.Sessions{Hits: page.Hits, Capped: page.More, Coverage: page.Coverage}, 0)
		}
		return processor() - began
	}
	both := []*authz.View{view.Revealed(), view}
	for b.Loop() {
		for i, v := range both {
			sum := time.Duration(0)
			for _, text := range texts {
				sum += ask(v, text)
			}
			times[i] = append(times[i], sum/time.Duration(10*len(texts)))
		}
	}
	middle := func(all []time.Duration) float64 {
		slices.Sort(all)
		return float64(all[(len(all)-1)/2].Microseconds())
	}
	revealed, masked := middle(times[0]), middle(times[1])
	b.ReportMetric(revealed, "revealed-µs")
	b.ReportMetric(masked, "masked-µs")
	b.ReportMetric(100*(masked-revealed)/revealed, "masking-%")
}
