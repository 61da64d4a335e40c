package tui

import (
	"context"
	"fmt"
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"

	"charm.land/bubbles/v2/key"
	"charm.land/bubbles/v2/textinput"

	"github.com/yorehq/yore/authz"
	"github.com/yorehq/yore/fault"
	"github.com/yorehq/yore/query"
)

// Model is the whole of what is on the screen. It implements tea.Model; Update
// and View never wait for the corpus.
type Model struct {
	o       Options
	view    *authz.View // answers from what is indexed
	desk    *desk
	keymap  keymap
	palette palette
	width   int
	height  int

	input   textinput.Model
	typing  bool // letters go into the query
	filters filters
	results results
	preview preview
	fresh   freshness

	pages  []page // over the search; the last one is seen
	notice line   // until the next key
}

// newModel makes the model at its beginning; Init asks the first questions.
func newModel(ctx context.Context, o Options) *Model {
	m := &Model{
		o: o, view: o.View.AsIndexed(), desk: &desk{ctx: ctx}, keymap: newKeymap(),
		palette: newPalette(o.Theme != Light, o.Colours), width: 80, height: 24, typing: true, filters: newFilters(&o),
	}
	m.input = textinput.New()
	m.input.Prompt = ""
	m.input.CharLimit = maxTyped
	m.input.KeyMap.Paste = key.NewBinding(key.WithDisabled()) // the terminal's own paste is a message
	m.input.SetValue(o.Query)
	m.input.CursorEnd()
	m.input.Focus()
	return m
}

// maxTyped is how many characters can be typed into the query.
const maxTyped = 4096

// Init implements tea.Model.
func (m *Model) Init() tea.Cmd {
	cmds := []tea.Cmd{m.search(), m.refresh()}
	if m.o.Theme == Auto && m.o.Colours {
		cmds = append(cmds, tea.RequestBackgroundColor)
	}
	return tea.Batch(cmds...)
}

// Update implements tea.Model.
func (m *Model) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	switch msg := msg.(type) {
	case tea.WindowSizeMsg:
		m.width, m.height = msg.Width, msg.Height
	case tea.BackgroundColorMsg:
		if m.o.Theme == Auto {
			m.palette = newPalette(msg.IsDark(), m.o.Colours)
		}
	case tea.KeyPressMsg:
		m.notice = nil
		return m, m.press(msg)
	case tea.PasteMsg:
		if len(m.pages) == 0 {
			m.typing = true
			return m, m.edit(msg)
		}
	case answer:
		return m, m.take(msg)
	case tick:
		return m, m.tick()
	case paged:
		if msg.err != nil {
			m.notice = quote(warning, "the pager: "+msg.err.Error())
		}
	}
	return m, nil
}

// asked is what the list has to answer now.
func (m *Model) asked() asked { return asked{m.input.Value(), m.filters.key()} }

// search asks for what is typed and chosen now, in place of what was asked before.
func (m *Model) search() tea.Cmd {
	if m.results.to == m.asked() && m.results.ready && m.results.err == nil {
		return tea.Batch(m.askTeam(), m.refreshIfOld())
	}
	m.preview.clear()
	return tea.Batch(m.ask(firstHits), m.refreshIfOld())
}

// ask puts the question of the moment to the corpus.
func (m *Model) ask(limit int) tea.Cmd {
	to := m.asked()
	m.results.begin(to, limit)
	f, now := m.filters, m.o.Now()
	return tea.Batch(m.desk.ask(&m.results.job, func(ctx context.Context) (any, error) {
		return search(ctx, m.view, to.query, &f, &m.o, limit, now)
	}), m.askTeam())
}

// take hands an answer to whoever waits for it; nobody does when it is too late.
func (m *Model) take(a answer) tea.Cmd {
	switch {
	case m.results.job.waits(a):
		m.results.settle(a)
		return m.showPreview()
	case m.results.team.job.waits(a):
		m.results.settleTeam(a)
		return m.showPreview()
	case m.preview.job.waits(a):
		m.preview.settle(a)
		return nil
	case m.fresh.job.waits(a):
		return m.refreshed(a)
	}
	for _, p := range m.pages {
		if cmd, ok := p.take(m, a); ok {
			return cmd
		}
	}
	return nil
}

// maxPages is how deep one can go from session to tree to session and on; the
// oldest pages are forgotten.
const maxPages = 40

func (m *Model) push(p page) {
	if m.pages = append(m.pages, p); len(m.pages) > maxPages {
		m.pages[0].leave()
		m.pages = slices.Delete(m.pages, 0, 1)
	}
}

func (m *Model) pop() {
	last := len(m.pages) - 1
	m.pages[last].leave()
	m.pages = m.pages[:last]
}

// press handles a key.
func (m *Model) press(msg tea.KeyPressMsg) tea.Cmd {
	k := &m.keymap
	switch {
	case key.Matches(msg, k.interrupt):
		return tea.Quit
	case key.Matches(msg, k.suspend):
		return tea.Suspend
	case len(m.pages) == 0 && m.typing:
		return m.typed(msg)
	case key.Matches(msg, k.quit):
		return tea.Quit
	case key.Matches(msg, k.help):
		if !m.on(&helpPage{}) {
			m.push(&helpPage{})
		}
		return nil
	case len(m.pages) > 0 && key.Matches(msg, k.back):
		m.pop()
		return nil
	}
	if cmd, ok := m.act(msg); ok {
		return cmd
	}
	if n := len(m.pages); n > 0 {
		return m.pages[n-1].press(m, msg)
	}
	return m.listed(msg)
}

// on reports whether the page that is seen is of the same kind.
func (m *Model) on(p page) bool {
	n := len(m.pages)
	return n > 0 && fmt.Sprintf("%T", m.pages[n-1]) == fmt.Sprintf("%T", p)
}

// typed handles a key while letters go into the query.
func (m *Model) typed(msg tea.KeyPressMsg) tea.Cmd {
	page := max(1, m.bodyHeight()/3)
	switch msg.String() {
	case "up", "ctrl+p":
		return m.choose(-1)
	case "down", "ctrl+n":
		return m.choose(1)
	case "pgup":
		return m.choose(-page)
	case "pgdown":
		return m.choose(page)
	case "enter":
		return m.open()
	case "tab":
		m.typing = false
		return nil
	case "ctrl+f":
		m.push(&filterPage{})
		return nil
	case "esc":
		m.input.SetValue("")
		return m.search()
	case "f1":
		m.push(&helpPage{})
		return nil
	case "?":
		if m.input.Value() == "" {
			m.push(&helpPage{})
			return nil
		}
	}
	return m.edit(msg)
}

// edit changes the query and asks anew if it is another one.
func (m *Model) edit(msg tea.Msg) tea.Cmd {
	before := m.input.Value()
	m.input, _ = m.input.Update(msg) // its command would only blink a cursor that is not drawn
	if m.input.Value() == before {
		return nil
	}
	return m.search()
}

// listed handles a key while the list has them.
func (m *Model) listed(msg tea.KeyPressMsg) tea.Cmd {
	k := &m.keymap
	switch {
	case key.Matches(msg, k.open):
		return m.open()
	case key.Matches(msg, k.edit):
		m.typing = true
		return nil
	case key.Matches(msg, k.filters):
		m.push(&filterPage{})
		return nil
	}
	if cmd, ok := m.filterKey(msg); ok {
		return cmd
	}
	if by, ok := k.step(msg, max(2, m.bodyHeight()/3)); ok {
		return m.choose(by)
	}
	return nil
}

// choose moves the choice in the list, and asks for more at its end.
func (m *Model) choose(by int) tea.Cmd {
	moved := m.results.move(by)
	var cmds []tea.Cmd
	if by > 0 && m.results.wantsMore() && !m.results.job.busy() {
		cmds = append(cmds, m.ask(min(2*m.results.limit, mostHits)))
	}
	if moved {
		cmds = append(cmds, m.showPreview())
	}
	return tea.Batch(cmds...)
}

// open opens the chosen session at its best event.
func (m *Model) open() tea.Cmd {
	it := m.results.selected()
	if it == nil || !m.results.ready {
		return nil
	}
	seq := int64(0)
	if it.hit != nil {
		seq = it.hit.Seq
	}
	return m.openSession(it.info, seq, strings.TrimSpace(m.results.words()))
}

// subject is what the keys act on: what the page that is seen is about, or the
// chosen session.
func (m *Model) subject() (subject, bool) {
	if n := len(m.pages); n > 0 {
		if p, ok := m.pages[n-1].(aboutOne); ok {
			return p.subject()
		}
		return subject{}, false
	}
	it := m.results.selected()
	if it == nil || !m.results.ready {
		return subject{}, false
	}
	s := subject{info: it.info, seq: -1}
	if it.hit != nil {
		s.seq = it.hit.Seq
	}
	return s, true
}

// act handles the keys that do something with a session or an event.
func (m *Model) act(msg tea.KeyPressMsg) (tea.Cmd, bool) {
	k := &m.keymap
	if !key.Matches(msg, k.tree, k.relations, k.pager, k.copyID, k.resume) {
		return nil, false
	}
	s, ok := m.subject()
	switch {
	case !ok:
		m.notice = say(faint, "choose a session first")
	case key.Matches(msg, k.tree):
		if !m.on(&treePage{}) {
			return m.openTree(s.info), true
		}
	case key.Matches(msg, k.relations):
		if s.seq < 0 {
			m.notice = say(faint, "choose an event first: enter opens the session")
			return nil, true
		}
		return m.openRelations(s.info, s.seq), true
	case key.Matches(msg, k.pager):
		return m.page(query.TargetOf(s.info.Header)), true
	case key.Matches(msg, k.copyID):
		return m.copy("id", string(s.info.Header.ID)), true
	case key.Matches(msg, k.resume):
		return m.resume(s.info), true
	}
	return nil, true
}

// failure is a failure in a sentence for the person whose history it is.
func failure(err error) string {
	if code, ok := fault.Of(err); ok {
		text := fault.SafeText(err)
		if text == fault.Sentence(code) {
			text += " `yore doctor` names files, places and reasons."
		}
		return text
	}
	return err.Error()
}
