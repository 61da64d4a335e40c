package codex

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"

	"github.com/yorehq/yore/fault"
	"github.com/yorehq/yore/reader"
	"github.com/yorehq/yore/reader/jsonl"
	"github.com/yorehq/yore/session"
)

// state is what a position keeps beside seq and offset.
type state struct {
	Part    int      `json:"part"`   // the file at hand
	Offset  int64    `json:"offset"` // of its text
	Line    int64    `json:"line"`
	Time    int64    `json:"time"` // of the latest event
	Flags   flags    `json:"flags"`
	Known   bool     `json:"known,omitempty"` // Surface is the whole surface
	Surface string   `json:"surface,omitempty"`
	Turns   turns    `json:"turns,omitzero"`
	Created int64    `json:"created"` // when the thread was made
	Release release  `json:"release,omitempty"`
	Parts   []part   `json:"parts"`
	Primary int      `json:"primary,omitempty"`
	Own     int      `json:"own,omitempty"`
	Missing []string `json:"missing,omitempty"`
}

func parseState(raw json.RawMessage) (state, error) {
	var st state
	if err := json.Unmarshal(raw, &st); err != nil {
		return st, err
	}
	if st.Part < 0 || st.Part >= len(st.Parts) || st.Primary < 0 || st.Primary >= len(st.Parts) || st.Offset < 0 {
		return st, fmt.Errorf("it names a file that it does not list")
	}
	return st, nil
}

// Read implements reader.Reader. It never refuses a log for what it says: what
// is no record becomes an event of the type x/unparsed.
func (*Reader) Read(ctx context.Context, src reader.Source, from reader.Position, emit func(session.Event) error) (reader.Tail, error) {
	if err := ctx.Err(); err != nil {
		return reader.Tail{}, err
	}
	t, d, at, err := resume(ctx, src, from)
	if err != nil {
		return reader.Tail{}, err
	}
	stopped := false
	var skips []reader.Skip
	at, err = t.run(ctx, d, at, mark{part: -1}, nil, func(_ int, v *value, made []made) error {
		for _, m := range made {
			if v.none {
				skips = append(skips, reader.Skip{Place: m.event.Place, Line: v.line, Length: v.end - v.start, Reason: v.whyNot()})
			}
			switch err := emit(m.event); {
			case err == reader.ErrStop:
				stopped = true
			case err != nil:
				return err
			}
		}
		if stopped {
			return reader.ErrStop
		}
		return nil
	})
	if err != nil {
		return reader.Tail{}, err
	}
	tail, err := d.tail(src, at)
	tail.Skips = append(tail.Skips, skips...)
	return tail, err
}

// resume returns the files of a thread, and a decoder at the mark where a
// position stands.
func resume(ctx context.Context, src reader.Source, from reader.Position) (*thread, *decoder, mark, error) {
	if len(from.State) == 0 {
		t, err := resolveRead(ctx, src)
		if err != nil {
			return nil, nil, mark{}, err
		}
		return t, newDecoder(t), mark{}, nil
	}
	st, err := parseState(from.State)
	if err != nil {
		return nil, nil, mark{}, fmt.Errorf("%w: the state of a position in %s: %w", fault.Persistence, src.Path, err)
	}
	t := &thread{Root: src.Root, Parts: st.Parts, Primary: st.Primary, own: st.Own, missing: st.Missing, id: src.Header.ID}
	t.first.meta = meta{id: src.Header.ID, created: st.Created, release: st.Release}
	now, err := reader.StatRegular(src.Path)
	switch {
	case err != nil:
		return nil, nil, mark{}, err
	case now.Size < from.Offset:
		return nil, nil, mark{}, reader.Unreadable(src.Path, 0, from.Offset, "the file is shorter than what was read of it")
	}
	d := newDecoder(t)
	d.next, d.flags, d.time, d.known = from.Next, st.Flags, st.Time, false
	nodes, ok := unpackSurface(st.Surface)
	alone, also := unpackSurface(st.Turns.Alone)
	if ok && also && st.Known {
		d.nodes, d.turns, d.known = nodes, st.Turns, true
		d.turns.Alone, d.turns.alone = "", alone
	}
	return t, d, mark{part: st.Part, offset: st.Offset, line: st.Line}, nil
}

// resolveRead finds the files of a session that was identified.
func resolveRead(ctx context.Context, src reader.Source) (*thread, error) {
	t, err := resolve(ctx, src.Root, src.Path)
	switch {
	case err != nil:
		return nil, err
	case src.Header.ID != "" && src.Header.ID != t.id:
		return nil, reader.Unreadable(src.Path, 1, 0, "the header is not the one that was identified")
	}
	return t, nil
}

// tail says where to go on.
func (d *decoder) tail(src reader.Source, at mark) (reader.Tail, error) {
	t := d.thread
	tail := reader.Tail{Bytes: d.bytes}
	for k := range t.Parts {
		p := &t.Parts[k]
		if _, read := d.seen[k]; read {
			p.Torn = d.torn[k]
		}
		if p.Torn != nil {
			tail.Skips = append(tail.Skips, *p.Torn)
		}
	}
	for _, seg := range t.missing {
		tail.Skips = append(tail.Skips, reader.Skip{Rest: -1, Reason: "the lines that it goes on from are in a file that is not there: " + word([]byte(`"`+seg+`"`))})
	}
	st := state{
		Part: at.part, Offset: at.offset, Line: at.line, Time: d.time, Flags: d.flags, Created: t.first.created, Release: t.first.release,
		Parts: t.Parts, Primary: t.Primary, Own: t.own, Missing: t.missing,
	}
	if d.known && at.part == len(t.Parts)-1 {
		st.Surface = packSurface(d.nodes)
		st.Known = st.Surface != "" || len(d.nodes) == 0
		st.Turns = d.turns
		st.Turns.Alone = packSurface(d.turns.alone)
		st.Known = st.Known && (st.Turns.Alone != "" || len(d.turns.alone) == 0)
	}
	if err := d.stamp(src, at, &tail.Position); err != nil {
		return reader.Tail{}, err
	}
	tail.Position.Next = d.next
	var err error
	if tail.Position.State, err = json.Marshal(&st); err != nil {
		return reader.Tail{}, fmt.Errorf("state of %s: %w", src.Path, err)
	}
	return tail, nil
}

// stamp notes what was read of each file, to notice changes.
func (d *decoder) stamp(src reader.Source, at mark, p *reader.Position) error {
	t := d.thread
	for k, e := range d.seen {
		if k == t.Primary {
			p.Stamp, p.Offset = e.stamp, e.extent
			continue
		}
		part := &t.Parts[k]
		part.Stamp, part.Extent, part.Open = e.stamp, e.extent, e.open
		check, err := checkOf(t.path(k), e.extent)
		if err != nil {
			return err
		}
		part.Check = check
	}
	if _, read := d.seen[t.Primary]; !read {
		// It was read before, or is not reached yet.
		now, err := reader.StatRegular(src.Path)
		if err != nil {
			return err
		}
		p.Stamp = now
		if at.part > t.Primary {
			p.Offset = now.Size
		}
	}
	check, err := checkOf(src.Path, p.Offset)
	p.Check = check
	return err
}

func checkOf(path string, offset int64) (uint64, error) {
	f, _, err := reader.OpenRegular(path)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	return reader.CheckBefore(f, offset)
}

// Window implements reader.Reader. What stands before the window is passed over
// as far as its checkpoint lies away.
func (*Reader) Window(ctx context.Context, src reader.Source, at session.Checkpoint, from, to int64, natives session.Range, emit func(session.Raw) error) (session.Header, error) {
	h, _, err := readWindow(ctx, src, at, from, to, natives, emit)
	return h, err
}

// readWindow is Window, and says how many bytes it parsed for it.
func readWindow(ctx context.Context, src reader.Source, at session.Checkpoint, from, to int64, natives session.Range, emit func(session.Raw) error) (session.Header, int64, error) {
	if err := ctx.Err(); err != nil {
		return session.Header{}, 0, err
	}
	t, err := resolveRead(ctx, src)
	if err != nil {
		return session.Header{}, 0, err
	}
	h := t.header()
	if h.ID == src.Header.ID && h.Cwd == src.Header.Cwd {
		h = src.Header // the rest follows from files that need not be counted again
	}
	d := newDecoder(t)
	where := mark{}
	if at.Place != (session.Place{}) && at.Place.Part < int64(len(t.Parts)) {
		where = mark{part: int(at.Place.Part), offset: at.Place.Offset}
		d.next, d.flags, d.known = at.Seq-at.Place.Inner>>flagBits, flagsOf(at.Place.Inner), false
	}
	_, err = t.run(ctx, d, where, mark{part: -1}, func(int, *value, *record) bool { return d.next <= to }, func(k int, v *value, made []made) error {
		n := nativesOf{path: t.path(k), value: v, single: len(made) == 1}
		for _, m := range made {
			if m.event.Seq < from || m.event.Seq > to {
				continue
			}
			out := session.Raw{Event: m.event}
			if natives.Has(m.event.Seq) {
				var err error
				if out.Native, err = n.of(&m); err != nil {
					return err
				}
			}
			if err := emit(out); err != nil {
				return err
			}
		}
		if d.next > to {
			return reader.ErrStop // the next line may be long
		}
		return nil
	})
	return h, d.bytes, err
}

// nativesOf gives the bytes of the events of one value.
type nativesOf struct {
	path   string
	value  *value
	single bool // it has one event only

	read  bool
	all   []byte   // of the value
	items [][]byte // of a compaction's list, in all
}

// of returns an event's own bytes, for the taking.
func (n *nativesOf) of(m *made) ([]byte, error) {
	if !n.read {
		var err error
		if n.all, err = raw(n.path, n.value); err != nil {
			return nil, err
		}
		n.read = true
		if (m.item != whole || !n.single) && jsonl.Valid(n.all) {
			n.items = elements(jsonl.Field(jsonl.Field(n.all, "payload"), "replacement_history"))
		}
	}
	switch {
	case m.item != whole && m.item < len(n.items):
		return bytes.Clone(n.items[m.item]), nil
	case n.single:
		return n.all, nil
	}
	return bytes.Clone(n.all), nil
}

func elements(list []byte) [][]byte {
	if !jsonl.IsArray(list) {
		return nil
	}
	var all [][]byte
	c := jsonl.Enter(list)
	for v, ok := c.Element(); ok; v, ok = c.Element() {
		all = append(all, v)
	}
	return all
}
