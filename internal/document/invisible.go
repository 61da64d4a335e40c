package document

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// What nobody can see can still be read by a model: a text may carry orders in
// tag characters or in runs of variation selectors behind a harmless sentence.
// So format characters (category Cf) and whatever else Unicode calls ignorable
// are removed, but for those that shape what is seen:
//
//   - the zero-width joiner and non-joiner between two characters of a script
//     that joins its letters or stacks them, and the joiner between two pictographs;
//   - one variation selector behind the character that it varies;
//   - the Arabic and other signs that enclose the digits behind them.

const (
	nonJoiner = 0x200C
	joiner    = 0x200D
)

// unseen reports whether r has no shape of its own.
func unseen(r rune) bool {
	if r < 0xAD {
		return false
	}
	return unicode.Is(unicode.Cf, r) && !unicode.Is(unicode.Prepended_Concatenation_Mark, r) ||
		unicode.Is(unicode.Other_Default_Ignorable_Code_Point, r) || selector(r)
}

func selector(r rune) bool { return r >= 0x180B && unicode.Is(unicode.Variation_Selector, r) }

// withoutTricks removes what cannot be seen and what floods the lines around it.
// A joiner before a mark that was too many joins nothing any more.
func withoutTricks(s string) string { return withoutInvisible(withoutFloods(withoutInvisible(s))) }

// withoutInvisible removes the unseen characters that shape nothing. s must
// be well-formed.
func withoutInvisible(s string) string {
	first := strings.IndexFunc(s, unseen)
	if first < 0 {
		return s
	}
	var b strings.Builder
	b.Grow(len(s))
	b.WriteString(s[:first])
	last, _ := utf8.DecodeLastRuneInString(s[:first]) // that was kept
	if first == 0 {
		last = ' '
	}
	for i, r := range s[first:] {
		if unseen(r) {
			next, _ := utf8.DecodeRuneInString(s[first+i+utf8.RuneLen(r):])
			if !shapes(last, r, next) {
				continue
			}
		}
		b.WriteRune(r)
		last = r
	}
	return b.String()
}

// shapes reports whether r changes what is seen of its neighbours.
func shapes(last, r, next rune) bool {
	switch {
	case selector(r):
		return last != joiner && last != nonJoiner && !selector(last) && unicode.IsGraphic(last) && !IsSpace(last)
	case r == joiner && pictograph(next):
		return pictograph(last) || selector(last)
	case r == joiner, r == nonJoiner:
		return joining(last) && joining(next) && !unseen(next)
	}
	return false
}

// pictograph reports the characters that emoji sequences are made of.
func pictograph(r rune) bool {
	return r != utf8.RuneError && unicode.Is(unicode.So, r) || 0x1F3FB <= r && r <= 0x1F3FF || r == 0x2194 || r == 0x2195
}

// joining reports a letter or mark of a script in which the joiners matter:
// those written joined, and those of South and South-East Asia.
func joining(r rune) bool {
	return r >= 0x0600 && (unicode.IsLetter(r) || unicode.IsMark(r)) && unicode.In(r,
		unicode.Arabic, unicode.Syriac, unicode.Mandaic, unicode.Nko, unicode.Mongolian, unicode.Phags_Pa, unicode.Adlam,
		unicode.Hanifi_Rohingya, unicode.Manichaean, unicode.Sogdian,
		unicode.Devanagari, unicode.Bengali, unicode.Gurmukhi, unicode.Gujarati, unicode.Oriya, unicode.Tamil, unicode.Telugu,
		unicode.Kannada, unicode.Malayalam, unicode.Sinhala, unicode.Khmer, unicode.Myanmar, unicode.Tibetan, unicode.Thai,
		unicode.Lao, unicode.Balinese, unicode.Javanese, unicode.Sundanese, unicode.Meetei_Mayek, unicode.Grantha,
		unicode.Kaithi, unicode.Sharada, unicode.Newa, unicode.Tirhuta, unicode.Modi, unicode.Chakma, unicode.Inherited)
}

// Unseen returns how many bytes at the beginning of s show nothing on any screen:
// an escape sequence, a control character that is no white space, one that
// changes the direction of a line, or one without a shape.
func Unseen(s string) int {
	if n := escapeLen(s); n > 0 {
		return n
	}
	r, n := utf8.DecodeRuneInString(s)
	if !IsSpace(r) && (r < 0x20 || 0x7F <= r && r <= 0x9F) || bidiControl(r) || unseen(r) {
		return n
	}
	return 0
}
