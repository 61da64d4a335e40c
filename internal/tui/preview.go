package tui

import (
	"context"

	tea "charm.land/bubbletea/v2"

	"github.com/yorehq/yore/query"
)

// sidePreview is how many events the preview reads on either side of the match.
const sidePreview = 4

// shown is what a preview is of.
type shown struct {
	target query.Target
	seq    int64
	text   string
}

// preview shows the events around the best one of the chosen session.
type preview struct {
	job    job
	of     shown
	read   reading
	ready  bool
	centre bool
	err    error
}

func (p *preview) clear() {
	p.job.stop()
	*p = preview{}
}

// showPreview asks for the preview of the chosen session, unless it is there.
func (m *Model) showPreview() tea.Cmd {
	it := m.results.selected()
	if it == nil {
		m.preview.clear()
		return nil
	}
	of := shown{target: query.TargetOf(it.info.Header), text: m.results.words()}
	if it.hit != nil {
		of.seq = it.hit.Seq
	}
	if of == m.preview.of && (m.preview.job.busy() || m.preview.ready && m.preview.err == nil) {
		return nil
	}
	m.preview.clear()
	m.preview.of = of
	return m.desk.ask(&m.preview.job, func(ctx context.Context) (any, error) {
		if m.ofTeam(of.target.Key) {
			if err := rest(ctx, teamPause); err != nil {
				return nil, err
			}
		}
		return around(ctx, m, of.target, of.seq, sidePreview, of.text)
	})
}

func (p *preview) settle(a answer) {
	p.err, p.ready = a.err, true
	if e, ok := a.body.(excerpt); ok {
		p.read, p.centre = reading{excerpt: e}, true
	}
}

func (p *preview) view(width, height int, s *scene) []line {
	switch {
	case height < 1 || p.of == shown{} || !p.ready:
		return nil
	case p.err != nil:
		return paragraph(warning, failure(p.err), width)
	case len(p.read.passages) == 0:
		return []line{say(faint, "This session has no text.").fit(width)}
	}
	if p.centre || p.read.width != width {
		p.read.lay(width, s)
		p.centre = false
		p.read.show(p.read.focus, height)
	}
	return p.read.window(height)
}

// paragraph wraps untrusted text.
func paragraph(l look, untrusted string, width int) []line {
	var rows []line
	text := quote(l, untrusted).text()
	for _, r := range wrap(text, width) {
		rows = append(rows, say(l, text[r.Start:r.End]).fit(width))
	}
	return rows
}
