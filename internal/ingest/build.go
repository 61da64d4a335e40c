package ingest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/yorehq/yore/fault"
	"github.com/yorehq/yore/internal/document"
	"github.com/yorehq/yore/reader"
	"github.com/yorehq/yore/session"
)

// flushBytes is how much text one batch gathers before it goes to the store.
const flushBytes = 8 << 20

// Mapping names everything that shapes what a shard holds of a session: a
// change of any makes it again.
func Mapping(r reader.Reader) string {
	return fmt.Sprintf("%s/%d %s", r.Agent(), r.Version(), textVersions())
}

// builder turns a run of a session's events into batches for its shard: it
// folds, extracts text and keeps the session's summary.
type builder struct {
	ctx context.Context
	w   Writer
	s   *Stored
	*surface
	batch  Batch
	bytes  int   // text in batch
	copied int64 // text handed to the store so far

	turned bool // the event before turned the surface over

	names          *names // titles that sessions of the shard have for others
	keepFootprints bool   // give the product's own calls documents too
}

// newBuilder goes on where s stands. s must have a number.
func newBuilder(ctx context.Context, w Writer, s *Stored) *builder {
	b := &builder{ctx: ctx, w: w, s: s, surface: newSurface(s.Position.Next)}
	return b
}

// add folds one event in. A rule that the event breaks is fault.CorruptSession.
func (b *builder) add(e session.Event) error {
	if err := b.supply(b.ctx, b.w, b.s.Num, &e); err != nil {
		return err
	}
	change, err := b.fold.Apply(&e)
	if err != nil {
		return err
	}
	b.record(&e, change)
	if len(b.batch.Entries) > 0 && b.bytes >= flushBytes {
		return b.flush()
	}
	return nil
}

// turns reports whether an event turns the surface over, as a compaction or a
// rewind does: what becomes of it may depend on all that came before.
func turns(e *session.Event) bool {
	return e.Op.Kind == session.OpSelect || e.Op.Kind == session.OpReplace && e.Type == session.UserMessage
}

// record notes what an event brought.
func (b *builder) record(e *session.Event, change session.Change) {
	body := e.Body
	if !b.keepFootprints {
		body = b.withoutFootprints(e)
	}
	text, clipped := document.Extract(body)
	first := e.Body.Speaker == session.Human && text != "" && !b.s.Prompted
	tool := b.s.toolOf(e)
	if text != "" || change.Joined {
		b.batch.Entries = append(b.batch.Entries, Entry{
			Seq: e.Seq, Time: e.Time, Type: e.Type, Tool: tool, Speaker: e.Body.Speaker, First: first, Text: text,
			Surface: change.Joined, Order: change.Order, Sameness: e.Sameness, Native: nativeOf(e), Provisional: e.Provisional, Clipped: clipped,
		})
		b.bytes += len(text) + 64
		if clipped {
			b.s.Clipped++
		}
	}
	if len(change.Removed) > 0 {
		b.batch.Removals = append(b.batch.Removals, Removal{e.Seq, change.Removed})
	}
	b.batch.Restored = append(b.batch.Restored, change.Restored...)
	if len(e.Sources) > 0 {
		b.batch.Citations = append(b.batch.Citations, Citation{e.Seq, e.Sources})
	}
	if e.Provisional {
		return
	}
	b.batch.Checkpoints = append(b.batch.Checkpoints, session.Checkpoint{Seq: e.Seq, Place: e.Place, Dear: b.turned, State: e.Resume})
	b.turned = turns(e)
	if e.Breaks {
		b.batch.Breaks = append(b.batch.Breaks, e.Seq)
	}
	s := b.s
	if s.Root == "" {
		s.Root = e.NativeID
	}
	s.Prompted = s.Prompted || first
	s.Changed = max(s.Changed, e.Time)
	if e.Step {
		s.LastStep = e.Seq
	}
	switch {
	case e.Body.Title != nil && e.Body.TitleOf != "":
		b.names.claim(s, e.Body.TitleOf, *e.Body.Title)
	case e.Body.Title != nil || e.Body.TitleFault != "":
		s.Title, s.TitleFail, s.Naming.Makeshift = e.Body.Title, e.Body.TitleFault, e.Body.Makeshift
	}
	if change.Joined && e.NativeID != "" {
		b.names.meet(s, e)
	}
}

// nativeOf hashes a record's own id, with the type because one record may give
// several events.
func nativeOf(e *session.Event) uint64 {
	if e.NativeID == "" {
		return 0
	}
	// FNV-1a.
	const offset, prime = 0xcbf29ce484222325, 0x100000001b3
	h := uint64(offset)
	for i := range len(e.Type) {
		h = (h ^ uint64(e.Type[i])) * prime
	}
	h *= prime // a NUL between them
	for i := range len(e.NativeID) {
		h = (h ^ uint64(e.NativeID[i])) * prime
	}
	return h
}

// maxFootprints is how many calls of the product's own tools a session
// remembers in order to know their results.
const maxFootprints = 64

// withoutFootprints returns what is searchable of an event: calls of the
// product's own tools and their results are not.
func (b *builder) withoutFootprints(e *session.Event) session.Body {
	body := e.Body
	if e.Type == session.ToolResult {
		if body.CallID != "" && slices.Contains(b.s.Footprints, body.CallID) {
			return session.Body{Speaker: body.Speaker}
		}
		return body
	}
	clean, calls := document.WithoutFootprints(body)
	if calls > 0 && body.CallID != "" && !strings.Contains(body.CallID, "\n") {
		ids := append(b.s.Footprints, body.CallID)
		b.s.Footprints = ids[max(0, len(ids)-maxFootprints):]
	}
	return clean
}

// close appends the closing records of an interrupted turn.
func (b *builder) close(closers []session.Event) error {
	for _, c := range closers {
		c.Provisional = true
		if err := b.supply(b.ctx, b.w, b.s.Num, &c); err != nil {
			return err
		}
		change, err := b.fold.Apply(&c)
		if err != nil {
			return err
		}
		b.record(&c, change)
	}
	return nil
}

// flush hands the batch to the store.
func (b *builder) flush() error {
	if len(b.batch.Entries)+len(b.batch.Checkpoints)+len(b.batch.Removals)+len(b.batch.Restored)+len(b.batch.Citations) == 0 {
		return nil
	}
	err := b.w.Append(b.ctx, b.s.Num, &b.batch)
	b.copied += int64(b.bytes)
	b.batch, b.bytes = Batch{}, 0
	return err
}

// unsound reports whether err says that the session itself is at fault, and how.
func unsound(err error, path string) (*reader.Problem, bool) {
	var p *reader.Problem
	if errors.As(err, &p) {
		return p, true
	}
	if errors.Is(err, fault.CorruptSession) {
		reason := strings.TrimPrefix(err.Error(), string(fault.CorruptSession)+": ")
		return reader.Corrupt(path, 0, 0, "%s", reason), true
	}
	return nil, false
}
