package ingest

import (
	"context"
	"errors"
	"maps"
	"slices"

	"github.com/yorehq/yore/session"
)

// A family that is large is not related for each of its members: that would be as
// many looks at all its logs as there are logs. A member that would have it
// related is marked in the shard (Stored.Unrelated) instead, and at the end of the
// work that marked some, each of their families is looked at once: its logs are
// read without the write lock, and what was found is written in short
// transactions, the marked ones last, so that a process that is killed in between
// leaves somebody who is marked. A session that changed meanwhile was marked by
// who changed it and is left for the next time.

const (
	// largeFamily is more sessions that begin alike than are related at once.
	largeFamily = 32

	// kinAtOnce is how many sessions one transaction or one lookup takes of a large family.
	kinAtOnce = 512
)

// family returns the sessions of a shard that begin with a record, unless they are many.
func (sl *slice) family(ctx context.Context, root string) (rows []*Stored, large bool, err error) {
	if sl.large[root] {
		return nil, true, nil
	}
	rows, err = sl.load(ctx, StoredLookup{Root: root, Most: largeFamily + 1})
	if large = len(rows) > largeFamily; large {
		sl.large[root] = true
	}
	return rows, large, err
}

// postpone marks a session for its family to be related later.
func (sl *slice) postpone(ctx context.Context, s *Stored) error {
	sl.unrelated = true
	if s.Unrelated {
		return nil
	}
	s.Unrelated = true
	return sl.w.Put(ctx, s)
}

// someone marks one of the sessions that begin like one that is gone.
func (sl *slice) someone(ctx context.Context, root string) error {
	rows, err := sl.load(ctx, StoredLookup{Root: root, Most: 1})
	if err != nil || len(rows) == 0 {
		return err
	}
	return sl.postpone(ctx, rows[0])
}

// relateLarge relates the large families that have somebody who is marked.
func (in *Ingester) relateLarge(ctx context.Context, p *plan) error {
	roots := map[string]bool{}
	for after := int64(0); ; {
		rows, err := in.Shards.Peek(ctx, p.workspace, StoredLookup{Unrelated: true, After: after, Most: kinAtOnce})
		if err != nil || len(rows) == 0 {
			if err == nil {
				break
			}
			return err
		}
		for i := range rows {
			roots[rows[i].Root], after = true, rows[i].Num
		}
	}
	if len(roots) == 0 {
		return nil
	}
	catalogued, err := in.Catalog.Files(ctx, FileLookup{Workspace: &p.workspace})
	if err != nil {
		return err
	}
	files := make(map[string]FileRow, len(catalogued))
	for _, row := range catalogued {
		files[row.Path] = row
	}
	for _, root := range slices.Sorted(maps.Keys(roots)) {
		if err := in.relateAll(ctx, p, root, files); err != nil {
			if errors.Is(err, ErrBusy) {
				p.stale = true
				return nil // the next time
			}
			return err
		}
	}
	return nil
}

// relative is what a session was when its family was looked at.
type relative struct {
	num       int64
	source    string
	sum       uint64
	next      int64
	stamp     int64
	fork      Fork
	settled   bool
	unrelated bool
	member    *member // nil: it has a problem
	parent    string  // the source of what it is found to be a fork of
}

// of reports whether a session is still the one that was looked at.
func (r *relative) of(s *Stored) bool {
	return s.Num == r.num && s.Sum() == r.sum && s.Position.Next == r.next && s.Position.Stamp.ModTime == r.stamp &&
		s.Unrelated == r.unrelated && (r.member == nil) == (s.Problem != nil)
}

// relateAll relates the families of all sessions that begin with a record.
func (in *Ingester) relateAll(ctx context.Context, p *plan, root string, files map[string]FileRow) error {
	all, families, err := in.relatives(ctx, p.workspace, root)
	if err != nil {
		return err
	}
	for _, f := range families {
		for _, m := range f.members {
			if err := f.load(ctx, in, m, files[m.source]); err != nil {
				return err
			}
		}
		f.relate()
		sources := make(map[session.ID]string, len(f.members))
		for _, m := range f.members {
			m.marks, m.class = nil, nil
			sources[m.header.ID] = m.source
		}
		for i := range all {
			if m := all[i].member; m != nil && m.found.Parent != "" && kinOf(&m.header) == f.kin {
				all[i].parent = sources[m.found.Parent]
			}
		}
	}
	due := all[:0]
	for _, r := range all {
		if r.unrelated || r.member != nil && (r.fork != r.member.found || r.settled != r.member.settled) {
			due = append(due, r)
		}
	}
	slices.SortStableFunc(due, func(a, b *relative) int {
		switch {
		case a.unrelated == b.unrelated:
			return 0
		case b.unrelated:
			return -1
		}
		return 1
	})
	for some := range slices.Chunk(due, kinAtOnce) {
		if err := in.setForks(ctx, p, some); err != nil {
			return err
		}
	}
	return nil
}

// relatives reads who begins with a record, and parts them into families.
func (in *Ingester) relatives(ctx context.Context, workspace, root string) (all []*relative, families []*family, err error) {
	byKin := map[kin]*family{}
	for after := int64(0); ; {
		rows, err := in.Shards.Peek(ctx, workspace, StoredLookup{Root: root, After: after, Most: kinAtOnce})
		if err != nil || len(rows) == 0 {
			return all, families, err
		}
		for i := range rows {
			s := &rows[i]
			after = s.Num
			r := &relative{
				num: s.Num, source: s.Source, sum: s.Sum(), next: s.Position.Next, stamp: s.Position.Stamp.ModTime,
				fork: s.Fork, settled: s.Settled, unrelated: s.Unrelated,
			}
			all = append(all, r)
			if s.Problem != nil {
				continue
			}
			k := kinOf(&s.Header)
			if byKin[k] == nil {
				byKin[k] = newFamily()
				byKin[k].kin = k
				families = append(families, byKin[k])
			}
			r.member = byKin[k].add(s)
		}
	}
}

// setForks writes what was found out about some sessions.
func (in *Ingester) setForks(ctx context.Context, p *plan, some []*relative) error {
	var forks map[session.Key]Fork
	err := in.Shards.Write(ctx, p.workspace, func(w Writer) error {
		forks = map[session.Key]Fork{}
		var sources []string
		for _, r := range some {
			if sources = append(sources, r.source); r.parent != "" {
				sources = append(sources, r.parent)
			}
		}
		slices.Sort(sources)
		rows, err := w.Stored(ctx, StoredLookup{Sources: slices.Compact(sources)})
		if err != nil {
			return err
		}
		at := make(map[string]*Stored, len(rows))
		for i := range rows {
			at[rows[i].Source] = &rows[i]
		}
		for _, r := range some {
			s := at[r.source]
			if s == nil || !r.of(s) || r.parent != "" && at[r.parent] == nil {
				continue
			}
			if s.Unrelated = false; r.member != nil {
				if s.Fork != r.member.found {
					forks[s.Header.Key()] = r.member.found
				}
				s.Fork, s.Settled = r.member.found, r.member.settled
			}
			if err := w.Put(ctx, s); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	return in.passForks(ctx, p.workspace, forks)
}
