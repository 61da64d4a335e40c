package document

import (
	"errors"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/yorehq/yore/fault"
	"github.com/yorehq/yore/session"
)

func text(s string) session.Block { return session.Block{Kind: session.TextBlock, Text: s} }

func TestExtract(t *testing.T) {
	deep := text("deep")
	for range 100_000 {
		deep = session.Block{Kind: session.ResultBlock, Content: []session.Block{deep}}
	}
	tests := []struct {
		name    string
		body    session.Body
		want    string
		clipped bool
	}{
		{"nothing", session.Body{}, "", false},
		{"white space only", session.Body{Blocks: []session.Block{text(" \u3000\ufeff\n")}}, "", false},
		{"parts are trimmed and joined", session.Body{Blocks: []session.Block{text("  padded  "), text(" "), text("\n second \n")}}, "padded\nsecond", false},
		{"inner white space stays", session.Body{Blocks: []session.Block{text("a \n\n b")}}, "a \n\n b", false},
		{"call", session.Body{Blocks: []session.Block{{Kind: session.CallBlock, Name: " bash ", Text: `{"a": 1}`}}}, "bash\n{\"a\": 1}", false},
		{"call without arguments", session.Body{Blocks: []session.Block{{Kind: session.CallBlock, Name: "ls"}}}, "ls", false},
		{"result, nested, then error", session.Body{
			Blocks: []session.Block{{Kind: session.ResultBlock, Content: []session.Block{
				text("outer"),
				{Kind: session.ResultBlock, Content: []session.Block{text("inner")}},
				{Kind: session.CallBlock, Name: "tool", Text: "args"},
			}}},
			ErrorName: "Denied", ErrorCode: "E1",
		}, "outer\ninner\ntool\nargs\nDenied\nE1", false},
		{"replaced characters", session.Body{Blocks: []session.Block{text("a\x00b\uFDD0c\uFDD1d\xffe\xe5\xae")}}, "a\uFFFDb\uFFFDc\uFFFDd\uFFFDe\uFFFD\uFFFD", false},
		{"a reader's clip is passed on", session.Body{Blocks: []session.Block{text("a")}, Clipped: true}, "a", true},
		{"deep nesting", session.Body{Blocks: []session.Block{deep}}, "deep", false},
	}
	for _, tt := range tests {
		got, clipped := Extract(tt.body)
		if got != tt.want || clipped != tt.clipped {
			t.Errorf("%s: %q, %v; want %q, %v", tt.name, got, clipped, tt.want, tt.clipped)
		}
	}
}

func TestExtractClips(t *testing.T) {
	full := strings.Repeat("x", MaxText)
	tests := []struct {
		name    string
		blocks  []session.Block
		size    int
		clipped bool
	}{
		{"exactly full", []session.Block{text(full)}, MaxText, false},
		{"one byte more", []session.Block{text(full + "y")}, MaxText, true},
		{"a second part", []session.Block{text(full), text("y")}, MaxText, true},
		{"white space behind a full text", []session.Block{text(full), text(" ")}, MaxText, false},
		{"no room behind the newline", []session.Block{text(full[1:]), text("y")}, MaxText - 1, true},
		{"the newline and one byte", []session.Block{text(full[2:]), text("y")}, MaxText, false},
		{"no half character", []session.Block{text(full[1:] + "é")}, MaxText - 1, true},
		{"replacements count", []session.Block{text(full[:MaxText-2] + "\x00")}, MaxText - 2, true},
		{"nothing follows a cut", []session.Block{text(full[1:] + "é"), text("y")}, MaxText - 1, true},
	}
	for _, tt := range tests {
		got, clipped := Extract(session.Body{Blocks: tt.blocks})
		if len(got) != tt.size || clipped != tt.clipped || !utf8.ValidString(got) {
			t.Errorf("%s: %d bytes, %v; want %d, %v", tt.name, len(got), clipped, tt.size, tt.clipped)
		}
	}
}

func TestNormalizeQuery(t *testing.T) {
	for in, want := range map[string]string{
		"  two\t\n words ":   "two words",
		"\u3000wide\ufeff x": "wide x",
		"***":                "***",
		"a\uFDD0b\uFDD1":     "a\uFFFDb\uFFFD",
		"a\xff":              "a\uFFFD",
		"next\u0085line":     "next\u0085line",
	} {
		if got, err := NormalizeQuery(in); got != want || err != nil {
			t.Errorf("%q: %q, %v; want %q", in, got, err, want)
		}
	}
	for _, in := range []string{"", " ", "\u2028\u00a0", "a\x00b", "\x00"} {
		got, err := NormalizeQuery(in)
		var f *fault.Error
		if got != "" || !errors.Is(err, fault.InvalidQuery) || !errors.As(err, &f) || f.Safe == "" {
			t.Errorf("%q: %q, %v", in, got, err)
		}
	}
}

func TestIsSpace(t *testing.T) {
	// ECMA-262: TAB, VT, FF, ZWNBSP, the category Zs; LF, CR, LS, PS.
	want := "\t\n\v\f\r \u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u2028\u2029\u202f\u205f\u3000\ufeff"
	var got strings.Builder
	for r := rune(0); r <= utf8.MaxRune; r++ {
		if IsSpace(r) {
			got.WriteRune(r)
		}
	}
	if d := cmp.Diff(want, got.String()); d != "" {
		t.Errorf("(-want +got)\n%s", d)
	}
}

func TestCollapseSpace(t *testing.T) {
	for in, want := range map[string]string{
		"": "", " ": "", "a": "a", " a ": "a", "a b": "a b", "a  b": "a b", "a\nb\t c": "a b c",
		"a\u2003b": "a b", "é \u3000 \xff": "é \xff", "  x \r\n y  ": "x y",
	} {
		if got := CollapseSpace(in); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}

func TestPoints(t *testing.T) {
	for in, want := range map[string]int{"": 0, "abc": 3, "né": 2, "e\u0301": 2, "👨‍👩‍👧": 5, "a\xff\xfe": 3} {
		if got := Points(in); got != want {
			t.Errorf("%q: %d, want %d", in, got, want)
		}
	}
}

// What is looked at quickly first is the same as what is looked for.
func TestMayReplace(t *testing.T) {
	for _, r := range []rune{0, 1, ' ', 'a', 0xFDCF, 0xFDD0, 0xFDD1, 0xFDD2, 0xFDFF, 0xFEFF, 0xFFFD, 0x10FDD0} {
		if s := "x" + string(r) + "y"; replaced(r) && !mayReplace(s) {
			t.Errorf("%q is overlooked", s)
		}
	}
	for _, s := range []string{"", "plain", "Größe", "，。測定", "\uFEFF"} {
		if mayReplace(s) {
			t.Errorf("%q is looked at twice", s)
		}
	}
}
