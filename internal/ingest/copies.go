package ingest

import (
	"context"
	"errors"
	"io/fs"
	"slices"

	"github.com/yorehq/yore/reader"
	"github.com/yorehq/yore/session"
)

// Several files may give one session: a copy in another place, an archive, an
// encoding that the agent has left behind. Their headers decide: equal ones are
// one session, of which one file is read; different ones contradict each other.

// freshen looks again at every file that is not alone in giving its session, so
// that the choice between them is made of what they are now. Changes go into
// rows and into the catalog; files that are gone are left out.
func (in *Ingester) freshen(ctx context.Context, p *plan, rows []FileRow) ([]FileRow, error) {
	count := map[session.Key]int{}
	for _, row := range rows {
		if !row.Pending && row.Problem == nil {
			count[row.Header.Key()]++
		}
	}
	kept := make([]FileRow, 0, len(rows))
	for _, row := range rows {
		key := row.Header.Key()
		root, ok := in.root(row)
		if !ok || row.Pending || row.Problem != nil || count[key] < 2 || in.shelved(row) || p.only != nil && key != *p.only {
			kept = append(kept, row)
			continue
		}
		in.work.files.Add(1)
		stamp, err := reader.StatRegular(reader.FileOf(row.Path))
		switch {
		case errors.Is(err, fs.ErrNotExist):
			away, err := p.absences.away(ctx, row.Root)
			if err != nil {
				return nil, err
			}
			if !away {
				if err := in.forget(ctx, p, root, row); err != nil {
					return nil, err
				}
				continue
			}
		case err == nil && stamp != row.Stamp:
			fresh, _, err := in.identify(ctx, root, row)
			if err != nil && !errors.Is(err, errOutOfReach) {
				return nil, err
			}
			if row = fresh; row.Header.Cwd != p.workspace {
				p.again = true // it belongs to another workspace by now
				continue
			}
		}
		kept = append(kept, row)
	}
	return kept, nil
}

// shareForks hands what a shard knows of lineage on to the catalog, to every
// file that gives the session. The catalog may lag behind a shard and never
// leads it.
func (in *Ingester) shareForks(ctx context.Context, rows []FileRow, stored map[string]*Glance) error {
	forks := map[session.Key]Fork{}
	for i := range rows {
		if g := stored[rows[i].Path]; g != nil {
			forks[rows[i].Header.Key()] = g.Fork
		}
	}
	var change CatalogChange
	for i := range rows {
		if f, ok := forks[rows[i].Header.Key()]; ok && f != rows[i].Fork {
			rows[i].Fork = f
			change.Files = append(change.Files, rows[i])
		}
	}
	if len(change.Files) == 0 {
		return nil
	}
	return in.Catalog.Update(ctx, change)
}

// choose picks one file for each session: the same log at two places is one
// session, files that contradict each other are none. It returns the sessions
// in conflict too. Rows that are lesser (Lesser) are not looked at.
func choose(rows []FileRow, lesser map[string]bool) (chosen []FileRow, conflict map[session.Key]bool) {
	best := map[session.Key]int{}
	conflict = map[session.Key]bool{}
	for i, row := range rows {
		if row.Pending || row.Problem != nil || lesser[row.Path] {
			continue
		}
		key := row.Header.Key()
		j, ok := best[key]
		switch {
		case !ok:
			best[key] = i
		case rows[j].Header != row.Header:
			conflict[key] = true
		case better(row, rows[j]):
			best[key] = i
		}
	}
	for i, row := range rows {
		if key := row.Header.Key(); !row.Pending && row.Problem == nil && !lesser[row.Path] && best[key] == i && !conflict[key] {
			chosen = append(chosen, row)
		}
	}
	return chosen, conflict
}

// Lesser finds the files, by path, that do not count because their agent keeps
// the same session in another form, too, that tells more (reader.Ranker).
func Lesser(roots []Root, rows []FileRow) map[string]bool {
	rank := func(row FileRow) (n int, ok bool) {
		root, ok := rootOf(roots, row)
		if !ok || row.Pending || row.Problem != nil {
			return 0, false
		}
		return reader.RankOf(root.Reader, root.Path, row.Path), true
	}
	type place struct {
		key session.Key
		cwd string
	}
	highest := map[place]int{}
	for _, row := range rows {
		if n, ok := rank(row); ok {
			at := place{row.Header.Key(), row.Header.Cwd}
			highest[at] = max(highest[at], n)
		}
	}
	var found map[string]bool
	for _, row := range rows {
		if n, ok := rank(row); ok && n < highest[place{row.Header.Key(), row.Header.Cwd}] {
			if found == nil {
				found = map[string]bool{}
			}
			found[row.Path] = true
		}
	}
	return found
}

// withoutAway takes out the files whose whole root is away and that have a copy
// which is of more use: one below a root that is there, or else one that the
// shard holds.
func (in *Ingester) withoutAway(ctx context.Context, p *plan, rows []FileRow, stored map[string]*Glance) ([]FileRow, error) {
	away := map[string]bool{}
	for _, row := range rows {
		if _, asked := away[row.Root]; !asked {
			gone, err := p.absences.away(ctx, row.Root)
			if err != nil {
				return nil, err
			}
			away[row.Root] = gone
		}
	}
	use := func(r FileRow) int {
		_, known := in.root(r)
		switch {
		case known && !away[r.Root]:
			return 2
		case stored[r.Path] != nil:
			return 1
		}
		return 0
	}
	best := map[session.Header]int{}
	for _, r := range rows {
		if !r.Pending && r.Problem == nil {
			best[r.Header] = max(best[r.Header], use(r))
		}
	}
	return slices.DeleteFunc(rows, func(r FileRow) bool { return away[r.Root] && r.Problem == nil && use(r) < best[r.Header] }), nil
}

// hasCopy reports whether another file gives the same session as one that was
// chosen: a copy, or a lesser form of it.
func hasCopy(rows []FileRow, row FileRow) bool {
	return slices.ContainsFunc(rows, func(r FileRow) bool {
		return r.Path != row.Path && r.Header.Key() == row.Header.Key() && !r.Pending && r.Problem == nil
	})
}

// better prefers the log that the session's own agent keeps, then the newer
// copy, then the longer, then the first by name.
func better(a, b FileRow) bool {
	own := func(r FileRow) bool { return r.Agent == r.Header.Agent }
	switch {
	case own(a) != own(b):
		return own(a)
	case a.Stamp.ModTime != b.Stamp.ModTime:
		return a.Stamp.ModTime > b.Stamp.ModTime
	case a.Stamp.Size != b.Stamp.Size:
		return a.Stamp.Size > b.Stamp.Size
	}
	return a.Path < b.Path
}
