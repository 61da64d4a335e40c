package tui

import (
	"context"
	"sync"

	tea "charm.land/bubbletea/v2"
)

// desk runs questions to the corpus in the background and lets its owner wait
// for all of them.
type desk struct {
	ctx  context.Context // of the whole program
	last int             // number of the latest question; Update's alone

	mu      sync.Mutex
	closed  bool
	working sync.WaitGroup
}

// enter lets a question begin, unless the desk is closed.
func (d *desk) enter() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.closed {
		d.working.Add(1)
	}
	return !d.closed
}

// close lets no question begin any more and waits for those under way.
func (d *desk) close() {
	d.mu.Lock()
	d.closed = true
	d.mu.Unlock()
	d.working.Wait()
}

// job is a question under way. A newer one in its place cancels it.
type job struct {
	id     int
	cancel context.CancelFunc
}

// answer is what a question came to.
type answer struct {
	id   int
	body any
	err  error
}

// ask puts a question in the place of the one before: that one is cancelled, and
// its answer will be dropped. The answer comes as a message.
func (d *desk) ask(j *job, question func(context.Context) (any, error)) tea.Cmd {
	j.stop()
	d.last++
	ctx, cancel := context.WithCancel(d.ctx)
	*j = job{d.last, cancel}
	id := d.last
	return func() tea.Msg {
		defer cancel()
		if !d.enter() {
			return nil
		}
		defer d.working.Done()
		if err := ctx.Err(); err != nil {
			return answer{id: id, err: err}
		}
		body, err := question(ctx)
		return answer{id, body, err}
	}
}

// waits reports whether an answer belongs to the question under way, and ends it.
func (j *job) waits(a answer) bool {
	if j.id == 0 || j.id != a.id {
		return false
	}
	j.stop()
	return true
}

// stop gives the question up.
func (j *job) stop() {
	if j.cancel != nil {
		j.cancel()
	}
	*j = job{}
}

func (j *job) busy() bool { return j.id != 0 }
