package tui

import (
	"slices"
	"time"

	"github.com/yorehq/yore/internal/render"
	"github.com/yorehq/yore/query"
	"github.com/yorehq/yore/session"
)

// facet is one thing by which sessions and events are chosen and ranked.
type facet uint8

const (
	byWorkspace facet = iota
	byAgent
	byTime
	byType
	byState
	byOrder
	byMatch
	facets // how many there are
)

// choice is one value of a facet: the first of a facet's choices is its
// default and needs no chip.
type choice struct {
	name  string        // as the filters' page has it
	chip  string        // as a chip; "" is name
	value string        // of an agent, a type, a workspace, an order or a match
	age   time.Duration // of a time
	state session.State
}

// filters are what is chosen of each facet. They are compared by key.
type filters struct {
	choices [facets][]choice
	chosen  [facets]int
	added   []facet // those that are not at their default, in the order they were chosen
}

// The event types that are worth choosing by: those with text.
var eventTypes = [...]string{"user/message", "assistant/message", "tool/call", "tool/result", "todo/write", "turn/end"}

func newFilters(o *Options) filters {
	var f filters
	here := choice{name: "this one", value: o.Workspace}
	everywhere := choice{name: "all", chip: "all workspaces"}
	switch {
	case o.Workspace == "":
		f.choices[byWorkspace] = []choice{everywhere}
	case o.All:
		here.chip = "in " + o.Workspace
		f.choices[byWorkspace] = []choice{everywhere, here}
	default:
		f.choices[byWorkspace] = []choice{here, everywhere}
	}
	f.choices[byAgent] = []choice{{name: "any"}}
	for _, a := range o.Agents {
		f.choices[byAgent] = append(f.choices[byAgent], choice{name: string(a), value: string(a)})
	}
	const day = 24 * time.Hour
	f.choices[byTime] = []choice{
		{name: "any"}, {name: "last hour", age: time.Hour}, {name: "last day", age: day}, {name: "last week", age: 7 * day},
		{name: "last month", age: 30 * day}, {name: "last year", age: 365 * day},
	}
	f.choices[byType] = []choice{{name: "any"}}
	for _, t := range eventTypes {
		f.choices[byType] = append(f.choices[byType], choice{name: t, value: t})
	}
	f.choices[byState] = []choice{{name: "any"}}
	for _, s := range []session.State{session.Current, session.Shadowed, session.LogOnly} {
		f.choices[byState] = append(f.choices[byState], choice{name: s.String(), state: s})
	}
	f.choices[byOrder] = ranked(string(o.Order), choice{name: "relevance", chip: "by relevance", value: string(query.Relevance)},
		choice{name: "matches", chip: "by matches", value: string(query.Matches)})
	f.choices[byMatch] = ranked(string(o.Match), choice{name: "auto", chip: "auto match", value: string(query.Auto)},
		choice{name: "literal", chip: "literal match", value: string(query.Literal)})
	return f
}

// ranked puts the configured one of two choices first.
func ranked(first string, a, b choice) []choice {
	if first == b.value {
		return []choice{b, a}
	}
	return []choice{a, b}
}

var facetNames = [facets]string{"workspace", "agent", "time", "event type", "state", "order", "match"}

// choose sets a facet to one of its choices.
func (f *filters) choose(by facet, n int) {
	f.chosen[by] = n
	f.added = slices.DeleteFunc(slices.Clone(f.added), func(x facet) bool { return x == by })
	if n != 0 {
		f.added = append(f.added, by)
	}
}

// turn moves a facet to its next choice, or the one before.
func (f *filters) turn(by facet, step int) {
	n := len(f.choices[by])
	f.choose(by, (f.chosen[by]+step+n)%n)
}

// drop removes the filter that was added last.
func (f *filters) drop() {
	if n := len(f.added); n > 0 {
		f.choose(f.added[n-1], 0)
	}
}

// clear removes every filter.
func (f *filters) clear() { f.chosen, f.added = [facets]int{}, nil }

func (f *filters) at(by facet) choice { return f.choices[by][f.chosen[by]] }

// key tells two sets of filters apart.
func (f *filters) key() [facets]int { return f.chosen }

// scope is the workspaces that are looked at.
func (f *filters) scope() session.Scope {
	if w := f.at(byWorkspace).value; w != "" {
		return session.Scope{Workspaces: []string{w}}
	}
	return session.Scope{All: true}
}

// everywhere reports whether several workspaces are looked at.
func (f *filters) everywhere() bool { return f.scope().All }

// since is the earliest time that passes, in epoch milliseconds; nil: any.
func (f *filters) since(now time.Time) *int64 {
	age := f.at(byTime).age
	if age == 0 {
		return nil
	}
	ms := now.Add(-age).UnixMilli()
	return &ms
}

func (f *filters) sessions() query.SessionFilter {
	s := query.SessionFilter{Scope: f.scope()}
	if a := f.at(byAgent).value; a != "" {
		s.Agents = []session.Agent{session.Agent(a)}
	}
	return s
}

func (f *filters) events(now time.Time) query.EventFilter {
	var e query.EventFilter
	e.Time.From = f.since(now)
	if t := f.at(byType).value; t != "" {
		e.Types = []string{t}
	}
	if f.chosen[byState] != 0 {
		e.States = []session.State{f.at(byState).state}
	}
	return e
}

// chips is the row that shows where is searched and what is filtered.
func (f *filters) chips() line {
	where := "all workspaces"
	if w := f.at(byWorkspace).value; w != "" {
		where = render.Name(w)
	}
	row := join(say(faint, "in "), quote(strong, tail(where, 48)))
	for _, by := range f.added {
		if by == byWorkspace {
			continue
		}
		c := f.at(by)
		text := c.name
		if c.chip != "" {
			text = c.chip
		}
		row = join(row, say(plain, "  "), say(chip, " "), quote(chip, text), say(chip, " "))
	}
	return row
}
