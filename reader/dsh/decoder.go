package dsh

import (
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
	rooted bool // st.Root is complete
}

// NewDecoder returns a decoder for the log with this header, before its first event.
func NewDecoder(h session.Header) *Decoder {
	return &Decoder{header: h, rooted: true, st: state{Line: 1}}
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
	err := got.each(line, got.event.Seq, jsonl.MaxSafe, func(raw session.Raw) error {
		out = append(out, raw)
		return nil
	})
	return out, err
}

// decoded is what one line gives.
type decoded struct {
	event session.Event // a packed row as one value
	row   *row
	made  []byte // JSON in today's shape, where the stored shape is older
}

// each yields the events of a line with from ≤ seq ≤ to.
func (g *decoded) each(line []byte, from, to int64, yield func(session.Raw) error) error {
	switch {
	case g.row != nil:
		return g.row.expand(g.event.Place, from, to, yield)
	case g.event.Seq < from || g.event.Seq > to:
		return nil
	case g.made != nil:
		return yield(session.Raw{Event: g.event, Native: g.made})
	}
	return yield(session.Raw{Event: g.event, Native: append([]byte(nil), line...)})
}

// decode takes a line apart and moves on behind it, unless it fails.
func (d *Decoder) decode(text []byte, clipped bool, place session.Place) (decoded, *failure) {
	e, r, bad := d.open(text)
	if bad != nil {
		return decoded{}, bad
	}
	if r != nil {
		d.next += r.count
		d.st.Time = r.last
		return decoded{event: r.event(place), row: r}, nil
	}
	ev, bad := e.event(d.next)
	if bad != nil {
		return decoded{}, bad
	}
	ev.Place = place
	ev.Body.Clipped = clipped
	typ, data, changed := d.upgrade(&ev, e.data)
	ev.Type, ev.Reconstructed = typ, changed
	if bad := d.fill(&ev, data); bad != nil {
		return decoded{}, bad
	}
	got := decoded{event: ev}
	if changed {
		got.made = rewritten(text, typ, data)
		if typ == session.ToolResult && ev.Op.Kind == session.OpReplace {
			d.setRoot(ev.Seq, d.rootOf(&ev))
		}
	}
	d.st.Open.follow(&ev, data)
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
	e, bad := parseEnvelope(text)
	if bad != nil {
		return e, nil, bad
	}
	seq, ok := int64(0), false
	if chunk, piece, list, packed := packedKind(e.typ); packed {
		r, bad := parseRow(&e, text, chunk, piece, list)
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
