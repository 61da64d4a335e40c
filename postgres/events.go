package postgres

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/yorehq/yore/fault"
	"github.com/yorehq/yore/reader/archive"
	"github.com/yorehq/yore/session"
)

// The exact bytes of events stand in chunks of consecutive events of one session,
// in the archive's encoding (reader/archive), packed: one event's bytes are found
// by unpacking a few hundred kilobytes of text at most, unless one is longer.

// chunkText is about how much text a chunk holds, in bytes.
const chunkText = 256 << 10

// Event is an event with its bytes, as it is sent and kept. Span is 1, or at the
// first member of a run the number of its events, whose members follow one by one
// with a span of 1.
type Event struct {
	session.Raw
	Span int64
}

// Keep adds the exact bytes of consecutive events to a session, behind those that
// are there. Provisional ones go when Withdraw is called.
func (w *Writer) Keep(ctx context.Context, num int64, events []Event) error {
	if len(events) == 0 {
		return nil
	}
	if _, err := w.entries(ctx, num); err != nil {
		return err
	}
	first := events[0].Raw.Event.Seq
	var last *int64
	err := w.tx.QueryRow(ctx, `SELECT (SELECT last FROM yore.chunk WHERE ws_key = $1 AND num = $2 ORDER BY first DESC LIMIT 1)`, w.key, num).Scan(&last)
	if err != nil {
		return err
	}
	if behind := last == nil && first != 0 || last != nil && first != *last+1; behind {
		return fmt.Errorf("%w: event %d does not follow the last one that is kept", fault.IndexFailed, first)
	}
	p, err := archive.NewPacker()
	if err != nil {
		return err
	}
	var b pgx.Batch
	for i := range events {
		e := &events[i]
		if want := events[0].Raw.Event.Seq + int64(i); e.Raw.Event.Seq != want {
			return fmt.Errorf("%w: event %d stands where %d should", fault.CorruptSession, e.Raw.Event.Seq, want)
		}
		if err := p.Add(e.Raw, max(1, e.Span)); err != nil {
			return err
		}
		end := i+1 == len(events)
		if !p.Whole() || !end && p.Size() < chunkText && events[i+1].Raw.Event.Provisional == e.Raw.Event.Provisional {
			continue
		}
		data, err := p.Pack()
		if err != nil {
			return err
		}
		b.Queue(`INSERT INTO yore.chunk (ws_key, num, first, last, provisional, data) VALUES ($1, $2, $3, $4, $5, $6)`,
			w.key, num, first, e.Raw.Event.Seq, e.Raw.Event.Provisional, data)
		first = e.Raw.Event.Seq + 1
	}
	if !p.Whole() {
		return fmt.Errorf("%w: a run ends before its last event", fault.CorruptSession)
	}
	return w.send(ctx, &b)
}

// Kept returns the exact bytes that are kept of some events of a session, in
// order: what Keep was given, for comparing it with what is sent again.
func (w *Writer) Kept(ctx context.Context, num, from, to int64, emit func(session.Raw) error) error {
	if w.tx == nil {
		return fmt.Errorf("%w: the transaction is over", fault.IndexFailed)
	}
	return unpack(ctx, w.tx, w.key, num, from, to, session.Every(), emit)
}

// Window emits the events of a source with from ≤ seq ≤ to, with the bytes of those
// in natives, and returns the header that the same state of the database states.
// The source is what was put as Stored.Source, which one session alone of a tenant's
// reach may have. The checkpoint is not needed: events are found by their numbers.
func (t *Tenant) Window(ctx context.Context, source string, _ session.Checkpoint, from, to int64, natives session.Range, emit func(session.Raw) error) (h session.Header, err error) {
	keys, err := t.keysOf(ctx, nil)
	if err != nil || len(keys) == 0 {
		return h, errors.Join(err, gone())
	}
	var all []session.Raw // emit may ask the database, on this connection's turn
	err = t.db.within(ctx, reading, reach{t.name, keys}, func(tx pgx.Tx) error {
		key, num, header, err := holderOf(ctx, tx, keys, source)
		if err != nil {
			return err
		}
		h = header
		return unpack(ctx, tx, key, num, from, to, natives, func(r session.Raw) error {
			all = append(all, r)
			return nil
		})
	})
	if err != nil {
		return h, err
	}
	for _, r := range all {
		if err := emit(r); err != nil {
			return h, err
		}
	}
	return h, nil
}

func gone() error { return fmt.Errorf("%w: the session is not kept any more", fault.Persistence) }

// holderOf finds the session of a source.
func holderOf(ctx context.Context, tx pgx.Tx, keys []int64, source string) (key, num int64, h session.Header, err error) {
	rows, err := tx.Query(ctx, `SELECT ws_key, num, entries, "row" FROM yore.session WHERE ws_key = ANY ($1) AND source_hash = $2`, keys, hashOf(source))
	if err != nil {
		return 0, 0, h, err
	}
	var k, n int64
	var entries int32
	var data pgtype.DriverBytes
	found := 0
	_, err = pgx.ForEachRow(rows, []any{&k, &n, &entries, &data}, func() error {
		f, err := unpackRow(n, entries, data)
		if err == nil && f.row.Source == source {
			key, num, h = k, n, f.row.Header
			found++
		}
		return err
	})
	switch {
	case err != nil:
		return 0, 0, h, err
	case found == 0:
		return 0, 0, h, gone()
	case found > 1:
		return 0, 0, h, fmt.Errorf("%w: %d sessions have one source", fault.ToolFailed, found)
	}
	return key, num, h, nil
}

// unpack emits kept events of a session. Chunks follow one another, so the first one
// is found by its key, however many there are.
func unpack(ctx context.Context, tx pgx.Tx, key, num, from, to int64, natives session.Range, emit func(session.Raw) error) error {
	rows, err := tx.Query(ctx, `SELECT first, provisional, data FROM yore.chunk
		WHERE ws_key = $1 AND num = $2 AND last >= $3 AND first <= $4 AND first >=
			coalesce((SELECT first FROM yore.chunk WHERE ws_key = $1 AND num = $2 AND first <= $3 ORDER BY first DESC LIMIT 1), 0)
		ORDER BY first`, key, num, from, to)
	if err != nil {
		return err
	}
	var first int64
	var provisional bool
	var data pgtype.DriverBytes
	_, err = pgx.ForEachRow(rows, []any{&first, &provisional, &data}, func() error {
		return archive.Unpack(ctx, data, first, from, to, natives, func(r session.Raw) error {
			r.Event.Provisional = provisional
			return emit(r)
		})
	})
	return err
}
