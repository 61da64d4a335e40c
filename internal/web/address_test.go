package web

import (
	"fmt"
	"math/rand/v2"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/yorehq/yore/authz"
	"github.com/yorehq/yore/query"
	"github.com/yorehq/yore/session"
)

func TestSegments(t *testing.T) {
	for text, want := range map[string]string{
		"5ae95ec4-17f2": "5ae95ec4-17f2", "a.b": "a.b", "..": "~Li4", ".": "~Lg", "": "~", "~": "~fg", "a/b": "~YS9i", "\xff": "~_w",
	} {
		if got := encode(text); got != want {
			t.Errorf("%q is %q, want %q", text, got, want)
		}
	}
	for _, bad := range []string{"~YWJj", "a/b", "..", "~!", "~YS9j=", "~YS9", "a b", ""} {
		if text, ok := decode(bad); ok {
			t.Errorf("%q names %q", bad, text)
		}
	}
}

// Any text survives an address, and one text has one address.
func FuzzSegments(f *testing.F) {
	for _, s := range []string{"", "..", "a/b?c#d", "~x", "\xff\x00", "ünï", "%2F"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		segment := encode(text)
		back, ok := decode(segment)
		if !ok || back != text {
			t.Fatalf("%q becomes %q becomes %q", text, segment, back)
		}
		u, err := url.Parse("http://h/s/" + segment + "/x")
		if err != nil || u.Path != "/s/"+segment+"/x" || strings.Contains(segment, "/") || u.JoinPath().Path != u.Path {
			t.Fatalf("%q changes in an address: %v, %v", segment, u, err)
		}
		if again, ok := decode(text); ok && encode(again) != text {
			t.Fatalf("%q has the addresses %q and %q", again, text, encode(again))
		}
		if back, ok := unvalue(value(text)); !ok || back != text {
			t.Fatalf("the value %q becomes %q", text, back)
		}
	})
}

func FuzzOrdinals(f *testing.F) {
	for _, s := range []string{"0", "1-3,9", "3-1", "9007199254740991", "0-199", ",", "-"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		list, err := ordinals(text)
		if err != nil {
			return
		}
		if len(list) == 0 || len(list) > mostRowsAt || !slices.IsSorted(list) || len(slices.Compact(slices.Clone(list))) != len(list) || list[0] < 0 || list[len(list)-1] > session.MaxSafe {
			t.Fatalf("%q gives %v", text, list)
		}
	})
}

func TestVisible(t *testing.T) {
	for text, want := range map[string]string{
		"plain\n\ttext ü 数": "plain\n\ttext ü 数", "a\r\nb\rc": "a\nb\\u000dc", "\x1b[31m": `\u001b[31m`, "a\u202eb": `a\u202eb`, "\xffx": "\ufffdx",
		"\u2028": `\u2028`, "\x00\x7f\u0085": `\u0000\u007f\u0085`,
	} {
		if got := visible(text); got != want {
			t.Errorf("%q is shown as %q, want %q", text, got, want)
		}
	}
}

// The rail of a row is drawn from runs of what was replaced: by hand.
func TestRail(t *testing.T) {
	o := &opened{runs: []query.Shadow{{From: 1, To: 3, By: 14}, {From: 7, To: 9, By: 24}, {From: 14, To: 14, By: 24}, {From: 17, To: 19, By: 24}, {From: 30, To: 30, By: 31}}}
	for seq, want := range map[int64]string{
		0: "", 1: "first", 2: "inside", 3: "last", 4: "", 6: "", 7: "first", 8: "inside", 9: "inside", 12: "inside", 14: "inside", 16: "inside", 17: "inside", 19: "last",
		20: "", 29: "", 30: "only", 31: "", 99: "",
	} {
		if got, _ := o.rail(seq); got != want {
			t.Errorf("the rail of %d is %q, want %q", seq, got, want)
		}
	}
}

// Days are put together without losing any, into few enough bins.
func TestBins(t *testing.T) {
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 1))
		var days []query.Activity
		var total int64
		span := []int{1, 20, 64, 65, 300, 3000, 20000}[r.IntN(7)]
		for range 1 + r.IntN(40) {
			day := time.Date(1990, 1, 1, 0, 0, 0, 0, time.UTC).AddDate(0, 0, r.IntN(span))
			n := int64(r.IntN(50))
			days = append(days, query.Activity{Day: day.Format(time.DateOnly), Agent: session.Agent(fmt.Sprint(r.IntN(2))), Documents: n})
			total += n
		}
		bins, u := binned(append(days, query.Activity{Day: "+12026-01-01", Documents: 9}))
		var got int64
		for i, b := range bins {
			got += b.Total
			if i > 0 && !bins[i-1].To.AddDate(0, 0, 1).Equal(b.From) {
				t.Fatalf("seed %d: a gap before %v", seed, b.From)
			}
			var parts int64
			for _, n := range b.parts {
				parts += n
			}
			if parts != b.Total {
				t.Fatalf("seed %d: the parts of %v are %d of %d", seed, b.From, parts, b.Total)
			}
		}
		if got != total || len(bins) > maxBins || len(bins) == 0 {
			t.Fatalf("seed %d: %d of %d in %d bins of a %s", seed, got, total, len(bins), u.name)
		}
	}
	far := []query.Activity{{Day: "0001-01-01", Documents: 1}, {Day: "9999-12-31", Documents: 2}}
	if bins, u := binned(far); len(bins) != maxBins || u.name != "year" || bins[maxBins-1].Total != 2 {
		t.Errorf("ten thousand years are %d bins of a %s", len(bins), u.name)
	}
	if bins, _ := binned(nil); bins != nil {
		t.Error("bins of nothing")
	}
	week, _ := binned([]query.Activity{{Day: "2026-03-01", Documents: 1}, {Day: "2026-07-01", Documents: 1}})
	if week[0].From.Weekday() != time.Monday || week[0].From.Format(time.DateOnly) != "2026-02-23" {
		t.Errorf("1 March 2026, a Sunday, is in the week of %v", week[0].From)
	}
}

// Cards of a lineage do not touch, whatever its shape, and each but the first
// hangs on one that lies before it.
func TestTree(t *testing.T) {
	for seed := range uint64(60) {
		r := rand.New(rand.NewPCG(seed, 2))
		l := authz.Lineage{Boundary: r.IntN(2) == 0, Ancestors: make([]query.Info, r.IntN(4))}
		depth := -1
		for range r.IntN(200) {
			depth = r.IntN(depth + 2)
			l.Descendants = append(l.Descendants, authz.Kin{Depth: depth, Outside: r.IntN(9) == 0})
		}
		nodes, width, height, cut := tree(l)
		if cut != 0 {
			t.Fatalf("seed %d: %d are cut", seed, cut)
		}
		at := map[[2]int]bool{}
		targets := 0
		// A descendant of depth n hangs on the last one before it of depth n-1.
		above := len(nodes) - len(l.Descendants) - 1 // the target
		for i, d := range l.Descendants {
			want := above
			for j := i - 1; j >= 0 && d.Depth > 0; j-- {
				if l.Descendants[j].Depth == d.Depth-1 {
					want = above + 1 + j
					break
				}
			}
			if got := nodes[above+1+i].parent; got != want {
				t.Fatalf("seed %d: descendant %d hangs on card %d, want %d", seed, i, got, want)
			}
		}
		for i, n := range nodes {
			if n.X < 0 || n.Y < 0 || n.X+cardWidth > width || n.Y+cardHeight > height {
				t.Fatalf("seed %d: card %d lies outside", seed, i)
			}
			if at[[2]int{n.X, n.Y}] {
				t.Fatalf("seed %d: two cards at %d,%d", seed, n.X, n.Y)
			}
			at[[2]int{n.X, n.Y}] = true
			for j, m := range nodes[:i] {
				if m.X == n.X && m.Y < n.Y+cardHeight && n.Y < m.Y+cardHeight {
					t.Fatalf("seed %d: cards %d and %d overlap", seed, j, i)
				}
			}
			if (n.Wire == "") != (i == 0) || i > 0 && nodes[n.parent].X >= n.X {
				t.Fatalf("seed %d: card %d hangs on %d", seed, i, n.parent)
			}
			if n.Target {
				targets++
			}
		}
		if targets != 1 {
			t.Fatalf("seed %d: %d targets", seed, targets)
		}
	}
	many := authz.Lineage{Descendants: make([]authz.Kin, 5000)}
	for i := range many.Descendants {
		many.Descendants[i].Depth = i
	}
	if nodes, _, _, cut := tree(many); len(nodes) != mostNodes || cut != 5000-mostNodes+1 {
		t.Errorf("%d cards, %d cut", len(nodes), cut)
	}
}

func TestThousands(t *testing.T) {
	for in, want := range map[string]string{"0": "0", "999": "999", "1000": "1\u202f000", "1234567": "1\u202f234\u202f567", "-1234": "-1\u202f234", "-123": "-123"} {
		if got := thousands(in); got != want {
			t.Errorf("%s is %q, want %q", in, got, want)
		}
	}
}
