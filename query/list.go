package query

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"regexp"
	"slices"
	"strings"

	"github.com/yorehq/yore/fault"
	"github.com/yorehq/yore/internal/document"
	"github.com/yorehq/yore/session"
)

// Sessions lists the sessions that pass a filter, newest first (then by id).
// Sessions whose logs cannot be read are listed with their fault.
func (e *Engine) Sessions(ctx context.Context, filter SessionFilter, limit int, cursor string) (list SessionList, err error) {
	if err := checkLimit(limit); err != nil {
		return list, err
	}
	scan, err := newTextScan(&filter.Text)
	if err != nil {
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
	if err := vs.unambiguous(filter.IDs); err != nil {
		return list, err
	}
	chosen := newSieve(&filter)
	if vs.cover(&list.Coverage, chosen); scan == nil {
		list.Coverage.Clipped = 0
	}
	var infos []Info
	for _, v := range vs {
		for _, en := range v.all {
			if en.suppressed || !chosen.passes(en) {
				continue
			}
			if scan != nil {
				found, err := v.scan(ctx, en, scan, 0, session.MaxSafe, func(Document, string) bool { return false })
				if err != nil {
					return list, err
				}
				if !found {
					continue
				}
			}
			info, err := v.info(ctx, en, false)
			if err != nil {
				return list, err
			}
			infos = append(infos, info)
		}
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

// eventsRequest is what a cursor of an event list is bound to.
type eventsRequest struct {
	Target Target
	Filter EventFilter
	Own    bool
}

// Events lists a session's events that pass a filter, in sequence, every raw
// event of the log included unless Filter.Text asks for those with that text.
func (e *Engine) Events(ctx context.Context, at Located, own bool, filter EventFilter, limit int, cursor string) (list EventList, err error) {
	if err := checkLimit(limit); err != nil {
		return list, err
	}
	scan, err := newTextScan(&filter.Text)
	if err != nil {
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
	if scan != nil {
		list.Clipped = int(en.row.Clipped)
		var failed error
		_, err = v.scan(ctx, en, scan, from, to, func(d Document, text string) bool {
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
			list.Info.Header, err = at.Header, nil
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

// newTextScan makes a pattern of a literal text in which any run of white space
// stands for any other, and normalizes the text. Case counts. "" gives nil.
func newTextScan(text *string) (*regexp.Regexp, error) {
	if *text == "" {
		return nil, nil
	}
	normal, err := document.NormalizeQuery(*text)
	if err != nil {
		return nil, err
	}
	*text = normal
	words := strings.Split(normal, " ")
	for i, w := range words {
		words[i] = regexp.QuoteMeta(w)
	}
	scan, err := regexp.Compile(strings.Join(words, `[\s\v\x{00A0}\x{1680}\x{2000}-\x{200A}\x{2028}\x{2029}\x{202F}\x{205F}\x{3000}\x{FEFF}]+`))
	return scan, fault.Wrap(fault.InvalidFilter, err)
}

// scan calls found with the documents from from to to whose text holds the
// pattern, until it returns false; it reports whether there was any.
func (v *view) scan(ctx context.Context, en *entry, pattern *regexp.Regexp, from, to int64, found func(Document, string) bool) (bool, error) {
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
		if pattern.MatchString(text) {
			any = true
			if !found(d, text) {
				break
			}
		}
	}
	return any, nil
}
