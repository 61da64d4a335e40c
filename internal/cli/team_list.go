package cli

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/yorehq/yore/fault"
	"github.com/yorehq/yore/internal/team"
	"github.com/yorehq/yore/query"
	"github.com/yorehq/yore/session"
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
	putTime(args, "created_at_from", created.From)
	putTime(args, "created_at_to", created.To)
	return a.askTeam(ctx, o.scope, "list", args, true), nil
}

// sessionLine is a session in the server's JSON.
type sessionLine struct {
	ID          string        `json:"id"`
	Agent       session.Agent `json:"agent"`
	Title       string        `json:"title"`
	TitleError  fault.Code    `json:"title_error"`
	CreatedAt   string        `json:"created_at"`
	ChangedAt   string        `json:"changed_at"`
	Workspace   string        `json:"workspace"`
	Events      int64         `json:"events"`
	Origin      string        `json:"origin"`
	AgentPreset string        `json:"agent_preset"`
	Error       fault.Code    `json:"error"`
	Masked      int           `json:"masked"`
}

// info is the session as this machine would know it. Whose child it is, is not in
// a list.
func (s *sessionLine) info() query.Info {
	i := query.Info{Title: s.Title, TitleFail: s.TitleError, Events: s.Events, Fault: s.Error, Masked: s.Masked, Persisted: true}
	i.Header = session.Header{
		ID: session.ID(s.ID), Agent: s.Agent, CreatedAt: millis(s.CreatedAt), Cwd: s.Workspace, Origin: s.Origin, AgentPreset: s.AgentPreset,
	}
	i.Changed = millis(s.ChangedAt)
	return i
}

// millis reads a time as the server prints it, in epoch milliseconds; 0 if it is none.
func millis(text string) int64 {
	t, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return 0
	}
	return t.UnixMilli()
}

// teamSessions reads the lines of a list.
func teamSessions(lines []byte) (all []query.Info, more bool) {
	for line := range strings.Lines(string(lines)) {
		var l struct {
			sessionLine
			Coverage *struct{} `json:"coverage"`
			More     bool      `json:"more"`
		}
		switch {
		case json.Unmarshal([]byte(line), &l) != nil:
		case l.Coverage != nil:
			more = l.More
		case l.ID != "":
			all = append(all, l.info())
		}
	}
	return all, more
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
	all, more := teamSessions(q.lines)
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
	_, more := teamSessions(q.lines)
	a.noteOrder(more)
	for line := range strings.Lines(string(q.lines)) {
		if one, _ := teamSessions([]byte(line)); len(one) == 1 {
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

// beside says where the team's sessions are, for what shows this machine's alone;
// "" without a team.
func (a *app) beside() string {
	if a.settings.team.url == "" {
		return ""
	}
	return "This is the history of this machine. The team's: yore search, yore list and yore show."
}
