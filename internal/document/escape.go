package document

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/bidi"
)

// Escaped makes a record safe to show whole: what steers a screen, turns the
// reading direction, ends a line other than "\n" does, or cannot be seen is
// written as JSON writes it (\u001b, a pair of surrogates beyond U+FFFF), so that
// JSON stays the same JSON; what shapes its neighbours stays (invisible.go).
// Ill-formed bytes are U+FFFD. n is how many characters were written otherwise.
func Escaped(s string) (text string, n int) {
	if strings.IndexFunc(s, Hides) < 0 && utf8.ValidString(s) && withoutFloods(s) == s {
		return s, 0
	}
	var b strings.Builder
	b.Grow(len(s) + 16)
	last, marks := ' ', 0
	for i := 0; i < len(s); {
		r, size := utf8.DecodeRuneInString(s[i:])
		i += size
		keep := true
		if r == utf8.RuneError && size == 1 {
			b.WriteRune(r)
			n++
			last, marks = r, 0
			continue
		}
		if Hides(r) {
			next, _ := utf8.DecodeRuneInString(s[i:])
			// A joiner joins nothing where the mark behind it is one too many.
			keep = r == '\r' && next == '\n' || unseen(r) && shapes(last, r, next) && (selector(r) || stacked(marks, next) <= maxStacked)
		}
		marks = stacked(marks, r)
		keep = keep && marks <= maxStacked
		if keep {
			b.WriteRune(r)
			last = r
			continue
		}
		n++
		last = '0' // what stands there now ends in a digit
		if r > 0xFFFF {
			r -= 0x10000
			fmt.Fprintf(&b, `\u%04x\u%04x`, 0xD800+(r>>10), 0xDC00+(r&0x3FF))
			continue
		}
		fmt.Fprintf(&b, `\u%04x`, r)
	}
	return b.String(), n
}

// Hides reports a character that steers a screen, ends a line other than "\n"
// does, or cannot be seen.
func Hides(r rune) bool {
	switch {
	case r == '\n' || r == '\t':
		return false
	case r < 0xA0:
		return r < ' ' || r >= 0x7F
	}
	return r == 0x2028 || r == 0x2029 || bidiControl(r) || unseen(r)
}

// RightToLeft reports a character that is written from right to left, or takes
// its neighbours along: a line may not show such a one between fields, or they
// seem to stand in another order.
func RightToLeft(r rune) bool {
	if r < 0x590 {
		return false
	}
	p, _ := bidi.LookupRune(r)
	switch p.Class() {
	case bidi.R, bidi.AL, bidi.AN:
		return true
	}
	return false
}

// maxStacked is how many marks in a row are shown on one character. No script needs
// as many; hundreds of them paint over the lines above and below.
const maxStacked = 8

// withoutFloods drops the marks of a character that are too many.
func withoutFloods(s string) string {
	run := 0
	return strings.Map(func(r rune) rune {
		if run = stacked(run, r); run > maxStacked {
			return -1
		}
		return r
	}, s)
}

// stacked returns how many marks in a row there are with r, after run ones.
func stacked(run int, r rune) int {
	switch {
	case r < 0x300:
		return 0
	case unicode.In(r, unicode.Mn, unicode.Me):
		return run + 1
	case r == joiner, r == nonJoiner:
		return min(run, maxStacked)
	}
	return 0
}
