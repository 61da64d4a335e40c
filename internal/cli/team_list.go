package cli

import (
	"context"
	"slices"
	"strings"

	"github.com/yorehq/yore/fault"
	"github.com/yorehq/yore/internal/team"
	"github.com/yorehq/yore/query"
)

// teamList begins to ask the team for the list of its sessions, while this machine
// makes its own; nil: the team is not asked. In another order than the usual one
// the whole list is needed.
func (a *app) teamList(ctx context.Context, o listOptions, usual bool) (*asking, error) {
	if a.settings.team.url == "" {
		return nil, nil
	}
	s := &o.sessions
	if o.text != "" || len(s.ids)+len(s.agents)+len(s.parents)+len(s.availability) > 0 || s.roots {
		a.note("The team is not asked: its list cannot be filtered by text, session, parent, agent or availability.")
		return nil, nil
	}
	created, err := times("created", s.createdFrom, s.createdTo)
	if err != nil {
		return nil, err
	}
	args := map[string]any{"limit": o.limit}
	if !usual {
		args["limit"] = query.MaxLimit
	}
	team.PutTime(args, "created_at_from", created.From)
	team.PutTime(args, "created_at_to", created.To)
	return a.askTeam(ctx, o.scope, "list", args, true), nil
}

// emitTeamList prints the team's part of a list.
func (a *app) emitTeamList(q *asking, o listOptions, columns []column, compare func(a, b query.Info) int, usual bool) error {
	if q == nil {
		return nil
	}
	q.going.Wait()
	if q.err != nil {
		return a.emitTeam(q)
	}
	all, more := team.Sessions(q.lines)
	if len(all) == 0 {
		return a.emit("\n[team history, from " + q.server.Host() + ": no session]\n")
	}
	if !usual {
		a.noteOrder(more)
		slices.SortStableFunc(all, compare)
		if len(all) > o.limit {
			all, more = all[:o.limit], true
		}
	}
	columns = slices.Clone(columns)
	for i, c := range columns {
		cell := c.cell
		columns[i].cell = func(corpus *corpus, info query.Info) string {
			if c.name == "resume" || c.name == "parent" || c.name == "kind" && info.Header.Origin == "" {
				return "-" // it is no session of this machine, and whose child it is, is not known here
			}
			return cell(corpus, info)
		}
	}
	if err := a.emit("\n[team history, from " + q.server.Host() + "; ids of its sessions begin with " + team.Prefix + "]\n"); err != nil {
		return err
	}
	if err := a.emitPainted(table(nil, columns, all, a.width())); err != nil {
		return err
	}
	if more {
		a.note("More sessions of the team follow: --limit takes more.")
	}
	return nil
}

// noteOrder says that the server has more sessions than it lists at a time, so that
// an order of this machine's making is one of the newest alone.
func (a *app) noteOrder(more bool) {
	if more {
		a.note("The team has more than %d sessions: the newest alone are in this order.", query.MaxLimit)
	}
}

// emitTeamListLines prints the team's sessions as JSON, and last whether it answered.
func (a *app) emitTeamListLines(q *asking, o listOptions, compare func(a, b query.Info) int, usual bool) error {
	if q == nil || usual {
		return a.emitTeamLines(q)
	}
	q.going.Wait()
	type row struct {
		line string
		info query.Info
	}
	var rows []row
	_, more := team.Sessions(q.lines)
	a.noteOrder(more)
	for line := range strings.Lines(string(q.lines)) {
		if one, _ := team.Sessions([]byte(line)); len(one) == 1 {
			rows = append(rows, row{line, one[0]})
		}
	}
	slices.SortStableFunc(rows, func(a, b row) int { return compare(a.info, b.info) })
	var sorted strings.Builder
	for _, r := range rows[:min(len(rows), o.limit)] {
		sorted.WriteString(r.line)
	}
	q.lines = []byte(sorted.String())
	return a.emitTeamLines(q)
}

// teamHistory is the team's history for what shows it beside this machine's; nil:
// there is none, or why says what keeps it away.
func (a *app) teamHistory() (h *team.History, why string) {
	server, err := a.teamServer()
	switch {
	case err != nil:
		return nil, "This is the history of this machine; the team's is missing. " + fault.SafeText(err) + "."
	case server == nil:
		return nil, ""
	}
	return &team.History{Server: server, Name: a.settings.team.name}, ""
}
