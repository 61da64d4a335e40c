package tui

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/yorehq/yore/internal/team"
	"github.com/yorehq/yore/query"
	"github.com/yorehq/yore/session"
)

// The team's sessions stand behind this machine's in the list, under a heading of
// their own, once its server has answered. This machine's never wait for it.

const (
	teamHits  = 30                     // sessions that are asked for
	teamPause = 250 * time.Millisecond // of nothing typed or chosen, before the server is asked
)

// theirs is the team's part of the list.
type theirs struct {
	job   job
	to    asked // what it answers, or will
	host  string
	items []item
	more  bool
	ready bool
	err   error
}

// ofTeam reports whether a session is the team's.
func (m *Model) ofTeam(k session.Key) bool { return m.o.Team != nil && team.Ours(k) }

// askTeam puts the question of the moment to the team, unless that was done.
func (m *Model) askTeam() tea.Cmd {
	t, to := &m.results.team, m.asked()
	if m.o.Team == nil || t.to == to && (t.job.busy() || t.ready && t.err == nil) {
		return nil
	}
	t.job.stop()
	*t = theirs{to: to, host: m.o.Team.Server.Host()}
	m.results.gather()
	f, now := m.filters, m.o.Now()
	return m.desk.ask(&t.job, func(ctx context.Context) (any, error) {
		if err := rest(ctx, teamPause); err != nil {
			return nil, err
		}
		return teamSearch(ctx, m.o.Team, to.query, &f, now)
	})
}

// rest waits while somebody may go on typing.
func rest(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}

// teamSearch asks the team what search asks this machine.
func teamSearch(ctx context.Context, h *team.History, text string, f *filters, now time.Time) (any, error) {
	var out found
	if strings.TrimSpace(text) == "" {
		list, err := h.List(ctx, f.sessions(), teamHits)
		since := f.since(now)
		for _, info := range list.Sessions {
			if since == nil || info.Changed >= *since {
				out.items = append(out.items, item{info: info})
			}
		}
		out.more = list.More
		return out, err
	}
	page, err := h.Search(ctx, query.SessionSearch{
		Query: text, Match: query.Match(f.at(byMatch).value), Sessions: f.sessions(), Events: f.events(now), Limit: teamHits,
	})
	for i := range page.Hits {
		out.items = append(out.items, item{page.Hits[i].Info, &page.Hits[i].Best})
	}
	out.more, out.coverage = page.More, page.Coverage
	return out, err
}

// settleTeam takes the team's answer.
func (r *results) settleTeam(a answer) {
	found, _ := a.body.(found)
	r.team.items, r.team.more, r.team.err, r.team.ready = found.items, found.more, a.err, true
	r.gather()
}

// gather puts the team's items behind this machine's.
func (r *results) gather() {
	r.items = append(r.items[:r.mine:r.mine], r.team.items...)
	r.move(0)
}

// headings are the rows that stand over an item.
func (r *results) headings(i int) (over []string) {
	if i == r.mine {
		over = append(over, "── team history, from "+r.team.host+" ──")
	}
	first := func(from, to int) bool { // whether the first one that holds only some of the words is i
		for ; from < to; from++ {
			if h := r.items[from].hit; h != nil && h.Partial {
				return from == i
			}
		}
		return false
	}
	if first(0, r.mine) || first(r.mine, len(r.items)) {
		over = append(over, "── not literal: only some of the words ──")
	}
	return over
}

// count says how many sessions the team has found; "" where nothing is to be said.
func (t *theirs) count() string {
	switch {
	case t.host == "", t.ready && t.err != nil:
		return ""
	case !t.ready:
		return ", team …"
	case t.more:
		return fmt.Sprintf(", %d+ of the team", len(t.items))
	}
	return fmt.Sprintf(", %d of the team", len(t.items))
}

// note says why the team's part is missing.
func (t *theirs) note() string {
	switch {
	case t.err == nil, errors.Is(t.err, context.Canceled):
		return ""
	case errors.Is(t.err, team.ErrFilter):
		return "the team is not asked: it cannot filter by agent"
	}
	return "team history: missing. " + failure(t.err)
}
