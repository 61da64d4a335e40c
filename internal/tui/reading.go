package tui

import (
	"context"
	"errors"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/yorehq/yore/authz"
	"github.com/yorehq/yore/fault"
	"github.com/yorehq/yore/internal/render"
	"github.com/yorehq/yore/query"
)

const (
	aroundPoints = 4_000   // of the text of an event that stands beside
	wholePoints  = 200_000 // of the text of an event that is looked at
	centrePoints = 6_000   // of it shown on either side of its first match, unless all is asked for
)

// passage is an event of a session, ready to be drawn.
type passage struct {
	query.Passage
	paragraphs    []string
	marks         []render.Mark // in the paragraphs joined by line ends
	before, after bool          // there is more text than is shown
}

// prepare makes an event's text safe and marks in it what answers a query. Of a
// long one the part around the first match is taken, unless whole is wanted.
func prepare(p query.Passage, text string, whole bool) passage {
	out := passage{Passage: p, after: p.Cut}
	body := p.Text
	if !whole && p.Points > 2*centrePoints {
		at := 0
		if marks := render.Marks(body, text); len(marks) > 0 {
			at = marks[0].Start
		}
		from, to := back(body, at, centrePoints), forth(body, at, centrePoints)
		out.before, out.after = from > 0, out.after || to < len(body)
		body = body[from:to]
	}
	out.Text = "" // what is drawn is kept, and nothing else
	out.paragraphs = render.Paragraphs(body)
	for i, l := range out.paragraphs {
		out.paragraphs[i] = steady(l)
	}
	if text != "" {
		out.marks = render.Marks(strings.Join(out.paragraphs, "\n"), text)
	}
	return out
}

// back is the place so many code points before at.
func back(s string, at, points int) int {
	for ; at > 0 && points > 0; points-- {
		_, n := utf8.DecodeLastRuneInString(s[:at])
		at -= n
	}
	return at
}

// forth is the place so many code points behind at.
func forth(s string, at, points int) int {
	for ; at < len(s) && points > 0; points-- {
		_, n := utf8.DecodeRuneInString(s[at:])
		at += n
	}
	return at
}

// rows draws the event; first is the row with the first match, 0 if there is none.
func (p *passage) rows(width int, s *scene) (rows []line, first int) {
	head := event(p.Seq, p.Type, p.State)
	if p.By >= 0 {
		head = join(head, say(shadowed, " by "+seqName(p.By)))
	}
	if p.Tool != "" {
		head = join(head, say(plain, " "), quote(strong, render.Name(p.Tool)))
	}
	head = join(head, say(faint, "  "+age(s.now, p.Time)+"  "+render.Time(p.Time)))
	rows = append(rows, head.fit(width))
	if p.before {
		rows = append(rows, say(faint, "… more text before: enter shows it").fit(width))
	}
	base := 0
	for _, text := range p.paragraphs {
		for _, r := range wrap(text, width) {
			l := marked(text[r.Start:r.End], base+r.Start, p.marks, plain)
			if first == 0 && slices.ContainsFunc(l, func(r run) bool { return r.look == match }) {
				first = len(rows)
			}
			rows = append(rows, l.fit(width))
		}
		base += len(text) + 1
	}
	switch {
	case p.after:
		rows = append(rows, say(faint, "… more text: enter shows it, p opens the pager").fit(width))
	case p.Points == 0:
		rows = append(rows, say(faint, "no text").fit(width))
	}
	return append(rows, say(plain, "").fit(width)), first
}

// excerpt is a piece of a session around one of its events.
type excerpt struct {
	info     query.Info
	total    int64 // passages of the session
	passages []passage
	focus    int // the passage that was asked for
}

// around reads the passages around the event at seq, or next to it: so many on
// either side. The one in the middle is read whole.
func around(ctx context.Context, m *Model, t query.Target, seq, side int64, text string) (any, error) {
	g, err := m.told(ctx, t)
	if err != nil {
		return nil, err
	}
	ordinal, err := g.OrdinalOf(ctx, max(seq, 0))
	switch {
	case err != nil && fault.IsContext(err):
		return nil, err
	case err != nil: // the log has no such event any more
		ordinal = 0
	}
	return piece(ctx, g, max(ordinal, 0), side, text)
}

// piece is around by ordinal.
func piece(ctx context.Context, g told, ordinal, side int64, text string) (excerpt, error) {
	from := max(0, ordinal-side)
	list, err := g.Passages(ctx, from, ordinal-from+side+1, aroundPoints)
	if err != nil {
		return excerpt{}, err
	}
	out := excerpt{info: list.Info, total: list.Total}
	for i, p := range list.Passages {
		if p.Ordinal == ordinal {
			out.focus = i
			if p.Cut {
				whole, err := g.Passages(ctx, ordinal, 1, wholePoints)
				if err != nil {
					return excerpt{}, err
				}
				if len(whole.Passages) == 1 {
					p = whole.Passages[0]
				}
			}
		}
		out.passages = append(out.passages, prepare(p, text, false))
	}
	return out, nil
}

// told is a session that is read: an *authz.Grant, or a session of the team, which
// answers alike.
type told interface {
	Passages(ctx context.Context, from, n int64, points int) (query.PassageList, error)
	OrdinalOf(ctx context.Context, seq int64) (int64, error)
	SearchEvents(ctx context.Context, req query.EventSearch) (query.EventPage, error)
	TraceEvent(ctx context.Context, seq int64) (query.Relations, error)
	Trace(ctx context.Context) (authz.Lineage, error)
}

// told gives a session that an answer named, as far as it may be seen.
func (m *Model) told(ctx context.Context, t query.Target) (told, error) {
	if m.ofTeam(t.Key) {
		return m.o.Team.Session(t)
	}
	g, err := m.view.Session(ctx, t)
	if errors.Is(err, fault.Unauthorized) {
		return nil, fault.New(fault.SessionNotFound, "the session %s is not there any more", render.Name(string(t.Key.ID)))
	}
	return g, err
}

// reading is an excerpt on the screen.
type reading struct {
	excerpt
	width  int
	rows   []line
	starts []int // row at which each passage begins
	firsts []int // row with the first match of each passage, else where it begins
	top    int
	at     int // the row that is looked at
}

// place is where somebody reads, in terms that outlive another layout.
type place struct {
	ordinal int64
	row     int // of the passage
	above   int // rows between the top of the window and that row
}

func (r *reading) place() place {
	if len(r.rows) == 0 || len(r.passages) == 0 {
		return place{}
	}
	i := min(r.event(), len(r.passages)-1)
	return place{r.passages[i].Ordinal, r.at - r.starts[i], r.at - r.top}
}

// lay breaks the excerpt into rows of a width, if that is not done, and stays
// where one reads.
func (r *reading) lay(width int, s *scene) {
	if r.width != width || r.rows == nil {
		r.relay(width, s, r.place())
	}
}

func (r *reading) relay(width int, s *scene, at place) {
	r.width, r.rows, r.starts, r.firsts = width, nil, nil, nil
	r.at = 0
	for i := range r.passages {
		rows, first := r.passages[i].rows(width, s)
		r.starts, r.firsts = append(r.starts, len(r.rows)), append(r.firsts, len(r.rows)+first)
		if r.passages[i].Ordinal == at.ordinal {
			r.at = len(r.rows) + min(at.row, len(rows)-1)
		}
		r.rows = append(r.rows, rows...)
	}
	r.top = r.at - at.above
}

// keep is how many passages are held; those far from where one reads go.
const keep = 400

// extend puts more passages behind or before the others.
func (r *reading) extend(more excerpt, forward bool, s *scene) {
	at := r.place()
	r.info, r.total = more.info, more.total
	if forward {
		r.passages = append(r.passages, more.passages...)
		r.passages = r.passages[max(0, len(r.passages)-keep):]
	} else {
		r.passages = append(slices.Clip(more.passages), r.passages...)
		r.passages = r.passages[:min(len(r.passages), keep)]
	}
	r.relay(r.width, s, at)
}

// event is the passage in which the row that is looked at lies.
func (r *reading) event() int {
	i, exact := slices.BinarySearch(r.starts, r.at)
	if !exact {
		i--
	}
	return max(i, 0)
}

// show goes to a passage: to its first match, which stands in the middle.
func (r *reading) show(passage, height int) {
	if passage < len(r.starts) {
		r.at = r.firsts[passage]
		r.top = r.at - height/2
		if r.at-r.starts[passage] < height/2 {
			r.top = min(r.top, r.starts[passage]) // its heading is seen as well
		}
	}
}

// window is the rows that are seen.
func (r *reading) window(height int) []line {
	if r.at < r.top {
		r.top = r.at
	}
	if r.at >= r.top+height {
		r.top = r.at - height + 1
	}
	r.top = max(0, min(r.top, len(r.rows)-height))
	return r.rows[r.top:min(r.top+height, len(r.rows))]
}
