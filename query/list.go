package query

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"slices"
	"strings"

	"github.com/yorehq/yore/internal/document"
	"github.com/yorehq/yore/session"
)

// Sessions lists the sessions that pass a filter, newest first (then by id).
// Sessions whose logs cannot be read are listed with their fault.
func (e *Engine) Sessions(ctx context.Context, filter SessionFilter, limit int, cursor string) (SessionList, error) {
	return steady(ctx, func() (SessionList, error) { return e.sessions(ctx, filter, limit, cursor) })
}

func (e *Engine) sessions(ctx context.Context, filter SessionFilter, limit int, cursor string) (list SessionList, err error) {
	if err := checkLimit(limit); err != nil {
		return list, err
	}
	if err := normalText(&filter.Text); err != nil {
		return list, err
	}
	filter = filter.normal()
	if list.Coverage, err = e.refresh(ctx, filter.Scope, nil); err != nil {
		return list, err
	}
	vs, err := e.openViews(ctx, filter.Scope)
	if err != nil {
		return list, err
	}
	defer func() { err = errors.Join(err, vs.Close()) }()
	state := vs.state()
	offset, err := e.open(cursor, filter, state)
	if err != nil {
		return list, err
	}
	var infos []Info
	err = vs.chosen(ctx, &filter, &list.Coverage, func(v *view, en *entry) error {
		info, err := v.info(ctx, en, false)
		infos = append(infos, info)
		return err
	})
	if err != nil {
		return list, err
	}
	slices.SortFunc(infos, func(a, b Info) int {
		return cmp.Or(cmp.Compare(b.Header.CreatedAt, a.Header.CreatedAt), session.CompareSiblings(a.Header, b.Header))
	})
	list.Sessions = infos[min(offset, len(infos)):min(offset+limit, len(infos))]
	if len(infos) > offset+limit {
		list.Next, err = e.seal(filter, state, offset+limit)
	}
	return list, err
}

// chosen visits the sessions that pass a filter, in no order, those included
// whose logs cannot be read, and completes what the answer may have missed.
func (vs views) chosen(ctx context.Context, filter *SessionFilter, c *session.Coverage, visit func(*view, *entry) error) error {
	if err := vs.unambiguous(filter.IDs); err != nil {
		return err
	}
	sieve := newSieve(filter)
	if vs.cover(c, sieve); filter.Text == "" {
		c.Clipped = 0
	}
	for _, v := range vs {
		for _, en := range v.all {
			if en.suppressed || !sieve.passes(en) {
				continue
			}
			if filter.Text != "" {
				found, err := v.scan(ctx, en, filter.Text, 0, session.MaxSafe, func(Document, string) bool { return false })
				if err != nil {
					return err
				}
				if !found {
					continue
				}
			}
			if err := visit(v, en); err != nil {
				return err
			}
		}
	}
	return nil
}

// eventsRequest is what a cursor of an event list is bound to.
type eventsRequest struct {
	Target Target
	Filter EventFilter
	Own    bool
}

// Events lists a session's events that pass a filter, in sequence, every raw
// event of the log included unless Filter.Text asks for those with that text.
func (e *Engine) Events(ctx context.Context, at Located, own bool, filter EventFilter, limit int, cursor string) (EventList, error) {
	return steady(ctx, func() (EventList, error) { return e.eventsOf(ctx, at, own, filter, limit, cursor) })
}

func (e *Engine) eventsOf(ctx context.Context, at Located, own bool, filter EventFilter, limit int, cursor string) (list EventList, err error) {
	if err := checkLimit(limit); err != nil {
		return list, err
	}
	if err := normalText(&filter.Text); err != nil {
		return list, err
	}
	filter = filter.normal()
	vs, v, en, _, err := e.openSession(ctx, at, nil)
	if err != nil {
		return list, err
	}
	defer func() { err = errors.Join(err, vs.Close()) }()
	if list.Info, err = v.info(ctx, en, own); err != nil {
		return list, err
	}
	req := eventsRequest{TargetOf(at.Header), filter, own}
	// The cursor's offset is the seq to go on from; growth does not move it.
	first, err := e.open(cursor, req, [sha256.Size]byte{})
	if err != nil {
		return list, err
	}
	from, to := int64(first), list.Info.Events-1
	if filter.Seq.From != nil {
		from = max(from, *filter.Seq.From)
	}
	if filter.Seq.To != nil {
		to = min(to, *filter.Seq.To)
	}
	if from > to {
		return list, nil
	}
	next := int64(-1)
	take := func(entry Entry) bool {
		if !filter.holds(entry) {
			return true
		}
		if len(list.Entries) == limit {
			next = entry.Seq
			return false
		}
		list.Entries = append(list.Entries, entry)
		return true
	}
	if filter.Text != "" {
		list.Clipped = int(en.row.Clipped)
		var failed error
		_, err = v.scan(ctx, en, filter.Text, from, to, func(d Document, text string) bool {
			entry := Entry{Seq: d.Seq, Type: d.Type, Time: d.Time, Text: text}
			if entry.State, failed = v.stateOf(ctx, d); failed != nil {
				return false
			}
			return take(entry)
		})
		err = errors.Join(err, failed)
	} else {
		list.Info.Header, err = v.window(ctx, en, from, to, session.Range{}, func(r session.Raw) error {
			entry, err := v.entryOf(ctx, en, &r.Event)
			if err == nil && !take(entry) {
				err = errPageFull
			}
			return err
		})
		if errors.Is(err, errPageFull) {
			err = nil // the header is what the log states all the same
		}
	}
	if err == nil && next >= 0 {
		list.Next, err = e.seal(req, [sha256.Size]byte{}, int(next))
	}
	return list, err
}

var errPageFull = errors.New("the page is full")

func (f *EventFilter) holds(e Entry) bool {
	return f.Seq.Holds(e.Seq) && f.Time.Holds(e.Time) &&
		(f.Types == nil || slices.Contains(f.Types, e.Type)) &&
		(f.States == nil || slices.Contains(f.States, e.State))
}

// normalText normalizes a literal text to look for; "" stays "".
func normalText(text *string) (err error) {
	if *text != "" {
		*text, err = document.NormalizeQuery(*text)
	}
	return err
}

// scan calls found with the documents from from to to whose text holds the
// normalized literal, until it returns false; it reports whether there was any.
// Any run of white space stands for any other; case counts.
func (v *view) scan(ctx context.Context, en *entry, literal string, from, to int64, found func(Document, string) bool) (bool, error) {
	if en.row.Problem != nil {
		return false, nil
	}
	docs, err := v.snap.Log(en.row.Num).Documents(ctx, from, to)
	if err != nil {
		return false, err
	}
	any := false
	for _, d := range docs {
		text, err := v.snap.Text(ctx, d.Doc)
		if err != nil {
			return any, err
		}
		if strings.Contains(document.CollapseSpace(text), literal) {
			any = true
			if !found(d, text) {
				break
			}
		}
	}
	return any, nil
}
