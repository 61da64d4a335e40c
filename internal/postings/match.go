package postings

import "slices"

// Range is the documents from From to before To.
type Range struct{ From, To uint32 }

// Matcher finds phrases. It keeps its memory from one segment to the next; it is
// for one goroutine.
type Matcher struct {
	// Least is how many spans a document must hold to be of interest; found may
	// raise it. Where it is cheap to tell that there are fewer, a document is left out.
	Least uint32

	lists  []*List
	phrase []int // for each token of the phrase, its list
	drive  []int // lists by length
	docs   [blockDocs]uint32
	counts [blockDocs]uint32
	places [][]uint32 // positions of each list in the present document
	starts []uint32
}

// Match calls found with the documents of a segment that hold the tokens
// adjacent and in order, ascending, and how many spans of them: overlapping
// occurrences are one. within are ascending ranges without overlap; nil:
// everywhere. The slices are the matcher's, until found returns.
func (m *Matcher) Match(src Source, phrase [][]byte, within []Range, found func(docs, counts []uint32) error) error {
	ok, err := m.open(src, phrase)
	if !ok || err != nil {
		return err
	}
	if within == nil {
		within = []Range{{0, ^uint32(0)}}
	}
	if len(phrase) == 1 {
		return m.single(within, found)
	}
	for _, r := range within {
		if ok, err := m.all(r, found); !ok || err != nil {
			return err
		}
	}
	return nil
}

// open looks the tokens up; false if the segment lacks one.
func (m *Matcher) open(src Source, phrase [][]byte) (bool, error) {
	m.phrase, m.drive = m.phrase[:0], m.drive[:0]
	for i, token := range phrase {
		if first := slices.IndexFunc(phrase, func(t []byte) bool { return string(t) == string(token) }); first < i {
			m.phrase = append(m.phrase, m.phrase[first])
			continue
		}
		n := len(m.drive)
		if n == len(m.lists) {
			m.lists, m.places = append(m.lists, &List{}), append(m.places, nil)
		}
		if ok, err := m.lists[n].Find(src, token); !ok || err != nil {
			return false, err
		}
		m.phrase, m.drive = append(m.phrase, n), append(m.drive, n)
	}
	slices.SortFunc(m.drive, func(a, b int) int { return int(m.lists[a].Docs) - int(m.lists[b].Docs) })
	return len(phrase) > 0, nil
}

// single answers a query of one token from whole blocks.
func (m *Matcher) single(within []Range, found func(docs, counts []uint32) error) error {
	l := m.lists[0]
	for _, r := range within {
		_, ok, err := l.Seek(r.From)
		for ; ok && err == nil; ok, err = l.Next() {
			docs, counts := l.Block()
			if docs[len(docs)-1] < r.To {
				if err := found(docs, counts); err != nil {
					return err
				}
				continue
			}
			n, _ := slices.BinarySearch(docs, r.To)
			if n > 0 {
				if err := found(docs[:n], counts[:n]); err != nil {
					return err
				}
			}
			break
		}
		if !ok || err != nil {
			return err
		}
	}
	return nil
}

// all finds the phrase in a range; false if a list ended.
func (m *Matcher) all(r Range, found func(docs, counts []uint32) error) (more bool, err error) {
	n := 0
	target, more := r.From, true
next:
	for more && target < r.To {
		doc, ok, err := m.lists[m.drive[0]].Seek(target)
		if !ok || err != nil {
			more = false
			if err != nil {
				return false, err
			}
			break
		}
		for _, i := range m.drive[1:] {
			other, ok, err := m.lists[i].Seek(doc)
			if err != nil {
				return false, err
			}
			if !ok {
				more = false
				break next
			}
			if other > doc {
				target = other
				continue next
			}
		}
		if doc >= r.To {
			break
		}
		target = doc + 1
		if m.fewer() {
			continue
		}
		count, err := m.spans()
		if err != nil {
			return false, err
		}
		if count > 0 {
			m.docs[n], m.counts[n] = doc, count
			if n++; n == blockDocs {
				if err := found(m.docs[:n], m.counts[:n]); err != nil {
					return false, err
				}
				n = 0
			}
		}
	}
	if n > 0 {
		return more, found(m.docs[:n], m.counts[:n])
	}
	return more, nil
}

// fewer reports whether a token occurs too seldom in the document that all lists
// are at for the phrase to be of interest.
func (m *Matcher) fewer() bool {
	for _, i := range m.drive {
		if l := m.lists[i]; l.count[l.i] < m.Least {
			return true
		}
	}
	return false
}

// spans counts the phrase in the document that all lists are at: where it can
// begin is told by the token with the fewest occurrences, and each other token
// strikes beginnings out.
func (m *Matcher) spans() (count uint32, err error) {
	fewest := 0
	for i := range m.phrase {
		l, f := m.lists[m.phrase[i]], m.lists[m.phrase[fewest]]
		if l.count[l.i] < f.count[f.i] {
			fewest = i
		}
	}
	for i := range m.drive {
		m.places[i] = m.places[i][:0]
	}
	places := func(k int) ([]uint32, error) {
		i := m.phrase[k]
		if len(m.places[i]) == 0 {
			var err error
			if m.places[i], err = m.lists[i].Positions(m.places[i]); err != nil {
				return nil, err
			}
		}
		return m.places[i], nil
	}
	at, err := places(fewest)
	if err != nil {
		return 0, err
	}
	m.starts = m.starts[:0]
	for _, p := range at {
		if p >= uint32(fewest) {
			m.starts = append(m.starts, p-uint32(fewest))
		}
	}
	for k := range m.phrase {
		if k == fewest || len(m.starts) == 0 {
			continue
		}
		if at, err = places(k); err != nil {
			return 0, err
		}
		m.starts = shifted(m.starts, at, uint32(k))
	}
	end := uint32(0) // behind the last token of the span so far
	for _, s := range m.starts {
		if s >= end {
			count++
		}
		end = s + uint32(len(m.phrase))
	}
	return count, nil
}

// shifted keeps the starts that, k further on, are among the places.
func shifted(starts, places []uint32, k uint32) []uint32 {
	kept, j := starts[:0], 0
	for _, s := range starts {
		for j < len(places) && places[j] < s+k {
			j++
		}
		if j == len(places) {
			break
		}
		if places[j] == s+k {
			kept = append(kept, s)
		}
	}
	return kept
}
