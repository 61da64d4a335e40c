package ingest

import (
	"context"
	"math/rand/v2"
	"path/filepath"

	"github.com/yorehq/yore/reader"
	"github.com/yorehq/yore/session"
)

// A machine gathers folders without end: one a project, one a day, some for each
// session. A look for new files of some workspaces goes to those that can hold
// one, and no further:
//
//	where the agent would put one now      always (reader.Placer); if it puts them
//	                                       nowhere else, nothing but these
//	those that hold sessions of them       always, unless new ones come there by
//	                                       hand only
//	never listed yet, or changed lately    up to a share of watchMost
//	all the others                         a few, from a random one on
//
// Up to watchMost all are looked at. A file that comes, against its agent's
// habit, into a folder that has been quiet among more folders than that is found
// by one of the next looks, and at once by a look at everything.

const (
	// watchMost is how many folders one look goes to beside those that it must.
	watchMost = 320

	// sweepCount is how many of the quiet folders of a root one look of sweepEvery
	// goes to: counting them costs more than looking.
	sweepCount = 64
	sweepEvery = 4
)

// thorough reports whether a look goes to every folder.
func thorough(scope session.Scope) bool {
	return scope.All || len(scope.Workspaces) == 0 && !scope.Quick
}

// watched returns the folders of a root that a look has to stat, the root first.
// It is one of so many roots that are left; looks says how many were made.
func (in *Ingester) watched(ctx context.Context, r Root, scope session.Scope, left, looks int) ([]Folder, error) {
	list := roster{catalog: in.Catalog, ctx: ctx, root: r.Path, has: map[string]bool{}}
	list.add(FolderLookup{Paths: []string{r.Path}})
	if len(list.folders) == 0 && list.err == nil {
		list.folders = append(list.folders, Folder{Path: r.Path, Root: r.Path})
	}
	if thorough(scope) {
		list.add(FolderLookup{})
		return list.folders, list.err
	}
	elsewhere := len(scope.Workspaces) == 0
	for _, w := range scope.Workspaces {
		at, others := in.places(r, w)
		if others == reader.Never {
			for _, p := range at {
				list.add(FolderLookup{Below: p})
			}
			continue
		}
		elsewhere = true
		if len(at) > 0 {
			list.add(FolderLookup{Paths: at})
		}
		if others == reader.Possible {
			list.add(FolderLookup{Workspace: &w})
		}
	}
	if !elsewhere {
		return list.folders, list.err
	}
	share := max((watchMost-looks)/left, sweepCount)
	known := len(list.folders)
	if list.add(FolderLookup{Latest: share}); len(list.folders)-known+len(list.twice) == share && rand.IntN(sweepEvery) == 0 {
		list.add(FolderLookup{Sweep: Sweep{From: rand.IntN(1 << 30), Count: sweepCount}})
	}
	return list.folders, list.err
}

// places returns where a reader's agent would put a new session of a workspace.
func (in *Ingester) places(r Root, workspace string) (paths []string, others reader.Elsewhere) {
	placer, ok := r.Reader.(reader.Placer)
	if !ok {
		return nil, reader.Possible
	}
	folders, others := placer.Places(workspace, in.Now())
	for _, f := range folders {
		paths = append(paths, filepath.Join(r.Path, filepath.FromSlash(f)))
	}
	return paths, others
}

// roster gathers folders, each once.
type roster struct {
	catalog Catalog
	ctx     context.Context
	root    string
	folders []Folder
	has     map[string]bool
	twice   []Folder // of the latest addition: those that were there already
	err     error
}

func (l *roster) add(which FolderLookup) {
	if l.err != nil {
		return
	}
	which.Root = l.root
	var more []Folder
	more, l.err = l.catalog.Folders(l.ctx, which)
	l.twice = nil
	for _, f := range more {
		if l.has[f.Path] {
			l.twice = append(l.twice, f)
			continue
		}
		l.has[f.Path] = true
		l.folders = append(l.folders, f)
	}
}
