package tui

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/yorehq/yore/fault"
	"github.com/yorehq/yore/internal/render"
	"github.com/yorehq/yore/session"
)

const (
	refreshEvery = 5 * time.Second        // keys cause no refresh more often
	tickEvery    = 150 * time.Millisecond // of the progress
	searchEvery  = 14                     // ticks between two looks at what a long refresh has committed
)

// freshness is how the index is brought up to date: once at the start, and then
// when something is asked and the last time is a while ago.
type freshness struct {
	job      job
	progress *meter
	ended    time.Time // of the last refresh
	done     bool      // the first refresh has ended
	ticks    int
	coverage session.Coverage
	err      error
}

// meter is written by a refresh and read by the screen.
type meter struct{ done, total atomic.Int64 }

// tick is the moment to look at the progress again.
type tick struct{}

func ticking() tea.Cmd { return tea.Tick(tickEvery, func(time.Time) tea.Msg { return tick{} }) }

// refresh brings what is looked at up to date, in the background.
func (m *Model) refresh() tea.Cmd {
	if m.fresh.job.busy() {
		return nil
	}
	meter := &meter{}
	m.fresh.progress, m.fresh.ticks = meter, 0
	scope := m.filters.scope()
	ask := m.desk.ask(&m.fresh.job, func(ctx context.Context) (any, error) {
		return m.o.Refresh(ctx, scope, func(done, total int) {
			meter.done.Store(int64(done))
			meter.total.Store(int64(total))
		})
	})
	return tea.Batch(ask, ticking())
}

// refreshIfOld is refresh unless there was one a moment ago.
func (m *Model) refreshIfOld() tea.Cmd {
	if !m.fresh.done || m.o.Now().Sub(m.fresh.ended) < refreshEvery {
		return nil
	}
	return m.refresh()
}

// refreshed takes what a refresh came to, and asks again what was asked before it.
func (m *Model) refreshed(a answer) tea.Cmd {
	m.fresh.done, m.fresh.ended, m.fresh.err = true, m.o.Now(), a.err
	if c, ok := a.body.(session.Coverage); ok {
		m.fresh.coverage = c
	}
	return m.again()
}

// again asks the question of the moment once more: the old answer stays until the
// new one is there.
func (m *Model) again() tea.Cmd {
	if m.results.job.busy() {
		return nil // it will see much the same; the next refresh sees the rest
	}
	return m.ask(max(m.results.limit, firstHits))
}

func (m *Model) tick() tea.Cmd {
	if !m.fresh.job.busy() {
		return nil
	}
	if m.fresh.ticks++; m.fresh.ticks%searchEvery == 0 {
		return tea.Batch(ticking(), m.again())
	}
	return ticking()
}

// status says how far indexing is, or what the answers lack.
func (f *freshness) status(width int) line {
	if f.job.busy() && f.progress != nil {
		done, total := f.progress.done.Load(), f.progress.total.Load()
		if total > 0 && done < total && (!f.done || f.ticks > 1) {
			bar := min(20, max(0, width/4))
			full := int(int64(bar) * done / total)
			return join(say(accent, "indexing "+strings.Repeat("█", full)), say(faint, strings.Repeat("░", bar-full)),
				say(faint, fmt.Sprintf(" %d of %d sessions", done, total)))
		}
		if !f.done && f.ticks > 2 {
			return say(faint, "looking for new sessions …")
		}
	}
	switch {
	case f.err != nil && !fault.IsContext(f.err):
		return quote(warning, failure(f.err))
	case !f.done:
		return nil
	}
	text, _, _ := strings.Cut(render.CoverageText(f.coverage), "\n")
	return quote(warning, text)
}
