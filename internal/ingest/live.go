package ingest

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/yorehq/yore/fault"
	"github.com/yorehq/yore/reader"
	"github.com/yorehq/yore/session"
)

// LiveSet keeps the sessions that a host registered in this process, and a
// store in memory in step with them: the overlay that shadows stored logs. It
// touches no file. It is safe for concurrent use.
type LiveSet struct {
	catalog Catalog
	shards  Shards

	mu   sync.Mutex
	logs map[string]*LiveLog
	next int
}

// NewLiveSet makes an empty set over a store that belongs to it alone.
func NewLiveSet(catalog Catalog, shards Shards) *LiveSet {
	return &LiveSet{catalog: catalog, shards: shards, logs: map[string]*LiveLog{}}
}

// LiveLog is one registered session.
type LiveLog struct {
	set    *LiveSet
	source string
	header session.Header

	mu       sync.Mutex
	events   []session.Raw
	fold     session.Fold // checks events as they come
	known    bool         // the store has the session
	stored   int          // and this many of its events
	released bool
}

// Register adds a session that has no events yet. A session is registered at
// most once at a time: a second one of the same key and workspace fails with
// fault.InvalidConfig.
func (ls *LiveSet) Register(ctx context.Context, h session.Header) (*LiveLog, error) {
	if err := h.Validate(); err != nil {
		return nil, err
	}
	ls.mu.Lock()
	defer ls.mu.Unlock()
	for _, l := range ls.logs {
		if l.header.Key() == h.Key() && l.header.Cwd == h.Cwd {
			return nil, fault.New(fault.InvalidConfig, "session %s is registered already", h.Key())
		}
	}
	ls.next++
	l := &LiveLog{set: ls, source: fmt.Sprintf("live:%d", ls.next), header: h}
	err := ls.catalog.Update(ctx, CatalogChange{Files: []FileRow{{Path: l.source, Root: "live:", Folder: "live:", Agent: h.Agent, Header: h}}})
	if err != nil {
		return nil, err
	}
	ls.logs[l.source] = l
	return l, nil
}

// Header returns what the session was registered with.
func (l *LiveLog) Header() session.Header { return l.header }

// Append adds events in sequence. An event that breaks the model's rules is
// refused with fault.CorruptSession and nothing of it is kept.
func (l *LiveLog) Append(events ...session.Raw) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.released {
		return fault.New(fault.InvalidConfig, "session %s has been released", l.header.Key())
	}
	for _, r := range events {
		if r.Event.Len() != 1 {
			return fault.New(fault.InvalidConfig, "event %d stands for a run: append its members", r.Event.Seq)
		}
		if _, err := l.fold.Apply(&r.Event); err != nil {
			// A failed fold is unusable: make it anew from what was accepted.
			l.fold = session.Fold{}
			for i := range l.events {
				if _, err := l.fold.Apply(&l.events[i].Event); err != nil {
					return err
				}
			}
			return err
		}
		l.events = append(l.events, r)
	}
	return nil
}

// Len returns the number of events, which is also the next seq.
func (l *LiveLog) Len() int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return int64(len(l.events))
}

// Release takes the session out of the overlay; its stored log, if any, shows again.
func (l *LiveLog) Release(ctx context.Context) error {
	l.mu.Lock()
	l.released = true
	l.mu.Unlock()
	ls := l.set
	ls.mu.Lock()
	defer ls.mu.Unlock()
	if ls.logs[l.source] == nil {
		return nil
	}
	delete(ls.logs, l.source)
	err := ls.shards.Write(ctx, l.header.Cwd, func(w Writer) error {
		rows, err := w.Stored(ctx, StoredLookup{Sources: []string{l.source}})
		if err != nil {
			return err
		}
		if len(rows) == 0 {
			return nil
		}
		return w.Delete(ctx, rows[0].Num)
	})
	if err != nil {
		return err
	}
	return ls.catalog.Update(ctx, CatalogChange{RemoveFiles: []string{l.source}})
}

// Refresh hands what was appended in a scope to the store.
func (ls *LiveSet) Refresh(ctx context.Context, scope session.Scope, _ func(done, total int)) (session.Coverage, error) {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	var cov session.Coverage
	for _, l := range ls.logs {
		if !scope.All && !slices.Contains(scope.Workspaces, l.header.Cwd) {
			continue
		}
		cov.Sessions++
		if err := l.store(ctx); err != nil {
			return cov, err
		}
	}
	return cov, nil
}

// store writes the events that the store does not have yet.
func (l *LiveLog) store(ctx context.Context) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.known && l.stored == len(l.events) {
		return nil
	}
	err := l.set.shards.Write(ctx, l.header.Cwd, func(w Writer) error {
		rows, err := w.Stored(ctx, StoredLookup{Sources: []string{l.source}})
		if err != nil {
			return err
		}
		s := &Stored{Source: l.source, Header: l.header, LastStep: -1}
		if len(rows) > 0 {
			s = &rows[0]
		} else if err := w.Put(ctx, s); err != nil {
			return err
		}
		b := newBuilder(ctx, w, s)
		for _, r := range l.events[l.stored:] {
			r.Event.Place = session.Place{Offset: r.Event.Seq}
			if err := b.add(r.Event); err != nil {
				return err
			}
		}
		if err := b.flush(); err != nil {
			return err
		}
		s.Position = reader.Position{Next: int64(len(l.events))}
		s.Events = s.Position.Next
		return w.Put(ctx, s)
	})
	if err == nil {
		l.known, l.stored = true, len(l.events)
	}
	return err
}

// Window emits registered events, with the bytes of those in natives.
func (ls *LiveSet) Window(_ context.Context, source string, _ session.Checkpoint, from, to int64, natives session.Range, emit func(session.Raw) error) (session.Header, error) {
	ls.mu.Lock()
	l := ls.logs[source]
	ls.mu.Unlock()
	if l == nil {
		return session.Header{}, fmt.Errorf("%w: the live session was released", fault.SessionNotFound)
	}
	l.mu.Lock()
	events := l.events[min(from, int64(len(l.events))):min(to+1, int64(len(l.events)))]
	l.mu.Unlock()
	for _, r := range events {
		if !natives.Has(r.Event.Seq) {
			r.Native = nil
		}
		if err := emit(r); err != nil {
			return l.header, err
		}
	}
	return l.header, nil
}
