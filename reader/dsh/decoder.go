package dsh

import (
	"bytes"
	"fmt"

	"github.com/yorehq/yore/fault"
	"github.com/yorehq/yore/reader"
	"github.com/yorehq/yore/reader/jsonl"
	"github.com/yorehq/yore/session"
)

// Decoder turns the lines of one log into events, in order. It is for hosts
// that feed a live session; the methods of Reader share its code. It does not
// fold: whether an event may change the surface is for session.Fold to say. A
// Decoder is for one goroutine.
type Decoder struct {
	header session.Header
	next   int64
	st     state
	rooted bool         // st.Root is complete
	x      *jsonl.Index // of the line at hand
}

// NewDecoder returns a decoder for the log with this header, before its first event.
func NewDecoder(h session.Header) *Decoder {
	return &Decoder{header: h, rooted: true, st: state{Line: 1}, x: new(jsonl.Index)}
}

// Event decodes the next line, without its newline: one event, or the members
// of a packed row. Native is the line's own bytes, copied, or made JSON where
// the event is reconstructed. A line that is no next event of this log fails
// with fault.Persistence, one that breaks the format's rules with
// fault.CorruptSession; both are *reader.Problem, and the decoder is then where
// it was before.
func (d *Decoder) Event(line []byte) ([]session.Raw, error) {
	if err := readable(d.header, ""); err != nil {
		return nil, err
	}
	got, bad := d.decode(line, false, session.Place{})
	if bad != nil {
		return nil, &reader.Problem{Code: bad.code, Line: d.st.Line + 1, Reason: bad.reason}
	}
	d.st.Line++
	var out []session.Raw
	whole := func() ([]byte, error) { return bytes.Clone(line), nil }
	err := got.each(got.event.Seq, jsonl.MaxSafe, session.Every(), whole, func(raw session.Raw) error {
		out = append(out, raw)
		return nil
	})
	return out, err
}

// decoded is what one line gives.
type decoded struct {
	text    []byte // the line, maybe clipped
	clipped bool
	event   session.Event // a packed row as one value
	row     *row
	data    []byte // in today's shape
	older   before
}

// before is what the made JSON of a clipped line depends on beside the line.
type before struct {
	d   Decoder
	typ string // as stored
}

// each yields the events of a line with from ≤ seq ≤ to. whole returns all of
// the line's bytes, for the taking; it is asked only where they are needed.
func (g *decoded) each(from, to int64, natives session.Range, whole func() ([]byte, error), yield func(session.Raw) error) error {
	if g.row != nil {
		return g.members(from, to, natives, whole, yield)
	}
	raw := session.Raw{Event: g.event}
	if raw.Event.Seq < from || raw.Event.Seq > to {
		return nil
	}
	if natives.Has(raw.Event.Seq) {
		var err error
		if raw.Native, err = g.native(whole); err != nil {
			return err
		}
	}
	return yield(raw)
}

// native returns an event's own bytes, or the JSON made of them in today's shape.
func (g *decoded) native(whole func() ([]byte, error)) ([]byte, error) {
	switch {
	case !g.event.Reconstructed:
		return whole()
	case !g.clipped:
		return rewritten(g.text, g.event.Type, pieces{g.data}), nil
	}
	text, err := whole()
	if err != nil {
		return nil, err
	}
	x := new(jsonl.Index)
	e, bad := parseEnvelope(x, text)
	if bad != nil {
		return nil, bad
	}
	ev := g.event
	ev.Type = g.older.typ
	in := parseData(x, ev.Type, e.data)
	_, now := g.older.d.upgraded(&ev, &in)
	return rewritten(text, g.event.Type, now), nil
}

// members yields members of a packed row.
func (g *decoded) members(from, to int64, natives session.Range, whole func() ([]byte, error), yield func(session.Raw) error) error {
	r := g.row
	if g.clipped && natives.Meets(session.Range{First: max(from, r.seq), End: min(to+1, r.seq+r.count)}) {
		text, err := whole()
		if err != nil {
			return err
		}
		d := g.older.d
		_, again, bad := d.open(text)
		switch {
		case bad != nil:
			return bad
		case again == nil || again.count != r.count:
			return torn("the line is not the one that was read before")
		}
		r = again
	}
	return r.expand(g.event.Place, from, to, natives, yield)
}

// decode takes a line apart and moves on behind it, unless it fails.
func (d *Decoder) decode(text []byte, clipped bool, place session.Place) (decoded, *failure) {
	e, r, bad := d.open(text)
	if bad != nil {
		return decoded{}, bad
	}
	got := decoded{text: text, clipped: clipped, row: r}
	if clipped {
		got.older.d = *d
	}
	if r != nil {
		got.event = r.event(place)
		d.next += r.count
		d.st.Time = r.last
		return got, nil
	}
	ev, bad := e.event(d.next)
	if bad != nil {
		return decoded{}, bad
	}
	ev.Place = place
	ev.Body.Clipped = clipped
	got.older.typ = ev.Type
	in := parseData(d.x, ev.Type, e.data)
	typ, changed := d.upgrade(&ev, &in)
	ev.Type, ev.Reconstructed = typ, changed
	if bad := d.fill(&ev, &in); bad != nil {
		return decoded{}, bad
	}
	got.event, got.data = ev, in.raw
	if changed && typ == session.ToolResult && ev.Op.Kind == session.OpReplace {
		d.setRoot(ev.Seq, d.rootOf(&ev))
	}
	d.st.Open.follow(&ev, &in)
	d.st.Time = ev.Time
	d.next++
	return got, nil
}

func (d *Decoder) setRoot(seq, root int64) {
	if d.st.Root == nil {
		d.st.Root = make(map[int64]int64)
	}
	d.st.Root[seq] = root
}

// open finds a line's members and checks that it is the next one.
func (d *Decoder) open(text []byte) (envelope, *row, *failure) {
	e, bad := parseEnvelope(d.x, text)
	if bad != nil {
		return e, nil, bad
	}
	seq, ok := int64(0), false
	if chunk, piece, list, packed := packedKind(e.typ); packed {
		r, bad := parseRow(d.x, &e, chunk, piece, list)
		if bad != nil {
			return e, nil, bad
		}
		if r.seq == d.next {
			return e, &r, nil
		}
	} else if seq, ok = jsonl.SafeInt(e.seq); ok && seq == d.next {
		return e, nil, nil
	}
	return e, nil, torn("the line's seq is not the next one")
}

// skim moves on behind a line without looking into it.
func (d *Decoder) skim(text []byte) (*row, *failure) {
	_, r, bad := d.open(text)
	switch {
	case bad != nil:
		return nil, bad
	case r != nil:
		d.next += r.count
	default:
		d.next++
	}
	return r, nil
}

// readable refuses logs of other versions, and workspaces that are no absolute
// path.
func readable(h session.Header, path string) error {
	switch {
	case h.Version != 0:
		return reader.Unreadable(path, 1, 0, "version %d of the format is not known", h.Version)
	case h.Cwd != "" && !absolute(h.Cwd):
		return reader.Corrupt(path, 1, 0, "the workspace is no absolute path")
	}
	return nil
}

// absolute takes the paths of every system: a log may come from another one.
func absolute(p string) bool {
	switch {
	case p[0] == '/' || p[0] == '\\':
		return true
	case len(p) < 3 || p[1] != ':' || p[2] != '/' && p[2] != '\\':
		return false
	}
	letter := p[0] | 0x20
	return letter >= 'a' && letter <= 'z'
}

// problem gives a failure its place.
func (f *failure) problem(path string, number, offset int64) *reader.Problem {
	return &reader.Problem{Code: f.code, Path: path, Line: number, Offset: offset, Reason: f.reason}
}

// Error implements error, for wrapping.
func (f *failure) Error() string { return fmt.Sprintf("%s: %s", f.code, f.reason) }

// tooFull is the failure of a line that no bounded memory can hold.
func tooFull() *failure {
	return &failure{fault.Persistence, false, "the line holds more than can be kept of it"}
}
