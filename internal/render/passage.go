package render

import (
	"slices"
	"strings"

	"github.com/yorehq/yore/internal/document"
)

// Mark is a byte range of a text.
type Mark struct{ Start, End int }

// Marks returns what of a text answers a query, ascending and disjoint: where
// the query's words stand adjacent and in order; where they do so nowhere, each
// of its words. A query without any word marks nothing.
func Marks(text, query string) []Mark {
	phrase := document.Terms(query)
	var marks []Mark
	for _, s := range document.Spans(text, phrase) {
		marks = append(marks, Mark{s.Start, s.End})
	}
	if marks != nil || len(phrase) < 2 {
		return marks
	}
	for t := range document.Tokens(text) {
		if slices.Contains(phrase, t.Text) {
			marks = append(marks, Mark{t.Start, t.End})
		}
	}
	return marks
}

// Paragraphs makes untrusted text safe to show on lines of its own: every line of it is
// made a safe line that keeps its white space at the start, with a tab as four
// spaces; empty lines are left out. Whatever a screen or a
// model may take for the end of a line ends one.
func Paragraphs(text string) []string {
	var lines []string
	for l := range strings.FieldsFuncSeq(text, endsLine) {
		// White space at the start of a line is often meaning (code, lists).
		body := strings.TrimLeft(l, " \t")
		lines = append(lines, strings.ReplaceAll(l[:len(l)-len(body)], "\t", "    ")+line(body))
	}
	return lines
}

func endsLine(r rune) bool {
	return r == '\n' || r == '\r' || r == '\v' || r == '\f' || r == 0x85 || r == 0x2028 || r == 0x2029
}
