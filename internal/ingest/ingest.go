// Package ingest owns keeping an index in step with its sources: it discovers
// the files below the agents' roots, notices what changed, reads on from saved
// positions, folds, and hands documents, surface changes and positions to a
// store in one transaction. It declares the interfaces it needs of a store
// (Catalog, Shards, Writer) and implements what the query engine needs of the
// logs (Refresh, Window).
//
// Work is proportional to what changed: an unchanged file costs one stat, a
// grown one its new bytes. One bad source never hurts another. The package
// knows no agent, no ranking and no caller. Start at Ingester.Refresh.
package ingest

import (
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/yorehq/yore/fault"
	"github.com/yorehq/yore/internal/forget"
	"github.com/yorehq/yore/reader"
	"github.com/yorehq/yore/session"
)

// Root is a folder below which an agent keeps its sessions, or a shelf itself.
type Root struct {
	Reader reader.Reader
	Path   string // absolute

	mapping string // see Mapping; set by New
}

// Options are what an Ingester is made of.
type Options struct {
	Roots   []Root
	Catalog Catalog
	Shards  Shards
	Now     func() time.Time // nil: time.Now

	Forgotten *forget.List // the sessions that are to be in no shard; nil: none

	KeepFootprints bool         // calls of the product's own tools and their results get documents too
	Logger         *slog.Logger // nil discards
}

// Ingester keeps an index in step with its sources. It is safe for concurrent
// use; several processes may run one on the same index.
type Ingester struct {
	Options
	work struct{ bytes, files, folders, identified, listed, read, compared atomic.Int64 }

	discovering sync.Mutex

	mu     sync.Mutex
	dirty  map[string]bool // workspaces whose shards may hold remains of deletions
	looked map[string]bool // workspaces that were looked at before
}

// Work counts what an Ingester has done since it was made.
type Work struct {
	Bytes      int64 // parsed
	Files      int64 // stat'ed
	Folders    int64 // stat'ed
	Identified int64 // files opened for their header
	Listed     int64 // shelves listed
	Read       int64 // sessions read, or read on
	Compared   int64 // logs read to be compared with others
}

// New makes an Ingester.
func New(o Options) *Ingester {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	o.Roots = slices.Clone(o.Roots)
	for i := range o.Roots {
		o.Roots[i].mapping = Mapping(o.Roots[i].Reader)
	}
	return &Ingester{Options: o, dirty: map[string]bool{}, looked: map[string]bool{}}
}

// Work returns what has been done so far.
func (in *Ingester) Work() Work {
	return Work{in.work.bytes.Load(), in.work.files.Load(), in.work.folders.Load(), in.work.identified.Load(), in.work.listed.Load(), in.work.read.Load(), in.work.compared.Load()}
}

// Refresh brings a scope up to date, newest sessions first, committing as it
// goes. An empty scope only discovers new files. If its context ends it returns
// the context's error with the coverage so far. progress may be nil.
//
// A damaged file of the index is met in the midst of work that was planned with
// what it held, so everything is looked at again then.
func (in *Ingester) Refresh(ctx context.Context, scope session.Scope, progress func(done, total int)) (c session.Coverage, err error) {
	for range damagesPerCall {
		if c, err = in.refresh(ctx, scope, progress); !errors.Is(err, ErrDamaged) && !errors.Is(err, errForgot) || ctx.Err() != nil {
			break
		}
	}
	return c, err
}

// damagesPerCall bounds how often one call begins again, about twice for a
// damaged file: a disk that damages whatever is written would be read without end.
const damagesPerCall = 16

func (in *Ingester) refresh(ctx context.Context, scope session.Scope, progress func(done, total int)) (session.Coverage, error) {
	var sum session.Coverage
	if progress == nil {
		progress = func(int, int) {}
	}
	named := scope.All || len(scope.Workspaces) > 0
	blind, more, err := in.discover(ctx, scope, named)
	if err == nil && more {
		// So much is new that its headers alone take a while: the newest first.
		if err = in.begin(ctx, scope, progress); err == nil {
			blind, _, err = in.discover(ctx, scope, false)
		}
	}
	if errors.Is(err, ErrBusy) {
		sum.Stale = true // another process is discovering
	} else if err != nil {
		return sum, err
	}
	if scope.All {
		// Whose they are cannot be told, so only the owner's scope counts them.
		sum.Unreadable += blind
	}
	plans, err := in.plans(ctx, scope)
	if err != nil {
		return session.Coverage{}, err
	}
	total := 0
	for _, p := range plans {
		total += len(p.jobs)
	}
	var failed error
	finished := 0
	for _, p := range plans {
		if failed == nil {
			failed = in.carryOut(ctx, p, func(done int) { progress(finished+done, total) })
			if lost, _ := leftOut(scope, failed); lost && errors.Is(failed, fs.ErrPermission) {
				in.Logger.Warn("a part of the index cannot be written", "error", failed)
				p.stale, failed = true, nil
			}
		}
		for round := 0; failed == nil && p.parts && round < partRounds; round++ {
			// What was read has brought parts of files to light.
			var next *plan
			if next, failed = in.plan(ctx, p.workspace, p.only, p.absences); failed != nil {
				break
			}
			total += len(next.jobs)
			finished += len(p.jobs)
			next.stale = next.stale || p.stale
			p = next
			failed = in.carryOut(ctx, p, func(done int) { progress(finished+done, total) })
		}
		finished += len(p.jobs)
		sum.Sessions += p.sources
		sum.Unreadable += p.unreadable
		sum.Damaged += p.damaged
		sum.Clipped += p.clipped
		sum.Stale = sum.Stale || p.stale
		for _, j := range p.jobs {
			if !j.done {
				sum.Behind++
			}
		}
	}
	return sum, failed
}

// plans says what has to be done in each workspace of a scope.
func (in *Ingester) plans(ctx context.Context, scope session.Scope) ([]*plan, error) {
	workspaces := scope.Workspaces
	if scope.All {
		var err error
		if workspaces, err = in.Catalog.Catalogued(ctx); err != nil {
			return nil, err
		}
	}
	plans, look := make([]*plan, 0, len(workspaces)), in.absences()
	for _, w := range workspaces {
		p, err := in.plan(ctx, w, scope.Only, look)
		for round := 0; err == nil && p.again && round < 2; round++ {
			if _, _, err = in.discover(ctx, session.Scope{Workspaces: []string{w}}, false); err == nil {
				p, err = in.plan(ctx, w, scope.Only, look)
			}
		}
		if lost, files := leftOut(scope, err); lost {
			in.Logger.Warn("a part of the index cannot be used", "error", err)
			plans = append(plans, &plan{workspace: w, sources: files, unreadable: files})
			continue
		}
		if err != nil {
			return nil, err
		}
		plans = append(plans, p)
	}
	return plans, nil
}

// leftOut reports whether a failure takes one shard's sessions out of a look at
// everything, and how many these are. Damage is no such failure: the shard is
// made again.
func leftOut(scope session.Scope, err error) (lost bool, files int) {
	var s *shardError
	if !scope.All || !errors.As(err, &s) || errors.Is(err, ErrDamaged) || errors.Is(err, errForgot) || fault.IsContext(err) {
		return false, 0
	}
	return true, s.files
}

// begin makes what is catalogued so far searchable, one short transaction in
// each workspace, before the rest is discovered. It removes nothing: what is
// not catalogued yet may be there.
func (in *Ingester) begin(ctx context.Context, scope session.Scope, progress func(done, total int)) error {
	plans, err := in.plans(ctx, scope)
	if err != nil {
		return err
	}
	for _, p := range plans {
		if p.dropped = nil; len(p.jobs) == 0 {
			continue
		}
		p.slices = 1
		if err := in.carryOut(ctx, p, func(done int) { progress(done, len(p.jobs)) }); err != nil {
			return err
		}
	}
	return nil
}

// root finds the root and reader of a row among those this process was given.
func (in *Ingester) root(row FileRow) (Root, bool) { return rootOf(in.Roots, row) }

func rootOf(roots []Root, row FileRow) (Root, bool) {
	for _, r := range roots {
		if r.Path == row.Root && r.Reader.Agent() == row.Agent {
			return r, true
		}
	}
	return Root{}, false
}

// mark notes that a shard may hold remains of what was deleted or rewritten: it
// was changed, or this process meets it for the first time and an earlier one
// may have been stopped before it tidied up.
func (in *Ingester) mark(workspace string, changed bool) {
	in.mu.Lock()
	defer in.mu.Unlock()
	if changed || !in.looked[workspace] {
		in.dirty[workspace] = true
	}
	in.looked[workspace] = true
}

// Tidy removes what deletions left in the files of the index; it is called
// after an answer. What an open snapshot of another process holds back is left
// for the next time.
func (in *Ingester) Tidy(ctx context.Context) error {
	in.mu.Lock()
	due := slices.Sorted(maps.Keys(in.dirty))
	in.mu.Unlock()
	for _, w := range due {
		done, err := in.Shards.Purge(ctx, w)
		if err != nil {
			return err
		}
		if done {
			in.mu.Lock()
			delete(in.dirty, w)
			in.mu.Unlock()
		}
	}
	return nil
}

func isFileError(err error) bool {
	var p *fs.PathError
	return errors.As(err, &p)
}

// withoutPath is the reason of a file error without the path, which a problem
// carries already.
func withoutPath(err error) error {
	var p *fs.PathError
	if errors.As(err, &p) {
		return p.Err
	}
	return err
}
