package toolset

import (
	"strings"
	"time"

	"github.com/yorehq/yore/fault"
	"github.com/yorehq/yore/query"
)

// instant is a point in time as written: whole milliseconds since 1970,
// rounded down, and the decimal digits that follow, without trailing zeroes.
type instant struct {
	ms   int64
	rest string
}

// after reports whether i lies after j, exactly.
func (i instant) after(j instant) bool {
	// Digits of a fraction compare like strings.
	return i.ms > j.ms || i.ms == j.ms && i.rest > j.rest
}

// parseInstant reads YYYY-MM-DDTHH:MM[:SS[.digits]] with Z or ±HH:MM. Only
// dates of the Gregorian calendar exist, hours go to 23, minutes and seconds
// to 59, offsets to 23:59. Failures say what name should have been.
func parseInstant(name, text string) (instant, error) {
	shape := refuse(fault.InvalidFilter, "%s must be an ISO 8601 timestamp with Z or a numeric offset, like 2026-03-01T09:30:00Z or 2026-03-01T09:30:00+02:00", name)
	p := &parser{rest: text, ok: true}
	year := p.digits(4)
	p.skip('-')
	month := p.digits(2)
	p.skip('-')
	day := p.digits(2)
	p.skip('T')
	hour := p.digits(2)
	p.skip(':')
	minute := p.digits(2)
	second, fraction := 0, ""
	if p.optional(':') {
		second = p.digits(2)
		if p.optional('.') {
			fraction = p.run()
			p.ok = p.ok && fraction != ""
		}
	}
	sign, offHour, offMinute := 1, 0, 0
	switch {
	case p.optional('Z'):
	case p.optional('+'), p.optional('-'):
		if text[len(text)-len(p.rest)-1] == '-' {
			sign = -1
		}
		offHour = p.digits(2)
		p.skip(':')
		offMinute = p.digits(2)
	default:
		return instant{}, shape
	}
	if !p.ok || p.rest != "" {
		return instant{}, shape
	}
	date := time.Date(year, time.Month(month), day, hour, minute, second, 0, time.UTC)
	switch {
	case month < 1 || month > 12 || date.Day() != day || date.Month() != time.Month(month):
		return instant{}, refuse(fault.InvalidFilter, "%s must be a valid ISO 8601 timestamp: there is no such day in the calendar", name)
	case hour > 23 || minute > 59 || second > 59:
		return instant{}, refuse(fault.InvalidFilter, "%s must be a valid ISO 8601 timestamp: hours go to 23, minutes and seconds to 59", name)
	case offHour > 23 || offMinute > 59:
		return instant{}, refuse(fault.InvalidFilter, "%s must be a valid ISO 8601 timestamp: offsets go to 23:59", name)
	}
	ms := (date.Unix() - int64(sign*(offHour*60+offMinute)*60)) * 1000
	fraction = strings.TrimRight(fraction, "0")
	for i, unit := 0, int64(100); i < 3 && fraction != ""; i, unit = i+1, unit/10 {
		ms += int64(fraction[0]-'0') * unit
		fraction = fraction[1:]
	}
	return instant{ms, fraction}, nil
}

// parser takes a text apart from its front; after the first misfit ok is false.
type parser struct {
	rest string
	ok   bool
}

func (p *parser) optional(c byte) bool {
	if p.rest == "" || p.rest[0] != c {
		return false
	}
	p.rest = p.rest[1:]
	return true
}

func (p *parser) skip(c byte) { p.ok = p.optional(c) && p.ok }

// run takes all leading digits.
func (p *parser) run() string {
	n := 0
	for n < len(p.rest) && p.rest[n] >= '0' && p.rest[n] <= '9' {
		n++
	}
	digits := p.rest[:n]
	p.rest = p.rest[n:]
	return digits
}

// digits takes exactly n digits.
func (p *parser) digits(n int) int {
	value := 0
	for range n {
		if p.rest == "" || p.rest[0] < '0' || p.rest[0] > '9' {
			p.ok = false
			return 0
		}
		value = value*10 + int(p.rest[0]-'0')
		p.rest = p.rest[1:]
	}
	return value
}

// timeRange reads a pair of timestamps, which name arguments prefix_from and
// prefix_to. Events have whole milliseconds, so a lower bound that lies between
// two excludes the earlier one, and a range between two holds nothing.
func (a args) timeRange(prefix string) (query.Range, error) {
	var r query.Range
	var bounds [2]*instant
	for i, name := range []string{prefix + "_from", prefix + "_to"} {
		text, ok := a.text(name)
		if !ok {
			continue
		}
		at, err := parseInstant(name, text)
		if err != nil {
			return r, err
		}
		bounds[i] = &at
	}
	from, to := bounds[0], bounds[1]
	if from != nil && to != nil && from.after(*to) {
		return r, refuse(fault.InvalidFilter, "%s_from must not lie after %s_to", prefix, prefix)
	}
	if from != nil {
		ms := from.ms
		if from.rest != "" {
			ms++
		}
		r.From = &ms
	}
	if to != nil {
		r.To = &to.ms
	}
	return r, nil
}
