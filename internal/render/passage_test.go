package render

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestMarks(t *testing.T) {
	for _, tc := range []struct{ text, query, want string }{
		{"the linker fails", "linker fails", "the [linker fails]"},
		{"The Linker-fails; linker", "linker fails", "The [Linker-fails]; linker"},
		{"fails: the linker", "linker fails", "[fails]: the [linker]"},
		{"a a a a", "a a", "[a a a a]"},
		{"linkers", "linker", "linkers"},
		{"Résumé", "resume", "[Résumé]"},
		{"无法连接到", "连接", "无法[连接]到"},
		{"two\nlinker\nfails", "linker fails", "two\n[linker\nfails]"},
		{"plain", "", "plain"},
		{"plain", "-- !", "plain"},
		{"bad \xff linker", "linker", "bad \xff [linker]"},
	} {
		var b strings.Builder
		at := 0
		for _, m := range Marks(tc.text, tc.query) {
			b.WriteString(tc.text[at:m.Start] + "[" + tc.text[m.Start:m.End] + "]")
			at = m.End
		}
		b.WriteString(tc.text[at:])
		if b.String() != tc.want {
			t.Errorf("%q in %q: %q, want %q", tc.query, tc.text, b.String(), tc.want)
		}
	}
}

func TestParagraphs(t *testing.T) {
	got := Paragraphs("if x {\r\n\treturn\u2028  \x1b[31mred\x1b[0m\x00\n\n\u202eend\v}")
	want := []string{"if x {", "    return", "  red", "end", "}"}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	if Paragraphs("\n\n") != nil {
		t.Error("empty lines are shown")
	}
}

func FuzzMarks(f *testing.F) {
	f.Add("the linker\nfails", "linker fails")
	f.Add("\xff\xfe", "\xff")
	f.Fuzz(func(t *testing.T, text, query string) {
		at := 0
		for _, m := range Marks(text, query) {
			if m.Start < at || m.End <= m.Start || m.End > len(text) {
				t.Fatalf("%+v in %q", Marks(text, query), text)
			}
			at = m.End
		}
	})
}
