package tui

import (
	"context"
	"fmt"
	"slices"

	tea "charm.land/bubbletea/v2"

	"charm.land/bubbles/v2/key"

	"github.com/yorehq/yore/internal/render"
	"github.com/yorehq/yore/query"
)

const (
	sideEvents = 30   // read on either side of the event that is shown
	allHits    = 1000 // of one session that n goes through
)

// sessionPage shows a session, beginning at one of its events.
type sessionPage struct {
	target query.Target
	text   string // the query whose hits are marked
	seq    int64  // that was asked for
	info   query.Info
	read   reading
	hits   []int64 // ascending
	ready  bool
	centre bool // the focus has still to be put in the middle
	height int  // of the window, as it was drawn last
	err    error

	load, more, find, whole job
}

// extension is more of a session, behind or before what is shown.
type extension struct {
	excerpt
	forward bool
}

func (m *Model) openSession(info query.Info, seq int64, text string) tea.Cmd {
	p := &sessionPage{target: query.TargetOf(info.Header), text: text, info: info, seq: seq, height: 20}
	m.push(p)
	cmds := []tea.Cmd{p.goTo(m, seq)}
	if text != "" {
		cmds = append(cmds, m.desk.ask(&p.find, func(ctx context.Context) (any, error) { return hitsOf(ctx, m, p.target, text) }))
	}
	return tea.Batch(cmds...)
}

// hitsOf finds where in a session the query is.
func hitsOf(ctx context.Context, m *Model, t query.Target, text string) (any, error) {
	g, err := m.told(ctx, t)
	if err != nil {
		return nil, err
	}
	page, err := g.SearchEvents(ctx, query.EventSearch{Query: text, Limit: allHits})
	if err != nil {
		return nil, err
	}
	var seqs []int64
	for _, h := range page.Hits {
		seqs = append(seqs, h.Seq)
	}
	slices.Sort(seqs)
	return seqs, nil
}

// goTo shows the event at seq; -1 is the end of the session.
func (p *sessionPage) goTo(m *Model, seq int64) tea.Cmd {
	for i := range p.read.passages {
		if p.ready && p.read.passages[i].Seq == seq {
			p.read.show(i, p.height)
			return p.extend(m)
		}
	}
	p.seq = seq
	p.more.stop()
	target, text := p.target, p.text
	return m.desk.ask(&p.load, func(ctx context.Context) (any, error) {
		if seq >= 0 {
			return around(ctx, m, target, seq, sideEvents, text)
		}
		g, err := m.told(ctx, target)
		if err != nil {
			return nil, err
		}
		list, err := g.Passages(ctx, 0, 1, 0)
		if err != nil {
			return nil, err
		}
		return piece(ctx, g, max(list.Total-1, 0), sideEvents, text)
	})
}

// extend asks for more where one reads towards an end of what is there.
func (p *sessionPage) extend(m *Model) tea.Cmd {
	if !p.ready || p.more.busy() || len(p.read.passages) == 0 {
		return nil
	}
	first, last := p.read.passages[0].Ordinal, p.read.passages[len(p.read.passages)-1].Ordinal
	at, ask := p.read.event(), extension{}
	from, n := int64(0), int64(2*sideEvents)
	switch {
	case at >= len(p.read.passages)-5 && last+1 < p.read.total:
		from, ask.forward = last+1, true
	case at < 5 && first > 0:
		from = max(0, first-n)
		n = first - from
	default:
		return nil
	}
	target, text := p.target, p.text
	return m.desk.ask(&p.more, func(ctx context.Context) (any, error) {
		g, err := m.told(ctx, target)
		if err != nil {
			return nil, err
		}
		list, err := g.Passages(ctx, from, n, aroundPoints)
		if err != nil {
			return nil, err
		}
		ask.info, ask.total = list.Info, list.Total
		for _, one := range list.Passages {
			ask.passages = append(ask.passages, prepare(one, text, false))
		}
		return ask, nil
	})
}

// expand asks for the whole text of the event that is looked at.
func (p *sessionPage) expand(m *Model) tea.Cmd {
	one := p.here()
	if one == nil || !one.before && !one.after {
		return nil
	}
	ordinal, target, text := one.Ordinal, p.target, p.text
	return m.desk.ask(&p.whole, func(ctx context.Context) (any, error) {
		g, err := m.told(ctx, target)
		if err != nil {
			return nil, err
		}
		list, err := g.Passages(ctx, ordinal, 1, wholePoints)
		if err != nil || len(list.Passages) == 0 {
			return nil, err
		}
		return prepare(list.Passages[0], text, true), nil
	})
}

// here is the event that is looked at.
func (p *sessionPage) here() *passage {
	if !p.ready || len(p.read.passages) == 0 || len(p.read.starts) == 0 {
		return nil
	}
	return &p.read.passages[min(p.read.event(), len(p.read.passages)-1)]
}

func (p *sessionPage) subject() (subject, bool) {
	s := subject{info: p.info, seq: -1}
	if one := p.here(); one != nil {
		s.seq = one.Seq
	}
	return s, true
}

func (p *sessionPage) press(m *Model, msg tea.KeyPressMsg) tea.Cmd {
	k := &m.keymap
	switch {
	case key.Matches(msg, k.nextHit):
		return p.hit(m, 1)
	case key.Matches(msg, k.lastHit):
		return p.hit(m, -1)
	case key.Matches(msg, k.nextEvent), key.Matches(msg, k.lastEvent):
		to := p.read.event() + 1
		if key.Matches(msg, k.lastEvent) {
			to -= 2
		}
		if p.here() != nil && to >= 0 && to < len(p.read.passages) {
			p.read.at, p.read.top = p.read.starts[to], p.read.starts[to]
		}
		return p.extend(m)
	case key.Matches(msg, k.open):
		return p.expand(m)
	case key.Matches(msg, k.first):
		return p.goTo(m, 0)
	case key.Matches(msg, k.last):
		return p.goTo(m, -1)
	}
	if by, ok := k.step(msg, p.height); ok {
		p.read.at = max(0, min(p.read.at+by, len(p.read.rows)-1))
		return p.extend(m)
	}
	return nil
}

// hit goes to the next event with the query, or the one before.
func (p *sessionPage) hit(m *Model, step int) tea.Cmd {
	one := p.here()
	if one == nil || len(p.hits) == 0 {
		m.notice = say(faint, "no hits in this session")
		return nil
	}
	i, exact := slices.BinarySearch(p.hits, one.Seq)
	if step > 0 && exact {
		i++
	}
	if step < 0 {
		i--
	}
	if i < 0 || i >= len(p.hits) {
		m.notice = say(faint, "no further hit in this direction")
		return nil
	}
	return p.goTo(m, p.hits[i])
}

func (p *sessionPage) take(m *Model, a answer) (tea.Cmd, bool) {
	switch {
	case p.load.waits(a):
		p.err, p.ready = a.err, true
		if e, ok := a.body.(excerpt); ok {
			p.read = reading{excerpt: e}
			p.info, p.centre = e.info, true
		}
	case p.more.waits(a):
		if e, ok := a.body.(extension); ok && len(e.passages) > 0 {
			p.read.extend(e.excerpt, e.forward, m.scene())
		}
	case p.find.waits(a):
		p.hits, _ = a.body.([]int64)
	case p.whole.waits(a):
		if one, ok := a.body.(passage); ok {
			for i := range p.read.passages {
				if p.read.passages[i].Ordinal == one.Ordinal {
					p.read.passages[i] = one
					p.read.relay(p.read.width, m.scene(), p.read.place())
				}
			}
		}
	default:
		return nil, false
	}
	return nil, true
}

// amount says how many of something there are.
func amount(n int64, one string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %ss", n, one)
}

func (p *sessionPage) draw(m *Model, width, height int) []line {
	s := m.scene()
	head := join(titled(p.info, strong)).fit(width)
	about := join(about(p.info, true), say(faint, fmt.Sprintf(" · %s · %s", render.Time(p.info.Header.CreatedAt), amount(p.info.Events, "event"))))
	rows := []line{head, about.fit(width)}
	if height < 8 {
		rows = rows[:1]
	}
	rest := height - len(rows)
	switch {
	case !p.ready:
		return append(rows, say(faint, "reading …"))
	case p.err != nil:
		return append(rows, quote(warning, failure(p.err)).fit(width))
	case len(p.read.passages) == 0:
		return append(rows, say(faint, "This session has no text."))
	}
	p.height = rest
	p.read.lay(width-2, s)
	if p.centre {
		p.read.show(p.read.focus, rest)
		p.centre = false
	}
	event := p.read.event()
	for i, l := range p.read.window(rest) {
		at := p.read.top + i
		bar := say(plain, "  ")
		switch {
		case at == p.read.at:
			bar = say(accent, "▌ ")
		case at >= p.read.starts[event] && (event+1 == len(p.read.starts) || at < p.read.starts[event+1]):
			bar = say(faint, "▏ ")
		}
		rows = append(rows, join(bar, l))
	}
	return rows
}

// where says which of the session's events is looked at.
func (p *sessionPage) where() string {
	one := p.here()
	if one == nil {
		return ""
	}
	text := fmt.Sprintf("%d of %d with text", one.Ordinal+1, p.read.total)
	if len(p.hits) > 0 {
		if i, exact := slices.BinarySearch(p.hits, one.Seq); exact {
			return fmt.Sprintf("hit %d of %d, %s", i+1, len(p.hits), text)
		}
		return fmt.Sprintf("%d hits, %s", len(p.hits), text)
	}
	return text
}

func (p *sessionPage) keys(m *Model) []key.Binding {
	k := &m.keymap
	list := []key.Binding{k.back, k.nextEvent}
	if p.text != "" {
		list = append(list, k.nextHit)
	}
	return append(list, k.relations, k.tree, k.pager, k.copyID, k.resume, k.quit, k.help)
}

func (p *sessionPage) leave() {
	for _, j := range []*job{&p.load, &p.more, &p.find, &p.whole} {
		j.stop()
	}
}
