package cursor

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"

	"github.com/yorehq/yore/reader"
	"github.com/yorehq/yore/reader/jsonl"
	"github.com/yorehq/yore/reader/rows"
	"github.com/yorehq/yore/session"
)

// A composer is derived from its beginning every time, by one pass over its
// bubbles in the order that it states. What was emitted before is left out, and a
// digest over what the emitted bubbles say tells whether they still say it. The
// first bubble that is not finished ends the pass.

// What the parts of a place mean.
const (
	inComposer = 1 + iota
	inBubble   // Offset is the bubble's number in the order
)

const (
	chunkBubbles = 32 // between two looks at whether the database is still the same
	tries        = 5  // to begin a composer anew that was written over
)

// composer is what the value of a composer says of its bubbles.
type composer struct {
	order      []string        // ids; each once
	inline     [][]byte        // early versions: the bubbles themselves
	generating map[string]bool // ids of bubbles that are being written
	busy       bool            // the last bubble is
}

func composerOf(data []byte) composer {
	c := composer{generating: map[string]bool{}, inline: inlineOf(data), busy: jsonl.Is(jsonl.Field(data, "status"), "generating")}
	elements(jsonl.Field(data, "generatingBubbleIds"), func(v []byte) { c.generating[jsonl.Text(v)] = true })
	seen := map[string]bool{}
	elements(jsonl.Field(data, "fullConversationHeadersOnly"), func(v []byte) {
		if id := jsonl.Text(jsonl.Field(v, "bubbleId")); id != "" && !seen[id] {
			seen[id] = true
			c.order = append(c.order, id)
		}
	})
	if len(c.order) > 0 {
		c.inline = nil
	}
	return c
}

// inlineOf returns the bubbles that stand in a composer's own value.
func inlineOf(data []byte) (all [][]byte) {
	elements(jsonl.Field(data, "conversation"), func(v []byte) {
		if jsonl.IsObject(v) {
			all = append(all, v)
		}
	})
	return all
}

func elements(list []byte, visit func([]byte)) {
	if !jsonl.IsArray(list) {
		return
	}
	c := jsonl.Enter(list)
	for v, ok := c.Element(); ok; v, ok = c.Element() {
		visit(v)
	}
}

// walk is one pass over a composer.
type walk struct {
	db   *rows.DB
	e    entry
	c    composer
	emit func(*made) error

	next  int64 // seq of the next event
	done  int   // bubbles that have been passed over
	sum   uint64
	time  int64 // of the latest bubble
	asked bool  // the latest message is of the user
	named bool  // there is a title
	bytes int64
}

// made is an event with where its bytes come from.
type made struct {
	event  session.Event
	key    string // "": native
	native []byte
}

// run passes over the composer. check is called behind each bubble.
func (w *walk) run(ctx context.Context, check func() error) error {
	id := string(w.e.Header.ID)
	v, err := fetch(ctx, w.db, table, composerKey+id, mostComposer)
	if err != nil {
		return err
	}
	w.c = composerOf(v.data)
	if w.e.head.name == "" {
		w.e.head.name = jsonl.Text(jsonl.Field(v.data, "name"))
	}
	if err := w.begin(); err != nil {
		return err
	}
	count := max(len(w.c.order), len(w.c.inline))
	last := count - 1 // what comes before a prompt is over, however it ended
	var ahead []bubble
	for from := 0; from < count; from += len(ahead) {
		ahead = ahead[:0]
		for i := from; i < count && len(ahead) < chunkBubbles; i++ {
			b, err := w.bubble(ctx, i)
			if err != nil {
				return err
			}
			ahead = append(ahead, b)
		}
		if !w.db.Steady() {
			return rows.ErrChanging
		}
		for i := range ahead {
			b := &ahead[i]
			open := !b.finished() || w.c.generating[b.id] || w.c.busy && b.index == last && b.kind != user
			if open && !w.e.idle {
				over, err := w.over(ctx, ahead[i+1:], from+len(ahead), count)
				if err != nil || !over {
					return err
				}
			}
			if err := w.take(b); err != nil {
				return err
			}
			w.done++
			w.sum = b.digest(w.sum)
			w.bytes += b.size
			if err := check(); err != nil {
				return err
			}
		}
	}
	return nil
}

// over reports whether a prompt follows: in what was fetched, or further on.
func (w *walk) over(ctx context.Context, fetched []bubble, from, count int) (bool, error) {
	for i := range fetched {
		if fetched[i].kind == user {
			return true, nil
		}
	}
	for i := from; i < count; i++ {
		b, err := w.bubble(ctx, i)
		if err != nil || b.kind == user {
			return err == nil, err
		}
	}
	return false, nil
}

// bubble fetches one bubble.
func (w *walk) bubble(ctx context.Context, i int) (bubble, error) {
	if i < len(w.c.inline) {
		b := parseBubble(w.c.inline[i])
		b.index, b.native, b.there = i, w.c.inline[i], true
		b.id = jsonl.Text(jsonl.Field(b.native, "bubbleId"))
		return b, nil
	}
	key := bubbleKey + string(w.e.Header.ID) + ":" + w.c.order[i]
	v, err := fetch(ctx, w.db, table, key, inline)
	if err != nil {
		return bubble{}, err
	}
	b := parseBubble(v.data)
	b.index, b.id, b.key, b.there, b.clipped = i, w.c.order[i], key, v.there, v.clipped
	return b, ctx.Err()
}

// begin gives the first event, which stands for the composer as a whole.
func (w *walk) begin() error {
	h := &w.e.Header
	row := map[string]any{"type": "composer", "composerId": h.ID, "name": w.e.head.name, "createdAt": h.CreatedAt}
	if h.ParentSession != "" {
		row["parentComposerId"] = h.ParentSession
	}
	native, err := json.Marshal(row)
	if err != nil {
		return fmt.Errorf("the head of a session: %w", err)
	}
	w.time = h.CreatedAt
	ev := session.Event{Type: "cursor/composer", Time: h.CreatedAt, Reconstructed: true, Place: session.Place{Part: inComposer}}
	if line := titleOf(w.e.head.name); line != "" {
		ev.Type, ev.Body.Title, w.named = session.TitleEvent, &line, true
	}
	return w.give(&made{event: ev, native: native})
}

func (w *walk) give(x *made) error {
	x.event.Seq = w.next
	w.next++
	return w.emit(x)
}

// state is what a position keeps beside the digest.
type state struct {
	Title string `json:"title"` // a hash
}

func (w *walk) state() state {
	return state{fmt.Sprintf("%x", jsonl.Hash(0, []byte(w.e.head.name)))}
}

// reviseComposer is Revise for a composer: it is replaced when its name, or what
// one of the emitted bubbles says, is another one than before.
func (r *Reader) reviseComposer(ctx context.Context, src reader.Source, at reader.Position) (reader.Revision, reader.Stamp, error) {
	db, err := openStore(ctx, reader.FileOf(src.Path))
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, reader.ErrNoShelf) {
		return reader.Gone, reader.Stamp{}, nil
	}
	if err != nil {
		return reader.Replaced, reader.Stamp{}, err
	}
	defer db.Close()
	e, err := r.find(ctx, db, src)
	var st state
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return reader.Gone, reader.Stamp{}, nil
	case err != nil:
		return reader.Replaced, reader.Stamp{}, err
	case e.Stamp == at.Stamp:
		return reader.Unchanged, e.Stamp, nil
	case json.Unmarshal(at.State, &st) != nil || e.Header != src.Header:
		return reader.Replaced, e.Stamp, nil
	}
	w := &walk{db: db, e: e, emit: func(*made) error { return nil }}
	reached := errors.New("as far as was read")
	if at.Offset == 0 {
		return reader.Replaced, e.Stamp, nil
	}
	err = w.run(ctx, func() error {
		if int64(w.done) == at.Offset {
			return reached
		}
		return ctx.Err()
	})
	switch {
	case err == nil || errors.Is(err, reached):
		if !db.Steady() {
			return reader.Replaced, e.Stamp, reader.ErrRetry
		}
		if int64(w.done) != at.Offset || w.sum != at.Check || w.state() != st {
			return reader.Replaced, e.Stamp, nil
		}
		return reader.Grown, e.Stamp, nil
	}
	return reader.Replaced, e.Stamp, shelfFault(src.Path, err)
}

// errOther says that what was read of a composer has become another one.
var errOther = errors.New("the session is being rewritten")

// pass runs over a composer, begun anew where it was written over, and hands on the
// events from a seq on, each once. It returns the last walk, and whether it came to
// its end.
func (r *Reader) pass(ctx context.Context, src reader.Source, from int64, emit func(*walk, *made) error) (w *walk, whole bool, err error) {
	passed, sum := 0, uint64(0) // bubbles whose events were handed on
	for range tries {
		db, err := openStore(ctx, reader.FileOf(src.Path))
		if errors.Is(err, reader.ErrRetry) {
			continue
		}
		if err != nil {
			return w, false, err
		}
		e, err := r.find(ctx, db, src)
		if err != nil {
			if db.Close(); errors.Is(err, reader.ErrRetry) {
				continue
			}
			return w, false, err
		}
		next := &walk{db: db, e: e}
		next.emit = func(x *made) error {
			if w != nil && next.state() != w.state() {
				return errOther
			}
			if x.event.Seq < from {
				return nil
			}
			from = x.event.Seq + 1
			return emit(next, x)
		}
		err = next.run(ctx, func() error {
			if next.done == passed && next.sum != sum {
				return errOther
			}
			if next.done > passed {
				passed, sum = next.done, next.sum
			}
			return ctx.Err()
		})
		failure := shelfFault(src.Path, err)
		db.Close()
		switch {
		case errors.Is(err, errOther):
			return w, false, nil
		case errors.Is(failure, reader.ErrRetry):
			w = next
			continue
		}
		return next, err == nil, failure
	}
	return w, false, nil
}

// readComposer is Read for a composer.
func (r *Reader) readComposer(ctx context.Context, src reader.Source, from reader.Position, emit func(session.Event) error) (reader.Tail, error) {
	tail := reader.Tail{Position: from}
	w, whole, err := r.pass(ctx, src, from.Next, func(_ *walk, x *made) error {
		if err := ctx.Err(); err != nil {
			return err
		}
		err := emit(x.event)
		if x.event.Type == unparsed {
			tail.Skips = append(tail.Skips, reader.Skip{Place: x.event.Place, Reason: "a bubble is no JSON object"})
		}
		if err == nil || errors.Is(err, reader.ErrStop) {
			tail.Position.Next = x.event.Seq + 1
		}
		return err
	})
	if errors.Is(err, reader.ErrStop) {
		whole, err = false, nil
	}
	if err != nil {
		return reader.Tail{}, err
	}
	p := &tail.Position
	p.Stamp = reader.Stamp{}
	if w == nil {
		return tail, nil // nothing for now
	}
	if src.Header != (session.Header{}) && w.e.Header != src.Header {
		return reader.Tail{}, reader.Unreadable(src.Path, 0, 0, "the header is not the one that was identified")
	}
	p.Offset, p.Check, tail.Bytes = int64(w.done), w.sum, w.bytes
	if whole {
		p.Stamp = w.e.Stamp
	}
	if p.State, err = json.Marshal(w.state()); err != nil {
		return reader.Tail{}, fmt.Errorf("state of %s: %w", src.Path, err)
	}
	return tail, nil
}

// errPast ends a walk behind a window.
var errPast = errors.New("behind the window")

// windowComposer is Window for a composer.
func (r *Reader) windowComposer(ctx context.Context, src reader.Source, from, to int64, natives session.Range, emit func(session.Raw) error) (h session.Header, err error) {
	w, whole, err := r.pass(ctx, src, from, func(w *walk, x *made) error {
		h = w.e.Header
		if x.event.Seq > to {
			return errPast
		}
		raw := session.Raw{Event: x.event}
		if natives.Has(x.event.Seq) {
			raw.Native = bytes.Clone(x.native)
			if x.key != "" {
				var err error
				if raw.Native, err = stored(ctx, w.db, x.key); err != nil {
					return err
				}
			}
		}
		return emit(raw)
	})
	if w != nil {
		h = w.e.Header
	}
	switch {
	case errors.Is(err, errPast):
		err = nil
	case err == nil && !whole:
		err = reader.ErrRetry
	}
	return h, err
}
