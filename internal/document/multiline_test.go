package document

import (
	"strings"
	"testing"
	"unicode/utf8"
)

func TestMultiLine(t *testing.T) {
	for in, want := range map[string]string{
		"a\r\nb\rc\vd\u2028e\u0085f": "a\nb\nc\nd\ne\nf",
		"\tx  y\n\n  z ":             "\tx  y\n\n  z ",
		"a\x1b[31mred\x1b[0mb":       "aredb",
		"t\x1b]0;title\x07u":         "tu",
		"\u202eabc\u2066":            "abc",
		"x\x00\x07\x9by\xff":         "x\uFFFDy\uFFFD",
		"\u009b31mred":               "red",
		"漢字 é":                       "漢字 é",
	} {
		if got := MultiLine(in); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}

func FuzzMultiLine(f *testing.F) {
	f.Add("a\x1b[1m\r\n\u202e")
	f.Add("\x1b\x1b]x\x1b\\")
	f.Fuzz(func(t *testing.T, s string) {
		got := MultiLine(s)
		if !utf8.ValidString(got) {
			t.Fatalf("%q is ill-formed", got)
		}
		if i := strings.IndexFunc(got, func(r rune) bool {
			return r < 0x20 && r != '\n' && r != '\t' || 0x7f <= r && r <= 0x9f || bidiControl(r) || r == 0x2028 || r == 0x2029
		}); i >= 0 {
			t.Fatalf("%q lets %q through", s, got)
		}
		if again := MultiLine(got); again != got {
			t.Fatalf("%q becomes %q, then %q", s, got, again)
		}
	})
}
