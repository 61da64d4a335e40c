package document

import (
	"iter"
	"slices"
	"unicode/utf8"
)

// maxPoints is how many code points of a token are looked at; the rest of a
// longer run is dropped, in the index and in the query alike.
const maxPoints = 64

// Token is one token of a text.
type Token struct {
	Text       string // folded: a-z, 0-9 and characters beyond ASCII
	Start, End int    // byte range in the text as written, of the whole run even where Text is cut
}

// Tokens yields the tokens of text in order; their ranges do not overlap. Any
// string is accepted.
func Tokens(text string) iter.Seq[Token] {
	return func(yield func(Token) bool) {
		var space [4 * maxPoints]byte
		for at := 0; ; {
			folded, start, end := next(space[:0], text, at)
			if start == end {
				return
			}
			t := Token{text[start:end], start, end}
			if string(folded) != t.Text {
				t.Text = string(folded)
			}
			if !yield(t) {
				return
			}
			at = end
		}
	}
}

// Terms returns the folded tokens of text alone.
func Terms(text string) []string {
	var terms []string
	for t := range Tokens(text) {
		terms = append(terms, t.Text)
	}
	return terms
}

// EachFolded hands the folded tokens of text, which AppendFolded joins, to visit
// one by one, and returns how many there are. A token is valid during the visit
// and may be written to. It works in buf; with a capacity of FoldedRoom bytes it
// allocates only for characters that have to be composed.
func EachFolded(text string, buf []byte, visit func(token []byte)) (tokens int) {
	if cap(buf) < FoldedRoom {
		buf = make([]byte, 0, FoldedRoom)
	}
	for at := 0; ; tokens++ {
		folded, start, end := next(buf[:0], text, at)
		if start == end {
			return tokens
		}
		visit(folded)
		at = end
	}
}

// FoldedRoom is how many bytes EachFolded needs to work in.
const FoldedRoom = 4 * maxPoints

// AppendFolded appends all folded tokens of text, joined by one space, to dst:
// what is indexed. Beyond dst, which must not overlap text, it allocates only for
// characters that have to be composed.
func AppendFolded(dst []byte, text string) (out []byte, tokens int) {
	dst = slices.Grow(dst, len(text))
	from := len(dst)
	for at := 0; ; {
		before := len(dst)
		if before > from {
			dst = append(dst, ' ')
		}
		var start, end int
		if dst, start, end = next(dst, text, at); start == end {
			return dst[:before], tokens
		}
		tokens++
		at = end
	}
}

// asciiFold gives the folded form of an ASCII letter or digit; 0 for all other
// bytes. A string, because a constant cannot be changed.
const asciiFold = zeros16 + zeros16 + zeros16 + "0123456789" + "\x00\x00\x00\x00\x00\x00\x00" +
	"abcdefghijklmnopqrstuvwxyz" + "\x00\x00\x00\x00\x00\x00" + "abcdefghijklmnopqrstuvwxyz" + "\x00\x00\x00\x00\x00" +
	zeros16 + zeros16 + zeros16 + zeros16 + zeros16 + zeros16 + zeros16 + zeros16

const zeros16 = "\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00"

// next appends the folded form of the first token of text[at:] to dst and
// returns its range in text; an empty range: there is none. The position must
// be 0 or the end of the token before.
func next(dst []byte, text string, at int) (out []byte, start, end int) {
	i := at
	for i < len(text) && text[i] < utf8.RuneSelf && asciiFold[text[i]] == 0 {
		i++
	}
	start = -1
	points := 0
	for i < len(text) {
		c := text[i]
		if c < utf8.RuneSelf {
			f := asciiFold[c]
			if f == 0 {
				if start >= 0 {
					return dst, start, i
				}
				i++
				continue
			}
			if start < 0 {
				start = i
			}
			stop := min(len(text), i+maxPoints-points)
			run := i
			for i < stop {
				if f = asciiFold[text[i]]; f == 0 {
					break
				}
				dst = append(dst, f)
				i++
			}
			points += i - run
			for points == maxPoints && i < len(text) && asciiFold[text[i]] != 0 {
				i++
			}
			continue
		}
		r, size := utf8.DecodeRuneInString(text[i:])
		f := lookup(text[i:], r, size)
		if f.class == separator {
			if start >= 0 {
				return dst, start, i
			}
			i += size
			continue
		}
		if f.class == mark {
			// Only an ASCII character or a separator leaves its marks to this
			// loop; on the one they are dropped, after the other they are nothing.
			i += size
			continue
		}
		if f.class == single && start >= 0 {
			return dst, start, i
		}
		if start < 0 {
			start = i
		}
		long := extent(text[i:], r, size)
		switch {
		case points >= maxPoints:
		case f.to != 0 && (long == size || f.strip == all):
			dst = utf8.AppendRune(dst, f.to)
			points++
		default:
			var n int
			dst, n = foldSegment(dst, text[i:i+long], f.strip, maxPoints-points)
			points += n
		}
		i += long
		if f.class == single {
			return dst, start, i
		}
	}
	if start < 0 {
		return dst, len(text), len(text)
	}
	return dst, start, len(text)
}
