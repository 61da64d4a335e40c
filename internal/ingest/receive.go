package ingest

import (
	"context"
	"fmt"
	"time"

	"github.com/yorehq/yore/internal/document"
	"github.com/yorehq/yore/session"
)

// Received is a stretch of a session's events that another machine read, masked
// and sent. Its log is not here, so nothing but the stretch itself tells of it.
type Received struct {
	Source  string         // names the session's log in the shard
	Header  session.Header // as the other machine states it
	Mapping string         // what made events of records there
	Title   string         // that the agent keeps outside of its log; "": nothing
	Anew    bool           // whatever is stored of the session goes first
	From    int64          // seq of the first event
}

// GapError says that a stretch does not continue what is stored of a session.
type GapError struct {
	Next int64 // the seq that would; 0: the session has to come anew
}

// Error gives the seq that is wanted.
func (e *GapError) Error() string {
	return fmt.Sprintf("the stretch does not continue the session: event %d is next", e.Next)
}

// Receive folds a stretch into a shard, within its transaction, and returns the
// session's number and the seq behind its last event. all gives the events in
// sequence, as a reader does. A stretch that does not fit is *GapError, one that
// breaks the fold's rules fault.CorruptSession; the transaction is of no use
// then.
//
// What a log does not state and only other logs tell is not found out: families
// of copied records (Fork) and closing records of interrupted turns.
func Receive(ctx context.Context, w Writer, r Received, all func(func(session.Event) error) error) (num, next int64, err error) {
	in := &Ingester{}
	sl, err := in.open(ctx, w, sliceBytes)
	if err != nil {
		return 0, 0, err
	}
	rows, err := sl.load(ctx, StoredLookup{Sources: []string{r.Source}})
	if err != nil {
		return 0, 0, err
	}
	want := r.Mapping + " " + textVersions()
	s := &Stored{Source: r.Source, LastStep: -1}
	if len(rows) > 0 {
		s = rows[0]
	}
	fits := s.Num != 0 && s.Mapping == want && s.Header == r.Header && s.Problem == nil
	switch {
	case r.Anew && r.From != 0:
		return 0, 0, &GapError{}
	case !r.Anew && fits && s.Position.Next != r.From:
		return 0, 0, &GapError{Next: s.Position.Next}
	case !r.Anew && !fits && (s.Num != 0 || r.From != 0):
		return 0, 0, &GapError{}
	case r.Anew && s.Num != 0:
		if err := sl.unname(ctx, s); err != nil {
			return 0, 0, err
		}
		if err := w.Clear(ctx, s.Num); err != nil {
			return 0, 0, err
		}
	}
	if r.Anew || s.Num == 0 {
		*s = Stored{Num: s.Num, Source: r.Source, Header: r.Header, Mapping: want, LastStep: -1}
		if err := w.Put(ctx, s); err != nil {
			return 0, 0, err
		}
		sl.held[s.Num] = s
	}
	b := newBuilder(ctx, w, s)
	b.names = sl.names
	if err := all(func(e session.Event) error {
		e.Place = session.Place{Offset: e.Seq} // a window finds its events by seq alone
		return b.add(e)
	}); err != nil {
		return 0, 0, err
	}
	if err := b.flush(); err != nil {
		return 0, 0, err
	}
	if r.Title != "" {
		s.Title, s.TitleFail = &r.Title, ""
	}
	s.Position.Next = b.fold.Next()
	s.Position.Stamp.ModTime = time.Now().UnixNano()
	s.Events = s.Position.Next
	if err := w.Put(ctx, s); err != nil {
		return 0, 0, err
	}
	if s.Naming.unsought() {
		if err := seek(ctx, w); err != nil {
			return 0, 0, err
		}
	}
	return s.Num, s.Position.Next, nil
}

// textVersions names what shapes documents beside the reader.
func textVersions() string {
	return fmt.Sprintf("fold/%d text/%d", session.FoldVersion, document.Version)
}

// Remove takes a session out of a shard, with what it said of others, and reports
// whether it was there.
func Remove(ctx context.Context, w Writer, source string) (bool, error) {
	in := &Ingester{}
	sl, err := in.open(ctx, w, sliceBytes)
	if err != nil {
		return false, err
	}
	rows, err := sl.load(ctx, StoredLookup{Sources: []string{source}})
	if err != nil || len(rows) == 0 {
		return false, err
	}
	if err := sl.unname(ctx, rows[0]); err != nil {
		return false, err
	}
	return true, w.Delete(ctx, rows[0].Num)
}
