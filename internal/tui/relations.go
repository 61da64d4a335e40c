package tui

import (
	"context"
	"fmt"

	tea "charm.land/bubbletea/v2"

	"charm.land/bubbles/v2/key"

	"github.com/yorehq/yore/fault"
	"github.com/yorehq/yore/query"
)

const (
	relatedTexts  = 60  // related events whose beginning is shown; the others by number alone
	relatedPoints = 200 // of each
)

// relative is one row of the relations: a heading, or an event.
type relative struct {
	heading string
	seq     int64
	known   bool // the fields below
	entry   query.Passage
}

// relationsPage shows what became of an event, and what it has to do with others.
type relationsPage struct {
	info     query.Info
	seq      int64
	rows     []relative
	sel, top int
	ready    bool
	err      error
	load     job
}

func (m *Model) openRelations(info query.Info, seq int64) tea.Cmd {
	p := &relationsPage{info: info, seq: seq}
	m.push(p)
	target := query.TargetOf(info.Header)
	return m.desk.ask(&p.load, func(ctx context.Context) (any, error) {
		g, err := m.told(ctx, target)
		if err != nil {
			return nil, err
		}
		r, err := g.TraceEvent(ctx, seq)
		if err != nil {
			return nil, err
		}
		return relatives(ctx, g, r)
	})
}

// relatives puts the relations of an event in rows.
func relatives(ctx context.Context, g told, r query.Relations) ([]relative, error) {
	rows := []relative{{heading: "this event"}, {seq: r.Event.Seq}}
	group := func(heading string, seqs []int64) {
		if len(seqs) == 0 {
			rows = append(rows, relative{heading: heading + ": none"})
			return
		}
		rows = append(rows, relative{heading: fmt.Sprintf("%s: %d", heading, len(seqs))})
		for _, seq := range seqs {
			rows = append(rows, relative{seq: seq})
		}
	}
	group("replaced by, and that by", r.Chain)
	group("replaces", r.Replaced)
	group("cites", r.Sources)
	group("cited by", r.Derived)
	left := relatedTexts
	for i := range rows {
		if rows[i].heading != "" {
			continue
		}
		if left--; left < 0 {
			break
		}
		if err := describe(ctx, g, &rows[i]); err != nil {
			return nil, err
		}
	}
	return rows, nil
}

// describe looks an event up in the index. Events without text have no row there.
func describe(ctx context.Context, g told, row *relative) error {
	ordinal, err := g.OrdinalOf(ctx, row.seq)
	if err != nil || ordinal < 0 {
		return onlyContext(err)
	}
	list, err := g.Passages(ctx, ordinal, 1, relatedPoints)
	if err != nil {
		return onlyContext(err)
	}
	if len(list.Passages) == 1 && list.Passages[0].Seq == row.seq {
		row.entry, row.known = list.Passages[0], true
	}
	return nil
}

// onlyContext keeps that a question was given up: what else keeps an event from
// being described leaves it with its number.
func onlyContext(err error) error {
	if fault.IsContext(err) {
		return err
	}
	return nil
}

func (p *relationsPage) take(_ *Model, a answer) (tea.Cmd, bool) {
	if !p.load.waits(a) {
		return nil, false
	}
	p.err, p.ready = a.err, true
	if rows, ok := a.body.([]relative); ok {
		p.rows, p.sel = rows, 1
	}
	return nil, true
}

func (p *relationsPage) subject() (subject, bool) {
	return subject{info: p.info, seq: p.chosen()}, true
}

// chosen is the event that is chosen.
func (p *relationsPage) chosen() int64 {
	if p.sel < len(p.rows) {
		return p.rows[p.sel].seq
	}
	return p.seq
}

func (p *relationsPage) press(m *Model, msg tea.KeyPressMsg) tea.Cmd {
	if key.Matches(msg, m.keymap.open) {
		if p.ready && p.err == nil {
			return m.openSession(p.info, p.chosen(), m.asked().query)
		}
		return nil
	}
	if by, ok := m.keymap.step(msg, m.bodyHeight()); ok && len(p.rows) > 0 {
		p.move(by)
	}
	return nil
}

// move goes so many events on; headings are passed over.
func (p *relationsPage) move(by int) {
	step := 1
	if by < 0 {
		step, by = -1, -by
	}
	for at := p.sel + step; by > 0 && at > 0 && at < len(p.rows); at += step {
		if p.rows[at].heading == "" {
			p.sel = at
			by--
		}
	}
}

func (p *relationsPage) draw(m *Model, width, height int) []line {
	rows := []line{join(say(strong, "Event "+seqName(p.seq)+" of "), titled(p.info, strong)).fit(width)}
	switch {
	case !p.ready:
		return append(rows, say(faint, "looking …"))
	case p.err != nil:
		return append(rows, quote(warning, failure(p.err)).fit(width))
	}
	rest := height - len(rows)
	first := p.sel
	if first > 0 && p.rows[first-1].heading != "" {
		first-- // its heading is seen as well
	}
	p.top = scroll(min(p.top, first), p.sel, rest, len(p.rows))
	for i := p.top; i < min(p.top+rest, len(p.rows)); i++ {
		r := &p.rows[i]
		if r.heading != "" {
			rows = append(rows, say(accent, r.heading).fit(width))
			continue
		}
		bar := say(plain, "  ")
		if i == p.sel {
			bar = say(accent, "▌ ")
		}
		row := join(bar, say(faint, seqName(r.seq)))
		if r.known {
			row = join(bar, event(r.seq, r.entry.Type, r.entry.State), say(plain, "  "), highlighted(plain, r.entry.Text, m.asked().query))
		}
		rows = append(rows, row.fit(width))
	}
	return rows
}

func (p *relationsPage) keys(m *Model) []key.Binding {
	k := &m.keymap
	return []key.Binding{k.back, k.open, k.tree, k.pager, k.copyID, k.quit, k.help}
}

func (p *relationsPage) leave() { p.load.stop() }

// seqName is how an event is called.
func seqName(seq int64) string { return fmt.Sprintf("#%d", seq) }
