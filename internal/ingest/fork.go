package ingest

import (
	"cmp"
	"context"
	"slices"
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
// shares most. A parent that the log states is the one unless another member
// shares more than the part that is stated to be copied: a copy of a fork keeps
// the fork's marks, so that it states the fork's parent, and the fork's own part
// would be found twice.
//
// Of two members that share a beginning one is always the later, so that each
// event is the own one of one member alone. Subagents that are copied with their
// sessions are families too. Indexing goes from new to old, so that a fork may be
// in the index before its origin, and a log may be seen while its copies are still
// being written: every new member, and every growth of one that has nothing of
// its own yet, relates the whole family anew.

// member is one log of a family.
type member struct {
	s     *Stored
	marks []mark
	ids   map[string]bool
}

// mark is an event that has an id of its own.
type mark struct {
	id   string
	seq  int64
	time int64
}

// relate finds out about the lineage of a session that is new or whose place in
// its family is not settled yet, and of those that share its records.
func (sl *slice) relate(ctx context.Context, j *job, s *Stored) error {
	if s.Root == "" || s.Settled {
		return nil
	}
	rows, err := sl.load(ctx, StoredLookup{Root: s.Root})
	if err != nil {
		return err
	}
	var family []*member
	for _, other := range rows {
		if related(&other.Header, &s.Header) && other.Problem == nil {
			family = append(family, &member{s: other})
		}
	}
	if len(family) < 2 && s.Fork == (Fork{}) {
		return nil
	}
	for _, m := range family {
		if err := m.load(ctx, sl.in, j); err != nil {
			return err
		}
	}
	slices.SortFunc(family, func(a, b *member) int { return cmp.Compare(a.s.Header.ID, b.s.Header.ID) })
	forks := relations(family)
	for _, m := range family {
		fork, settled := forks[m.s.Header.ID], m.settled(family)
		if m.s.Fork == fork && m.s.Settled == settled {
			continue
		}
		m.s.Fork, m.s.Settled = fork, settled
		sl.forks[m.s.Header.Key()] = fork
		if err := sl.w.Put(ctx, m.s); err != nil {
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
	rows, err := sl.load(ctx, StoredLookup{Root: gone.Root})
	if err != nil {
		return err
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
func related(a, b *session.Header) bool {
	name := func(h *session.Header) session.ID { return h.ID[strings.LastIndexByte(string(h.ID), '/')+1:] }
	return a.Agent == b.Agent && a.Origin == b.Origin && (a.Origin == "" || name(a) == name(b))
}

// load reads which events of a log have ids of their own. j is a job of the
// agent, or nil.
func (m *member) load(ctx context.Context, in *Ingester, j *job) error {
	m.ids = map[string]bool{}
	src, r := reader.Source{Path: m.s.Source, Header: m.s.Header}, reader.Reader(nil)
	if j != nil {
		src.Agent, src.Root, r = j.src.Agent, j.src.Root, j.reader
	}
	rows, err := in.Catalog.Files(ctx, FileLookup{Path: &m.s.Source})
	if err != nil {
		return err
	}
	if len(rows) > 0 {
		// Copies of a family may be kept in several places.
		if root, ok := in.root(rows[0]); ok {
			src.Agent, src.Root, r = root.Reader.Agent(), root.Path, root.Reader
		}
	}
	if r == nil {
		return nil // nobody here can read it
	}
	_, err = r.Read(ctx, src, reader.Position{}, func(e session.Event) error {
		if e.NativeID != "" && !m.ids[e.NativeID] {
			m.ids[e.NativeID] = true
			m.marks = append(m.marks, mark{e.NativeID, e.Seq, e.Time})
		}
		return nil
	})
	if _, ok := unsound(err, ""); ok || isFileError(err) {
		return nil // it may have gone meanwhile: it has nothing to tell then
	}
	return err
}

// own returns how many leading marks m shares with other, and the first event
// of its own; without any, ok is false and the seq is that behind the last one.
func (m *member) own(other *member) (shared int, first mark, ok bool) {
	for shared < len(m.marks) && other.ids[m.marks[shared].id] {
		shared++
	}
	if shared < len(m.marks) {
		return shared, m.marks[shared], true
	}
	return shared, mark{seq: m.s.Events}, false
}

// settled reports whether growth of the logs can change nothing of m's place.
func (m *member) settled(family []*member) bool {
	for _, other := range family {
		if other == m {
			continue
		}
		_, _, mine := m.own(other)
		_, _, theirs := other.own(m)
		if !mine || !theirs && m.s.Header.CreatedAt == other.s.Header.CreatedAt {
			return false
		}
	}
	return true
}

// later reports whether m was made after other: by what the logs say, by what
// comes after the copies, or, of a log that has nothing after them, by its not
// being left alone since before the other went on. Of two that nothing tells
// apart it is the one whose id is greater.
func (m *member) later(other *member) bool {
	if a, b := m.s.Header.CreatedAt, other.s.Header.CreatedAt; a != b {
		return a > b
	}
	_, first, mine := m.own(other)
	_, theirs, its := other.own(m)
	touched := func(m *member) int64 {
		if m.s.Header.Origin != "" {
			return -1 // its file may go on without it, and it ends with its task
		}
		return m.s.Position.Stamp.ModTime / 1e6
	}
	greater := m.s.Header.ID > other.s.Header.ID
	switch {
	case mine && its && first.time != theirs.time:
		return first.time > theirs.time
	case mine && !its:
		return touched(other) <= first.time
	case its && !mine:
		return touched(m) > theirs.time
	}
	return greater
}

// seeded returns how many leading marks the log states to be copied.
func (m *member) seeded() int {
	n := 0
	for n < len(m.marks) && m.marks[n].seq < m.s.Header.SeedLength {
		n++
	}
	return n
}

// relations decides who is whose fork.
func relations(family []*member) map[session.ID]Fork {
	forks := map[session.ID]Fork{}
	parents := map[session.ID]session.ID{}
	for _, m := range family {
		parents[m.s.Header.ID] = m.s.Header.ParentSession
	}
	for _, m := range family {
		most := m.seeded()
		for _, other := range family {
			if other == m || descends(parents, other.s.Header.ID, m.s.Header.ID) {
				continue
			}
			if shared, first, ok := m.own(other); shared > most && m.later(other) {
				most = shared
				created := m.s.Header.CreatedAt
				if ok && created == other.s.Header.CreatedAt {
					created = max(first.time, 0)
				}
				forks[m.s.Header.ID] = Fork{Parent: other.s.Header.ID, Seed: first.seq, CreatedAt: created}
			}
		}
		if f, ok := forks[m.s.Header.ID]; ok {
			parents[m.s.Header.ID] = f.Parent
		}
	}
	return forks
}

// descends reports whether id comes from ancestor by what is known so far.
func descends(parents map[session.ID]session.ID, id, ancestor session.ID) bool {
	for range len(parents) + 1 {
		if id == ancestor {
			return true
		}
		if id = parents[id]; id == "" {
			return false
		}
	}
	return true
}
