package web

import (
	"context"
	"net/http"
	"net/url"
	"time"

	"github.com/yorehq/yore/internal/render"
	"github.com/yorehq/yore/query"
	"github.com/yorehq/yore/session"
)

// How much of each list the overview shows.
const (
	latest   = 8
	mostRows = 10
)

// share is one row of a list of bars.
type share struct {
	Label, Class, Link string
	Count              int64
	Sessions           int64
	Part               string // of the longest, in hundredths
}

// overview is the page of it.
type overview struct {
	top
	Stats      query.Stats
	Activity   *chart
	Agents     []share
	Tools      []share
	Workspaces []share
	Recent     []hit
	Notes      []string
	Busy       bool
	More       string
}

func (p *pages) overview(w http.ResponseWriter, r *http.Request) {
	ctx, cancel := context.WithTimeout(r.Context(), answerTime)
	defer cancel()
	out := overview{top: top{"Overview", "overview", ""}, More: searchLink(nil)}
	_, _, out.Busy = p.index.get()
	v, looked := p.view()
	stats, err := v.Stats(ctx, query.SessionFilter{}, p.Zone)
	if err != nil {
		p.fail(w, r, err)
		return
	}
	looked()
	list, err := p.still.List(ctx, query.SessionFilter{}, latest, "")
	if err != nil {
		p.fail(w, r, err)
		return
	}
	out.Stats, out.Notes = stats, p.with(notes(stats.Coverage, stats.Masked))
	var agents []session.Agent
	for _, a := range stats.Agents {
		agents = append(agents, session.Agent(a.Name))
	}
	bins, u := binned(stats.Activity)
	out.Activity = draw(960, 190, bins, u, agents, func(b bin) string {
		return searchLink(url.Values{"from": {b.From.Format(time.DateOnly)}, "to": {b.To.Format(time.DateOnly)}})
	}, func(bin) bool { return false })
	out.Agents = shares(stats.Agents, func(c query.Count) share {
		return share{Label: render.Line(c.Name, 60), Class: agentClass(session.Agent(c.Name)), Link: searchLink(url.Values{"agent": {c.Name}})}
	})
	out.Tools = shares(stats.Tools, func(c query.Count) share { return share{Label: render.Line(c.Name, 60)} })
	out.Workspaces = shares(stats.Workspaces, func(c query.Count) share {
		return share{Label: place(c.Name), Link: searchLink(url.Values{"workspace": {value(c.Name)}})}
	})
	for _, i := range list.Sessions {
		out.Recent = append(out.Recent, hit{Info: i, Link: link(i.Header, "", nil), Parent: kinship(i.Header)})
	}
	p.show(w, r, http.StatusOK, "overview.html", out)
}

func shares(list []query.Count, row func(query.Count) share) (rows []share) {
	var most int64
	for _, c := range list {
		most = max(most, c.Documents)
	}
	for i, c := range list {
		if i == mostRows {
			break
		}
		s := row(c)
		s.Count, s.Sessions = c.Documents, c.Sessions
		s.Part = decimal(100 * float64(c.Documents) / float64(max(most, 1)))
		rows = append(rows, s)
	}
	return rows
}
