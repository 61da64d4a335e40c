package tui

import (
	tea "charm.land/bubbletea/v2"

	"charm.land/bubbles/v2/key"
)

// bind makes a key binding from its help and its keys.
func bind(shown, does string, keys ...string) key.Binding {
	return key.NewBinding(key.WithKeys(keys...), key.WithHelp(shown, does))
}

// keymap is every key, on whichever page it works.
type keymap struct {
	up, down, pageUp, pageDown, first, last key.Binding

	open, back, quit, interrupt, suspend, help key.Binding
	switchTo, edit, filters                    key.Binding
	nextEvent, lastEvent, nextHit, lastHit     key.Binding
	tree, relations, pager, copyID, resume     key.Binding
	dropFilter, clearFilters                   key.Binding

	turn [facets]key.Binding // to a facet's next choice
}

func newKeymap() keymap {
	return keymap{
		up:       bind("↑/k", "up", "up", "k", "ctrl+p"),
		down:     bind("↓/j", "down", "down", "j", "ctrl+n"),
		pageUp:   bind("pgup", "page up", "pgup", "ctrl+b"),
		pageDown: bind("pgdn", "page down", "pgdown", "space"),
		first:    bind("g", "first", "g", "home"),
		last:     bind("G", "last", "G", "end"),

		open:      bind("enter", "open", "enter"),
		back:      bind("esc", "back", "esc", "backspace"),
		quit:      bind("q", "quit", "q"),
		interrupt: bind("ctrl+c", "quit", "ctrl+c"),
		suspend:   bind("ctrl+z", "suspend", "ctrl+z"),
		help:      bind("?", "help", "?", "f1"),

		switchTo: bind("tab", "list", "tab"),
		edit:     bind("/", "query", "/", "i", "tab", "esc"),
		filters:  bind("ctrl+f", "filters", "ctrl+f"),

		nextEvent: bind("tab", "next event", "tab", "]"),
		lastEvent: bind("shift+tab", "previous event", "shift+tab", "["),
		nextHit:   bind("n", "next hit", "n"),
		lastHit:   bind("N", "previous hit", "N"),

		tree:      bind("t", "tree", "t"),
		relations: bind("r", "relations", "r"),
		pager:     bind("p", "pager", "p"),
		copyID:    bind("c", "copy id", "c"),
		resume:    bind("R", "resume", "R"),

		dropFilter:   bind("x", "drop filter", "x"),
		clearFilters: bind("X", "drop all", "X"),

		turn: [facets]key.Binding{
			byWorkspace: bind("w", "workspace", "w"),
			byAgent:     bind("a", "agent", "a"),
			byTime:      bind("d", "time", "d"),
			byType:      bind("e", "event type", "e"),
			byState:     bind("s", "state", "s"),
			byOrder:     bind("o", "order", "o"),
			byMatch:     bind("m", "match", "m"),
		},
	}
}

// step is how far a key moves a choice in a list of which so many rows are seen;
// ok says that it is such a key.
func (k *keymap) step(msg tea.KeyPressMsg, page int) (by int, ok bool) {
	const far = 1 << 30
	switch {
	case key.Matches(msg, k.up):
		return -1, true
	case key.Matches(msg, k.down):
		return 1, true
	case key.Matches(msg, k.pageUp):
		return -max(page-1, 1), true
	case key.Matches(msg, k.pageDown):
		return max(page-1, 1), true
	case key.Matches(msg, k.first):
		return -far, true
	case key.Matches(msg, k.last):
		return far, true
	}
	return 0, false
}

// hint is the row of keys, as many as fit; the last two, which end and explain,
// stay the longest.
func hint(width int, bindings ...key.Binding) line {
	one := func(b key.Binding) line {
		return join(say(accent, b.Help().Key), say(faint, " "+b.Help().Desc))
	}
	gap := say(faint, "  ")
	from := max(0, len(bindings)-2)
	last := line{}
	for i, b := range bindings[from:] {
		if i > 0 {
			last = join(last, gap)
		}
		last = join(last, one(b))
	}
	row := line{}
	for _, b := range bindings[:from] {
		next := join(row, one(b), gap)
		if next.cells()+last.cells() > width {
			break
		}
		row = next
	}
	return join(row, last).fit(width)
}
