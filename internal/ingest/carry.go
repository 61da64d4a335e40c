package ingest

import (
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/yorehq/yore/session"
)

// carryOut does a plan's work in short transactions, the first ones shorter
// than the others, so that what is newest can be found soon.
func (in *Ingester) carryOut(ctx context.Context, p *plan, progress func(done int)) error {
	left, dropped := p.jobs, p.dropped
	if len(left) > 0 || len(dropped) > 0 {
		defer in.mark(p.workspace, true)
	}
	share := int64(firstShare)
	for n := 0; len(left) > 0 || len(dropped) > 0; n++ {
		if err := ctx.Err(); err != nil {
			return err
		}
		if p.slices > 0 && n == p.slices {
			return nil
		}
		done, gone, unrelated, unnamed := 0, 0, false, false
		var forks map[session.Key]Fork
		err := in.Shards.Write(ctx, p.workspace, func(w Writer) error {
			sl, err := in.open(ctx, w, share)
			if err != nil {
				return err
			}
			done, gone, forks = 0, 0, sl.forks
			defer func() { unrelated, unnamed = sl.unrelated, sl.again }()
			if err := in.stillForgets(p); err != nil {
				return err
			}
			if gone, err = sl.dropSome(ctx, dropped); err != nil || gone < len(dropped) {
				return err
			}
			for _, j := range left {
				finished, err := sl.update(ctx, j)
				if err != nil {
					return err
				}
				if finished {
					done++
				}
				if !finished || sl.full() {
					break
				}
			}
			return nil
		})
		switch {
		case errors.Is(err, ErrBusy):
			p.stale = true
			return nil
		case err != nil:
			return &shardError{err, len(left)}
		}
		dropped = dropped[gone:]
		for _, j := range left[:done] {
			j.done = true
			p.note(&j.found)
			p.parts = p.parts || j.found.Divided
			p.unnamed = p.unnamed || j.found.Unnamed
		}
		left = left[done:]
		p.unrelated, p.unnamed = p.unrelated || unrelated, p.unnamed || unnamed
		progress(len(p.jobs) - len(left))
		if err := in.passForks(ctx, p.workspace, forks); err != nil {
			return err
		}
		share = min(2*share, sliceBytes)
	}
	if p.unrelated {
		if err := in.relateLarge(ctx, p); err != nil {
			return err
		}
	}
	if p.unnamed {
		return in.seekNames(ctx, p)
	}
	return nil
}

// open begins a transaction's work.
func (in *Ingester) open(ctx context.Context, w Writer, share int64) (*slice, error) {
	sl := &slice{in: in, w: w, start: time.Now(), share: share, held: map[int64]*Stored{}, forks: map[session.Key]Fork{}, large: map[string]bool{}}
	named, err := sl.load(ctx, StoredLookup{Naming: true})
	sl.names = namesOf(named)
	return sl, err
}

// dropSome removes sessions that do not belong into the shard any more, as many as
// the slice has time for, and returns how many of the sources are dealt with.
func (sl *slice) dropSome(ctx context.Context, sources []string) (done int, err error) {
	for some := range slices.Chunk(sources, dropAtOnce) {
		rows, err := sl.load(ctx, StoredLookup{Sources: some})
		if err != nil {
			return done, err
		}
		for _, s := range rows {
			if err := sl.drop(ctx, s); err != nil {
				return done, err
			}
		}
		if done += len(some); time.Since(sl.start) >= sliceTime {
			break
		}
	}
	return done, nil
}

// dropAtOnce is how many sessions are removed between two looks at the clock.
const dropAtOnce = 64

// passForks hands what was found out about lineage on to the catalog, which may
// lag behind a shard and never leads it.
func (in *Ingester) passForks(ctx context.Context, workspace string, forks map[session.Key]Fork) error {
	var change CatalogChange
	for _, key := range slices.SortedFunc(maps.Keys(forks), session.CompareKey) {
		rows, err := in.Catalog.Files(ctx, FileLookup{Workspace: &workspace, ID: &key.ID})
		if err != nil {
			return err
		}
		for _, row := range rows {
			if row.Header.Key() == key && row.Fork != forks[key] {
				row.Fork = forks[key]
				change.Files = append(change.Files, row)
			}
		}
	}
	if len(change.Files) == 0 {
		return nil
	}
	return in.Catalog.Update(ctx, change)
}
