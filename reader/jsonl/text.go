package jsonl

import (
	"encoding/binary"
	"math/bits"
	"unicode/utf16"
	"unicode/utf8"
)

// keepScratch is how large a buffer for texts may be to be kept.
const keepScratch = 1 << 20

// Text is the function Text; it works in a buffer of the index. The value may be
// of any line.
func (x *Index) Text(v []byte) string {
	if !IsString(v) {
		return ""
	}
	inner := v[1 : len(v)-1]
	end, high := ordinary(inner)
	switch {
	case high != 0 && !utf8.Valid(inner):
		return string(Unquote(v))
	case end == len(inner):
		return string(inner)
	}
	if x == nil {
		x = new(Index)
	}
	// A word is written even where less of it counts; no escape is shorter than
	// what it stands for.
	if need := len(inner) + 8; cap(x.scratch) < need {
		x.scratch = make([]byte, max(need, 1<<10))
	}
	text := string(unescape(x.scratch[:len(inner)+8], inner, end))
	if cap(x.scratch) > keepScratch {
		x.scratch = nil
	}
	return text
}

// ordinary returns where the first backslash is, or the length. A byte beyond
// ASCII before the end of the text makes high other than 0.
func ordinary(in []byte) (end int, high uint64) {
	end = -1
	i := 0
	for ; i+8 <= len(in); i += 8 {
		w := binary.LittleEndian.Uint64(in[i:])
		high |= w & highs
		if end < 0 {
			if marks := slashes(w); marks != 0 {
				end = i + bits.TrailingZeros64(marks)>>3
			}
		}
	}
	for ; i < len(in); i++ {
		high |= uint64(in[i]) & 0x80
		if end < 0 && in[i] == '\\' {
			end = i
		}
	}
	if end < 0 {
		end = len(in)
	}
	return end, high
}

// unescape replaces the escapes of a valid string's inside, the first of which
// is at i, and returns the part of out that it has filled. out is longer by 8.
func unescape(out, in []byte, i int) []byte {
	n := copy(out, in[:i])
	for {
		if i+8 <= len(in) {
			w := binary.LittleEndian.Uint64(in[i:])
			binary.LittleEndian.PutUint64(out[n:], w)
			marks := slashes(w)
			if marks == 0 {
				i, n = i+8, n+8
				continue
			}
			plain := bits.TrailingZeros64(marks) >> 3
			i, n = i+plain, n+plain
		} else {
			for i < len(in) && in[i] != '\\' {
				out[n] = in[i]
				i, n = i+1, n+1
			}
			if i == len(in) {
				return out[:n]
			}
		}
		c := in[i+1]
		i += 2
		switch c {
		case 'n':
			c = '\n'
		case 't':
			c = '\t'
		case 'r':
			c = '\r'
		case 'b':
			c = '\b'
		case 'f':
			c = '\f'
		case 'u':
			r, taken := hexRunes(in[i:])
			i += taken
			n += utf8.EncodeRune(out[n:], r)
			continue
		}
		out[n] = c
		n++
	}
}

// hexRunes reads the digits of an escape, and the other half of a pair if it
// follows. A half alone is U+FFFD.
func hexRunes(in []byte) (r rune, taken int) {
	r = hexRune(in)
	if !utf16.IsSurrogate(r) {
		return r, 4
	}
	if len(in) >= 10 && in[4] == '\\' && in[5] == 'u' {
		if pair := utf16.DecodeRune(r, hexRune(in[6:])); pair != utf8.RuneError {
			return pair, 10
		}
	}
	return utf8.RuneError, 4
}

// hexRune reads the four digits of an escape.
func hexRune(in []byte) rune {
	r := rune(0)
	for _, c := range in[:4] {
		switch {
		case c <= '9':
			c -= '0'
		default:
			c = c | 0x20 - 'a' + 10
		}
		r = r<<4 | rune(c)
	}
	return r
}

// Bounds of what an index remembers of names.
const (
	maxNames = 512
	maxName  = 160 // bytes of one
)

// Name is Text for a string that is likely to come again in the log: a type, a
// role, a tool. It is copied once.
func (x *Index) Name(v []byte) string {
	if !IsString(v) {
		return ""
	}
	if inner := v[1 : len(v)-1]; len(inner) <= maxName && Verbatim(inner) {
		return x.Intern(inner)
	}
	return x.Text(v)
}

// Intern returns a text as a string; one that has come before is not copied
// again, up to a bound.
func (x *Index) Intern(text []byte) string {
	if x == nil || len(text) > maxName {
		return string(text)
	}
	if s, ok := x.names[string(text)]; ok {
		return s
	}
	s := string(text)
	if x.names == nil {
		x.names = make(map[string]string)
	}
	if len(x.names) < maxNames {
		x.names[s] = s
	}
	return s
}
