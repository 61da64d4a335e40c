package ingest

import (
	"context"
	"errors"
	"time"

	"github.com/yorehq/yore/reader"
	"github.com/yorehq/yore/session"
)

// One transaction takes up about this much, so that a shard's lock is never
// held for long and a killed process loses little.
const (
	sliceBytes = 8 << 20
	sliceTime  = time.Second
	firstShare = 1 << 20 // of the first transaction; each may take up twice as much as the one before
)

// job is one source that has to be brought up to date.
type job struct {
	src    reader.Source
	reader reader.Reader
	rev    reader.Revision
	stamp  reader.Stamp
	fork   Fork  // as catalogued
	kept   *kept // the surface after a transaction that did not reach the end
	done   bool
	found  Glance // what was made of it, once it is done
}

// slice works on jobs within one transaction until its share is used up.
type slice struct {
	in    *Ingester
	w     Writer
	start time.Time
	share int64 // bytes of text
	text  int64
	held  map[int64]*Stored // every session that was loaded, by number: each once
	names *names
	again bool                 // all claims are to be looked up again
	forks map[session.Key]Fork // what was found out in this transaction

	large     map[string]bool // what large families begin with
	unrelated bool            // somebody of such a one is marked
}

func (sl *slice) full() bool { return sl.text >= sl.share || time.Since(sl.start) >= sliceTime }

// update brings one source up to date, or as far as the slice allows: done
// says whether nothing is left.
func (sl *slice) update(ctx context.Context, j *job) (done bool, err error) {
	rows, err := sl.load(ctx, StoredLookup{Sources: []string{j.src.Path}})
	if err != nil {
		return false, err
	}
	s := &Stored{Source: j.src.Path, LastStep: -1}
	if len(rows) > 0 {
		s = rows[0]
	}
	done, err = sl.bring(ctx, j, s)
	if j.found = s.Glance(); s.Num != 0 && s.Fork != j.fork {
		sl.forks[s.Header.Key()] = s.Fork
	}
	return done, err
}

// bring reads what is new of a source into its stored session.
func (sl *slice) bring(ctx context.Context, j *job, s *Stored) (done bool, err error) {
	want := Mapping(j.reader)
	if s.Num != 0 {
		// Another process may have been here since the jobs were made.
		j.rev, j.stamp, err = j.reader.Revise(ctx, j.src, s.Position)
		if errors.Is(err, reader.ErrRetry) {
			return true, nil // as it is: the next look finds that more is due
		}
		if err != nil {
			return sl.refuse(ctx, j, s, err)
		}
		switch {
		case j.rev == reader.Gone:
			return true, nil
		case s.Mapping != want || s.Header != j.src.Header:
			j.rev = reader.Replaced
		case j.rev == reader.Unchanged:
			return true, nil
		}
	}
	if s.Num == 0 || j.rev == reader.Replaced {
		if s.Num != 0 {
			if err := sl.unname(ctx, s); err != nil {
				return false, err
			}
			if err := sl.w.Clear(ctx, s.Num); err != nil {
				return false, err
			}
			if err := sl.withoutParts(ctx, j.src.Path); err != nil {
				return false, err
			}
		}
		*s = Stored{Num: s.Num, Source: j.src.Path, Header: j.src.Header, Mapping: want, LastStep: -1}
	}
	if s.Provisional > 0 {
		if err := sl.w.Withdraw(ctx, s.Num); err != nil {
			return false, err
		}
		s.Events, s.Provisional = s.Events-s.Provisional, 0
	}
	s.Problem = nil
	if s.Num == 0 {
		if err := sl.w.Put(ctx, s); err != nil {
			return false, err
		}
		sl.held[s.Num] = s
	}
	return sl.read(ctx, j, s)
}

// load returns saved sessions, each by one pointer for the whole transaction.
func (sl *slice) load(ctx context.Context, which StoredLookup) ([]*Stored, error) {
	rows, err := sl.w.Stored(ctx, which)
	if err != nil {
		return nil, err
	}
	all := make([]*Stored, len(rows))
	for i := range rows {
		s := sl.held[rows[i].Num]
		if s == nil {
			s = &rows[i]
			sl.held[s.Num] = s
		}
		all[i] = s
	}
	return all, nil
}

// drop removes a session, what it said of others, and what it was to them.
func (sl *slice) drop(ctx context.Context, s *Stored) error {
	if err := sl.unname(ctx, s); err != nil {
		return err
	}
	delete(sl.held, s.Num)
	if err := sl.w.Delete(ctx, s.Num); err != nil {
		return err
	}
	return sl.orphaned(ctx, s)
}

// read takes in what is new in a source.
func (sl *slice) read(ctx context.Context, j *job, s *Stored) (done bool, err error) {
	b := newBuilder(ctx, sl.w, s)
	if u, ok := j.kept.of(s); ok {
		b.surface = u
	}
	j.kept = nil
	b.keepFootprints, b.names = sl.in.KeepFootprints, sl.names
	stopped, events := false, 0
	sl.in.work.read.Add(1)
	tail, err := j.reader.Read(ctx, j.src, s.Position, func(e session.Event) error {
		if err := b.add(e); err != nil {
			if p, ok := unsound(err, j.src.Path); ok && p.Offset == 0 {
				p.Offset = e.Place.Offset
				return p
			}
			return err
		}
		if events++; sl.text+b.copied+int64(b.bytes) >= sl.share || len(b.batch.Checkpoints) >= 1<<16 ||
			events%timeEvery == 0 && time.Since(sl.start) >= sliceTime {
			stopped = true
			return reader.ErrStop
		}
		return nil
	})
	sl.in.work.bytes.Add(tail.Bytes)
	if err == nil {
		s.Position = tail.Position
		s.Alone, s.Divided = j.alone(s.Position), j.divided(s.Position)
		s.Skip = worst(s.Skip, tail.Skips)
		if stopped {
			s.Position.Stamp.Size = -1 // not wholly read: no stat may call it unchanged
		} else {
			err = b.close(tail.Closers)
		}
	}
	if err == nil {
		err = b.flush()
	}
	if err != nil {
		return sl.refuse(ctx, j, s, err)
	}
	sl.text += b.copied
	s.Events = s.Position.Next
	if !stopped {
		s.Provisional = int64(len(tail.Closers))
		s.Events += s.Provisional
	}
	if err := sl.w.Put(ctx, s); err != nil {
		return false, err
	}
	if stopped {
		j.kept = keep(b.surface, s, maxKept)
	}
	return !stopped, sl.relate(ctx, j, s)
}

// timeEvery is after how many events a reading looks at the clock.
const timeEvery = 256

// alone reports whether a source depends on its own file alone.
func (j *job) alone(at reader.Position) bool {
	l, ok := j.reader.(reader.Loner)
	return ok && reader.FileOf(j.src.Path) == j.src.Path && l.Alone(j.src, at)
}

// worst returns the skip that is remembered of a session: one that takes
// something away before one that does not. One of an earlier read stays unless
// the log ended there and goes on now.
func worst(before *reader.Skip, skips []reader.Skip) *reader.Skip {
	if before != nil && before.Rest != 0 {
		before = nil
	}
	for i := range skips {
		if before == nil || before.Rest == 0 && skips[i].Rest != 0 {
			before = &skips[i]
		}
	}
	return before
}

// refuse records that a session is unsound; any other failure is returned.
func (sl *slice) refuse(ctx context.Context, j *job, s *Stored, cause error) (done bool, err error) {
	p, ok := unsound(cause, j.src.Path)
	if !ok {
		if ctx.Err() != nil || s.Num == 0 || !isFileError(cause) {
			return false, cause
		}
		p = reader.Unreadable(j.src.Path, 0, 0, "%s", withoutPath(cause))
		j.stamp = reader.Stamp{} // rights can change and leave the stamp as it is: try every time
	}
	if err := sl.unname(ctx, s); err != nil {
		return false, errors.Join(cause, err)
	}
	if err := sl.w.Clear(ctx, s.Num); err != nil {
		return false, errors.Join(cause, err)
	}
	if err := sl.withoutParts(ctx, j.src.Path); err != nil {
		return false, errors.Join(cause, err)
	}
	*s = Stored{
		Num: s.Num, Source: s.Source, Header: j.src.Header, Mapping: Mapping(j.reader), LastStep: -1,
		Problem: p, Position: reader.Position{Stamp: j.stamp},
	}
	return true, sl.w.Put(ctx, s)
}
