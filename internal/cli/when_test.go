package cli

import (
	"strings"
	"testing"
	"time"
	_ "time/tzdata" // the test names a zone

	"github.com/google/go-cmp/cmp"

	"github.com/yorehq/yore/query"
)

func TestTimes(t *testing.T) {
	ms := func(v int64) *int64 { return &v }
	const morning = 1772442000000 // 2026-03-02T09:00:00.000Z
	const day = 1772409600000     // 2026-03-02T00:00:00.000Z
	const noon = morning + 3*3_600_000
	const ahead = (5*60 + 30) * 60_000
	now := time.UnixMilli(noon).In(time.FixedZone("there", ahead/1000))
	for _, tc := range []struct {
		from, to string
		want     query.Range
		bad      bool
	}{
		{"", "", query.Range{}, false},
		{"2026-03-02T09:00:00Z", "2026-03-02T09:00:00.000Z", query.Range{From: ms(morning), To: ms(morning)}, false},
		{"2026-03-02T09:00Z", "", query.Range{From: ms(morning)}, false},
		{"2026-03-02T11:00:00+02:00", "", query.Range{From: ms(morning)}, false},
		{"2026-03-02T09:00:00.0005Z", "", query.Range{From: ms(morning + 1)}, false},
		{"", "2026-03-02T09:00:00.0005Z", query.Range{To: ms(morning)}, false},
		{"2026-03-02T09:00:00.0001Z", "2026-03-02T09:00:00.0002Z", query.Range{From: ms(morning + 1), To: ms(morning)}, false},
		// Days and times without a zone are of the place: 5:30 ahead of UTC.
		{"2026-03-02", "2026-03-02", query.Range{From: ms(day - ahead), To: ms(day - ahead + 86_400_000 - 1)}, false},
		{"2026-03-02 14:30", "2026-03-02T14:30:00", query.Range{From: ms(morning), To: ms(morning)}, false},
		{"2026-03-02 09:00:30Z", "", query.Range{From: ms(morning + 30_000)}, false},
		{"today", "today", query.Range{From: ms(day - ahead), To: ms(day - ahead + 86_400_000 - 1)}, false},
		{"yesterday", "yesterday", query.Range{From: ms(day - ahead - 86_400_000), To: ms(day - ahead - 1)}, false},
		{"2h", "now", query.Range{From: ms(noon - 7_200_000), To: ms(noon)}, false},
		{"3d", "", query.Range{From: ms(noon - 3*86_400_000)}, false},
		{"today", "yesterday", query.Range{}, true},
		{"2026-03-03", "2026-03-02", query.Range{}, true},
		{"2026-02-29", "", query.Range{}, true},
		{"yesterdy", "", query.Range{}, true},
		{"2026-03-02 25:00", "", query.Range{}, true},
		{"2 h", "", query.Range{}, true},
		{"2w", "Today", query.Range{From: ms(noon - 14*86_400_000), To: ms(day - ahead + 86_400_000 - 1)}, false},
		{"7y", "", query.Range{}, true},
		{"-7d", "", query.Range{}, true},
	} {
		got, err := timesAt("time", tc.from, tc.to, now)
		if (err != nil) != tc.bad {
			t.Errorf("%q to %q: %v", tc.from, tc.to, err)
		}
		if err == nil {
			if d := cmp.Diff(tc.want, got); d != "" {
				t.Errorf("%q to %q (-want +got):\n%s", tc.from, tc.to, d)
			}
		}
	}
}

// A day on which the clocks change has 23 hours, and is a day.
func TestADayOfTheClocks(t *testing.T) {
	zone, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	r, err := timesAt("time", "2026-03-29", "2026-03-29", time.Date(2026, 5, 1, 0, 0, 0, 0, zone))
	if err != nil || *r.To-*r.From+1 != 23*3_600_000 {
		t.Errorf("%v ms, %v", *r.To-*r.From+1, err)
	}
}

func TestATimeThatIsWrongTeaches(t *testing.T) {
	_, err := times("time", "yesterdy", "")
	for _, want := range []string{"--time-from", "2h", "2026-10-01 14:00", "did you mean yesterday?"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v does not say %q", err, want)
		}
	}
}

func TestAges(t *testing.T) {
	now := time.Date(2026, 3, 2, 9, 0, 0, 0, time.UTC)
	for text, want := range map[string]time.Time{
		"0m": now, "90m": now.Add(-90 * time.Minute), "12h": now.Add(-12 * time.Hour), "7d": now.AddDate(0, 0, -7),
		"99999d": now.AddDate(0, 0, -99999),
	} {
		got, day, err := instant("--x", text, now)
		if err != nil || day || !got.Equal(want) {
			t.Errorf("%s is %v, %v, %v; want %v", text, got, day, err, want)
		}
	}
}
