package browser

import (
	"encoding/json"
	"sync"
	"time"

	"github.com/chromedp/cdproto/tracing"
	"github.com/chromedp/chromedp"
)

// tasks are what the main thread of a page was busy with while something was done.
type tasks struct {
	count      int
	wall, busy time.Duration // of the longest: by the clock, and of the processor
}

// traced runs do and measures the tasks of the page's main thread meanwhile. A
// task's processor time is its own, however busy the machine is with others.
func (b *tab) traced(do func()) tasks {
	b.t.Helper()
	type event struct {
		Name, Ph string
		Pid, Tid int64
		Dur      float64 // microseconds
		TDur     float64 `json:"tdur"`
		Args     struct{ Name string }
	}
	var mu sync.Mutex
	var events []event
	done := make(chan struct{})
	var once sync.Once
	chromedp.ListenTarget(b.ctx, func(e any) {
		switch e := e.(type) {
		case *tracing.EventDataCollected:
			mu.Lock()
			defer mu.Unlock()
			for _, raw := range e.Value {
				var one event
				if json.Unmarshal(raw, &one) == nil {
					events = append(events, one)
				}
			}
		case *tracing.EventTracingComplete:
			once.Do(func() { close(done) })
		}
	})
	b.do(tracing.Start().WithTransferMode(tracing.TransferModeReportEvents).WithTraceConfig(&tracing.TraceConfig{
		IncludedCategories: []string{"toplevel", "devtools.timeline", "disabled-by-default-devtools.timeline"}, ExcludedCategories: []string{"*"},
	}))
	do()
	b.do(tracing.End())
	select {
	case <-done:
	case <-time.After(60 * time.Second):
		b.t.Fatal("the trace does not end")
	}
	mu.Lock()
	defer mu.Unlock()
	type thread struct{ pid, tid int64 }
	mains := map[thread]bool{}
	for _, e := range events {
		if e.Name == "thread_name" && e.Args.Name == "CrRendererMain" {
			mains[thread{e.Pid, e.Tid}] = true
		}
	}
	var out tasks
	for _, e := range events {
		if !mains[thread{e.Pid, e.Tid}] || e.Ph != "X" || e.Name != "RunTask" && e.Name != "ThreadControllerImpl::RunTask" {
			continue
		}
		out.count++
		out.wall = max(out.wall, time.Duration(e.Dur*1000))
		out.busy = max(out.busy, time.Duration(e.TDur*1000))
	}
	return out
}
