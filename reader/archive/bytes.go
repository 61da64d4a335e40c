package archive

import (
	"bytes"
	"context"
	"errors"
	"io"

	"github.com/yorehq/yore/fault"
	"github.com/yorehq/yore/session"
)

// Packer encodes runs of events outside of a file: frames of the same lines,
// without an origin and an end. It is for one goroutine.
type Packer struct {
	e    *Encoder
	buf  bytes.Buffer
	next int64 // seq behind the last event added
}

// NewPacker returns an empty packer.
func NewPacker() (*Packer, error) {
	p := &Packer{}
	var err error
	p.e, err = NewEncoder(&p.buf)
	return p, err
}

// Add adds an event as Encoder.Add does: with its bytes, and the members of a run
// one by one.
func (p *Packer) Add(raw session.Raw, span int64) error {
	p.next = raw.Event.Seq + 1
	return p.e.Add(raw, span)
}

// Whole reports whether the last run is complete, so that Pack may be called.
func (p *Packer) Whole() bool { return p.e.left == 0 }

// Size is about how many bytes of text wait to be packed.
func (p *Packer) Size() int { return p.e.text.Len() + p.buf.Len() }

// Pack returns what was added since the last call, nil if that is nothing.
func (p *Packer) Pack() ([]byte, error) {
	if !p.Whole() {
		return nil, fault.New(fault.Persistence, "a run ends before its last event")
	}
	if err := p.e.flush(); err != nil {
		return nil, err
	}
	if p.buf.Len() == 0 {
		return nil, nil
	}
	out := bytes.Clone(p.buf.Bytes())
	p.buf.Reset()
	return out, nil
}

// Unpack emits the packed events of a range, with the bytes of those in natives.
// first is the seq that the packed ones begin with.
func Unpack(ctx context.Context, data []byte, first, from, to int64, natives session.Range, emit func(session.Raw) error) error {
	s, err := newFeed(bytes.NewReader(data), "", 0, int64(len(data)))
	if err != nil {
		return err
	}
	defer s.close()
	return s.window(ctx, first, from, to, natives, emit)
}

// Events emits packed events as a reader's Read does, runs as one, without their
// bytes, and returns the seq behind the last one.
func Events(ctx context.Context, data []byte, first int64, emit func(session.Event) error) (next int64, err error) {
	s, err := newFeed(bytes.NewReader(data), "", 0, int64(len(data)))
	if err != nil {
		return first, err
	}
	defer s.close()
	next, err = s.readAll(ctx, first, emit)
	if err == nil && s.at != s.size {
		err = s.problem("the last frame is not whole")
	}
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return next, err
}
