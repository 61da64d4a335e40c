package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"strings"

	"github.com/yorehq/yore/fault"
	"github.com/yorehq/yore/internal/render"
	"github.com/yorehq/yore/internal/team"
	"github.com/yorehq/yore/query"
	"github.com/yorehq/yore/session"
)

// teamPage is how many passages of a team's session are asked for at a time: each
// question has the server's deadline.
const teamPage = 200

// passageLine is a passage in the server's JSON.
type passageLine struct {
	Event struct {
		Seq     int64  `json:"seq"`
		Type    string `json:"type"`
		Surface string `json:"surface"`
		Time    string `json:"time"`
	} `json:"event"`
	Ordinal int64  `json:"ordinal"`
	Role    string `json:"role"`
	Tool    string `json:"tool"`
	By      *int64 `json:"shadowed_by"`
	Text    string `json:"text"`
	Cut     bool   `json:"cut"`
	Clipped bool   `json:"clipped"`
	Masked  int    `json:"masked"`
}

func (l *passageLine) passage() query.Passage {
	state, _ := session.ParseState(l.Event.Surface)
	p := query.Passage{
		Ordinal: l.Ordinal, Seq: l.Event.Seq, Type: l.Event.Type, Tool: l.Tool, Time: millis(l.Event.Time), State: state, By: -1,
		Clipped: l.Clipped, Text: l.Text, Cut: l.Cut, Masked: l.Masked,
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

// teamPiece is a piece of a team's session.
type teamPiece struct {
	info     query.Info
	total    int64
	passages []query.Passage
}

// teamPassages asks for a piece of a session.
func (a *app) teamPassages(ctx context.Context, server *team.Server, id string, from int64, limit, points int) (t teamPiece, err error) {
	lines, err := server.Lines(ctx, "show", "", parameters(map[string]any{"session_id": id, "event_seq_from": from, "limit": limit, "points": points}))
	if err != nil {
		return t, teamFailure(server, err)
	}
	head := true
	for line := range strings.Lines(string(lines)) {
		if head {
			var l struct {
				Session  sessionLine `json:"session"`
				Passages int64       `json:"passages"`
			}
			if err := json.Unmarshal([]byte(line), &l); err != nil || l.Session.ID == "" {
				return t, fault.New(fault.ToolFailed, "the team's server did not answer as one")
			}
			t.info, t.total, head = l.Session.info(), l.Passages, false
			continue
		}
		var l passageLine
		if err := json.Unmarshal([]byte(line), &l); err != nil {
			return t, fault.New(fault.ToolFailed, "the team's server did not answer as one")
		}
		t.passages = append(t.passages, l.passage())
	}
	if head {
		err = fault.New(fault.ToolFailed, "the team's server did not answer as one")
	}
	return t, err
}

// showTeam shows a session of the team; ours is false if the id is of this machine.
func (a *app) showTeam(ctx context.Context, o showOptions, id string, passes func(query.Passage) bool) (ours bool, err error) {
	rest, ours := team.Split(id)
	if !ours {
		return false, nil
	}
	if o.scope.reveal {
		return true, fault.New(fault.InvalidArgs, "a team's sessions were sent with their credentials masked: there is nothing that --reveal could show")
	}
	server, err := a.teamServer()
	if err == nil && server == nil {
		err = noTeam(id)
	}
	if err != nil {
		return true, err
	}
	t := render.Transcript{Cut: "`yore show --text-limit 0 --from %[1]d --to %[1]d` shows all of it"}
	points := a.form(o, t, 0).points
	first, err := a.teamPassages(ctx, server, rest, o.from, teamLimit(o.limit), points)
	if err != nil {
		return true, err
	}
	t.Info = first.info
	shown, masked := 0, t.Info.Masked
	return true, a.paged(ctx, o.direct || o.html || o.json, func() error {
		form := a.form(o, t, first.total)
		if err := form.head(); err != nil {
			return err
		}
		for piece := first; ; {
			for _, p := range piece.passages {
				if p.Seq > o.to || o.limit > 0 && shown >= o.limit {
					return form.foot(shown, masked)
				}
				if !passes(p) {
					continue
				}
				shown, masked = shown+1, masked+p.Masked
				if err := form.passage(p); err != nil {
					return err
				}
			}
			n := len(piece.passages)
			if n == 0 || piece.passages[n-1].Ordinal+1 >= piece.total {
				return form.foot(shown, masked)
			}
			from := piece.passages[n-1].Seq + 1
			if piece, err = a.teamPassages(ctx, server, rest, from, teamPage, points); err != nil {
				return err
			}
			if len(piece.passages) > 0 && piece.passages[0].Seq < from {
				return fault.New(fault.ToolFailed, "the team's server did not answer as one") // it would never end
			}
		}
	})
}

// teamLimit is how many passages are asked for first.
func teamLimit(limit int) int { return min(cmp.Or(limit, teamPage), teamPage) }

// noTeam says that there is nobody who could know a session.
func noTeam(id string) error {
	return fault.New(fault.InvalidArgs, "%s is a session of a team, and no team's server is configured ([team] in the configuration file)", id)
}
