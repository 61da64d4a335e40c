package tui

import (
	"fmt"
	"strings"

	tea "charm.land/bubbletea/v2"

	"charm.land/bubbles/v2/key"

	"github.com/charmbracelet/x/ansi"
)

// The smallest screen on which there is more than the query.
const (
	minWidth  = 10
	minHeight = 4
)

// View implements tea.Model.
func (m *Model) View() tea.View {
	rows, cursor := m.screen()
	v := tea.NewView(m.palette.paint(rows))
	v.AltScreen = true
	v.Cursor = cursor
	return v
}

func (m *Model) scene() *scene {
	return &scene{now: m.o.Now(), everywhere: m.filters.everywhere()}
}

// frame says which rows there are beside the body.
func (m *Model) frame() (chips, status bool, notice []line) {
	chips = m.height >= 8
	status = m.height >= 7
	if m.notice != nil {
		text := m.notice.text()
		notice = []line{m.notice.fit(m.width)}
		if cells(text) > m.width { // a command has to be seen whole to be copied by hand
			notice = nil
			for _, r := range wrap(text, m.width) {
				notice = append(notice, say(strong, text[r.Start:r.End]).fit(m.width))
			}
			notice = notice[:min(len(notice), max(1, m.height/2))]
		}
	}
	return chips, status || notice != nil, notice
}

// bodyHeight is how many rows the list or a page has.
func (m *Model) bodyHeight() int {
	chips, status, notice := m.frame()
	n := m.height - 2 // query and keys
	if chips {
		n--
	}
	if status {
		n -= max(1, len(notice))
	}
	return max(n, 0)
}

// screen draws everything: exactly height rows of exactly width columns.
func (m *Model) screen() ([]line, *tea.Cursor) {
	if m.width <= 0 || m.height <= 0 {
		return nil, nil
	}
	top, cursor := m.queryRow()
	rows := []line{top}
	if m.width < minWidth || m.height < minHeight {
		return m.filled(rows), cursor
	}
	chips, status, notice := m.frame()
	if chips {
		rows = append(rows, m.filters.chips().fit(m.width))
	}
	height := m.bodyHeight()
	body := m.body(height)
	for i := range height {
		if i < len(body) {
			rows = append(rows, body[i].fit(m.width))
		} else {
			rows = append(rows, say(plain, "").fit(m.width))
		}
	}
	if status {
		if notice == nil {
			notice = []line{m.statusRow()}
		}
		rows = append(rows, notice...)
	}
	rows = append(rows, hint(m.width, m.hints()...))
	return m.filled(rows), cursor
}

// filled makes the rows as many as the screen has.
func (m *Model) filled(rows []line) []line {
	for len(rows) < m.height {
		rows = append(rows, say(plain, "").fit(m.width))
	}
	return rows[:m.height]
}

// queryRow is the query and how many sessions answer it. A long query is
// scrolled so that the cursor is seen.
func (m *Model) queryRow() (line, *tea.Cursor) {
	count := m.count()
	const prompt = "❯ "
	room := m.width - cells(prompt) - 1
	if m.width >= 40 {
		room -= cells(count) + 1
	} else {
		count = ""
	}
	room = max(room, 1)
	value := []rune(m.input.Value())
	at := min(m.input.Position(), len(value))
	before, after := visible(string(value[:at])), visible(string(value[at:]))
	for cells(before) > room-1 && before != "" {
		cluster, _ := ansi.FirstGraphemeCluster(before, ansi.WcWidth)
		before = before[len(cluster):]
	}
	look := plain
	if m.typing && len(m.pages) == 0 {
		look = strong
	}
	ghost := "" // how the word that is being typed may end; the list answers the finished one
	if m.typing && after == "" && m.results.ready && m.results.to == m.asked() {
		ghost = visible(m.results.rest)
	}
	row := join(say(accent, prompt), join(say(look, before), say(look, after), say(faint, ghost)).fit(room))
	if before+after == "" {
		row = join(say(accent, prompt), say(faint, "type to search").fit(room))
	}
	row = join(row, say(plain, " "), say(faint, count)).fit(m.width)
	if !m.typing || len(m.pages) > 0 {
		return row, nil
	}
	return row, tea.NewCursor(min(cells(prompt)+cells(before), m.width-1), 0)
}

// visible is what is typed as it is shown: spaces at the ends stay, and nothing
// steers the screen.
func visible(typed string) string {
	body := strings.Trim(typed, " ")
	if body == "" {
		return typed
	}
	i := strings.Index(typed, body)
	return typed[:i] + quote(plain, body).text() + typed[i+len(body):]
}

func (m *Model) count() string {
	r := &m.results
	switch {
	case !r.ready:
		return "…"
	case r.err != nil:
		return ""
	}
	more := ""
	if r.more {
		more = "+"
	}
	if r.mine != 1 || r.more {
		return fmt.Sprintf("%d%s sessions", r.mine, more) + r.team.count()
	}
	return "1 session" + r.team.count()
}

// statusRow says where one is, and how complete the answers are.
func (m *Model) statusRow() line {
	left := line{}
	if n := len(m.pages); n > 0 {
		if p, ok := m.pages[n-1].(*sessionPage); ok {
			left = say(faint, p.where())
		}
	} else if m.filters.chosen[byType]+m.filters.chosen[byState] > 0 && strings.TrimSpace(m.input.Value()) == "" {
		left = say(faint, "event type and state choose among hits: type a query")
	}
	if note := m.results.team.note(); note != "" && len(m.pages) == 0 {
		if left.cells() > 0 {
			left = join(left, say(faint, " · "))
		}
		left = join(left, quote(warning, note))
	}
	if note := maskedNote(m.masked()); note != "" {
		if left.cells() > 0 {
			left = join(left, say(faint, " · "))
		}
		left = join(left, say(faint, note))
	}
	right := m.fresh.status(m.width)
	if left.cells() == 0 {
		return right.fit(m.width)
	}
	if gap := m.width - left.cells() - right.cells(); gap > 0 {
		return join(left, say(plain, strings.Repeat(" ", gap)), right).fit(m.width)
	}
	return left.fit(m.width)
}

func (m *Model) hints() []key.Binding {
	k := &m.keymap
	switch n := len(m.pages); {
	case n > 0:
		return m.pages[n-1].keys(m)
	case m.typing:
		help := bind("f1", "help", "f1")
		if m.input.Value() == "" {
			help = k.help
		}
		return []key.Binding{k.open, k.switchTo, bind("↑↓", "choose"), k.filters, bind("esc", "clear"), bind("ctrl+c", "quit"), help}
	}
	return []key.Binding{k.open, bind("/", "query"), k.tree, k.relations, k.pager, k.copyID, k.resume, k.filters, k.quit, k.help}
}

// The sizes from which the preview has a place: beside the list, or below it.
const (
	besideWidth  = 100
	besideHeight = 8
	belowHeight  = 18
)

// body is the page that is seen, or the list with its preview.
func (m *Model) body(height int) []line {
	if n := len(m.pages); n > 0 {
		return m.pages[n-1].draw(m, m.width, height)
	}
	s := m.scene()
	focused := !m.typing
	switch {
	case m.width >= besideWidth && height >= besideHeight:
		left := m.width * 2 / 5
		right := m.width - left - 3
		list, beside := m.list(left, height, focused, s), m.preview.view(right, height, s)
		rows := make([]line, height)
		for i := range rows {
			rows[i] = join(at(list, i).fit(left), say(faint, " │ "), at(beside, i).fit(right))
		}
		return rows
	case height >= belowHeight:
		upper := height * 2 / 5
		rows := m.list(m.width, upper, focused, s)
		for len(rows) < upper {
			rows = append(rows, line{})
		}
		rows = append(rows, say(faint, strings.Repeat("─", m.width)))
		return append(rows, m.preview.view(m.width, height-upper-1, s)...)
	}
	return m.list(m.width, height, focused, s)
}

// list is the results; before the first refresh has ended an empty one says
// nothing yet.
func (m *Model) list(width, height int, focused bool, s *scene) []line {
	if m.results.ready && m.results.err == nil && len(m.results.items) == 0 && m.fresh.job.busy() {
		return []line{say(faint, " nothing yet: sessions are being indexed")}
	}
	return m.results.view(width, height, focused, s)
}

func at(rows []line, i int) line {
	if i < len(rows) {
		return rows[i]
	}
	return nil
}
