package linelog

import (
	"strings"

	"github.com/yorehq/yore/reader/jsonl"
)

// maxTitle is how long a title may be, in code points.
const maxTitle = 80

// Headline makes a title of a text: its beginning, on one line; "" if it says
// nothing.
func Headline(text string) string {
	// Far more than is needed, so that a huge prompt is not split as a whole.
	text = text[:min(len(text), 1<<14)]
	line := []rune(strings.Join(strings.Fields(strings.ToValidUTF8(text, "\uFFFD")), " "))
	return strings.TrimRight(string(line[:min(len(line), maxTitle)]), " ")
}

// maxWord is how long a word of a type may be, in bytes.
const maxWord = 64

// Word makes a name of a log's own fit for an event's type.
func Word(name string) string {
	if name == "" {
		return "unknown"
	}
	name = strings.Map(func(r rune) rune {
		if r == '-' || r == '_' || r == '.' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' {
			return r
		}
		return '_'
	}, name)
	return name[:min(len(name), maxWord)]
}

// Key is an identity as decoders keep it: a hash of a JSON string, 0 if v is none
// or empty.
func Key(v []byte) uint64 {
	if !jsonl.Filled(v) {
		return 0
	}
	inner := v[1 : len(v)-1]
	if !jsonl.Verbatim(inner) {
		inner = []byte(jsonl.Text(v))
	}
	return max(jsonl.Hash(0, inner), 1)
}
