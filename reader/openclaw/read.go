package openclaw

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"

	"github.com/yorehq/yore/fault"
	"github.com/yorehq/yore/reader"
	"github.com/yorehq/yore/reader/jsonl"
	"github.com/yorehq/yore/reader/linelog"
	"github.com/yorehq/yore/reader/pitree"
	"github.com/yorehq/yore/reader/rows"
	"github.com/yorehq/yore/session"
)

// tries is how often a session is gone on with that was written over while it was
// read.
const tries = 5

// noTexts as the start of texts means that none are made.
const noTexts = 1<<63 - 1

// A reading offers a mark for windows after so many records.
const markRecords = 64

// state is what a position keeps: of its Offset, the number of records passed,
// Check is a hash over the last one.
type state struct {
	Generation string          `json:"g,omitempty"`
	Last       int64           `json:"last"` // seq of the last record; -1: none
	Time       int64           `json:"time,omitempty"`
	Decoder    json.RawMessage `json:"d,omitempty"`
}

// run is one way over the records of a session.
type run struct {
	d    *pitree.Decoder
	out  *linelog.Events
	x    jsonl.Index
	last int64  // seq of the latest record; -1: none
	sum  uint64 // over it
	done int64  // records
	read int64  // bytes
}

func newRun(from int64) *run {
	return &run{d: pitree.NewSteered(prefix), out: linelog.NewEvents(0, from), last: -1}
}

// resume makes a run that goes on where a state was saved.
func resume(raw []byte, next, from int64) (*run, string, error) {
	w := newRun(from)
	if len(raw) == 0 {
		return w, "", nil
	}
	var st state
	err := json.Unmarshal(raw, &st)
	if err == nil {
		err = w.d.Load(st.Decoder)
	}
	if err != nil {
		return nil, "", fmt.Errorf("%w: the state of a position: %w", fault.Persistence, err)
	}
	w.out = linelog.NewEvents(next, from)
	w.out.Time, w.last = st.Time, st.Last
	return w, st.Generation, nil
}

// take takes a record in; its events are in w.out then. Each record is one object.
func (w *run) take(ctx context.Context, s *store, e *entry, r *record) error {
	place := session.Place{Offset: r.seq}
	w.out.Begin(place, r.clipped)
	if w.out.Time == 0 {
		w.out.Time = max(0, r.created)
	}
	passed := func() { w.last, w.sum, w.done, w.read = r.seq, sumOf(r), w.done+1, w.read+int64(len(r.value)) }
	values, rest := w.x.Values(r.value)
	if r.reason != "" || len(values) != 1 || len(rest) > 0 || !jsonl.IsObject(values[0]) {
		if r.reason == "" {
			r.reason = "the row is no JSON record"
		}
		w.out.Add(session.Event{Type: linelog.Unparsed}, nil)
		passed()
		return nil
	}
	rec := linelog.Record{Value: values[0], X: &w.x, Place: place, Line: r.seq, Clipped: r.clipped}
	if !w.d.Settled(&rec) {
		whole := newRun(noTexts)
		err := s.each(ctx, e, -1, func(before *record) error {
			if before.seq >= r.seq {
				return errEnough
			}
			return whole.take(ctx, s, e, before)
		})
		if err != nil && !errors.Is(err, errEnough) {
			return err
		}
		if whole.out.Next() != w.out.Next() {
			return rows.ErrChanging
		}
		w.d, w.out.Time = whole.d, whole.out.Time
		w.out.Begin(place, r.clipped)
	}
	w.d.Take(&rec, w.out)
	passed()
	return nil
}

// sumOf is over what a record says, however it is stored.
func sumOf(r *record) uint64 {
	return jsonl.Hash(uint64(r.seq)+1, r.value)
}

// save packs where a run stands.
func (w *run) save(generation string, pack func() ([]byte, error)) (json.RawMessage, error) {
	d, err := pack()
	if err != nil {
		return nil, err
	}
	return json.Marshal(state{Generation: generation, Last: w.last, Time: w.out.Time, Decoder: d})
}

// reviseRows is Revise for a session of a database: it is replaced when the agent
// has rewritten its transcript, or the last row that was read is another one.
func (*Reader) reviseRows(ctx context.Context, src reader.Source, at reader.Position) (reader.Revision, reader.Stamp, error) {
	if err := ctx.Err(); err != nil {
		return reader.Replaced, reader.Stamp{}, err
	}
	s, err := openStore(ctx, reader.FileOf(src.Path))
	if errors.Is(err, fs.ErrNotExist) {
		return reader.Gone, reader.Stamp{}, nil
	}
	if err != nil {
		return reader.Replaced, reader.Stamp{}, err
	}
	defer s.db.Close()
	e, err := s.find(ctx, idOf(src))
	var st state
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return reader.Gone, reader.Stamp{}, nil
	case err != nil:
		return reader.Replaced, reader.Stamp{}, err
	case e.Stamp == at.Stamp && e.Header == src.Header:
		return reader.Unchanged, e.Stamp, nil
	case json.Unmarshal(at.State, &st) != nil || st.Generation != e.generation || e.last < st.Last || e.Header != src.Header:
		return reader.Replaced, e.Stamp, nil
	}
	count, sum, err := s.standing(ctx, &e, st.Last)
	switch {
	case err == nil && !s.db.Steady():
		return reader.Replaced, e.Stamp, reader.ErrRetry
	case err != nil:
		return reader.Replaced, e.Stamp, faultOf(src.Path, err)
	case count != at.Offset || sum != at.Check:
		return reader.Replaced, e.Stamp, nil
	}
	return reader.Grown, e.Stamp, nil
}

// standing returns how many records a session has up to a seq, and the hash of
// the last of these.
func (s *store) standing(ctx context.Context, e *entry, last int64) (count int64, sum uint64, err error) {
	see := func(r *record) error {
		if r.seq > last {
			return errEnough
		}
		sum = sumOf(r)
		count++
		return nil
	}
	if e.archive.name != "" {
		err = s.each(ctx, e, -1, see)
	} else if err = s.each(ctx, e, last-1, see); err == nil || errors.Is(err, errEnough) {
		err = s.db.Each(ctx, `SELECT count(*) FROM transcript_events WHERE session_id = ? AND seq <= ?`, []any{string(e.Header.ID), last}, func(row rows.Row) error {
			count = row.Int(0)
			return nil
		})
	}
	if errors.Is(err, errEnough) {
		err = nil
	}
	return count, sum, err
}

// errOther says that what was read of a session has become another one.
var errOther = errors.New("the session is being rewritten")

// pass runs over the records behind a run's last one, begun anew where the
// database was written over, and hands on each with its events. It returns the
// session, and whether it came to its end.
func (*Reader) pass(ctx context.Context, src reader.Source, w *run, generation string, visit func(s *store, e *entry, r *record) error) (e entry, whole bool, err error) {
	for try := range tries {
		s, failure := openStore(ctx, reader.FileOf(src.Path))
		if errors.Is(failure, reader.ErrRetry) {
			continue
		}
		if failure != nil {
			return e, false, failure
		}
		now, err := s.find(ctx, idOf(src))
		switch {
		case err == nil && try == 0:
			e = now
			if w.done == 0 && w.last < 0 {
				generation = now.generation
			}
		case err == nil && (now.generation != e.generation || now.Header != e.Header):
			s.db.Close()
			return e, false, nil
		case err == nil:
			e = now
		}
		if err == nil && generation != e.generation {
			err = errOther
		}
		if err == nil {
			err = s.each(ctx, &e, w.last, func(r *record) error {
				if err := w.take(ctx, s, &e, r); err != nil {
					return err
				}
				return visit(s, &e, r)
			})
		}
		steady := s.db.Steady()
		failure = faultOf(src.Path, err)
		s.db.Close()
		switch {
		case errors.Is(err, errOther):
			return e, false, nil
		case errors.Is(failure, reader.ErrRetry):
			continue
		}
		return e, err == nil && steady, failure
	}
	return e, false, nil
}

// readRows is Read for a session of a database.
func (r *Reader) readRows(ctx context.Context, src reader.Source, from reader.Position, emit func(session.Event) error) (reader.Tail, error) {
	if err := ctx.Err(); err != nil {
		return reader.Tail{}, err
	}
	w, generation, err := resume(from.State, from.Next, 0)
	if err != nil {
		return reader.Tail{}, err
	}
	w.done = from.Offset
	w.sum = from.Check
	tail := reader.Tail{}
	stopped, behind := false, int64(0)
	// The mark that an event offers is of before its record, so that it is made one
	// record ahead.
	mark, marked := "", w.last
	e, complete, err := r.pass(ctx, src, w, generation, func(_ *store, e *entry, rec *record) error {
		for i, ev := range w.out.List() {
			if ev.Type == linelog.Unparsed {
				tail.Skips = append(tail.Skips, reader.Skip{Place: ev.Place, Length: int64(len(rec.value)), Reason: rec.reason})
			}
			if i == 0 && mark != "" && marked < rec.seq {
				ev.Resume, mark, behind = mark, "", 0
			}
			switch err := emit(ev); {
			case errors.Is(err, reader.ErrStop):
				stopped = true
			case err != nil:
				return err
			}
		}
		if stopped {
			return reader.ErrStop
		}
		mark = ""
		if behind++; behind >= markRecords {
			text, err := w.save(e.generation, w.d.Mark)
			if err != nil {
				return err
			}
			mark, marked = string(text), rec.seq
		}
		return ctx.Err()
	})
	if errors.Is(err, reader.ErrStop) {
		err = nil
	}
	if err != nil {
		return reader.Tail{}, err
	}
	if src.Header != (session.Header{}) && e.Header != (session.Header{}) && e.Header != src.Header {
		return reader.Tail{}, reader.Unreadable(src.Path, 0, 0, "the header is not the one that was identified")
	}
	p := &tail.Position
	p.Next, p.Offset, p.Check = w.out.Next(), w.done, w.sum
	if complete && !stopped {
		p.Stamp = e.Stamp
	}
	tail.Bytes = w.read
	if generation == "" || len(from.State) == 0 {
		generation = e.generation
	}
	if p.State, err = w.save(generation, w.d.Save); err != nil {
		return reader.Tail{}, fmt.Errorf("state of %s: %w", src.Path, err)
	}
	return tail, nil
}

// rowWindow is Window for a session of a database. From a checkpoint with a mark
// it reads what lies between; else it passes over the session from its beginning.
func (r *Reader) rowWindow(ctx context.Context, src reader.Source, at session.Checkpoint, from, to int64, natives session.Range, emit func(session.Raw) error) (session.Header, error) {
	if err := ctx.Err(); err != nil {
		return session.Header{}, err
	}
	w, generation := newRun(from), ""
	if at.State != "" && at.Seq <= from {
		var err error
		if w, generation, err = resume([]byte(at.State), at.Seq, from); err != nil {
			return session.Header{}, err
		}
	}
	var lost error // what was passed cannot be passed again
	e, complete, err := r.pass(ctx, src, w, generation, func(s *store, _ *entry, rec *record) error {
		for _, ev := range w.out.List() {
			if ev.Seq < from || ev.Seq > to {
				continue
			}
			raw := session.Raw{Event: ev}
			if natives.Has(ev.Seq) {
				var err error
				if raw.Native, err = s.native(ctx, &ev, rec); errors.Is(err, rows.ErrChanging) {
					lost = reader.ErrRetry
					return errEnough
				}
				if err != nil {
					return err
				}
			}
			if err := emit(raw); err != nil {
				return err
			}
		}
		if w.out.Next() > to {
			return errEnough
		}
		return nil
	})
	switch {
	case errors.Is(err, errEnough):
		err = lost
	case err == nil && !complete:
		err = reader.ErrRetry
	}
	return e.Header, err
}

// native returns what the agent wrote for an event, as a copy. A row of which only
// a part was kept is read again.
func (s *store) native(ctx context.Context, e *session.Event, r *record) ([]byte, error) {
	if e.Reconstructed {
		return linelog.Made(e), nil
	}
	value := bytes.Clone(r.value)
	if r.rowid != 0 {
		var err error
		if value, err = s.whole(ctx, r); err != nil {
			return nil, err
		}
	}
	if e.Place.Part > 0 && jsonl.IsObject(value) {
		if block := pitree.Block(value, e.Place.Part); block != nil {
			return bytes.Clone(block), nil
		}
	}
	return value, nil
}

// seed returns how many events the entries give that a fork copied from its
// parent, by their ids.
func (s *store) seed(ctx context.Context, e entry) (int64, error) {
	if !s.db.Has("transcript_event_identities", "session_id", "event_id", "seq") {
		return 0, nil
	}
	copied := int64(-1)
	err := s.db.Each(ctx, `SELECT i.seq, (SELECT count(*) FROM transcript_event_identities AS p WHERE p.session_id = ? AND p.event_id = i.event_id)
		FROM transcript_event_identities AS i WHERE i.session_id = ? AND i.event_type <> 'session' ORDER BY i.seq`,
		[]any{string(e.Header.ParentSession), string(e.Header.ID)}, func(row rows.Row) error {
			if row.Int(1) == 0 {
				return errEnough
			}
			copied = row.Int(0)
			return nil
		})
	if errors.Is(err, errEnough) {
		err = nil
	}
	if err != nil || copied < 0 {
		return 0, err
	}
	w := newRun(noTexts)
	err = s.each(ctx, &e, -1, func(r *record) error {
		if r.seq > copied {
			return errEnough
		}
		return w.take(ctx, s, &e, r)
	})
	if errors.Is(err, errEnough) {
		err = nil
	}
	return w.out.Next(), err
}
