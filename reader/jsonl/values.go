package jsonl

import (
	"bytes"
	"math"
	"strconv"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// Cursor walks the members of an object or the elements of an array in JSON
// that is known to be valid. Nothing it returns is copied.
type Cursor struct {
	b []byte
	i int

	longs        []long // of an Index: those that may lie ahead
	offset, from int32  // of b in the line, and of longs in the index
}

// Enter starts behind the opening bracket of v.
func Enter(v []byte) Cursor { return Cursor{b: v, i: 1} }

// Member returns the next name, unquoted, and its value.
func (c *Cursor) Member() (name, value []byte, ok bool) {
	if !c.more('}') {
		return nil, nil, false
	}
	start := c.i
	end, plain := start+1, true
	for end < len(c.b) && c.b[end] != '"' {
		if c.b[end] == '\\' {
			plain = false
			end++
		}
		end++
	}
	name = c.b[start+1 : min(end, len(c.b))]
	if !plain {
		// The error is about invalid UTF-8, which has been replaced.
		name, _ = jsontext.AppendUnquote(nil, c.b[start:end+1])
	}
	c.i = SkipSpace(c.b, end+1) + 1
	value, _ = c.value()
	return name, value, true
}

// Element returns the next element of an array.
func (c *Cursor) Element() ([]byte, bool) {
	if !c.more(']') {
		return nil, false
	}
	return c.value()
}

func (c *Cursor) more(closing byte) bool {
	c.i = SkipSpace(c.b, c.i)
	if c.i < len(c.b) && c.b[c.i] == ',' {
		c.i = SkipSpace(c.b, c.i+1)
	}
	return c.i < len(c.b) && c.b[c.i] != closing
}

func (c *Cursor) value() ([]byte, bool) {
	start := SkipSpace(c.b, c.i)
	if len(c.longs) > 0 {
		if end := c.jump(c.offset + int32(start)); end >= 0 {
			c.i = int(end - c.offset)
			return c.b[start:c.i], true
		}
	}
	c.i = skipValue(c.b, start)
	return c.b[start:c.i], true
}

// jump returns where the value that begins at an offset of the line ends; -1: it
// is not in the index.
func (c *Cursor) jump(at int32) int32 {
	for len(c.longs) > 0 && c.longs[0].start < at {
		c.longs, c.from = c.longs[1:], c.from+1
	}
	if len(c.longs) == 0 || c.longs[0].start != at {
		return -1
	}
	l := c.longs[0]
	c.longs, c.from = c.longs[l.next-c.from:], l.next
	return l.end
}

func SkipSpace(b []byte, i int) int {
	for i < len(b) && (b[i] == ' ' || b[i] == '\t' || b[i] == '\r' || b[i] == '\n') {
		i++
	}
	return i
}

// skipString returns the index behind the string that starts at i.
func skipString(b []byte, i int) int {
	for i = plainText(b, i+1); i < len(b); i = plainText(b, i) {
		switch b[i] {
		case '"':
			return i + 1
		case '\\':
			i++
		}
		i++
	}
	return len(b)
}

// skipValue returns the index behind the value that starts at i.
func skipValue(b []byte, i int) int {
	depth := 0
	for i < len(b) {
		switch b[i] {
		case '"':
			i = skipString(b, i)
		case '{', '[':
			depth++
			i++
		case '}', ']':
			depth--
			i++
		case ' ', '\t', '\r', '\n', ',', ':':
			i++
			continue
		default:
			for i < len(b) && !isBreak(b[i]) {
				i++
			}
		}
		if depth == 0 {
			return i
		}
	}
	return i
}

func isBreak(c byte) bool {
	switch c {
	case ' ', '\t', '\r', '\n', ',', ':', '}', ']', '"', '{', '[':
		return true
	}
	return false
}

func IsObject(v []byte) bool { return len(v) > 0 && v[0] == '{' }
func IsArray(v []byte) bool  { return len(v) > 0 && v[0] == '[' }
func IsString(v []byte) bool { return len(v) > 0 && v[0] == '"' }
func IsNumber(v []byte) bool {
	return len(v) > 0 && (v[0] == '-' || v[0] >= '0' && v[0] <= '9')
}

// Field returns the last member of that name; nil if v is no object or has none.
func Field(v []byte, name string) []byte {
	if !IsObject(v) {
		return nil
	}
	var found []byte
	c := Enter(v)
	for {
		n, value, ok := c.Member()
		if !ok {
			return found
		}
		if string(n) == name {
			found = value
		}
	}
}

// Text returns a string value with lone surrogates and invalid bytes replaced
// by U+FFFD, or "" if v is no string. The result is a copy.
func Text(v []byte) string {
	var x Index
	return x.Text(v)
}

// Unquote is Text as bytes, always a copy.
func Unquote(v []byte) []byte {
	if !IsString(v) {
		return nil
	}
	// The error is about invalid UTF-8, which has been replaced.
	text, _ := jsontext.AppendUnquote(make([]byte, 0, len(v)), v)
	return text
}

// Filled reports whether v is a string that is not empty.
func Filled(v []byte) bool { return IsString(v) && len(v) > 2 }

// Is reports whether v is the given string.
func Is(v []byte, want string) bool {
	if !IsString(v) {
		return false
	}
	if inner := v[1 : len(v)-1]; bytes.IndexByte(inner, '\\') < 0 {
		return string(inner) == want
	}
	return Text(v) == want
}

// MaxSafe is the largest integer that the writer's number type holds exactly.
const MaxSafe = 1<<53 - 1

// SafeInt returns the value of a number that is a safe integer for the writer,
// however it is spelled (6, 6.0 and 0.6e1 are one number).
func SafeInt(v []byte) (int64, bool) {
	if !IsNumber(v) {
		return 0, false
	}
	if len(v) < 17 && v[0] != '-' {
		n := int64(0)
		for _, c := range v {
			if c < '0' || c > '9' {
				n = -1
				break
			}
			n = n*10 + int64(c-'0')
		}
		if n >= 0 {
			return n, n <= MaxSafe
		}
	}
	f, err := strconv.ParseFloat(string(v), 64)
	if err != nil || f != math.Trunc(f) || math.Abs(f) > MaxSafe {
		return 0, false
	}
	return int64(f), true
}

// Natural is safeInt for numbers that are not negative.
func Natural(v []byte) (int64, bool) {
	n, ok := SafeInt(v)
	return n, ok && n >= 0
}

// padding is what may stand around values: NUL bytes are what power failures
// leave.
const padding = "\x00 \t\r\n"

// Values takes a line apart that should be one value: the values that stand one
// after another from its start, and what is left over that is none. NUL bytes
// around them are left out.
func Values(line []byte) (values [][]byte, rest []byte) {
	var x Index
	values, rest = x.Values(line)
	for i, v := range values {
		values[i] = v[:len(v):len(v)]
	}
	return values, rest
}

// Verbatim reports whether the inside of a valid string stands for itself: it
// has no escapes and is well-formed.
func Verbatim(inner []byte) bool { return bytes.IndexByte(inner, '\\') < 0 && utf8.Valid(inner) }
