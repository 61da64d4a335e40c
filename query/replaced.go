package query

import (
	"context"
	"errors"
	"slices"
)

// Replacements returns who took which events off a session's surface: runs of
// surface events, ascending and disjoint. A surface event in no run is current.
// Work and answer grow with the number of runs, not with the log.
func (e *Engine) Replacements(ctx context.Context, at Located, own bool) (info Info, runs []Shadow, err error) {
	err = again(ctx, func() error {
		info, runs, err = e.replacementsOf(ctx, at, own)
		return err
	})
	return info, runs, err
}

func (e *Engine) replacementsOf(ctx context.Context, at Located, own bool) (info Info, runs []Shadow, err error) {
	vs, v, en, _, err := e.openSession(ctx, at, nil)
	if err != nil {
		return info, nil, err
	}
	defer func() { err = errors.Join(err, vs.Close()) }()
	if info, err = v.info(ctx, en, own); err != nil {
		return info, nil, err
	}
	runs, err = v.snap.Log(en.row.Num).States(ctx)
	return info, slices.Clone(runs), err
}
