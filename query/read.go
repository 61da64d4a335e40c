package query

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/yorehq/yore/fault"
	"github.com/yorehq/yore/internal/document"
	"github.com/yorehq/yore/session"
)

// openSession brings one session up to date and opens the view that shows it.
// The views must be closed.
func (e *Engine) openSession(ctx context.Context, at Located, progress func(done, total int)) (vs views, v *view, en *entry, cov session.Coverage, err error) {
	if err := e.check(at); err != nil {
		return nil, nil, nil, cov, err
	}
	key := at.Header.Key()
	scope := session.Scope{Workspaces: []string{at.Header.Cwd}, Only: &key}
	cov, err = e.refresh(ctx, scope, progress)
	if err != nil && !(at.Live && !fault.IsContext(err)) {
		return nil, nil, nil, cov, err
	}
	if vs, err = e.openViews(ctx, scope); err != nil {
		return nil, nil, nil, cov, err
	}
	v, en = vs.find(TargetOf(at.Header))
	switch {
	case en == nil && cov.Behind > 0:
		err = fmt.Errorf("%w: the session is being indexed: repeat the call", fault.Timeout)
	case en == nil:
		err = fmt.Errorf("%w: the session is not there any more", fault.SessionNotFound)
	case en.suppressed:
		err = fmt.Errorf("%w: the sources of %s contradict each other", fault.ToolFailed, key)
	case en.row.Problem != nil:
		err = &fault.Error{Code: en.row.Problem.Code, Cause: errors.New(en.row.Problem.Reason)}
	}
	if err != nil {
		return nil, nil, nil, cov, errors.Join(err, vs.Close())
	}
	return vs, v, en, cov, nil
}

// Info returns what is known of a session. One whose log cannot be read has
// its code in Fault and TitleFail. own says that closing records do not exist
// for whom asks.
func (e *Engine) Info(ctx context.Context, at Located, own bool) (Info, error) {
	infos, err := e.Infos(ctx, []session.Header{at.Header}, func(session.Header) bool { return own })
	if err != nil {
		return Info{}, err
	}
	return infos[0], e.check(at)
}

// Infos is Info for many sessions. Their workspaces are brought up to date; a
// session that could not be is returned with what its header says.
func (e *Engine) Infos(ctx context.Context, headers []session.Header, own func(session.Header) bool) ([]Info, error) {
	return steady(ctx, func() ([]Info, error) { return e.infos(ctx, headers, own) })
}

func (e *Engine) infos(ctx context.Context, headers []session.Header, own func(session.Header) bool) ([]Info, error) {
	scope := session.Scope{}
	for _, h := range headers {
		if !slices.Contains(scope.Workspaces, h.Cwd) {
			scope.Workspaces = append(scope.Workspaces, h.Cwd)
		}
	}
	if len(headers) == 1 {
		key := headers[0].Key()
		scope.Only = &key
	}
	if _, err := e.refresh(ctx, scope, nil); fault.IsContext(err) {
		return nil, err
	} else if err != nil {
		e.Logger.Warn("titles may be missing", "error", err)
	}
	vs, err := e.openViews(ctx, scope)
	if err != nil {
		return nil, err
	}
	infos := make([]Info, len(headers))
	for i, h := range headers {
		v, en := vs.find(TargetOf(h))
		if en == nil {
			infos[i] = Info{Header: h, Title: Untitled, Persisted: true}
			continue
		}
		if infos[i], err = v.info(ctx, en, own(h)); err != nil {
			return nil, errors.Join(err, vs.Close())
		}
	}
	return infos, vs.Close()
}

// LatestStep returns the seq at which the latest step of a session began;
// fault.NoCurrentStep if it has none.
func (e *Engine) LatestStep(ctx context.Context, at Located) (int64, error) {
	return steady(ctx, func() (int64, error) { return e.latestStep(ctx, at) })
}

func (e *Engine) latestStep(ctx context.Context, at Located) (int64, error) {
	vs, _, en, _, err := e.openSession(ctx, at, nil)
	if err != nil {
		return 0, err
	}
	if en.row.LastStep < 0 {
		err = fmt.Errorf("%w: the log has no step", fault.NoCurrentStep)
	}
	return en.row.LastStep, errors.Join(err, vs.Close())
}

// Read returns the event at seq as it was written, with up to before and after
// neighbours. fault.InvalidWindow: more than Config.Window a side;
// fault.EventNotFound: seq lies behind the end.
func (e *Engine) Read(ctx context.Context, at Located, own bool, seq, before, after int64) (Window, error) {
	return steady(ctx, func() (Window, error) { return e.readAt(ctx, at, own, seq, before, after) })
}

func (e *Engine) readAt(ctx context.Context, at Located, own bool, seq, before, after int64) (w Window, err error) {
	limit := int64(max(e.Window, 0))
	if before < 0 || after < 0 || before > limit || after > limit {
		return w, fault.New(fault.InvalidWindow, "before is %d and after is %d: want between 0 and %d each", before, after, limit)
	}
	vs, v, en, _, err := e.openSession(ctx, at, nil)
	if err != nil {
		return w, err
	}
	defer func() { err = errors.Join(err, vs.Close()) }()
	if w.Info, err = v.info(ctx, en, own); err != nil {
		return w, err
	}
	if err := inLog(seq, w.Info); err != nil {
		return w, err
	}
	from, to := max(seq-before, 0), min(seq+after, w.Info.Events-1)
	found := false
	w.Info.Header, err = v.window(ctx, en, from, to, session.One(seq), func(r session.Raw) error {
		entry, err := v.entryOf(ctx, en, &r.Event)
		switch {
		case err != nil:
			return err
		case r.Event.Seq < seq:
			w.Before = append(w.Before, entry)
		case r.Event.Seq > seq:
			w.After = append(w.After, entry)
		default:
			found, w.Event, w.Entry = true, r, entry
		}
		return nil
	})
	if err == nil && !found {
		err = fmt.Errorf("%w: event %d is not where the index says", fault.Persistence, seq)
	}
	return w, err
}

func inLog(seq int64, info Info) error {
	if seq < 0 || seq >= info.Events {
		return fmt.Errorf("%w: no event %d among %d", fault.EventNotFound, seq, info.Events)
	}
	return nil
}

// window reads events of a session from its log, and the bytes of those in natives.
func (v *view) window(ctx context.Context, en *entry, from, to int64, natives session.Range, emit func(session.Raw) error) (session.Header, error) {
	at, err := v.snap.Log(en.row.Num).Checkpoint(ctx, from)
	if err != nil {
		return session.Header{}, err
	}
	h, err := v.corpus.Logs.Window(ctx, en.row.Source, at, from, to, natives, emit)
	return h, fault.Wrap(fault.Persistence, err)
}

// entryOf describes an event that was read from its log.
func (v *view) entryOf(ctx context.Context, en *entry, ev *session.Event) (Entry, error) {
	text, _ := document.Extract(ev.Body)
	out := Entry{Seq: ev.Seq, Type: ev.Type, Time: ev.Time, Text: text}
	if !session.SurfaceType(ev.Type) {
		return out, nil
	}
	var err error
	out.State, err = v.stateOf(ctx, Document{Doc: NewDocID(en.row.Num, 0), Seq: ev.Seq, Surface: true})
	return out, err
}

// Surface returns the seqs of the events that are in the model's context, in order.
func (e *Engine) Surface(ctx context.Context, at Located, own bool) (info Info, seqs []int64, err error) {
	err = again(ctx, func() error {
		info, seqs, err = e.surfaceOf(ctx, at, own)
		return err
	})
	return info, seqs, err
}

func (e *Engine) surfaceOf(ctx context.Context, at Located, own bool) (info Info, seqs []int64, err error) {
	vs, v, en, _, err := e.openSession(ctx, at, nil)
	if err != nil {
		return info, nil, err
	}
	defer func() { err = errors.Join(err, vs.Close()) }()
	if info, err = v.info(ctx, en, own); err != nil {
		return info, nil, err
	}
	seqs, err = v.snap.Log(en.row.Num).Surface(ctx)
	seqs = slices.DeleteFunc(seqs, func(seq int64) bool { return seq >= info.Events })
	return info, seqs, err
}
