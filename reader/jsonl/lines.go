package jsonl

import (
	"bytes"
	"io"
)

const (
	firstBytes = 4 << 10   // the first size of the buffer: very many logs are small
	readBytes  = 128 << 10 // its size for all others
)

// Line is one line without its end. Its text is valid until the next call.
type Line struct {
	Text       []byte
	Start, End int64 // offsets in the stream; End lies behind the newline
	Clipped    bool  // Text is shorter than what is there
	Full       bool  // the line holds more than can be kept: there is no text
}

// Lines cuts a stream into lines. Memory stays bounded whatever a line's length.
type Lines struct {
	in     io.Reader
	buf    []byte
	r, w   int   // unread part of buf
	offset int64 // of buf[r] in the stream
	err    error // of the stream, once it has failed or ended
	lost   int64 // bytes of an unfinished line that went through the clipper
	clip   clipper
}

// NewLines cuts in; what is kept of a long line is said by bounds.
func NewLines(in io.Reader, bounds Bounds) *Lines {
	return &Lines{in: in, clip: clipper{Bounds: bounds}}
}

// Reset begins another stream; base is the offset of its first byte.
func (l *Lines) Reset(in io.Reader, base int64) {
	l.in, l.r, l.w, l.offset, l.err, l.lost = in, 0, 0, base, nil, 0
}

// Rest returns how many bytes lie behind the last newline, after the end.
func (l *Lines) Rest() int64 { return int64(l.w-l.r) + l.lost }

// Next returns the next line, io.EOF after the last one that has an end, or
// the stream's error.
func (l *Lines) Next() (Line, error) {
	seen := 0
	for {
		if n := bytes.IndexByte(l.buf[l.r+seen:l.w], '\n'); n >= 0 {
			text := l.buf[l.r : l.r+seen+n]
			out := Line{Text: text, Start: l.offset, End: l.offset + int64(len(text)) + 1}
			l.r += len(text) + 1
			l.offset = out.End
			return out, nil
		}
		seen = l.w - l.r
		if seen >= l.clip.Line {
			return l.long()
		}
		if err := l.fill(); err != nil {
			return Line{}, err
		}
	}
}

// Offset returns where the next line begins, or what of it has not gone by.
func (l *Lines) Offset() int64 { return l.offset }

// Unfinished returns what lies behind the last newline, after Next has returned
// io.EOF; ok says that it is there as a whole.
func (l *Lines) Unfinished() (text []byte, ok bool) { return l.buf[l.r:l.w], l.lost == 0 }

// fill reads more into the buffer; it fails when nothing more comes.
func (l *Lines) fill() error {
	if l.err != nil {
		return l.err
	}
	more := l.w == len(l.buf) // the last reading left no room: there is more to come
	if l.r > 0 {
		copy(l.buf, l.buf[l.r:l.w])
		l.w -= l.r
		l.r = 0
	}
	if size := len(l.buf); l.w == size || more && size < readBytes {
		if size *= 2; size > 0 {
			size = max(size, readBytes)
		}
		grown := make([]byte, max(firstBytes, size))
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
func (l *Lines) long() (Line, error) {
	l.clip.reset()
	out := Line{Start: l.offset}
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
			out.Text, out.Clipped, out.Full = l.clip.out, l.clip.dropped, l.clip.full
			if l.clip.broken || l.clip.full {
				out.Text = nil
			}
			out.End = l.offset
			return out, nil
		}
		if err := l.fill(); err != nil {
			return Line{}, err
		}
	}
}
