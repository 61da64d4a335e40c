package document

import (
	"strings"
	"unicode/utf8"
)

// MultiLine makes s safe to show over several lines: as OneLine does, escape
// sequences, control characters, bidirectional controls and what nobody can see
// are removed and ill-formed bytes are U+FFFD, but line ends of every kind
// become "\n" and other white space stays as it is, tabs included.
func MultiLine(s string) string {
	s = withoutEscapes(strings.ToValidUTF8(s, "\uFFFD"))
	var b strings.Builder
	b.Grow(len(s))
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		i += n
		switch {
		case r == '\r':
			if i < len(s) && s[i] == '\n' {
				continue
			}
			b.WriteByte('\n')
		case r == '\n', r == '\v', r == '\f', r == 0x85, r == 0x2028, r == 0x2029:
			b.WriteByte('\n')
		case r == '\t':
			b.WriteByte('\t')
		case r < 0x20, 0x7F <= r && r <= 0x9F, bidiControl(r):
		default:
			b.WriteRune(r)
		}
	}
	return withoutTricks(b.String())
}
