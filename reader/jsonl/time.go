package jsonl

import "time"

// Instant returns the time that a string states in RFC 3339, as most logs do;
// ok is false if it states none. The form that ECMAScript writes is read without
// the general parser.
func Instant(v []byte) (t time.Time, ok bool) {
	if ms, ok := isoMillis(v); ok {
		return time.UnixMilli(ms), true
	}
	if !IsString(v) {
		return time.Time{}, false
	}
	t, err := time.Parse(time.RFC3339, Text(v))
	return t, err == nil
}

// isoMillis reads "2006-01-02T15:04:05.000Z", quotes included, as milliseconds of
// the epoch. Anything out of its range is left to the parser.
func isoMillis(v []byte) (ms int64, ok bool) {
	const form = `"0000-00-00T00:00:00.000Z"`
	if len(v) != len(form) {
		return 0, false
	}
	for i := range len(form) {
		if form[i] == '0' {
			if v[i]-'0' > 9 {
				return 0, false
			}
		} else if v[i] != form[i] {
			return 0, false
		}
	}
	two := func(i int) int64 { return int64(v[i]-'0')*10 + int64(v[i+1]-'0') }
	year, month, day := two(1)*100+two(3), two(6), two(9)
	hour, minute, second := two(12), two(15), two(18)
	// The last days of a month are left to the parser, which knows its length.
	if month < 1 || month > 12 || day < 1 || day > 28 || hour > 23 || minute > 59 || second > 59 {
		return 0, false
	}
	// Days since the epoch, by the usual arithmetic on years that begin in March.
	if month <= 2 {
		year--
		month += 12
	}
	days := 365*year + floorDiv(year, 4) - floorDiv(year, 100) + floorDiv(year, 400) + (153*(month-3)+2)/5 + day - 719469
	return ((days*24+hour)*60+minute)*60_000 + second*1000 + two(21)*10 + int64(v[23]-'0'), true
}

func floorDiv(a, b int64) int64 {
	if a < 0 {
		return -1 // a is -1 at the least
	}
	return a / b
}
