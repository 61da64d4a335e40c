package postgres

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/yorehq/yore/fault"
	"github.com/yorehq/yore/internal/ingest"
	"github.com/yorehq/yore/session"
)

// Writer changes a workspace within one transaction that holds its write lock.
type Writer struct {
	tx     pgx.Tx
	ctx    context.Context // of the transaction
	key    int64
	person string

	generation, next  int64
	documents, tokens int64 // to be added to the counters
	changed, purge    bool

	fold []byte // room for the fold of texts
}

// maxBatchID is the longest id of a batch, in bytes.
const maxBatchID = 256

// Write runs work in one transaction under the workspace's write lock.
func (t *Tenant) Write(ctx context.Context, workspace string, work func(ingest.Writer) error) error {
	_, err := t.write(ctx, workspace, func(w *Writer) error { return work(w) })
	return err
}

// Apply runs work as Write does, once for each id of a batch: one that was applied
// before is answered with its generation, and work does not run. What work did,
// the id and the generation are there together or not at all, once Apply has
// returned. Two calls with one id at a time are one after the other.
func (t *Tenant) Apply(ctx context.Context, workspace, batch string, work func(*Writer) error) (generation uint64, again bool, err error) {
	if batch == "" || len(batch) > maxBatchID {
		return 0, false, fault.New(fault.InvalidArgs, "a batch's id has 1 to %d bytes", maxBatchID)
	}
	generation, err = t.write(ctx, workspace, func(w *Writer) error {
		var before int64
		err := w.tx.QueryRow(ctx, `SELECT generation FROM yore.applied WHERE ws_key = $1 AND batch = $2`, w.key, []byte(batch)).Scan(&before)
		if err == nil {
			w.generation, again = before, true
			return nil
		}
		if !errors.Is(err, pgx.ErrNoRows) {
			return err
		}
		if err := work(w); err != nil {
			return err
		}
		w.changed = true // the batch itself is news, whatever it brought
		return w.exec(ctx, `INSERT INTO yore.applied (ws_key, batch, generation, at) VALUES ($1, $2, $3, $4)`, w.key, []byte(batch), w.generation+1, time.Now())
	})
	return generation, again, err
}

// write is one transaction under the lock; it returns the generation behind it.
func (t *Tenant) write(ctx context.Context, workspace string, work func(*Writer) error) (uint64, error) {
	for round := 0; ; round++ {
		key, err := t.makeKey(ctx, workspace)
		if err != nil {
			return 0, err
		}
		w := &Writer{ctx: ctx, key: key, person: t.person}
		found := false
		err = t.db.within(ctx, writing, reach{t.name, []int64{key}}, func(tx pgx.Tx) error {
			w.tx = tx
			defer func() { w.tx = nil }()
			if found, err = w.lock(ctx); err != nil || !found {
				return err
			}
			if err := work(w); err != nil || !w.changed {
				return err
			}
			return w.settle(ctx)
		})
		if err == nil && !found && round == 0 {
			// The workspace was erased, and its key is remembered no more.
			t.db.forget(scopeName{t.name, workspace}, key)
			continue
		}
		if hasCode(err, "55P03") {
			return 0, fmt.Errorf("%w: %w", ingest.ErrBusy, err)
		}
		if err == nil && !found {
			err = fmt.Errorf("%w: the workspace is being erased", fault.IndexFailed)
		}
		return uint64(w.generation), err
	}
}

// lock takes the workspace's write lock; found is false if the workspace is gone.
func (w *Writer) lock(ctx context.Context) (found bool, err error) {
	const take = `SELECT generation, next FROM yore.shard WHERE ws_key = $1 FOR UPDATE`
	err = w.tx.QueryRow(ctx, take, w.key).Scan(&w.generation, &w.next)
	if !errors.Is(err, pgx.ErrNoRows) {
		return err == nil, err
	}
	// The first writer makes the row, unless the scope has gone meanwhile. Its own
	// lock keeps an eraser away.
	var scope bool
	err = w.tx.QueryRow(ctx, `SELECT true FROM yore.scope WHERE ws_key = $1`, w.key).Scan(&scope)
	if err != nil {
		if errors.Is(err, pgx.ErrNoRows) {
			err = nil
		}
		return false, err
	}
	if _, err = w.tx.Exec(ctx, `INSERT INTO yore.shard (ws_key, generation) VALUES ($1, $2) ON CONFLICT DO NOTHING`, w.key, newGeneration()); err != nil {
		return false, err
	}
	err = w.tx.QueryRow(ctx, take, w.key).Scan(&w.generation, &w.next)
	return err == nil, err
}

// settle writes what the transaction came to.
func (w *Writer) settle(ctx context.Context) error {
	w.generation++
	_, err := w.tx.Exec(ctx, `UPDATE yore.shard SET generation = $2, next = $3, documents = documents + $4, tokens = tokens + $5, purge = purge OR $6 WHERE ws_key = $1`,
		w.key, w.generation, w.next, w.documents, w.tokens, w.purge)
	return err
}

// exec runs a statement that changes something.
func (w *Writer) exec(ctx context.Context, sql string, args ...any) error {
	if w.tx == nil {
		return fmt.Errorf("%w: the transaction is over", fault.IndexFailed)
	}
	tag, err := w.tx.Exec(ctx, sql, args...)
	if err == nil && tag.RowsAffected() > 0 {
		w.changed = true
	}
	return err
}

// Generation returns the workspace's generation before this transaction.
func (w *Writer) Generation() uint64 { return uint64(w.generation) }

// Stored returns sessions in ascending Num.
func (w *Writer) Stored(ctx context.Context, which ingest.StoredLookup) ([]ingest.Stored, error) {
	if w.tx == nil {
		return nil, fmt.Errorf("%w: the transaction is over", fault.IndexFailed)
	}
	return storedOf(ctx, w.tx, w.key, which)
}

// Put saves a session's state. A new one is the tenant's person's.
func (w *Writer) Put(ctx context.Context, s *ingest.Stored) error {
	rest, err := packRest(s)
	if err != nil {
		return err
	}
	shown := s.Fork.Apply(s.Header)
	num := s.Num
	args := []any{
		w.key, num, hashOf(string(shown.ID)), hashOf(string(shown.ParentSession)), hashOf(s.Source), hashOf(s.Root),
		s.Changed, len(s.Naming.Claims) > 0 || s.Naming.Name != nil, packRow(s), rest,
	}
	if num == 0 {
		num = w.next
		args[1] = num
		err := w.exec(ctx, `INSERT INTO yore.session (ws_key, num, id_hash, parent_hash, source_hash, root_hash, changed, naming, "row", rest, person)
			VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)`, append(args, w.person)...)
		if err == nil {
			s.Num = num
			w.next++
		}
		return err
	}
	tag, err := w.tx.Exec(ctx, `UPDATE yore.session SET id_hash = $3, parent_hash = $4, source_hash = $5, root_hash = $6, changed = $7, naming = $8, "row" = $9, rest = $10
		WHERE ws_key = $1 AND num = $2`, args...)
	if err == nil && tag.RowsAffected() == 0 {
		err = unknownSession(num)
	}
	w.changed = true
	return err
}

// entries returns how many documents a session has; it must be there.
func (w *Writer) entries(ctx context.Context, num int64) (n int32, err error) {
	if w.tx == nil {
		return 0, fmt.Errorf("%w: the transaction is over", fault.IndexFailed)
	}
	err = w.tx.QueryRow(ctx, `SELECT entries FROM yore.session WHERE ws_key = $1 AND num = $2`, w.key, num).Scan(&n)
	if errors.Is(err, pgx.ErrNoRows) {
		err = unknownSession(num)
	}
	return n, err
}

// perSession are the tables that hold what a session's events brought, beside
// documents.
var perSession = []string{"chunk", "position", "removed", "shadow", "citation", "checkpoint", "break"}

// Clear removes what a session's events brought.
func (w *Writer) Clear(ctx context.Context, num int64) error {
	if _, err := w.entries(ctx, num); err != nil {
		return err
	}
	if err := w.cut(ctx, num, 0); err != nil {
		return err
	}
	for _, table := range perSession {
		if err := w.exec(ctx, `DELETE FROM yore.`+table+` WHERE ws_key = $1 AND num = $2`, w.key, num); err != nil {
			return err
		}
	}
	w.purge = true
	return nil
}

// Delete removes a session. Purge takes what is left of it off the disk.
func (w *Writer) Delete(ctx context.Context, num int64) error {
	if err := w.Clear(ctx, num); err != nil {
		return err
	}
	return w.exec(ctx, `DELETE FROM yore.session WHERE ws_key = $1 AND num = $2`, w.key, num)
}

// cut removes the documents with a number of at least n.
func (w *Writer) cut(ctx context.Context, num int64, n int32) error {
	var documents, tokens int64
	err := w.tx.QueryRow(ctx, `WITH gone AS (DELETE FROM yore.document WHERE ws_key = $1 AND num = $2 AND n >= $3 RETURNING tokens)
		SELECT count(*) FILTER (WHERE tokens > 0), coalesce(sum(tokens), 0)::bigint FROM gone`, w.key, num, n).Scan(&documents, &tokens)
	if err != nil {
		return err
	}
	w.documents -= documents
	w.tokens -= tokens
	w.changed = true
	return errors.Join(
		w.exec(ctx, `DELETE FROM yore.position WHERE ws_key = $1 AND num = $2 AND n >= $3`, w.key, num, n),
		w.exec(ctx, `UPDATE yore.session SET entries = $3 WHERE ws_key = $1 AND num = $2`, w.key, num, n),
	)
}

// Withdraw takes back the provisional entries at the end of a session, what they
// did to the surface, and their bytes.
func (w *Writer) Withdraw(ctx context.Context, num int64) error {
	entries, err := w.entries(ctx, num)
	if err != nil {
		return err
	}
	// Those behind the last one that is not provisional.
	var from int32
	err = w.tx.QueryRow(ctx, `SELECT coalesce((SELECT n FROM yore.document WHERE ws_key = $1 AND num = $2 AND flags & $3 = 0 ORDER BY n DESC LIMIT 1), -1) + 1`,
		w.key, num, int16(flagProvisional)).Scan(&from)
	if err != nil {
		return err
	}
	if err := w.exec(ctx, `DELETE FROM yore.chunk WHERE ws_key = $1 AND num = $2 AND provisional`, w.key, num); err != nil || from == entries {
		return err
	}
	var first int64
	if err := w.tx.QueryRow(ctx, `SELECT seq FROM yore.document WHERE ws_key = $1 AND num = $2 AND n = $3`, w.key, num, from).Scan(&first); err != nil {
		return err
	}
	if err := w.restoreBehind(ctx, num, first); err != nil {
		return err
	}
	w.purge = true
	return w.cut(ctx, num, from)
}

// Holders returns which sessions have entries with one of the given hashes.
func (w *Writer) Holders(ctx context.Context, natives []uint64) (found []ingest.Holder, err error) {
	if w.tx == nil {
		return nil, fmt.Errorf("%w: the transaction is over", fault.IndexFailed)
	}
	wanted := make([]int64, 0, len(natives))
	for _, n := range natives {
		if n != 0 {
			wanted = append(wanted, int64(n))
		}
	}
	slices.Sort(wanted)
	if wanted = slices.Compact(wanted); len(wanted) == 0 {
		return nil, nil
	}
	rows, err := w.tx.Query(ctx, `SELECT num, own FROM yore.document WHERE ws_key = $1 AND own = ANY ($2) AND flags & 8 <> 0 ORDER BY num, seq`, w.key, wanted)
	if err != nil {
		return nil, err
	}
	var num, own int64
	_, err = pgx.ForEachRow(rows, []any{&num, &own}, func() error {
		found = append(found, ingest.Holder{Num: num, Native: uint64(own)})
		return nil
	})
	return found, err
}

// PersonOf returns who sent a session; "" if it is not there or nobody is named.
// Nobody else can begin or take it over before the transaction ends.
func (w *Writer) PersonOf(ctx context.Context, key session.Key) (person string, err error) {
	if w.tx == nil {
		return "", fmt.Errorf("%w: the transaction is over", fault.IndexFailed)
	}
	rows, err := w.tx.Query(ctx, `SELECT num, entries, "row", person FROM yore.session WHERE ws_key = $1 AND id_hash = $2`, w.key, hashOf(string(key.ID)))
	if err != nil {
		return "", err
	}
	var num int64
	var entries int32
	var data pgtype.DriverBytes
	var who string
	_, err = pgx.ForEachRow(rows, []any{&num, &entries, &data, &who}, func() error {
		f, err := unpackRow(num, entries, data)
		if err == nil && f.row.Header.Key() == key {
			person = who
		}
		return err
	})
	return person, err
}
