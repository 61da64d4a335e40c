package web

import (
	"cmp"
	"context"
	"encoding/base64"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/yorehq/yore/authz"
	"github.com/yorehq/yore/fault"
	"github.com/yorehq/yore/internal/render"
	"github.com/yorehq/yore/query"
	"github.com/yorehq/yore/session"
)

// How many sessions a search shows at first and at most, and how many values a
// facet and a request have at most.
const (
	firstHits = 30
	mostHits  = 480
	mostFacet = 14
	mostGiven = 100
)

// ask is a search as its address states it.
type ask struct {
	Text       string
	Agents     []string
	Workspaces []string // exact
	Types      []string
	States     []string
	From, To   string // days, 2006-01-02; ""
	Order      string // "": the server's own
	Match      string
	Limit      int
}

// asked reads an address. What it does not understand it refuses, so that a
// wrong filter never looks like an empty answer.
func (s *Server) asked(v url.Values) (a ask, f query.SessionSearch, err error) {
	// Nothing of a query is an operator; NUL cannot be looked for.
	a.Text = strings.TrimSpace(strings.ReplaceAll(v.Get("q"), "\x00", " "))
	a.Agents, a.Types, a.States = v["agent"], v["type"], v["state"]
	if len(a.Agents)+len(a.Types)+len(a.States)+len(v["workspace"]) > mostGiven {
		return a, f, fault.New(fault.InvalidFilter, "too many filters: at most %d", mostGiven)
	}
	for _, w := range v["workspace"] {
		text, ok := unvalue(w)
		if !ok {
			return a, f, fault.New(fault.InvalidFilter, "workspace is not one that a page of ours names")
		}
		a.Workspaces = append(a.Workspaces, text)
	}
	a.From, a.To, a.Order, a.Match = v.Get("from"), v.Get("to"), v.Get("order"), v.Get("match")
	a.Limit = firstHits
	if n, err := strconv.Atoi(v.Get("n")); err == nil {
		a.Limit = min(max(n, 1), mostHits)
	}
	f = query.SessionSearch{
		Query: a.Text, Match: cmp.Or(query.Match(a.Match), s.Match), Order: cmp.Or(query.Order(a.Order), s.Order), Limit: a.Limit,
	}
	f.Sessions.Scope.Workspaces = a.Workspaces
	for _, name := range a.Agents {
		f.Sessions.Agents = append(f.Sessions.Agents, session.Agent(name))
	}
	f.Events.Types = a.Types
	for _, name := range a.States {
		state, ok := session.ParseState(name)
		if !ok {
			return a, f, fault.New(fault.InvalidFilter, "state is %q: want current, shadowed or log-only", name)
		}
		f.Events.States = append(f.Events.States, state)
	}
	f.Events.Time, err = s.days(a.From, a.To)
	return a, f, err
}

// days reads a pair of days in the person's zone.
func (s *Server) days(from, to string) (r query.Range, err error) {
	at := func(name, text string, end bool) *int64 {
		if text == "" || err != nil {
			return nil
		}
		t, failed := time.ParseInLocation(time.DateOnly, text, s.Zone)
		if failed != nil {
			err = fault.New(fault.InvalidFilter, "%s is %q: want a day as 2026-03-01", name, text)
			return nil
		}
		ms := t.UnixMilli()
		if end {
			ms = t.AddDate(0, 0, 1).UnixMilli() - 1
		}
		return &ms
	}
	r = query.Range{From: at("from", from, false), To: at("to", to, true)}
	if err == nil && r.Empty() {
		err = fault.New(fault.InvalidFilter, "the first day lies after the last one")
	}
	return r, err
}

// value names any text in a query; unvalue is its inverse. What a form cannot
// carry unchanged is coded.
func value(text string) string {
	if utf8.ValidString(text) && !strings.HasPrefix(text, "~") && !strings.ContainsAny(text, "\r\n\x00") {
		return text
	}
	return "~" + base64.RawURLEncoding.EncodeToString([]byte(text))
}

func unvalue(given string) (string, bool) {
	coded, ok := strings.CutPrefix(given, "~")
	if !ok {
		return given, true
	}
	text, err := base64.RawURLEncoding.DecodeString(coded)
	return string(text), err == nil
}

// values is the address of a search.
func (a *ask) values() url.Values {
	v := url.Values{}
	set := func(name, text string) {
		if text != "" {
			v.Set(name, text)
		}
	}
	set("q", a.Text)
	set("from", a.From)
	set("to", a.To)
	set("order", a.Order)
	set("match", a.Match)
	for name, list := range map[string][]string{"agent": a.Agents, "type": a.Types, "state": a.States} {
		if len(list) > 0 {
			v[name] = list
		}
	}
	for _, w := range a.Workspaces {
		v.Add("workspace", value(w))
	}
	return v
}

// narrowed reports whether there is any filter.
func (a *ask) narrowed() bool {
	return len(a.Agents)+len(a.Workspaces)+len(a.Types)+len(a.States) > 0 || a.From != "" || a.To != ""
}

// hit is a result as the page shows it.
type hit struct {
	Info    query.Info
	Link    string // of the session
	At      string // of the event
	Best    *query.EventHit
	Type    string
	State   string
	Snippet []piece
	Parent  string // what kind of child it is; ""
	Up      string // link to the parent; ""
	Forks   int
	Resume  string
}

// group is one facet as the page shows it.
type group struct {
	Name, Label string
	Values      []choiceOf
	More        int // values that are not shown
}

type choiceOf struct {
	Value, Label, Class string
	Count               int
	On                  bool
}

// results is the page of a search.
type results struct {
	top
	Ask      ask
	Literal  []hit
	Partial  []hit
	Listed   bool // nothing was asked: the newest sessions
	More     string
	Groups   []group
	Days     *chart
	Counts   *query.Facets
	Notes    []string
	Clear    string // the search without its filters; "": there are none
	Behind   bool
	Busy     bool
	Orders   []choiceOf
	Matching []choiceOf
	Team     string // the address of the team's part; "": there is no team
	Host     string // of the team's server
}

func (p *pages) search(w http.ResponseWriter, r *http.Request) {
	ctx, cancel := context.WithTimeout(r.Context(), answerTime)
	defer cancel()
	a, f, err := p.asked(r.URL.Query())
	if err != nil {
		p.fail(w, r, err)
		return
	}
	out := results{top: top{"Search", "search", a.Text}, Ask: a, Listed: a.Text == ""}
	_, _, out.Busy = p.index.get()
	if a.Text != "" {
		out.Title = render.Line(a.Text, 60)
		err = p.searched(ctx, &out, f)
	} else {
		err = p.listed(ctx, &out, f)
	}
	if err != nil {
		p.fail(w, r, err)
		return
	}
	if p.Team != nil {
		out.Team, out.Host = teamLink(a.values()), p.Team.Server.Host()
	}
	if a.narrowed() {
		out.Clear = searchLink((&ask{Text: a.Text, Order: a.Order, Match: a.Match}).values())
	}
	pick := func(now string, names ...string) (list []choiceOf) {
		for _, n := range names {
			list = append(list, choiceOf{Value: n, Label: n, On: n == now})
		}
		return list
	}
	out.Orders = pick(string(cmp.Or(f.Order, query.Relevance)), string(query.Relevance), string(query.Matches))
	out.Matching = pick(string(cmp.Or(f.Match, query.Auto)), string(query.Auto), string(query.Literal))
	p.show(w, r, http.StatusOK, "search.html", out)
}

// searched fills a page with hits and facets.
func (p *pages) searched(ctx context.Context, out *results, f query.SessionSearch) error {
	v, looked := p.view()
	rest, err := v.Complete(ctx, f.Sessions.Scope, f.Query)
	if err != nil && !errors.Is(err, fault.Unauthorized) { // it is for the owner alone
		return err
	}
	f.Query += rest
	page, err := v.SearchSessions(ctx, f)
	if err != nil {
		return err
	}
	looked()
	for _, h := range page.Hits {
		one := p.hit(h, f.Query)
		if h.Best.Partial {
			out.Partial = append(out.Partial, one)
		} else {
			out.Literal = append(out.Literal, one)
		}
	}
	if page.More && out.Ask.Limit < mostHits {
		values := out.Ask.values()
		values.Set("n", strconv.Itoa(min(out.Ask.Limit*4, mostHits)))
		out.More = searchLink(values)
	}
	out.Behind = page.Coverage.Behind > 0 || page.Coverage.Stale
	out.Notes = p.with(notes(page.Coverage, render.MaskedSessions(page.Hits)))
	if rest != "" && len(page.Hits) > 0 {
		out.Notes = append(out.Notes, "No session holds the last word as it stands; these hold “"+render.Line(f.Query, 80)+"”.")
	}
	// The same moment is counted: nothing is looked for again.
	counts, err := p.still.Facets(ctx, f, p.Zone)
	if err != nil {
		return err
	}
	if len(out.Ask.Workspaces) > 0 {
		anywhere := f
		anywhere.Sessions.Scope.Workspaces = nil
		every, err := p.still.Facets(ctx, anywhere, p.Zone)
		if err != nil {
			return err
		}
		counts.Workspaces = every.Workspaces
	}
	out.Counts = &counts
	var states, types, agents, places []choiceOf
	for _, c := range counts.Agents {
		agents = append(agents, choiceOf{c.Value, c.Value, agentClass(session.Agent(c.Value)), c.Documents, false})
	}
	for _, c := range counts.Workspaces {
		places = append(places, choiceOf{value(c.Value), place(c.Value), "", c.Documents, false})
	}
	for _, c := range counts.Types {
		types = append(types, choiceOf{c.Value, render.Line(c.Value, 60), "", c.Documents, false})
	}
	for _, c := range counts.States {
		states = append(states, choiceOf{c.Value, c.Value, "state-" + c.Value, c.Documents, false})
	}
	var chosen []string
	for _, w := range out.Ask.Workspaces {
		chosen = append(chosen, value(w))
	}
	out.Groups = []group{
		facet("agent", "Agent", agents, out.Ask.Agents), facet("state", "Surface", states, out.Ask.States),
		facet("type", "Type", types, out.Ask.Types), facet("workspace", "Workspace", places, chosen),
	}
	out.Days = p.histogram(counts.Days, out.Ask)
	return nil
}

// facet makes a group of what was counted; what is chosen is shown even where
// nothing has it.
func facet(name, label string, list []choiceOf, chosen []string) group {
	g := group{Name: name, Label: label}
	for i := range list {
		list[i].On = slices.Contains(chosen, list[i].Value)
	}
	for _, c := range chosen {
		if !slices.ContainsFunc(list, func(v choiceOf) bool { return v.Value == c }) {
			list = append(list, choiceOf{Value: c, Label: render.Line(c, 200), On: true})
		}
	}
	shown, hidden := list[:0:0], 0
	for i, v := range list {
		if i < mostFacet || v.On {
			shown = append(shown, v)
		} else {
			hidden++
		}
	}
	g.Values, g.More = shown, hidden
	return g
}

// hit makes the page's form of a result.
func (p *pages) hit(h authz.SessionHit, asked string) hit {
	head := h.Info.Header
	best := h.Best
	out := hit{
		Info: h.Info, Link: link(head, "", nil), Best: &best, Forks: len(h.Forks), Resume: p.resume(head),
		Type: render.Line(best.Type, 60), State: best.State.String(),
		Snippet: marked(render.Line(best.Snippet, 0), asked),
		At:      link(head, strconv.FormatInt(best.Seq, 10), url.Values{"q": {asked}}),
	}
	out.Parent = kinship(head)
	if h.Parent.Kind == authz.ParentVisible {
		out.Up = sessionPath(h.Parent.Key)
	}
	return out
}

func kinship(h session.Header) string {
	switch {
	case h.Origin == session.OriginSubagent:
		return "subagent"
	case h.ParentSession != "":
		return "fork"
	}
	return ""
}

// listed fills a page with the newest sessions.
func (p *pages) listed(ctx context.Context, out *results, f query.SessionSearch) error {
	v, looked := p.view()
	filter := f.Sessions
	filter.CreatedAt = f.Events.Time
	list, err := v.List(ctx, filter, out.Ask.Limit, "")
	if err != nil {
		return err
	}
	looked()
	for _, i := range list.Sessions {
		out.Literal = append(out.Literal, p.listedHit(i))
	}
	if list.Next != "" && out.Ask.Limit < mostHits {
		values := out.Ask.values()
		values.Set("n", strconv.Itoa(min(out.Ask.Limit*4, mostHits)))
		out.More = searchLink(values)
	}
	out.Behind = list.Coverage.Behind > 0
	out.Notes = p.with(notes(list.Coverage, render.MaskedInfos(list.Sessions)))
	if len(out.Ask.Types)+len(out.Ask.States) > 0 {
		out.Notes = append(out.Notes, "Types and surface states choose between the events of a search: they do nothing without a text.")
	}
	stats, err := p.still.Stats(ctx, query.SessionFilter{}, p.Zone)
	if err != nil && !errors.Is(err, fault.Unauthorized) {
		return err
	}
	var agents, places []choiceOf
	for _, c := range stats.Agents {
		agents = append(agents, choiceOf{c.Name, c.Name, agentClass(session.Agent(c.Name)), int(c.Sessions), false})
	}
	for _, c := range stats.Workspaces {
		places = append(places, choiceOf{value(c.Name), place(c.Name), "", int(c.Sessions), false})
	}
	var chosen []string
	for _, w := range out.Ask.Workspaces {
		chosen = append(chosen, value(w))
	}
	out.Groups = []group{facet("agent", "Agent", agents, out.Ask.Agents), facet("workspace", "Workspace", places, chosen)}
	return nil
}

// notes says in sentences what an answer may have missed.
func notes(c session.Coverage, masked int) []string {
	return strings.FieldsFunc(render.CoverageText(c)+render.MaskedText(masked), func(r rune) bool { return r == '\n' })
}
