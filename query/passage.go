package query

import (
	"context"
	"errors"
	"sort"

	"github.com/yorehq/yore/fault"
	"github.com/yorehq/yore/session"
)

// Passage is one entry of a session as the index has it: an event with
// searchable text, or one that took part in the surface.
type Passage struct {
	Ordinal int64 // its place among the session's passages, from 0; growth of the log never moves it
	Seq     int64
	Type    string
	Role    Role
	Tool    string // name of the tool, of a call or a result where it is known; ""
	Time    int64  // epoch milliseconds
	State   session.State
	By      int64  // seq of the event that shadows it; -1: nobody
	Points  int32  // length of the whole text in code points
	Clipped bool   // the event's text is longer than what is searchable
	Text    string // at most as many code points as were asked for, never cut inside a grapheme cluster
	Cut     bool   // the text goes on
	Masked  int    // credentials in Text that are masked
}

// PassageList is a piece of a session's passages, ascending.
type PassageList struct {
	Info     Info
	Total    int64 // number of passages of the session
	Passages []Passage
	Coverage session.Coverage
}

// Passages returns up to n passages of a session from an ordinal on, with up to
// points code points of each one's text (negative: all of it). It reads the
// index alone: the cost depends on n and on the texts returned, not on the
// length of the log. own says that closing records do not exist for whom asks.
// fault.InvalidLimit: n is not within 1 and MaxLimit; fault.InvalidWindow: from
// is negative. Behind the end there is nothing, which is no error.
func (e *Engine) Passages(ctx context.Context, at Located, own bool, from, n int64, points int) (PassageList, error) {
	return steady(ctx, func() (PassageList, error) { return e.passagesOf(ctx, at, own, from, n, points) })
}

func (e *Engine) passagesOf(ctx context.Context, at Located, own bool, from, n int64, points int) (list PassageList, err error) {
	switch {
	case n < 1 || n > MaxLimit:
		return list, fault.New(fault.InvalidLimit, "the number of passages is %d: want between 1 and %d", n, MaxLimit)
	case from < 0:
		return list, fault.New(fault.InvalidWindow, "the first passage is %d: want 0 or more", from)
	}
	vs, v, en, coverage, err := e.openSession(ctx, at, nil)
	if err != nil {
		return list, err
	}
	defer func() { err = errors.Join(err, vs.Close()) }()
	list.Coverage = coverage
	list.Coverage.Clipped = int(en.row.Clipped)
	if list.Info, err = v.info(ctx, en, own); err != nil {
		return list, err
	}
	if list.Total, err = v.ordinal(ctx, en, list.Info.Events); err != nil || from >= list.Total {
		return list, err
	}
	ids := make([]DocID, min(n, list.Total-from))
	for i := range ids {
		ids[i] = NewDocID(en.row.Num, from+int64(i))
	}
	docs, err := v.snap.Documents(ctx, ids)
	if err != nil {
		return list, err
	}
	list.Passages = make([]Passage, len(docs))
	for i := range docs {
		if list.Passages[i], err = e.passage(ctx, v, &docs[i], points); err != nil {
			return list, err
		}
		list.Passages[i].Ordinal = from + int64(i)
	}
	return list, nil
}

// passage makes the public form of a document.
func (e *Engine) passage(ctx context.Context, v *view, d *Document, points int) (p Passage, err error) {
	p = Passage{Seq: d.Seq, Type: d.Type, Role: d.Role, Tool: d.Tool, Time: d.Time, By: -1, Points: d.Points, Clipped: d.Clipped, State: session.LogOnly}
	if d.Surface {
		if p.By, err = v.shadowOf(ctx, d.Doc.Session(), d.Seq); err != nil {
			return p, err
		}
		if p.State = session.Current; p.By >= 0 {
			p.State = session.Shadowed
		}
	}
	if d.Points == 0 || points == 0 {
		p.Cut = d.Points > 0
		return p, nil
	}
	text, err := v.snap.Text(ctx, d.Doc)
	p.Text, p.Cut, p.Masked = e.head(text, points, d.Clipped)
	return p, err
}

// OrdinalOf returns the ordinal of the passage at seq, else of the next one,
// else of the last one; -1 if the session has none. fault.EventNotFound: the
// log has no such event.
func (e *Engine) OrdinalOf(ctx context.Context, at Located, own bool, seq int64) (info Info, ordinal int64, err error) {
	err = again(ctx, func() error {
		info, ordinal, err = e.ordinalOf(ctx, at, own, seq)
		return err
	})
	return info, ordinal, err
}

func (e *Engine) ordinalOf(ctx context.Context, at Located, own bool, seq int64) (info Info, ordinal int64, err error) {
	vs, v, en, _, err := e.openSession(ctx, at, nil)
	if err != nil {
		return info, -1, err
	}
	defer func() { err = errors.Join(err, vs.Close()) }()
	if info, err = v.info(ctx, en, own); err != nil {
		return info, -1, err
	}
	if err := inLog(seq, info); err != nil {
		return info, -1, err
	}
	total, err := v.ordinal(ctx, en, info.Events)
	if err != nil {
		return info, -1, err
	}
	ordinal, err = v.ordinal(ctx, en, seq)
	return info, min(ordinal, total-1), err
}

// ordinal returns the number of the first document with at least this seq, the
// number of all documents if there is none.
func (v *view) ordinal(ctx context.Context, en *entry, seq int64) (int64, error) {
	var failed error
	n := sort.Search(int(en.row.Documents), func(n int) bool {
		if failed != nil {
			return true
		}
		docs, err := v.snap.Documents(ctx, []DocID{NewDocID(en.row.Num, int64(n))})
		failed = err
		return err != nil || docs[0].Seq >= seq
	})
	return int64(n), failed
}
