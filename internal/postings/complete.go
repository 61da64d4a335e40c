package postings

import (
	"bytes"
	"slices"
)

// Only returns a dictionary block with the entry of one token alone, nil if the
// segment lacks it: what a lookup needs of the dictionary, to be kept. Before it
// says that a token is lacking it makes sure that the search for its block was
// not led astray by damage.
func Only(seg Segment, token, buf []byte) ([]byte, error) {
	block, n, err := seg.Before(token, buf)
	if err != nil {
		return nil, err
	}
	if block == nil {
		n = -1
	}
	e := entries{r: bytesReader{data: block}}
	for e.next() {
		c := bytes.Compare(e.token, token)
		if c > 0 {
			return nil, nil
		}
		start := e.r.at
		if e.skip(); e.r.bad {
			return nil, ErrCorrupt
		}
		if c == 0 {
			only := appendUint(appendUint(nil, 0), uint32(len(token)))
			return slices.Concat(only, token, block[start:e.r.at]), nil
		}
	}
	if e.r.bad {
		return nil, ErrCorrupt
	}
	// It is behind the whole block, or before all of them; the next must be behind it.
	next, _, err := following(seg, First(block), n, nil)
	if err == nil && next != nil && bytes.Compare(First(next), token) <= 0 {
		err = ErrCorrupt
	}
	return nil, err
}

// completeBlocks is how many dictionary blocks of a segment a completion reads
// at most: some ten thousand tokens.
const completeBlocks = 32

// Complete calls found with the tokens of a segment that begin with a prefix and
// how many documents hold each, dead ones included, in byte order. Of very many
// it stops early. The token is valid until found returns.
func Complete(seg Segment, prefix []byte, found func(token []byte, docs uint32)) error {
	data, n, err := seg.Before(prefix, nil)
	if data == nil && err == nil {
		data, n, err = following(seg, nil, -1, nil)
	}
	var first []byte
	for blocks := 0; data != nil && err == nil && blocks < completeBlocks; blocks++ {
		e := entries{r: bytesReader{data: data}}
		first = first[:0]
		for e.next() {
			if len(first) == 0 {
				first = append(first, e.token...)
			}
			if bytes.HasPrefix(e.token, prefix) {
				head := e.r
				found(e.token, uint32(head.uint()>>formBits)+1)
			} else if bytes.Compare(e.token, prefix) > 0 {
				return nil
			}
			e.skip()
		}
		if e.r.bad || len(first) == 0 {
			return ErrCorrupt
		}
		data, n, err = following(seg, first, n, nil)
	}
	return err
}
