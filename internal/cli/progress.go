package cli

import (
	"fmt"
	"strings"
	"time"

	"github.com/yorehq/yore/internal/render"
)

// bar shows how far indexing is, on a terminal only and not before it has
// taken a moment. done takes it away again.
func (a *app) bar() (progress func(done, total int), done func()) { return a.barOf("indexing") }

// barOf is bar for another kind of work.
func (a *app) barOf(work string) (progress func(done, total int), done func()) {
	if !a.errScreen {
		return nil, func() {}
	}
	b := &progressBar{work: work, width: func() int { return columns(a.errScreen, a.errs) }}
	progress = func(done, total int) {
		if line := b.line(time.Now(), done, total); line != "" {
			fmt.Fprint(a.errs, line)
		}
	}
	return progress, func() { fmt.Fprint(a.errs, b.gone()) }
}

// The measures of a bar.
const (
	barDelay    = 300 * time.Millisecond // before it is drawn for the first time
	barInterval = 100 * time.Millisecond // between two drawings
	barCells    = 24
	leastCells  = 6  // of a bar that is worth its place
	barColumns  = 79 // of a terminal whose width nobody can tell, less one
)

// progressBar says how far a work is, how fast it goes and how long it will
// take. It is told times and asks no clock.
type progressBar struct {
	work  string
	width func() int // columns of the terminal; 0: unknown

	began, drawn time.Time
	first        int // how much was done when the work began to be counted
	shown        int // columns on the screen
}

// line returns what to print when so much is done; "" for nothing.
func (b *progressBar) line(now time.Time, done, total int) string {
	if b.began.IsZero() {
		b.began, b.first = now, done
	}
	if total <= 0 || now.Sub(b.began) < barDelay || !b.drawn.IsZero() && now.Sub(b.drawn) < barInterval && done < total {
		return ""
	}
	b.drawn = now
	done = min(max(done, 0), total)
	room := barColumns
	if n := b.width(); n > 0 {
		room = n - 1 // a character in the last column would begin a new line
	}
	text := b.text(now, done, total, room)
	fill := max(0, b.shown-render.Width(text))
	b.shown = render.Width(text)
	return "\r" + text + strings.Repeat(" ", fill)
}

// text says how far the work is in so many columns. The numbers say more than
// the bar, which gets shorter first, and is left out where it would be nothing to
// look at; what is left is best known by where it ends.
func (b *progressBar) text(now time.Time, done, total, room int) string {
	tail := ""
	if pace := b.pace(now, done); pace > 0 {
		tail = fmt.Sprintf(", %s/s, %s left", rate(pace), remaining(float64(total-done)/pace))
	}
	count := fmt.Sprintf("%d of %d", done, total)
	if cells := min(barCells, room-len(b.work)-len(" [] ")-len(count)-len(" sessions")-len(tail)); cells >= leastCells {
		full := cells * done / total
		return fmt.Sprintf("%s [%s%s] %s sessions%s", b.work, strings.Repeat("#", full), strings.Repeat(".", cells-full), count, tail)
	}
	for _, text := range []string{b.work + " " + count + " sessions" + tail, b.work + " " + count + tail, count + tail} {
		if len(text) <= room {
			return text
		}
	}
	return render.Fit(fmt.Sprintf("%d%%%s", 100*done/total, tail), room)
}

// pace is how many are done a second; 0: not known yet.
func (b *progressBar) pace(now time.Time, done int) float64 {
	took := now.Sub(b.began).Seconds()
	if done <= b.first || took <= 0 {
		return 0
	}
	return float64(done-b.first) / took
}

// gone returns what takes the bar off the screen.
func (b *progressBar) gone() string {
	if b.shown == 0 {
		return ""
	}
	return "\r" + strings.Repeat(" ", b.shown) + "\r"
}

func rate(pace float64) string {
	if pace < 10 {
		return fmt.Sprintf("%.1f", pace)
	}
	return fmt.Sprintf("%.0f", pace)
}

// remaining says how long something will take: 8s, 2m10s, 1h5m.
func remaining(seconds float64) string {
	const most = 99 * 3600
	s := int(min(seconds+0.5, most))
	switch {
	case s < 60:
		return fmt.Sprintf("%ds", s)
	case s < 3600:
		return fmt.Sprintf("%dm%02ds", s/60, s%60)
	}
	return fmt.Sprintf("%dh%02dm", s/3600, s/60%60)
}
