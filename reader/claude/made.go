package claude

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"

	"github.com/yorehq/yore/reader"
	"github.com/yorehq/yore/reader/jsonl"
	"github.com/yorehq/yore/reader/linelog"
	"github.com/yorehq/yore/session"
)

// made is one event with the bytes that are its own.
type made struct {
	event  session.Event
	native []byte // a block of the record; nil: the whole of it
	told   bool   // it has a text, whether or not that was made
}

// bytes returns what the agent wrote for an event, as a copy. Of a clipped line
// it is read again.
func (m *made) bytes(f io.ReaderAt, path string, l *linelog.Line, value []byte, number int) ([]byte, error) {
	switch {
	case m.event.Reconstructed:
		return m.record(), nil
	case value == nil:
		whole, err := reader.Room(path, l.Start, l.End)
		if err != nil {
			return nil, err
		}
		if _, err := f.ReadAt(whole, l.Start); err != nil && !errors.Is(err, io.EOF) {
			return nil, err
		}
		return m.within(bytes.TrimRight(whole, "\r\n"), number, l.Text == nil), nil
	case m.native != nil:
		return bytes.Clone(m.native), nil
	}
	return bytes.Clone(value), nil
}

// within finds an event's bytes in its whole line; lost says that nothing of the
// line was understood.
func (m *made) within(text []byte, number int, lost bool) []byte {
	values, rest := jsonl.Values(text)
	switch {
	case lost:
		return text
	case number < len(values):
		text = values[number]
	case len(rest) > 0:
		return rest
	}
	if m.native == nil || !jsonl.IsObject(text) {
		return text
	}
	r := parseRecord(text)
	id := m.event.Body.CallID
	found := text
	r.each(r.blocks, func(b *block) {
		if jsonl.Is(b.id, id) || jsonl.Is(b.callID, id) {
			found = b.raw
		}
	})
	return found
}

// record returns the JSON of a made event.
func (m *made) record() []byte {
	e := &m.event
	type op struct {
		Op    string  `json:"op"`
		Start *int64  `json:"start,omitempty"`
		End   *int64  `json:"end,omitempty"`
		Keep  *int64  `json:"keep,omitempty"`
		Nodes []int64 `json:"nodes,omitzero"`
	}
	o := op{Op: "replace", Start: &e.Op.Start, End: &e.Op.End}
	if e.Op.Kind == session.OpSelect {
		o = op{Op: "select", Keep: &e.Op.Keep, Nodes: append([]int64{}, e.Op.Nodes...)}
	}
	data := map[string]any{}
	if e.Body.CallID != "" {
		data["callId"] = e.Body.CallID
	}
	text, err := json.Marshal(struct {
		Type    string         `json:"type"`
		Seq     int64          `json:"seq"`
		Time    int64          `json:"time"`
		Data    map[string]any `json:"data"`
		Op      op             `json:"surfaceOp"`
		Sources []int64        `json:"sourceEventSeqs,omitempty"`
	}{e.Type, e.Seq, e.Time, data, o, e.Sources})
	if err != nil {
		return []byte("null")
	}
	return text
}
