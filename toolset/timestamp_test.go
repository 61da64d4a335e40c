package toolset

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/yorehq/yore/fault"
	"github.com/yorehq/yore/query"
)

func TestParseInstant(t *testing.T) {
	// Expected values were computed by hand with `date -u -d` and, for the
	// years that it does not know, by counting days.
	for _, c := range []struct {
		text string
		ms   int64
		rest string
	}{
		{"1970-01-01T00:00Z", 0, ""},
		{"1970-01-01T00:00:00.1Z", 100, ""},
		{"1970-01-01T00:00:00.0005Z", 0, "5"},
		{"1970-01-01T00:00:00.000500Z", 0, "5"},
		{"1970-01-01T00:00:00.123000000Z", 123, ""},
		{"1970-01-01T00:00:00.01234567890123456789Z", 12, "34567890123456789"},
		{"1969-12-31T23:59:59.999Z", -1, ""},
		{"1969-12-31T23:59:59.9990001Z", -1, "0001"},
		{"2026-03-02T09:00:00Z", 1772442000000, ""},
		{"2026-03-02T09:00:00+02:00", 1772434800000, ""},
		{"2026-03-02T09:00:00-00:30", 1772443800000, ""},
		{"2026-03-02T09:00:00+23:59", 1772442000000 - 86340000, ""},
		{"2024-02-29T00:00:00Z", 1709164800000, ""},
		{"2000-02-29T00:00:00Z", 951782400000, ""},
		{"0000-01-01T00:00:00Z", -62167219200000, ""},
		{"0000-02-29T00:00:00Z", -62167219200000 + 59*86400000, ""},
		{"0000-01-01T00:00:00+23:59", -62167219200000 - 86340000, ""},
		{"9999-12-31T23:59:59.999Z", 253402300799999, ""},
	} {
		got, err := parseInstant("time_from", c.text)
		if err != nil || got != (instant{c.ms, c.rest}) {
			t.Errorf("%s = %+v, %v; want %d and %q", c.text, got, err, c.ms, c.rest)
		}
	}
}

func TestParseInstantRefuses(t *testing.T) {
	shape, calendar := "must be an ISO 8601 timestamp", "must be a valid ISO 8601 timestamp"
	for text, want := range map[string]string{
		"": shape, "soon": shape, "2026-03-02": shape, "2026-03-02T12:00:00": shape, "2026-03-02T12:00:00.Z": shape,
		"2026-03-02t12:00:00z": shape, "2026-03-02 12:00:00Z": shape, "2026-03-02T12:00:00+0200": shape,
		"2026-03-02T12:00:00+02": shape, "2026-3-2T12:00:00Z": shape, "+2026-03-02T12:00:00Z": shape,
		"2026-03-02T12Z": shape, "2026-03-02T12:00.5Z": shape, "2026-03-02T12:00:00Zx": shape, " 2026-03-02T12:00:00Z": shape,
		"２０26-03-02T12:00:00Z": shape, "2026-03-02T12:00:00,5Z": shape, "2026-03-02T12:00:00\u221202:00": shape,
		"2026-13-02T12:00:00Z": calendar, "2026-00-02T12:00:00Z": calendar, "2026-02-30T12:00:00Z": calendar, "2026-01-00T12:00:00Z": calendar,
		"2025-02-29T12:00:00Z": calendar, "1900-02-29T12:00:00Z": calendar, "2026-04-31T12:00:00Z": calendar,
		"2026-03-02T24:00:00Z": calendar, "2026-03-02T12:60:00Z": calendar, "2026-03-02T12:00:60Z": calendar,
		"2026-06-30T23:59:60Z": calendar, "2026-03-02T12:00:00+24:00": calendar, "2026-03-02T12:00:00-01:60": calendar,
	} {
		_, err := parseInstant("time_from", text)
		if !errors.Is(err, fault.InvalidFilter) || !strings.Contains(fault.SafeText(err), "time_from "+want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}

func TestTimeRange(t *testing.T) {
	at := func(ms int64) *int64 { return &ms }
	const second = "1970-01-01T00:00:0"
	for _, c := range []struct {
		name, from, to string
		want           query.Range
		empty, refused bool
	}{
		{name: "none"},
		{name: "both", from: second + "1Z", to: second + "2Z", want: query.Range{From: at(1000), To: at(2000)}},
		{name: "equal", from: second + "1Z", to: second + "1.000Z", want: query.Range{From: at(1000), To: at(1000)}},
		{name: "lower excludes", from: second + "0.0005Z", want: query.Range{From: at(1)}},
		{name: "upper includes", to: second + "0.0005Z", want: query.Range{To: at(0)}},
		{name: "before 1970", from: "1969-12-31T23:59:59.9995Z", want: query.Range{From: at(0)}},
		{name: "zeroes mean nothing", from: second + "0.00050Z", to: second + "0.0005Z", want: query.Range{From: at(1), To: at(0)}, empty: true},
		{name: "inside one millisecond", from: second + "0.0001Z", to: second + "0.0009Z", want: query.Range{From: at(1), To: at(0)}, empty: true},
		{name: "touches the millisecond", from: second + "0.000Z", to: second + "0.0009Z", want: query.Range{From: at(0), To: at(0)}},
		{name: "reversed", from: second + "2Z", to: second + "1Z", refused: true},
		{name: "reversed below the millisecond", from: second + "0.0002Z", to: second + "0.00010Z", refused: true},
		{name: "reversed by a digit", from: second + "0.12351Z", to: second + "0.1235Z", refused: true},
	} {
		given := args{}
		if c.from != "" {
			given["created_at_from"] = c.from
		}
		if c.to != "" {
			given["created_at_to"] = c.to
		}
		got, err := given.timeRange("created_at")
		if c.refused {
			if !errors.Is(err, fault.InvalidFilter) || !strings.Contains(err.Error(), "created_at_from must not lie after created_at_to") {
				t.Errorf("%s: %v", c.name, err)
			}
			continue
		}
		if err != nil || got.Empty() != c.empty {
			t.Errorf("%s: %v, empty %t", c.name, err, got.Empty())
		}
		if d := cmp.Diff(c.want, got); d != "" {
			t.Errorf("%s: %s", c.name, d)
		}
	}
}

func FuzzParseInstant(f *testing.F) {
	f.Add("2026-03-02T09:00:00.123456Z")
	f.Add("0000-02-29T23:59-23:59")
	f.Fuzz(func(t *testing.T, text string) {
		at, err := parseInstant("x", text)
		if err == nil && (strings.HasSuffix(at.rest, "0") || at.ms < -62167219200000-86400000 || at.ms > 253402300799999+86400000) {
			t.Errorf("%q = %+v", text, at)
		}
	})
}
