package web

import (
	"context"
	"errors"
	"net/http"
	"net/url"

	"github.com/yorehq/yore/fault"
	"github.com/yorehq/yore/internal/render"
	"github.com/yorehq/yore/internal/team"
	"github.com/yorehq/yore/query"
)

// A search's page has this machine's hits and the address of the team's part, which
// a script fetches while the person reads already; without scripts it is a link. So
// a server that is slow or gone takes its own part away and nothing else.

// teamHits is how many sessions of the team a page shows: every one of them is asked
// for while somebody types.
const teamHits = 20

// teamLink names the team's part of a search.
func teamLink(values url.Values) string {
	values.Del("n")
	if len(values) == 0 {
		return "/team"
	}
	return "/team?" + values.Encode()
}

// teamPage is the team's part of a search, as a page of its own.
type teamPage struct {
	top
	Host    string
	Local   string // the search on this machine
	Missing string // why there is nothing; ""
	Literal []hit
	Partial []hit
	More    bool
	Notes   []string
}

// team serves the team's part of a search, or of the list of sessions.
func (p *pages) team(w http.ResponseWriter, r *http.Request) {
	ctx, cancel := context.WithTimeout(r.Context(), answerTime)
	defer cancel()
	a, f, err := p.asked(r.URL.Query())
	if err != nil {
		p.fail(w, r, err)
		return
	}
	out := teamPage{top: top{"Team history", "search", a.Text}, Host: p.Team.Server.Host(), Local: searchLink(a.values())}
	f.Limit = teamHits
	var found team.Found
	if a.Text != "" {
		found, err = p.Team.Search(ctx, f)
	} else {
		filter := f.Sessions
		filter.CreatedAt = f.Events.Time
		found, err = p.Team.List(ctx, filter, teamHits)
	}
	switch {
	case err != nil && r.Context().Err() != nil:
		return // nobody waits for it
	case errors.Is(err, team.ErrFilter):
		out.Missing = "The team is not asked: it cannot filter by agent."
	case err != nil:
		out.Missing = "Missing: " + fault.SafeText(err) + "."
	}
	masked := render.MaskedInfos(found.Sessions) + render.MaskedSessions(found.Hits)
	out.Notes, out.More = notes(found.Coverage, masked), found.More
	for _, h := range found.Hits {
		if one := p.hit(h, a.Text); h.Best.Partial {
			out.Partial = append(out.Partial, one)
		} else {
			out.Literal = append(out.Literal, one)
		}
	}
	for _, i := range found.Sessions {
		out.Literal = append(out.Literal, p.listedHit(i))
	}
	p.show(w, r, http.StatusOK, "team.html", out)
}

// listedHit is a session of a list as a page shows it.
func (p *pages) listedHit(i query.Info) hit {
	return hit{Info: i, Link: link(i.Header, "", nil), Parent: kinship(i.Header), Resume: p.resume(i.Header)}
}
