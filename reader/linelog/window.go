package linelog

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"

	"github.com/yorehq/yore/reader"
	"github.com/yorehq/yore/reader/jsonl"
	"github.com/yorehq/yore/session"
)

// Window implements reader.Reader. From a checkpoint with a mark it reads what
// lies between; else it goes through the file from its start. Texts are made
// inside the window only.
func (f *Format) Window(ctx context.Context, src reader.Source, at session.Checkpoint, from, to int64, natives session.Range, emit func(session.Raw) error) (session.Header, error) {
	if err := ctx.Err(); err != nil {
		return session.Header{}, err
	}
	path := reader.FileOf(src.Path)
	file, stamp, err := reader.OpenRegular(path)
	if err != nil {
		return session.Header{}, err
	}
	defer file.Close()
	h, err := f.Identify(ctx, file, stamp.Size, src.Root, src.Path)
	if err != nil {
		return h, err
	}
	r := f.run(file, src, from)
	begin := f.start(src)
	if at.State != "" && at.Seq <= from {
		if err := r.load([]byte(at.State), at.Seq); err != nil {
			return h, err
		}
		begin = at.Place.Offset
	}
	if begin > stamp.Size {
		return h, reader.Unreadable(path, 0, begin, "the file is shorter than what was read of it")
	}
	s := NewFeed(file, begin, stamp.Size)
	for r.out.next <= to {
		l, err := s.Next(ctx)
		if errors.Is(err, io.EOF) {
			return h, nil
		}
		if err == nil {
			err = r.take(ctx, &l, s.Pieces(&l), s, func(value []byte, number int) error {
				return r.show(&l, value, number, from, to, natives, emit)
			})
		}
		if err != nil {
			return h, err
		}
	}
	return h, nil
}

// show emits the events of a value that lie in the window.
func (r *run) show(l *Line, value []byte, number int, from, to int64, natives session.Range, emit func(session.Raw) error) error {
	for _, e := range r.out.list {
		if e.Seq < from || e.Seq > to {
			continue
		}
		e.Resume = ""
		raw := session.Raw{Event: e}
		if natives.Has(e.Seq) {
			var err error
			if raw.Native, err = r.native(&e, l, value, number); err != nil {
				return err
			}
		}
		if err := emit(raw); err != nil {
			return err
		}
	}
	return nil
}

// native returns what the agent wrote for an event, as a copy. Of a clipped line
// it is read again.
func (r *run) native(e *session.Event, l *Line, value []byte, number int) ([]byte, error) {
	if e.Reconstructed {
		return Made(e), nil
	}
	whole := bytes.Clone(value)
	if value == nil {
		var err error
		if whole, err = reader.Room(reader.FileOf(r.src.Path), l.Start, l.End); err != nil {
			return nil, err
		}
		if _, err := r.f.ReadAt(whole, l.Start); err != nil && !errors.Is(err, io.EOF) {
			return nil, err
		}
		whole = bytes.TrimRight(bytes.TrimPrefix(whole, byteOrderMark), "\r\n")
		if values, rest := jsonl.Values(whole); number < len(values) {
			whole = values[number]
		} else if len(values) > 0 && len(rest) > 0 {
			whole = rest
		}
	}
	if e.Place.Part > 0 && r.format.Block != nil && jsonl.IsObject(whole) {
		if block := r.format.Block(whole, e.Place.Part); block != nil {
			return bytes.Clone(block), nil
		}
	}
	return whole, nil
}

// Made returns the JSON of an event that has no bytes of its own.
func Made(e *session.Event) []byte {
	type op struct {
		Op    string  `json:"op"`
		Start *int64  `json:"start,omitempty"`
		End   *int64  `json:"end,omitempty"`
		Keep  *int64  `json:"keep,omitempty"`
		Nodes []int64 `json:"nodes,omitzero"`
	}
	o := &op{Op: "append"}
	switch e.Op.Kind {
	case session.OpNone:
		o = nil
	case session.OpReplace:
		o = &op{Op: "replace", Start: &e.Op.Start, End: &e.Op.End}
	case session.OpSelect:
		o = &op{Op: "select", Keep: &e.Op.Keep, Nodes: append([]int64{}, e.Op.Nodes...)}
	}
	text, err := json.Marshal(struct {
		Type    string         `json:"type"`
		Seq     int64          `json:"seq"`
		Time    int64          `json:"time"`
		Data    map[string]any `json:"data"`
		Op      *op            `json:"surfaceOp,omitempty"`
		Sources []int64        `json:"sourceEventSeqs,omitempty"`
	}{e.Type, e.Seq, e.Time, map[string]any{}, o, e.Sources})
	if err != nil {
		return []byte("null")
	}
	return text
}
