package tui

import (
	"strings"

	tea "charm.land/bubbletea/v2"

	"charm.land/bubbles/v2/key"

	"github.com/yorehq/yore/internal/render"
)

// filterPage shows every filter with all its choices.
type filterPage struct{ sel, top int }

func (p *filterPage) press(m *Model, msg tea.KeyPressMsg) tea.Cmd {
	switch msg.String() {
	case "right", "l", "space", "enter":
		m.filters.turn(facet(p.sel), 1)
		return m.search()
	case "left", "h":
		m.filters.turn(facet(p.sel), -1)
		return m.search()
	}
	if cmd, ok := m.filterKey(msg); ok {
		return cmd
	}
	if by, ok := m.keymap.step(msg, int(facets)); ok {
		p.sel = max(0, min(p.sel+by, int(facets)-1))
	}
	return nil
}

// filterKey handles the keys that change filters, which are the same wherever
// letters are not typed into the query.
func (m *Model) filterKey(msg tea.KeyPressMsg) (tea.Cmd, bool) {
	switch {
	case key.Matches(msg, m.keymap.dropFilter):
		m.filters.drop()
		return m.search(), true
	case key.Matches(msg, m.keymap.clearFilters):
		m.filters.clear()
		return m.search(), true
	}
	for by := range facets {
		if key.Matches(msg, m.keymap.turn[by]) {
			m.filters.turn(by, 1)
			return m.search(), true
		}
	}
	return nil, false
}

func (p *filterPage) take(*Model, answer) (tea.Cmd, bool) { return nil, false }

func (p *filterPage) draw(m *Model, width, height int) []line {
	rows := []line{say(strong, "Filters").fit(width)}
	rest := height - len(rows)
	p.top = scroll(p.top, p.sel, rest, int(facets))
	for by := p.top; by < min(p.top+rest, int(facets)); by++ {
		bar := say(plain, "  ")
		if by == p.sel {
			bar = say(accent, "▌ ")
		}
		name := facetNames[by]
		head := join(bar, say(accent, m.keymap.turn[by].Help().Key+" "), say(plain, name+strings.Repeat(" ", max(0, 11-len(name)))))
		row := join(head, choices(m, facet(by), 0))
		if row.cells() > width { // what is chosen is seen, however narrow the screen is
			row = join(head, choices(m, facet(by), m.filters.chosen[by]))
		}
		rows = append(rows, row.fit(width))
	}
	return rows
}

// choices shows the choices of a facet from one on.
func choices(m *Model, by facet, from int) line {
	var row line
	for i, c := range m.filters.choices[by][from:] {
		text := c.name
		if by == byWorkspace && c.value != "" {
			text = "this one, " + tail(render.Name(c.value), 40)
		}
		l := faint
		if from+i == m.filters.chosen[by] {
			l, text = strong, "["+text+"]"
		}
		row = join(row, say(plain, " "), quote(l, text))
	}
	return row
}

func (p *filterPage) keys(m *Model) []key.Binding {
	k := &m.keymap
	return []key.Binding{k.back, bind("↑↓", "which"), bind("←→", "what"), k.dropFilter, k.clearFilters, k.quit, k.help}
}

func (p *filterPage) leave() {}

// helpPage lists the keys.
type helpPage struct{ top int }

// sections are the keys by where they work.
func (k *keymap) sections() []struct {
	title string
	keys  []key.Binding
} {
	type section = struct {
		title string
		keys  []key.Binding
	}
	return []section{
		{"While typing", []key.Binding{
			bind("↑ ↓ pgup pgdn", "choose a session"), bind("enter", "open it at its best event"), bind("tab", "to the list, where letters are keys"),
			bind("ctrl+f", "filters"), bind("esc", "clear the query"), bind("f1", "this page"), bind("ctrl+c", "quit"),
		}},
		{"In the list, and everywhere but in the query", []key.Binding{
			k.open, bind("/ i tab", "to the query"), k.tree, k.relations, k.pager, k.copyID, bind("R", "show and copy the command that resumes it"), k.help, k.quit,
		}},
		{"Filters, in the list", append(append([]key.Binding{}, k.turn[:]...), k.dropFilter, k.clearFilters)},
		{"In a session", []key.Binding{
			k.up, k.down, k.pageUp, k.pageDown, k.nextEvent, k.lastEvent, k.nextHit, k.lastHit, k.first, k.last,
			bind("enter", "all of a long event's text"), k.relations, k.tree, k.pager, k.back,
		}},
	}
}

func (p *helpPage) press(m *Model, msg tea.KeyPressMsg) tea.Cmd {
	if by, ok := m.keymap.step(msg, m.bodyHeight()); ok {
		p.top = max(0, min(p.top+by, 60))
	}
	return nil
}

func (p *helpPage) take(*Model, answer) (tea.Cmd, bool) { return nil, false }

func (p *helpPage) draw(m *Model, width, height int) []line {
	var rows []line
	for i, s := range m.keymap.sections() {
		if i > 0 {
			rows = append(rows, say(plain, "").fit(width))
		}
		rows = append(rows, say(strong, s.title).fit(width))
		for _, b := range s.keys {
			name := b.Help().Key
			rows = append(rows, join(say(plain, "  "), say(accent, name), say(plain, strings.Repeat(" ", max(1, 15-cells(name)))+b.Help().Desc)).fit(width))
		}
	}
	p.top = max(0, min(p.top, len(rows)-height))
	return rows[p.top:min(p.top+height, len(rows))]
}

func (p *helpPage) keys(m *Model) []key.Binding {
	return []key.Binding{m.keymap.back, bind("↑↓", "scroll"), m.keymap.quit}
}

func (p *helpPage) leave() {}
