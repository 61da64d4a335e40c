package session_test

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/yorehq/yore/fault"
	"github.com/yorehq/yore/session"
)

// The makers of events below keep tables of cases short.

func log(seq int64) session.Event { return session.Event{Seq: seq, Type: session.TurnStart} }

func user(seq int64) session.Event {
	return session.Event{Seq: seq, Type: session.UserMessage, Op: session.Op{Kind: session.OpAppend}}
}

func result(seq int64) session.Event {
	return session.Event{Seq: seq, Type: session.ToolResult, Op: session.Op{Kind: session.OpAppend}}
}

func replace(seq, start, end int64, cites ...int64) session.Event {
	return session.Event{Seq: seq, Type: session.UserMessage, Op: session.Op{Kind: session.OpReplace, Start: start, End: end}, Sources: cites}
}

func prune(seq, old int64) session.Event {
	e := replace(seq, old, old, old)
	e.Type = session.ToolResult
	return e
}

func choose(seq, keep int64, nodes ...int64) session.Event {
	return session.Event{Seq: seq, Type: "claude/rewind", Op: session.Op{Kind: session.OpSelect, Keep: keep, Nodes: nodes}}
}

// fold applies events and fails the test if one is refused.
func fold(t *testing.T, events []session.Event) (*session.Fold, []session.Change) {
	t.Helper()
	f := new(session.Fold)
	var changes []session.Change
	for i := range events {
		c, err := f.Apply(&events[i])
		if err != nil {
			t.Fatalf("event %d: %v", events[i].Seq, err)
		}
		changes = append(changes, c)
	}
	return f, changes
}

func TestFold(t *testing.T) {
	for _, tc := range []struct {
		name     string
		events   []session.Event
		surface  []int64
		shadowed map[int64]int64 // who → by whom
		removed  []int64         // by the last event, in surface order
	}{
		{name: "empty"},
		{name: "log-only events", events: []session.Event{log(0), log(1)}},
		{name: "appends in order", events: []session.Event{log(0), user(1), log(2), result(3)}, surface: []int64{1, 3}},
		{
			name:    "a run counts as many",
			events:  []session.Event{{Seq: 0, Span: 5, Type: session.AssistantChunk}, user(5)},
			surface: []int64{5},
		},
		{
			name:     "a compaction in the middle",
			events:   []session.Event{user(0), user(1), user(2), user(3), replace(4, 1, 2, 1, 2)},
			surface:  []int64{0, 4, 3},
			shadowed: map[int64]int64{1: 4, 2: 4},
			removed:  []int64{1, 2},
		},
		{
			// After 4 stands before 3, the slice from 4 to 3 is legal although 4 > 3.
			name:     "names of positions, not numbers",
			events:   []session.Event{user(0), user(1), user(2), user(3), replace(4, 1, 2, 1, 2), replace(5, 4, 3, 3, 4)},
			surface:  []int64{0, 5},
			shadowed: map[int64]int64{1: 4, 2: 4, 3: 5, 4: 5},
			removed:  []int64{4, 3},
		},
		{
			name:     "more citations than removals",
			events:   []session.Event{log(0), user(1), user(2), replace(3, 2, 2, 0, 2, 1)},
			surface:  []int64{1, 3},
			shadowed: map[int64]int64{2: 3},
			removed:  []int64{2},
		},
		{
			name:     "the whole surface",
			events:   []session.Event{user(0), user(1), replace(2, 0, 1, 1, 0), user(3)},
			surface:  []int64{2, 3},
			shadowed: map[int64]int64{0: 2, 1: 2},
		},
		{
			name:     "a pruned result",
			events:   []session.Event{user(0), result(1), prune(2, 1)},
			surface:  []int64{0, 2},
			shadowed: map[int64]int64{1: 2},
			removed:  []int64{1},
		},
		{
			name:     "a rewind",
			events:   []session.Event{user(0), user(1), user(2), choose(3, 0), user(4)},
			surface:  []int64{0, 4},
			shadowed: map[int64]int64{1: 3, 2: 3},
		},
		{
			name:     "a rewind to nothing",
			events:   []session.Event{user(0), user(1), choose(2, -1)},
			shadowed: map[int64]int64{0: 2, 1: 2},
			removed:  []int64{0, 1},
		},
		{
			name:     "a branch comes back",
			events:   []session.Event{user(0), user(1), choose(2, 0), user(3), choose(4, 0, 1)},
			surface:  []int64{0, 1},
			shadowed: map[int64]int64{3: 4},
			removed:  []int64{3},
		},
		{
			name:     "scattered entries survive",
			events:   []session.Event{user(0), user(1), user(2), user(3), choose(4, -1, 3, 1)},
			surface:  []int64{3, 1},
			shadowed: map[int64]int64{0: 4, 2: 4},
			removed:  []int64{0, 2},
		},
		{
			// 1 and 2 came back in the wrong order of numbers: 2 stands first now.
			name:     "a replacement after a select",
			events:   []session.Event{user(0), user(1), user(2), choose(3, -1, 2, 1), replace(4, 2, 1, 1, 2)},
			surface:  []int64{4},
			shadowed: map[int64]int64{0: 3, 1: 4, 2: 4},
			removed:  []int64{2, 1},
		},
		{
			name:     "what was replaced comes back",
			events:   []session.Event{user(0), user(1), replace(2, 0, 1, 0, 1), choose(3, -1, 0, 1)},
			surface:  []int64{0, 1},
			shadowed: map[int64]int64{2: 3},
			removed:  []int64{2},
		},
		{
			name:    "a select that changes nothing",
			events:  []session.Event{user(0), user(1), choose(2, 1)},
			surface: []int64{0, 1},
		},
		{
			name: "an empty list of sources on an answer",
			events: []session.Event{user(0), {Seq: 1, Type: session.AssistantMessage, Op: session.Op{Kind: session.OpAppend},
				Sources: []int64{}}},
			surface: []int64{0, 1},
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			f, changes := fold(t, tc.events)
			if diff := gocmp.Diff(tc.surface, f.Surface(), cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("surface (-want +got):\n%s", diff)
			}
			if tc.removed != nil {
				if diff := gocmp.Diff(tc.removed, changes[len(changes)-1].Removed); diff != "" {
					t.Errorf("removed by the last event (-want +got):\n%s", diff)
				}
			}
			for _, e := range tc.events {
				want, by := session.LogOnly, int64(-1)
				switch {
				case slices.Contains(tc.surface, e.Seq):
					want = session.Current
				case tc.shadowed[e.Seq] != 0:
					want, by = session.Shadowed, tc.shadowed[e.Seq]
				}
				if got, gotBy := f.State(e.Seq); got != want || gotBy != by {
					t.Errorf("event %d is %v by %d, want %v by %d", e.Seq, got, gotBy, want, by)
				}
			}
		})
	}
}

func TestFoldRefuses(t *testing.T) {
	with := func(e session.Event, change func(*session.Event)) session.Event { change(&e); return e }
	three := []session.Event{user(0), result(1), user(2)}
	for _, tc := range []struct {
		name   string
		before []session.Event
		bad    session.Event
	}{
		{"a gap", three, user(4)},
		{"a repeat", three, user(2)},
		{"a start behind zero", nil, user(1)},
		{"a negative seq", nil, user(-1)},
		{"a surface type without surfaceOp", three, session.Event{Seq: 3, Type: session.UserMessage}},
		{"an append on another type", three, session.Event{Seq: 3, Type: session.TurnEnd, Op: session.Op{Kind: session.OpAppend}}},
		{"a replacement on another type", three, with(replace(3, 0, 0, 0), func(e *session.Event) { e.Type = session.ToolCall })},
		{"sources on another type", three, session.Event{Seq: 3, Type: session.TurnEnd, Sources: []int64{0}}},
		{"empty sources on another type", three, session.Event{Seq: 3, Type: session.TurnEnd, Sources: []int64{}}},
		{"empty sources on a prompt", three, with(user(3), func(e *session.Event) { e.Sources = []int64{} })},
		{"empty sources on a result", three, with(result(3), func(e *session.Event) { e.Sources = []int64{} })},
		{"a source twice", three, with(user(3), func(e *session.Event) { e.Sources = []int64{0, 1, 0} })},
		{"a source twice in a row", three, with(user(3), func(e *session.Event) { e.Sources = []int64{1, 1} })},
		{"itself as a source", three, with(user(3), func(e *session.Event) { e.Sources = []int64{3} })},
		{"a later source", three, with(user(3), func(e *session.Event) { e.Sources = []int64{0, 9} })},
		{"a negative source", three, with(user(3), func(e *session.Event) { e.Sources = []int64{-1} })},
		{"replacing from nowhere", three, replace(3, 9, 2, 2)},
		{"replacing to nowhere", three, replace(3, 0, 9, 0, 1, 2)},
		{"replacing itself", three, replace(3, 3, 3)},
		{"replacing backwards", three, replace(3, 2, 0, 0, 1, 2)},
		{"replacing without citing", three, replace(3, 0, 1, 0)},
		{"replacing without any source", three, replace(3, 0, 1)},
		{"replacing what is gone", []session.Event{user(0), user(1), replace(2, 0, 0, 0)}, replace(3, 0, 1, 0, 1, 2)},
		{"replacing up to what is gone", []session.Event{user(0), user(1), replace(2, 1, 1, 1)}, replace(3, 0, 1, 0, 1, 2)},
		{"replacing a log-only event", []session.Event{log(0), user(1)}, replace(2, 0, 1, 0, 1)},
		{"a result in place of a prompt", three, prune(3, 0)},
		{"a result in place of two", []session.Event{result(0), result(1)}, with(replace(2, 0, 1, 0, 1), func(e *session.Event) { e.Type = session.ToolResult })},
		{
			"a result that changes more than its content",
			[]session.Event{with(result(0), func(e *session.Event) { e.Sameness = 7 })},
			with(prune(1, 0), func(e *session.Event) { e.Sameness = 8 }),
		},
		{"selecting what never was", three, choose(3, 0, 9)},
		{"selecting a log-only event", []session.Event{log(0), user(1)}, choose(2, 1, 0)},
		{"selecting itself", three, choose(3, 0, 3)},
		{"selecting twice", three, choose(3, -1, 0, 0)},
		{"selecting what is kept", three, choose(3, 1, 0)},
		{"keeping what never was", three, choose(3, 9)},
		{"keeping what is gone", []session.Event{user(0), user(1), choose(2, 0)}, choose(3, 1)},
		{"selecting too many", three, choose(3, -1, make([]int64, 1<<20)...)},
		{"a select that cites", three, with(choose(3, 0), func(e *session.Event) { e.Type, e.Sources = session.UserMessage, []int64{0} })},
		{"a run on the surface", three, with(user(3), func(e *session.Event) { e.Span = 2 })},
		{"a run beyond all numbers", three, with(log(3), func(e *session.Event) { e.Span = math.MaxInt64 })},
	} {
		t.Run(tc.name, func(t *testing.T) {
			f, _ := fold(t, tc.before)
			if c, err := f.Apply(&tc.bad); !errors.Is(err, fault.CorruptSession) {
				t.Errorf("got change %+v and error %v, want %v", c, err, fault.CorruptSession)
			}
		})
	}
}

func TestFoldNumbersHaveAnEnd(t *testing.T) {
	last := int64(math.MaxInt64 >> 20)
	var f session.Fold
	f.Resume(last)
	e := user(last)
	if _, err := f.Apply(&e); err != nil {
		t.Errorf("the last number is refused: %v", err)
	}
	e = user(last + 1)
	if _, err := f.Apply(&e); !errors.Is(err, fault.CorruptSession) {
		t.Errorf("a number behind the last gives %v", err)
	}
}

// An unknown sameness (0) on either side is not held against a pruned result.
func TestSameness(t *testing.T) {
	for _, tc := range []struct {
		old, new uint64
		want     bool
	}{{7, 7, true}, {7, 8, false}, {0, 8, true}, {7, 0, true}, {0, 0, true}} {
		a, b := result(0), prune(1, 0)
		a.Sameness, b.Sameness = tc.old, tc.new
		f, _ := fold(t, []session.Event{a})
		if _, err := f.Apply(&b); (err == nil) != tc.want {
			t.Errorf("%d to %d: error %v, want allowed %v", tc.old, tc.new, err, tc.want)
		}
	}
}

// A resumed fold takes appends and refuses to guess what came before.
func TestResume(t *testing.T) {
	var f session.Fold
	f.Resume(10)
	e := user(10)
	if c, err := f.Apply(&e); err != nil || !c.Joined {
		t.Fatalf("append after resume: %+v, %v", c, err)
	}
	e = replace(11, 4, 10, 4, 10)
	if !session.Needs(&e) {
		t.Error("a replacement does not say that it needs what came before")
	}
	if _, err := f.Apply(&e); !errors.Is(err, fault.CorruptSession) {
		t.Errorf("a replacement of the unknown gives %v", err)
	}
	for _, e := range []session.Event{log(0), user(0)} {
		if session.Needs(&e) {
			t.Errorf("%s says that it needs what came before", e.Type)
		}
	}
	if e := choose(0, -1); !session.Needs(&e) {
		t.Error("a select does not say that it needs what came before")
	}
}

// A log whose every event rewinds must not cost the square of its length in
// kept data: the changes of n rewinds of one entry each hold n removals.
func TestRewindsAreDeltas(t *testing.T) {
	const n = 2000
	var events []session.Event
	for range n {
		next := int64(len(events))
		events = append(events, user(next))
	}
	for range n {
		next := int64(len(events))
		events = append(events, user(next), choose(next+1, n-1))
	}
	f, changes := fold(t, events)
	total := 0
	for _, c := range changes {
		total += len(c.Removed) + len(c.Restored)
	}
	if total != n || len(f.Surface()) != n {
		t.Errorf("%d removals and restorations for %d rewinds of one entry, surface of %d", total, n, len(f.Surface()))
	}
}

func TestStateNames(t *testing.T) {
	for state, name := range map[session.State]string{session.Current: "current", session.Shadowed: "shadowed", session.LogOnly: "log-only"} {
		if state.String() != name {
			t.Errorf("%d is called %s, want %s", state, state, name)
		}
		if got, ok := session.ParseState(name); !ok || got != state {
			t.Errorf("%s parses to %v, %v", name, got, ok)
		}
	}
	for _, name := range []string{"", "Current", "log_only"} {
		if got, ok := session.ParseState(name); ok {
			t.Errorf("%q parses to %v", name, got)
		}
	}
}

// sorted returns what a store would hand to Restore.
func sorted(nodes []session.Node) []session.Node {
	slices.SortFunc(nodes, func(a, b session.Node) int { return cmp.Or(cmp.Compare(a.Order, b.Order), cmp.Compare(a.Seq, b.Seq)) })
	return nodes
}

func ExampleFold() {
	var f session.Fold
	for _, e := range []session.Event{user(0), user(1), user(2), replace(3, 0, 1, 0, 1)} {
		if _, err := f.Apply(&e); err != nil {
			fmt.Println(err)
		}
	}
	state, by := f.State(1)
	fmt.Println(f.Surface(), state, "by", by)
	// Output: [3 2] shadowed by 3
}
