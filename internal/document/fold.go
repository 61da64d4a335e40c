package document

import (
	"slices"
	"sync"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
	"golang.org/x/text/width"
)

// The fold works on segments: a character with the marks that follow it, or a
// Hangul syllable spelled in letters. In order:
//
//  1. an ill-formed byte is U+FFFD; full-width and half-width forms become
//     their plain ones; variation selectors go;
//  2. the segment is composed (NFC), so that composed and decomposed spellings
//     are the same from here on;
//  3. case is folded;
//  4. marks are taken off where they are dispensable: all of them on Latin,
//     Greek, Hebrew, Arabic and ASCII digits, the stress marks on Cyrillic.
//
// Step 4 makes an ASCII character with any marks that same character, which is
// why the scanner (token.go) need not look ahead in ASCII text.

// maxMarks is how many marks of one segment take part: more than any writing
// system needs, and fewer, even taken apart, than the 30 at which composition
// would put joiners between them.
const maxMarks = 12

// tableEnd is the end of the code points that are looked up in a table: the
// alphabets, general punctuation and the common symbols.
const tableEnd = 0x2600

// folded is what becomes of a character that stands alone.
type folded struct {
	to    rune // 0: more than one character, see foldSegment; of word and single only
	class class
	strip stripping
}

// lone holds the fold of the characters from U+0080 to tableEnd. It is made when
// the first of them is met, in a few milliseconds, and never changed.
var lone = sync.OnceValue(func() *[tableEnd]folded {
	var t [tableEnd]folded
	for r := rune(utf8.RuneSelf); r < tableEnd; r++ {
		t[r] = foldLone(string(r), r)
	}
	return &t
})

// formsStart is the beginning of the block of full-width and half-width forms,
// formsSize its length.
const (
	formsStart = 0xFF00
	formsSize  = 0xF0
)

// forms holds the plain form of each character of that block, 0 where it is
// plain itself; made when first needed.
var forms = sync.OnceValue(func() *[formsSize]rune {
	var t [formsSize]rune
	for i := range t {
		t[i] = width.LookupRune(formsStart + rune(i)).Folded()
	}
	return &t
})

// lookup folds the character r that s begins with, as if no mark followed.
func lookup(s string, r rune, size int) folded {
	switch {
	case r < tableEnd:
		return lone()[r]
	case ideograph(r) && r>>11 != 0x2F800>>11, // there are compatibility ideographs
		0xAC00 <= r && r <= 0xD7A3, 0x3041 <= r && r <= 0x3096, 0x30A1 <= r && r <= 0x30FA, r == 0x30FC:
		return folded{r, single, none}
	}
	return foldLone(s[:size], r)
}

// foldLone folds a character that no mark follows; s is its bytes.
func foldLone(s string, r rune) folded {
	if p := plain(r); p != r {
		return folded{foldCase(p), classify(p), strips(p)}
	}
	first := r
	if canonical := norm.NFD.PropertiesString(s).Decomposition(); canonical != nil {
		first, _ = utf8.DecodeRune(canonical)
	}
	f := folded{foldCase(unstressed(r)), classify(first), strips(first)}
	switch {
	case f.strip == all:
		f.to = foldCase(first)
	case norm.NFC.QuickSpanString(s) < len(s): // Unicode may take it apart
		f.to = 0
	}
	return f
}

// plain turns a full-width or half-width form into the plain one.
func plain(r rune) rune {
	switch {
	case r == 0x3000:
		return ' '
	case formsStart < r && r < formsStart+formsSize:
		if p := forms()[r-formsStart]; p != 0 {
			return p
		}
	}
	return r
}

// attached reports whether r is a mark, full-width or half-width forms included.
func attached(r rune) bool {
	if r < tableEnd {
		return lone()[r].class == mark
	}
	return isMark(r) || r == 0xFF9E || r == 0xFF9F
}

// extent returns how many bytes the segment at the beginning of s takes; base is
// its first character, size that one's length.
func extent(s string, base rune, size int) int {
	hangul := 0xAC00 <= base && base <= 0xD7A3 || 0x1100 <= base && base <= 0x11FF || 0xA960 <= base && base <= 0xA97C
	for size < len(s) && s[size] >= utf8.RuneSelf {
		r, n := utf8.DecodeRuneInString(s[size:])
		if !attached(r) && !(hangul && medial(r)) {
			break
		}
		size += n
	}
	return size
}

// foldSegment appends the folded form of a segment whose marks may stay to dst, at
// most limit characters of it, and returns how many it appended; strip is the
// stripping of its base. It works at the end of dst.
func foldSegment(dst []byte, seg string, strip stripping, limit int) (out []byte, points int) {
	from, count := len(dst), 0
	for _, r := range seg {
		if r = plain(r); ignorable(r) {
			continue
		}
		if count++; count > maxMarks+1 {
			break
		}
		dst = utf8.AppendRune(dst, r)
	}
	dst = compose(dst, from)
	end := len(dst)
	for at := from; at < end; {
		r, size := utf8.DecodeRune(dst[at:end])
		at += size
		switch {
		case strip == stress && (r == 0x300 || r == 0x301):
			continue
		case !attached(r):
			r = foldCase(unstressed(r))
		}
		dst = utf8.AppendRune(dst, r)
	}
	dst = append(dst[:from], dst[end:]...)
	if strip == stress {
		dst = compose(dst, from) // a mark that stood behind the stress
	}
	for at := from; at < len(dst); points++ {
		if points == limit {
			dst = dst[:at]
			break
		}
		_, size := utf8.DecodeRune(dst[at:])
		at += size
	}
	return dst, points
}

// compose brings dst[from:] into NFC.
func compose(dst []byte, from int) []byte {
	if norm.NFC.IsNormal(dst[from:]) {
		return dst
	}
	end := len(dst)
	dst = slices.Grow(dst, 3*(end-from)) // the most that NFC grows by
	return append(dst[:from], norm.NFC.Append(dst[end:end], dst[from:end]...)...)
}

// unstressed takes the stress off the two Cyrillic vowels that Unicode also has
// as one code point. Macedonian ѓ and ќ are letters and stay.
func unstressed(r rune) rune {
	switch r {
	case 'Ѐ', 'ѐ':
		return 'е'
	case 'Ѝ', 'ѝ':
		return 'и'
	}
	return r
}
