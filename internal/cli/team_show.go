package cli

import (
	"cmp"
	"context"

	"github.com/yorehq/yore/fault"
	"github.com/yorehq/yore/internal/render"
	"github.com/yorehq/yore/internal/team"
	"github.com/yorehq/yore/query"
)

// teamPage is how many passages of a team's session are asked for at a time: each
// question has the server's deadline.
const teamPage = 200

// teamPassages asks for a piece of a session.
func (a *app) teamPassages(ctx context.Context, server *team.Server, id string, from int64, limit, points int) (query.PassageList, error) {
	lines, err := server.Lines(ctx, "show", team.Parameters(map[string]any{"session_id": id, "event_seq_from": from, "limit": limit, "points": points}))
	if err != nil {
		return query.PassageList{}, server.Failure(err, 0)
	}
	return team.Piece(lines)
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
	t.Info = first.Info
	shown, masked := 0, t.Info.Masked
	return true, a.paged(ctx, o.direct || o.html || o.json, func() error {
		form := a.form(o, t, first.Total)
		if err := form.head(); err != nil {
			return err
		}
		for piece := first; ; {
			for _, p := range piece.Passages {
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
			n := len(piece.Passages)
			if n == 0 || piece.Passages[n-1].Ordinal+1 >= piece.Total {
				return form.foot(shown, masked)
			}
			from := piece.Passages[n-1].Seq + 1
			if piece, err = a.teamPassages(ctx, server, rest, from, teamPage, points); err != nil {
				return err
			}
			if len(piece.Passages) > 0 && piece.Passages[0].Seq < from {
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
