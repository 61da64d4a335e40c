package postings

// following returns the dictionary block behind one, by the token that it begins
// with and its number (nil and -1: the first of all); nil behind the last. It
// fails with ErrCorrupt if there must be another in between.
//
// A list gets its pieces before its entry gets a place. So the numbers between two
// blocks are pieces that the second names, and at their end those of the list that
// it had no room for, which begins the third.
func following(seg Segment, first []byte, n int64, buf []byte) (data []byte, number int64, err error) {
	data, number, err = seg.After(first, buf)
	if err != nil {
		return nil, 0, err
	}
	if data == nil {
		end, err := seg.End()
		if err == nil && end != n+1 {
			err = ErrCorrupt
		}
		return nil, 0, err
	}
	own, ok := piecesOf(data, n)
	if !ok {
		return nil, 0, ErrCorrupt
	}
	if rest := number - n - 1 - own; rest != 0 {
		third, _, err := seg.After(First(data), nil)
		if err != nil {
			return nil, 0, err
		}
		e := entries{r: bytesReader{data: third}}
		if !e.next() {
			return nil, 0, ErrCorrupt
		}
		if from, count := e.pieces(); from != number-rest || count != rest {
			return nil, 0, ErrCorrupt
		}
	}
	return data, number, nil
}

// piecesOf counts the pieces with larger numbers than n that a dictionary block
// names; false if it is no block.
func piecesOf(block []byte, n int64) (count int64, ok bool) {
	e := entries{r: bytesReader{data: block}}
	for e.next() {
		if from, some := e.pieces(); from > n {
			count += some
		}
		e.skip()
	}
	return count, !e.r.bad
}

// pieces returns the numbers of the pieces of an entry whose list is not read yet:
// the first, and how many.
func (e *entries) pieces() (from, count int64) {
	r := e.r
	if r.uint()&(1<<formBits-1) != formPieces {
		return 0, 0
	}
	from = int64(r.uint())
	return from, 2 * int64(r.size(len(r.data)))
}
