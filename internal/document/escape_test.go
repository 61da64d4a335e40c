package document

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestEscaped(t *testing.T) {
	for in, want := range map[string]string{
		"plain é 项目 \t\n":                 "plain é 项目 \t\n",
		"\x1b[31m\x07\x7f":                `\u001b[31m\u0007\u007f`,
		"\u009b1m\u0085":                  `\u009b1m\u0085`,
		"\u202e\u2066x\u2069\u061c\u200f": `\u202e\u2066x\u2069\u061c\u200f`,
		"a\rb\r\nc\u2028d\u2029":          "a\\u000db\r\nc\\u2028d\\u2029",
		"\U000e0041\U000e007f":            `\udb40\udc41\udb40\udc7f`,
		"a\u200bb\ufeff\u2060\u00ad":      `a\u200bb\ufeff\u2060\u00ad`,
		"❤️ 👩‍💻 नि\u200cष":                "❤️ 👩‍💻 नि\u200cष",
		"a\ufe0f\ufe0f":                   "a\ufe0f\\ufe0f",
		"bad\xff\x9b":                     "bad\ufffd\ufffd",
	} {
		got, n := Escaped(in)
		if got != want || (n == 0) != (got == in) {
			t.Errorf("Escaped(%q) = %q, %d; want %q", in, got, n, want)
		}
	}
}

func TestFloodsOfMarks(t *testing.T) {
	if got, want := OneLine("a"+strings.Repeat("\u0301\u0489", 50)+"b\u0301", 0), "a"+strings.Repeat("\u0301\u0489", 4)+"b\u0301"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	for _, s := range []string{"Việt", "שָׁלוֹם", "བསྐྱོད"} {
		if got := OneLine(s, 0); got != s {
			t.Errorf("%q became %q", s, got)
		}
	}
}

func TestRightToLeft(t *testing.T) {
	for r, want := range map[rune]bool{'a': false, 'é': false, '1': false, '项': false, 'א': true, 'ع': true, '٣': true, '\u07ca': true, '\U0001e900': true, '\u202e': false} {
		if got := RightToLeft(r); got != want {
			t.Errorf("%U: %v", r, got)
		}
	}
}

// FuzzEscaped: what is escaped shows nothing that hides, and as a JSON string it
// says what it said before.
func FuzzEscaped(f *testing.F) {
	f.Add("a\x1b\u202e\U000e0041❤️\xff\r\n")
	f.Fuzz(func(t *testing.T, s string) {
		got, _ := Escaped(s)
		if !utf8.ValidString(got) {
			t.Fatalf("%q is ill-formed", got)
		}
		if again, n := Escaped(got); again != got || n != 0 {
			t.Fatalf("%q escaped again is %q", got, again)
		}
		var b strings.Builder
		e := json.NewEncoder(&b)
		e.SetEscapeHTML(false)
		if err := e.Encode(s); err != nil {
			t.Fatal(err)
		}
		shown, _ := Escaped(b.String())
		var before, after string
		if json.Unmarshal([]byte(b.String()), &before) != nil || json.Unmarshal([]byte(shown), &after) != nil || before != after {
			t.Fatalf("%q became %q in %q", before, after, shown)
		}
	})
}
