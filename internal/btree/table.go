package btree

import "sort"

// Tables with row numbers: leaves hold rows, inner pages the largest number of
// each child but the last. A number on an inner page need not be a row's any more.

// tableMost is how much of a row can stand in a leaf.
func (f *File) tableMost() int { return f.Usable - 35 }

// Floor returns the last row whose number is not above key, nil if there is none.
func (f *File) Floor(root uint32, key int64) (*Record, error) {
	f.begin()
	return f.floor(root, key)
}

func (f *File) floor(n uint32, key int64) (*Record, error) {
	p, err := f.page(n)
	if err != nil {
		return nil, err
	}
	// The first cell that is not below key.
	at, err := f.search(p, func(c []byte) (bool, error) {
		number, err := f.number(p, c)
		return number >= key, err
	})
	if err != nil {
		return nil, err
	}
	switch p.kind {
	case leafTable:
		for i := min(at, p.cells-1); i >= 0; i-- {
			r, err := f.row(p, i)
			if err != nil || r.RowID <= key {
				return r, err
			}
		}
		return nil, nil
	case innerTable:
		// All rows of the child that key leads to may lie above it.
		for i := at; i >= 0; i-- {
			child, err := f.child(p, i)
			if err != nil {
				return nil, err
			}
			if r, err := f.floor(child, key); r != nil || err != nil {
				return r, err
			}
		}
		return nil, nil
	}
	return nil, ErrFormat
}

// Rows visits all rows in the order of their numbers. A record is valid during
// the call that visits it; its fields are until the next Open.
func (f *File) Rows(root uint32, visit func(*Record) error) error {
	f.begin()
	return f.rows(root, visit)
}

func (f *File) rows(n uint32, visit func(*Record) error) error {
	p, err := f.page(n)
	if err != nil {
		return err
	}
	switch p.kind {
	case leafTable:
		for i := range p.cells {
			r, err := f.row(p, i)
			if err == nil {
				err = visit(r)
			}
			if err != nil {
				return err
			}
		}
		return nil
	case innerTable:
		for i := range p.cells + 1 {
			child, err := f.child(p, i)
			if err == nil {
				err = f.rows(child, visit)
			}
			if err != nil {
				return err
			}
		}
		return nil
	}
	return ErrFormat
}

// number returns the row number in a cell.
func (f *File) number(p page, cell []byte) (int64, error) {
	skip := 4 // the child
	if p.kind == leafTable {
		if _, skip = uvarint(cell); skip == 0 {
			return 0, ErrFormat
		}
	}
	if len(cell) < skip {
		return 0, ErrFormat
	}
	v, n := uvarint(cell[skip:])
	if n == 0 {
		return 0, ErrFormat
	}
	return int64(v), nil
}

// row reads the i-th row of a leaf.
func (f *File) row(p page, i int) (*Record, error) {
	c, err := f.cell(p, i)
	if err != nil {
		return nil, err
	}
	size, n := uvarint(c)
	number, m := uvarint(c[n:])
	if n == 0 || m == 0 {
		return nil, ErrFormat
	}
	payload, err := f.payload(c[n+m:], size, f.tableMost())
	if err != nil {
		return nil, err
	}
	f.record.RowID = int64(number)
	return &f.record, f.record.parse(payload)
}

// search returns the first cell that reached holds for; all later ones do too.
func (f *File) search(p page, reached func(cell []byte) (bool, error)) (at int, err error) {
	at = sort.Search(p.cells, func(i int) bool {
		if err != nil {
			return true
		}
		var c []byte
		var is bool
		if c, err = f.cell(p, i); err == nil {
			is, err = reached(c)
		}
		return is
	})
	return at, err
}
