package claude

import (
	"encoding/json"
	"errors"
	"slices"

	"github.com/yorehq/yore/reader"
	"github.com/yorehq/yore/session"
)

// What an event does to the surface depends on what came before it, so a window
// cannot begin just anywhere. A reading offers marks: every so many records the
// end of the path, small enough to be kept with a checkpoint. For almost all
// records that is enough: they continue the path.
//
// For which it is not, the reading finds out by doing what a window would do: a
// second decoder, the shadow, goes on from the latest mark with nothing else, and
// takes every record in too. Where the two say different things the mark ends
// (Event.Breaks), and another one is offered soon after.

// Bounds of marks.
const (
	markNodes   = 16        // so much of the end of the path is in one
	markRecords = 64        // one is offered after so many records,
	markBytes   = 128 << 10 // or so many bytes,
	markAgain   = 16        // or after so many records if the latest has ended
)

// errLost says that a mark is not enough for a record.
var errLost = errors.New("the mark does not tell where the record belongs")

// marks is what a reading offers for windows.
type marks struct {
	shadow  *decoder // nil: the latest mark has ended
	records int      // since the latest mark
	offset  int64    // where that stands
	offered bool     // there is one
	fresh   string   // a mark that the next event carries
}

// marksState is what a position keeps of marks.
type marksState struct {
	Shadow  *state `json:"shadow,omitempty"`
	Next    int64  `json:"next,omitempty"` // of the shadow
	Records int    `json:"records,omitempty"`
	Offset  int64  `json:"offset,omitempty"`
}

// save makes a state; m may be nil.
func (m *marks) save() *marksState {
	if m == nil || !m.offered {
		return nil
	}
	st := &marksState{Records: m.records, Offset: m.offset}
	if m.shadow != nil {
		shadow := m.shadow.trusting()
		st.Shadow, st.Next = &shadow, m.shadow.next
	}
	return st
}

// resumeMarks is the opposite of save; d is the decoder that reads on.
func resumeMarks(st *marksState, d *decoder) (*marks, error) {
	if st == nil {
		return &marks{}, nil
	}
	m := &marks{records: st.Records, offset: st.Offset, offered: true}
	if st.Shadow != nil {
		shadow, err := resume(*st.Shadow, st.Next)
		if err != nil {
			return nil, err
		}
		m.follow(shadow, d)
	}
	return m, nil
}

// follow makes a decoder the shadow of another one.
func (m *marks) follow(shadow, d *decoder) {
	shadow.sub, shadow.run, shadow.side, shadow.from = d.sub, d.run, d.side, noTexts
	shadow.expand = func() error { return errLost }
	m.shadow = shadow
}

// trusting makes a state of all that a partial decoder knows.
func (d *decoder) trusting() state {
	st := state{small: d.small, Trusting: true, Before: d.g.before}
	for _, n := range d.g.nodes {
		st.Graph = appendNode(st.Graph, n)
	}
	for _, n := range d.g.path {
		st.Path = append(st.Path, n.ord-d.g.before)
	}
	return st
}

// mark makes a state of the end of the path.
func (d *decoder) mark() state {
	st := state{small: d.small, Trusting: true}
	tail := d.g.path[max(0, len(d.g.path)-markNodes):]
	split := d.g.split(tail)
	for i, n := range tail {
		copied := *n
		copied.split = n.split || split[n]
		st.Graph = appendNode(st.Graph, &copied)
		st.Path = append(st.Path, i)
	}
	st.Before = d.g.before + len(d.g.nodes) - len(tail)
	return st
}

// before offers a mark at the record that comes, if one is due and it begins a
// line.
func (m *marks) before(d *decoder) error {
	due := !m.offered || m.records >= markRecords || d.place.Offset-m.offset >= markBytes || m.shadow == nil && m.records >= markAgain
	if !due || len(d.glued) > 0 || d.g.pending != nil {
		return nil
	}
	if d.next == 0 { // the start of the file does as well
		m.offered, m.offset = true, d.place.Offset
		return nil
	}
	text, err := json.Marshal(d.mark())
	if err != nil {
		return err
	}
	shadow, ok := decodeMark(string(text), d.next)
	if !ok {
		return errState
	}
	m.follow(shadow, d)
	m.records, m.offset, m.offered, m.fresh = 0, d.place.Offset, true, string(text)
	return nil
}

// after lets the shadow take in the record that has given d.out.
func (m *marks) after(d *decoder, r *record) {
	m.records++
	if len(d.out) == 0 {
		return
	}
	first := &d.out[0].event
	first.Resume, m.fresh = m.fresh, ""
	if m.shadow == nil {
		return
	}
	s := m.shadow
	s.out, s.place, s.clipped, s.x, s.line, s.end = s.out[:0], d.place, d.clipped, d.x, d.line, d.end
	err := s.take(r)
	if err != nil || !slices.EqualFunc(d.out, s.out, alike) || !s.small.agrees(d.small) {
		first.Breaks, m.shadow = true, nil
	}
}

// skip follows an event that stands for no record.
func (m *marks) skip() {
	m.records++
	if m.shadow != nil {
		m.shadow.next++
	}
}

// agrees compares what matters for events.
func (s small) agrees(o small) bool {
	s.Line = o.Line
	return s == o
}

// alike compares two events without their texts.
func alike(a, b made) bool {
	x, y := &a.event, &b.event
	title := func(e *session.Event) string {
		if e.Body.Title == nil {
			return ""
		}
		return "=" + *e.Body.Title
	}
	return a.told == b.told && x.Seq == y.Seq && x.Type == y.Type && x.Time == y.Time && x.Place == y.Place && x.NativeID == y.NativeID &&
		x.Step == y.Step && x.Reconstructed == y.Reconstructed && slices.Equal(x.Sources, y.Sources) && (x.Sources == nil) == (y.Sources == nil) &&
		x.Op.Kind == y.Op.Kind && x.Op.Start == y.Op.Start && x.Op.End == y.Op.End && x.Op.Keep == y.Op.Keep && slices.Equal(x.Op.Nodes, y.Op.Nodes) &&
		title(x) == title(y) && x.Body.TitleOf == y.Body.TitleOf
}

// decodeMark returns the decoder that a mark describes.
func decodeMark(text string, next int64) (*decoder, bool) {
	var st state
	if len(text) == 0 || json.Unmarshal([]byte(text), &st) != nil || !st.Trusting {
		return nil, false
	}
	d, err := resume(st, next)
	return d, err == nil
}

// fromMark returns the decoder of a window that begins at a checkpoint; ok is
// false if that has no mark.
func fromMark(src reader.Source, at session.Checkpoint) (*decoder, bool) {
	d, ok := decodeMark(at.State, at.Seq)
	if !ok {
		return nil, false
	}
	fresh := start(src)
	d.sub, d.side, d.run = fresh.sub, fresh.side, fresh.run
	d.expand = func() error { return errLost }
	return d, true
}
