package serve

import (
	"context"
	"math"
	"net/url"
	"strconv"
	"time"

	"github.com/yorehq/yore/authz"
	"github.com/yorehq/yore/fault"
	"github.com/yorehq/yore/internal/render"
	"github.com/yorehq/yore/query"
	"github.com/yorehq/yore/session"
)

// What is asked about sessions without a search: their list, the events of one, one
// as a transcript, and what else a page shows of it.

// told returns what answers without a tool; nil: a tool does.
func (t *seat) told(what string, q url.Values) func(context.Context, url.Values, int, prefixed) ([][]byte, error) {
	switch {
	case what == "list":
		return t.listed
	case what == "show":
		return t.shown
	case what == "events" && !q.Has("query"):
		return t.events
	case what == "record":
		return t.recorded
	case what == "replacements":
		return t.replacements
	}
	return nil
}

// listFilter reads which sessions a list is of, in the form that the tools'
// arguments have.
func listFilter(q url.Values) (f query.SessionFilter, err error) {
	for name, into := range map[string]**int64{"created_at_from": &f.CreatedAt.From, "created_at_to": &f.CreatedAt.To} {
		if !q.Has(name) {
			continue
		}
		t, err := time.Parse(time.RFC3339, q.Get(name))
		if err != nil {
			return f, fault.New(fault.InvalidArgs, "%q is no time such as 2026-03-01T09:30:00Z", name)
		}
		ms := t.UnixMilli()
		*into = &ms
	}
	return f, nil
}

// listed lists sessions, newest first.
func (t *seat) listed(ctx context.Context, q url.Values, limit int, prefix prefixed) (lines [][]byte, err error) {
	filter, err := listFilter(q)
	if err != nil {
		return nil, err
	}
	view, err := t.View(ctx, authz.Caller{})
	if err != nil {
		return nil, err
	}
	list, err := view.List(ctx, filter, limit, "")
	if err != nil {
		return nil, err
	}
	for _, i := range list.Sessions {
		lines = append(lines, render.SessionJSON(prefix.info(i)))
	}
	return append(lines, render.CoverageJSON(list.Coverage, list.Next != "", render.MaskedInfos(list.Sessions))), nil
}

// target finds the session that a request names.
func (t *seat) target(ctx context.Context, id string) (*authz.Grant, error) {
	view, err := t.View(ctx, authz.Caller{})
	if err != nil {
		return nil, err
	}
	return view.Target(ctx, &id)
}

// events lists the events of a session.
func (t *seat) events(ctx context.Context, q url.Values, limit int, prefix prefixed) (lines [][]byte, err error) {
	g, err := t.target(ctx, q.Get("session_id"))
	if err != nil {
		return nil, err
	}
	list, err := g.Events(ctx, query.EventFilter{}, limit, "")
	if err != nil {
		return nil, err
	}
	for _, e := range list.Entries {
		lines = append(lines, render.EntryJSON(prefix.key(list.Info.Header.Key()), e))
	}
	return append(lines, render.CoverageJSON(session.Coverage{}, list.Next != "", render.MaskedEntries(list.Entries))), nil
}

// A transcript is told in pieces: one ends behind the passage that brings its text
// to shownBytes, and is read so many passages at a time.
const (
	shownBytes = 4 << 20
	shownPage  = 20
	rowPoints  = 400 // of texts that are no more than a row each,
	rowPage    = 500 // so many are read at a time
)

// shown tells a piece of a session: its head, then passages from the ordinal
// passage_from on, or else from the first on whose event is at event_seq_from or
// behind it, with up to points code points of each text (negative: all).
func (t *seat) shown(ctx context.Context, q url.Values, limit int, prefix prefixed) (lines [][]byte, err error) {
	from, at, points := int64(0), int64(-1), int64(-1)
	for name, into := range map[string]*int64{"event_seq_from": &from, "passage_from": &at, "points": &points} {
		if q.Has(name) {
			if *into, err = strconv.ParseInt(q.Get(name), 10, 64); err != nil {
				return nil, fault.New(fault.InvalidArgs, "%q is no whole number", name)
			}
		}
	}
	points = min(points, math.MaxInt32)
	g, err := t.target(ctx, q.Get("session_id"))
	if err != nil {
		return nil, err
	}
	first, err := g.Passages(ctx, 0, 1, 0)
	if err != nil {
		return nil, err
	}
	lines = append(lines, render.Transcript{Info: prefix.info(first.Info)}.JSON(first.Total))
	if first.Total == 0 {
		return lines, nil
	}
	if at < 0 {
		if at, err = g.OrdinalOf(ctx, from); err != nil {
			return nil, err
		}
	}
	batch := shownPage
	if points >= 0 && points <= rowPoints {
		batch = rowPage // the texts are short however many there are
	}
	for size := 0; len(lines)-1 < limit && size < shownBytes && at < first.Total; {
		page, err := g.Passages(ctx, at, int64(min(batch, limit-len(lines)+1)), int(points))
		if err != nil {
			return nil, err
		}
		for i := 0; i < len(page.Passages) && size < shownBytes; i++ {
			line := render.PassageJSON(page.Passages[i])
			lines, size, at = append(lines, line), size+len(line), at+1
		}
		if len(page.Passages) == 0 {
			break
		}
	}
	return lines, nil
}

// recorded tells one event as its agent logged it, with its whole text: the exact
// bytes, which the tool's JSON form does not keep.
func (t *seat) recorded(ctx context.Context, q url.Values, _ int, prefix prefixed) ([][]byte, error) {
	seq, err := strconv.ParseInt(q.Get("seq"), 10, 64)
	if err != nil {
		return nil, fault.New(fault.InvalidArgs, "%q is no whole number", "seq")
	}
	g, err := t.target(ctx, q.Get("session_id"))
	if err != nil {
		return nil, err
	}
	w, err := g.Read(ctx, seq, 0, 0)
	if err != nil {
		return nil, err
	}
	w.Info = prefix.info(w.Info)
	return [][]byte{render.RecordJSON(w)}, nil
}

// replacements tells which events of a session were taken out of the model's
// context, and by whom.
func (t *seat) replacements(ctx context.Context, q url.Values, _ int, prefix prefixed) ([][]byte, error) {
	g, err := t.target(ctx, q.Get("session_id"))
	if err != nil {
		return nil, err
	}
	info, runs, err := g.Replacements(ctx)
	if err != nil {
		return nil, err
	}
	return [][]byte{render.ReplacementsJSON(prefix.info(info), runs)}, nil
}
