package tui

import (
	"slices"
	"strings"
	"testing"

	"github.com/yorehq/yore/internal/render"
)

func TestFit(t *testing.T) {
	for _, tc := range []struct {
		text  string
		width int
		want  string
	}{
		{"walnut", 6, "walnut"},
		{"walnut", 8, "walnut  "},
		{"walnut", 5, "waln…"},
		{"walnut", 1, "…"},
		{"walnut", 0, ""},
		{"", 3, "   "},
		{"连接失败", 8, "连接失败"},
		{"连接失败", 7, "连接失…"},
		{"连接失败", 6, "连接… "}, // half a character is none
		{"连接失败", 5, "连接…"},
		{"e\u0301e\u0301e\u0301", 3, "e\u0301e\u0301e\u0301"},
		{"e\u0301e\u0301e\u0301", 2, "e\u0301…"},
		{"각각", 3, "각…"},
	} {
		if got := quote(plain, tc.text).fit(tc.width).text(); got != tc.want {
			t.Errorf("%q in %d columns is %q, want %q", tc.text, tc.width, got, tc.want)
		}
	}
	two := join(say(strong, "abc"), say(faint, "def")).fit(5)
	if two.text() != "abcd…" || two[0].look != strong || two[1].look != faint {
		t.Errorf("two looks: %+v", two)
	}
}

func TestTail(t *testing.T) {
	for _, tc := range []struct{ text, want string }{
		{"/w/here", "/w/here"}, {"/home/somebody/walnut", "…dy/walnut"}, {"/w/连接失败连接", "…接失败连接"[len("…接"):]},
	} {
		got := tail(tc.text, 10)
		if tc.text == "/w/连接失败连接" {
			tc.want = "…失败连接" // nine columns: one more character would be eleven
		}
		if got != tc.want {
			t.Errorf("%q is %q, want %q", tc.text, got, tc.want)
		}
	}
}

// What terminals disagree about is made what all of them show alike.
func TestSteady(t *testing.T) {
	for _, tc := range []struct {
		text, want string
		cells      int
	}{
		{"plain", "plain", 5},
		{"é", "é", 1},
		{"❤️", "❤", 1},      // a variation selector makes it two columns on some
		{"👩‍👩‍👧", "👩👩👧", 6}, // one picture, or three
		{"👍🏽", "👍", 2},
		{"1️⃣", "1", 1},
		{"日本", "日本", 4},
		{"שלום", "שלום", 4},
	} {
		got := quote(plain, tc.text)
		if got.text() != tc.want || got.cells() != tc.cells {
			t.Errorf("%q is %q in %d columns, want %q in %d", tc.text, got.text(), got.cells(), tc.want, tc.cells)
		}
	}
}

func rowsOf(text string, width int) []string {
	var rows []string
	for _, r := range wrap(text, width) {
		rows = append(rows, text[r.Start:r.End])
	}
	return rows
}

func TestWrap(t *testing.T) {
	for _, tc := range []struct {
		text  string
		width int
		want  []string
	}{
		{"the quick fox", 20, []string{"the quick fox"}},
		{"the quick fox", 10, []string{"the quick ", "fox"}},
		{"the quick fox", 4, []string{"the ", "quic", "k ", "fox"}},
		{"unbreakable", 4, []string{"unbr", "eaka", "ble"}},
		{"连接失败", 4, []string{"连接", "失败"}},
		{"连接失败", 5, []string{"连接", "失败"}},
		{"连接", 1, []string{"连", "接"}},
		{"", 5, []string{""}},
		{"  indented text", 8, []string{"  ", "indented", " text"}},
	} {
		if got := rowsOf(tc.text, tc.width); !slices.Equal(got, tc.want) {
			t.Errorf("%q in %d: %q, want %q", tc.text, tc.width, got, tc.want)
		}
	}
}

func TestMarked(t *testing.T) {
	l := marked("the walnut tree", 100, []render.Mark{{Start: 90, End: 103}, {Start: 104, End: 110}, {Start: 112, End: 130}}, plain)
	var got []string
	for _, r := range l {
		name := "-"
		if r.look == match {
			name = "+"
		}
		got = append(got, name+r.text)
	}
	if want := []string{"+the", "- ", "+walnut", "- t", "+ree"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// A match that reaches over the end of a line is marked on both.
func TestAMatchOverLines(t *testing.T) {
	s := newStage(t)
	s.put(header("a"), "", "the linker\nfails again")
	s.open(func(o *Options) { o.Query = "linker fails" })
	s.keys("enter")
	if got := s.matches(); !slices.Equal(got, []string{"linker", "fails"}) {
		t.Errorf("marked are %q", got)
	}
}

// Columns that stand beside untrusted text stand still, by an own count of
// columns: what is East Asian wide is two, what combines is none.
func TestWideAndCombiningTextIsAligned(t *testing.T) {
	width := func(text string) int {
		n := 0
		for _, r := range text {
			switch {
			case 0x300 <= r && r <= 0x36f:
			case 0x1100 <= r && r <= 0x115f, 0x2e80 <= r && r <= 0xa4cf, 0xac00 <= r && r <= 0xd7a3, 0xf900 <= r && r <= 0xfaff, 0xff00 <= r && r <= 0xff60, 0x1f300 <= r && r <= 0x1faff:
				n += 2
			default:
				n++
			}
		}
		return n
	}
	s := newStage(t)
	for i, title := range []string{"plain", "连接失败连接失败连接失败连接失败连接失败连接失败", "e\u0301a\u0300o\u0308 accents", "한국어 제목", "🚀 rocket 👩‍👩‍👧 family", "ﾊﾝｶｸ and ＦＵＬＬ"} {
		h := header(string(rune('a' + i)))
		s.put(h, title, title+" walnut "+title)
	}
	s.open(func(o *Options) { o.Query = "walnut" })
	s.size(120, 40)
	if len(s.titles()) != 6 {
		t.Fatalf("listed are %q", s.titles())
	}
	for _, row := range s.rows()[2:37] {
		before, _, found := strings.Cut(row, "│")
		if !found || width(before) != 49 {
			t.Errorf("the preview stands at column %d: %q", width(before), row)
		}
	}
}

func FuzzText(f *testing.F) {
	f.Add(hostile, "walnut", 20)
	f.Add("क्षि ﷽ \u1100\u1161\u11a8 🇩🇪🇩 a\u0300\u0301", "क्षि", 3)
	f.Fuzz(func(t *testing.T, untrusted, text string, width int) {
		width = max(0, min(width, 200))
		l := highlighted(plain, untrusted, text)
		fitted := l.fit(width)
		if fitted.cells() != width {
			t.Errorf("%q in %d columns takes %d", untrusted, width, fitted.cells())
		}
		p := newPalette(true, true)
		if bad := steers(p.paint([]line{fitted, l})); bad != "" {
			t.Errorf("%q steers by %q", untrusted, bad)
		}
		whole := l.text()
		at := 0
		for _, r := range wrap(whole, width) {
			if r.Start != at || r.End < r.Start {
				t.Fatalf("%q in %d breaks into %v", whole, width, wrap(whole, width))
			}
			at = r.End
		}
		if at != len(whole) {
			t.Errorf("%q in %d loses its end", whole, width)
		}
		if c := cells(tail(whole, width)); c > max(width, 1) {
			t.Errorf("the tail of %q in %d takes %d", whole, width, c)
		}
	})
}

func TestAmount(t *testing.T) {
	for n, want := range map[int64]string{0: "0 events", 1: "1 event", 2: "2 events"} {
		if got := amount(n, "event"); got != want {
			t.Errorf("%d: %q, want %q", n, got, want)
		}
	}
}
