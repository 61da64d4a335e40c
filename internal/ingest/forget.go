package ingest

import (
	"context"
	"errors"
	"io/fs"
	"slices"

	"github.com/yorehq/yore/internal/forget"
	"github.com/yorehq/yore/reader"
	"github.com/yorehq/yore/session"
)

// What its owner wants forgotten stays in the catalog, by its header, so that
// nobody opens its log again to find out whose it is, and is taken for gone by
// everything else: it is in no shard, in no list and cannot be read. Whom it
// spawned goes with it, also what it spawns later. A fork is another session and
// stays.
//
// The list is asked when a plan is made, and again under the shard's write lock:
// who planned before a session was put on the list must not write it after the
// one who put it there has taken it out.

// errForgot says that the list of forgotten sessions changed since a plan was made.
const errForgot = forgot("the list of forgotten sessions changed")

type forgot string

func (f forgot) Error() string { return string(f) }

// mostGenerations bounds how far a subagent's session is looked for: a ring ends there.
const mostGenerations = 64

// Forgets tells forgotten sessions from others, as of one moment.
type Forgets struct {
	ctx     context.Context
	catalog Catalog
	set     *forget.Set
	headers map[session.Key]session.Header
	asked   map[session.Key]bool
}

// Forgets reads the list as it is now. It is for one goroutine.
func (in *Ingester) Forgets(ctx context.Context) (*Forgets, error) {
	set, err := in.Forgotten.Now()
	if err != nil {
		return nil, err
	}
	return &Forgets{ctx, in.Catalog, set, map[session.Key]session.Header{}, map[session.Key]bool{}}, nil
}

// Has reports whether a session is forgotten, by itself or with the one that it
// is a subagent of.
func (f *Forgets) Has(h session.Header) (bool, error) {
	if f.set.Len() == 0 || h.ID == "" {
		return false, nil
	}
	key := h.Key()
	if known, ok := f.asked[key]; ok {
		return known, nil
	}
	has := false
	for range mostGenerations {
		if has = f.set.Has(h.Key()); has || h.Origin != session.OriginSubagent || h.ParentSession == "" {
			break
		}
		parent, err := f.header(session.Key{Agent: h.Agent, ID: h.ParentSession})
		if err != nil {
			return false, err
		}
		h = parent
	}
	f.asked[key] = has
	return has, nil
}

// header returns what is catalogued of a session; one that is not there has its
// key alone.
func (f *Forgets) header(key session.Key) (session.Header, error) {
	if h, ok := f.headers[key]; ok {
		return h, nil
	}
	rows, err := f.catalog.Files(f.ctx, FileLookup{ID: &key.ID})
	if err != nil {
		return session.Header{}, err
	}
	f.headers[key] = session.Header{Agent: key.Agent, ID: key.ID}
	f.learn(rows)
	return f.headers[key], nil
}

// learn spares lookups of sessions whose headers are at hand.
func (f *Forgets) learn(rows []FileRow) {
	if f.set.Len() == 0 {
		return
	}
	for i := range rows {
		if h := rows[i].Header; h.ID != "" {
			f.headers[h.Key()] = h
		}
	}
}

// Split parts rows into those that are not forgotten, in their order, and those
// that are.
func (f *Forgets) Split(rows []FileRow) (kept, gone []FileRow, err error) {
	if f.set.Len() == 0 {
		return rows, nil, nil
	}
	f.learn(rows)
	for _, row := range rows {
		has, err := f.Has(row.Header)
		if err != nil {
			return nil, nil, err
		}
		if has {
			gone = append(gone, row)
		} else {
			kept = append(kept, row)
		}
	}
	return kept, gone, nil
}

// withoutForgotten takes forgotten sessions out of a plan's rows. Those whose
// files are gone leave the catalog too.
func (in *Ingester) withoutForgotten(ctx context.Context, p *plan, rows []FileRow) ([]FileRow, error) {
	list, err := in.Forgets(ctx)
	if err != nil {
		return nil, err
	}
	p.forgot = list.set.Sum()
	rows, gone, err := list.Split(rows)
	if err != nil {
		return nil, err
	}
	for _, row := range gone {
		root, ok := in.root(row)
		if !ok {
			continue
		}
		in.work.files.Add(1)
		if _, err := reader.StatRegular(reader.FileOf(row.Path)); !errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if away, err := p.absences.away(ctx, row.Root); err != nil {
			return nil, err
		} else if away {
			continue
		}
		if err := in.forget(ctx, p, root, row); err != nil {
			return nil, err
		}
	}
	return rows, nil
}

// stillForgets fails with errForgot if the list is not the one that a plan was
// made with. It is for the holder of the shard's write lock.
func (in *Ingester) stillForgets(p *plan) error {
	set, err := in.Forgotten.Now()
	if err == nil && set.Sum() != p.forgot {
		err = errForgot
	}
	return err
}

// remembered reports whether the source of a read may be read.
func (in *Ingester) remembered(ctx context.Context, row FileRow) (bool, error) {
	list, err := in.Forgets(ctx)
	if err != nil {
		return false, err
	}
	has, err := list.Has(row.Header)
	return !has, err
}

// Remains returns the workspaces whose shards may hold remains of deletions,
// sorted: those that Tidy has not come to an end with.
func (in *Ingester) Remains() []string {
	in.mu.Lock()
	defer in.mu.Unlock()
	var all []string
	for w := range in.dirty {
		all = append(all, w)
	}
	slices.Sort(all)
	return all
}
