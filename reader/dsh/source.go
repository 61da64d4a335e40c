package dsh

import (
	"context"
	"errors"
	"io"

	"github.com/yorehq/yore/reader"
	"github.com/yorehq/yore/reader/jsonl"
	"github.com/yorehq/yore/session"
)

// mark is a place between two lines.
type mark struct {
	offset int64 // bytes of the file; of the frame, if inner is set
	inner  int64 // bytes of the frame's text; 0 in a raw file
}

// record is one line of a log with where it lies.
type record struct {
	jsonl.Line
	place  session.Place
	number int64 // 1 is the header; 0: not known
	before mark  // where to go on in order to read it again
}

// unknown is the number of a line that was not reached from the first one.
const unknown = -1

// source yields the lines of a log from a mark on, raw or out of frames.
type source struct {
	f      io.ReaderAt
	path   string
	size   int64 // what lies behind it is not read
	zstd   bool
	lines  *jsonl.Lines
	number int64 // of the latest line, or unknown
	at     mark  // behind the latest line
	bytes  int64 // of the file that were parsed
	stop   bool  // end at the next place to go on from: behind a line of a raw file, between two frames

	table *table // in the place of a file

	text  *frameText
	out   *reader.Inflation // of all frames
	in    io.Reader         // the text of the open frame, as much as may come out
	frame frame             // the open one, at at.offset
	open  bool
}

func newSource(f io.ReaderAt, path string, size int64, at mark, number int64) *source {
	s := &source{f: f, path: path, size: size, zstd: compressed(path), number: number, at: at, lines: jsonl.NewLines(nil, kept()), out: reader.NewInflation()}
	if !s.zstd {
		s.lines.Reset(io.NewSectionReader(f, at.offset, max(0, size-at.offset)), at.offset)
	}
	return s
}

// close releases the decoder; the file stays open.
func (s *source) close() {
	if s.text != nil {
		s.text.Close()
	}
}

// next returns the next line, io.EOF at the end of what is complete, a
// *Problem where frames are damaged, or a failure to read.
func (s *source) next(ctx context.Context) (record, error) {
	if s.table != nil {
		return s.table.next(ctx, s)
	}
	for {
		if err := ctx.Err(); err != nil {
			return record{}, err
		}
		if s.stop && !s.open {
			return record{}, io.EOF
		}
		if s.zstd && !s.open {
			if err := s.openNext(); err != nil {
				return record{}, err
			}
		}
		l, err := s.lines.Next()
		switch {
		case err == nil:
			return s.record(l), nil
		case !s.zstd:
			return record{}, err
		case s.out.Exceeded():
			return record{}, s.problem(reader.ErrInflated.Error())
		case s.frame.torn:
			// Whatever the decoder says of a frame that has no end yet.
			return record{}, io.EOF
		case !errors.Is(err, io.EOF):
			return record{}, s.problem("a zstd frame cannot be decoded, or fails its checksum")
		case s.lines.Rest() > 0:
			return record{}, s.problem("a zstd frame does not end with a line")
		}
		// A frame may be empty.
		s.at = mark{offset: s.frame.end}
		s.open = false
	}
}

func (s *source) record(l jsonl.Line) record {
	if s.number != unknown {
		s.number++
	}
	r := record{Line: l, number: max(s.number, 0), before: s.at}
	if s.zstd {
		r.place = session.Place{Offset: s.at.offset, Inner: l.Start}
		s.at.inner = l.End
	} else {
		r.place = session.Place{Offset: l.Start}
		s.bytes += l.End - s.at.offset
		s.at.offset = l.End
	}
	return r
}

// openNext opens the frame at hand and passes over what was read of it before.
func (s *source) openNext() error {
	if s.at.offset >= s.size {
		return io.EOF
	}
	var err error
	if s.frame, err = scanFrame(s.f, s.at.offset, s.size); err != nil {
		return err
	}
	if s.frame.reason != "" {
		return s.problem(s.frame.reason)
	}
	end := s.size
	if !s.frame.torn {
		end = s.frame.end
	}
	s.bytes += end - s.at.offset
	if s.text == nil {
		if s.text, err = newFrameText(); err != nil {
			return err
		}
	}
	err = s.text.reset(s.f, s.at.offset, end, s.frame.torn)
	s.in = s.out.Reader(s.text, end-s.at.offset)
	if err == nil && s.at.inner > 0 {
		_, err = io.CopyN(io.Discard, s.in, s.at.inner)
	}
	switch {
	case err != nil && s.frame.torn:
		return io.EOF
	case err != nil:
		return s.problem("a zstd frame cannot be decoded, or is not the one that was read before")
	}
	s.lines.Reset(s.in, s.at.inner)
	s.open = true
	return nil
}

// frameEnd returns where the frame at an offset ends, as far as it is there.
func (s *source) frameEnd(at int64) int64 {
	fr, err := scanFrame(s.f, at, s.size)
	if err != nil || fr.reason != "" || fr.torn {
		return s.size
	}
	return fr.end
}

func (s *source) problem(reason string) error {
	return reader.Unreadable(s.path, max(s.number+1, 0), s.at.offset, "%s", reason)
}

// kept is what is kept of a long line. An envelope has depth 1, its data 2, a
// message 3, its content list 4, a block 5, and the content of a block 6: lists
// may end early from depth 4 on, objects from 6 on.
func kept() jsonl.Bounds { return jsonl.Kept(4, 6) }
