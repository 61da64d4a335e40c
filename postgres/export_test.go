package postgres

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync/atomic"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/yorehq/yore/internal/ingest"
	"github.com/yorehq/yore/session"
)

// Misaimed runs what the product asks of a workspace's tables, and what it changes
// in them, with one workspace's key, in transactions that may see another one: the
// conditions of the statements, the first wall, let everything through. It returns
// how many rows each look found, and 1 for each change that was made, or -1 where the database
// refused it. Nothing is kept.
func (d *Database) Misaimed(ctx context.Context, tenant string, allowed, key, num int64, word string) (map[string]int, error) {
	found := map[string]int{}
	may := reach{tenant, []int64{allowed}}
	onPurpose := errors.New("undone on purpose")
	// Each look has a transaction of its own: one that is refused ends it.
	in := func(name string, how pgx.TxOptions, look func(pgx.Tx) (int, error)) error {
		err := d.within(ctx, how, may, func(tx pgx.Tx) error {
			n, err := look(tx)
			if hasCode(err, "42501") { // insufficient privilege
				n, err = -1, nil
			}
			if errors.Is(err, errNothing) {
				n, err = 0, nil
			}
			if err == nil {
				found[name], err = n, onPurpose
			}
			return err
		})
		if errors.Is(err, onPurpose) {
			return nil
		}
		return fmt.Errorf("%s: %w", name, err)
	}
	what, _ := seek([]string{word})
	s := &snapshot{t: d.Tenant(tenant), key: key}
	looks := map[string]func(pgx.Tx) (int, error){
		"sessions": func(tx pgx.Tx) (int, error) {
			all, err := rowsOf(ctx, tx, ` WHERE ws_key = $1`, key)
			return len(all), err
		},
		"states": func(tx pgx.Tx) (int, error) {
			all, err := storedOf(ctx, tx, key, ingest.StoredLookup{})
			return len(all), err
		},
		"shard": func(tx pgx.Tx) (int, error) { ok, err := s.state(ctx, tx); return map[bool]int{true: 1}[ok], err },
		"documents": func(tx pgx.Tx) (int, error) {
			all, err := documentsOf(ctx, tx, ` WHERE ws_key = $1 AND num = $2`, key, num)
			return len(all), err
		},
		"candidates": func(tx pgx.Tx) (int, error) {
			var all []held
			_, err := s.collect(ctx, tx, what, &all, byIndex, key, what.norm, what.words, nil, nil, what.bordered)
			return len(all), err
		},
		"by keys": func(tx pgx.Tx) (int, error) {
			var all []held
			_, err := s.collect(ctx, tx, what, &all, byKeys, key, what.norm, []int64{num, num}, []int32{0, 1}, what.bordered)
			return len(all), err
		},
		"window": func(tx pgx.Tx) (int, error) {
			var all []held
			_, err := s.collect(ctx, tx, what, &all, inWindow, key, what.norm, 0, 100, what.bordered)
			return len(all), err
		},
		"surface": func(tx pgx.Tx) (int, error) {
			all, err := standing(ctx, tx, key, num, 0, math.MaxInt64)
			return len(all), err
		},
		"shadows": func(tx pgx.Tx) (int, error) { all, err := shadowsOf(ctx, tx, key, num); return len(all), err },
		"places": func(tx pgx.Tx) (int, error) {
			_, ok, err := checkpointOf(ctx, tx, key, num, session.MaxSafe)
			return map[bool]int{true: 1}[ok], err
		},
		"bytes": func(tx pgx.Tx) (n int, err error) {
			return n, unpack(ctx, tx, key, num, 0, session.MaxSafe, session.Every(), func(session.Raw) error { n++; return nil })
		},
		"source": func(tx pgx.Tx) (int, error) {
			_, n, _, err := holderOf(ctx, tx, []int64{key}, "/logs/s")
			if n == 0 {
				err = errNothing
			}
			return int(n), err
		},
	}
	for name, look := range looks {
		if err := in(name, reading, look); err != nil {
			return nil, err
		}
	}
	changes := map[string]func(*Writer) error{
		"put": func(w *Writer) error {
			return w.Put(ctx, &ingest.Stored{Num: num, Source: "/logs/other", LastStep: -1})
		},
		"put new": func(w *Writer) error { return w.Put(ctx, &ingest.Stored{Source: "/logs/new", LastStep: -1}) },
		"append": func(w *Writer) error {
			return w.Append(ctx, num, &ingest.Batch{Entries: []ingest.Entry{{Seq: 99, Text: "x"}}})
		},
		"clear":    func(w *Writer) error { return w.Clear(ctx, num) },
		"delete":   func(w *Writer) error { return w.Delete(ctx, num) },
		"withdraw": func(w *Writer) error { return w.Withdraw(ctx, num) },
		"settle":   func(w *Writer) error { return w.settle(ctx) },
		"keep": func(w *Writer) error {
			return w.Keep(ctx, num, []Event{{session.Raw{Event: session.Event{Seq: 2, Type: session.UserMessage}, Native: []byte("{}")}, 1}})
		},
		"applied": func(w *Writer) error {
			return w.exec(ctx, `INSERT INTO yore.applied (ws_key, batch, generation, at) VALUES ($1, 'x', 1, now())`, w.key)
		},
	}
	for name, change := range changes {
		err := in(name, writing, func(tx pgx.Tx) (int, error) {
			before, err := fingerprint(ctx, tx, key)
			if err != nil {
				return 0, err
			}
			w := &Writer{tx: tx, ctx: ctx, key: key, next: 50, generation: 7}
			err = change(w)
			if hasCode(err, "42501") {
				return 0, err
			}
			if err != nil {
				return 0, errors.Join(errNothing, err) // the session is not there for it
			}
			after, err := fingerprint(ctx, tx, key)
			return map[bool]int{true: 1}[after != before], err
		})
		if err != nil {
			return nil, err
		}
	}
	return found, nil
}

// errNothing says that what was looked for is not there.
var errNothing = errors.New("there is nothing")

// fingerprint tells two states of a workspace's rows apart. It looks over the wall,
// as the owner that logged in, and steps down again.
func fingerprint(ctx context.Context, tx pgx.Tx, key int64) (all string, err error) {
	if _, err := tx.Exec(ctx, `SELECT set_config('role', 'none', true)`); err != nil {
		return "", err
	}
	for _, table := range walled {
		var n, sum int64
		err := tx.QueryRow(ctx, `SELECT count(*), coalesce(sum(hashtext(t::text)::bigint), 0)::bigint FROM yore.`+table+` t WHERE ws_key = $1`, key).Scan(&n, &sum)
		if err != nil {
			return "", err
		}
		all += fmt.Sprint(table, n, sum, " ")
	}
	_, err = tx.Exec(ctx, `SELECT set_config('role', '`+servingRole+`', true)`)
	return all, err
}

// QuietIndexes keeps statistics of expressions off, as the migrations do.
const QuietIndexes = quietIndexes

// NamingWork reads the sessions that have titles for others, and returns how many
// there are and how many rows of sessions were looked at, by the server's counters.
func (t *Tenant) NamingWork(ctx context.Context, workspace string) (found int, rows int64, err error) {
	const counted = `SELECT coalesce(sum(seq_tup_read + idx_tup_fetch), 0)::bigint FROM pg_stat_xact_all_tables WHERE schemaname = 'yore' AND relname = 'session'`
	err = t.look(ctx, workspace, func(tx pgx.Tx, key int64) error {
		var before, after int64
		if err := tx.QueryRow(ctx, counted).Scan(&before); err != nil {
			return err
		}
		all, err := storedOf(ctx, tx, key, ingest.StoredLookup{Naming: true})
		if err != nil {
			return err
		}
		err = tx.QueryRow(ctx, counted).Scan(&after)
		found, rows = len(all), after-before
		return err
	})
	return found, rows, err
}

// Aim bends statements on their way to the database: a key of a workspace among
// their parameters becomes another one. What a transaction may see is no parameter
// of that kind, and stays.
type Aim struct {
	From, To int64
	Bent     atomic.Int64
}

// TraceQueryStart implements pgx.QueryTracer, which is handed the parameters themselves.
func (a *Aim) TraceQueryStart(ctx context.Context, _ *pgx.Conn, q pgx.TraceQueryStartData) context.Context {
	for i := range q.Args {
		switch v := q.Args[i].(type) {
		case int64:
			if v == a.From {
				q.Args[i] = a.To
				a.Bent.Add(1)
			}
		case []int64:
			for n := range v {
				if v[n] == a.From {
					bent := slices.Clone(v)
					bent[n] = a.To
					q.Args[i] = bent
					a.Bent.Add(1)
				}
			}
		}
	}
	return ctx
}

// TraceQueryEnd implements pgx.QueryTracer.
func (a *Aim) TraceQueryEnd(context.Context, *pgx.Conn, pgx.TraceQueryEndData) {}

// OpenBent is Open with statements bent.
func OpenBent(ctx context.Context, o Options, a *Aim) (*Database, error) {
	d, err := Open(ctx, o)
	if err != nil {
		return nil, err
	}
	config := d.pool.Config()
	config.ConnConfig.Tracer = a
	d.pool.Close()
	d.pool, err = pgxpool.NewWithConfig(ctx, config)
	return d, err
}
