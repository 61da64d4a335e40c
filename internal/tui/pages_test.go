package tui

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"

	"github.com/yorehq/yore/internal/render"
	"github.com/yorehq/yore/query"
	"github.com/yorehq/yore/session"
)

// novel is one session of many events: every seventh says "walnut", and event
// 600 is very long.
func novel(t *testing.T) *stage {
	t.Helper()
	s := newStage(t)
	s.put(header("novel"), "")
	for i := range 1000 {
		text := fmt.Sprintf("line of event %d.", i)
		if i%7 == 0 {
			text += " walnut"
		}
		if i == 600 {
			text = strings.Repeat("very long text. ", 5000) + "the end of it"
		}
		s.say("novel", session.Event{Type: session.UserMessage, Op: session.Op{Kind: session.OpAppend}, Body: session.Body{Speaker: session.Human, Blocks: []session.Block{{Text: text}}}})
	}
	return s
}

// here is the seq of the event that the session page is at.
func (s *stage) here() int64 {
	s.t.Helper()
	s.screen() // where one is depends on the rows there are
	p, ok := s.m.pages[len(s.m.pages)-1].(*sessionPage)
	if !ok || p.here() == nil {
		s.t.Fatalf("no event is looked at:\n%s", s.screen())
	}
	return p.here().Seq
}

func TestReadingASession(t *testing.T) {
	s := novel(t)
	s.open(func(o *Options) { o.Query = "event 504" })
	s.keys("enter")
	s.sees("line of event 504. walnut", "505 of 1000 with text", "current", "line of event 503.", "line of event 505.")
	if s.here() != 504 {
		t.Errorf("at event %d", s.here())
	}
	s.keys("tab", "tab", "]", "[")
	if s.here() != 506 {
		t.Errorf("two events on is %d", s.here())
	}
	// Row by row through many more events than were read at first, and back.
	for range 3 * 300 {
		s.keys("j")
		s.screen()
	}
	if got := s.here(); got < 700 || got > 900 {
		t.Errorf("900 rows on is event %d", got)
	}
	for range 3 * 60 {
		s.keys("pgup")
		s.screen()
	}
	if s.here() != 0 {
		t.Errorf("the first one is event %d", s.here())
	}
	s.keys("G")
	s.sees("line of event 999.", "1000 of 1000")
	s.keys("g")
	s.sees("line of event 0.", "1 of 1000")
	p := s.m.pages[0].(*sessionPage)
	if n := len(p.read.passages); n > keep {
		t.Errorf("%d passages are held", n)
	}
	s.keys("esc")
	s.sees("❯ event 504")
}

// Every passage is there once and in order, however one comes to it.
func TestReadingSkipsNothing(t *testing.T) {
	s := novel(t)
	s.open(func(o *Options) { o.Query = "event 504" })
	s.keys("enter")
	for i, k := range []string{"pgdn", "pgup", "pgdn", "G", "pgup", "g", "pgdn"} {
		for range 40 {
			s.keys(k)
			s.screen()
			p := s.m.pages[0].(*sessionPage)
			for j := 1; j < len(p.read.passages); j++ {
				if p.read.passages[j].Ordinal != p.read.passages[j-1].Ordinal+1 {
					t.Fatalf("step %d: passage %d follows %d", i, p.read.passages[j].Ordinal, p.read.passages[j-1].Ordinal)
				}
			}
			if k == "G" || k == "g" {
				break
			}
		}
	}
}

func TestGoingFromHitToHit(t *testing.T) {
	s := novel(t)
	s.open(func(o *Options) { o.Query = "walnut" })
	s.keys("enter", "g")
	s.screen()
	var seqs []int64
	for range 142 {
		seqs = append(seqs, s.here())
		s.keys("n")
		s.screen()
	}
	for i, seq := range seqs {
		// Event 600 lost its word, which is no multiple of seven.
		if seq != int64(7*i) {
			t.Fatalf("hit %d is event %d", i, seq)
		}
	}
	s.keys("n")
	s.sees("no further hit")
	s.keys("N", "N")
	if s.here() != 980 {
		t.Errorf("two hits back is event %d", s.here())
	}
	s.sees("hit 141 of 143")
}

func TestALongEventIsShownWhole(t *testing.T) {
	s := novel(t)
	s.open(func(o *Options) { o.Query = "event 599" })
	s.keys("enter", "]")
	s.sees("#600", "very long text.")
	if p := s.m.pages[0].(*sessionPage); !p.here().after {
		t.Fatal("the event is shown whole at once")
	}
	s.keys("enter")
	if p := s.m.pages[0].(*sessionPage); p.here().after || p.here().Seq != 600 || !strings.HasSuffix(strings.Join(p.here().paragraphs, ""), "the end of it") {
		t.Errorf("enter shows of event %d …%s", p.here().Seq, strings.Join(p.here().paragraphs, "")[max(0, len(p.here().paragraphs)-40):])
	}
	s.sees("#600", "very long text.")
}

// family is a session with an ancestor line and descendants.
func family(t *testing.T) *stage {
	t.Helper()
	s := newStage(t)
	for i, of := range []struct{ id, parent string }{{"root", ""}, {"mid", "root"}, {"me", "mid"}, {"kid1", "me"}, {"kid2", "me"}, {"grandkid", "kid1"}, {"stray", "gone"}} {
		h := header(of.id)
		h.ParentSession, h.CreatedAt = session.ID(of.parent), h.CreatedAt+int64(i)*60_000
		s.put(h, "the "+of.id, "words of "+of.id)
	}
	return s
}

func TestTree(t *testing.T) {
	s := family(t)
	s.open(func(o *Options) { o.Query = "words of me" })
	s.keys("tab", "t")
	want := []string{"the root", "└ the mid", "└ the me ◂ this one", "└ the kid1", "└ the grandkid", "└ the kid2"}
	var got []string
	for _, row := range s.rows()[3:9] {
		title, _, _ := strings.Cut(strings.TrimLeft(row, "▌ "), "  ")
		got = append(got, title)
	}
	if !slices.Equal(got, want) {
		t.Errorf("the tree is %q, want %q", got, want)
	}
	indent := -1
	for _, row := range s.rows()[3:8] {
		at := len([]rune(row[:strings.Index(row, "the ")]))
		if at <= indent {
			t.Errorf("no step further in: %q", row)
		}
		indent = at
	}
	s.keys("down", "enter")
	s.sees("the kid1", "words of kid1")
	s.keys("t", "up")
	s.sees("the kid1 ◂ this one")
	s.keys("enter")
	s.sees("words of me")
	s.keys("esc", "esc", "esc")
	s.sees("the me ◂ this one")
	s.keys("esc")
	s.sees("❯ words of me")
	s.keys("X")
	s.keys("/", "esc")
	s.write("words of stray")
	s.keys("tab", "t")
	s.sees("[the chain goes on beyond what is here]", "the stray")
	s.keys("up", "c")
	s.sees("choose a session first")
}

// compacted has a summary (5) that replaces 1 to 3 and cites them, after which a
// result (7) takes the place of another (6).
func compacted(t *testing.T) *stage {
	t.Helper()
	s := newStage(t)
	s.put(header("c"), "", "zero", "one", "two", "three")
	s.say("c", session.Event{Type: session.UserMessage, Op: session.Op{Kind: session.OpAppend}, Body: session.Body{Speaker: session.Human, Blocks: []session.Block{{Text: "four"}}}})
	s.say("c", session.Event{
		Type: session.UserMessage, Op: session.Op{Kind: session.OpReplace, Start: 1, End: 3}, Sources: []int64{1, 2, 3},
		Body: session.Body{Speaker: session.Summary, Blocks: []session.Block{{Text: "summary of one to three"}}},
	})
	return s
}

func TestRelations(t *testing.T) {
	s := compacted(t)
	s.open(func(o *Options) { o.Query = "summary" })
	s.keys("tab", "r")
	s.sees("Event #5", "replaced by, and that by: none", "replaces: 3", "cites: 3", "cited by: none", "#1 user/message shadowed  one")
	s.keys("down", "enter")
	if s.here() != 1 {
		t.Errorf("the first replaced one is %d", s.here())
	}
	s.sees("shadowed by #5")
	s.keys("r")
	s.sees("Event #1", "replaced by, and that by: 1", "cited by: 1")
	s.keys("down", "up", "up", "down", "enter")
	if s.here() != 5 {
		t.Errorf("replaced by %d", s.here())
	}
	s.keys("esc", "esc", "esc", "esc")
	s.sees("❯ summary")
	s.keys("/", "esc", "tab", "r")
	s.sees("choose an event first")
}

func TestCopyAndResume(t *testing.T) {
	s := newStage(t)
	s.put(header("plain-id"), "One", "walnut")
	evil := header("x; rm -rf ~\n\x1b]0;")
	evil.CreatedAt++
	s.put(evil, "Two", "walnut walnut")
	s.open(func(o *Options) {
		o.Resume = func(h session.Header) string {
			if h.ID == "plain-id" {
				return "cd /w/here && agent --resume plain-id"
			}
			return ""
		}
	})
	s.keys("tab", "c")
	s.sees(`"x; rm -rf ~\u000a\u001b]0;"`)
	s.keys("R")
	s.sees("has no command")
	s.keys("down", "c")
	s.sees("plain-id")
	s.keys("R")
	s.sees("cd /w/here && agent --resume plain-id")
	want := []string{`"x; rm -rf ~\u000a\u001b]0;"`, "plain-id", "cd /w/here && agent --resume plain-id"}
	if !slices.Equal(s.clipboard, want) {
		t.Errorf("copied were %q, want %q", s.clipboard, want)
	}
	// On a narrow screen all of it is seen, to be copied by hand.
	s.size(20, 12)
	s.keys("R")
	if all := strings.Join(s.rows(), ""); !strings.Contains(strings.ReplaceAll(all, " ", ""), "cd/w/here&&agent--resumeplain-id") {
		t.Errorf("not all of the command is seen:\n%s", s.screen())
	}
}

func TestAFailingSessionIsSaid(t *testing.T) {
	s := kitchen(t)
	s.open(nil)
	s.keys("tab")
	it := s.m.results.items[0].info
	it.Header.ID = "went away"
	s.due = append(s.due, s.m.openSession(it, 3, ""))
	s.settle()
	s.sees("is not there any more")
	s.keys("esc")
	s.due = append(s.due, s.m.openTree(it))
	s.settle()
	s.sees("is not there any more")
	s.keys("c", "esc")
	s.due = append(s.due, s.m.openRelations(it, 3))
	s.settle()
	s.sees("is not there any more")
	s.keys("enter", "down", "esc")
	s.sees("❯")
}

// runPager runs the pager that a key asked for, as the program would.
func (s *stage) runPager(cmd *exec.Cmd) error {
	s.t.Helper()
	s.m.o.Pager = func() *exec.Cmd { return cmd }
	it := s.m.results.selected()
	p := &pager{cmd: cmd, write: func(w io.Writer) error { return transcript(s.t.Context(), s.m, query.TargetOf(it.info.Header), w) }, cancel: func() {}}
	p.SetStdin(nil)
	p.SetStdout(io.Discard)
	p.SetStderr(io.Discard)
	return p.Run()
}

func TestPager(t *testing.T) {
	s := novel(t)
	s.say("novel", session.Event{Type: session.UserMessage, Op: session.Op{Kind: session.OpAppend}, Body: session.Body{
		Speaker: session.Human, Blocks: []session.Block{{Text: "bad \x1b]0;title\x07 text\u202e\nsecond line"}},
	}})
	s.open(nil)
	file := filepath.Join(t.TempDir(), "out")
	if err := s.runPager(exec.Command("tee", file)); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	got := string(text)
	for i := range 1000 {
		if i != 600 && !strings.Contains(got, fmt.Sprintf("\n    line of event %d.", i)) {
			t.Fatalf("event %d is missing", i)
		}
	}
	for _, want := range []string{"dsh novel in /w/here, ", "\n#999 user/message current  ", "the end of it\n", "\n    bad text\n    second line\n"} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is missing", want)
		}
	}
	if i := strings.IndexFunc(got, func(r rune) bool { return r < ' ' && r != '\n' || r == '\u202e' }); i >= 0 {
		t.Errorf("it says %q", got[max(0, i-20):i+5])
	}
	// One that reads nothing, or a little, ends at once and is no failure.
	for _, args := range [][]string{{"true"}, {"head", "-c", "10"}} {
		if err := s.runPager(exec.Command(args[0], args[1:]...)); err != nil {
			t.Errorf("%v: %v", args, err)
		}
	}
	if err := s.runPager(exec.Command("sh", "-c", "cat >/dev/null; exit 3")); err == nil {
		t.Error("a pager that fails is not told")
	}
	if err := s.runPager(exec.Command("/no/such/pager")); err == nil {
		t.Error("a pager that is not there is not told")
	}
	s.m.o.Pager = func() *exec.Cmd { return nil }
	s.keys("tab", "p")
	s.sees("there is no pager")
	s.deliver(paged{os.ErrPermission})
	s.sees("the pager: permission denied")
}

// hostile is text that tries to steer the screen.
const hostile = "\x1b[2J\x1b[31mred\x1b]0;title\x07\x1b]52;c;ZXZpbA==\x07\u009b1m\u202eevil\u2066\r\nnext\t\x00\x7f\U000e0041 line\u2028end \xff\xfe❤️👩‍👩‍👧 க்ஷி"

// steers reports whether what is written to the terminal can do more than style
// text: any control character but line ends and the styles of the program.
func steers(content string) string {
	for i := 0; i < len(content); {
		if content[i] == 0x1b {
			end := strings.IndexByte(content[i:], 'm')
			if end < 0 || strings.Trim(content[i+1:i+end], "[0123456789;:") != "" || content[i+1] != '[' {
				return content[i:min(len(content), i+20)]
			}
			i += end + 1
			continue
		}
		i++
	}
	for i, r := range content {
		if r < ' ' && r != '\n' && r != 0x1b || 0x7f <= r && r < 0xa0 || 0x202a <= r && r <= 0x202e || 0x2066 <= r && r <= 0x2069 || 0xe0000 <= r && r < 0xe0080 {
			return content[max(0, i-10):min(len(content), i+10)]
		}
	}
	return ""
}

func evil(t *testing.T) *stage {
	s := newStage(t)
	for i := range 4 {
		h := header(fmt.Sprintf("%s %d", hostile, i))
		h.CreatedAt += int64(i)
		if i > 0 {
			h.ParentSession = session.ID(fmt.Sprintf("%s %d", hostile, i-1))
		}
		h.Cwd = "/w/" + hostile
		s.put(h, hostile+" title", hostile+" walnut "+hostile)
		s.say(h.ID, session.Event{Type: "x/" + hostile, Body: session.Body{Speaker: session.Human, Blocks: []session.Block{{Text: "walnut"}}}})
		s.say(h.ID, session.Event{Type: session.ToolCall, Body: session.Body{CallID: "1", Blocks: []session.Block{{Kind: session.CallBlock, Name: hostile, Text: "walnut call"}}}})
	}
	return s
}

// everyPage goes to every page and calls look on each.
func (s *stage) everyPage(look func(name string)) {
	s.t.Helper()
	look("recent")
	s.deliver(tea.PasteMsg{Content: "walnut"})
	s.settle()
	look("hits")
	for _, step := range []struct{ key, name string }{
		{"tab", "list"}, {"d", "chip"}, {"w", "everywhere"}, {"X", "none"}, {"j", "second"}, {"enter", "session"}, {"]", "next"}, {"r", "relations"}, {"down", "related"}, {"esc", "session"},
		{"t", "tree"}, {"up", "tree up"}, {"c", "copied"}, {"R", "resumed"}, {"enter", "session of the tree"}, {"esc", "tree"}, {"esc", "session"}, {"G", "end"}, {"esc", "list"},
		{"ctrl+f", "filters"}, {"down", "filters"}, {"right", "filters"}, {"X", "filters"}, {"esc", "list"}, {"?", "help"}, {"pgdn", "help on"}, {"esc", "list"},
	} {
		s.keys(step.key)
		look(step.name)
	}
	s.keys("/")
	s.deliver(tea.PasteMsg{Content: hostile})
	s.settle()
	look("hostile query")
}

func TestHostileTextStaysText(t *testing.T) {
	s := evil(t)
	s.open(func(o *Options) {
		o.Workspace = "/w/" + hostile
		o.Resume = func(session.Header) string { return "resume " + hostile }
	})
	for _, size := range [][2]int{{140, 40}, {80, 24}, {40, 10}} {
		s.size(size[0], size[1])
		s.everyPage(func(name string) {
			if bad := steers(s.m.View().Content); bad != "" {
				t.Fatalf("%s at %v: %q", name, size, bad)
			}
		})
		s.keys("esc")
	}
}

// Whatever the size, every row is there and exactly as wide as the screen.
func TestEverySize(t *testing.T) {
	for _, size := range [][2]int{{0, 0}, {1, 1}, {2, 3}, {9, 4}, {10, 4}, {11, 5}, {20, 6}, {39, 7}, {40, 8}, {40, 10}, {41, 11}, {80, 12}, {80, 24}, {99, 30}, {100, 9}, {100, 11}, {132, 43}, {300, 80}} {
		s := evil(t)
		s.open(func(o *Options) { o.Workspace = "/w/" + hostile })
		s.size(size[0], size[1])
		s.everyPage(func(name string) {
			rows, cursor := s.m.screen()
			if len(rows) != size[1] {
				t.Fatalf("%s at %v has %d rows", name, size, len(rows))
			}
			for i, l := range rows {
				if l.cells() != size[0] {
					t.Fatalf("%s at %v: row %d is %d wide: %q", name, size, i, l.cells(), l.text())
				}
			}
			if cursor != nil && (cursor.X >= size[0] || cursor.Y >= size[1]) {
				t.Fatalf("%s at %v: the cursor is at %d,%d", name, size, cursor.X, cursor.Y)
			}
		})
	}
}

// A screen may change its size at any moment, also between drawing and key.
func TestResizingWhereverOneIs(t *testing.T) {
	s := novel(t)
	s.open(func(o *Options) { o.Query = "event 504" })
	sizes := [][2]int{{80, 24}, {40, 10}, {140, 50}, {5, 2}, {0, 0}, {100, 20}}
	for i, k := range []string{"enter", "pgdn", "j", "r", "down", "enter", "t", "esc", "n", "N", "G", "pgup", "g", "esc", "esc", "esc", "tab", "ctrl+f", "esc", "?"} {
		s.deliver(tea.WindowSizeMsg{Width: sizes[i%len(sizes)][0], Height: sizes[i%len(sizes)][1]})
		s.press(k)
		s.m.View()
		s.settle()
		s.m.View()
	}
	s.size(80, 24)
	if len(s.rows()) != 24 {
		t.Error("the screen is not whole")
	}
}

func TestWhereOneReadsSurvivesAnotherWidth(t *testing.T) {
	s := novel(t)
	s.open(func(o *Options) { o.Query = "event 504" })
	s.keys("enter")
	for _, w := range []int{30, 120, 41, 80} {
		s.size(w, 24)
		s.sees("event 504")
		if s.here() != 504 {
			t.Errorf("at %d columns: event %d", w, s.here())
		}
	}
}

// The states have words that the engine's own text has as well.
func TestStatesAreNamedAsElsewhere(t *testing.T) {
	r := query.Relations{Event: query.Entry{Seq: 1, Type: "user/message", State: session.Shadowed}, ReplacedBy: -1}
	if got := event(1, "user/message", session.Shadowed).text(); !strings.Contains(render.RelationsText(r), got) {
		t.Errorf("%q is not in %q", got, render.RelationsText(r))
	}
}
