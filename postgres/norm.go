package postgres

import (
	"strings"

	"github.com/yorehq/yore/internal/document"
)

// The tokens of a text stand in one column, each in angle brackets:
//
//	Find the bug  →  <find><the><bug>
//
// A token holds no bracket, so the bytes of a phrase in this form are found just
// where its tokens stand adjacent and in order, in any engine that can look for a
// text in a text.

// normOf returns the column of a text, and how many tokens it has. buf is room to
// work in.
func normOf(text string, buf []byte) (norm string, tokens int) {
	var b strings.Builder
	b.Grow(len(text) + len(text)/2)
	tokens = document.EachFolded(text, buf, func(token []byte) {
		b.WriteByte('<')
		b.Write(token)
		b.WriteByte('>')
	})
	return b.String(), tokens
}

// sought is a phrase as it is looked for.
type sought struct {
	norm     string
	words    []string // as the index has them
	bordered bool     // two matches may share a token
}

// seek prepares a phrase; ok is false if no text can hold it, because one of its
// members is no token of ours.
func seek(phrase []string) (s sought, ok bool) {
	var b strings.Builder
	for _, token := range phrase {
		if own := document.Terms(token); len(own) != 1 || own[0] != token {
			return s, false
		}
		b.WriteString("<" + token + ">")
		s.words = append(s.words, "<"+token)
	}
	s.norm = b.String()
	s.bordered = bordered(phrase)
	return s, len(phrase) > 0
}

// bordered reports whether a beginning of the phrase is also an end of it, so that
// matches can share tokens. Where none is, matches lie apart, and counting what a
// replacement of all takes away counts the spans.
func bordered(phrase []string) bool {
	for n := 1; n < len(phrase); n++ {
		same := true
		for i := range n {
			if phrase[i] != phrase[len(phrase)-n+i] {
				same = false
				break
			}
		}
		if same {
			return true
		}
	}
	return false
}

// spans counts the spans of a phrase in a column of tokens: matches that share a
// token are one.
func spans(norm, phrase string) (count int32) {
	end := 0 // of the span at hand
	for from := 0; ; {
		at := strings.Index(norm[from:], phrase)
		if at < 0 {
			return count
		}
		at += from
		if at >= end {
			count++
		}
		end = at + len(phrase)
		from = at + 1
	}
}
