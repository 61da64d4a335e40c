package mask

import "strings"

// What is looked at beside the piece of a text that may be shown: enough for the
// name that a value is assigned to, and then to the ends of what is cut.
const (
	margin  = 256
	maxRun  = 4 << 10
	keyRun  = 40       // characters of base64 in a row that may be a key's line
	farther = 64 << 10 // on both sides, where there is a credential
)

// Around masks the part of a text that may be shown, from one byte to another,
// and whatever reaches into it: a credential is found whole before anything is
// cut. cut says that the text goes on behind its end. It returns a text with the
// same things on both sides of at, where at is now, and what was masked within
// reach. Where there is nothing to mask, that is the text itself.
func (m *Masker) Around(text string, from, to, at int, cut bool) (masked string, moved int, found []Finding) {
	if m == nil || len(m.within(text, from, to, cut)) == 0 {
		return text, at, nil
	}
	// A mark is shorter than a long key, so that more of the text may fit; a
	// character has four bytes at most.
	for reach := farther; ; reach *= 2 {
		lo, hi := max(0, from-reach), min(len(text), to+reach)
		found = m.within(text, lo, hi, cut)
		before, behind := at-lo, hi-at
		for _, f := range found {
			if less := f.End - f.Start - len(f.mark()); f.Start < at {
				before -= less
			} else {
				behind -= less
			}
		}
		if (lo == 0 || before >= 4*(at-from)) && (hi == len(text) || behind >= 4*(to-at)) {
			break
		}
	}
	var b strings.Builder
	last, moved := 0, at
	for _, f := range found {
		b.WriteString(text[last:f.Start])
		if last = f.End; at >= f.Start {
			if moved = b.Len(); at >= f.End {
				moved += len(f.mark()) + at - f.End
			}
		}
		b.WriteString(f.mark())
	}
	b.WriteString(text[last:])
	return b.String(), moved, found
}

// Shown returns how many of the findings' marks a piece of the text that Around
// returned shows, in part at least.
func Shown(pieceOf string, found []Finding) int {
	if len(found) == 0 {
		return 0
	}
	begun := 0
	kinds := map[string]bool{}
	for _, f := range found {
		if !kinds[f.Kind] {
			kinds[f.Kind] = true
			begun += strings.Count(pieceOf, "["+f.Kind+", ")
		}
	}
	return min(len(found), max(begun, strings.Count(pieceOf, ", masked]")))
}

// within finds what stands between two bytes, or reaches into that.
func (m *Masker) within(text string, from, to int, cut bool) []Finding {
	lo, hi := max(0, from-margin), min(len(text), to+margin)
	for n := 0; n < maxRun && lo > 0 && text[lo-1] > ' '; n++ {
		lo--
	}
	for n := 0; n < maxRun && hi < len(text) && text[hi] > ' '; n++ {
		hi++
	}
	if longestRun(text[lo:hi]) >= keyRun {
		// It may be the middle of a key, which is one for its first or its last line.
		far := max(0, lo-maxKey)
		if i := strings.LastIndex(text[far:lo], "-----BEGIN"); i >= 0 {
			lo = far + i
		}
		far = min(len(text), hi+maxKey)
		if i := strings.Index(text[hi:far], "-----END"); i >= 0 {
			hi = min(len(text), hi+i+100)
		}
	}
	var all []Finding
	for _, f := range m.Find(text[lo:hi], cut && hi == len(text)) {
		f.Start, f.End = f.Start+lo, f.End+lo
		if f.End > from && f.Start < to {
			all = append(all, f)
		}
	}
	return all
}
