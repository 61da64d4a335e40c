package btree

// Record is one row: its number, if its table has numbers, and its fields in the
// order in which the table declares them. The field that is the row's number is
// null.
type Record struct {
	RowID  int64
	fields []field
}

type field struct {
	kind uint64 // SQLite's serial type
	data []byte
}

// The serial types that are no integers: real numbers, which nobody here keeps,
// and from firstBlob on blobs (even) and texts (odd).
const (
	kindNull  = 0
	kindReal  = 7
	kindZero  = 8
	kindOne   = 9
	firstBlob = 12
)

// parse splits a payload. The fields are slices of it.
func (r *Record) parse(payload []byte) error {
	r.fields = r.fields[:0]
	size, n := uvarint(payload)
	if n == 0 || size < uint64(n) || size > uint64(len(payload)) {
		return ErrFormat
	}
	kinds, body := payload[n:size], payload[size:]
	for len(kinds) > 0 {
		kind, n := uvarint(kinds)
		if n == 0 {
			return ErrFormat
		}
		kinds = kinds[n:]
		var width uint64
		switch {
		case kind >= firstBlob:
			width = (kind - firstBlob) / 2
		case kind <= 4:
			width = kind
		case kind == 5:
			width = 6
		case kind == 6:
			width = 8
		case kind == kindZero, kind == kindOne:
		default:
			return ErrFormat
		}
		if width > uint64(len(body)) {
			return ErrFormat
		}
		r.fields = append(r.fields, field{kind, body[:width:width]})
		body = body[width:]
	}
	return nil
}

// Len returns how many fields the record has.
func (r *Record) Len() int { return len(r.fields) }

// Null reports whether a field holds nothing.
func (r *Record) Null(i int) bool { return r.fields[i].kind == kindNull }

// Int returns an integer; 0 for whatever is none.
func (r *Record) Int(i int) int64 {
	f := r.fields[i]
	switch {
	case f.kind == kindOne:
		return 1
	case f.kind == kindNull || f.kind >= kindReal:
		return 0
	}
	v := int64(int8(f.data[0]))
	for _, b := range f.data[1:] {
		v = v<<8 | int64(b)
	}
	return v
}

// Bytes returns a text or blob, nil for whatever is none. It is valid as long as
// its File is not opened again.
func (r *Record) Bytes(i int) []byte {
	if r.fields[i].kind < firstBlob {
		return nil
	}
	return r.fields[i].data
}
