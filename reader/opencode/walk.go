package opencode

import (
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"

	"github.com/yorehq/yore/reader/jsonl"
	"github.com/yorehq/yore/reader/rows"
	"github.com/yorehq/yore/session"
)

// What the parts of a place mean.
const (
	inSession = 1 + iota
	inMessage
	inPart
)

// walk is one pass over a session, from its beginning.
type walk struct {
	ctx  context.Context
	kept store
	e    entry
	all  []outline
	emit func(*made) error

	next   int64 // seq of the next event
	seen   surface
	tails  map[string]string // of messages that ask for a compaction: where the kept tail begins
	pruned []pruned          // not taken away yet
	within int               // events of the message at hand

	done  int    // messages that have been passed over
	sum   uint64 // over them
	bytes int64
}

// made is an event with where its bytes come from.
type made struct {
	event  session.Event
	from   *value // nil: native
	native []byte
}

func newWalk(ctx context.Context, kept store, e entry, emit func(*made) error) *walk {
	return &walk{ctx: ctx, kept: kept, e: e, emit: emit, tails: map[string]string{}}
}

// unnamed is a title that the agent gives before there is a better one.
var unnamed = regexp.MustCompile(`^(?i:New|Child) (?i:session) - \d{4}-\d\d-\d\dT`)

// run passes over the session. check is called before each message, with how
// many were passed over.
func (w *walk) run(check func() error) error {
	if err := w.begin(); err != nil {
		return err
	}
	var err error
	if w.all, err = w.kept.outlines(w.ctx); err != nil {
		return err
	}
	last, err := lastAnswer(w.ctx, w.kept, w.all)
	if err != nil {
		return err
	}
	if !w.kept.steady() {
		return rows.ErrChanging
	}
	for w.done < len(w.all) {
		chunk, err := fetch(w.ctx, w.kept, w.all, w.done)
		if err != nil {
			return err
		}
		for i := range chunk {
			m := &chunk[i]
			if err := check(); err != nil {
				return err
			}
			if !finished(m) && m.index >= last && !w.e.idle {
				return w.end(nil)
			}
			if err := w.message(m); err != nil {
				return err
			}
			w.done++
			w.sum = m.digest(w.sum)
			for _, v := range append(m.parts, m.value) {
				w.bytes += int64(len(v.data))
			}
		}
	}
	return w.end(check)
}

// begin gives the first event, which stands for the session's own row.
func (w *walk) begin() error {
	row := map[string]any{
		"type": "session", "id": w.e.Header.ID, "title": w.e.title, "directory": w.e.Header.Cwd, "version": w.e.app, "time_created": w.e.Header.CreatedAt,
	}
	if w.e.Header.ParentSession != "" {
		row["parent_id"] = w.e.Header.ParentSession
	}
	native, err := json.Marshal(row)
	if err != nil {
		return fmt.Errorf("the row of a session: %w", err)
	}
	ev := session.Event{Type: prefix + "session", Time: w.e.Header.CreatedAt, Reconstructed: true, Place: session.Place{Part: inSession, Offset: w.e.rowid}}
	if w.e.title != "" && !unnamed.MatchString(w.e.title) {
		title := w.e.title
		ev.Type, ev.Body.Title = session.TitleEvent, &title
	}
	return w.give(&made{event: ev, native: native})
}

// message gives what one message brings.
func (w *walk) message(m *message) error {
	w.within = 0
	if err := w.prune(m, m.created); err != nil {
		return err
	}
	switch m.role() {
	case "user":
		return w.userMessage(m)
	case "assistant":
		return w.answer(m)
	}
	ev := session.Event{Type: unparsed, Time: m.created}
	return w.put(m, &m.value, ev)
}

// end gives what stands behind all messages: results that were pruned since, and
// a revert, which the next prompt makes good by deleting what it hides.
func (w *walk) end(check func() error) error {
	if check != nil {
		if err := check(); err != nil {
			return err
		}
	}
	if err := w.prune(nil, session.MaxSafe); err != nil || w.e.revert == "" {
		return err
	}
	at := []byte(w.e.revert)
	if !jsonl.Valid(at) || !jsonl.IsObject(at) {
		return nil
	}
	message, part := jsonl.Text(jsonl.Field(at, "messageID")), jsonl.Text(jsonl.Field(at, "partID"))
	from := slices.IndexFunc(w.all, func(o outline) bool { return o.id == message })
	if from < 0 {
		return nil
	}
	op, ok := w.seen.become(w.seen.before(from, part))
	if !ok {
		return nil
	}
	ev := session.Event{Type: revertEvent, Time: w.e.updated, Op: op, Place: session.Place{Part: inSession, Offset: w.e.rowid, Inner: 1}}
	return w.give(&made{event: ev, native: at})
}

// indexOf returns the index of a message before another one; without one, that
// of the message itself.
func (w *walk) indexOf(id string, before int) int {
	for i := before - 1; i >= 0 && id != ""; i-- {
		if w.all[i].id == id {
			return i
		}
	}
	return before
}

// put gives the first event of a row.
func (w *walk) put(m *message, v *value, ev session.Event) error { return w.putAs(m, v, 0, ev) }

// putAs gives the k-th event of a row.
func (w *walk) putAs(m *message, v *value, k int64, ev session.Event) error {
	ev.Body.Clipped = ev.Body.Clipped || v.clipped
	ev.Place = session.Place{Part: inPart, Offset: v.rowid, Inner: k}
	if v.table == "message" {
		ev.Place.Part = inMessage
	}
	if m != nil && ev.Type != pruneEvent {
		// Copies of messages in a fork get other ids and keep role, time and parts.
		// A message's own row names others, by ids that a copy does not keep.
		first := v.data
		if v.table == "message" {
			first = nil
		}
		if len(m.parts) > 0 && v.table == "message" {
			first = m.parts[0].data
		}
		ev.NativeID = fmt.Sprintf("%s/%d/%d/%x", m.role(), m.created, w.within, jsonl.Hash(0, first))
		w.within++
	}
	return w.give(&made{event: ev, from: v})
}

func (w *walk) give(x *made) error {
	x.event.Seq = w.next
	w.next++
	return w.emit(x)
}

// state is what a position keeps beside the digest. What stands below Idle is of
// a tree alone.
type state struct {
	Title  string `json:"title"` // hashes
	Revert string `json:"revert"`
	Idle   bool   `json:"idle,omitempty"`

	Last   string `json:"last,omitempty"`   // the latest message
	Beside uint64 `json:"beside,omitempty"` // a hash over the stats of what stands beside the session's own file
	Quiet  bool   `json:"quiet,omitempty"`  // nobody has written for so long that what is unfinished has been given up
}

// row is what of a state belongs to the session's own row.
func (s state) row() state { return state{Title: s.Title, Revert: s.Revert, Idle: s.Idle} }

func (e *entry) state() state {
	st := e.tree
	st.Title, st.Revert, st.Idle = fmt.Sprintf("%x", jsonl.Hash(0, []byte(e.title))), fmt.Sprintf("%x", jsonl.Hash(0, []byte(e.revert))), e.idle
	return st
}
