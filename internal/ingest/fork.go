package ingest

import (
	"context"
	"strings"

	"github.com/yorehq/yore/reader"
	"github.com/yorehq/yore/session"
)

// Some agents fork a session by copying its records into a new file and leave
// no pointer back. The copies keep the records' own ids, so that logs which
// begin with the same one are a family. Which member is whose fork cannot be
// read from the copied rows: a fork was created later than its origin, and where
// the logs do not tell when they were created, it is decided by what comes after
// the copies:
//
//	a   r0 r1 r2 r3 a4 a5        a4 at 10:00
//	b   r0 r1 r2 r3 b4           b4 at 11:00   → b is a's fork, seed 4
//	c   r0 r1                    (nothing of its own) → an ancestor of both
//
// A member's parent is, of those whose own part begins earlier, the one that
// shares most, and of several the earliest. A parent that the log states is the one unless another member
// shares more than the part that is stated to be copied: a copy of a fork keeps
// the fork's marks, so that it states the fork's parent, and the fork's own part
// would be found twice.
//
// Of two members that share a beginning one is always the later, so that each
// event is the own one of one member alone. Subagents that are copied with their
// sessions are families too. Indexing goes from new to old, so that a fork may be
// in the index before its origin, and a log may be seen while its copies are still
// being written: every new member, and every growth of one that has nothing of
// its own yet, relates the whole family anew. Where that would be many logs for
// each of many, it is done once for all of them: kin.go.

// relate finds out about the lineage of a session that is new or whose place in
// its family is not settled yet, and of those that share its records.
func (sl *slice) relate(ctx context.Context, j *job, s *Stored) error {
	if s.Root == "" || s.Settled {
		return nil
	}
	rows, large, err := sl.family(ctx, s.Root)
	if err != nil {
		return err
	}
	if large {
		return sl.postpone(ctx, s)
	}
	f := newFamily()
	at := map[*member]*Stored{}
	for _, other := range rows {
		if related(&other.Header, &s.Header) && other.Problem == nil {
			at[f.add(other)] = other
		}
	}
	if len(f.members) < 2 && s.Fork == (Fork{}) {
		return nil
	}
	for _, m := range f.members {
		row, err := sl.in.fileOf(ctx, m.source, j)
		if err == nil {
			err = f.load(ctx, sl.in, m, row)
		}
		if err != nil {
			return err
		}
	}
	f.relate()
	for _, m := range f.members {
		s := at[m]
		if s.Fork == m.found && s.Settled == m.settled {
			continue
		}
		s.Fork, s.Settled = m.found, m.settled
		sl.forks[s.Header.Key()] = s.Fork
		if err := sl.w.Put(ctx, s); err != nil {
			return err
		}
	}
	return nil
}

// orphaned relates those anew who were forks of a session that is gone: each is
// what a new index would make of it.
func (sl *slice) orphaned(ctx context.Context, gone *Stored) error {
	if gone.Root == "" {
		return nil
	}
	rows, large, err := sl.family(ctx, gone.Root)
	if err != nil {
		return err
	}
	if large {
		return sl.someone(ctx, gone.Root)
	}
	var orphan *Stored
	for _, other := range rows {
		if other.Fork.Parent == gone.Header.ID && related(&other.Header, &gone.Header) {
			other.Settled, orphan = false, other
		}
	}
	if orphan == nil {
		return nil
	}
	return sl.relate(ctx, nil, orphan)
}

// related reports whether two sessions that begin alike can be copies. Subagents
// keep their names behind that of their session; those with others may only have
// been given the same context.
func related(a, b *session.Header) bool { return kinOf(a) == kinOf(b) }

// kin is what those have in common, beside what they begin with, that can be copies.
type kin struct {
	agent        session.Agent
	origin, name string
}

func kinOf(h *session.Header) kin {
	k := kin{agent: h.Agent, origin: h.Origin}
	if h.Origin != "" {
		k.name = string(h.ID[strings.LastIndexByte(string(h.ID), '/')+1:])
	}
	return k
}

// fileOf returns the catalogued file of a source. One that is not catalogued is
// taken for what lies where a job's does, if there is one.
func (in *Ingester) fileOf(ctx context.Context, source string, j *job) (FileRow, error) {
	rows, err := in.Catalog.Files(ctx, FileLookup{Path: &source})
	if err != nil || len(rows) > 0 {
		return append(rows, FileRow{})[0], err
	}
	if j == nil {
		return FileRow{}, nil
	}
	return FileRow{Path: source, Root: j.src.Root, Agent: j.src.Agent}, nil
}

// load reads which events of a log have ids of their own. A log that nobody here
// can read, that has gone meanwhile, or that is more than the family has room for
// has nothing to tell.
func (f *family) load(ctx context.Context, in *Ingester, m *member, row FileRow) error {
	root, ok := in.root(row)
	if !ok {
		return nil
	}
	in.work.compared.Add(1)
	src := reader.Source{Agent: root.Reader.Agent(), Root: root.Path, Path: m.source, Header: m.header}
	_, err := root.Reader.Read(ctx, src, reader.Position{}, func(e session.Event) error {
		if !f.mark(m, &e) {
			return reader.ErrStop
		}
		return nil
	})
	if f.note(m); err == nil {
		return nil
	}
	if _, ok := unsound(err, ""); ok || isFileError(err) {
		return nil
	}
	return err
}
