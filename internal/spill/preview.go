package spill

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// notice stands between head and tail, on lines of its own.
func notice(left, whole int, path string) string {
	return fmt.Sprintf("\n[%d of %d bytes are left out here. The whole result is in this file:\n%s\nRead the part you need from it; if you cannot open files, call again and ask for less.]\n", left, whole, path)
}

// preview chooses what of a text is shown: two thirds of the room for the head
// and the rest for the tail. It reports false when the notice alone is too long.
func preview(text, path string, maxBytes int) (head, tail string, ok bool) {
	// The number left out is not known yet, but never has more digits than the whole.
	room := maxBytes - len(notice(len(text), len(text), path))
	if room < 0 {
		return "", "", false
	}
	front := room - room/3
	head = text[:cutBack(text, front)]
	tail = text[cutForward(text, len(text)-room/3):]
	return head, tail, true
}

// cutBack returns the last good place to end a head at or before at: behind a
// line if that keeps half of it, else between two characters.
func cutBack(text string, at int) int {
	if i := strings.LastIndexByte(text[:at], '\n') + 1; i > 0 && i >= at/2 {
		return i
	}
	for i := at; i > 0 && at-i < maxCluster; i-- {
		if between(text, i) {
			return i
		}
	}
	return runeBack(text, at)
}

// cutForward returns the first good place to begin a tail at or behind at.
func cutForward(text string, at int) int {
	size := len(text) - at
	if i := strings.IndexByte(text[at:], '\n') + 1; i > 0 && i <= size/2 {
		return at + i
	}
	for i := at; i < len(text) && i-at < maxCluster; i++ {
		if between(text, i) {
			return i
		}
	}
	for at < len(text) && !utf8.RuneStart(text[at]) {
		at++
	}
	return at
}

// maxCluster is how far, in bytes, a cut looks for the edge of a character that
// is made of several code points.
const maxCluster = 128

func runeBack(text string, at int) int {
	for at > 0 && at < len(text) && !utf8.RuneStart(text[at]) {
		at--
	}
	return at
}

// between reports whether a cut at i leaves every character whole. It knows
// marks, joiners, variation selectors, emoji modifiers and flags, which is what
// texts contain; it is no complete segmentation.
func between(text string, i int) bool {
	if i <= 0 || i >= len(text) {
		return true
	}
	if !utf8.RuneStart(text[i]) {
		return false
	}
	after, _ := utf8.DecodeRuneInString(text[i:])
	before, _ := utf8.DecodeLastRuneInString(text[:i])
	switch {
	case before == '\r' && after == '\n', extends(after), before == zwj:
		return false
	case flag(before) && flag(after):
		return pairs(text[:i])
	}
	return true
}

const zwj = '\u200d'

func extends(r rune) bool {
	return unicode.Is(unicode.M, r) || r == zwj || r >= 0x1f3fb && r <= 0x1f3ff
}

func flag(r rune) bool { return r >= 0x1f1e6 && r <= 0x1f1ff }

// pairs reports whether the run of regional indicators that ends text is a
// number of whole flags. A run longer than a cluster is cut anywhere.
func pairs(text string) bool {
	n := 0
	for n < maxCluster {
		r, size := utf8.DecodeLastRuneInString(text)
		if !flag(r) {
			break
		}
		text = text[:len(text)-size]
		n++
	}
	return n%2 == 0
}
