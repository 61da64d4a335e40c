package tui

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/yorehq/yore/authz"
	"github.com/yorehq/yore/internal/render"
	"github.com/yorehq/yore/query"
	"github.com/yorehq/yore/session"
)

const (
	firstHits = 60   // how many hits are asked for at first
	mostHits  = 1000 // and at most, when a person goes on to the end of the list
)

// item is one row of the list: a session, and of a search its best event.
type item struct {
	info query.Info
	hit  *query.EventHit
}

// asked is what a list is the answer to.
type asked struct {
	query   string
	filters [facets]int
}

// found is an answer to a search, or to an empty query: the newest sessions.
type found struct {
	items    []item
	rest     string // what was added to finish the word that is being typed
	more     bool
	coverage session.Coverage
}

// results are the list of hits.
type results struct {
	job   job
	to    asked // what the list answers, or will
	limit int
	found
	mine  int  // how many of the items are this machine's; the team's follow
	ready bool // found is the answer to what is asked
	err   error
	sel   int
	top   int // first item that is shown
	team  theirs
}

// begin notes that another question is asked: the old answer is gone, unless the
// same is asked again.
func (r *results) begin(to asked, limit int) {
	if r.to != to || r.err != nil {
		r.found, r.mine, r.ready, r.err, r.sel, r.top = found{}, 0, false, nil, 0, 0
	}
	r.to, r.limit = to, limit
}

// settle takes an answer, and keeps the chosen session chosen.
func (r *results) settle(a answer) {
	var was *item
	if r.ready && r.sel > 0 {
		was = r.selected()
	}
	r.err, r.ready = a.err, true
	r.found, _ = a.body.(found)
	r.mine = len(r.items)
	r.gather()
	if was != nil {
		for i := range r.items {
			if query.TargetOf(r.items[i].info.Header) == query.TargetOf(was.info.Header) {
				r.sel = i
				break
			}
		}
	}
	r.move(0)
}

// words are what the list answers: the query as typed, its last word finished.
func (r *results) words() string { return r.to.query + r.rest }

func (r *results) selected() *item {
	if r.sel >= len(r.items) {
		return nil
	}
	return &r.items[r.sel]
}

// move moves the choice and reports whether it came to another item.
func (r *results) move(by int) bool {
	before := r.sel
	r.sel = max(0, min(r.sel+by, len(r.items)-1))
	return r.sel != before
}

// wantsMore reports whether the end of this machine's hits is reached and there is
// more behind it.
func (r *results) wantsMore() bool {
	return r.ready && r.more && r.sel >= r.mine-1 && r.limit < mostHits
}

// search asks the corpus, as it is indexed.
func search(ctx context.Context, v *authz.View, text string, f *filters, o *Options, limit int, now time.Time) (any, error) {
	if strings.TrimSpace(text) == "" {
		return recent(ctx, v, f, limit, now)
	}
	rest, err := v.Complete(ctx, f.sessions().Scope, text)
	if err != nil {
		return nil, err
	}
	page, err := v.SearchSessions(ctx, query.SessionSearch{
		Query: text + rest, Match: query.Match(f.at(byMatch).value), Order: query.Order(f.at(byOrder).value),
		Sessions: f.sessions(), Events: f.events(now), Inherited: o.Inherited, Limit: limit,
	})
	if err != nil {
		return nil, err
	}
	out := found{rest: rest, more: page.More, coverage: page.Coverage}
	for i := range page.Hits {
		out.items = append(out.items, item{page.Hits[i].Info, &page.Hits[i].Best})
	}
	return out, nil
}

// recent lists the newest sessions. Of the filters on events only the time means
// something for a whole session.
func recent(ctx context.Context, v *authz.View, f *filters, limit int, now time.Time) (any, error) {
	list, err := v.List(ctx, f.sessions(), limit, "")
	if err != nil {
		return nil, err
	}
	out := found{more: list.Next != "", coverage: list.Coverage}
	since := f.since(now)
	for _, info := range list.Sessions {
		if since == nil || info.Changed >= *since {
			out.items = append(out.items, item{info: info})
		}
	}
	return out, nil
}

// view draws the list.
func (r *results) view(width, height int, focused bool, s *scene) []line {
	if height < 1 {
		return nil
	}
	if !r.ready || r.err != nil || len(r.items) == 0 {
		return r.empty(width)
	}
	roomy := height >= 15
	r.top = min(r.top, r.sel)
	for used := 0; ; r.top++ {
		used = 0
		for i := r.top; i <= r.sel; i++ {
			used += r.rows(i, roomy)
		}
		if used <= height || r.top == r.sel {
			break
		}
	}
	var out []line
	for i := r.top; i < len(r.items) && len(out) < height; i++ {
		out = append(out, r.block(i, width, roomy, focused, s)...)
	}
	return out[:min(len(out), height)]
}

// empty says why there is nothing to list.
func (r *results) empty(width int) []line {
	text := "searching …"
	switch {
	case !r.ready:
	case r.err != nil:
		var rows []line
		for _, m := range wrap(failure(r.err), width-1) {
			rows = append(rows, join(say(plain, " "), quote(warning, failure(r.err)[m.Start:m.End])))
		}
		return rows
	case strings.TrimSpace(r.to.query) == "":
		text = "no sessions"
	default:
		text = "no session matches"
	}
	return []line{say(faint, " "+text)}
}

// rows is how many rows an item takes.
func (r *results) rows(i int, roomy bool) int {
	n := 2
	if roomy && r.items[i].hit != nil {
		n = 3
	}
	return n + len(r.headings(i))
}

// block draws one item.
func (r *results) block(i, width int, roomy, focused bool, s *scene) []line {
	it := &r.items[i]
	bar, title := say(plain, "  "), plain
	if i == r.sel {
		bar, title = say(accent, "▌ "), strong
		if !focused {
			bar = say(faint, "▌ ")
		}
	}
	var out []line
	for _, text := range r.headings(i) {
		out = append(out, quote(faint, text).fit(width))
	}
	when := it.info.Changed
	if it.hit != nil {
		when = it.hit.Time
	}
	ago := age(s.now, when)
	room := width - 3 - cells(ago)
	out = append(out, join(bar, titled(it.info, title).fit(room), say(plain, " "), say(faint, ago)))
	about := about(it.info, s.everywhere)
	if it.hit == nil {
		return append(out, join(bar, about).fit(width))
	}
	if roomy {
		out = append(out, join(bar, event(it.hit.Seq, it.hit.Type, it.hit.State), say(faint, " · "), about).fit(width))
	}
	return append(out, join(bar, highlighted(plain, it.hit.Snippet, r.words())).fit(width))
}

// titled is a session's title.
func titled(info query.Info, l look) line {
	if info.TitleFail != "" {
		return join(say(l, query.Untitled), say(warning, " ("+string(info.TitleFail)+")"))
	}
	if strings.TrimSpace(info.Title) == "" {
		return say(l, query.Untitled)
	}
	return quote(l, info.Title)
}

// about names a session: its agent, its id, and where it was, if that is not clear.
func about(info query.Info, everywhere bool) line {
	l := say(faint, string(info.Header.Agent)+" ")
	if everywhere {
		l = join(l, quote(faint, tail(render.Workspace(info.Header), 32)), say(faint, " "))
	}
	if info.Live {
		l = join(l, say(current, "live "))
	}
	return join(l, quote(faint, render.Name(string(info.Header.ID))))
}

// event names an event.
func event(seq int64, typ string, state session.State) line {
	return join(say(faint, fmt.Sprintf("#%d ", seq)), quote(accent, render.Name(typ)), say(plain, " "), say(stateLook(state), state.String()))
}

func stateLook(s session.State) look {
	switch s {
	case session.Current:
		return current
	case session.Shadowed:
		return shadowed
	}
	return logOnly
}

// age is how long ago something was, in the largest unit that fits: at most four columns.
func age(now time.Time, ms int64) string {
	minutes := (now.UnixMilli() - ms) / 60_000
	switch {
	case ms <= 0:
		return ""
	case minutes < 1:
		return "now"
	case minutes < 60:
		return fmt.Sprintf("%dm", minutes)
	case minutes < 24*60:
		return fmt.Sprintf("%dh", minutes/60)
	case minutes < 100*24*60:
		return fmt.Sprintf("%dd", minutes/60/24)
	case minutes < 730*24*60:
		return fmt.Sprintf("%dmo", minutes/60/24*12/365)
	}
	return fmt.Sprintf("%dy", min(minutes/60/24/365, 999))
}
