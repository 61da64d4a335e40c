package dsh

import (
	"bytes"
	"io"
)

// readBytes is the first size of the buffer.
const readBytes = 128 << 10

// line is one line without its end. Its text is valid until the next call.
type line struct {
	text       []byte
	start, end int64 // offsets in the stream; end lies behind the newline
	clipped    bool  // text is shorter than what is there
	full       bool  // the line holds more than can be kept: there is no text
}

// lines cuts a stream into lines. Memory stays bounded whatever a line's length,
// unless whole is set.
type lines struct {
	in     io.Reader
	buf    []byte
	r, w   int   // unread part of buf
	offset int64 // of buf[r] in the stream
	err    error // of the stream, once it has failed or ended
	lost   int64 // bytes of an unfinished line that went through the clipper
	whole  bool
	clip   clipper
}

func newLines(in io.Reader) *lines { return &lines{in: in, clip: clipper{bounds: kept}} }

// reset begins another stream; base is the offset of its first byte.
func (l *lines) reset(in io.Reader, base int64) {
	l.in, l.r, l.w, l.offset, l.err, l.lost = in, 0, 0, base, nil, 0
}

// rest returns how many bytes lie behind the last newline, after the end.
func (l *lines) rest() int64 { return int64(l.w-l.r) + l.lost }

// next returns the next line, io.EOF after the last one that has an end, or
// the stream's error.
func (l *lines) next() (line, error) {
	seen := 0
	for {
		if n := bytes.IndexByte(l.buf[l.r+seen:l.w], '\n'); n >= 0 {
			text := l.buf[l.r : l.r+seen+n]
			out := line{text: text, start: l.offset, end: l.offset + int64(len(text)) + 1}
			l.r += len(text) + 1
			l.offset = out.end
			return out, nil
		}
		seen = l.w - l.r
		if seen >= l.clip.line && !l.whole {
			return l.long()
		}
		if err := l.fill(); err != nil {
			return line{}, err
		}
	}
}

// fill reads more into the buffer; it fails when nothing more comes.
func (l *lines) fill() error {
	if l.err != nil {
		return l.err
	}
	if l.r > 0 {
		copy(l.buf, l.buf[l.r:l.w])
		l.w -= l.r
		l.r = 0
	}
	if l.w == len(l.buf) {
		grown := make([]byte, max(readBytes, 2*len(l.buf)))
		copy(grown, l.buf[:l.w])
		l.buf = grown
	}
	for range 100 {
		n, err := l.in.Read(l.buf[l.w:])
		l.w += n
		if err != nil {
			l.err = err
		}
		if n > 0 {
			return nil
		}
		if err != nil {
			return err
		}
	}
	l.err = io.ErrNoProgress
	return l.err
}

// long passes the line at hand through the clipper.
func (l *lines) long() (line, error) {
	l.clip.reset()
	out := line{start: l.offset}
	for {
		part := l.buf[l.r:l.w]
		n := bytes.IndexByte(part, '\n')
		if n >= 0 {
			part = part[:n]
		}
		l.clip.feed(part)
		l.r += len(part)
		l.offset += int64(len(part))
		l.lost += int64(len(part))
		if n >= 0 {
			l.r++
			l.offset++
			l.lost = 0
			out.text, out.clipped, out.full = l.clip.out, l.clip.dropped, l.clip.full
			if l.clip.broken || l.clip.full {
				out.text = nil
			}
			out.end = l.offset
			return out, nil
		}
		if err := l.fill(); err != nil {
			return line{}, err
		}
	}
}
