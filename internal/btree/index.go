package btree

// Tables without row numbers are kept as indexes are: every page holds entries,
// inner ones also a child before each entry and one behind all. An entry is a
// whole row, its primary key first.

// indexMost is how much of an entry can stand in a page.
func (f *File) indexMost() int { return (f.Usable-12)*64/255 - 23 }

// Last returns the last entry that reached does not hold for, nil if there is
// none. reached holds for every entry behind one that it holds for.
func (f *File) Last(root uint32, reached func(*Record) bool) (found *Record, err error) {
	f.begin()
	for n := root; ; {
		p, at, err := f.descend(n, reached)
		if err != nil {
			return nil, err
		}
		if at > 0 {
			r, err := f.entry(p, at-1)
			if err != nil {
				return nil, err
			}
			found = &Record{}
			*found = *r
			f.record = Record{} // the found one keeps the fields
		}
		if p.kind == leafIndex {
			return found, nil
		}
		if n, err = f.child(p, at); err != nil {
			return nil, err
		}
	}
}

// From visits the entries that reached holds for, in order, until visit returns
// false.
func (f *File) From(root uint32, reached, visit func(*Record) bool) error {
	f.begin()
	_, err := f.scan(root, reached, visit)
	return err
}

func (f *File) scan(n uint32, reached, visit func(*Record) bool) (more bool, err error) {
	p, at, err := f.descend(n, reached)
	if err != nil {
		return false, err
	}
	for i := at; ; i++ {
		if p.kind == innerIndex {
			child, err := f.child(p, i)
			if err != nil {
				return false, err
			}
			if more, err := f.scan(child, reached, visit); !more || err != nil {
				return false, err
			}
		}
		if i == p.cells {
			return true, nil
		}
		r, err := f.entry(p, i)
		if err != nil || !visit(r) {
			return false, err
		}
	}
}

// descend returns a page and its first entry that reached holds for.
func (f *File) descend(n uint32, reached func(*Record) bool) (p page, at int, err error) {
	if p, err = f.page(n); err != nil {
		return p, 0, err
	}
	if p.kind != innerIndex && p.kind != leafIndex {
		return p, 0, ErrFormat
	}
	at, err = f.search(p, func(c []byte) (bool, error) {
		r, err := f.entryOf(p, c)
		return err == nil && reached(r), err
	})
	return p, at, err
}

func (f *File) entry(p page, i int) (*Record, error) {
	c, err := f.cell(p, i)
	if err != nil {
		return nil, err
	}
	return f.entryOf(p, c)
}

func (f *File) entryOf(p page, cell []byte) (*Record, error) {
	if p.kind == innerIndex {
		if len(cell) < 4 {
			return nil, ErrFormat
		}
		cell = cell[4:]
	}
	size, n := uvarint(cell)
	if n == 0 {
		return nil, ErrFormat
	}
	payload, err := f.payload(cell[n:], size, f.indexMost())
	if err != nil {
		return nil, err
	}
	return &f.record, f.record.parse(payload)
}
