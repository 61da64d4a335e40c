// Package linelog owns the way through a log in JSON lines that its agent only
// appends to, for readers whose events follow from the records in their order:
// reading from a position, windows, what an unfinished or broken line gives, and
// the bytes of an event.
//
// It knows no agent: a reader brings a Format, whose Decoder makes events of
// records. A decoder may depend on everything that came before; what it keeps of
// that in a position or a mark is bounded. For a record that needs more (Settled
// is false) the file is gone through again up to it, without making texts. Start
// at Format, then Format.Read.
package linelog

import (
	"context"
	"io"

	"github.com/yorehq/yore/reader"
	"github.com/yorehq/yore/reader/jsonl"
	"github.com/yorehq/yore/session"
)

// Unparsed is the type of an event that stands for bytes that are no record.
const Unparsed = "x/unparsed"

// Record is one JSON object of a log. It is valid until the next one.
type Record struct {
	Value   []byte
	X       *jsonl.Index  // of its line; nil: none
	Place   session.Place // of the record
	End     int64         // behind its line
	Line    int64         // 1 is the first line
	Clipped bool          // some of it is missing, for its line is very long
}

// Decoder makes events of the records of one log, in order. It is for one
// goroutine.
type Decoder interface {
	// Settled reports whether what the decoder knows is enough to take a record in.
	Settled(r *Record) bool
	// Take takes a record in and adds its events.
	Take(r *Record, out *Events)
	// Save returns what a position keeps, as JSON, bounded. Mark is Save for a
	// window: a few hundred bytes at most.
	Save() ([]byte, error)
	Mark() ([]byte, error)
	// Load is the opposite of both, on a fresh decoder.
	Load(state []byte) error
}

// Format is what a reader says of its logs. Identify and New are required.
type Format struct {
	// New returns a decoder for the beginning of a source.
	New func(src reader.Source) Decoder
	// Identify reads the header that an open file of a size states.
	Identify func(ctx context.Context, f io.ReaderAt, size int64, root, path string) (session.Header, error)
	// Start returns the offset of the first record that matters to a source; nil: 0.
	Start func(src reader.Source) int64
	// Block finds the bytes of one block in a whole record, by the number that
	// Events.Block was told, from 1; nil where there is none.
	Block func(record []byte, number int64) []byte
}

// Events are the events of the record at hand.
type Events struct {
	Time int64 // of the latest event, epoch milliseconds; decoders set it

	next    int64
	from    int64 // texts are made from here on
	place   session.Place
	clipped bool
	list    []session.Event
}

// NewEvents returns the events of a log whose next one has the number next. No
// text is made of those before from.
func NewEvents(next, from int64) *Events { return &Events{next: next, from: from} }

// Next returns the number of the next event.
func (o *Events) Next() int64 { return o.next }

// List returns the events since the latest Begin. It is valid until the next.
func (o *Events) List() []session.Event { return o.list }

// Begin begins the events of another record.
func (o *Events) Begin(place session.Place, clipped bool) {
	o.place, o.clipped, o.list = place, clipped, o.list[:0]
}

// Add adds an event and returns it, to be completed; it is valid until the next
// one. Seq, Time and Place are given here. body makes its text, if that is asked
// for; nil: it has none. What ev.Body says of a title is kept.
func (o *Events) Add(ev session.Event, body func() session.Body) *session.Event {
	ev.Seq, ev.Time = o.next, o.Time
	ev.Place = o.place
	ev.Place.Inner += int64(len(o.list))
	if body != nil && o.next >= o.from {
		title, makeshift := ev.Body.Title, ev.Body.Makeshift
		ev.Body = body()
		if title != nil {
			ev.Body.Title, ev.Body.Makeshift = title, makeshift
		}
		ev.Body.Clipped = ev.Body.Clipped || o.clipped
	}
	o.next++
	o.list = append(o.list, ev)
	return &o.list[len(o.list)-1]
}

// Block is Add for an event that is made of one block of the record, counted
// from 1 in the way that Format.Block understands.
func (o *Events) Block(number int64, ev session.Event, body func() session.Body) *session.Event {
	e := o.Add(ev, body)
	e.Place.Part = number
	return e
}

// Select adds an event without a record of its own that makes the surface
// another one.
func (o *Events) Select(typ string, op session.Op) {
	o.Add(session.Event{Type: typ, Op: op, Reconstructed: true}, nil)
}
