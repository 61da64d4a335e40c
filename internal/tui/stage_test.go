package tui

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/yorehq/yore/authz"
	"github.com/yorehq/yore/internal/ingest"
	"github.com/yorehq/yore/query"
	"github.com/yorehq/yore/session"
	"github.com/yorehq/yore/sqlite"
)

// noon is the time it is on every stage: 2026-06-01T12:00:00Z.
const noon = 1_780_315_200_000

// stage is a model over a corpus in memory, driven without a terminal: what
// Update returns to be done is done when the test says so.
type stage struct {
	t         *testing.T
	set       *ingest.LiveSet
	logs      map[session.ID]*ingest.LiveLog
	store     *gate
	m         *Model
	now       time.Time
	due       []tea.Cmd // not done yet
	refreshes int
	scopes    []session.Scope
	progress  [2]int // that a refresh reports
	clipboard []string
	quit      bool
}

// gate is a store whose snapshots wait until it is open, or are given up.
type gate struct {
	query.Store
	shut    bool
	reached chan bool  // a snapshot has to wait
	waited  chan error // what it came to
}

func (g *gate) Snapshot(ctx context.Context, workspace string) (query.Snapshot, error) {
	if g.shut {
		g.reached <- true
		<-ctx.Done()
		g.waited <- ctx.Err()
		return nil, ctx.Err()
	}
	return g.Store.Snapshot(ctx, workspace)
}

func newStage(t *testing.T) *stage {
	t.Helper()
	index, err := sqlite.OpenMemory(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { index.Close() })
	return &stage{
		t: t, set: ingest.NewLiveSet(index, index), logs: map[session.ID]*ingest.LiveLog{},
		store: &gate{Store: index, reached: make(chan bool, 100), waited: make(chan error, 100)}, now: time.UnixMilli(noon).UTC(),
	}
}

// header is a session of the workspace /w/here.
func header(id string) session.Header {
	return session.Header{Agent: session.DSH, ID: session.ID(id), Cwd: "/w/here", CreatedAt: noon - 3*3_600_000}
}

// put adds a session with a title (none if it is "") and what a person said.
func (s *stage) put(h session.Header, title string, texts ...string) {
	s.t.Helper()
	l, err := s.set.Register(s.t.Context(), h)
	if err != nil {
		s.t.Fatal(err)
	}
	s.logs[h.ID] = l
	for _, text := range texts {
		s.say(h.ID, session.Event{Type: session.UserMessage, Op: session.Op{Kind: session.OpAppend}, Body: session.Body{Speaker: session.Human, Blocks: []session.Block{{Text: text}}}})
	}
	if title != "" {
		s.say(h.ID, session.Event{Type: session.TitleEvent, Body: session.Body{Title: &title}})
	}
}

func (s *stage) say(id session.ID, e session.Event) {
	s.t.Helper()
	l := s.logs[id]
	e.Seq = l.Len()
	e.Time = noon - 2*3_600_000 + e.Seq
	if err := l.Append(session.Raw{Event: e, Native: []byte(`{}`)}); err != nil {
		s.t.Fatal(err)
	}
}

// open makes the model and does what it asks for at its beginning.
func (s *stage) open(change func(*Options)) {
	s.t.Helper()
	if _, err := s.set.Refresh(s.t.Context(), session.Scope{All: true}, nil); err != nil {
		s.t.Fatal(err)
	}
	engine, err := query.New(query.Config{Disk: query.Corpus{Store: s.store, Refresher: s.set, Logs: s.set}})
	if err != nil {
		s.t.Fatal(err)
	}
	view, err := authz.New(s.t.Context(), engine, authz.Owner, nil, authz.Caller{})
	if err != nil {
		s.t.Fatal(err)
	}
	o := Options{
		View: view, Workspace: "/w/here", Colours: true, Theme: Dark, Agents: []session.Agent{session.DSH, session.Codex},
		Now: func() time.Time { return s.now },
		Refresh: func(ctx context.Context, scope session.Scope, progress func(done, total int)) (session.Coverage, error) {
			s.refreshes++
			s.scopes = append(s.scopes, scope)
			progress(s.progress[0], s.progress[1])
			return s.set.Refresh(ctx, scope, nil)
		},
	}
	if change != nil {
		change(&o)
	}
	s.m = newModel(s.t.Context(), o)
	s.t.Cleanup(s.m.desk.close)
	s.due = append(s.due, s.m.Init())
	s.settle()
}

// settle does what is due, and what that makes due, until nothing is. Moments
// that only pass time are left out.
func (s *stage) settle() {
	s.t.Helper()
	for n := 0; len(s.due) > 0; n++ {
		if n > 10_000 {
			s.t.Fatal("it never settles")
		}
		cmd := s.due[0]
		s.due = s.due[1:]
		if cmd != nil && !isTick(cmd) {
			s.deliver(cmd())
		}
	}
	if s.m != nil {
		s.m.View()
	}
}

// isTick reports whether a command is one that waits for the clock.
func isTick(cmd tea.Cmd) bool { return fmt.Sprintf("%p", cmd) == fmt.Sprintf("%p", ticking()) }

// deliver gives a message to the model; what it wants done then is due.
func (s *stage) deliver(msg tea.Msg) {
	s.t.Helper()
	switch msg := msg.(type) {
	case nil:
		return
	case tea.BatchMsg:
		s.due = append(s.due, msg...)
		return
	case tea.QuitMsg:
		s.quit = true
		return
	}
	if fmt.Sprintf("%T", msg) == "tea.setClipboardMsg" {
		s.clipboard = append(s.clipboard, fmt.Sprint(msg))
		return
	}
	_, cmd := s.m.Update(msg)
	s.due = append(s.due, cmd)
}

// keysOf are the keys that are not letters.
var keysOf = map[string]tea.KeyPressMsg{
	"enter": {Code: tea.KeyEnter}, "esc": {Code: tea.KeyEscape}, "tab": {Code: tea.KeyTab}, "up": {Code: tea.KeyUp}, "down": {Code: tea.KeyDown},
	"left": {Code: tea.KeyLeft}, "right": {Code: tea.KeyRight}, "pgdn": {Code: tea.KeyPgDown}, "pgup": {Code: tea.KeyPgUp},
	"backspace": {Code: tea.KeyBackspace}, "space": {Code: ' ', Text: " "}, "f1": {Code: tea.KeyF1},
	"ctrl+c": {Code: 'c', Mod: tea.ModCtrl}, "ctrl+f": {Code: 'f', Mod: tea.ModCtrl}, "ctrl+z": {Code: 'z', Mod: tea.ModCtrl},
}

// press gives keys to the model without doing what is due.
func (s *stage) press(keys ...string) {
	s.t.Helper()
	for _, k := range keys {
		msg, ok := keysOf[k]
		if !ok {
			r := []rune(k)
			if len(r) != 1 {
				s.t.Fatalf("no key is called %q", k)
			}
			msg = tea.KeyPressMsg{Code: r[0], Text: k}
		}
		s.deliver(msg)
	}
}

// keys presses keys, each after what the one before made due is done.
func (s *stage) keys(keys ...string) {
	s.t.Helper()
	for _, k := range keys {
		s.press(k)
		s.settle()
	}
}

// write types a text.
func (s *stage) write(text string) {
	s.t.Helper()
	for _, r := range text {
		k := string(r)
		if r == ' ' {
			k = "space"
		}
		s.keys(k)
	}
}

func (s *stage) size(width, height int) {
	s.t.Helper()
	s.deliver(tea.WindowSizeMsg{Width: width, Height: height})
	s.settle()
}

// rows is the screen without styles, spaces at the ends of rows left out.
func (s *stage) rows() []string {
	rows, _ := s.m.screen()
	var out []string
	for _, l := range rows {
		out = append(out, strings.TrimRight(l.text(), " "))
	}
	return out
}

func (s *stage) screen() string { return strings.Join(s.rows(), "\n") }

// sees fails unless the screen has each of the texts.
func (s *stage) sees(texts ...string) {
	s.t.Helper()
	for _, text := range texts {
		if !strings.Contains(s.screen(), text) {
			s.t.Errorf("the screen lacks %q:\n%s", text, s.screen())
		}
	}
}

// lacks fails if the screen has one of the texts.
func (s *stage) lacks(texts ...string) {
	s.t.Helper()
	for _, text := range texts {
		if strings.Contains(s.screen(), text) {
			s.t.Errorf("the screen has %q:\n%s", text, s.screen())
		}
	}
}

// matches are the texts on the screen that are marked as answering the query.
func (s *stage) matches() []string {
	rows, _ := s.m.screen()
	var out []string
	for _, l := range rows {
		for _, r := range l {
			if r.look == match {
				out = append(out, r.text)
			}
		}
	}
	return out
}

// titles are the titles in the list, in order.
func (s *stage) titles() []string {
	titles := []string{}
	for _, it := range s.m.results.items {
		titles = append(titles, it.info.Title)
	}
	return titles
}

func (s *stage) wantTitles(want ...string) {
	s.t.Helper()
	if !slices.Equal(s.titles(), want) {
		s.t.Errorf("listed are %q, want %q", s.titles(), want)
	}
}
