package archive

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"io"

	"github.com/klauspost/compress/zstd"

	"github.com/yorehq/yore/reader"
	"github.com/yorehq/yore/reader/jsonl"
	"github.com/yorehq/yore/session"
)

// Before each zstd frame stands a skippable one (RFC 8878, section 3.1.2) whose
// content is the length of the frame that follows, so that a reader finds every
// border without decoding, and any zstd decoder reads the file as a whole.
const (
	markMagic = 0x184D2A50
	markBytes = 12 // magic, length of the content (4), the content
)

// maxWindow bounds the memory that one frame can ask of the decoder.
const maxWindow = 32 << 20

// appendMark appends the mark of a frame of n bytes.
func appendMark(b []byte, n uint32) []byte {
	b = binary.LittleEndian.AppendUint32(b, markMagic)
	b = binary.LittleEndian.AppendUint32(b, markBytes-8)
	return binary.LittleEndian.AppendUint32(b, n)
}

// errTorn says that a file ends inside a frame.
const errTorn = torn("the file ends inside a frame")

type torn string

func (t torn) Error() string { return string(t) }

// frameAt returns where the frame whose mark stands at an offset begins and
// ends. io.EOF: the file ends here; errTorn: it ends before the frame does;
// any *reader.Problem: there is no frame here.
func frameAt(f io.ReaderAt, path string, at, size int64) (start, end int64, err error) {
	if at >= size {
		return 0, 0, io.EOF
	}
	var mark [markBytes]byte
	n, err := f.ReadAt(mark[:min(markBytes, size-at)], at)
	if err != nil && !errors.Is(err, io.EOF) {
		return 0, 0, err
	}
	want := appendMark(nil, 0)[:8]
	if have := mark[:min(n, len(want))]; !bytes.HasPrefix(want, have) {
		return 0, 0, reader.Unreadable(path, 0, at, "there is no frame where one should start")
	}
	if n < markBytes {
		return 0, 0, errTorn
	}
	start = at + markBytes
	end = start + int64(binary.LittleEndian.Uint32(mark[8:]))
	if end > size {
		return 0, 0, errTorn
	}
	return start, end, nil
}

// kept is what is kept of a long line. A line has depth 1, its body 2, the list
// of blocks 3, a block 4, its content 5: lists may end early from depth 3 on,
// objects from 6 on.
func kept() jsonl.Bounds { return jsonl.Kept(3, 6) }

// feed yields the lines of a file, frame by frame.
type feed struct {
	f     io.ReaderAt
	path  string
	size  int64 // what lies behind it is not read
	at    int64 // of the open frame's mark; of the next one's, if none is open
	end   int64 // of the open frame
	open  bool
	stop  bool  // end behind the open frame
	bytes int64 // of the file that were parsed
	lines *jsonl.Lines
	dec   *zstd.Decoder
	out   *reader.Inflation
	text  io.Reader // of the open frame
}

func newFeed(f io.ReaderAt, path string, at, size int64) (*feed, error) {
	dec, err := zstd.NewReader(nil,
		zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxWindow(maxWindow))
	if err != nil {
		return nil, err
	}
	return &feed{f: f, path: path, size: size, at: at, lines: jsonl.NewLines(nil, kept()), dec: dec, out: reader.NewInflation()}, nil
}

func (s *feed) close() { s.dec.Close() }

// next returns the next line and its place, io.EOF behind the last whole frame,
// a *reader.Problem where a frame is damaged, or a failure to read.
func (s *feed) next(ctx context.Context) (jsonl.Line, session.Place, error) {
	for {
		if err := ctx.Err(); err != nil {
			return jsonl.Line{}, session.Place{}, err
		}
		if !s.open {
			if s.stop {
				return jsonl.Line{}, session.Place{}, io.EOF
			}
			if err := s.enter(0); err != nil {
				if errors.Is(err, errTorn) {
					err = io.EOF
				}
				return jsonl.Line{}, session.Place{}, err
			}
		}
		l, err := s.lines.Next()
		switch {
		case err == nil:
			return l, session.Place{Offset: s.at, Inner: l.Start}, nil
		case s.out.Exceeded():
			return l, session.Place{}, s.problem(reader.ErrInflated.Error())
		case !errors.Is(err, io.EOF):
			return l, session.Place{}, s.problem("a frame cannot be decoded, or fails its checksum")
		case s.lines.Rest() > 0:
			return l, session.Place{}, s.problem("a frame does not end with a line")
		}
		s.bytes += s.end - s.at
		s.at, s.open = s.end, false
	}
}

// enter opens the frame at hand, behind inner bytes of its text.
func (s *feed) enter(inner int64) error {
	start, end, err := frameAt(s.f, s.path, s.at, s.size)
	if err != nil {
		return err
	}
	if err := s.dec.Reset(io.NewSectionReader(s.f, start, end-start)); err != nil {
		return s.problem("a frame cannot be decoded")
	}
	s.text = s.out.Reader(s.dec, end-start)
	if n, err := io.CopyN(io.Discard, s.text, inner); err != nil || n < inner {
		return s.problem("a frame is not the one that was read before")
	}
	s.lines.Reset(s.text, inner)
	s.end, s.open = end, true
	return nil
}

func (s *feed) problem(reason string) error {
	return reader.Unreadable(s.path, 0, s.at, "%s", reason)
}
