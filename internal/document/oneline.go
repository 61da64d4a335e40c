package document

import (
	"strings"
	"unicode/utf8"

	"github.com/rivo/uniseg"
)

// OneLine makes s safe to print on one line of a terminal or a list: ANSI escape
// sequences, control characters, bidirectional controls and what nobody can see
// (invisible.go) are removed, white space (line separators included) is
// collapsed, ill-formed bytes are U+FFFD, of a flood of marks on one character a few
// stay. A
// text longer than limit code points is cut at the border of a grapheme cluster
// and ends in "…", which counts; limit 0 does not cut.
func OneLine(s string, limit int) string {
	s = strings.Map(printable, strings.ToValidUTF8(withoutEscapes(s), "\uFFFD"))
	s = CollapseSpace(withoutTricks(s))
	if limit <= 0 || Points(s) <= limit {
		return s
	}
	end, points, state := 0, 0, -1
	for rest := s; rest != ""; {
		var cluster string
		cluster, rest, _, state = uniseg.FirstGraphemeClusterInString(rest, state)
		if points += Points(cluster); points > limit-1 {
			break
		}
		end += len(cluster)
	}
	// A joiner at the cut, which joined what is left out, joins nothing any more.
	return strings.TrimRight(withoutInvisible(s[:end]), " ") + ellipsis
}

// printable maps what may not be printed to -1.
func printable(r rune) rune {
	switch {
	case IsSpace(r):
		return ' '
	case r < 0x20, 0x7F <= r && r <= 0x9F, bidiControl(r):
		return -1
	}
	return r
}

// bidiControl reports whether r changes the direction of the text around it
// (the property Bidi_Control).
func bidiControl(r rune) bool {
	return r == 0x061C || r == 0x200E || r == 0x200F || 0x202A <= r && r <= 0x202E || 0x2066 <= r && r <= 0x2069
}

// withoutEscapes removes ANSI escape sequences (ECMA-48), those that begin with
// one C1 control included. Of a sequence that does not end properly only the
// beginning is removed, so that it cannot hide the text behind it.
func withoutEscapes(s string) string {
	if !strings.ContainsAny(s, "\x1b\u0090\u0098\u009b\u009d\u009e\u009f") {
		return s
	}
	var b strings.Builder
	for s != "" {
		n := escapeLen(s)
		if n == 0 {
			_, n = utf8.DecodeRuneInString(s)
			b.WriteString(s[:n])
		}
		s = s[n:]
	}
	return b.String()
}

// escapeLen returns how many bytes at the beginning of s are an escape sequence.
func escapeLen(s string) int {
	r, n := utf8.DecodeRuneInString(s)
	if r == 0x1B {
		if n == len(s) {
			return n
		}
		if s[n] < 0x40 || s[n] > 0x5F {
			n += spanOf(s[n:], 0x20, 0x2F)
			return n + min(spanOf(s[n:], 0x30, 0x7E), 1)
		}
		r = rune(s[n]) + 0x40 // the C1 control that ESC and this letter stand for
		n++
		if r < 0x80 || r > 0x9F {
			return n
		}
	}
	switch r {
	case 0x9B: // CSI: parameters, intermediate bytes, one final byte
		n += spanOf(s[n:], 0x30, 0x3F)
		n += spanOf(s[n:], 0x20, 0x2F)
		return n + min(spanOf(s[n:], 0x40, 0x7E), 1)
	case 0x90, 0x98, 0x9D, 0x9E, 0x9F: // DCS, SOS, OSC, PM, APC: a string up to its terminator
		return n + stringLen(s[n:])
	}
	if s[0] == 0x1B {
		return n
	}
	return 0
}

// spanOf returns how many leading bytes of s lie between low and high.
func spanOf(s string, low, high byte) int {
	n := 0
	for n < len(s) && low <= s[n] && s[n] <= high {
		n++
	}
	return n
}

// stringLen returns the length of a control string with its terminator; 0 if it
// has none before the line or the next sequence. Stopping there also keeps the
// whole removal linear.
func stringLen(s string) int {
	for i, r := range s {
		switch r {
		case 0x07:
			return i + 1
		case 0x9C:
			return i + 2
		case 0x1B:
			if strings.HasPrefix(s[i+1:], `\`) {
				return i + 2
			}
			return 0
		case '\n', '\r', 0x90, 0x98, 0x9B, 0x9D, 0x9E, 0x9F:
			return 0
		}
	}
	return 0
}
