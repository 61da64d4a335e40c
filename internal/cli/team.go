package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/yorehq/yore/fault"
	"github.com/yorehq/yore/internal/render"
	"github.com/yorehq/yore/internal/team"
	"github.com/yorehq/yore/query"
	"github.com/yorehq/yore/session"
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
	var only []string
	if !s.all {
		dir, err := s.workspace()
		if err != nil {
			ask.err = err
			return ask
		}
		workspace = a.settings.team.name(dir)
		only = []string{workspace}
	}
	ask.going.Go(func() {
		if lines {
			ask.lines, ask.err = server.Lines(ctx, what, team.Parameters(args), only...)
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
	args, ok := team.Arguments(text, a.settings.match, sessions, events)
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
		text, err := server.Lines(ctx, what, team.Parameters(args))
		if err != nil {
			return true, server.Failure(err, 0)
		}
		return true, a.emit(string(text))
	}
	text, err := json.Marshal(args)
	if err != nil {
		return true, err
	}
	answer, err := server.Ask(ctx, team.Question{Tool: tool, Args: text})
	if err != nil {
		return true, server.Failure(err, 0)
	}
	return true, a.emitPainted(strings.TrimRight(answer.Text, "\n") + "\n")
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
	lines, err := server.Lines(ctx, "events", team.Parameters(args))
	if err != nil {
		return true, server.Failure(err, 0)
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
	of, err := (&team.History{Server: server}).Session(query.Target{Key: session.Key{ID: session.ID(id)}})
	if err != nil {
		return err
	}
	w, err := of.Read(ctx, seq, 0, 0)
	if err != nil {
		return err
	}
	if a.screen {
		return a.emit(render.Escaped(string(w.Event.Native)))
	}
	_, err = a.raw.Write(w.Event.Native)
	return err
}
