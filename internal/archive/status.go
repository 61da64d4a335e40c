package archive

import (
	"context"
	"time"

	"github.com/yorehq/yore/fault"
	"github.com/yorehq/yore/reader"
	format "github.com/yorehq/yore/reader/archive"
	"github.com/yorehq/yore/session"
)

// Status compares an archive with the agents' folders.
type Status struct {
	Sessions int   // in the archive
	Bytes    int64 // of their files
	Current  int   // of these, those that have everything of their log
	Behind   int   // those whose log has more by now, or was rewritten
	Alone    int   // those whose log is not there any more
	Damaged  int   // those that cannot be read, or have no end: not counted above
	Missing  int   // sessions that the archive does not have
	Skips    []Skip
}

// Status compares what which takes. It reads headers and positions, and no event.
func (a *Archiver) Status(ctx context.Context, which Which) (Status, error) {
	var st Status
	all, skips, err := a.originals(ctx, which)
	if err != nil {
		return st, err
	}
	st.Skips = skips
	of := map[string]original{}
	for _, o := range all {
		of[format.Path(a.dir, o.src.Header)] = o
	}
	for _, o := range all {
		parts, err := a.archivedParts(ctx, o)
		if err != nil {
			return st, err
		}
		for _, part := range parts {
			if to := format.Path(a.dir, part.src.Header); of[to].reader == nil {
				of[to] = part
			}
		}
	}
	err = walk(ctx, Root{format.New(), a.dir}, func(path string) error {
		k, err := open(ctx, path)
		if fault.IsContext(err) {
			return err
		}
		defer k.close()
		o, there := of[path]
		delete(of, path)
		switch {
		case k.file != nil && k.origin.Header.ID != "" && !which.takes(k.origin.Header):
			return nil
		case err != nil || !k.whole:
			st.Damaged++
			return nil
		}
		st.Sessions++
		st.Bytes += k.size
		switch current, err := k.has(ctx, o); {
		case err != nil:
			return err
		case !there:
			st.Alone++
		case current:
			st.Current++
		default:
			st.Behind++
		}
		return nil
	})
	st.Missing = len(of)
	return st, err
}

// has reports whether the archive has everything of a log.
func (k *kept) has(ctx context.Context, o original) (bool, error) {
	if o.reader == nil || !k.whole || k.origin.Header != o.src.Header || k.origin.Mapping != mapping(o.reader) {
		return false, nil
	}
	rev, _, err := o.reader.Revise(ctx, o.src, k.at)
	if fault.IsContext(err) {
		return false, err
	}
	return err == nil && rev == reader.Unchanged, nil
}

// Notice is how long before its deletion a log is named.
const Notice = 5 * 24 * time.Hour

// Due is a log that its agent is about to delete and that is not archived.
type Due struct {
	Agent     session.Agent
	ID        session.ID
	Workspace string
	Path      string
	Changed   time.Time
	Left      time.Duration // until the agent may delete it; not positive: any time
}

// FindDue returns the logs that their agents may delete within Notice and whose
// last state is not in the archive; dir "" is no archive. Only old files are
// opened.
func FindDue(ctx context.Context, roots []Root, dir string, now time.Time) ([]Due, error) {
	var all []Due
	for _, r := range roots {
		p, ok := r.Reader.(reader.Pruner)
		if !ok {
			continue
		}
		age, ok := p.PrunesAfter(r.Path)
		if !ok {
			continue
		}
		err := walk(ctx, r, func(path string) error {
			stamp, err := reader.StatRegular(path)
			changed := time.Unix(0, stamp.ModTime)
			left := age - now.Sub(changed)
			if err != nil || left > Notice || reader.IsShelf(r.Reader, r.Path, path) {
				return nil
			}
			h, err := r.Reader.Identify(ctx, r.Path, path)
			if err != nil {
				if fault.IsContext(err) {
					return err
				}
				return nil // nothing that could be kept
			}
			src := reader.Source{Agent: r.Reader.Agent(), Root: r.Path, Path: path, Header: h}
			safe, err := archived(ctx, dir, original{r.Reader, src, stamp})
			if err == nil && !safe {
				all = append(all, Due{h.Agent, h.ID, h.Cwd, path, changed, left})
			}
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	return all, nil
}

// archived reports whether an archive has everything of a log and of its parts.
func archived(ctx context.Context, dir string, o original) (bool, error) {
	if dir == "" {
		return false, nil
	}
	k, err := open(ctx, format.Path(dir, o.src.Header))
	if err != nil {
		if fault.IsContext(err) {
			return false, err
		}
		return false, nil
	}
	defer k.close()
	if _, name := reader.SplitPart(o.src.Path); name != "" && k.whole && reader.FileOf(k.origin.Source) == k.origin.Source {
		return true, nil // a file of its own has outranked the part
	}
	has, err := k.has(ctx, o)
	if err != nil || !has {
		return false, err
	}
	for _, part := range o.parts(k.at) {
		if has, err = archived(ctx, dir, part); err != nil || !has {
			return false, err
		}
	}
	return true, nil
}
