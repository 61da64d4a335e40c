package document

import (
	"math"
	"strings"
	"unicode/utf8"

	"github.com/yorehq/yore/fault"
)

// IsSpace reports whether r is white space or a line terminator as ECMAScript
// (ECMA-262, sections 12.2 and 12.3) has it: U+FEFF is, U+0085 and U+200B are not.
func IsSpace(r rune) bool {
	switch {
	case r == ' ' || '\t' <= r && r <= '\r':
		return true
	case r < 0xA0:
		return false
	case 0x2000 <= r && r <= 0x200A:
		return true
	}
	switch r {
	case 0xA0, 0x1680, 0x2028, 0x2029, 0x202F, 0x205F, 0x3000, 0xFEFF:
		return true
	}
	return false
}

// CollapseSpace makes every run of white space one space and leaves none at
// either end. Ill-formed bytes stay as they are.
func CollapseSpace(s string) string {
	s = strings.TrimFunc(s, IsSpace)
	var b strings.Builder
	kept := 0 // s[:kept] is in b
	for i := 0; i < len(s); {
		n := spaceRun(s[i:])
		if n == 0 {
			_, size := utf8.DecodeRuneInString(s[i:])
			i += size
			continue
		}
		if n > 1 || s[i] != ' ' {
			b.WriteString(s[kept:i])
			b.WriteByte(' ')
			kept = i + n
		}
		i += n
	}
	if kept == 0 {
		return s
	}
	b.WriteString(s[kept:])
	return b.String()
}

// spaceRun returns how many bytes of white space s begins with.
func spaceRun(s string) int {
	for i, r := range s {
		if !IsSpace(r) {
			return i
		}
	}
	return len(s)
}

// MaxQuery is how many bytes of text can be looked for.
const MaxQuery = 64 << 10

// NormalizeQuery returns the query as it is looked for: white space collapsed,
// U+FDD0, U+FDD1 and ill-formed bytes replaced by U+FFFD. A query that is empty,
// holds NUL or is longer than MaxQuery is fault.InvalidQuery. A query need not have any token.
func NormalizeQuery(q string) (string, error) {
	if len(q) > MaxQuery {
		return "", fault.New(fault.InvalidQuery, "the text to look for is %d bytes long: want at most %d (64 KiB)", len(q), MaxQuery)
	}
	if strings.IndexByte(q, 0) >= 0 {
		return "", fault.New(fault.InvalidQuery, "query must not contain a NUL character")
	}
	q = CollapseSpace(q)
	if q == "" {
		return "", fault.New(fault.InvalidQuery, "query must not be empty")
	}
	q, _ = clean(q, math.MaxInt)
	return q, nil
}

// Points returns the length of text in code points; an ill-formed byte is one.
func Points(text string) int { return utf8.RuneCountInString(text) }
