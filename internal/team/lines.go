package team

import (
	"encoding/json"
	"net/url"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/yorehq/yore/authz"
	"github.com/yorehq/yore/fault"
	"github.com/yorehq/yore/query"
	"github.com/yorehq/yore/session"
)

// The server's JSON is that of the command line (internal/render); this file reads
// it back into what this machine's own history answers with. Whatever is not in
// the JSON is zero.

// errForm is the failure of an answer that is none.
var errForm = fault.New(fault.ToolFailed, "the team's server did not answer as one")

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

// info is the session as this machine would know it.
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

type eventLine struct {
	Seq     int64   `json:"seq"`
	Type    string  `json:"type"`
	Surface string  `json:"surface"`
	Time    string  `json:"time"`
	Text    string  `json:"text"`    // of an entry
	Masked  int     `json:"masked"`  // of an entry or a hit
	Snippet string  `json:"snippet"` // these of a hit
	Matches int     `json:"matches"`
	Score   float64 `json:"score"`
	Partial bool    `json:"partial"`
	Clipped bool    `json:"clipped"`
}

func (e *eventLine) state() session.State {
	state, _ := session.ParseState(e.Surface)
	return state
}

func (e *eventLine) hit() query.EventHit {
	return query.EventHit{
		Seq: e.Seq, Type: e.Type, State: e.state(), Time: millis(e.Time), Snippet: e.Snippet, Count: e.Matches,
		Score: int64(e.Score*1e6 + 0.5), Partial: e.Partial, Clipped: e.Clipped, Masked: e.Masked,
	}
}

func (e *eventLine) entry() query.Entry {
	return query.Entry{Seq: e.Seq, Type: e.Type, State: e.state(), Time: millis(e.Time), Text: e.Text, Masked: e.Masked}
}

type passageLine struct {
	Event   eventLine `json:"event"`
	Ordinal int64     `json:"ordinal"`
	Role    string    `json:"role"`
	Tool    string    `json:"tool"`
	By      *int64    `json:"shadowed_by"`
	Text    string    `json:"text"`
	Cut     bool      `json:"cut"`
	Clipped bool      `json:"clipped"`
	Masked  int       `json:"masked"`
}

// passage is the passage; of one that is cut, Points is one more than its text has.
func (l *passageLine) passage() query.Passage {
	p := query.Passage{
		Ordinal: l.Ordinal, Seq: l.Event.Seq, Type: l.Event.Type, Tool: l.Tool, Time: millis(l.Event.Time), State: l.Event.state(), By: -1,
		Points: int32(utf8.RuneCountInString(l.Text)), Clipped: l.Clipped, Text: l.Text, Cut: l.Cut, Masked: l.Masked,
	}
	if l.Cut {
		p.Points++
	}
	if l.By != nil {
		p.By = *l.By
	}
	for _, r := range []query.Role{query.RoleFirstPrompt, query.RoleUser, query.RoleAssistant, query.RoleCall, query.RoleResult, query.RoleContext} {
		if r.String() == l.Role {
			p.Role = r
		}
	}
	return p
}

// Piece reads a piece of a session, as the server's show tells it.
func Piece(lines []byte) (list query.PassageList, err error) {
	head := true
	for line := range strings.Lines(string(lines)) {
		if head {
			var l struct {
				Session  sessionLine `json:"session"`
				Passages int64       `json:"passages"`
			}
			if json.Unmarshal([]byte(line), &l) != nil || l.Session.ID == "" {
				return list, errForm
			}
			list.Info, list.Total, head = l.Session.info(), l.Passages, false
			continue
		}
		var l passageLine
		if json.Unmarshal([]byte(line), &l) != nil {
			return list, errForm
		}
		list.Passages = append(list.Passages, l.passage())
	}
	if head {
		err = errForm
	}
	return list, err
}

// coverageLine is the last line of a search or a list.
type coverageLine struct {
	Coverage *struct {
		Sessions int    `json:"sessions"`
		Clipped  int    `json:"clipped"`
		Since    string `json:"since"`
	} `json:"coverage"`
	More bool `json:"more"`
}

func (c *coverageLine) coverage() session.Coverage {
	return session.Coverage{Sessions: c.Coverage.Sessions, Clipped: c.Coverage.Clipped, Since: millis(c.Coverage.Since)}
}

// Sessions reads the lines of a list; more says that others follow.
func Sessions(lines []byte) (all []query.Info, more bool) {
	for line := range strings.Lines(string(lines)) {
		var l struct {
			sessionLine
			coverageLine
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

// hitsOf reads the lines of a search over sessions or in one.
func hitsOf(lines []byte) (hits []authz.SessionHit, end coverageLine, err error) {
	for line := range strings.Lines(string(lines)) {
		var l struct {
			Session sessionLine     `json:"session"`
			Parent  json.RawMessage `json:"parent"`
			Event   eventLine       `json:"event"`
			Forks   []struct {
				ID    session.ID    `json:"id"`
				Agent session.Agent `json:"agent"`
			} `json:"forks"`
			coverageLine
		}
		if json.Unmarshal([]byte(line), &l) != nil {
			return nil, end, errForm
		}
		if l.Coverage != nil {
			return hits, l.coverageLine, nil
		}
		h := authz.SessionHit{SessionHit: query.SessionHit{Info: l.Session.info(), Best: l.Event.hit()}}
		var parent session.Key
		switch {
		case string(l.Parent) == `"outside"`:
			h.Parent.Kind = authz.ParentOutside
		case json.Unmarshal(l.Parent, &parent) == nil && parent.ID != "":
			h.Parent = authz.Parent{Kind: authz.ParentVisible, Key: parent}
		}
		for _, f := range l.Forks {
			h.Forks = append(h.Forks, session.Key{Agent: f.Agent, ID: f.ID})
		}
		hits = append(hits, h)
	}
	return nil, end, errForm // the last line says that it is the last one
}

// Arguments are a search's words and filters as the tool's arguments; ok is false
// where a filter has no such form: the server cannot be asked then.
func Arguments(text string, match query.Match, sessions query.SessionFilter, events query.EventFilter) (args map[string]any, ok bool) {
	if len(sessions.IDs) > 0 || len(sessions.Parents) > 0 || len(sessions.Agents) > 0 || len(sessions.Availability) > 0 || sessions.Roots {
		return nil, false
	}
	args = map[string]any{"query": text, "match": string(match)}
	PutTime(args, "created_at_from", sessions.CreatedAt.From)
	PutTime(args, "created_at_to", sessions.CreatedAt.To)
	PutTime(args, "event_time_from", events.Time.From)
	PutTime(args, "event_time_to", events.Time.To)
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

// PutTime adds a time in epoch milliseconds to arguments, if it is given.
func PutTime(args map[string]any, name string, ms *int64) {
	if ms != nil {
		args[name] = time.UnixMilli(*ms).UTC().Format("2006-01-02T15:04:05.000Z")
	}
}

// Parameters are arguments as those of a URL.
func Parameters(args map[string]any) url.Values {
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
