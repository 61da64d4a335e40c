package web

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/yorehq/yore/internal/render"
	"github.com/yorehq/yore/query"
	"github.com/yorehq/yore/session"
)

// chart is bars over time, in the units of its view box. Days are put together
// to weeks, months or years until at most maxBins are left.
type chart struct {
	W, H  int
	Base  int // where bars stand; below are labels
	Bars  []bar
	Marks []mark
	Bins  []bin
	Unit  string // day, week, month or year
	Most  int64  // the highest bar
}

// bar is one agent's part of a bin.
type bar struct {
	X, Y, W, H string
	Class      string
	Title      string
	Link       string
	On         bool
}

// mark is a label below the bars.
type mark struct {
	X     string
	Label string
}

// bin is a piece of time, for readers of tables.
type bin struct {
	From, To time.Time // days, both inclusive
	Label    string
	Total    int64
	parts    map[session.Agent]int64
}

const maxBins = 64

// unit is how days are put together: the first day of the piece that a day is
// in, and the first one of the next.
type unit struct {
	name  string
	begin func(time.Time) time.Time
	next  func(time.Time) time.Time
	label string
}

func units() []unit {
	date := func(y int, m time.Month, d int) time.Time { return time.Date(y, m, d, 0, 0, 0, 0, time.UTC) }
	return []unit{
		{"day", func(t time.Time) time.Time { return t }, func(t time.Time) time.Time { return t.AddDate(0, 0, 1) }, "2 Jan"},
		{"week", func(t time.Time) time.Time { return t.AddDate(0, 0, -(int(t.Weekday())+6)%7) }, func(t time.Time) time.Time { return t.AddDate(0, 0, 7) }, "2 Jan"},
		{"month", func(t time.Time) time.Time { return date(t.Year(), t.Month(), 1) }, func(t time.Time) time.Time { return t.AddDate(0, 1, 0) }, "Jan 2006"},
		{"year", func(t time.Time) time.Time { return date(t.Year(), 1, 1) }, func(t time.Time) time.Time { return t.AddDate(1, 0, 0) }, "2006"},
	}
}

// binned puts days together. Days that no calendar knows are left out.
func binned(days []query.Activity) (bins []bin, u unit) {
	type piece struct {
		at time.Time
		of query.Activity
	}
	var pieces []piece
	for _, d := range days {
		if t, err := time.Parse(time.DateOnly, d.Day); err == nil {
			pieces = append(pieces, piece{t, d})
		}
	}
	if pieces == nil {
		return nil, unit{}
	}
	slices.SortStableFunc(pieces, func(a, b piece) int { return a.at.Compare(b.at) })
	first, last := pieces[0].at, pieces[len(pieces)-1].at
	for _, u = range units() {
		bins = bins[:0]
		for t := u.begin(first); !t.After(last) && len(bins) <= maxBins; t = u.next(t) {
			bins = append(bins, bin{From: t, To: u.next(t).AddDate(0, 0, -1), Label: t.Format(u.label), parts: map[session.Agent]int64{}})
		}
		if len(bins) <= maxBins {
			break
		}
	}
	// Of more years than there is room for, the latest are shown.
	if len(bins) > maxBins {
		bins = bins[:0]
		for y := last.Year() - maxBins + 1; y <= last.Year(); y++ {
			t := time.Date(y, 1, 1, 0, 0, 0, 0, time.UTC)
			bins = append(bins, bin{From: t, To: u.next(t).AddDate(0, 0, -1), Label: t.Format(u.label), parts: map[session.Agent]int64{}})
		}
	}
	for _, p := range pieces {
		n, found := slices.BinarySearchFunc(bins, p.at, func(b bin, t time.Time) int { return b.From.Compare(t) })
		if !found {
			n--
		}
		if n >= 0 {
			bins[n].Total += p.of.Documents
			bins[n].parts[p.of.Agent] += p.of.Documents
		}
	}
	return bins, u
}

// draw stacks the agents' parts of each bin, in the order of agents. address
// gives the link of a bin; on, whether it is chosen.
func draw(w, h int, bins []bin, u unit, agents []session.Agent, address func(bin) string, on func(bin) bool) *chart {
	if len(bins) == 0 {
		return nil
	}
	const labels, gap, labelWidth = 18, 2, 54
	c := &chart{W: w, H: h, Base: h - labels, Bins: bins, Unit: u.name}
	for _, b := range bins {
		c.Most = max(c.Most, b.Total)
	}
	// One bar alone shall not fill the page.
	step := min(float64(w)/float64(len(bins)), 56)
	every := max(1, (len(bins)+7)/8)
	for float64(every)*step < labelWidth {
		every++
	}
	for i, b := range bins {
		x := float64(i) * step
		if i%every == 0 && x+labelWidth <= float64(w)+gap {
			c.Marks = append(c.Marks, mark{decimal(x), b.Label})
		}
		if b.Total == 0 {
			continue
		}
		top := float64(c.Base)
		for _, a := range agents {
			n := b.parts[a]
			if n == 0 {
				continue
			}
			height := float64(n) / float64(c.Most) * float64(c.Base-4)
			if height < 1.5 {
				height = 1.5
			}
			top -= height
			who := ""
			if a != "" {
				who = string(a) + ", "
			}
			c.Bars = append(c.Bars, bar{
				X: decimal(x), Y: decimal(top), W: decimal(max(step-gap, 1)), H: decimal(height), Class: agentClass(a),
				Title: render.Line(fmt.Sprintf("%s: %s%s %s", span(b, u), who, number(n), noun(n, "event")), 200), Link: address(b), On: on(b),
			})
		}
	}
	return c
}

// span names the days of a bin.
func span(b bin, u unit) string {
	switch u.name {
	case "day":
		return b.From.Format("2 Jan 2006")
	case "week":
		return "week of " + b.From.Format("2 Jan 2006")
	}
	return b.Label
}

// Span names the days of one of the chart's bins.
func (c *chart) Span(b bin) string { return span(b, unit{name: c.Unit}) }

func decimal(f float64) string {
	return strings.TrimSuffix(strings.TrimRight(fmt.Sprintf("%.2f", f), "0"), ".")
}

// histogram is the days of a search's hits; a bar leads to the search of its
// days alone.
func (p *pages) histogram(days []query.Facet, a ask) *chart {
	var list []query.Activity
	for _, d := range days {
		list = append(list, query.Activity{Day: d.Value, Documents: int64(d.Documents)})
	}
	bins, u := binned(list)
	return draw(240, 84, bins, u, []session.Agent{""}, func(b bin) string {
		narrow := a
		narrow.From, narrow.To = b.From.Format(time.DateOnly), b.To.Format(time.DateOnly)
		return searchLink(narrow.values())
	}, func(b bin) bool {
		return a.From != "" && a.From <= b.From.Format(time.DateOnly) && (a.To == "" || b.To.Format(time.DateOnly) <= a.To)
	})
}
