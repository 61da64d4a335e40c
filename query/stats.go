package query

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/yorehq/yore/session"
)

// Stats are counts over the sessions that pass a filter. What a fork inherited
// counts at its origin alone: neither its events nor its documents are counted
// again. Sessions whose logs cannot be read are left out.
type Stats struct {
	Total      Count
	Agents     []Count // most documents first, then by name
	Workspaces []Count // likewise
	Types      []Count // event types of documents; likewise
	Roles      []Count // likewise, named as Role.String does
	Tools      []Count // tools of calls and results, where they are known; likewise
	Days       []Count // of documents, named 2026-03-01 in the zone asked for; ascending
	Activity   []Activity
	First      int64 // time of the earliest document, epoch milliseconds; 0: none
	Last       int64 // time of the latest document
	Coverage   session.Coverage
	Masked     int // credentials in names that are masked
}

// Count is what one group holds. A session counts once in each group that it
// has a document in.
type Count struct {
	Name      string
	Sessions  int64
	Events    int64 // raw events; of Total, Agents and Workspaces only, else 0
	Documents int64 // events with text or a part in the surface
}

// Activity is what one agent did on one day; ascending by day, then by agent.
type Activity struct {
	Day       string
	Agent     session.Agent
	Sessions  int64
	Documents int64
}

// statBatch is how many records are looked at together.
const statBatch = 1 << 12

// Stats counts over the sessions that pass a filter. Days are those of zone
// (nil: UTC). It streams over the index's records; texts are read only where
// filter.Text asks for it.
func (e *Engine) Stats(ctx context.Context, filter SessionFilter, zone *time.Location) (Stats, error) {
	return steady(ctx, func() (Stats, error) { return e.stats(ctx, filter, zone) })
}

func (e *Engine) stats(ctx context.Context, filter SessionFilter, zone *time.Location) (out Stats, err error) {
	if err := normalText(&filter.Text); err != nil {
		return out, err
	}
	filter = filter.normal()
	if out.Coverage, err = e.refresh(ctx, filter.Scope, nil); err != nil {
		return out, err
	}
	vs, err := e.openViews(ctx, filter.Scope)
	if err != nil {
		return out, err
	}
	defer func() { err = errors.Join(err, vs.Close()) }()
	t := newTally(zone)
	if err := vs.chosen(ctx, &filter, &out.Coverage, func(v *view, en *entry) error {
		if en.row.Problem != nil {
			return nil
		}
		return t.session(ctx, v, en)
	}); err != nil {
		return out, err
	}
	t.into(&out)
	return out, nil
}

// tally is what Stats gathers.
type tally struct {
	calendar calendar
	total    Count
	groups   [groups]map[string]*Count
	activity map[[2]string]*Activity
	first    int64
	last     int64
}

// The groups of a tally.
const (
	byAgent = iota
	byWorkspace
	byType
	byRole
	byTool
	byDay
	groups
)

func newTally(zone *time.Location) *tally {
	if zone == nil {
		zone = time.UTC
	}
	t := &tally{calendar: calendar{zone: zone}, activity: map[[2]string]*Activity{}}
	for i := range t.groups {
		t.groups[i] = map[string]*Count{}
	}
	return t
}

// group returns the count of a name.
func (t *tally) group(by int, name string) *Count {
	c := t.groups[by][name]
	if c == nil {
		c = &Count{Name: name}
		t.groups[by][name] = c
	}
	return c
}

// session counts one session. seen holds what it was counted in already.
func (t *tally) session(ctx context.Context, v *view, en *entry) error {
	info := en.info(false)
	h := info.Header
	agent, workspace := t.group(byAgent, string(h.Agent)), t.group(byWorkspace, h.Cwd)
	own := max(0, info.Events-h.SeedLength)
	for _, c := range []*Count{&t.total, agent, workspace} {
		c.Sessions++
		c.Events += own
	}
	seen := map[any]bool{}
	end, err := v.ordinal(ctx, en, info.Events)
	if err != nil {
		return err
	}
	from, err := v.ordinal(ctx, en, h.SeedLength)
	if err != nil {
		return err
	}
	ids := make([]DocID, 0, min(statBatch, max(0, end-from)))
	for from < end {
		ids = ids[:0]
		for ; from < end && len(ids) < statBatch; from++ {
			ids = append(ids, NewDocID(en.row.Num, from))
		}
		docs, err := v.snap.Documents(ctx, ids)
		if err != nil {
			return err
		}
		for i := range docs {
			agent.Documents++
			workspace.Documents++
			t.document(&docs[i], h.Agent, seen)
		}
	}
	return nil
}

// document counts one document but for its agent and its workspace.
func (t *tally) document(d *Document, agent session.Agent, seen map[any]bool) {
	t.total.Documents++
	count := func(c *Count) {
		c.Documents++
		if !seen[c] {
			seen[c] = true
			c.Sessions++
		}
	}
	count(t.group(byType, d.Type))
	count(t.group(byRole, d.Role.String()))
	if d.Tool != "" {
		count(t.group(byTool, d.Tool))
	}
	if d.Time <= 0 {
		return // its log does not say when
	}
	day := t.calendar.day(d.Time)
	count(t.group(byDay, day))
	at := [2]string{day, string(agent)}
	a := t.activity[at]
	if a == nil {
		a = &Activity{Day: day, Agent: agent}
		t.activity[at] = a
	}
	a.Documents++
	if !seen[a] {
		seen[a] = true
		a.Sessions++
	}
	if t.first == 0 || d.Time < t.first {
		t.first = d.Time
	}
	t.last = max(t.last, d.Time)
}

func (t *tally) into(out *Stats) {
	most := func(by int) []Count {
		list := make([]Count, 0, len(t.groups[by]))
		for _, c := range t.groups[by] {
			list = append(list, *c)
		}
		slices.SortFunc(list, func(a, b Count) int {
			return cmp.Or(cmp.Compare(b.Documents, a.Documents), strings.Compare(a.Name, b.Name))
		})
		return list
	}
	out.Total, out.First, out.Last = t.total, t.first, t.last
	out.Agents, out.Workspaces, out.Types = most(byAgent), most(byWorkspace), most(byType)
	out.Roles, out.Tools, out.Days = most(byRole), most(byTool), most(byDay)
	slices.SortFunc(out.Days, func(a, b Count) int { return strings.Compare(a.Name, b.Name) })
	for _, a := range t.activity {
		out.Activity = append(out.Activity, *a)
	}
	slices.SortFunc(out.Activity, func(a, b Activity) int {
		return cmp.Or(strings.Compare(a.Day, b.Day), cmp.Compare(a.Agent, b.Agent))
	})
}

// calendar names days. It keeps the name it gave last: documents that follow
// each other are mostly of one day.
type calendar struct {
	zone  *time.Location
	piece int64 // the piece of time that the name is of; days begin and end between two
	name  string
}

func (c *calendar) day(ms int64) string {
	const quarter = 15 * 60 * 1000
	if piece := ms / quarter; c.name == "" || piece != c.piece {
		c.piece, c.name = piece, time.UnixMilli(ms).In(c.zone).Format(time.DateOnly)
	}
	return c.name
}
