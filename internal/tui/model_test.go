package tui

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/yorehq/yore/session"
)

// kitchen is a small corpus: three sessions here, one elsewhere.
func kitchen(t *testing.T) *stage {
	t.Helper()
	s := newStage(t)
	s.put(header("bread"), "Bread that does not rise", "the yeast was cold", "warm yeast rises again")
	soup := header("soup")
	soup.CreatedAt += 1000
	s.put(soup, "Soup too salty", "how to rescue a salty soup", "add a potato")
	cake := header("cake")
	cake.CreatedAt += 2000
	s.put(cake, "Cake without eggs", "yeast or baking soda?")
	far := session.Header{Agent: session.Codex, ID: "far", Cwd: "/w/elsewhere", CreatedAt: noon - 86_400_000}
	s.put(far, "Yeast elsewhere", "yeast yeast")
	return s
}

func TestTypingSearches(t *testing.T) {
	s := kitchen(t)
	s.open(nil)
	s.wantTitles("Cake without eggs", "Soup too salty", "Bread that does not rise")
	s.write("salty")
	s.wantTitles("Soup too salty")
	s.sees("❯ salty", "1 session", "#0 user/message current", "how to rescue a salty soup")
	if got := s.matches(); !slices.Contains(got, "salty") {
		t.Errorf("marked are %q", got)
	}
	s.keys("esc")
	if len(s.titles()) != 3 {
		t.Errorf("an empty query lists %q", s.titles())
	}
	s.write("zebra")
	s.wantTitles()
	s.sees("no session matches")
}

func TestAQueryCanBeGiven(t *testing.T) {
	s := kitchen(t)
	s.open(func(o *Options) { o.Query, o.All = "yeast", true })
	if len(s.titles()) != 3 || !slices.Contains(s.titles(), "Yeast elsewhere") {
		t.Errorf("listed are %q", s.titles())
	}
}

// Between a key and its answer nothing is listed that answers another query, and
// an answer that comes too late is dropped.
func TestTheListNeverAnswersAnotherQuery(t *testing.T) {
	s := kitchen(t)
	s.open(nil)
	s.write("salty")
	s.press("x")
	s.lacks("Soup", "potato")
	s.sees("searching", "…")
	late := s.due
	s.due = nil
	s.press("backspace")
	s.lacks("Soup")
	newer := s.due
	// The newer answer comes first, the older one after it.
	s.due = newer
	s.settle()
	s.wantTitles("Soup too salty")
	s.due = late
	s.settle()
	s.wantTitles("Soup too salty")
	s.sees("1 session", "Soup too salty")
}

// An old answer that arrives before the newer one is no answer either.
func TestALateAnswerIsDroppedWhileTheNewOneIsAwaited(t *testing.T) {
	s := kitchen(t)
	s.open(nil)
	s.press("s", "o", "u", "p")
	all := s.due
	s.due = all[:1] // of "s": it was cancelled, whatever it came to
	s.settle()
	s.sees("searching")
	s.due = all[1:]
	s.settle()
	s.wantTitles("Soup too salty")
}

func TestANewerKeyCancelsTheOlderSearch(t *testing.T) {
	s := kitchen(t)
	s.open(nil)
	s.store.shut = true
	s.press("y")
	done := make(chan bool)
	for _, cmd := range s.due {
		go func() { perform(cmd); done <- true }()
	}
	n := len(s.due)
	s.due = nil
	<-s.store.reached // the search for "y" is under way
	s.press("e")
	for range n {
		<-done
	}
	if err := <-s.store.waited; !errors.Is(err, context.Canceled) {
		t.Errorf("the older search ended with %v", err)
	}
	s.store.shut = false
	s.settle()
	s.sees("❯ yeast") // as the list answers it
	s.wantTitles("Bread that does not rise", "Cake without eggs")
}

// perform runs a command and those in a batch of it, one after the other.
func perform(cmd tea.Cmd) {
	if cmd == nil || isTick(cmd) {
		return
	}
	if batch, ok := cmd().(tea.BatchMsg); ok {
		for _, c := range batch {
			perform(c)
		}
	}
}

func TestRefreshesAreRare(t *testing.T) {
	s := kitchen(t)
	s.open(nil)
	if s.refreshes != 1 {
		t.Fatalf("%d refreshes at the start", s.refreshes)
	}
	s.write("warm yeast")
	if s.refreshes != 1 {
		t.Errorf("%d refreshes after ten keys in a moment", s.refreshes)
	}
	s.now = s.now.Add(refreshEvery)
	s.keys("backspace", "backspace", "backspace")
	if s.refreshes != 2 {
		t.Errorf("%d refreshes after a while", s.refreshes)
	}
	s.keys("esc", "tab", "w") // all workspaces
	s.now = s.now.Add(refreshEvery)
	s.keys("a")
	if got := s.scopes[len(s.scopes)-1]; !got.All {
		t.Errorf("the last refresh was of %+v", got)
	}
}

// What a refresh finds is listed without another key, and the chosen session
// stays chosen.
func TestWhatIsNewComesInByItself(t *testing.T) {
	s := kitchen(t)
	s.open(nil)
	s.write("yeast")
	s.keys("down")
	s.put(header("new"), "More yeast", "yeast yeast yeast")
	s.now = s.now.Add(refreshEvery)
	s.keys("backspace", "t")
	if !slices.Contains(s.titles(), "More yeast") {
		t.Fatalf("listed are %q", s.titles())
	}
	s.keys("down")
	chosen := s.m.results.selected().info.Title
	s.put(header("newer"), "Even more yeast", "yeast yeast yeast yeast")
	s.due = append(s.due, s.m.refresh())
	s.settle()
	if len(s.titles()) != 4 || s.m.results.selected().info.Title != chosen {
		t.Errorf("%q of %q is chosen, want %q", s.m.results.selected().info.Title, s.titles(), chosen)
	}
}

func TestTheFirstIndexShowsItsProgress(t *testing.T) {
	s := kitchen(t)
	s.progress = [2]int{30, 120}
	s.open(nil)
	s.lacks("indexing")
	// As it is while the first refresh runs.
	s.m.fresh.done = false
	refresh := s.m.refresh()
	s.m.fresh.progress.done.Store(30)
	s.m.fresh.progress.total.Store(120)
	s.sees("indexing █████░░░░░░░░░░░░░░░ 30 of 120 sessions")
	if s.m.tick() == nil {
		t.Error("the progress is looked at once only")
	}
	s.due = append(s.due, refresh)
	s.settle()
	s.lacks("indexing")
	if s.m.tick() != nil {
		t.Error("time is looked at although nothing is under way")
	}
}

func TestAFailedRefreshIsSaid(t *testing.T) {
	s := kitchen(t)
	s.open(func(o *Options) {
		o.Refresh = func(context.Context, session.Scope, func(int, int)) (session.Coverage, error) {
			return session.Coverage{}, errors.New("the disk is full of \x1b[31mred herrings")
		}
	})
	s.sees("the disk is full of red herrings")
	s.write("soup")
	s.wantTitles("Soup too salty")
}

func TestWhatAnswersLackIsSaid(t *testing.T) {
	s := kitchen(t)
	s.open(func(o *Options) {
		o.Refresh = func(context.Context, session.Scope, func(int, int)) (session.Coverage, error) {
			return session.Coverage{Sessions: 9, Unreadable: 2}, nil
		}
	})
	s.sees("2 sessions left out")
}

func TestFilters(t *testing.T) {
	s := kitchen(t)
	s.open(nil)
	s.write("yeast")
	s.keys("tab", "w")
	s.sees("in all workspaces")
	if len(s.titles()) != 3 {
		t.Errorf("everywhere: %q", s.titles())
	}
	s.keys("a", "a") // dsh, then codex
	s.sees("  codex")
	s.wantTitles("Yeast elsewhere")
	s.keys("x")
	s.lacks("  codex")
	s.keys("d", "d") // the last hour, the last day: all events are two hours old
	s.sees("  last day")
	if len(s.titles()) != 3 {
		t.Errorf("the last day: %q", s.titles())
	}
	s.keys("X", "d")
	s.sees("  last hour")
	s.wantTitles()
	s.keys("X", "e", "e") // assistant/message
	s.sees("  assistant/message")
	s.wantTitles()
	s.keys("X", "s")
	s.sees("  current")
	if len(s.titles()) != 2 {
		t.Errorf("current: %q", s.titles())
	}
	s.keys("s") // shadowed
	s.wantTitles()
	s.keys("X", "o", "m")
	s.sees("  by matches", "  literal match")
	s.keys("x")
	s.lacks("literal match")
	s.sees("  by matches")
	s.keys("X")
	s.lacks("by matches")
	s.sees("in /w/here")
	s.keys("x") // there is none
	if len(s.titles()) != 2 {
		t.Errorf("no filter: %q", s.titles())
	}
}

// The recent sessions of an empty query are filtered as well.
func TestFiltersOfRecentSessions(t *testing.T) {
	s := kitchen(t)
	s.open(func(o *Options) { o.All = true })
	s.keys("tab", "a", "a")
	s.wantTitles("Yeast elsewhere")
	s.keys("X", "w")
	s.sees("in /w/here")
	if len(s.titles()) != 3 {
		t.Errorf("here: %q", s.titles())
	}
	s.keys("d")
	s.wantTitles()
	s.sees("no sessions")
	s.keys("d", "e")
	s.sees("type a query")
}

func TestTheFiltersPage(t *testing.T) {
	s := kitchen(t)
	s.open(nil)
	s.keys("ctrl+f")
	s.sees("[this one, /w/here]", "[any]", "[relevance]", "[auto]", "user/message")
	s.keys("down", "right", "right")
	s.sees("[codex]")
	s.wantTitles()
	s.keys("left")
	s.sees("[dsh]")
	s.keys("X", "up", "space")
	s.sees("[all]")
	if len(s.titles()) != 4 {
		t.Errorf("everywhere: %q", s.titles())
	}
	s.keys("esc")
	s.write("far")
	s.sees("❯ far", "in all workspaces")
}

func TestMovingThroughTheList(t *testing.T) {
	s := newStage(t)
	for i := range 150 {
		h := header(fmt.Sprintf("s%03d", i))
		h.CreatedAt += int64(i)
		s.put(h, fmt.Sprintf("session %03d", i), fmt.Sprintf("walnut number %03d", i))
	}
	s.open(nil)
	s.sees("60+ sessions", "session 149")
	s.keys("tab", "G")
	// Coming to the end asked for more.
	s.sees("120+ sessions")
	s.keys("G")
	s.sees("150 sessions")
	s.keys("G")
	s.sees("session 000")
	s.keys("g")
	s.sees("session 149")
	s.keys("j", "j", "k")
	if got := s.m.results.selected().info.Title; got != "session 148" {
		t.Errorf("chosen is %q", got)
	}
	s.keys("/", "up", "up", "up", "down")
	if got := s.m.results.selected().info.Title; got != "session 148" {
		t.Errorf("chosen is %q", got)
	}
	s.write("walnut 007")
	s.sees("not literal")
}

func TestPreview(t *testing.T) {
	s := newStage(t)
	long := strings.Repeat("filler before. ", 3000) + "the needle is here" + strings.Repeat(" filler behind.", 3000)
	s.put(header("a"), "A haystack", "before it", long, "after it")
	s.open(func(o *Options) { o.Query = "needle" })
	s.size(120, 40)
	s.sees("needle is here filler behind", "#1 user/message current")
	middle := 0
	for i, row := range s.rows() {
		if strings.Contains(row[strings.Index(row, "│")+1:], "needle") {
			middle = i
		}
	}
	if middle < 12 || middle > 28 {
		t.Errorf("the match is in row %d of 40:\n%s", middle, s.screen())
	}
	// Another width: the match is seen still.
	s.size(60, 40)
	s.sees("needle")
	s.size(140, 20)
	s.sees("needle")
}

func TestHelpNamesEveryKeyThatIsBound(t *testing.T) {
	s := kitchen(t)
	s.open(nil)
	s.size(100, 100)
	s.keys("?")
	k := newKeymap()
	for name, b := range map[string]interface{ Keys() []string }{
		"open": k.open, "tree": k.tree, "relations": k.relations, "pager": k.pager, "copy": k.copyID, "resume": k.resume, "quit": k.quit,
		"next hit": k.nextHit, "drop": k.dropFilter, "clear": k.clearFilters,
	} {
		if key := b.Keys()[0]; !slices.ContainsFunc(s.rows(), func(r string) bool { return strings.HasPrefix(strings.TrimSpace(r), key) }) {
			t.Errorf("help lacks %s (%s):\n%s", name, key, s.screen())
		}
	}
	s.keys("?", "esc")
	s.sees("❯")
	s.write("a?")
	s.sees("❯ a?")
	s.keys("f1")
	s.sees("While typing")
}

func TestQuitting(t *testing.T) {
	for _, keys := range [][]string{{"ctrl+c"}, {"tab", "q"}, {"enter", "q"}, {"tab", "t", "q"}, {"enter", "r", "ctrl+c"}, {"?", "q"}} {
		s := kitchen(t)
		s.open(nil)
		s.keys(keys...)
		if !s.quit {
			t.Errorf("%v does not quit", keys)
		}
	}
	s := kitchen(t)
	s.open(nil)
	s.write("q")
	if s.quit {
		t.Error("a typed q quits")
	}
}

// Questions end before Run returns, since the corpus is closed then.
func TestNothingIsAskedAfterTheEnd(t *testing.T) {
	s := kitchen(t)
	s.open(nil)
	s.press("y")
	s.m.desk.close()
	s.settle()
	s.sees("searching")
}

func TestPastingGoesIntoTheQuery(t *testing.T) {
	s := kitchen(t)
	s.open(nil)
	s.keys("tab")
	s.deliver(tea.PasteMsg{Content: "salty\nsoup\x1b[2J\x07"})
	s.settle()
	s.sees("❯ salty soup")
	s.deliver(tea.PasteMsg{Content: strings.Repeat("x", 100_000)})
	s.settle()
	if n := len(s.m.input.Value()); n > maxTyped {
		t.Errorf("the query has %d bytes", n)
	}
}

func TestThemes(t *testing.T) {
	s := kitchen(t)
	s.open(func(o *Options) { o.Theme, o.Query = Auto, "yeast" })
	dark := s.m.View().Content
	s.deliver(tea.BackgroundColorMsg{Color: white{}})
	light := s.m.View().Content
	if dark == light {
		t.Error("a light background changes nothing")
	}
	s.m.palette = newPalette(true, true)
	if s.m.View().Content != dark {
		t.Error("a terminal that does not answer counts as dark")
	}
	plain := kitchen(t)
	plain.open(func(o *Options) { o.Colours, o.Query = false, "yeast" })
	content := plain.m.View().Content
	if strings.Contains(content, "[38") || strings.Contains(content, "[48") || strings.Contains(content, ";38") || strings.Contains(content, ";48") {
		t.Errorf("there are colours in %q", content)
	}
	if !strings.Contains(content, "\x1b[") {
		t.Error("without colours nothing is told apart")
	}
}

type white struct{}

func (white) RGBA() (r, g, b, a uint32) { return 0xffff, 0xffff, 0xffff, 0xffff }

func TestAge(t *testing.T) {
	now := time.UnixMilli(noon)
	for ago, want := range map[time.Duration]string{
		-time.Hour: "now", 0: "now", 59 * time.Second: "now", time.Minute: "1m", 59 * time.Minute: "59m", time.Hour: "1h", 23 * time.Hour: "23h",
		24 * time.Hour: "1d", 99 * 24 * time.Hour: "99d", 100 * 24 * time.Hour: "3mo", 729 * 24 * time.Hour: "23mo", 730 * 24 * time.Hour: "2y",
	} {
		if got := age(now, noon-ago.Milliseconds()); got != want {
			t.Errorf("%v ago is %q, want %q", ago, got, want)
		}
	}
	if got := age(now, 0); got != "" {
		t.Errorf("no time is %q", got)
	}
	if got := age(now, -1<<62); got != "" {
		t.Errorf("a time before all times is %q", got)
	}
}
