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
)

// job is one source that has to be brought up to date.
type job struct {
	src    reader.Source
	reader reader.Reader
	rev    reader.Revision
	stamp  reader.Stamp
	done   bool
}

// slice works on jobs within one transaction until its share is used up.
type slice struct {
	in     *Ingester
	w      Writer
	stored map[string]*Stored
	names  *names
	start  time.Time
	text   int64
}

func (sl *slice) full() bool { return sl.text >= sliceBytes || time.Since(sl.start) >= sliceTime }

// update brings one source up to date, or as far as the slice allows: done
// says whether nothing is left.
func (sl *slice) update(ctx context.Context, j *job) (done bool, err error) {
	s := sl.stored[j.src.Path]
	if s == nil {
		s = &Stored{Source: j.src.Path, LastStep: -1}
	}
	want := mapping(j.reader)
	if s.Num != 0 {
		// Another process may have been here since the jobs were made.
		if j.rev, j.stamp, err = j.reader.Revise(ctx, j.src, s.Position); err != nil {
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
		sl.stored[j.src.Path] = s
	}
	return sl.read(ctx, j, s)
}

// read takes in what is new in a source.
func (sl *slice) read(ctx context.Context, j *job, s *Stored) (done bool, err error) {
	b := newBuilder(ctx, sl.w, s)
	b.keepFootprints, b.names = sl.in.KeepFootprints, sl.names
	stopped := false
	tail, err := j.reader.Read(ctx, j.src, s.Position, func(e session.Event) error {
		if err := b.add(e); err != nil {
			if p, ok := unsound(err, j.src.Path); ok && p.Offset == 0 {
				p.Offset = e.Place.Offset
				return p
			}
			return err
		}
		if sl.text+b.copied+int64(b.bytes) >= sliceBytes || len(b.batch.Checkpoints) >= 1<<16 {
			stopped = true
			return reader.ErrStop
		}
		return nil
	})
	sl.in.work.bytes.Add(tail.Bytes)
	if err == nil {
		s.Position = tail.Position
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
	return !stopped, sl.relate(ctx, j, s)
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
		Num: s.Num, Source: s.Source, Header: j.src.Header, Mapping: mapping(j.reader), LastStep: -1,
		Problem: p, Position: reader.Position{Stamp: j.stamp},
	}
	return true, sl.w.Put(ctx, s)
}
