package dsh

import (
	"bytes"
	"math"
	"strconv"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// valid reports whether a line is one JSON value as the writer's own parser
// takes it: names may repeat, text may hold lone surrogates.
func valid(line []byte) bool {
	return jsontext.Value(line).IsValid(jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
}

// cursor walks the members of an object or the elements of an array in JSON
// that is known to be valid. Nothing it returns is copied.
type cursor struct {
	b []byte
	i int
}

// enter starts behind the opening bracket of v.
func enter(v []byte) cursor { return cursor{v, 1} }

// member returns the next name, unquoted, and its value.
func (c *cursor) member() (name, value []byte, ok bool) {
	if !c.more('}') {
		return nil, nil, false
	}
	end := skipString(c.b, c.i)
	name = c.b[c.i+1 : end-1]
	if bytes.IndexByte(name, '\\') >= 0 {
		// The error is about invalid UTF-8, which has been replaced.
		name, _ = jsontext.AppendUnquote(nil, c.b[c.i:end])
	}
	c.i = skipSpace(c.b, end) + 1
	value, _ = c.value()
	return name, value, true
}

// element returns the next element of an array.
func (c *cursor) element() ([]byte, bool) {
	if !c.more(']') {
		return nil, false
	}
	return c.value()
}

func (c *cursor) more(closing byte) bool {
	c.i = skipSpace(c.b, c.i)
	if c.i < len(c.b) && c.b[c.i] == ',' {
		c.i = skipSpace(c.b, c.i+1)
	}
	return c.i < len(c.b) && c.b[c.i] != closing
}

func (c *cursor) value() ([]byte, bool) {
	start := skipSpace(c.b, c.i)
	c.i = skipValue(c.b, start)
	return c.b[start:c.i], true
}

func skipSpace(b []byte, i int) int {
	for i < len(b) && (b[i] == ' ' || b[i] == '\t' || b[i] == '\r' || b[i] == '\n') {
		i++
	}
	return i
}

// skipString returns the index behind the string that starts at i.
func skipString(b []byte, i int) int {
	for i++; i < len(b); i++ {
		n := bytes.IndexByte(b[i:], '"')
		if n < 0 {
			return len(b)
		}
		i += n
		slashes := 0
		for b[i-1-slashes] == '\\' {
			slashes++
		}
		if slashes%2 == 0 {
			return i + 1
		}
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

func isObject(v []byte) bool { return len(v) > 0 && v[0] == '{' }
func isArray(v []byte) bool  { return len(v) > 0 && v[0] == '[' }
func isString(v []byte) bool { return len(v) > 0 && v[0] == '"' }
func isNumber(v []byte) bool {
	return len(v) > 0 && (v[0] == '-' || v[0] >= '0' && v[0] <= '9')
}

// field returns the last member of that name; nil if v is no object or has none.
func field(v []byte, name string) []byte {
	if !isObject(v) {
		return nil
	}
	var found []byte
	c := enter(v)
	for {
		n, value, ok := c.member()
		if !ok {
			return found
		}
		if string(n) == name {
			found = value
		}
	}
}

// textOf returns a string value with lone surrogates and invalid bytes replaced
// by U+FFFD, or "" if v is no string. The result is a copy.
func textOf(v []byte) string {
	if !isString(v) {
		return ""
	}
	if inner := v[1 : len(v)-1]; bytes.IndexByte(inner, '\\') < 0 && utf8.Valid(inner) {
		return string(inner)
	}
	text, _ := jsontext.AppendUnquote(nil, v)
	return string(text)
}

// filled reports whether v is a string that is not empty.
func filled(v []byte) bool { return isString(v) && len(v) > 2 }

// is reports whether v is the given string.
func is(v []byte, want string) bool {
	if !isString(v) {
		return false
	}
	if inner := v[1 : len(v)-1]; bytes.IndexByte(inner, '\\') < 0 {
		return string(inner) == want
	}
	return textOf(v) == want
}

// maxSafe is the largest integer that the writer's number type holds exactly.
const maxSafe = 1<<53 - 1

// safeInt returns the value of a number that is a safe integer for the writer,
// however it is spelled (6, 6.0 and 0.6e1 are one number).
func safeInt(v []byte) (int64, bool) {
	if !isNumber(v) {
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
			return n, n <= maxSafe
		}
	}
	f, err := strconv.ParseFloat(string(v), 64)
	if err != nil || f != math.Trunc(f) || math.Abs(f) > maxSafe {
		return 0, false
	}
	return int64(f), true
}

// natural is safeInt for numbers that are not negative.
func natural(v []byte) (int64, bool) {
	n, ok := safeInt(v)
	return n, ok && n >= 0
}
