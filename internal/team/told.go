package team

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/yorehq/yore/authz"
	"github.com/yorehq/yore/fault"
	"github.com/yorehq/yore/query"
	"github.com/yorehq/yore/session"
)

// Session is a session that the team's server has. Its methods answer as those of
// an authz.Grant do, each with one question to the server; what the caller may see
// is the server's to say.
type Session struct {
	h      *History
	target query.Target
}

// Session names a session of the team as an answer of it did. The server is not
// asked: one that is not there is the failure of the first question. A target
// without a workspace stands for the one session of its key.
func (h *History) Session(t query.Target) (*Session, error) {
	if !Ours(t.Key) {
		return nil, fmt.Errorf("%w: it is no session of the team", fault.SessionNotFound)
	}
	return &Session{h, t}, nil
}

// Header is what the session was named by; the rest of it comes with an answer.
func (s *Session) Header() session.Header {
	return session.Header{Agent: s.target.Key.Agent, ID: s.target.Key.ID, Cwd: s.target.Workspace}
}

// ask asks one of the server's JSON forms about the session.
func (s *Session) ask(ctx context.Context, what string, args map[string]any) ([]byte, error) {
	id, _ := Split(string(s.target.Key.ID))
	if s.target.Key.Agent != "" {
		id = string(s.target.Key.Agent) + ":" + id
	}
	args["session_id"] = id
	var in []string
	if s.target.Workspace != "" {
		in = []string{s.target.Workspace}
	}
	return s.h.lines(ctx, what, args, in...)
}

// one asks for an answer of one line and reads it.
func (s *Session) one(ctx context.Context, what string, args map[string]any, into any) error {
	line, err := s.ask(ctx, what, args)
	if err == nil && json.Unmarshal(line, into) != nil {
		err = errForm
	}
	return err
}

// Passages is as authz.Grant's. An answer of the server ends where its texts are
// long; others follow until there are n.
func (s *Session) Passages(ctx context.Context, from, n int64, points int) (list query.PassageList, err error) {
	for {
		left := n - int64(len(list.Passages))
		lines, err := s.ask(ctx, "show", map[string]any{"passage_from": from + n - left, "limit": left, "points": points})
		if err != nil {
			return list, err
		}
		piece, err := Piece(lines)
		if err != nil {
			return list, err
		}
		for i, p := range piece.Passages {
			if p.Ordinal != from+n-left+int64(i) {
				return list, errForm // it would never end
			}
		}
		list.Info, list.Total = piece.Info, piece.Total
		list.Passages = append(list.Passages, piece.Passages...)
		if len(piece.Passages) == 0 || int64(len(list.Passages)) >= n || from+int64(len(list.Passages)) >= list.Total {
			return list, nil
		}
	}
}

// OrdinalOf is as authz.Grant's.
func (s *Session) OrdinalOf(ctx context.Context, seq int64) (int64, error) {
	lines, err := s.ask(ctx, "show", map[string]any{"event_seq_from": seq, "limit": 1, "points": 0})
	if err != nil {
		return -1, err
	}
	piece, err := Piece(lines)
	switch {
	case err != nil:
		return -1, err
	case len(piece.Passages) == 0:
		return -1, nil
	}
	return piece.Passages[0].Ordinal, nil
}

// SearchEvents is as authz.Grant's; of a request it takes the query, how it matches
// and the limit.
func (s *Session) SearchEvents(ctx context.Context, req query.EventSearch) (page query.EventPage, err error) {
	args := map[string]any{"query": req.Query, "limit": req.Limit}
	if req.Match != "" {
		args["match"] = string(req.Match)
	}
	lines, err := s.ask(ctx, "events", args)
	if err != nil {
		return page, err
	}
	hits, end, err := hitsOf(lines)
	if err != nil {
		return page, err
	}
	for _, h := range hits {
		page.Hits = append(page.Hits, h.Best)
	}
	page.More, page.Coverage = end.More, end.coverage()
	return page, nil
}

// Read is as authz.Grant's, without the neighbours.
func (s *Session) Read(ctx context.Context, seq, _, _ int64) (w query.Window, err error) {
	var l struct {
		Session       sessionLine `json:"session"`
		Event         eventLine   `json:"event"`
		Reconstructed bool        `json:"reconstructed"`
		Native        []byte      `json:"native_base64"`
		Masked        int         `json:"masked"`
	}
	if err := s.one(ctx, "record", map[string]any{"seq": seq}, &l); err != nil {
		return w, err
	}
	w = query.Window{Info: l.Session.info(), Entry: l.Event.entry(), Event: session.Raw{Native: l.Native}, Masked: l.Masked}
	w.Event.Event.Reconstructed = l.Reconstructed
	return w, nil
}

// TraceEvent is as authz.Grant's.
func (s *Session) TraceEvent(ctx context.Context, seq int64) (r query.Relations, err error) {
	var l struct {
		Session  sessionLine `json:"session"`
		Event    eventLine   `json:"event"`
		By       *int64      `json:"replaced_by"`
		Chain    []int64     `json:"replacement_chain"`
		Replaced []int64     `json:"replaced"`
		Sources  []int64     `json:"sources"`
		Derived  []int64     `json:"derived"`
	}
	if err := s.one(ctx, "event-trace", map[string]any{"seq": seq}, &l); err != nil {
		return r, err
	}
	r = query.Relations{
		Info: l.Session.info(), Event: l.Event.entry(), ReplacedBy: -1, Chain: l.Chain, Replaced: l.Replaced, Sources: l.Sources, Derived: l.Derived,
	}
	if l.By != nil {
		r.ReplacedBy = *l.By
	}
	return r, nil
}

// Trace is as authz.Grant's.
func (s *Session) Trace(ctx context.Context) (out authz.Lineage, err error) {
	var l struct {
		Session     sessionLine   `json:"session"`
		Ancestors   []sessionLine `json:"ancestors"`
		Boundary    bool          `json:"boundary"`
		Descendants []struct {
			Depth   int         `json:"depth"`
			Outside bool        `json:"outside"`
			Session sessionLine `json:"session"`
		} `json:"descendants"`
	}
	if err := s.one(ctx, "trace", map[string]any{}, &l); err != nil {
		return out, err
	}
	out = authz.Lineage{Target: l.Session.info(), Boundary: l.Boundary}
	for i := range l.Ancestors {
		out.Ancestors = append(out.Ancestors, l.Ancestors[i].info())
	}
	for i := range l.Descendants {
		d := &l.Descendants[i]
		kin := authz.Kin{Depth: d.Depth, Outside: d.Outside}
		if !d.Outside {
			kin.Info = d.Session.info()
		}
		out.Descendants = append(out.Descendants, kin)
	}
	return out, nil
}

// Replacements is as authz.Grant's.
func (s *Session) Replacements(ctx context.Context) (query.Info, []query.Shadow, error) {
	var l struct {
		Session sessionLine `json:"session"`
		Runs    [][3]int64  `json:"runs"` // first, last, who took them out
	}
	if err := s.one(ctx, "replacements", map[string]any{}, &l); err != nil {
		return query.Info{}, nil, err
	}
	var runs []query.Shadow
	for _, r := range l.Runs {
		runs = append(runs, query.Shadow{From: r[0], To: r[1], By: r[2]})
	}
	if !slices.IsSortedFunc(runs, func(a, b query.Shadow) int { return int(a.From - b.From) }) {
		return query.Info{}, nil, errForm
	}
	return l.Session.info(), runs, nil
}
