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
	"cmp"
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/yorehq/yore/fault"
	"github.com/yorehq/yore/reader"
	"github.com/yorehq/yore/session"
)

// Root is a folder below which an agent keeps its sessions.
type Root struct {
	Reader reader.Reader
	Path   string // absolute
}

// Options are what an Ingester is made of.
type Options struct {
	Roots   []Root
	Catalog Catalog
	Shards  Shards
	Now     func() time.Time // nil: time.Now

	KeepFootprints bool         // calls of the product's own tools and their results get documents too
	Logger         *slog.Logger // nil discards
}

// Ingester keeps an index in step with its sources. It is safe for concurrent
// use; several processes may run one on the same index.
type Ingester struct {
	Options
	work struct{ bytes, files, folders, identified atomic.Int64 }

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
}

// New makes an Ingester.
func New(o Options) *Ingester {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return &Ingester{Options: o, dirty: map[string]bool{}, looked: map[string]bool{}}
}

// Work returns what has been done so far.
func (in *Ingester) Work() Work {
	return Work{in.work.bytes.Load(), in.work.files.Load(), in.work.folders.Load(), in.work.identified.Load()}
}

// Refresh brings a scope up to date, newest sessions first, committing as it
// goes. An empty scope only discovers new files. If its context ends it returns
// the context's error with the coverage so far. progress may be nil.
//
// A damaged file of the index is met in the midst of work that was planned with
// what it held, so everything is looked at again then.
func (in *Ingester) Refresh(ctx context.Context, scope session.Scope, progress func(done, total int)) (c session.Coverage, err error) {
	for range damagesPerCall {
		if c, err = in.refresh(ctx, scope, progress); !errors.Is(err, ErrDamaged) || ctx.Err() != nil {
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
	blind, err := in.discover(ctx)
	if errors.Is(err, ErrBusy) {
		sum.Stale = true // another process is discovering
	} else if err != nil {
		return sum, err
	}
	if scope.All {
		// Whose they are cannot be told, so only the owner's scope counts them.
		sum.Unreadable += blind
	}
	workspaces := scope.Workspaces
	if scope.All {
		var err error
		if workspaces, err = in.workspaces(ctx); err != nil {
			return session.Coverage{}, err
		}
	}
	plans := make([]*plan, 0, len(workspaces))
	total := 0
	for _, w := range workspaces {
		p, err := in.plan(ctx, w, scope.Only)
		if err == nil && p.again {
			if _, err = in.discover(ctx); err == nil {
				p, err = in.plan(ctx, w, scope.Only)
			}
		}
		if err != nil {
			return session.Coverage{}, err
		}
		plans = append(plans, p)
		total += len(p.jobs)
	}
	var failed error
	finished := 0
	for _, p := range plans {
		if failed == nil {
			failed = in.carryOut(ctx, p, func(done int) {
				if progress != nil {
					progress(finished+done, total)
				}
			})
		}
		for round := 0; failed == nil && p.parts && round < partRounds; round++ {
			// What was read has brought parts of files to light.
			var next *plan
			if next, failed = in.plan(ctx, p.workspace, p.only); failed != nil {
				break
			}
			total += len(next.jobs)
			finished += len(p.jobs)
			stale := p.stale
			p = next
			p.stale = stale
			failed = in.carryOut(ctx, p, func(done int) {
				if progress != nil {
					progress(finished+done, total)
				}
			})
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

// workspaces returns every catalogued workspace, sorted.
func (in *Ingester) workspaces(ctx context.Context) ([]string, error) {
	rows, err := in.Catalog.Files(ctx, FileLookup{})
	if err != nil {
		return nil, err
	}
	seen := map[string]bool{}
	for _, r := range rows {
		if !r.Pending && r.Header.ID != "" {
			seen[r.Header.Cwd] = true
		}
	}
	var all []string
	for w := range seen {
		all = append(all, w)
	}
	slices.Sort(all)
	return all, nil
}

// plan is what has to be done in one workspace.
type plan struct {
	workspace  string
	only       *session.Key
	jobs       []*job
	keep       map[string]bool // sources that belong into the shard
	drop       bool            // the shard holds sessions that do not
	sources    int
	unreadable int
	damaged    int
	clipped    int
	stale      bool
	again      bool // the catalog changed while planning: discover and plan once more

	unnamed bool // titles for other sessions wait for being looked up

	file  string           // the file that only is a part of
	ends  map[string]int64 // of parts: where they end in their files
	parts bool             // carried out, it has brought parts to light that are to be read
}

// concerns reports whether a file has to be looked at.
func (p *plan) concerns(row FileRow) bool {
	return p.only == nil || row.Header.Key() == *p.only || row.Path == p.file
}

// drops reports whether a stored session does not belong into the shard: a plan
// for one session judges that one alone.
func (p *plan) drops(s *Stored) bool {
	return !p.keep[s.Source] && (p.only == nil || s.Header.Key() == *p.only)
}

// plan compares a workspace's catalogued files with its shard.
func (in *Ingester) plan(ctx context.Context, workspace string, only *session.Key) (*plan, error) {
	rows, err := in.Catalog.Files(ctx, FileLookup{Workspace: &workspace})
	if err != nil {
		return nil, err
	}
	stored, err := in.Shards.Peek(ctx, workspace)
	if err != nil {
		return nil, err
	}
	at := make(map[string]*Stored, len(stored))
	for i := range stored {
		at[stored[i].Source] = &stored[i]
	}
	p := &plan{workspace: workspace, only: only, keep: map[string]bool{}}
	in.mark(workspace, false)
	if rows, _, err = in.shareParts(ctx, p, rows, stored); err != nil {
		return nil, err
	}
	if err := in.shareForks(ctx, rows, stored); err != nil {
		return nil, err
	}
	if rows, err = in.freshen(ctx, p, in.withoutAway(rows, at)); err != nil {
		return nil, err
	}
	chosen, conflicts := choose(rows)
	for key := range conflicts {
		if only == nil || key == *only {
			p.sources++
			p.unreadable++
		}
	}
	for _, row := range rows {
		if row.Problem == nil || only != nil && row.Header.Key() != *only {
			continue
		}
		p.unreadable++
		if err := in.recheck(ctx, p, row); err != nil {
			return nil, err
		}
	}
	for _, row := range chosen {
		if !p.concerns(row) {
			p.keep[row.Path] = true
			continue
		}
		if err := in.planSource(ctx, p, row, at[row.Path]); err != nil {
			return nil, err
		}
		switch {
		case p.keep[row.Path]:
			p.sources++
		case hasCopy(rows, row):
			p.again = true // it takes this one's place
		}
	}
	for _, s := range stored {
		if p.drops(&s) {
			p.drop = true
		}
		p.unnamed = p.unnamed || s.Naming.unsought()
	}
	slices.SortStableFunc(p.jobs, func(a, b *job) int { return cmp.Compare(b.stamp.ModTime, a.stamp.ModTime) })
	return p, nil
}

// note counts what an answer from a session's stored state may miss.
func (p *plan) note(s *Stored) {
	switch {
	case s.Problem != nil:
		p.unreadable++
	case s.Skip != nil && s.Skip.Rest != 0:
		p.damaged++
	}
	p.clipped += int(s.Clipped)
}

// planSource decides what one file needs.
func (in *Ingester) planSource(ctx context.Context, p *plan, row FileRow, s *Stored) error {
	root, ok := in.root(row)
	if !ok {
		// A root that this process was not given, or an agent it cannot read:
		// what others indexed stays as it is.
		if s != nil {
			p.keep[row.Path] = true
		}
		return nil
	}
	var at reader.Position
	if s != nil {
		at = s.Position
	}
	src := reader.Source{Agent: row.Agent, Root: row.Root, Path: row.Path, Header: row.Header, End: p.ends[row.Path]}
	in.work.files.Add(1)
	rev, stamp, err := root.Reader.Revise(ctx, src, at)
	switch {
	case fault.IsContext(err):
		return err
	case err != nil:
		// It is there and cannot be looked at: what the index holds of it stays.
		p.keep[row.Path] = true
		p.unreadable++
		in.Logger.Warn("a log cannot be looked at", "error", err)
		return nil
	case rev == reader.Gone:
		if _, err := os.Stat(row.Root); err != nil {
			p.keep[row.Path] = s != nil // the whole root is away: nothing can be said of its files
			return nil
		}
		return in.forget(ctx, p, root, row)
	case rev == reader.Replaced && (s != nil || stamp != row.Stamp):
		// Another file may state another header.
		fresh, ok, err := in.identify(ctx, root, row)
		if errors.Is(err, errOutOfReach) {
			p.keep[row.Path] = true
			p.unreadable++
			return nil
		}
		if err != nil || !ok || fresh.Header.Cwd != row.Header.Cwd {
			return err
		}
		src.Header = fresh.Header
	}
	p.keep[row.Path] = true
	if s != nil && rev == reader.Unchanged && s.Mapping == mapping(root.Reader) && s.Header == src.Header {
		p.note(s)
		return nil
	}
	p.jobs = append(p.jobs, &job{src: src, reader: root.Reader, rev: rev, stamp: stamp})
	return nil
}

// forget takes a file that is gone out of the catalog. Its folder is waited in
// again: the agent may have put another file in its place.
func (in *Ingester) forget(ctx context.Context, p *plan, root Root, row FileRow) error {
	change := CatalogChange{RemoveFiles: []string{row.Path}}
	rel, err := filepath.Rel(root.Path, row.Folder)
	if err == nil && root.Reader.Classify(filepath.ToSlash(rel), true) == reader.Leaf {
		if info, err := os.Lstat(row.Folder); err == nil && info.IsDir() {
			change.Folders = append(change.Folders, Folder{Path: row.Folder, Root: row.Root, Leaf: true})
			p.again = true
		}
	}
	return in.Catalog.Update(ctx, change)
}

// recheck looks again at a file that was no session, or contradicted another,
// if it changed.
func (in *Ingester) recheck(ctx context.Context, p *plan, row FileRow) error {
	root, ok := in.root(row)
	if !ok {
		return nil
	}
	in.work.files.Add(1)
	stamp, err := reader.StatRegular(reader.FileOf(row.Path))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		if _, err := os.Stat(row.Root); err != nil {
			return nil
		}
		p.again = true
		return in.forget(ctx, p, root, row)
	case err != nil || stamp == row.Stamp:
		return nil
	}
	if _, _, err = in.identify(ctx, root, row); errors.Is(err, errOutOfReach) {
		return nil
	}
	p.again = true
	return err
}

// root finds the root and reader of a row among those this process was given.
func (in *Ingester) root(row FileRow) (Root, bool) {
	for _, r := range in.Roots {
		if r.Path == row.Root && r.Reader.Agent() == row.Agent {
			return r, true
		}
	}
	return Root{}, false
}

// carryOut does a plan's work in short transactions.
func (in *Ingester) carryOut(ctx context.Context, p *plan, progress func(done int)) error {
	left := p.jobs
	if len(left) > 0 || p.drop {
		defer in.mark(p.workspace, true)
	}
	for first := true; len(left) > 0 || first && p.drop; first = false {
		if err := ctx.Err(); err != nil {
			return err
		}
		done := 0
		err := in.Shards.Write(ctx, p.workspace, func(w Writer) error {
			done = 0
			sl, err := in.open(ctx, w)
			if err != nil {
				return err
			}
			if first && p.drop {
				if err := in.dropAll(ctx, sl, p); err != nil {
					return err
				}
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
			return err
		}
		for _, j := range left[:done] {
			j.done = true
		}
		left = left[done:]
		progress(len(p.jobs) - len(left))
	}
	return in.conclude(ctx, p)
}

// open reads the saved state under the write lock.
func (in *Ingester) open(ctx context.Context, w Writer) (*slice, error) {
	rows, err := w.Stored(ctx)
	if err != nil {
		return nil, err
	}
	sl := &slice{in: in, w: w, stored: make(map[string]*Stored, len(rows)), start: time.Now()}
	for i := range rows {
		sl.stored[rows[i].Source] = &rows[i]
	}
	sl.names = namesOf(sl.stored)
	return sl, nil
}

// dropAll removes the sessions that do not belong into the shard any more.
func (in *Ingester) dropAll(ctx context.Context, sl *slice, p *plan) error {
	for source, s := range sl.stored {
		if !p.drops(s) {
			continue
		}
		if err := sl.unname(ctx, s); err != nil {
			return err
		}
		if err := sl.w.Delete(ctx, s.Num); err != nil {
			return err
		}
		delete(sl.stored, source)
	}
	return nil
}

// conclude counts what this round found to be unsound, and hands what it found
// out about lineage on to the catalog, which may lag behind a shard but never
// lead it.
func (in *Ingester) conclude(ctx context.Context, p *plan) error {
	if len(p.jobs) == 0 && !p.drop && !p.unnamed {
		return nil
	}
	if err := in.seekNames(ctx, p); err != nil {
		return err
	}
	stored, err := in.Shards.Peek(ctx, p.workspace)
	if err != nil {
		return err
	}
	at := map[string]*Stored{}
	for i, s := range stored {
		at[s.Source] = &stored[i]
	}
	for _, j := range p.jobs {
		if s := at[j.src.Path]; s != nil {
			p.note(s)
		}
	}
	rows, err := in.Catalog.Files(ctx, FileLookup{Workspace: &p.workspace})
	if err != nil {
		return err
	}
	if rows, p.parts, err = in.shareParts(ctx, p, rows, stored); err != nil {
		return err
	}
	return in.shareForks(ctx, rows, stored)
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
