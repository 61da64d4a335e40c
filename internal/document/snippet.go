package document

import (
	"slices"
	"unicode/utf8"

	"github.com/rivo/uniseg"
)

const ellipsis = "…"

// How many code points before a window are looked at for the border of a
// grapheme cluster: at least lookBehind, then on to a character that surely
// begins one, but not beyond lookLimit.
const (
	lookBehind = 64
	lookLimit  = 4096
)

// Snippet returns a piece of text around a match: at most limit code points,
// white space collapsed, "…" where text is cut. at is the byte offset of the
// match's first character.
//
// The window starts a third of limit before the match, is moved so that the
// match's first character is inside, and is filled up from the left where it
// reaches the end of the text. A grapheme cluster is left out rather than cut,
// unless the match's own does not fit. Limit 1 gives "…", less gives nothing.
func Snippet(text string, at, limit int) string {
	if limit < 1 {
		return ""
	}
	limit = min(limit, len(text)+1) // as good as any greater one, and safe to add to
	v := viewAround(text, min(max(at, 0), len(text)), limit)
	n := len(v.runes)
	if !v.more && n <= limit && !v.less {
		return string(v.runes)
	}
	if limit == 1 {
		return ellipsis
	}
	start := max(0, v.match-limit/3)
	head := func() int { return min(start, 1) }
	tail := 1
	room := limit - head() - tail
	if room <= 0 {
		start, tail = v.match, 0
		room = limit - head()
	}
	if v.match >= start+room {
		start = v.match - room + 1
	}
	if start+room >= n && !v.more {
		tail = 0
		room = limit - head()
		start = max(0, n-room)
	}
	end := min(start+room, n)
	start, end = v.whole(start, end, tail > 0)
	out := string(v.runes[start:end])
	if head() > 0 {
		out = ellipsis + out
	}
	if tail > 0 {
		out += ellipsis
	}
	return out
}

// view is the part of a collapsed text that can matter to a window.
type view struct {
	runes      []rune
	match      int  // index of the match
	less, more bool // there is text before it, behind it
}

// viewAround collapses the text around at, as far as a window may reach.
func viewAround(text string, at, limit int) view {
	at += spaceRun(text[at:])
	var left []rune // backwards
	gap := false    // white space since the last character
	i := at
	for i > 0 {
		r, size := utf8.DecodeLastRuneInString(text[:i])
		if !IsSpace(r) {
			n := len(left) - limit
			if n >= lookLimit || n >= lookBehind && beginsCluster(left[len(left)-1]) {
				break
			}
			if gap {
				left = append(left, ' ')
			}
			left = append(left, r)
		}
		gap = IsSpace(r)
		i -= size
	}
	slices.Reverse(left)
	v := view{runes: left, match: len(left), less: i > 0}
	gap = false
	for _, r := range text[at:] {
		if IsSpace(r) {
			gap = true
			continue
		}
		if len(v.runes) > v.match+limit {
			v.more = true
			break
		}
		if gap {
			v.runes = append(v.runes, ' ')
		}
		gap = false
		v.runes = append(v.runes, r)
	}
	return v
}

// beginsCluster reports whether r begins a grapheme cluster whatever stands
// before it (but for the rare prepended marks).
func beginsCluster(r rune) bool {
	return r < 0x80 || ideograph(r) || 0x3041 <= r && r <= 0x3096 || 0x30A1 <= r && r <= 0x30FC
}

// whole moves the borders of a window to borders of grapheme clusters: inwards,
// or to the left if the match begins inside a cluster. Where that would lose the
// match, the border stays. cut says that text follows the window.
func (v view) whole(start, end int, cut bool) (from, to int) {
	borders := v.borders(end)
	before := func(at int) int { // the last border not behind at
		i, found := slices.BinarySearch(borders, at)
		if !found {
			i--
		}
		return borders[i]
	}
	from = start
	if i, _ := slices.BinarySearch(borders, start); i < len(borders) && borders[i] <= v.match {
		from = borders[i]
	} else if own := before(v.match); cut && end-(start-own) > v.match {
		from, end = own, end-(start-own)
	}
	if to = before(end); to <= v.match {
		to = end
	}
	return from, to
}

// borders gives the borders of grapheme clusters, from 0 to the first one that
// is not before end.
func (v view) borders(end int) []int {
	list := []int{0}
	state := -1
	for at, rest := 0, string(v.runes); rest != "" && at < end; {
		var cluster string
		cluster, rest, _, state = uniseg.FirstGraphemeClusterInString(rest, state)
		at += utf8.RuneCountInString(cluster)
		list = append(list, at)
	}
	return list
}

// Extent returns the bytes of a text that Snippet can show for a match: all that
// it looks at, white space included.
func Extent(text string, at, limit int) (from, to int) {
	at = min(max(at, 0), len(text))
	left := 0
	gap := false
	for from = at; from > 0 && left <= limit; {
		r, size := utf8.DecodeLastRuneInString(text[:from])
		if !IsSpace(r) {
			if left++; gap {
				left++
			}
		}
		gap = IsSpace(r)
		from -= size
	}
	to = at + spaceRun(text[at:])
	right := 0
	gap = false
	for to < len(text) && right <= limit {
		r, size := utf8.DecodeRuneInString(text[to:])
		if !IsSpace(r) {
			if right++; gap {
				right++
			}
		}
		gap = IsSpace(r)
		to += size
	}
	return from, to
}
