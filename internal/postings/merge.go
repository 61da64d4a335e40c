package postings

import (
	"bytes"
)

// Input is a segment that is merged.
type Input struct {
	Source Segment
	Keep   []Kept // its documents that live on, ascending; others are left out
	Whole  bool   // all of them do: Keep is one range
}

// Kept is a range of documents and the number that its first one gets. Numbers
// ascend over all inputs.
type Kept struct {
	Range
	Base uint32
}

// Progress is how far a merge has come. The zero value is its beginning.
type Progress struct {
	Token []byte // the last one that is done
	Piece int64  // number of the next piece
	Done  bool
}

// Merge goes on with a merge until about so many bytes are written, and returns
// how far it came and how many bytes it wrote. A list is never divided between
// two calls.
func Merge(inputs []Input, sink Sink, from Progress, budget int) (to Progress, written int, err error) {
	cursors := make([]*cursor, 0, len(inputs))
	for i := range inputs {
		c := &cursor{in: &inputs[i]}
		ok, err := c.seek(from.Token)
		if err != nil {
			return from, 0, err
		}
		if ok {
			cursors = append(cursors, c)
		}
	}
	w := newSegmentWriter(sink, from.Piece)
	to = from
	to.Token = append([]byte(nil), from.Token...)
	for len(cursors) > 0 && w.bytes+len(w.dict) < budget {
		least := cursors[0]
		for _, c := range cursors[1:] {
			if bytes.Compare(c.e.token, least.e.token) < 0 {
				least = c
			}
		}
		to.Token = append(to.Token[:0], least.e.token...)
		left := cursors[:0]
		for _, c := range cursors { // in the order of the inputs, so that numbers ascend
			if !bytes.Equal(c.e.token, to.Token) {
				left = append(left, c)
				continue
			}
			if err := c.copy(&w.list); err != nil {
				return from, 0, err
			}
			more, err := c.next()
			if err != nil {
				return from, 0, err
			}
			if more {
				left = append(left, c)
			}
		}
		clear(cursors[len(left):])
		cursors = left
		if err := w.put(to.Token); err != nil {
			return from, 0, err
		}
	}
	to.Done = len(cursors) == 0
	err = w.flush()
	to.Piece = w.piece
	return to, w.bytes, err
}

// cursor walks the dictionary of an input.
type cursor struct {
	in    *Input
	e     entries
	first []byte // token that the dictionary block begins with
	n     int64  // its number
	buf   []byte
	list  List
}

// seek moves to the first token after one; nil: to the first of all.
func (c *cursor) seek(after []byte) (bool, error) {
	if after == nil {
		return c.follow(nil, -1)
	}
	data, n, err := c.in.Source.Before(after, c.buf)
	if err != nil {
		return false, err
	}
	if data == nil {
		return c.follow(nil, -1)
	}
	c.open(data, n)
	for {
		ok, err := c.step()
		if err != nil || ok && bytes.Compare(c.e.token, after) > 0 {
			return ok, err
		}
		if !ok {
			return c.follow(c.first, c.n)
		}
		c.e.skip()
	}
}

func (c *cursor) open(data []byte, n int64) {
	c.buf, c.n = data, n
	c.e = entries{r: bytesReader{data: data}, token: c.e.token[:0]}
	c.first = c.first[:0]
}

// follow opens the dictionary block behind the one that begins with a token.
func (c *cursor) follow(first []byte, n int64) (bool, error) {
	data, n, err := following(c.in.Source, first, n, c.buf)
	if data == nil || err != nil {
		return false, err
	}
	c.open(data, n)
	ok, err := c.step()
	if !ok && err == nil {
		err = ErrCorrupt // an empty block
	}
	return ok, err
}

// step reads the token of the next entry; false at the end of the block.
func (c *cursor) step() (bool, error) {
	ok := c.e.next()
	if c.e.r.bad {
		return false, ErrCorrupt
	}
	if ok && len(c.first) == 0 {
		c.first = append(c.first, c.e.token...)
	}
	return ok, nil
}

// next moves behind the entry whose list was copied.
func (c *cursor) next() (bool, error) {
	ok, err := c.step()
	if ok || err != nil {
		return ok, err
	}
	return c.follow(c.first, c.n)
}

// copy appends the documents of the present token that live on.
func (c *cursor) copy(w *listWriter) error {
	l := &c.list
	if err := l.entry(c.in.Source, &c.e.r); err != nil {
		return err
	}
	for k := 0; ; {
		ok, err := l.head()
		if !ok || err != nil {
			return err
		}
		pos, err := l.blockPositions()
		if err != nil {
			return err
		}
		if c.in.Whole {
			l.pass()
			b, docs := l.raw, l.payload
			if b.n == 1 {
				docs = appendEntry(nil, 0, l.count[0])
				b.docs = len(docs)
			}
			base := c.in.Keep[0].Base
			b.first, b.last = b.first+base, b.last+base
			w.append(b, docs, pos)
			continue
		}
		if err := l.decode(); err != nil {
			return err
		}
		r := bytesReader{data: pos}
		for i := range l.n {
			from := r.at
			if r.skip(l.count[i]); r.bad {
				return ErrCorrupt
			}
			for k < len(c.in.Keep) && c.in.Keep[k].To <= l.doc[i] {
				k++
			}
			if k == len(c.in.Keep) {
				return nil
			}
			if kept := c.in.Keep[k]; kept.From <= l.doc[i] {
				w.pos = append(w.pos, pos[from:r.at]...)
				w.document(l.doc[i]-kept.From+kept.Base, l.count[i], r.at-from)
			}
		}
	}
}
