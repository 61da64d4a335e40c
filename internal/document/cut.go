package document

import "github.com/rivo/uniseg"

// Cut returns the beginning of a text: at most limit code points, whole
// grapheme clusters, and whether anything was left out. A limit below 0 takes
// the whole text.
func Cut(text string, limit int) (head string, cut bool) {
	if limit < 0 || len(text) <= limit {
		return text, false
	}
	end, points, state := 0, 0, -1
	for rest := text; rest != ""; {
		var cluster string
		cluster, rest, _, state = uniseg.FirstGraphemeClusterInString(rest, state)
		if points += Points(cluster); points > limit {
			return text[:end], true
		}
		end += len(cluster)
	}
	return text, false
}
