package archive

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"unicode/utf8"

	"github.com/klauspost/compress/zstd"

	"github.com/yorehq/yore/fault"
	"github.com/yorehq/yore/reader"
	"github.com/yorehq/yore/session"
)

// frameText is about how much text one frame holds, in bytes; an event and its
// bytes stay together, unless a run alone is longer.
const frameText = 1 << 20

// Encoder writes archived logs. Call Begin for a new one, Add for each event in
// sequence, and End. Its memory is a few times the longest event's. It is for
// one goroutine; after an error it is of no more use.
type Encoder struct {
	w     io.Writer
	zstd  *zstd.Encoder
	text  bytes.Buffer // of the frame at hand
	json  *json.Encoder
	out   []byte
	left  int64 // members of the run at hand that are still to come
	wrote int64
}

// NewEncoder returns an encoder that writes to w.
func NewEncoder(w io.Writer) (*Encoder, error) {
	z, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithWindowSize(4<<20), zstd.WithEncoderCRC(true))
	if err != nil {
		return nil, err
	}
	e := &Encoder{w: w, zstd: z}
	e.json = json.NewEncoder(&e.text)
	e.json.SetEscapeHTML(false)
	return e, nil
}

// Written returns how many bytes went to the writer.
func (e *Encoder) Written() int64 { return e.wrote }

// Begin writes the first frame. A header that JSON cannot hold exactly is
// refused with fault.CorruptSession.
func (e *Encoder) Begin(o Origin) error {
	for _, text := range []string{string(o.Header.Agent), string(o.Header.ID), o.Header.Cwd, string(o.Header.ParentSession), o.Header.AgentPreset} {
		if !utf8.ValidString(text) {
			return fmt.Errorf("%w: the header holds bytes that are no text", fault.CorruptSession)
		}
	}
	if err := e.json.Encode(originLine{format, o.Header, o.Source, o.Mapping, o.Title}); err != nil {
		return err
	}
	return e.flush()
}

// Add writes an event with its bytes. span is 1, or at the first member of a
// run the number of its events; the others must follow, with a span of 1.
func (e *Encoder) Add(raw session.Raw, span int64) error {
	n := nativeOf(raw.Native)
	member := span > 1
	if e.left > 0 {
		e.left--
		member = true
	} else {
		if e.text.Len() >= frameText {
			if err := e.flush(); err != nil {
				return err
			}
		}
		line, err := lineOf(&raw.Event, span)
		if err != nil {
			return err
		}
		if err := e.json.Encode(line); err != nil {
			return err
		}
		e.left = span - 1
	}
	if member {
		n.Time = &raw.Event.Time
	}
	if err := e.json.Encode(n); err != nil {
		return err
	}
	// A frame may not grow without bound, however long a run is.
	if e.left > 0 && e.text.Len() >= 8*frameText {
		return e.flush()
	}
	return nil
}

// End writes the last frame: where the original was read to.
func (e *Encoder) End(p reader.Position) error {
	if e.left > 0 {
		return fmt.Errorf("%w: a run ends before its last event", fault.Persistence)
	}
	if err := e.flush(); err != nil {
		return err
	}
	if err := e.json.Encode(positionLine{&p}); err != nil {
		return err
	}
	return e.flush()
}

// flush writes the frame at hand, if it holds anything.
func (e *Encoder) flush() error {
	if e.text.Len() == 0 {
		return nil
	}
	e.out = e.zstd.EncodeAll(e.text.Bytes(), e.out[:0])
	if int64(len(e.out)) > math.MaxUint32 {
		return fmt.Errorf("%w: a frame is too long", fault.Persistence)
	}
	e.text.Reset()
	for _, part := range [][]byte{appendMark(nil, uint32(len(e.out))), e.out} {
		n, err := e.w.Write(part)
		e.wrote += int64(n)
		if err != nil {
			return err
		}
	}
	return nil
}
