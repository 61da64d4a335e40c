package query

import (
	"context"
	"errors"
	"fmt"

	"github.com/yorehq/yore/fault"
	"github.com/yorehq/yore/session"
)

// Lineage walks a session's ancestors and descendants by headers alone, over
// all workspaces, as far as sees holds: an ancestor for which it does not is
// like one that is not there, and a descendant for which it does not is the last
// of its branch. So neither a ring nor a long walk tells of what may not be seen.
// sees decides between parents as in Parent, and in are the workspaces of what it
// holds for (nil: all). A ring through the target's
// ancestors is fault.InvalidLineage.
func (e *Engine) Lineage(ctx context.Context, at Located, in []string, sees func(session.Header) bool) (session.Lineage, error) {
	if err := e.check(at); err != nil {
		return session.Lineage{}, err
	}
	// Where a log does not state where it comes from, the whole workspace tells.
	scope := session.Scope{Workspaces: []string{at.Header.Cwd}}
	if _, err := e.refresh(ctx, scope, nil); fault.IsContext(err) {
		return session.Lineage{}, err
	} else if err != nil {
		e.Logger.Warn("lineage may be incomplete", "error", err)
	}
	found, err := e.locate(ctx, Lookup{IDs: []session.ID{at.Header.ID}, Workspaces: in})
	if err != nil && len(found) == 0 {
		return session.Lineage{}, err
	}
	there := err != nil // or nobody can say
	for _, f := range found {
		if TargetOf(f.Header) == TargetOf(at.Header) {
			at, there = f, true
		}
	}
	if !there {
		return session.Lineage{}, fmt.Errorf("%w: its log is not there any more", fault.Unauthorized)
	}
	return session.Trace(at.Header, &kin{ctx, e, in, sees})
}

// kin looks relatives up in the catalog.
type kin struct {
	ctx  context.Context
	e    *Engine
	in   []string
	sees func(session.Header) bool
}

// Parent implements session.Kin.
func (k *kin) Parent(h session.Header) (session.Header, bool, error) {
	parent, ok, err := k.e.Parent(k.ctx, h, k.in, k.sees)
	return parent, ok && k.sees(parent), err
}

// Children implements session.Kin: those whose parent resolves to h.
func (k *kin) Children(h session.Header) ([]session.Header, error) {
	if !k.sees(h) {
		return nil, nil
	}
	found, err := k.e.locate(k.ctx, Lookup{Parent: &h.ID})
	if err != nil && len(found) == 0 {
		return nil, err
	}
	var children []session.Header
	for _, f := range found {
		if f.Header.Agent != h.Agent {
			continue
		}
		parent, ok, err := k.e.Parent(k.ctx, f.Header, nil, k.sees)
		if err != nil {
			return nil, err
		}
		if ok && parent == h {
			children = append(children, f.Header)
		}
	}
	return children, nil
}

// TraceEvent returns the relations of the event at seq.
func (e *Engine) TraceEvent(ctx context.Context, at Located, own bool, seq int64) (Relations, error) {
	return steady(ctx, func() (Relations, error) { return e.traceEvent(ctx, at, own, seq) })
}

func (e *Engine) traceEvent(ctx context.Context, at Located, own bool, seq int64) (r Relations, err error) {
	vs, v, en, _, err := e.openSession(ctx, at, nil)
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, vs.Close()) }()
	if r.Info, err = v.info(ctx, en, own); err != nil {
		return r, err
	}
	if err := inLog(seq, r.Info); err != nil {
		return r, err
	}
	h, err := v.window(ctx, en, seq, seq, session.Range{}, func(raw session.Raw) error {
		r.Sources = raw.Event.Sources
		r.Event, err = v.entryOf(ctx, en, &raw.Event)
		return err
	})
	if err != nil {
		return r, err
	}
	r.Info.Header = h
	if r.Chain, err = v.chain(ctx, en.row.Num, seq, r.Event.State); err != nil {
		return r, err
	}
	r.ReplacedBy = -1
	if len(r.Chain) > 0 {
		r.ReplacedBy = r.Chain[0]
	}
	log := v.snap.Log(en.row.Num)
	if r.Replaced, err = log.Removed(ctx, seq); err != nil {
		return r, err
	}
	derived, err := log.Derived(ctx, seq)
	for _, d := range derived {
		if d < r.Info.Events {
			r.Derived = append(r.Derived, d)
		}
	}
	return r, fault.Wrap(fault.IndexFailed, err)
}

// chain follows who took an event out, who took that one out, and so on. It
// ends at an event that is current, or that never was on the surface. A summary
// is mostly at the end of the run that the next one took out, which is known
// without a look at its record: a session may have been compacted thousands of times.
func (v *view) chain(ctx context.Context, num, seq int64, state session.State) ([]int64, error) {
	if state != session.Shadowed {
		return nil, nil
	}
	var chain []int64
	run, err := v.shadowRun(ctx, num, seq)
	for err == nil && run.By > seq { // who takes an event out comes later
		by := run.By
		seq = by
		chain = append(chain, by)
		if run, err = v.shadowRun(ctx, num, by); err != nil || run.By < 0 || run.From == by || run.To == by {
			continue
		}
		docs, err := v.snap.Log(num).Documents(ctx, by, by)
		if err != nil {
			return nil, err
		}
		if len(docs) == 0 || !docs[0].Surface {
			return chain, nil // a select: the chain ends there
		}
	}
	return chain, err
}
