package cursor

import (
	"strconv"
	"strings"
	"time"
)

// stated returns the time that the editor tells before what a person typed, as in
// "<timestamp>Friday, Sep 18, 2026, 9:02 PM (UTC-7)</timestamp>": epoch
// milliseconds, to the minute. Without an offset it is of nobody's zone, and so
// none.
func stated(text string) (ms int64, ok bool) {
	const open, end = "<timestamp>", "</timestamp>"
	text = strings.TrimSpace(text[:min(len(text), 256)])
	inner, ok := strings.CutPrefix(text, open)
	if !ok {
		return 0, false
	}
	if inner, _, ok = strings.Cut(inner, end); !ok {
		return 0, false
	}
	_, inner, ok = strings.Cut(inner, ",") // the weekday says nothing new
	day, zone, zoned := strings.Cut(inner, " (UTC")
	if !ok || !zoned {
		return 0, false
	}
	offset, ok := offsetOf(strings.TrimSuffix(strings.TrimSpace(zone), ")"))
	if !ok {
		return 0, false
	}
	for _, layout := range []string{"Jan 2, 2006, 3:04 PM", "January 2, 2006, 3:04 PM", "Jan 2, 2006, 15:04"} {
		if t, err := time.Parse(layout, strings.TrimSpace(day)); err == nil {
			ms := t.UnixMilli() - offset
			return ms, ms > 0
		}
	}
	return 0, false
}

// offsetOf reads what stands behind UTC: nothing, +3, -03:30, as milliseconds.
func offsetOf(zone string) (ms int64, ok bool) {
	if zone == "" {
		return 0, true
	}
	sign := int64(1)
	switch zone[0] {
	case '+':
	case '-':
		sign = -1
	default:
		return 0, false
	}
	hours, minutes, _ := strings.Cut(zone[1:], ":")
	h, err := strconv.ParseUint(hours, 10, 8)
	if err != nil || h > 14 {
		return 0, false
	}
	m := uint64(0)
	if minutes != "" {
		if m, err = strconv.ParseUint(minutes, 10, 8); err != nil || m > 59 {
			return 0, false
		}
	}
	return sign * int64(h*60+m) * 60_000, true
}
