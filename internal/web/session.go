package web

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/yorehq/yore/authz"
	"github.com/yorehq/yore/fault"
	"github.com/yorehq/yore/internal/render"
	"github.com/yorehq/yore/internal/team"
	"github.com/yorehq/yore/query"
	"github.com/yorehq/yore/session"
)

// A timeline is a session's passages by ordinal. The page is sent with the rows
// around its event; a script fetches others as they scroll into sight, from
// /rows, and knows from /map what there is: a letter for who speaks and what
// has become of it, and the sequence number, for each passage.

const (
	pageRows    = 60  // rows that a page is sent with
	mostRowsAt  = 200 // rows that one answer has at most
	rowPoints   = 320 // code points of a row's text
	nearRows    = 48  // rows that far apart are still read together
	mostFound   = 1000
	foundPoints = 240
)

// row is a passage as the timeline shows it.
type row struct {
	Passage  query.Passage
	Who      string // who speaks
	Role     string // class of it
	Tool     string
	State    string
	Text     []piece
	Link     string
	By       int64  // -1: nobody
	ByLink   string // to who replaced it
	Rail     string // first, inside, last or only of a run that was replaced together; ""
	Hue      int64  // of the rail
	Replaces []stretch
	Total    int64
	On       bool
}

// stretch is a run of sequence numbers.
type stretch struct {
	From, To int64
	Link     string
}

// speaker names who speaks, and the class of it.
func speaker(r query.Role) (who, class string) {
	switch r {
	case query.RoleFirstPrompt:
		return "First prompt", "human"
	case query.RoleUser:
		return "Person", "human"
	case query.RoleAssistant:
		return "Assistant", "assistant"
	case query.RoleCall:
		return "Tool call", "call"
	case query.RoleResult:
		return "Tool result", "result"
	case query.RoleContext:
		return "Context", "context"
	}
	return "Event", "other"
}

// open is a session that a request names, as the index has it.
type opened struct {
	grant told
	head  session.Header // to address with
	info  query.Info
	runs  []query.Shadow
	took  map[int64][]query.Shadow // by who took them out
}

// open finds the session of a request. look says that its log is looked at for
// what is new.
func (p *pages) open(ctx context.Context, r *http.Request, look bool) (*opened, error) {
	v := p.still
	if look {
		v = p.View
	}
	o, err := p.openAs(ctx, v, r)
	// A session that the index has not heard of is looked for.
	if code, _ := fault.Of(err); code == fault.SessionNotFound && !look && !p.asksTeam(r) {
		o, err = p.openAs(ctx, p.View, r)
	}
	return o, err
}

func (p *pages) openAs(ctx context.Context, v *authz.View, r *http.Request) (*opened, error) {
	g, err := p.target(ctx, v, r.PathValue("agent"), r.PathValue("id"), r.URL.Query().Get("in"))
	if err != nil {
		return nil, err
	}
	o := &opened{grant: g, head: g.Header(), took: map[int64][]query.Shadow{}}
	if o.info, o.runs, err = g.Replacements(ctx); err != nil {
		return nil, err
	}
	if team.Ours(o.head.Key()) {
		o.head = o.info.Header // the rest of it is in the server's answer
	}
	for _, s := range o.runs {
		o.took[s.By] = append(o.took[s.By], s)
	}
	return o, nil
}

// asksTeam reports whether a request is about a session of the team.
func (p *pages) asksTeam(r *http.Request) bool {
	id, _ := decode(r.PathValue("id"))
	return p.Team != nil && team.Ours(session.Key{ID: session.ID(id)})
}

// sessionPage is the page of a session, or of one of its events.
type sessionPage struct {
	top
	Info     query.Info
	Path     string // of the session
	In       string
	Kin      string
	Up       string
	Resume   string
	Lineage  string
	Rows     []row
	Total    int64
	At       int64 // ordinal of the event; -1: none was asked for
	Seq      int64
	Panel    *panel
	Earlier  string
	Later    string
	Find     string
	Messages int64
	Notes    []string // of title and names; each row has its own
}

// session serves the page of a session or an event.
func (p *pages) session(w http.ResponseWriter, r *http.Request) {
	ctx, cancel := context.WithTimeout(r.Context(), answerTime)
	defer cancel()
	o, err := p.open(ctx, r, true)
	if err != nil {
		p.fail(w, r, err)
		return
	}
	head := o.head
	out := sessionPage{
		top: top{render.Line(titleOf(o.info), 80), "session", ""}, Info: o.info, Path: sessionPath(head.Key()), In: inside(head),
		Kin: kinship(head), Resume: p.resume(head), Lineage: link(head, "lineage", nil), At: -1, Seq: -1,
		Find: strings.TrimSpace(r.URL.Query().Get("q")), Notes: notes(session.Coverage{}, o.info.Masked),
	}
	if out.Up, err = p.parent(ctx, head); err != nil {
		p.fail(w, r, err)
		return
	}
	from := int64(0)
	if text := r.PathValue("seq"); text != "" {
		seq, ok := sequence(text)
		if !ok {
			p.fail(w, r, fmt.Errorf("%w: no such address", fault.EventNotFound))
			return
		}
		if out.At, err = o.grant.OrdinalOf(ctx, seq); err != nil {
			p.fail(w, r, err)
			return
		}
		from, out.Seq = max(0, out.At-pageRows/3), seq
		if out.Panel, err = p.describe(ctx, o, seq, out.Find); err != nil {
			p.fail(w, r, err)
			return
		}
	} else if n, err := strconv.ParseInt(r.URL.Query().Get("at"), 10, 64); err == nil {
		from = min(max(n, 0), session.MaxSafe)
	}
	list, err := o.grant.Passages(ctx, from, pageRows, rowPoints)
	if err != nil {
		p.fail(w, r, err)
		return
	}
	out.Total = list.Total
	for _, one := range list.Passages {
		out.Rows = append(out.Rows, o.row(one, list.Total, out.Find, out.Seq))
	}
	at := func(n int64) string { return link(head, "", url.Values{"at": {strconv.FormatInt(n, 10)}}) }
	if from > 0 {
		out.Earlier = at(max(0, from-pageRows))
	}
	if from+pageRows < list.Total {
		out.Later = at(from + pageRows)
	}
	p.show(w, r, http.StatusOK, "session.html", out)
}

// parent is the link to a session's parent, as far as it may be seen.
func (p *pages) parent(ctx context.Context, h session.Header) (string, error) {
	if h.ParentSession == "" {
		return "", nil
	}
	key := session.Key{Agent: h.Agent, ID: h.ParentSession}
	found, err := p.still.Targets(ctx, key)
	if err != nil || len(found) == 0 {
		return "", err
	}
	for _, g := range found {
		if g.Header().Cwd == h.Cwd {
			return link(g.Header(), "", nil), nil
		}
	}
	return sessionPath(key), nil
}

// row makes the page's form of a passage.
func (o *opened) row(p query.Passage, total int64, asked string, on int64) row {
	head := o.head
	out := row{
		Passage: p, Tool: render.Line(p.Tool, 60), State: p.State.String(), Total: total, By: p.By,
		Text: marked(render.Line(p.Text, 0), asked), Link: eventLink(head, p.Seq), On: p.Seq == on,
	}
	out.Who, out.Role = speaker(p.Role)
	if p.By >= 0 {
		out.ByLink = eventLink(head, p.By)
	}
	out.Rail, out.Hue = o.rail(p.Seq)
	for _, s := range o.took[p.Seq] {
		if len(out.Replaces) == 3 {
			break
		}
		out.Replaces = append(out.Replaces, stretch{s.From, s.To, eventLink(head, s.From)})
	}
	return out
}

// rail says where in a run of events that were replaced together a sequence
// number lies. Runs of one replacement that follow each other are one.
func (o *opened) rail(seq int64) (where string, hue int64) {
	low, high := 0, len(o.runs)
	for low < high {
		if mid := (low + high) / 2; o.runs[mid].To < seq {
			low = mid + 1
		} else {
			high = mid
		}
	}
	before := low > 0 && low < len(o.runs) && o.runs[low-1].By == o.runs[low].By
	switch {
	case low == len(o.runs), o.runs[low].From > seq && !before:
		return "", 0
	}
	s := o.runs[low]
	after := low+1 < len(o.runs) && o.runs[low+1].By == s.By
	first, last := seq == s.From && !before, seq == s.To && !after
	switch hue = s.By % 4; {
	case first && last:
		return "only", hue
	case first:
		return "first", hue
	case last:
		return "last", hue
	}
	return "inside", hue
}

// rows serves the rows with some ordinals: ?o=3-9,12 ascending.
func (p *pages) rows(w http.ResponseWriter, r *http.Request) {
	ctx, cancel := context.WithTimeout(r.Context(), answerTime)
	defer cancel()
	ordinals, err := ordinals(r.URL.Query().Get("o"))
	if err != nil {
		p.fail(w, r, err)
		return
	}
	o, err := p.open(ctx, r, false)
	if err != nil {
		p.fail(w, r, err)
		return
	}
	asked := strings.TrimSpace(r.URL.Query().Get("q"))
	var out []row
	for len(ordinals) > 0 {
		n := 1
		for n < len(ordinals) && ordinals[n]-ordinals[n-1] <= nearRows {
			n++
		}
		first, last := ordinals[0], ordinals[n-1]
		list, err := o.grant.Passages(ctx, first, min(last-first+1, query.MaxLimit), rowPoints)
		if err != nil {
			p.fail(w, r, err)
			return
		}
		for _, want := range ordinals[:n] {
			if i := want - first; i < int64(len(list.Passages)) {
				out = append(out, o.row(list.Passages[i], list.Total, asked, -1))
			}
		}
		ordinals = ordinals[n:]
	}
	p.show(w, r, http.StatusOK, "rows.html", struct {
		top
		Rows []row
	}{top{Title: "Rows"}, out})
}

// ordinals reads an ascending list of numbers and ranges.
func ordinals(text string) ([]int64, error) {
	var list []int64
	last := int64(-1)
	for part := range strings.SplitSeq(text, ",") {
		from, to, ranged := strings.Cut(part, "-")
		a, ok := sequence(from)
		b := a
		if ranged {
			var fine bool
			b, fine = sequence(to)
			ok = ok && fine
		}
		if !ok || a <= last || b < a || b-a >= mostRowsAt || len(list)+int(b-a)+1 > mostRowsAt {
			return nil, fault.New(fault.InvalidFilter, "o is no ascending list of at most %d ordinals", mostRowsAt)
		}
		for n := a; n <= b; n++ {
			list = append(list, n)
		}
		last = b
	}
	return list, nil
}

// plan is what a script knows of a timeline at once. Kinds has one character a
// passage: 'A' plus four times the role plus the state. Gaps are the differences
// of their sequence numbers, the first from 0.
type plan struct {
	Total  int64   `json:"total"`
	Events int64   `json:"events"`
	Live   bool    `json:"live"`
	Kinds  string  `json:"kinds"`
	Gaps   []int64 `json:"gaps"`
}

// plan serves the map of a timeline from the ordinal ?from= on.
func (p *pages) plan(w http.ResponseWriter, r *http.Request) {
	ctx, cancel := context.WithTimeout(r.Context(), answerTime)
	defer cancel()
	from, ok := sequence(r.URL.Query().Get("from"))
	if r.URL.Query().Has("from") && !ok {
		p.fail(w, r, fault.New(fault.InvalidFilter, "from is no ordinal"))
		return
	}
	o, err := p.open(ctx, r, true)
	if err != nil {
		p.fail(w, r, err)
		return
	}
	out := plan{Gaps: []int64{}}
	var kinds strings.Builder
	last := int64(0)
	for {
		list, err := o.grant.Passages(ctx, from, query.MaxLimit, 0)
		if err != nil {
			p.fail(w, r, err)
			return
		}
		out.Total, out.Events, out.Live = list.Total, list.Info.Events, list.Info.Live
		for _, one := range list.Passages {
			kinds.WriteByte('A' + byte(one.Role)*4 + byte(one.State))
			out.Gaps = append(out.Gaps, one.Seq-last)
			last = one.Seq
		}
		if from += int64(len(list.Passages)); len(list.Passages) == 0 || from >= list.Total {
			break
		}
	}
	out.Kinds = kinds.String()
	p.json(w, r, out)
}

// find serves the sequence numbers of the events that hold a text, ascending,
// as far as mostFound.
func (p *pages) find(w http.ResponseWriter, r *http.Request) {
	ctx, cancel := context.WithTimeout(r.Context(), answerTime)
	defer cancel()
	asked := strings.TrimSpace(strings.ReplaceAll(r.URL.Query().Get("q"), "\x00", " "))
	type answer struct {
		Seqs []int64 `json:"seqs"`
		More bool    `json:"more"`
	}
	out := answer{Seqs: []int64{}}
	if asked == "" {
		p.json(w, r, out)
		return
	}
	o, err := p.open(ctx, r, false)
	if err != nil {
		p.fail(w, r, err)
		return
	}
	page, err := o.grant.SearchEvents(ctx, query.EventSearch{Query: asked, Match: query.Literal, Order: query.Matches, Limit: mostFound})
	if err != nil && !errors.Is(err, fault.InvalidQuery) {
		p.fail(w, r, err)
		return
	}
	for _, h := range page.Hits {
		out.Seqs = append(out.Seqs, h.Seq)
	}
	slices.Sort(out.Seqs)
	out.More = page.More
	p.json(w, r, out)
}
