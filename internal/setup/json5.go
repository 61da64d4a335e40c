package setup

import (
	"bytes"
	"fmt"
	"regexp"
	"unicode"
	"unicode/utf8"
)

// JSON5 is read by being written as JSON, token by token: names get quotes,
// strings their double ones, and what JSON cannot say (hexadecimal numbers,
// Infinity) becomes a string of its spelling, which is enough to compare two
// texts. Line ends stay where they are, so a line keeps its number, and each byte
// knows where it comes from, so an edit is made in the text itself.
// The grammar is that of https://spec.json5.org (version 1.0.0).

var (
	json5Name   = regexp.MustCompile(`^[\p{L}\p{Nl}$_][\p{L}\p{Nl}\p{Mn}\p{Mc}\p{Nd}\p{Pc}$\x{200c}\x{200d}]*$`)
	json5Number = regexp.MustCompile(`^[+-]?(?:Infinity|NaN|0[xX][0-9a-fA-F]+|(?:(?:0|[1-9][0-9]*)(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)$`)
	jsonNumber  = regexp.MustCompile(`^-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?$`)
)

// strict is a text as JSON, and where each of its bytes comes from; nil: it is the
// text itself.
type strict struct {
	text []byte
	from []int
}

// at and behind turn an offset into that of the text: of what begins there, and of
// what has ended there.
func (p strict) at(offset int) int {
	if p.from == nil || offset >= len(p.from) {
		return offset
	}
	return p.from[offset]
}

func (p strict) behind(offset int) int {
	if p.from == nil || offset == 0 {
		return offset
	}
	return p.from[offset-1] + 1
}

// put writes bytes that all come from one place.
func (p *strict) put(from int, text string) {
	p.text = append(p.text, text...)
	for range len(text) {
		p.from = append(p.from, from)
	}
}

// keep writes a stretch of the text as it is.
func (p *strict) keep(text []byte, from, to int) {
	p.text = append(p.text, text[from:to]...)
	for ; from < to; from++ {
		p.from = append(p.from, from)
	}
}

// ofJSON5 writes a JSON5 text as JSON. What is no JSON5 is no JSON then.
func ofJSON5(text []byte) strict {
	p := strict{from: []int{}}
	text = uncommented(text)
	for i := 0; i < len(text); {
		c := text[i]
		switch {
		case bytes.IndexByte([]byte("{}[]:, \t\r\n"), c) >= 0:
			p.keep(text, i, i+1)
			i++
		case c == '"' || c == '\'':
			i = p.quoted(text, i)
		default:
			r, n := utf8.DecodeRune(text[i:])
			if unicode.IsSpace(r) || r == '\ufeff' {
				p.put(i, " ")
				i += n
				break
			}
			end := i
			for end < len(text) && bytes.IndexByte([]byte("{}[]:, \t\r\n\"'"), text[end]) < 0 {
				end++
			}
			p.word(text, i, end)
			i = end
		}
	}
	untrailed(p.text)
	return p
}

// word writes a name, a number, or true, false, null.
func (p *strict) word(text []byte, from, to int) {
	word := text[from:to]
	rest := bytes.TrimLeft(text[to:], " \t\r\n")
	name := len(rest) > 0 && rest[0] == ':'
	if name && json5Name.Match(word) || !name && json5Number.Match(word) && !jsonNumber.Match(word) {
		p.put(from, `"`)
		p.keep(text, from, to)
		p.put(to-1, `"`)
		return
	}
	p.keep(text, from, to)
}

// quoted writes the string that begins at an offset and returns where it ends.
// Lines that it goes over end behind it.
func (p *strict) quoted(text []byte, i int) int {
	quote, lines := text[i], 0
	p.put(i, `"`)
	for i++; i < len(text); i++ {
		c := text[i]
		switch {
		case c == quote:
			p.put(i, `"`)
			for range lines {
				p.put(i, "\n")
			}
			return i + 1
		case c == '"':
			p.put(i, `\"`)
		case c == '\\' && i+1 < len(text):
			n, line := p.escaped(text, i)
			if i += n - 1; line {
				lines++
			}
		case c == '\n' || c == '\r' || c >= ' ':
			p.keep(text, i, i+1)
		default:
			p.put(i, fmt.Sprintf(`\u%04x`, c))
		}
	}
	return i
}

// escaped writes the escape at an offset; it returns its length, and whether it
// is a line's end, which says nothing.
func (p *strict) escaped(text []byte, i int) (length int, line bool) {
	switch c := text[i+1]; {
	case c == '\r' && i+2 < len(text) && text[i+2] == '\n':
		return 3, true
	case c == '\n' || c == '\r':
		return 2, true
	case bytes.HasPrefix(text[i+1:], []byte("\u2028")), bytes.HasPrefix(text[i+1:], []byte("\u2029")):
		return 4, false
	case c == 'v':
		p.put(i, `\u000b`)
	case c == '0' && !(i+2 < len(text) && text[i+2] >= '0' && text[i+2] <= '9'):
		p.put(i, `\u0000`)
	case c == 'x':
		p.put(i, `\u00`)
	case bytes.IndexByte([]byte(`"\/bfnrtu0123456789`), c) >= 0:
		p.keep(text, i, i+2)
	default:
		p.keep(text, i+1, i+2)
	}
	return 2, false
}
