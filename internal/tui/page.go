package tui

import (
	"time"

	tea "charm.land/bubbletea/v2"

	"charm.land/bubbles/v2/key"

	"github.com/yorehq/yore/query"
)

// page is what stands over the search: a session, a tree, relations, help,
// filters. The one on top gets the keys; every one gets the answers it waits for.
type page interface {
	// press handles a key that is not everyone's.
	press(m *Model, msg tea.KeyPressMsg) tea.Cmd

	// take handles an answer if it is the page's, and says whether it was.
	take(m *Model, a answer) (tea.Cmd, bool)

	// draw gives the rows of the page, at most height.
	draw(m *Model, width, height int) []line

	// keys are those worth showing.
	keys(m *Model) []key.Binding

	// leave gives up what is under way.
	leave()
}

// scene is what drawing needs to know beside the thing drawn.
type scene struct {
	now        time.Time
	everywhere bool // several workspaces are looked at
}

// subject is what a page is about, for the keys that work on every page.
type subject struct {
	info query.Info
	seq  int64 // of the event; -1: none
}

// about is implemented by pages with a subject.
type aboutOne interface {
	subject() (subject, bool)
}
