package ingest

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/yorehq/yore/fault"
	"github.com/yorehq/yore/reader"
	"github.com/yorehq/yore/session"
)

// plan is what has to be done in one workspace.
type plan struct {
	workspace  string
	only       *session.Key
	absences   *absences
	jobs       []*job
	keep       map[string]bool // sources that belong into the shard
	dropped    []string        // sources of sessions in the shard that do not
	slices     int             // no more transactions than this; 0: until all is done
	sources    int
	unreadable int
	blocked    int // logs that are there and cannot be looked at
	damaged    int
	clipped    int
	stale      bool
	again      bool // the catalog changed while planning: discover and plan once more
	grown      []grown

	forgot uint64 // the state of the list of forgotten sessions

	unnamed   bool // titles for other sessions wait for being looked up
	unrelated bool // large families wait for being related

	file  string           // the file that only is a part of
	ends  map[string]int64 // of parts: where they end in their files
	parts bool             // carried out, it has brought parts to light that are to be read
}

// concerns reports whether a file has to be looked at.
func (p *plan) concerns(row FileRow) bool {
	return p.only == nil || row.Header.Key() == *p.only || row.Path == p.file
}

// grown is a log that has become longer.
type grown struct {
	root Root
	path string
}

// drops reports whether a stored session does not belong into the shard. A plan
// for one session asks this of that one alone.
func (p *plan) drops(g *Glance) bool { return !p.keep[g.Source] }

// plan compares a workspace's catalogued files with its shard, as a part of one
// look.
func (in *Ingester) plan(ctx context.Context, workspace string, only *session.Key, look *absences) (*plan, error) {
	which := FileLookup{Workspace: &workspace}
	if only != nil {
		which.ID = &only.ID
	}
	rows, stored, err := in.known(ctx, which, only)
	if err != nil {
		return nil, err
	}
	judged := stored
	if only != nil && in.isDivided(rows, stored) {
		// A file and its parts are looked at together.
		if rows, stored, err = in.known(ctx, FileLookup{Workspace: &workspace}, nil); err != nil {
			return nil, err
		}
	}
	at := make(map[string]*Glance, len(stored))
	for i := range stored {
		at[stored[i].Source] = &stored[i]
	}
	p := &plan{workspace: workspace, only: only, absences: look, keep: map[string]bool{}}
	in.mark(workspace, false)
	if in.isDivided(rows, stored) {
		if rows, err = in.shareParts(ctx, p, rows, stored); err != nil {
			return nil, err
		}
	}
	if rows, err = in.withoutForgotten(ctx, p, rows); err != nil {
		return nil, err
	}
	if err := in.shareForks(ctx, rows, at); err != nil {
		return nil, err
	}
	if rows, err = in.withoutAway(ctx, p, rows, at); err != nil {
		return nil, err
	}
	if rows, err = in.freshen(ctx, p, rows); err != nil {
		return nil, err
	}
	chosen, conflicts := choose(rows, Lesser(in.Roots, rows))
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
	if err := in.planSources(ctx, p, rows, chosen, at); err != nil {
		return nil, err
	}
	if p.blocked > 1 {
		in.Logger.Warn("logs cannot be looked at", "count", p.blocked)
	}
	for i := range judged {
		if p.drops(&judged[i]) {
			p.dropped = append(p.dropped, judged[i].Source)
		}
		p.unnamed = p.unnamed || judged[i].Unnamed
		p.unrelated = p.unrelated || judged[i].Unrelated
	}
	p.parts = len(p.dropped) > 0 && in.isDivided(rows, judged)
	slices.SortStableFunc(p.jobs, func(a, b *job) int { return cmp.Compare(b.stamp.ModTime, a.stamp.ModTime) })
	if !p.again {
		p.again, err = in.beside(ctx, p)
	}
	return p, err
}

// known returns what the catalog and the shard know of a workspace, or of one
// session of it.
func (in *Ingester) known(ctx context.Context, which FileLookup, only *session.Key) ([]FileRow, []Glance, error) {
	rows, err := in.Catalog.Files(ctx, which)
	if err != nil {
		return nil, nil, err
	}
	stored, err := in.Shards.Glances(ctx, *which.Workspace, only)
	if err != nil {
		err = &shardError{err, len(rows)}
	}
	return rows, stored, err
}

// shardError says that a workspace's shard cannot be read, and how many files
// are catalogued for it.
type shardError struct {
	cause error
	files int
}

func (e *shardError) Error() string { return e.cause.Error() }
func (e *shardError) Unwrap() error { return e.cause }

// planSources decides what each of the chosen files needs. Most are unchanged,
// which a stat tells; of the others the saved state is fetched.
func (in *Ingester) planSources(ctx context.Context, p *plan, rows, chosen []FileRow, at map[string]*Glance) error {
	var changed []FileRow
	var sources []string
	for _, row := range chosen {
		if !p.concerns(row) {
			p.keep[row.Path] = true
			continue
		}
		s := at[row.Path]
		if in.unchanged(p, row, s) {
			p.keep[row.Path] = true
			p.sources++
			continue
		}
		changed = append(changed, row)
		if s != nil {
			sources = append(sources, row.Path)
		}
	}
	if len(changed) == 0 {
		return nil
	}
	states := map[string]*Stored{}
	if len(sources) > 0 {
		stored, err := in.Shards.Peek(ctx, p.workspace, StoredLookup{Sources: sources})
		if err != nil {
			return err
		}
		for i := range stored {
			states[stored[i].Source] = &stored[i]
		}
	}
	for _, row := range changed {
		if err := in.planSource(ctx, p, row, states[row.Path]); err != nil {
			return err
		}
		switch {
		case p.keep[row.Path]:
			p.sources++
		case hasCopy(rows, row):
			p.again = true // it takes this one's place
		}
	}
	return nil
}

// unchanged reports whether a stat alone tells that a log is as it was indexed.
func (in *Ingester) unchanged(p *plan, row FileRow, s *Glance) bool {
	if s == nil {
		return false
	}
	root, ok := in.root(row)
	if ok && reader.OnShelf(root.Reader, root.Path, row.Path) {
		if !in.glance(root, row, s) {
			return false
		}
		p.note(s)
		return true
	}
	if !ok || !s.Alone || s.Sum != sumOf(root.mapping, row.Header) {
		return false
	}
	in.work.files.Add(1)
	stamp, err := reader.StatRegular(reader.FileOf(row.Path))
	if err != nil || stamp != s.Stamp {
		return false
	}
	p.note(s)
	return true
}

// note counts what an answer from a session's stored state may miss.
func (p *plan) note(s *Glance) {
	switch {
	case s.Unsound:
		p.unreadable++
	case s.Damaged:
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
	shelved := in.shelved(row)
	rev, stamp, err := reader.Replaced, row.Stamp, error(nil)
	if s != nil || !shelved { // what is new on a shelf was just listed
		in.work.files.Add(1)
		rev, stamp, err = root.Reader.Revise(ctx, src, at)
	}
	switch {
	case fault.IsContext(err):
		return err
	case errors.Is(err, reader.ErrRetry):
		p.keep[row.Path], p.stale = true, true
		return nil
	case err != nil:
		// It is there and cannot be looked at: what the index holds of it stays.
		p.keep[row.Path] = true
		p.unreadable++
		if p.blocked++; p.blocked == 1 { // of thousands one is enough
			in.Logger.Warn("a log cannot be looked at", "error", err)
		}
		return nil
	case rev == reader.Gone:
		if away, err := p.absences.away(ctx, row.Root); away || err != nil {
			p.keep[row.Path] = s != nil // nothing can be said of its files
			return err
		}
		return in.forget(ctx, p, root, row)
	case rev == reader.Replaced && !shelved && (s != nil || stamp != row.Stamp):
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
	if s != nil && rev == reader.Unchanged && s.Mapping == root.mapping && s.Header == src.Header {
		g := s.Glance()
		p.note(&g)
		return nil
	}
	if rev == reader.Grown {
		p.grown = append(p.grown, grown{root, row.Path})
	}
	p.jobs = append(p.jobs, &job{src: src, reader: root.Reader, rev: rev, stamp: stamp, fork: row.Fork})
	return nil
}

// beside looks into the folders that bear the names of logs that have grown:
// what belongs to a session and has a log of its own may have begun there. It
// reports whether there is something to discover.
func (in *Ingester) beside(ctx context.Context, p *plan) (bool, error) {
	var change CatalogChange
	for _, g := range p.grown {
		file := reader.FileOf(g.path)
		folder := strings.TrimSuffix(file, filepath.Ext(file))
		rel, err := filepath.Rel(g.root.Path, folder)
		if err != nil || g.root.Reader.Classify(filepath.ToSlash(rel), true) != reader.Folder {
			continue
		}
		in.work.folders.Add(1)
		info, err := os.Lstat(folder)
		if err != nil || !info.IsDir() {
			continue
		}
		known, err := in.Catalog.Folders(ctx, FolderLookup{Root: g.root.Path, Paths: []string{folder}})
		if err != nil {
			return false, err
		}
		if len(known) == 1 && known[0].ModTime == 0 || len(known) == 1 && known[0].ModTime == info.ModTime().UnixNano() {
			continue
		}
		// Never listed: the next look goes there.
		change.Folders = append(change.Folders, Folder{Path: folder, Root: g.root.Path})
	}
	if len(change.Folders) == 0 {
		return false, nil
	}
	return true, in.Catalog.Update(ctx, change)
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
	if !ok || in.shelved(row) {
		return nil
	}
	in.work.files.Add(1)
	stamp, err := reader.StatRegular(reader.FileOf(row.Path))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		if away, err := p.absences.away(ctx, row.Root); away || err != nil {
			return err
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
