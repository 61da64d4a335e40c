package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/yorehq/yore/fault"
	"github.com/yorehq/yore/internal/render"
	"github.com/yorehq/yore/internal/team"
	"github.com/yorehq/yore/query"
)

// A search of the command line is answered by this machine and, where a team's
// server is configured, by the team, each under a heading of its own. A session
// that has the prefix of the team is read and traced over there.

// asking is a question that is on its way to the team's server.
type asking struct {
	server *team.Server
	began  time.Time
	going  sync.WaitGroup
	answer team.Answer
	lines  []byte
	err    error
}

// askTeam begins to ask the team, while this machine looks for itself; nil: there
// is no team. what is the server's name for the question; lines asks for JSON.
func (a *app) askTeam(ctx context.Context, s scope, what string, args map[string]any, lines bool) *asking {
	server, err := a.teamServer()
	if server == nil && err == nil {
		return nil
	}
	ask := &asking{server: server, began: time.Now()}
	if err != nil {
		ask.err = err
		return ask
	}
	workspace := ""
	if !s.all {
		dir, err := s.workspace()
		if err != nil {
			ask.err = err
			return ask
		}
		workspace = a.settings.team.name(dir)
	}
	ask.going.Go(func() {
		if lines {
			ask.lines, ask.err = server.Lines(ctx, what, workspace, parameters(args))
			return
		}
		text, err := json.Marshal(args)
		if err == nil {
			ask.answer, err = server.Ask(ctx, team.Question{Tool: "session_search", Args: text, Workspace: workspace})
		}
		ask.err = err
	})
	return ask
}

// alsoTeam begins to ask the team what a search asks; nil: it is not asked.
func (a *app) alsoTeam(ctx context.Context, o searchOptions, text string, sessions query.SessionFilter, events query.EventFilter) *asking {
	if a.settings.team.url == "" {
		return nil
	}
	args, ok := a.teamArgs(text, sessions, events)
	if !ok {
		a.note("The team is not asked: it cannot filter by session, parent, agent or availability.")
		return nil
	}
	return a.askTeam(ctx, o.scope, "search", args, o.json)
}

// part waits for the team's part of an answer; it comes by the deadline that the
// server has, or as the word that it is missing.
func (q *asking) part() string {
	q.going.Wait()
	if q.server == nil {
		return "[team history: missing. " + fault.SafeText(q.err) + "]\n"
	}
	return (&team.Tools{Server: q.server}).Part(q.answer, q.err, time.Since(q.began)) + "\n"
}

// emitTeam prints the team's part of an answer.
func (a *app) emitTeam(q *asking) error {
	if q == nil {
		return nil
	}
	text := q.part()
	a.partial = a.partial || q.err != nil
	return a.emit("\n" + text)
}

// emitTeamLines prints the team's hits as JSON, and last whether it answered.
func (a *app) emitTeamLines(q *asking) error {
	if q == nil {
		return nil
	}
	q.going.Wait()
	state := map[string]any{"answered": q.err == nil}
	if q.server != nil {
		state["host"] = q.server.Host()
	}
	if q.err != nil {
		a.partial = true
		state["error"] = fault.SafeText(q.err)
		if q.server != nil {
			state["error"] = q.server.Excuse(q.err, time.Since(q.began))
		}
	}
	for line := range strings.Lines(string(q.lines)) {
		if strings.HasPrefix(line, `{"coverage"`) {
			continue // the last line is about this machine
		}
		if err := a.emit(line); err != nil {
			return err
		}
	}
	text, err := json.Marshal(map[string]any{"team": state})
	if err != nil {
		return err
	}
	return a.emitLine(text)
}

// teamArgs are a search's words and filters as the tool's arguments; ok is false
// where a filter has no such form, and the team is not asked then.
func (a *app) teamArgs(text string, sessions query.SessionFilter, events query.EventFilter) (args map[string]any, ok bool) {
	args = map[string]any{"query": text, "match": string(a.settings.match)}
	if len(sessions.IDs) > 0 || len(sessions.Parents) > 0 || len(sessions.Agents) > 0 || len(sessions.Availability) > 0 || sessions.Roots {
		return nil, false
	}
	putTime(args, "created_at_from", sessions.CreatedAt.From)
	putTime(args, "created_at_to", sessions.CreatedAt.To)
	putTime(args, "event_time_from", events.Time.From)
	putTime(args, "event_time_to", events.Time.To)
	if events.Seq.From != nil {
		args["event_seq_from"] = *events.Seq.From
	}
	if events.Seq.To != nil {
		args["event_seq_to"] = *events.Seq.To
	}
	if events.Types != nil {
		args["event_types"] = events.Types
	}
	for _, s := range events.States {
		states, _ := args["event_surfaces"].([]string)
		args["event_surfaces"] = append(states, s.String())
	}
	return args, true
}

// putTime adds a time to arguments, if it is given.
func putTime(args map[string]any, name string, ms *int64) {
	if ms != nil {
		args[name] = time.UnixMilli(*ms).UTC().Format("2006-01-02T15:04:05.000Z")
	}
}

// parameters are arguments as those of a URL.
func parameters(args map[string]any) url.Values {
	out := url.Values{}
	for name, v := range args {
		switch v := v.(type) {
		case []string:
			out[name] = v
		case string:
			out.Set(name, v)
		default:
			text, _ := json.Marshal(v) // a number
			out.Set(name, string(text))
		}
	}
	return out
}

// fromTeam answers a command about one session of the team: what is the server's
// name for it (events, trace, event-trace, read), tool what answers in text. ours
// is false if the id is of this machine.
func (a *app) fromTeam(ctx context.Context, id, what, tool string, args map[string]any, lines bool) (ours bool, err error) {
	rest, ours := team.Split(id)
	if !ours {
		return false, nil
	}
	server, err := a.teamServer()
	if err != nil {
		return true, err
	}
	if server == nil {
		return true, noTeam(id)
	}
	args["session_id"] = rest
	if lines {
		text, err := server.Lines(ctx, what, "", parameters(args))
		if err != nil {
			return true, teamFailure(server, err)
		}
		return true, a.emit(string(text))
	}
	text, err := json.Marshal(args)
	if err != nil {
		return true, err
	}
	answer, err := server.Ask(ctx, team.Question{Tool: tool, Args: text})
	if err != nil {
		return true, teamFailure(server, err)
	}
	return true, a.emitPainted(strings.TrimRight(answer.Text, "\n") + "\n")
}

// teamFailure is a failure of the team's server as one of a command.
func teamFailure(server *team.Server, err error) error {
	if code, ok := fault.Of(err); ok {
		return fault.New(code, "%s", err.Error())
	}
	return fault.New(fault.Timeout, "%s", server.Excuse(err, 0))
}

// teamEvents lists the events of a team's session, or searches in them.
func (a *app) teamEvents(ctx context.Context, o eventsOptions, id, text string, search bool) (ours bool, err error) {
	if _, ours := team.Split(id); !ours {
		return false, nil
	}
	args := map[string]any{"limit": o.limit}
	if search {
		args["query"], args["match"] = text, string(a.settings.match)
		if !o.json {
			delete(args, "limit")
		}
	}
	if o.json || search {
		return a.fromTeam(ctx, id, "events", "session_event_search", args, o.json)
	}
	server, err := a.teamServer()
	if server == nil || err != nil {
		return a.fromTeam(ctx, id, "events", "", args, true)
	}
	rest, _ := team.Split(id)
	args["session_id"] = rest
	lines, err := server.Lines(ctx, "events", "", parameters(args))
	if err != nil {
		return true, teamFailure(server, err)
	}
	for line := range strings.Lines(string(lines)) {
		var l struct {
			Event *struct {
				Seq                       int64
				Type, Surface, Time, Text string
			}
		}
		if json.Unmarshal([]byte(line), &l) != nil || l.Event == nil {
			continue
		}
		e := l.Event
		row := fmt.Sprintf("#%d %s %s %s: %s\n", e.Seq, render.Name(e.Type), e.Surface, e.Time, render.Line(e.Text, maxEntry))
		if err := a.emitPainted(row); err != nil {
			return true, err
		}
	}
	return true, nil
}

// teamRecord prints the exact bytes of an event of a team's session.
func (a *app) teamRecord(ctx context.Context, id string, seq int64) error {
	server, err := a.teamServer()
	if server == nil || err != nil {
		_, err = a.fromTeam(ctx, id, "read", "", map[string]any{}, true)
		return err
	}
	rest, _ := team.Split(id)
	text, err := server.Lines(ctx, "read", "", parameters(map[string]any{"session_id": rest, "seq": seq}))
	if err != nil {
		return teamFailure(server, err)
	}
	var w struct {
		Native json.RawMessage `json:"native"`
		Base64 []byte          `json:"native_base64"`
	}
	if err := json.Unmarshal(text, &w); err != nil {
		return err
	}
	if w.Native != nil {
		w.Base64 = w.Native
	}
	if a.screen {
		return a.emit(render.Escaped(string(w.Base64)))
	}
	_, err = a.raw.Write(w.Base64)
	return err
}
