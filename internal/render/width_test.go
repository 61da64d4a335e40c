package render

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestFit(t *testing.T) {
	for _, c := range []struct {
		in    string
		width int
		want  string
	}{
		{"plain", 5, "plain"}, {"plain text", 6, "plain…"}, {"plain", 1, "…"}, {"plain", 0, ""}, {"", 0, ""},
		{"漢字かな", 8, "漢字かな"}, {"漢字かな", 7, "漢字か…"}, {"漢字かな", 6, "漢字…"},
		{"e\u0301e\u0301e\u0301", 2, "e\u0301…"}, {"👩‍👩‍👧👩‍👩‍👧", 3, "👩‍👩‍👧…"},
	} {
		if got := Fit(c.in, c.width); got != c.want || Width(got) > max(c.width, 0) {
			t.Errorf("%q in %d columns: %q, want %q", c.in, c.width, got, c.want)
		}
	}
}

func TestWrap(t *testing.T) {
	for _, c := range []struct {
		in    string
		width int
		want  []string
	}{
		{"the quick brown fox", 10, []string{"the quick", "brown fox"}},
		{"the quick brown fox", 9, []string{"the quick", "brown fox"}},
		{"abcdefghij", 4, []string{"abcd", "efgh", "ij"}},
		{"漢字漢字", 5, []string{"漢字", "漢字"}},
		{"漢字", 1, []string{"漢", "字"}},
		{"    indented text here", 12, []string{"    indented", "text here"}},
		{"", 5, []string{""}}, {"anything at all", 0, []string{"anything at all"}},
	} {
		if d := cmp.Diff(c.want, Wrap(c.in, c.width)); d != "" {
			t.Errorf("%q in %d columns (-want +got):\n%s", c.in, c.width, d)
		}
	}
}

func FuzzWrap(f *testing.F) {
	f.Add("the quick 漢字 brown\u0301 fox", 7)
	f.Fuzz(func(t *testing.T, s string, width int) {
		width %= 50
		s = Line(s, 0)
		var kept strings.Builder
		for _, l := range Wrap(s, width) {
			kept.WriteString(l)
			if width > 1 && Width(l) > width {
				t.Fatalf("%q is %d columns wide, more than %d", l, Width(l), width)
			}
		}
		plain := func(s string) string { return strings.ReplaceAll(s, " ", "") }
		if plain(kept.String()) != plain(s) {
			t.Fatalf("%q became %q", s, kept.String())
		}
	})
}

func TestTableAlignsWhatIsWide(t *testing.T) {
	columns := []Column{{Head: "ID"}, {Head: "N", Right: true}, {Head: "TITLE", Flex: true}}
	rows := [][]string{{"漢字", "7", "a title that is long"}, {"abc", "1234", "👩‍👩‍👧 family"}}
	want := "ID       N  TITLE\n漢字     7  a title that is long\nabc   1234  👩‍👩‍👧 family\n"
	if d := cmp.Diff(want, Table(columns, rows, 0)); d != "" {
		t.Error(d)
	}
	narrow := "ID       N  TITLE\n漢字     7  a title th…\nabc   1234  👩‍👩‍👧 family\n"
	if d := cmp.Diff(narrow, Table(columns, rows, 23)); d != "" {
		t.Error(d)
	}
}

// Of several columns that may give way the widest does so first, none below
// what can be read, and whatever the width the table is made.
func TestTableGivesWay(t *testing.T) {
	columns := []Column{{Head: "A", Flex: true}, {Head: "B"}, {Head: "C", Flex: true}}
	row := []string{strings.Repeat("a", 40), strings.Repeat("b", 8), strings.Repeat("c", 20)}
	for width, want := range map[int][3]int{72: {40, 8, 20}, 60: {28, 8, 20}, 50: {19, 8, 19}, 33: {10, 8, 11}, 10: {10, 8, 10}, 1: {10, 8, 10}} {
		lines := strings.Split(Table(columns, [][]string{row}, width), "\n")
		cells := strings.Fields(lines[1])
		got := [3]int{Width(cells[0]), Width(cells[1]), Width(cells[2])}
		if got[0]+got[2] != want[0]+want[2] || got[1] != 8 || width == 60 && got != want {
			t.Errorf("in %d columns: %v, want %v", width, got, want)
		}
	}
}
