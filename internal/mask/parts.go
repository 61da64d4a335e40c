package mask

import (
	"encoding/json"
	"regexp"
	"strings"
	"sync"
)

// Parts is Text for texts that a reader sees one behind the other, as the blocks of
// a message: a credential that begins in one and ends in another is masked in both.
// Without any the same slice is returned.
func (m *Masker) Parts(parts []string) (masked []string, n int) {
	if m == nil {
		return parts, 0
	}
	over := m.across(parts)
	for i, part := range parts {
		found := m.Find(part, false)
		if over != nil {
			found = united(append(found, over[i]...))
		}
		if len(found) == 0 {
			continue
		}
		if masked == nil {
			masked = append([]string{}, parts...)
		}
		masked[i], _ = replace(part, found)
		n += len(found)
	}
	if masked == nil {
		return parts, 0
	}
	return masked, n
}

// across finds what lies over a border between parts, of each part its piece; nil:
// nothing does. Only kinds with a form of their own count: two blocks that stand
// side by side are no sentence.
func (m *Masker) across(parts []string) [][]Finding {
	if m == nil || len(parts) < 2 {
		return nil
	}
	var all [][]Finding
	first, at := 0, 0 // the part that the latest finding begins in, and where that begins
	for _, f := range m.Find(strings.Join(parts, ""), false) {
		if vague(f.Kind) {
			continue
		}
		for at+len(parts[first]) <= f.Start {
			at += len(parts[first])
			first++
		}
		if f.End <= at+len(parts[first]) {
			continue // all of it is here
		}
		if all == nil {
			all = make([][]Finding, len(parts))
		}
		for i, start := first, at; start < f.End; i++ {
			from, to := max(f.Start-start, 0), min(f.End-start, len(parts[i]))
			if from < to {
				all[i] = append(all[i], Finding{f.Kind, from, to, points(parts[i][from:to])})
			}
			start += len(parts[i])
		}
	}
	return all
}

// seam is what stands in JSON between the texts of two blocks of one list.
var seam = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`"\s*\}\s*,\s*\{\s*(?:"type"\s*:\s*"[a-z_]*text"\s*,\s*)?"text"\s*:\s*"`)
})

// seamed finds in a record what lies over seams.
func (m *Masker) seamed(raw []byte) (all []Finding) {
	seams := seam().FindAllIndex(raw, -1)
	if len(seams) == 0 || !json.Valid(raw) {
		return nil
	}
	var parts []string
	var starts []int
	at := 0
	for _, s := range append(seams, []int{len(raw), len(raw)}) {
		parts, starts = append(parts, string(raw[at:s[0]])), append(starts, at)
		at = s[1]
	}
	for i, found := range m.across(parts) {
		for _, f := range found {
			f.Start, f.End = f.Start+starts[i], f.End+starts[i]
			all = append(all, f)
		}
	}
	return all
}
