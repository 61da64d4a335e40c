package jsonl

import (
	"encoding/binary"
	"math/bits"
)

// Valid reports whether a line is one JSON value as the writer's own parser
// takes it: names may repeat, text may hold lone surrogates, and values may be
// nested as deeply as the line is long.
func Valid(line []byte) bool {
	end, ok := scan(line, 0, nil)
	return ok && SkipSpace(line, end) == len(line)
}

// nest is the brackets that are open, one bit each: a line can hold as many as
// it has bytes, so neither the program's stack nor a word each will do.
type nest struct {
	bits  []uint64 // set: an object
	depth int
}

func (n *nest) push(object bool) {
	word, bit := n.depth>>6, uint64(1)<<(n.depth&63)
	if word == len(n.bits) {
		n.bits = append(n.bits, 0)
	}
	n.bits[word] &^= bit
	if object {
		n.bits[word] |= bit
	}
	n.depth++
}

func (n *nest) pop() { n.depth-- }

// object tells of the innermost bracket; there must be one.
func (n *nest) object() bool {
	at := n.depth - 1
	return n.bits[at>>6]>>(at&63)&1 != 0
}

// scan checks the JSON value that begins at or behind i, white space before it
// included, and returns the index behind it. What is long goes into x, which may
// be nil.
func scan(b []byte, i int, x *Index) (end int, ok bool) {
	var room [4]uint64
	open, object := nest{bits: room[:0]}, false // the innermost bracket is an object's
	for {
		if i < len(b) && b[i] <= ' ' {
			i = SkipSpace(b, i)
		}
		if i >= len(b) {
			return i, false
		}
		start := i
		switch c := b[i]; c {
		case '"':
			if i = plainText(b, i+1); i < len(b) && b[i] == '"' {
				i++
			} else if i, ok = scanEscaped(b, i); !ok {
				return i, false
			}
			if x != nil && i-start >= longBytes {
				x.leaf(start, i)
			}
		case '{', '[':
			if i = SkipSpace(b, i+1); i < len(b) && b[i] == c+2 {
				i++
				break // it is empty
			}
			object = c == '{'
			open.push(object)
			if x != nil {
				x.enter(start)
			}
			if object {
				if i, ok = scanName(b, i); !ok {
					return i, false
				}
			}
			continue
		default:
			if c-'1' <= 8 {
				for i++; i < len(b) && b[i]-'0' <= 9; i++ {
				}
			}
			if i == start || i < len(b) && !isBreak(b[i]) {
				if i, ok = scanPlain(b, start); !ok {
					return i, false
				}
			}
		}
		// Behind a value: over the brackets that end there, up to where the next
		// value must begin.
		for {
			if open.depth == 0 {
				return i, true
			}
			if i < len(b) && b[i] <= ' ' {
				i = SkipSpace(b, i)
			}
			if i >= len(b) {
				return i, false
			}
			c := b[i]
			i++
			if c == ',' {
				if object {
					if i, ok = scanName(b, SkipSpace(b, i)); !ok {
						return i, false
					}
				}
				break
			}
			if c != '}' && c != ']' || object != (c == '}') {
				return i, false
			}
			open.pop()
			object = open.depth > 0 && open.object()
			if x != nil {
				x.leave(i)
			}
		}
	}
}

// scanName checks a member's name and the colon behind it.
func scanName(b []byte, i int) (int, bool) {
	if i >= len(b) || b[i] != '"' {
		return i, false
	}
	i++
	for i < len(b) && b[i] != '"' && b[i] != '\\' && b[i] >= ' ' {
		i++
	}
	if i < len(b) && b[i] == '"' {
		i++
	} else {
		var ok bool
		if i, ok = scanEscaped(b, i); !ok {
			return i, false
		}
	}
	if i < len(b) && b[i] == ':' {
		return i + 1, true
	}
	if i = SkipSpace(b, i); i >= len(b) || b[i] != ':' {
		return i, false
	}
	return i + 1, true
}

// scanPlain checks the number or word at i.
func scanPlain(b []byte, i int) (int, bool) {
	switch b[i] {
	case 't':
		return scanWord(b, i, "true")
	case 'f':
		return scanWord(b, i, "false")
	case 'n':
		return scanWord(b, i, "null")
	}
	return scanNumber(b, i)
}

func scanWord(b []byte, i int, word string) (int, bool) {
	end := i + len(word)
	if end > len(b) || string(b[i:end]) != word {
		return i, false
	}
	return end, true
}

func scanNumber(b []byte, i int) (int, bool) {
	if b[i] == '-' {
		i++
	}
	first := i
	i, ok := scanDigits(b, i)
	if !ok {
		return i, false
	}
	if b[first] == '0' {
		i = first + 1
	}
	if i < len(b) && b[i] == '.' {
		if i, ok = scanDigits(b, i+1); !ok {
			return i, false
		}
	}
	if i < len(b) && b[i]|0x20 == 'e' {
		i++
		if i < len(b) && (b[i] == '+' || b[i] == '-') {
			i++
		}
		return scanDigits(b, i)
	}
	return i, true
}

// scanDigits passes over at least one digit.
func scanDigits(b []byte, i int) (int, bool) {
	start := i
	for i < len(b) && b[i] >= '0' && b[i] <= '9' {
		i++
	}
	return i, i > start
}

// scanEscaped checks the rest of a string from within it.
func scanEscaped(b []byte, i int) (int, bool) {
	for i = plainText(b, i); i < len(b); i = plainText(b, i) {
		switch c := b[i]; {
		case c == '"':
			return i + 1, true
		case c < ' ':
			return i, false
		case i+1 == len(b):
			return i, false
		}
		switch b[i+1] {
		case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
			i += 2
		case 'u':
			if i+6 > len(b) {
				return i, false
			}
			for _, c := range b[i+2 : i+6] {
				if !(c >= '0' && c <= '9' || c|0x20 >= 'a' && c|0x20 <= 'f') {
					return i, false
				}
			}
			i += 6
		default:
			return i, false
		}
	}
	return i, false
}

// plainText returns the index of the next byte of a string that means something:
// a quote, a backslash or a control character.
func plainText(b []byte, i int) int {
	for ; i+8 <= len(b); i += 8 {
		if marks := special(binary.LittleEndian.Uint64(b[i:])); marks != 0 {
			return i + bits.TrailingZeros64(marks)>>3
		}
	}
	for i < len(b) && b[i] != '"' && b[i] != '\\' && b[i] >= ' ' {
		i++
	}
	return i
}

const (
	ones  = 0x0101010101010101
	highs = 0x8080808080808080
)

// special marks the first quote, backslash or control character of eight bytes by
// the high bit of its byte, with the usual arithmetic on words: a byte is below n
// if its high bit is set in (word - n each) and was not before. Turning bit 1 puts
// the quote in the place of the space and leaves the controls among themselves, so
// that all of these are below 0x21. A borrow can mark a wrong byte only behind a
// right one.
func special(w uint64) uint64 {
	return (w^(ones*2)-ones*0x21)&^w&highs | slashes(w)
}

// slashes marks the first backslash of a word by the high bit of its byte.
func slashes(w uint64) uint64 {
	w ^= ones * '\\'
	return (w - ones) &^ w & highs
}
