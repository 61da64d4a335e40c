package postings

import "bytes"

// completeBlocks is how many dictionary blocks of a segment a completion reads
// at most: some ten thousand tokens.
const completeBlocks = 32

// Complete calls found with the tokens of a segment that begin with a prefix and
// how many documents hold each, dead ones included, in byte order. Of very many
// it stops early. The token is valid until found returns.
func Complete(src Source, prefix []byte, found func(token []byte, docs uint32)) error {
	data, err := src.Find(prefix, nil)
	if data == nil && err == nil {
		data, err = src.Follow(nil, nil)
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
		data, err = src.Follow(first, nil)
	}
	return err
}
