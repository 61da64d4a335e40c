package jsonl

// CountStrings returns how many elements a valid array has; ok says that all of
// them are strings.
func CountStrings(array []byte) (n int64, ok bool) {
	for i := 1; i < len(array); {
		switch array[i] {
		case '"':
			i = skipString(array, i)
			n++
		case ' ', '\t', '\r', '\n', ',':
			i++
		case ']':
			return n, true
		default:
			return n, false
		}
	}
	return n, false
}

// EachInt visits the elements of a valid array that should be safe integers, and
// returns how many it has visited; ok says that all of them are such and that
// visit has taken each.
func EachInt(array []byte, visit func(int64) bool) (n int64, ok bool) {
	for i := 1; i < len(array); {
		switch c := array[i]; c {
		case ' ', '\t', '\r', '\n', ',':
			i++
			continue
		case ']':
			return n, true
		}
		start, value := i, int64(0)
		for ; i < len(array) && i-start < 15 && array[i]-'0' <= 9; i++ {
			value = value*10 + int64(array[i]-'0')
		}
		if i == start || i == len(array) || !isBreak(array[i]) {
			i = skipValue(array, start)
			if value, ok = SafeInt(array[start:i]); !ok {
				return n, false
			}
		}
		if n++; !visit(value) {
			return n, false
		}
	}
	return n, false
}
