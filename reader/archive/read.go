package archive

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"io/fs"

	"github.com/yorehq/yore/fault"
	"github.com/yorehq/yore/reader"
	"github.com/yorehq/yore/reader/jsonl"
	"github.com/yorehq/yore/session"
)

// headerBytes is how long the first frame may be, packed and unpacked.
const headerBytes = 1 << 20

// origin reads the first frame and returns where the second one is.
func origin(f io.ReaderAt, path string, size int64) (o Origin, end int64, err error) {
	_, end, err = frameAt(f, path, 0, size)
	switch {
	case errors.Is(err, io.EOF) || errors.Is(err, errTorn) && size < headerBytes:
		return o, 0, reader.ErrPending
	case errors.Is(err, errTorn) || err == nil && end > headerBytes:
		return o, 0, reader.Unreadable(path, 1, 0, "the first frame is longer than a header")
	case err != nil:
		return o, 0, err
	}
	s, err := newFeed(f, path, 0, end)
	if err != nil {
		return o, 0, err
	}
	defer s.close()
	if err := s.enter(0); err != nil {
		return o, 0, err
	}
	text, err := io.ReadAll(io.LimitReader(s.text, headerBytes+1))
	if err != nil {
		return o, 0, reader.Unreadable(path, 1, 0, "the first frame cannot be decoded")
	}
	var l originLine
	if err := json.Unmarshal(text, &l); err != nil || len(text) > headerBytes {
		return o, 0, reader.Unreadable(path, 1, 0, "the first frame is no header")
	}
	o = Origin{Header: l.Header, Source: l.Source, Mapping: l.Mapping, Title: l.Title}
	if l.Archive != format {
		return o, 0, reader.Unreadable(path, 1, 0, "version %d of the archive's format is not known", l.Archive)
	}
	err = l.Header.Validate()
	if l.Header.Agent == "" || l.Header.Agent == Agent {
		err = fault.CorruptSession
	}
	if err != nil {
		return o, 0, reader.Corrupt(path, 1, 0, "the header breaks a rule")
	}
	return o, end, nil
}

// Identify implements reader.Reader. The header is the original's: its agent is
// the one that wrote the session.
func (*Reader) Identify(ctx context.Context, _, path string) (session.Header, error) {
	if err := ctx.Err(); err != nil {
		return session.Header{}, err
	}
	f, stamp, err := reader.OpenRegular(path)
	if err != nil {
		return session.Header{}, err
	}
	defer f.Close()
	o, _, err := origin(f, path, stamp.Size)
	return o.Header, err
}

// Title implements reader.Titler: what the agent kept outside of its log.
func (*Reader) Title(ctx context.Context, src reader.Source) (title string, ok bool, err error) {
	if err := ctx.Err(); err != nil {
		return "", false, err
	}
	f, stamp, err := reader.OpenRegular(src.Path)
	if errors.Is(err, fs.ErrNotExist) {
		return "", false, nil
	}
	if err != nil {
		return "", false, err
	}
	defer f.Close()
	o, _, err := origin(f, src.Path, stamp.Size)
	return o.Title, o.Title != "", err
}

// Read implements reader.Reader. A frame is the unit: it is read once it is
// there as a whole, and reads end between two of them.
func (*Reader) Read(ctx context.Context, src reader.Source, from reader.Position, emit func(session.Event) error) (reader.Tail, error) {
	var tail reader.Tail
	if err := ctx.Err(); err != nil {
		return tail, err
	}
	f, stamp, err := reader.OpenRegular(src.Path)
	if err != nil {
		return tail, err
	}
	defer f.Close()
	if from.Offset == 0 {
		o, end, err := origin(f, src.Path, stamp.Size)
		if err != nil {
			return tail, err
		}
		if src.Header != (session.Header{}) && src.Header != o.Header {
			return tail, reader.Unreadable(src.Path, 1, 0, "the header is not the one that was identified")
		}
		from.Offset = end
	} else if stamp.Size < from.Offset {
		return tail, reader.Unreadable(src.Path, 0, from.Offset, "the file is shorter than what was read of it")
	}
	s, err := newFeed(f, src.Path, from.Offset, stamp.Size)
	if err != nil {
		return tail, err
	}
	defer s.close()
	next, err := s.readAll(ctx, from.Next, emit)
	if err != nil {
		return tail, err
	}
	tail.Bytes = s.bytes
	tail.Position = reader.Position{Next: next, Offset: s.at, Stamp: stamp}
	tail.Position.Check, err = reader.CheckBefore(f, s.at)
	return tail, err
}

// readAll emits the events up to the end of the last whole frame.
func (s *feed) readAll(ctx context.Context, next int64, emit func(session.Event) error) (int64, error) {
	for {
		l, place, err := s.next(ctx)
		if errors.Is(err, io.EOF) {
			return next, nil
		}
		if err != nil {
			return next, err
		}
		e, ok, err := s.event(&l, next, place)
		if err != nil {
			return next, err
		}
		if !ok {
			continue
		}
		next += e.Len()
		switch err := emit(e); {
		case errors.Is(err, reader.ErrStop):
			s.stop = true
		case err != nil:
			return next, err
		}
	}
}

// event takes a line apart that should be the event next, or one of those that
// a read passes over.
func (s *feed) event(l *jsonl.Line, next int64, place session.Place) (e session.Event, ok bool, err error) {
	switch kindOf(l.Text) {
	case nativeKind, positionKind:
		return e, false, nil
	case eventKind:
		e, reason := parseEvent(l.Text, next, place)
		if reason != "" {
			return e, false, s.problem(reason)
		}
		e.Body.Clipped = e.Body.Clipped || l.Clipped
		return e, true, nil
	}
	if l.Full {
		return e, false, s.problem("the line holds more than can be kept of it")
	}
	return e, false, s.problem("the line is of no kind that is known")
}

// Window implements reader.Reader.
func (*Reader) Window(ctx context.Context, src reader.Source, at session.Checkpoint, from, to int64, natives session.Range, emit func(session.Raw) error) (session.Header, error) {
	if err := ctx.Err(); err != nil {
		return session.Header{}, err
	}
	f, stamp, err := reader.OpenRegular(src.Path)
	if err != nil {
		return session.Header{}, err
	}
	defer f.Close()
	o, end, err := origin(f, src.Path, stamp.Size)
	if err != nil {
		return o.Header, err
	}
	if at.Place == (session.Place{}) {
		at.Seq, at.Place.Offset = 0, end
	}
	s, err := newFeed(f, src.Path, at.Place.Offset, stamp.Size)
	if err != nil {
		return o.Header, err
	}
	defer s.close()
	if at.Place.Inner > 0 {
		err := s.enter(at.Place.Inner)
		if errors.Is(err, io.EOF) || errors.Is(err, errTorn) {
			err = s.problem("a frame is not there any more")
		}
		if err != nil {
			return o.Header, err
		}
	}
	return o.Header, s.window(ctx, at.Seq, from, to, natives, emit)
}

// window emits the events of a range, with the bytes of those in natives; next
// is the first event that the feed gives.
func (s *feed) window(ctx context.Context, next, from, to int64, natives session.Range, emit func(session.Raw) error) error {
	var e session.Event // the one at hand; its bytes, or those of its members from seq on, are to come
	for seq := next; seq <= to; {
		l, place, err := s.next(ctx)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if kindOf(l.Text) != nativeKind {
			got, ok, err := s.event(&l, next, place)
			switch {
			case err != nil:
				return err
			case ok && seq < next:
				return s.problem("the bytes of an event are not there")
			case ok:
				e, next = got, got.Seq+got.Len()
			}
			continue
		}
		if seq >= next {
			return s.problem("there are bytes that belong to no event")
		}
		if seq >= from {
			raw, err := s.member(&e, seq, &l, natives.Has(seq))
			if err == nil {
				err = emit(raw)
			}
			if err != nil {
				return err
			}
		}
		seq++
	}
	return nil
}

// member is the event at seq: the event itself, or one of its run. Its bytes are
// in the line at hand.
func (s *feed) member(e *session.Event, seq int64, l *jsonl.Line, wanted bool) (session.Raw, error) {
	out := session.Raw{Event: *e}
	text := l.Text
	if wanted && l.Clipped {
		var err error
		if text, err = s.whole(l); err != nil {
			return out, err
		}
	}
	native, time, ok := parseNative(text, wanted)
	if !ok || e.Len() > 1 && time == nil {
		return out, s.problem("the line holds no bytes of an event")
	}
	out.Native = native
	if e.Len() > 1 {
		out.Event = session.Event{
			Seq: seq, Type: e.Type, Time: *time, Place: e.Place, Ignorable: e.Ignorable, Reconstructed: e.Reconstructed,
		}
	}
	return out, nil
}

// whole reads a long line of the open frame again, now that its length is known.
func (s *feed) whole(l *jsonl.Line) ([]byte, error) {
	text, err := reader.Room(s.path, l.Start, l.End-1)
	if err != nil {
		return nil, err
	}
	again, err := newFeed(s.f, s.path, s.at, s.size)
	if err != nil {
		return nil, err
	}
	defer again.close()
	if err := again.enter(l.Start); err != nil {
		return nil, err
	}
	if _, err := io.ReadFull(again.text, text); err != nil {
		return nil, s.problem("a frame is not the one that was read before")
	}
	return text, nil
}

// Last reads what an archived log says of itself: its origin, where the
// original was read to, and the offset at which a continuation goes, in the
// place of the last frame. whole is false of a log without an end: it must be
// made anew.
func Last(ctx context.Context, f io.ReaderAt, path string, size int64) (o Origin, p reader.Position, offset int64, whole bool, err error) {
	o, next, err := origin(f, path, size)
	for err == nil {
		at := next
		if _, next, err = frameAt(f, path, at, size); err == nil {
			offset = at
		}
	}
	switch {
	case errors.Is(err, errTorn) || errors.Is(err, io.EOF) && offset == 0:
		return o, p, 0, false, nil
	case !errors.Is(err, io.EOF):
		return o, p, 0, false, err
	}
	s, err := newFeed(f, path, offset, size)
	if err != nil {
		return o, p, 0, false, err
	}
	defer s.close()
	l, _, err := s.next(ctx)
	if errors.Is(err, io.EOF) {
		return o, p, 0, false, nil // an empty frame
	}
	if err != nil {
		return o, p, 0, false, err
	}
	var got positionLine
	if l.Clipped || kindOf(l.Text) != positionKind || json.Unmarshal(l.Text, &got) != nil || got.Position == nil {
		return o, p, 0, false, nil
	}
	return o, *got.Position, offset, true, nil
}
