package tui

import (
	"context"
	"strings"

	tea "charm.land/bubbletea/v2"

	"charm.land/bubbles/v2/key"

	"github.com/yorehq/yore/authz"
	"github.com/yorehq/yore/query"
)

// branch is one row of a lineage: a session, or a marker where one may not be seen.
type branch struct {
	depth   int
	info    query.Info
	outside string // what the marker says; "": it is a session
}

// treePage shows where a session comes from and what came from it.
type treePage struct {
	of       query.Info
	branches []branch
	sel, top int
	ready    bool
	err      error
	load     job
}

func (m *Model) openTree(info query.Info) tea.Cmd {
	p := &treePage{of: info}
	m.push(p)
	target := query.TargetOf(info.Header)
	return m.desk.ask(&p.load, func(ctx context.Context) (any, error) {
		g, err := m.told(ctx, target)
		if err != nil {
			return nil, err
		}
		return g.Trace(ctx)
	})
}

// branches puts a lineage in rows: the oldest ancestor first, each generation
// one step further in.
func branches(l authz.Lineage) []branch {
	var out []branch
	if l.Boundary {
		out = append(out, branch{outside: "the chain goes on beyond what is here"})
	}
	for i := len(l.Ancestors) - 1; i >= 0; i-- {
		out = append(out, branch{depth: len(out), info: l.Ancestors[i]})
	}
	own := len(out)
	out = append(out, branch{depth: own, info: l.Target})
	for _, d := range l.Descendants {
		b := branch{depth: own + 1 + d.Depth, info: d.Info}
		if d.Outside {
			b.outside = "sessions that cannot be seen"
		}
		out = append(out, b)
	}
	return out
}

func (p *treePage) take(_ *Model, a answer) (tea.Cmd, bool) {
	if !p.load.waits(a) {
		return nil, false
	}
	p.err, p.ready = a.err, true
	if l, ok := a.body.(authz.Lineage); ok {
		p.branches = branches(l)
		for i := range p.branches {
			if p.branches[i].outside == "" && query.TargetOf(p.branches[i].info.Header) == query.TargetOf(p.of.Header) {
				p.sel = i
			}
		}
	}
	return nil, true
}

func (p *treePage) subject() (subject, bool) {
	if p.sel < len(p.branches) && p.branches[p.sel].outside == "" {
		return subject{info: p.branches[p.sel].info, seq: -1}, true
	}
	return subject{info: p.of, seq: -1}, !p.ready || p.err != nil
}

func (p *treePage) press(m *Model, msg tea.KeyPressMsg) tea.Cmd {
	if key.Matches(msg, m.keymap.open) {
		if s, ok := p.subject(); ok && p.ready && p.err == nil {
			return m.openSession(s.info, 0, m.asked().query)
		}
		return nil
	}
	if by, ok := m.keymap.step(msg, m.bodyHeight()); ok {
		p.sel = max(0, min(p.sel+by, len(p.branches)-1))
	}
	return nil
}

// maxIndent is the depth from which rows are not indented any further.
const maxIndent = 12

func (p *treePage) draw(m *Model, width, height int) []line {
	rows := []line{join(say(strong, "Where it comes from, and what came from it: "), titled(p.of, plain)).fit(width)}
	switch {
	case !p.ready:
		return append(rows, say(faint, "looking …"))
	case p.err != nil:
		return append(rows, quote(warning, failure(p.err)).fit(width))
	}
	s := m.scene()
	rest := height - len(rows)
	p.top = scroll(p.top, p.sel, rest, len(p.branches))
	for i := p.top; i < min(p.top+rest, len(p.branches)); i++ {
		b := &p.branches[i]
		bar, l := say(plain, "  "), plain
		if i == p.sel {
			bar, l = say(accent, "▌ "), strong
		}
		indent := strings.Repeat("  ", min(b.depth, maxIndent))
		if b.depth > 0 {
			indent = indent[2:] + "└ "
		}
		row := join(bar, say(faint, indent))
		if b.outside != "" {
			rows = append(rows, join(row, say(faint, "["+b.outside+"]")).fit(width))
			continue
		}
		row = join(row, titled(b.info, l))
		if query.TargetOf(b.info.Header) == query.TargetOf(p.of.Header) {
			row = join(row, say(accent, " ◂ this one"))
		}
		ago := age(s.now, b.info.Header.CreatedAt)
		right := join(say(plain, " "), about(b.info, s.everywhere), say(faint, " "+ago))
		// The names of the rows stand under each other, if there is room for them.
		if width >= 70 {
			half := width / 2
			rows = append(rows, join(row.fit(half), right.fit(width-half)))
			continue
		}
		rows = append(rows, join(row.fit(width-1-cells(ago)), say(faint, " "+ago)))
	}
	return rows
}

// scroll is the first of n rows to show so that the chosen one is seen.
func scroll(top, sel, height, n int) int {
	height = max(height, 1)
	top = min(top, sel)
	top = max(top, sel-height+1)
	return max(0, min(top, n-height))
}

func (p *treePage) keys(m *Model) []key.Binding {
	k := &m.keymap
	return []key.Binding{k.back, k.open, k.pager, k.copyID, k.resume, k.quit, k.help}
}

func (p *treePage) leave() { p.load.stop() }
