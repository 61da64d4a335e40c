package postings

import "bytes"

// Survey is what a whole segment holds.
type Survey struct {
	Lengths []uint32 // occurrences of all tokens in each document: its length
	Pieces  int64    // pieces and dictionary blocks
}

// Inspect reads a segment of so many documents whole, every list and every
// position, and fails with ErrCorrupt where it is not what a Builder or a merge
// writes: no block is missing, tokens ascend, documents and positions do within a list, and a list has
// as many documents as the dictionary says.
func Inspect(seg Segment, docs uint32) (Survey, error) {
	s := Survey{Lengths: make([]uint32, docs)}
	var last, first, buf []byte
	var l List
	for n := int64(-1); ; {
		data, number, err := following(seg, first, n, buf)
		if err != nil || data == nil {
			return s, err
		}
		n = number
		first = append(first[:0], First(data)...)
		s.Pieces++
		e := entries{r: bytesReader{data: data}}
		for e.next() {
			if bytes.Compare(e.token, last) <= 0 {
				return s, ErrCorrupt
			}
			last = append(last[:0], e.token...)
			if err := l.entry(seg, &e.r); err != nil {
				return s, err
			}
			s.Pieces += 2 * int64(len(l.pieces))
			if err := s.list(&l); err != nil {
				return s, err
			}
		}
		if e.r.bad || len(first) == 0 {
			return s, ErrCorrupt
		}
		buf = data
	}
}

// list adds a list up.
func (s *Survey) list(l *List) error {
	seen, before := uint32(0), int64(-1)
	var places []uint32
	for {
		ok, err := l.Next()
		if err != nil {
			return err
		}
		if !ok {
			break
		}
		for l.i = 0; l.i < l.n; l.i++ {
			doc := l.doc[l.i]
			if int64(doc) <= before || int(doc) >= len(s.Lengths) {
				return ErrCorrupt
			}
			before = int64(doc)
			seen++
			if places, err = l.Positions(places[:0]); err != nil {
				return err
			}
			for i := 1; i < len(places); i++ {
				if places[i] <= places[i-1] {
					return ErrCorrupt
				}
			}
			s.Lengths[doc] += l.count[l.i]
		}
		l.i = 0
	}
	if seen != l.Docs {
		return ErrCorrupt
	}
	return nil
}
