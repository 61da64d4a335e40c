package document

import "unicode"

// class says what part a character plays in the making of tokens.
type class uint8

const (
	separator class = iota // ends a token and is in none
	mark                   // belongs to the character before it; begins no token
	word                   // goes on with the token before it
	single                 // a token of its own, together with its marks
)

// classify gives the class of a character in its folded form.
//
// Separators are what Unicode calls punctuation, symbols, spaces, controls and
// formats, so that letters, numbers, private use and unassigned code points
// make words. That is the rule of SQLite's unicode61, which knows Unicode 6.1
// only; what was assigned since is taken as what it is now, so that a newer
// emoji separates like the older ones.
func classify(r rune) class {
	switch {
	case r < 0x80:
		if asciiFold[byte(r)] == 0 {
			return separator
		}
		return word
	case ideograph(r) || 0xAC00 <= r && r <= 0xD7A3:
		return single
	case isMark(r):
		return mark
	case unicode.In(r, unicode.P, unicode.S, unicode.Z, unicode.Cc, unicode.Cf):
		return separator
	case unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul,
		unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar):
		return single
	}
	switch r {
	case 0x30FC, 0x3006, 0x303C: // prolonged sound, closing mark, masu: of Japanese, but of no script in the tables
		return single
	case 0xFFFD, 0xFFFE, 0xFFFF:
		return separator
	}
	return word
}

// ideograph reports whether r lies where only Han characters are or will be.
func ideograph(r rune) bool {
	return 0x4E00 <= r && r <= 0x9FFF || 0x3400 <= r && r <= 0x4DBF || 0x20000 <= r && r <= 0x3FFFD
}

// isMark reports whether r is a combining mark. The large blocks without any
// are told apart first, for speed.
func isMark(r rune) bool {
	if r < 0x300 || 0x3100 <= r && r < 0xA66F || 0xAC00 <= r && r < 0xFB1E {
		return false
	}
	return unicode.Is(unicode.M, r)
}

// ignorable reports whether a mark chooses between glyphs and says nothing
// itself: the variation selectors and the grapheme joiner.
func ignorable(r rune) bool {
	return 0xFE00 <= r && r <= 0xFE0F || 0xE0100 <= r && r <= 0xE01EF ||
		0x180B <= r && r <= 0x180F && r != 0x180E || r == 0x034F
}

// medial reports whether r is a vowel or final consonant of a Hangul syllable
// that is spelled in letters (conjoining jamo).
func medial(r rune) bool {
	return 0x1160 <= r && r <= 0x11FF || 0xD7B0 <= r && r <= 0xD7FB
}

// stripping says which marks the fold takes off a character.
type stripping uint8

const (
	none   stripping = iota // marks carry meaning: vowel signs, kana voicing, unknown scripts
	stress                  // U+0300 and U+0301 only: й, ё and ї are letters of their own
	all
)

// strips gives the stripping of a base character. The micro sign, of no script
// itself, becomes the Greek letter, so it is stripped like that one.
func strips(r rune) stripping {
	switch {
	case r == 'µ':
		return all
	case r < 0x80:
		return all
	case unicode.Is(unicode.Cyrillic, r):
		return stress
	case unicode.In(r, unicode.Latin, unicode.Greek, unicode.Arabic, unicode.Hebrew):
		return all
	}
	return none
}

// foldCase is simple case folding: characters that differ by case only, the two
// small sigmas, the long s and the micro sign among them, become one.
func foldCase(r rune) rune {
	if r == 'ı' { // its capital is I, but it is a letter of its own
		return r
	}
	if 0x0590 <= r && r < 0x10A0 || 0x3000 <= r && r < 0xA640 { // no case there
		return r
	}
	return unicode.ToLower(unicode.ToUpper(r))
}
