package document

import "iter"

// Span is a byte range in a text as written.
type Span struct{ Start, End int }

// Spans returns where the tokens of phrase stand adjacent and in order in text,
// ascending. Matches that share a token are one span: "a a" has one span in
// "a a a". The phrase is folded tokens, as Terms returns them; an empty one
// matches nowhere.
func Spans(text string, phrase []string) []Span {
	var spans []Span
	for s := range spansOf(text, phrase) {
		spans = append(spans, s)
	}
	return spans
}

// First returns where the first of those spans begins; ok is false if there is
// none. It looks no further than the second.
func First(text string, phrase []string) (start int, ok bool) {
	for s := range spansOf(text, phrase) {
		return s.Start, true
	}
	return 0, false
}

// CountSpans returns the number of spans that Spans would return.
func CountSpans(text string, phrase []string) int {
	n := 0
	for range spansOf(text, phrase) {
		n++
	}
	return n
}

// borders gives, for each prefix of phrase, the length of the longest proper
// prefix of it that is also its suffix (the failure function of Knuth, Morris
// and Pratt).
func borders(phrase []string) []int {
	b := make([]int, len(phrase))
	for i, k := 1, 0; i < len(phrase); i++ {
		for k > 0 && phrase[i] != phrase[k] {
			k = b[k-1]
		}
		if phrase[i] == phrase[k] {
			k++
		}
		b[i] = k
	}
	return b
}

// spansOf walks the tokens once, whatever the phrase repeats.
func spansOf(text string, phrase []string) iter.Seq[Span] {
	return func(yield func(Span) bool) {
		if len(phrase) == 0 {
			return
		}
		back := borders(phrase)
		starts := make([]int, len(phrase)) // of the latest tokens, as a ring
		var space [4 * maxPoints]byte
		open, some := Span{}, false
		for at, nth, k := 0, 0, 0; ; nth++ {
			folded, start, end := next(space[:0], text, at)
			if start == end {
				break
			}
			at = end
			starts[nth%len(phrase)] = start
			for k > 0 && string(folded) != phrase[k] {
				k = back[k-1]
			}
			if string(folded) == phrase[k] {
				k++
			}
			if k < len(phrase) {
				continue
			}
			k = back[k-1]
			found := Span{starts[(nth+1)%len(phrase)], end}
			if some && found.Start < open.End {
				open.End = found.End
				continue
			}
			if some && !yield(open) {
				return
			}
			open, some = found, true
		}
		if some {
			yield(open)
		}
	}
}
