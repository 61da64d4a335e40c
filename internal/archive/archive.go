// Package archive keeps copies of sessions beyond the day their agents delete
// them: it finds the agents' logs, reads what is new in each through the agent's
// own reader, and writes it, with the bytes of every event, into a folder that
// belongs to the person.
//
// It knows no agent and no index, and it only ever reads an agent's folders. The
// format of what it writes, and reading it again, are package reader/archive's.
// A file of the archive is replaced as a whole, so that a crash or a second
// archiver leaves the old or the new one. Start at Archiver.Run, then copy.go.
package archive

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/yorehq/yore/fault"
	"github.com/yorehq/yore/reader"
	format "github.com/yorehq/yore/reader/archive"
	"github.com/yorehq/yore/session"
)

// Root is a folder below which an agent keeps its sessions.
type Root struct {
	Reader reader.Reader
	Path   string // absolute
}

// Archiver copies sessions from roots into an archive. It holds nothing between
// calls; several may work on one archive.
type Archiver struct {
	dir     string
	roots   []Root
	forgets Forgets // nil: nothing
}

// New returns an archiver for the archive in dir, which need not be there yet.
// An archive that lies in a root, or around one, is fault.InvalidConfig: nothing
// may be written where an agent looks for its sessions.
func New(dir string, roots []Root) (*Archiver, error) {
	if !filepath.IsAbs(dir) {
		return nil, fault.New(fault.InvalidConfig, "the archive folder %q is no absolute path", dir)
	}
	at := resolved(dir)
	for _, r := range roots {
		if root := resolved(r.Path); inside(at, root) || inside(root, at) {
			return nil, fault.New(fault.InvalidConfig, "the archive folder %s and the sessions of %s in %s lie in one another", dir, r.Reader.Agent(), r.Path)
		}
	}
	return &Archiver{dir: filepath.Clean(dir), roots: roots}, nil
}

// resolved follows the links of a path as far as it is there.
func resolved(path string) string {
	path = filepath.Clean(path)
	if real, err := filepath.EvalSymlinks(path); err == nil {
		return real
	}
	parent := filepath.Dir(path)
	if parent == path {
		return path
	}
	return filepath.Join(resolved(parent), filepath.Base(path))
}

// inside reports whether a path is a folder or lies in it.
func inside(path, folder string) bool {
	rel, err := filepath.Rel(folder, path)
	return err == nil && rel != ".." && !strings.HasPrefix(rel, ".."+string(filepath.Separator))
}

// Which says whether the sessions of a workspace are meant; nil: all are.
type Which func(workspace string) bool

func (w Which) takes(h session.Header) bool { return w == nil || w(h.Cwd) }

// Outcome is what a run did with a session.
type Outcome uint8

// The outcomes.
const (
	Unchanged Outcome = iota // the archive had it all
	Added                    // it is new in the archive
	Continued                // what the log gained was added
	Rewritten                // the log, or how it is read, had changed: it was archived anew
	Skipped                  // it cannot be read, or its logs contradict each other
)

// Skip is a log that was not archived. Reason holds no session text.
type Skip struct {
	Agent  session.Agent
	ID     session.ID // "": not known
	Path   string
	Reason string
}

// Report is what a run did.
type Report struct {
	Count [Skipped + 1]int // sessions, by outcome
	Bytes int64            // written
	Skips []Skip           // by path
}

// original is a session in an agent's folder.
type original struct {
	reader reader.Reader
	src    reader.Source
	stamp  reader.Stamp
}

// Run archives what is new in the sessions that which takes. One that cannot be
// archived is skipped and reported; what the archive has of it stays. Errors are
// those of the archive's own folder, or the context's. progress may be nil.
func (a *Archiver) Run(ctx context.Context, which Which, progress func(done, total int)) (Report, error) {
	var report Report
	all, skips, err := a.originals(ctx, which)
	if err != nil {
		return report, err
	}
	skip := func(s Skip) {
		report.Count[Skipped]++
		report.Skips = append(report.Skips, s)
	}
	for _, s := range skips {
		skip(s)
	}
	tidied := map[string]bool{}
	taken := map[string]bool{}
	for _, o := range all {
		taken[format.Path(a.dir, o.src.Header)] = true
	}
	for i := 0; i < len(all); i++ {
		o := all[i]
		c := &copying{original: o, dir: a.dir, to: format.Path(a.dir, o.src.Header)}
		if folder := filepath.Dir(c.to); !tidied[folder] {
			tidied[folder] = true
			removeRemains(folder)
		}
		outcome, err := c.run(ctx)
		if err == nil {
			err = a.withdraw(o.src.Header)
		}
		var bad *unfit
		switch {
		case errors.As(err, &bad):
			skip(Skip{o.src.Header.Agent, o.src.Header.ID, o.src.Path, bad.reason})
		case err != nil:
			return report, err
		default:
			report.Count[outcome]++
			report.Bytes += c.wrote
			parts, err := a.without(o.parts(c.at))
			if err != nil {
				return report, err
			}
			for _, part := range parts {
				if to := format.Path(a.dir, part.src.Header); !taken[to] { // a file of its own outranks a part
					taken[to] = true
					all = append(all, part)
				}
			}
		}
		if progress != nil {
			progress(i+1, len(all))
		}
	}
	slices.SortFunc(report.Skips, func(a, b Skip) int { return cmp.Compare(a.Path, b.Path) })
	return report, nil
}

// originals finds the sessions of the agents, one log for each; what cannot be
// taken for one is returned beside them.
func (a *Archiver) originals(ctx context.Context, which Which) ([]original, []Skip, error) {
	var all []original
	var skips []Skip
	for _, r := range a.roots {
		take := func(path string, stamp reader.Stamp, h session.Header, err error) error {
			var p *reader.Problem
			switch {
			case fault.IsContext(err):
				return err
			case errors.Is(err, reader.ErrPending):
				return nil
			case errors.As(err, &p):
				if which == nil || h.ID != "" && which.takes(h) {
					skips = append(skips, Skip{r.Reader.Agent(), h.ID, path, p.Reason})
				}
				return nil
			case err != nil || !which.takes(h):
				return nil
			}
			src := reader.Source{Agent: r.Reader.Agent(), Root: r.Path, Path: path, Header: h}
			all = append(all, original{r.Reader, src, stamp})
			return nil
		}
		err := walk(ctx, r, func(path string) error {
			stamp, err := reader.StatRegular(path)
			if err != nil {
				return nil // it went meanwhile, or is no file
			}
			if shelver, ok := r.Reader.(reader.Shelver); ok && reader.IsShelf(r.Reader, r.Path, path) {
				err := shelver.List(ctx, r.Path, path, func(l reader.Listed) error {
					var problem error
					if l.Problem != nil {
						problem = l.Problem
					}
					return take(reader.PartPath(path, l.Name), l.Stamp, l.Header, problem)
				})
				if err == nil || errors.Is(err, reader.ErrNoShelf) {
					return nil
				}
				return take(path, stamp, session.Header{}, err)
			}
			h, err := r.Reader.Identify(ctx, r.Path, path)
			return take(path, stamp, h, err)
		})
		if err != nil {
			return nil, nil, err
		}
	}
	all, err := a.without(all)
	if err != nil {
		return nil, nil, err
	}
	chosen, conflicts := a.choose(all)
	return chosen, append(skips, conflicts...), nil
}

// choose picks the newest log of each session, and none of those that
// contradict each other. Forms of a session that tell less than another one
// (reader.Ranker) do not count. The order of all is kept.
func (a *Archiver) choose(all []original) (chosen []original, skips []Skip) {
	rank := func(o original) int { return reader.RankOf(o.reader, o.src.Root, o.src.Path) }
	highest := map[string]int{}
	for _, o := range all {
		to := format.Path(a.dir, o.src.Header)
		highest[to] = max(highest[to], rank(o))
	}
	all = slices.DeleteFunc(slices.Clone(all), func(o original) bool { return rank(o) < highest[format.Path(a.dir, o.src.Header)] })
	at := map[string][]original{}
	for _, o := range all {
		to := format.Path(a.dir, o.src.Header)
		at[to] = append(at[to], o)
	}
	for _, o := range all {
		copies := at[format.Path(a.dir, o.src.Header)]
		if slices.ContainsFunc(copies, func(c original) bool { return c.src.Header != o.src.Header }) {
			skips = append(skips, Skip{o.src.Header.Agent, o.src.Header.ID, o.src.Path, "another log gives this session another header"})
			continue
		}
		newest := slices.MaxFunc(copies, func(a, b original) int {
			return cmp.Or(cmp.Compare(a.stamp.ModTime, b.stamp.ModTime), cmp.Compare(b.src.Path, a.src.Path))
		})
		if newest.src.Path == o.src.Path {
			chosen = append(chosen, o)
		}
	}
	return chosen, skips
}

// walk visits the files below a root that may be sessions, or hold them. Links are not
// followed; a folder that cannot be listed is passed over.
func walk(ctx context.Context, r Root, visit func(path string) error) error {
	if info, err := os.Stat(r.Path); err == nil && !info.IsDir() {
		if reader.IsShelf(r.Reader, r.Path, r.Path) {
			return visit(r.Path)
		}
		return nil
	}
	folders := []string{r.Path}
	for len(folders) > 0 {
		dir := folders[len(folders)-1]
		folders = folders[:len(folders)-1]
		entries, err := os.ReadDir(dir)
		if err != nil {
			continue
		}
		for _, e := range entries {
			if err := ctx.Err(); err != nil {
				return err
			}
			path := filepath.Join(dir, e.Name())
			rel, err := filepath.Rel(r.Path, path)
			if err != nil || e.Type()&os.ModeSymlink != 0 {
				continue
			}
			switch kind := r.Reader.Classify(filepath.ToSlash(rel), e.IsDir()); {
			case e.IsDir() && (kind == reader.Folder || kind == reader.Leaf):
				folders = append(folders, path)
			case !e.IsDir() && (kind == reader.File || kind == reader.Shelf):
				if err := visit(path); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// mapping names what made events out of records.
func mapping(r reader.Reader) string { return fmt.Sprintf("%s/%d", r.Agent(), r.Version()) }
