package postgres

import (
	"cmp"
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/yorehq/yore/fault"
	"github.com/yorehq/yore/internal/document"
	"github.com/yorehq/yore/internal/ingest"
	"github.com/yorehq/yore/query"
	"github.com/yorehq/yore/session"
)

// The flags of a document.
const (
	flagSurface = 1 << iota
	flagProvisional
	flagClipped
	flagNative // own is the hash of the record's own id, else what makes results the same
)

// Append adds what a run of events brought.
func (w *Writer) Append(ctx context.Context, num int64, b *ingest.Batch) error {
	entries, err := w.entries(ctx, num)
	if err != nil {
		return err
	}
	if err := w.addEntries(ctx, num, entries, b.Entries); err != nil {
		return err
	}
	if err := w.changeSurface(ctx, num, b); err != nil {
		return err
	}
	if err := w.addCitations(ctx, num, b.Citations); err != nil {
		return err
	}
	for _, seq := range b.Breaks {
		if err := w.exec(ctx, `INSERT INTO yore.break (ws_key, num, seq) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING`, w.key, num, seq); err != nil {
			return err
		}
	}
	return w.addCheckpoints(ctx, num, b.Checkpoints)
}

// columns are rows of documents on their way into the table.
type columns struct {
	n, points, tokens []int32
	seq, at, own      []int64
	role, flags       []int16
	kind, tool, body  [][]byte
	norm              []string
	bytes             int
}

// One statement brings so much, in bytes and rows.
const (
	statementBytes = 4 << 20
	statementRows  = 2000
)

func (w *Writer) addEntries(ctx context.Context, num int64, n int32, entries []ingest.Entry) error {
	if len(entries) == 0 {
		return nil
	}
	if int64(n)+int64(len(entries)) > query.MaxDocs {
		return fmt.Errorf("%w: a session with more than %d documents", fault.IndexFailed, query.MaxDocs)
	}
	last := int64(-1)
	if n > 0 {
		if err := w.tx.QueryRow(ctx, `SELECT seq FROM yore.document WHERE ws_key = $1 AND num = $2 AND n = $3`, w.key, num, n-1).Scan(&last); err != nil {
			return err
		}
	}
	if w.fold == nil {
		w.fold = make([]byte, 0, document.FoldedRoom)
	}
	var c columns
	var orders pgx.Batch
	for i := range entries {
		e := &entries[i]
		if e.Seq <= last {
			return fmt.Errorf("%w: an entry with seq %d behind %d", fault.IndexFailed, e.Seq, last)
		}
		last = e.Seq
		norm, tokens := normOf(e.Text, w.fold)
		if tokens > 0 {
			w.documents++
			w.tokens += int64(tokens)
		}
		c.n, c.seq, c.at = append(c.n, n), append(c.seq, e.Seq), append(c.at, e.Time)
		c.own = append(c.own, int64(cmp.Or(e.Sameness, e.Native)))
		c.points, c.tokens = append(c.points, int32(document.Points(e.Text))), append(c.tokens, int32(tokens))
		c.role, c.flags = append(c.role, int16(query.RoleOf(e.Speaker, e.First))), append(c.flags, flagsOf(e))
		c.kind, c.tool, c.body = append(c.kind, []byte(e.Type)), append(c.tool, []byte(e.Tool)), append(c.body, []byte(e.Text))
		c.norm = append(c.norm, norm)
		if e.Surface && e.Order != defaultOrder(e.Seq) {
			orders.Queue(putPosition, w.key, num, n, e.Order)
		}
		n++
		if c.bytes += len(norm) + len(e.Text) + 64; c.bytes >= statementBytes || len(c.n) >= statementRows {
			if err := w.insert(ctx, num, &c); err != nil {
				return err
			}
			c = columns{}
		}
	}
	if err := w.insert(ctx, num, &c); err != nil {
		return err
	}
	if orders.Len() > 0 {
		if err := w.tx.SendBatch(ctx, &orders).Close(); err != nil {
			return err
		}
	}
	return w.exec(ctx, `UPDATE yore.session SET entries = $3 WHERE ws_key = $1 AND num = $2`, w.key, num, n)
}

// insert adds rows by one statement: COPY is refused where policies hold.
func (w *Writer) insert(ctx context.Context, num int64, c *columns) error {
	if len(c.n) == 0 {
		return nil
	}
	return w.exec(ctx, `INSERT INTO yore.document (ws_key, num, n, seq, at, own, points, tokens, role, flags, kind, tool, norm, body)
		SELECT $1, $2, * FROM unnest($3::int[], $4::bigint[], $5::bigint[], $6::bigint[], $7::int[], $8::int[], $9::smallint[], $10::smallint[],
			$11::bytea[], $12::bytea[], $13::text[], $14::bytea[])`,
		w.key, num, c.n, c.seq, c.at, c.own, c.points, c.tokens, c.role, c.flags, c.kind, c.tool, c.norm, c.body)
}

func flagsOf(e *ingest.Entry) (flags int16) {
	for _, f := range [...]struct {
		is   bool
		flag int16
	}{
		{e.Surface, flagSurface}, {e.Provisional, flagProvisional}, {e.Clipped, flagClipped}, {e.Sameness == 0 && e.Native != 0, flagNative},
	} {
		if f.is {
			flags |= f.flag
		}
	}
	return flags
}

const putPosition = `INSERT INTO yore.position (ws_key, num, n, key) VALUES ($1, $2, $3, $4) ON CONFLICT (ws_key, num, n) DO UPDATE SET key = excluded.key`

// Reading from a checkpoint is cheap within these bounds.
const (
	checkpointEvents = 64
	checkpointBytes  = 64 << 10
)

// addCheckpoints keeps a checkpoint only if it is dear, or far enough behind the
// last one kept; of a reader that gives states, those alone.
func (w *Writer) addCheckpoints(ctx context.Context, num int64, all []session.Checkpoint) error {
	if len(all) == 0 {
		return nil
	}
	last, any, err := checkpointOf(ctx, w.tx, w.key, num, session.MaxSafe)
	if err != nil {
		return err
	}
	var kept pgx.Batch
	for _, p := range all {
		if any && p.State == "" && (last.State != "" || !p.Dear && !farBehind(last, p)) {
			continue
		}
		kept.Queue(`INSERT INTO yore.checkpoint (ws_key, num, seq, part, place, inside, state) VALUES ($1, $2, $3, $4, $5, $6, $7) ON CONFLICT DO NOTHING`,
			w.key, num, p.Seq, p.Place.Part, p.Place.Offset, p.Place.Inner, []byte(p.State))
		last, any = p, true
	}
	if kept.Len() == 0 {
		return nil
	}
	w.changed = true
	return w.tx.SendBatch(ctx, &kept).Close()
}

// farBehind reports whether p is worth keeping after last.
func farBehind(last, p session.Checkpoint) bool {
	a, b := last.Place, p.Place
	return p.Seq-last.Seq >= checkpointEvents || a.Part != b.Part || b.Offset-a.Offset >= checkpointBytes ||
		a.Offset == b.Offset && b.Inner-a.Inner >= checkpointBytes
}

// checkpointOf returns the nearest checkpoint with a seq ≤ seq; ok is false if
// there is none.
func checkpointOf(ctx context.Context, tx pgx.Tx, key, num, seq int64) (p session.Checkpoint, ok bool, err error) {
	rows, err := tx.Query(ctx, `SELECT seq, part, place, inside, state FROM yore.checkpoint WHERE ws_key = $1 AND num = $2 AND seq <= $3 ORDER BY seq DESC LIMIT 1`, key, num, seq)
	if err != nil {
		return p, false, err
	}
	var state []byte
	_, err = pgx.ForEachRow(rows, []any{&p.Seq, &p.Place.Part, &p.Place.Offset, &p.Place.Inner, &state}, func() error {
		p.State, ok = string(state), true
		return nil
	})
	return p, ok, err
}
