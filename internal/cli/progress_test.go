package cli

import (
	"strings"
	"testing"
	"time"

	"github.com/yorehq/yore/internal/render"
)

func TestProgressBar(t *testing.T) {
	width := 0
	b := &progressBar{work: "indexing", width: func() int { return width }}
	start := time.Date(2026, 3, 2, 9, 0, 0, 0, time.UTC)
	for _, step := range []struct {
		after       time.Duration
		done, total int
		width       int
		want        string
	}{
		{0, 0, 400, 0, ""},
		{200 * time.Millisecond, 3, 400, 0, ""}, // nothing that is over in a moment
		{2 * time.Second, 100, 400, 0, "\rindexing [######..................] 100 of 400 sessions, 50/s, 6s left"},
		{2050 * time.Millisecond, 101, 400, 0, ""}, // not faster than anybody reads
		{4 * time.Second, 10, 400, 0, "\rindexing [........................] 10 of 400 sessions, 2.5/s, 2m36s left"},
		{5 * time.Second, 12, 400, 40, "\rindexing 12 of 400, 2.4/s, 2m42s left"},
		{5200 * time.Millisecond, 100, 400, 60, "\rindexing [###.........] 100 of 400 sessions, 19/s, 16s left"},
		{5400 * time.Millisecond, 200, 400, 20, "\r50%, 37/s, 5s left"},
		{5600 * time.Millisecond, 200, 400, 8, "\r50%, 3…"},
		{6 * time.Second, 900, 400, 0, "\rindexing [########################] 400 of 400 sessions, 67/s, 0s left"},
		{7 * time.Second, 1, 0, 0, ""},
	} {
		width = step.width
		shown := b.shown
		got := b.line(start.Add(step.after), step.done, step.total)
		if text := strings.TrimRight(got, " "); text != step.want {
			t.Errorf("after %v: %q, want %q", step.after, text, step.want)
		}
		if got != "" && render.Width(got[1:]) < shown {
			t.Errorf("after %v: the rest of a longer line stays", step.after)
		}
		if step.width > 0 && got != "" && render.Width(strings.TrimRight(got[1:], " ")) >= step.width {
			t.Errorf("after %v: %q does not fit %d columns", step.after, got, step.width)
		}
	}
	if gone := b.gone(); gone != "\r"+strings.Repeat(" ", b.shown)+"\r" || b.shown == 0 {
		t.Errorf("gone is %q", gone)
	}
	if gone := (&progressBar{}).gone(); gone != "" {
		t.Errorf("a bar that was never drawn prints %q", gone)
	}
}

func TestRemaining(t *testing.T) {
	for seconds, want := range map[float64]string{0: "0s", 0.4: "0s", 59.6: "1m00s", 130: "2m10s", 3900: "1h05m", 1e18: "99h00m"} {
		if got := remaining(seconds); got != want {
			t.Errorf("%v: %s, want %s", seconds, got, want)
		}
	}
}

func TestDidYouMean(t *testing.T) {
	commands := []string{"search", "events", "list", "show", "stats", "trace", "event-trace"}
	for given, want := range map[string]string{
		"serch": "search", "saerch": "search", "sta": "stats", "lsit": "list", "event": "events", "LIST": "list",
		"xyzzy": "", "": "", "q": "", strings.Repeat("x", 100000): "",
	} {
		if got := nearest(given, commands); got != want {
			t.Errorf("%.20q: %q, want %q", given, got, want)
		}
	}
	if text := didYouMean("ab", []string{"ab\x1b[31m"}); text != `; did you mean "ab\u001b[31m"?` {
		t.Errorf("%q", text)
	}
}

func FuzzDistance(f *testing.F) {
	f.Add("kitten", "sitting")
	f.Fuzz(func(t *testing.T, a, b string) {
		d := distance(a, b)
		if d != distance(b, a) || d < 0 || d > max(len(a), len(b)) || (d == 0) != (a == b) && len(a) <= maxCompared && len(b) <= maxCompared {
			t.Fatalf("%q to %q: %d and %d", a, b, d, distance(b, a))
		}
	})
}

// What a shell is offered goes on from what is typed, and is a plain word.
func TestOffers(t *testing.T) {
	all := []string{"alpha\tfirst", "alto\tsecond", "beta"}
	for typed, want := range map[string]string{"al": "alpha\tfirst|alto\tsecond", "beta,al": "beta,alpha\tfirst|beta,alto\tsecond", "x": "", "": "alpha\tfirst|alto\tsecond|beta"} {
		if got := strings.Join(offer(all, typed, true), "|"); got != want {
			t.Errorf("%q: %q, want %q", typed, got, want)
		}
	}
	for word, want := range map[string]bool{"a-b_c/d.e": true, "項目": true, "": false, "-x": false, "~x": false, "a b": false, "a;b": false, "$(x)": false, "a\nb": false, "`x`": false, "a'b": false} {
		if plain(word) != want {
			t.Errorf("%q: plain %v", word, !want)
		}
	}
}
