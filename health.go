package yore

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"

	"github.com/yorehq/yore/fault"
	"github.com/yorehq/yore/internal/ingest"
	"github.com/yorehq/yore/reader"
	"github.com/yorehq/yore/session"
	"github.com/yorehq/yore/sqlite"
)

// Health is what is known of the logs and of the index, for the person whose
// history it is. It names files and holds no session text.
type Health struct {
	Roots     []RootHealth
	Problems  []Problem // by path
	Index     sqlite.Health
	IndexErr  error // why the index cannot be used; nothing else is known then
	Depth     Depth
	Forgotten int  // sessions whose logs are there and that their owner wants forgotten
	Behind    int  // logs that could not be read to their end just now
	Stale     bool // another process was indexing meanwhile
}

// Depth says how far an examination goes.
type Depth int

// The depths, each with everything before it.
const (
	Headers Depth = iota // new files are looked for and their headers read; of logs what the index knows
	Logs                 // every log that changed is read
	Pages                // every page of the index is checked
)

// RootHealth counts the sessions below one root.
type RootHealth struct {
	Agent   session.Agent
	Path    string
	Present bool // the folder is there
	Files   int  // files that are, or may become, a session's
	Sound   int  // sessions whose logs were read to their end without a fault
	Unread  int  // sessions whose logs have not been read yet
}

// ProblemKind says what is the matter with a file.
type ProblemKind string

// The kinds of problem. The last three are remarks: nothing is lost by them.
const (
	Unreadable ProblemKind = "unreadable" // the log cannot be read, or breaks the rules of its format
	Index      ProblemKind = "index"      // the index could not be brought up to date
	Damaged    ProblemKind = "damaged"    // the log is read up to a damaged place, and more lies behind it
	Conflict   ProblemKind = "conflict"   // several logs give one session different headers: it stays out of results
	Duplicate  ProblemKind = "duplicate"  // another copy of the same session is used in its stead
	Skipped    ProblemKind = "skipped"    // a part of the log was passed over; the rest is read
	Pending    ProblemKind = "pending"    // its header is not complete yet
)

// Problem is one file that is not, or not wholly, part of the corpus.
type Problem struct {
	Kind      ProblemKind
	Agent     session.Agent
	ID        session.ID // "": not known
	Workspace string
	Code      fault.Code // "": a remark
	Path      string
	Line      int64 // 0: unknown
	Offset    int64 // bytes; 0: unknown, or the beginning
	Reason    string
}

// Remark reports whether the problem takes nothing away.
func (p Problem) Remark() bool { return p.Kind == Duplicate || p.Kind == Skipped || p.Kind == Pending }

// Sound reports whether nothing that was looked at is wrong.
func (h Health) Sound() bool {
	return h.IndexErr == nil && len(h.Index.Damaged) == 0 &&
		!slices.ContainsFunc(h.Problems, func(p Problem) bool { return !p.Remark() }) &&
		!slices.ContainsFunc(h.Index.Shards, func(s sqlite.ShardHealth) bool { return s.Problem != "" })
}

// Health looks for new files, then reports what the catalog and the index know
// of every log, at a depth. progress may be nil.
func (h *History) Health(ctx context.Context, depth Depth, progress func(done, total int)) (Health, error) {
	out := Health{Depth: depth, IndexErr: h.err}
	for _, r := range h.roots {
		info, err := os.Stat(r.Path)
		out.Roots = append(out.Roots, RootHealth{Agent: r.Reader.Agent(), Path: r.Path, Present: err == nil && info.IsDir()})
	}
	if h.err != nil {
		return out, nil
	}
	for i := range out.Roots {
		if away, err := h.ingest.Away(ctx, out.Roots[i].Path); err == nil && away {
			out.Roots[i].Present = false
		}
	}
	coverage, err := h.ingest.Refresh(ctx, session.Scope{All: depth >= Logs}, progress)
	if fault.IsContext(err) {
		return out, err
	}
	if err != nil {
		// What is wrong is said, and the rest is looked at all the same.
		reason := err.Error()
		out.Problems = append(out.Problems, Problem{Kind: Index, Code: fault.IndexFailed, Reason: reason})
	}
	out.Behind, out.Stale = coverage.Behind, coverage.Stale
	all, err := h.index.Files(ctx, ingest.FileLookup{})
	if err != nil {
		return out, err
	}
	list, err := h.ingest.Forgets(ctx)
	if err != nil {
		return out, err
	}
	all, gone, err := list.Split(all)
	if err != nil {
		return out, err
	}
	out.Forgotten = len(sessionsOf(there(h.owned(gone))))
	files := h.owned(all)
	stored, err := h.stored(ctx, files)
	if err != nil {
		return out, err
	}
	lesser := ingest.Lesser(h.roots, all)
	counts := func(rows []ingest.FileRow) []ingest.FileRow {
		return slices.DeleteFunc(slices.Clone(rows), func(f ingest.FileRow) bool { return lesser[f.Path] })
	}
	blocked := h.outOfReach(ctx, files)
	out.count(files, counts(files), stored, blocked)
	out.Problems = append(out.Problems, problems(counts(all), counts(files), stored)...)
	out.Problems = append(out.Problems, blocked...)
	slices.SortStableFunc(out.Problems, func(a, b Problem) int { return cmp.Compare(a.Path, b.Path) })
	out.Index, err = h.index.Check(ctx, depth >= Pages)
	return out, err
}

// owned keeps the files below the roots of this history: an index is shared,
// and of other roots nothing is known here.
func (h *History) owned(files []ingest.FileRow) []ingest.FileRow {
	return slices.DeleteFunc(slices.Clone(files), func(f ingest.FileRow) bool {
		return !slices.ContainsFunc(h.roots, func(r ingest.Root) bool { return r.Path == f.Root && r.Reader.Agent() == f.Agent })
	})
}

// stored returns what the shards remember, by source.
func (h *History) stored(ctx context.Context, files []ingest.FileRow) (map[string]ingest.Stored, error) {
	all := map[string]ingest.Stored{}
	asked := map[string]bool{}
	for _, f := range files {
		if f.Pending || f.Shelf || f.Header.ID == "" || asked[f.Header.Cwd] {
			continue
		}
		asked[f.Header.Cwd] = true
		rows, err := h.index.Peek(ctx, f.Header.Cwd, ingest.StoredLookup{})
		if err != nil {
			if fault.IsContext(err) {
				return nil, err
			}
			continue // Check says what is wrong with the shard
		}
		for _, s := range rows {
			all[s.Source] = s
		}
	}
	return all, nil
}

// place is one session of one workspace, which several files may give.
type place struct {
	key       session.Key
	workspace string
}

func groups(files []ingest.FileRow) map[place][]ingest.FileRow {
	all := map[place][]ingest.FileRow{}
	for _, f := range files {
		if !f.Pending && !f.Shelf && f.Problem == nil {
			at := place{f.Header.Key(), f.Header.Cwd}
			all[at] = append(all[at], f)
		}
	}
	return all
}

// contradictory reports whether the copies of one session differ in their headers.
func contradictory(copies []ingest.FileRow) bool {
	return slices.ContainsFunc(copies, func(f ingest.FileRow) bool { return f.Header != copies[0].Header })
}

// used returns the copy that the index holds, -1 if it holds none yet.
func used(copies []ingest.FileRow, stored map[string]ingest.Stored) int {
	return slices.IndexFunc(copies, func(f ingest.FileRow) bool { _, ok := stored[f.Path]; return ok })
}

// count adds up the files of each root, and the sessions that chosen ones give. One
// whose file cannot be opened now was not read to its end, whatever the index holds.
func (h *Health) count(files, chosen []ingest.FileRow, stored map[string]ingest.Stored, blocked []Problem) {
	shut := map[string]bool{}
	for _, p := range blocked {
		shut[p.Path] = true
	}
	root := func(f ingest.FileRow) *RootHealth {
		return &h.Roots[slices.IndexFunc(h.Roots, func(r RootHealth) bool { return r.Path == f.Root && r.Agent == f.Agent })]
	}
	for _, f := range files {
		if reader.FileOf(f.Path) == f.Path {
			root(f).Files++
		}
	}
	for _, copies := range groups(chosen) {
		if contradictory(copies) {
			continue
		}
		switch i := used(copies, stored); {
		case i < 0:
			root(copies[0]).Unread++
		case stored[copies[i].Path].Problem == nil && !shut[reader.FileOf(copies[i].Path)]:
			root(copies[i]).Sound++
		}
	}
}

// outOfReach names files and folders that are there and cannot be opened.
func (h *History) outOfReach(ctx context.Context, files []ingest.FileRow) []Problem {
	var out []Problem
	look := func(p Problem, open func(path string) error) {
		if err := open(p.Path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			p.Kind, p.Code, p.Reason = Unreadable, fault.Persistence, "it cannot be opened"
			var cause *fs.PathError
			if errors.As(err, &cause) {
				p.Reason += ": " + cause.Err.Error()
			}
			out = append(out, p)
		}
	}
	file := func(path string) error {
		f, _, err := reader.OpenRegular(path)
		if err == nil {
			err = f.Close()
		}
		return err
	}
	folder := func(path string) error {
		if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() {
			return file(path) // a root may be a shelf
		}
		_, err := os.ReadDir(path)
		return err
	}
	for _, f := range files {
		if f.Problem == nil && reader.FileOf(f.Path) == f.Path {
			look(Problem{Agent: f.Agent, ID: f.Header.ID, Workspace: f.Header.Cwd, Path: f.Path}, file)
		}
	}
	for _, r := range h.roots {
		folders, err := h.index.Folders(ctx, ingest.FolderLookup{Root: r.Path})
		if err != nil {
			continue // Check says what is wrong with the catalog
		}
		look(Problem{Agent: r.Reader.Agent(), Path: r.Path}, folder)
		for _, f := range folders {
			if f.Path != r.Path {
				look(Problem{Agent: r.Reader.Agent(), Path: f.Path}, folder)
			}
		}
	}
	return out
}

// problems names what is the matter with each of the files, by path; all are
// those that other roots have too.
func problems(all, files []ingest.FileRow, stored map[string]ingest.Stored) []Problem {
	copiesOf := groups(all)
	var out []Problem
	for _, f := range files {
		p := Problem{Agent: f.Agent, ID: f.Header.ID, Workspace: f.Header.Cwd, Path: f.Path}
		switch {
		case f.Problem != nil:
			p.take(f.Problem)
		case f.Shelf:
			// What it holds is looked at session by session.
		case f.Pending:
			p.Kind, p.Reason = Pending, "the header is not complete yet"
		default:
			copies := copiesOf[place{f.Header.Key(), f.Header.Cwd}]
			i := used(copies, stored)
			switch {
			case contradictory(copies):
				p.Kind, p.Code, p.Reason = Conflict, fault.ToolFailed, "other files give this session another header"
			case i >= 0 && copies[i].Path != f.Path && f.Agent != f.Header.Agent:
				// A copy that an archive keeps on purpose.
			case i >= 0 && copies[i].Path != f.Path:
				p.Kind, p.Reason = Duplicate, "another copy of this session is used"
			case i >= 0 && stored[f.Path].Problem != nil:
				p.take(stored[f.Path].Problem)
			case i >= 0 && stored[f.Path].Skip != nil:
				p.skip(stored[f.Path].Skip)
			}
		}
		if p.Kind != "" {
			out = append(out, p)
		}
	}
	slices.SortFunc(out, func(a, b Problem) int { return cmp.Compare(a.Path, b.Path) })
	return out
}

// skip describes what was passed over in a log.
func (p *Problem) skip(s *reader.Skip) {
	p.Line, p.Offset = s.Line, s.Place.Offset
	switch {
	case s.Rest > 0:
		p.Kind, p.Code = Damaged, fault.Persistence
		p.Reason = fmt.Sprintf("%s; %d bytes behind it are not read either", s.Reason, s.Rest)
	case s.Rest < 0:
		p.Kind, p.Code, p.Reason = Damaged, fault.Persistence, s.Reason
	default:
		p.Kind, p.Reason = Skipped, s.Reason+"; what comes behind it is read"
	}
}

func (p *Problem) take(from *reader.Problem) {
	p.Kind, p.Code, p.Line, p.Offset, p.Reason = Unreadable, from.Code, from.Line, from.Offset, from.Reason
	if from.Path != "" {
		p.Path = from.Path
	}
}

// Logs returns the sources of a workspace, for what looks into logs itself.
// New files are looked for first.
func (h *History) Logs(ctx context.Context, workspace string) ([]reader.Source, error) {
	if h.err != nil {
		return nil, h.err
	}
	if _, err := h.ingest.Refresh(ctx, session.Scope{}, nil); err != nil {
		return nil, err
	}
	files, err := h.index.Files(ctx, ingest.FileLookup{Workspace: &workspace})
	if err != nil {
		return nil, err
	}
	list, err := h.ingest.Forgets(ctx)
	if err != nil {
		return nil, err
	}
	if files, _, err = list.Split(files); err != nil {
		return nil, err
	}
	var all []reader.Source
	for _, f := range h.owned(files) {
		if !f.Pending && !f.Shelf && f.Problem == nil {
			all = append(all, reader.Source{Agent: f.Agent, Root: f.Root, Path: f.Path, Header: f.Header})
		}
	}
	return all, nil
}
