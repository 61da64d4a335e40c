package ingest

import (
	"cmp"
	"context"
	"math"
	"slices"

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
// shares most. Indexing goes from new to old, so that a fork may be in the
// index before its origin: every new member relates the whole family anew.

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

// relate finds out about the lineage of a session that has just been read for
// the first time, and of those that share its records.
func (sl *slice) relate(ctx context.Context, j *job, s *Stored) error {
	if s.Root == "" || s.Header.Origin != "" {
		return nil
	}
	var family []*member
	for _, other := range sl.stored {
		if other.Root == s.Root && other.Header.Agent == s.Header.Agent && other.Header.Origin == "" && other.Problem == nil {
			family = append(family, &member{s: other})
		}
	}
	if len(family) < 2 {
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
		if m.s.Fork == forks[m.s.Header.ID] {
			continue
		}
		m.s.Fork = forks[m.s.Header.ID]
		if err := sl.w.Put(ctx, m.s); err != nil {
			return err
		}
	}
	return nil
}

// load reads which events of a log have ids of their own.
func (m *member) load(ctx context.Context, in *Ingester, j *job) error {
	m.ids = map[string]bool{}
	src, r := reader.Source{Agent: j.src.Agent, Root: j.src.Root, Path: m.s.Source, Header: m.s.Header}, j.reader
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
// of its own: the seq behind the last one and the earliest time there is, if
// it has none.
func (m *member) own(other *member) (shared int, first mark) {
	for shared < len(m.marks) && other.ids[m.marks[shared].id] {
		shared++
	}
	if shared < len(m.marks) {
		return shared, m.marks[shared]
	}
	return shared, mark{seq: m.s.Events, time: math.MinInt64}
}

// relations decides who is whose fork.
func relations(family []*member) map[session.ID]Fork {
	forks := map[session.ID]Fork{}
	for _, m := range family {
		if m.s.Header.ParentSession != "" {
			continue // the log says so itself
		}
		most := 0
		for _, other := range family {
			if other == m || descends(forks, other.s.Header.ID, m.s.Header.ID) {
				continue
			}
			shared, first := m.own(other)
			_, theirs := other.own(m)
			created := m.s.Header.CreatedAt
			later := cmp.Compare(created, other.s.Header.CreatedAt)
			if later == 0 {
				later, created = cmp.Compare(first.time, theirs.time), max(first.time, 0)
			}
			if shared > most && later > 0 {
				most = shared
				forks[m.s.Header.ID] = Fork{Parent: other.s.Header.ID, Seed: first.seq, CreatedAt: created}
			}
		}
	}
	return forks
}

// descends reports whether id comes from ancestor by what is decided so far.
func descends(forks map[session.ID]Fork, id, ancestor session.ID) bool {
	for range len(forks) + 1 {
		if id == ancestor {
			return true
		}
		f, ok := forks[id]
		if !ok {
			return false
		}
		id = f.Parent
	}
	return true
}
