package document

import (
	"math"
	"strings"
	"testing"
	"unicode/utf8"
)

// The recorded snippets are in TestGolden; here is what they leave open. The
// match is the first "M".
func TestSnippet(t *testing.T) {
	family := "👨‍👩‍👧" // five code points, one cluster
	tests := []struct {
		name, text string
		limit      int
		want       string
	}{
		{"whole text", " a  M\nb ", 5, "a M b"},
		{"no limit to speak of", " a  M b ", math.MaxInt, "a M b"},
		{"no room at all", "xMx", 0, ""},
		{"one", "xM", 1, "…"},
		{"one, and it fits", "M", 1, "M"},
		{"two, at the beginning", "Mxy", 2, "M…"},
		{"two, in the middle", "xMy", 2, "…M"},
		{"three, at the end", "wxyM", 3, "…yM"},
		{"three", "wxMyz", 3, "…M…"},
		{"six", "abcdMefgh", 6, "…cdMe…"},
		{"fills up from the left", "abcdefghMij", 8, "…efghMij"},
		{"white space is collapsed before counting", "a  \n b   M    c  d", 7, "…b M c…"},
		{"match behind leading space", "   \n M rest of it", 4, "M r…"},
		{"a cluster in front is left out, not cut", "abcdef" + family + "M rest of the text", 9, "…M re…"},
		{"a cluster behind is left out, not cut", "abcdefM" + family + " and more text", 9, "…defM…"},
		{"a cluster that fits is kept", "abcdefghijklmnop" + family + "Mqrstuvwxyz0123456789", 20, "…p" + family + "Mqrstuvwxyz0…"},
		{"combining marks", "abcde\u0301Mfghijk", 6, "…e\u0301Mf…"},
		{"flags", "🇩🇪🇫🇷🇮🇹🇪🇸M and the rest", 6, "…🇪🇸M …"},
		{"a match inside a cluster", "abcdef\u0600\u0600Mxyz and more", 5, "…\u0600\u0600M…"},
		{"a match inside a cluster that does not fit", "abcdef\u0600\u0600Mxyz and more", 3, "…M…"},
		{"ill-formed bytes", "ab\xff\xfeM", 9, "ab\uFFFD\uFFFDM"},
	}
	for _, tt := range tests {
		if got := Snippet(tt.text, strings.Index(tt.text, "M"), tt.limit); got != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
}

// TestSnippetFarFlags: borders are right although the parity of a run of flags
// is decided far before the window.
func TestSnippetFarFlags(t *testing.T) {
	text := "x" + strings.Repeat("🇩🇪", 300) + "M" + strings.Repeat(" rest", 50)
	for limit := 20; limit < 30; limit++ {
		got := Snippet(text, strings.Index(text, "M"), limit)
		front := strings.TrimPrefix(got[:strings.Index(got, "M")], ellipsis)
		if strings.ReplaceAll(front, "🇩🇪", "") != "" {
			t.Errorf("limit %d: %q", limit, got)
		}
	}
}

func TestSnippetOfAnyOffset(t *testing.T) {
	text := " né 👨‍👩‍👧  x "
	for at := -1; at <= len(text)+1; at++ {
		for limit := -1; limit < 14; limit++ {
			if got := Snippet(text, at, limit); Points(got) > max(limit, 0) {
				t.Errorf("at %d, limit %d: %q", at, limit, got)
			}
		}
	}
}

func FuzzSnippet(f *testing.F) {
	f.Add("the linker cannot find it", "cannot", 12)
	f.Add("請修復 👨‍👩‍👧 数据库 🇩🇪🇫🇷", "据", 5)
	f.Add("e\u0301e\u0301 \xff हिन्दी क्षि", "हिन्दी", 3)
	f.Fuzz(func(t *testing.T, text, query string, limit int) {
		if len(text) > 2000 || limit > 500 {
			return
		}
		at := 0
		if spans := Spans(text, Terms(query)); len(spans) > 0 {
			at = spans[0].Start
		}
		got := Snippet(text, at, limit)
		if Points(got) > max(limit, 0) || !utf8.ValidString(got) {
			t.Fatalf("limit %d: %q", limit, got)
		}
		whole := CollapseSpace(strings.Map(func(r rune) rune { return r }, text))
		if Points(whole) <= limit {
			if got != whole {
				t.Fatalf("%q, want all of %q", got, whole)
			}
			return
		}
		if at == 0 || limit < 3 {
			return
		}
		// The match must be inside, so the snippet without its signs is a piece
		// of the whole around the place of the match.
		place := Points(CollapseSpace(strings.Map(func(r rune) rune { return r }, text[:at]+"|"))) - 1
		front, back := strings.HasPrefix(got, ellipsis), strings.HasSuffix(got, ellipsis)
		piece := []rune(got)
		for _, cutFront := range []bool{front, false} {
			for _, cutBack := range []bool{back, false} {
				p := piece
				if cutFront {
					p = p[1:]
				}
				if cutBack && len(p) > 0 {
					p = p[:len(p)-1]
				}
				if around([]rune(whole), p, place) {
					return
				}
			}
		}
		t.Fatalf("%q does not hold character %d of %q", got, place, whole)
	})
}

// around reports whether piece is a part of whole that covers place.
func around(whole, piece []rune, place int) bool {
	for from := max(0, place-len(piece)+1); from <= place && from+len(piece) <= len(whole); from++ {
		if string(whole[from:from+len(piece)]) == string(piece) {
			return true
		}
	}
	return false
}

func TestOneLine(t *testing.T) {
	tests := []struct {
		name, in string
		limit    int
		want     string
	}{
		{"plain", "a title", 0, "a title"},
		{"lines and tabs", " a\r\n\tb\u2028c\u2029d\v ", 0, "a b c d"},
		{"colours", "\x1b[1;31mred\x1b[0m end", 0, "red end"},
		{"cursor and erase", "a\x1b[2J\x1b[10;5Hb\x1b[?25lc", 0, "abc"},
		{"window title", "a\x1b]0;evil\x07b\x1b]2;evil\x1b\\c", 0, "abc"},
		{"hyperlink", "\x1b]8;;http://x\x1b\\text\x1b]8;;\x1b\\", 0, "text"},
		{"C1 controls", "a\u009b31mb\u009d0;evil\u009cc\u0085d", 0, "abcd"},
		{"device control string", "a\x1bPq#0\x1b\\b", 0, "ab"},
		{"two-character sequences", "a\x1bcb\x1b(Bc\x1b7d\x1b=e", 0, "abcde"},
		{"unended sequences hide nothing", "a\x1b]0;visible\nb", 0, "a0;visible b"},
		{"a sequence inside another", "\x1b]0;x\x1b[31my", 0, "0;xy"},
		{"cut sequences", "a\x1b[31\x1b", 0, "a"},
		{"controls", "a\x00b\x08c\x7fd", 0, "abcd"},
		{"removing leaves no sequence", "\x1b\x00[31mred", 0, "[31mred"},
		{"bidi", "a\u202eb\u2066c\u2069d\u200fe\u061cf", 0, "abcdef"},
		{"Hebrew stays", "שלום abc", 0, "שלום abc"},
		{"ill-formed", "a\xffb", 0, "a\uFFFDb"},
		{"fits", "abcde", 5, "abcde"},
		{"cut", "abcdef", 5, "abcd…"},
		{"cut at one", "abc", 1, "…"},
		{"no space before the sign", "abc def", 5, "abc…"},
		{"cut at a cluster", "ab👨‍👩‍👧cd", 6, "ab…"},
		{"cut behind a joiner", "👨\u200d■xyz", 3, "👨…"},
		{"cut before a mark's letter", "abce\u0301f", 5, "abc…"},
	}
	for _, tt := range tests {
		if got := OneLine(tt.in, tt.limit); got != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
}

func FuzzOneLine(f *testing.F) {
	f.Add("\x1b[1mA\x1b]0;t\x07\u202e\xff\u009b1m", 3)
	f.Add("👨‍👩‍👧 e\u0301", 2)
	f.Fuzz(func(t *testing.T, s string, limit int) {
		got := OneLine(s, limit)
		if limit > 0 && Points(got) > limit {
			t.Fatalf("limit %d: %q", limit, got)
		}
		for _, r := range got {
			if r < 0x20 || 0x7F <= r && r < 0xA0 || bidiControl(r) || IsSpace(r) && r != ' ' {
				t.Fatalf("%q holds %U", got, r)
			}
		}
		if !utf8.ValidString(got) {
			t.Fatalf("%q", got)
		}
		if again := OneLine(got, 0); again != got {
			t.Fatalf("%q, again %q", got, again)
		}
	})
}
