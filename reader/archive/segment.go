package archive

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/yorehq/yore/fault"
	"github.com/yorehq/yore/reader"
	"github.com/yorehq/yore/session"
)

// A segment is a stretch of one session on its way to another machine, in the
// format of a file: the origin, then the events from some seq on, then the
// position. Encoder writes it; the events of a run stay together.

// Piece is an event of a segment, or a run of them, with its bytes.
type Piece struct {
	Event  session.Event // as Reader.Read gives it; it has no place
	Native [][]byte      // one for each event it stands for
	Times  []int64       // of a run: the time of each of its events
}

// Decode takes a segment apart whose first event should be from, and returns
// its origin and the seq behind its last event. Bytes that are no such segment,
// or hold more than limit bytes of text, are fault.Persistence; an error of emit
// ends it. A piece is the receiver's.
func Decode(ctx context.Context, segment []byte, from, limit int64, emit func(Piece) error) (Origin, int64, error) {
	const name = "segment"
	in, size := bytes.NewReader(segment), int64(len(segment))
	o, end, err := origin(in, name, size)
	if err != nil {
		return o, from, fault.Wrap(fault.Persistence, err)
	}
	s, err := newFeed(in, name, end, size)
	if err != nil {
		return o, from, err
	}
	defer s.close()
	s.out = reader.InflationOf(limit)
	next, err := s.pieces(ctx, from, emit)
	if s.out.Exceeded() {
		err = s.problem(fmt.Sprintf("the segment holds more than %d bytes of text", limit))
	}
	if err == nil && s.at != size {
		err = s.problem("the segment ends inside a frame")
	}
	return o, next, err
}

// pieces emits the events with their bytes up to the end of the feed.
func (s *feed) pieces(ctx context.Context, next int64, emit func(Piece) error) (int64, error) {
	var p Piece
	open, ended := false, false
	for {
		l, place, err := s.next(ctx)
		if errors.Is(err, io.EOF) {
			if open || !ended {
				return next, s.problem("the segment has no end")
			}
			return next, nil
		}
		if err != nil {
			return next, err
		}
		switch kindOf(l.Text) {
		case positionKind:
			if open {
				return next, s.problem("the bytes of an event are not there")
			}
			ended = true
			continue
		case nativeKind:
			if !open {
				return next, s.problem("there are bytes that belong to no event")
			}
			text := l.Text
			if l.Clipped {
				if text, err = s.whole(&l); err != nil {
					return next, err
				}
			}
			native, time, ok := parseNative(text, true)
			if !ok || p.Event.Len() > 1 && time == nil {
				return next, s.problem("the line holds no bytes of an event")
			}
			p.Native = append(p.Native, native)
			if p.Event.Len() > 1 {
				p.Times = append(p.Times, *time)
			}
			if int64(len(p.Native)) < p.Event.Len() {
				continue
			}
			next += p.Event.Len()
			if err := emit(p); err != nil {
				return next, err
			}
			p, open = Piece{}, false
		default:
			if open || ended {
				return next, s.problem("the bytes of an event are not there")
			}
			e, ok, err := s.event(&l, next, place)
			if err != nil {
				return next, err
			}
			if !ok {
				return next, s.problem("the line is of no kind that is known")
			}
			e.Place = session.Place{}
			p, open = Piece{Event: e}, true
		}
	}
}
