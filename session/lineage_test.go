package session_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime/debug"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/yorehq/yore/fault"
	"github.com/yorehq/yore/session"
)

// family is a corpus of headers with unique ids.
type family struct {
	byID     map[session.ID]session.Header
	children map[session.ID][]session.Header
}

func newFamily(headers ...session.Header) family {
	f := family{map[session.ID]session.Header{}, map[session.ID][]session.Header{}}
	for _, h := range headers {
		f.byID[h.ID] = h
		if h.ParentSession != "" {
			f.children[h.ParentSession] = append(f.children[h.ParentSession], h)
		}
	}
	return f
}

func (f family) Parent(h session.Header) (session.Header, bool, error) {
	p, ok := f.byID[h.ParentSession]
	return p, ok, nil
}

func (f family) Children(h session.Header) ([]session.Header, error) { return f.children[h.ID], nil }

// person makes a header: "id<parent@time", parent and time optional.
func person(text string) session.Header {
	h := session.Header{Agent: session.DSH, Cwd: "/srv/code"}
	text, at, _ := strings.Cut(text, "@")
	id, parent, _ := strings.Cut(text, "<")
	h.ID, h.ParentSession = session.ID(id), session.ID(parent)
	if at != "" {
		fmt.Sscan(at, &h.CreatedAt)
	}
	return h
}

func people(texts ...string) []session.Header {
	var all []session.Header
	for _, t := range texts {
		all = append(all, person(t))
	}
	return all
}

// outline shows a lineage as text: ancestors, missing parent, indented descendants.
func outline(l session.Lineage) []string {
	var lines []string
	for _, a := range l.Ancestors {
		lines = append(lines, "^ "+string(a.ID))
	}
	if l.Missing != "" {
		lines = append(lines, "? "+string(l.Missing))
	}
	for _, d := range l.Descendants {
		lines = append(lines, strings.Repeat("  ", d.Depth)+"- "+string(d.Header.ID))
	}
	return lines
}

func TestTrace(t *testing.T) {
	for _, tc := range []struct {
		name   string
		target session.ID
		corpus []session.Header
		want   []string
		code   fault.Code
	}{
		{name: "alone", target: "a", corpus: people("a", "b")},
		{name: "up and down", target: "b", corpus: people("a", "b<a", "c<b", "d<c", "e<a"), want: []string{"^ a", "- c", "  - d"}},
		{name: "nearest ancestor first", target: "d", corpus: people("a", "b<a", "c<b", "d<c"), want: []string{"^ c", "^ b", "^ a"}},
		{name: "a missing parent", target: "b", corpus: people("b<gone", "c<b"), want: []string{"? gone", "- c"}},
		{name: "a missing grandparent", target: "c", corpus: people("b<gone", "c<b"), want: []string{"^ b", "? gone"}},
		{name: "siblings by creation time", target: "a", corpus: people("a", "x<a@3", "y<a@1", "z<a@2"), want: []string{"- y", "- z", "- x"}},
		{
			name: "siblings of one time by bytes", target: "r",
			corpus: people("r", "fan_c<r", "fan-10<r", "fan-9<r", "fan-a<r", "Fan-a<r", "fan-b<r", "fan-B<r", "fan-é<r"),
			want:   []string{"- Fan-a", "- fan-10", "- fan-9", "- fan-B", "- fan-a", "- fan-b", "- fan-é", "- fan_c"},
		},
		{
			name: "depth first", target: "a",
			corpus: people("a", "b<a@1", "c<a@2", "d<b@9", "e<b@8", "f<c@0"),
			want:   []string{"- b", "  - e", "  - d", "- c", "  - f"},
		},
		{name: "its own parent", target: "a", corpus: people("a<a"), code: fault.InvalidLineage},
		{name: "a ring of two", target: "a", corpus: people("a<b", "b<a"), code: fault.InvalidLineage},
		{name: "a ring above", target: "a", corpus: people("a<b", "b<c", "c<b"), code: fault.InvalidLineage},
		{name: "a child of a ring", target: "a", corpus: people("a<b", "b<b"), code: fault.InvalidLineage},
		{name: "a ring elsewhere", target: "a", corpus: people("a", "b<a", "x<y", "y<x"), want: []string{"- b"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			f := newFamily(tc.corpus...)
			got, err := session.Trace(f.byID[tc.target], f)
			if code, _ := fault.Of(err); code != tc.code || (err != nil) != (tc.code != "") {
				t.Fatalf("error %v, want code %q", err, tc.code)
			}
			if err != nil {
				return
			}
			if diff := cmp.Diff(tc.want, outline(got), cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if got.Target != f.byID[tc.target] {
				t.Errorf("target %+v", got.Target)
			}
		})
	}
}

// Depth is unbounded: with a stack of 64 KiB a recursive walk over 100,000
// generations would end the process.
func TestTraceDoesNotRecurse(t *testing.T) {
	defer debug.SetMaxStack(debug.SetMaxStack(64 << 10))
	const depth = 100_000
	headers := make([]session.Header, depth)
	for i := range headers {
		headers[i] = session.Header{Agent: session.DSH, ID: session.ID(fmt.Sprint("s", i))}
		if i > 0 {
			headers[i].ParentSession = headers[i-1].ID
		}
	}
	f := newFamily(headers...)
	done := make(chan error)
	go func() { // a fresh stack, which the test's own frames do not count on
		for _, at := range []int{0, depth / 2, depth - 1} {
			l, err := session.Trace(headers[at], f)
			switch {
			case err != nil:
				done <- err
				return
			case len(l.Ancestors) != at || len(l.Descendants) != depth-1-at:
				done <- fmt.Errorf("%d ancestors and %d descendants of %d", len(l.Ancestors), len(l.Descendants), at)
				return
			case len(l.Descendants) > 0 && l.Descendants[len(l.Descendants)-1].Depth != depth-2-at:
				done <- fmt.Errorf("the last descendant of %d is at depth %d", at, l.Descendants[len(l.Descendants)-1].Depth)
				return
			}
		}
		done <- nil
	}()
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// naive is Trace told recursively, for small families.
func naive(f family, h session.Header, depth int, out []string) []string {
	kids := slices.Clone(f.children[h.ID])
	slices.SortFunc(kids, func(a, b session.Header) int {
		if a.CreatedAt != b.CreatedAt {
			return int(a.CreatedAt - b.CreatedAt)
		}
		return strings.Compare(string(a.ID), string(b.ID))
	})
	for _, k := range kids {
		out = naive(f, k, depth+1, append(out, strings.Repeat("  ", depth)+"- "+string(k.ID)))
	}
	return out
}

func TestTraceAgreesWithNaive(t *testing.T) {
	for seed := range uint64(100) {
		r := rand.New(rand.NewPCG(seed, 3))
		var all []session.Header
		for i := range 1 + r.IntN(30) {
			h := session.Header{Agent: session.DSH, ID: session.ID(fmt.Sprint(i)), CreatedAt: int64(r.IntN(4))}
			if i > 0 && r.IntN(5) > 0 {
				h.ParentSession = all[r.IntN(i)].ID
			}
			all = append(all, h)
		}
		r.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
		f := newFamily(all...)
		for _, h := range all {
			got, err := session.Trace(h, f)
			if err != nil {
				t.Fatal(err)
			}
			var want []string
			for p := h.ParentSession; p != ""; p = f.byID[p].ParentSession {
				want = append(want, "^ "+string(p))
			}
			want = naive(f, h, 0, want)
			if diff := cmp.Diff(want, outline(got), cmpopts.EquateEmpty()); diff != "" {
				t.Fatalf("seed %d, session %s (-want +got):\n%s", seed, h.ID, diff)
			}
		}
	}
}

// Children may hand out a list that it keeps: Trace must not reorder it.
func TestTraceLeavesListsAlone(t *testing.T) {
	f := newFamily(people("a", "m<a", "z<a", "b<a")...)
	before := slices.Clone(f.children["a"])
	if _, err := session.Trace(f.byID["a"], f); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(before, f.children["a"]); diff != "" {
		t.Errorf("Trace changed a list it was lent (-before +after):\n%s", diff)
	}
}

type brokenKin struct {
	family
	parents, kids error
}

func (b brokenKin) Parent(h session.Header) (session.Header, bool, error) {
	if b.parents != nil {
		return session.Header{}, false, b.parents
	}
	return b.family.Parent(h)
}

func (b brokenKin) Children(h session.Header) ([]session.Header, error) {
	if b.kids != nil {
		return nil, b.kids
	}
	return b.family.Children(h)
}

func TestTracePassesErrorsOn(t *testing.T) {
	broken := errors.New("the catalog is gone")
	f := newFamily(people("a", "b<a")...)
	for _, kin := range []brokenKin{{f, broken, nil}, {f, nil, broken}} {
		if _, err := session.Trace(f.byID["b"], kin); !errors.Is(err, broken) {
			t.Errorf("got %v", err)
		}
	}
}
