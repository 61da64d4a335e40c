package cli

import (
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/yorehq/yore/fault"
	"github.com/yorehq/yore/query"
)

// timeHelp is what every TIME may be.
const timeHelp = `
A TIME is so long ago (90m, 2h, 3d, 2w), today or yesterday, a day (2026-10-01),
a time of a day (2026-10-01 14:00), or a timestamp with its zone
(2026-10-01T14:00Z, 2026-10-01T14:00:00.5+02:00). Days and times without a zone
are local; a day reaches from its beginning, or to its end.`

// times reads a pair of bounds. Events have whole milliseconds: a bound between
// two of them excludes the one that lies outside.
func times(name, from, to string) (query.Range, error) { return timesAt(name, from, to, time.Now()) }

// timesAt is times at a moment, in that moment's zone.
func timesAt(name, from, to string, now time.Time) (query.Range, error) {
	var r query.Range
	var lower, upper time.Time
	if from != "" {
		t, _, err := instant("--"+name+"-from", from, now)
		if err != nil {
			return r, err
		}
		lower = t
		ms := t.Add(time.Millisecond - 1).UnixMilli()
		r.From = &ms
	}
	if to != "" {
		t, day, err := instant("--"+name+"-to", to, now)
		if err != nil {
			return r, err
		}
		if day {
			t = t.AddDate(0, 0, 1).Add(-1)
		}
		upper = t
		ms := t.UnixMilli()
		r.To = &ms
	}
	if from != "" && to != "" && lower.After(upper) {
		return r, fault.New(fault.InvalidFilter, "--%s-from lies after --%s-to", name, name)
	}
	return r, nil
}

// instant reads one TIME, as seen at a moment in its zone; day says that it
// names a whole one.
func instant(flag, text string, now time.Time) (at time.Time, day bool, err error) {
	for _, layout := range []string{time.RFC3339Nano, "2006-01-02T15:04Z07:00", "2006-01-02 15:04:05Z07:00", "2006-01-02 15:04Z07:00"} {
		if at, err := time.Parse(layout, text); err == nil {
			return at, false, nil
		}
	}
	for _, layout := range []string{"2006-01-02 15:04", "2006-01-02T15:04", "2006-01-02 15:04:05", "2006-01-02T15:04:05"} {
		if at, err := time.ParseInLocation(layout, text, now.Location()); err == nil {
			return at, false, nil
		}
	}
	if at, err := time.ParseInLocation(time.DateOnly, text, now.Location()); err == nil {
		return at, true, nil
	}
	y, m, d := now.Date()
	switch strings.ToLower(text) {
	case "now":
		return now, false, nil
	case "today":
		return time.Date(y, m, d, 0, 0, 0, 0, now.Location()), true, nil
	case "yesterday":
		return time.Date(y, m, d-1, 0, 0, 0, 0, now.Location()), true, nil
	}
	if m := regexp.MustCompile(`^(\d{1,5})([mhdw])$`).FindStringSubmatch(text); m != nil {
		n, _ := strconv.Atoi(m[1])
		unit := map[string]time.Duration{"m": time.Minute, "h": time.Hour, "d": 24 * time.Hour, "w": 7 * 24 * time.Hour}[m[2]]
		return now.Add(-time.Duration(n) * unit), false, nil
	}
	return at, false, fault.New(fault.InvalidFilter, "%s is %q: want so long ago (90m, 2h, 3d, 2w), today, yesterday, a day (2026-10-01), a time of it (2026-10-01 14:00), or a timestamp (2026-10-01T14:00Z)%s",
		flag, text, didYouMean(text, []string{"today", "yesterday", "now"}))
}
