package postgres

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/yorehq/yore/fault"
	"github.com/yorehq/yore/session"
)

// Erasing has two steps. The rows go in one transaction a workspace: nobody finds
// them from then on. What they leave in the database's files (PostgreSQL marks rows
// as dead, and an index keeps words that no row has) goes with Purge, which writes
// the files anew. The log of changes (WAL) and backups have lives of their own:
// docs/team.md says what to do about them.

// Erased counts what was taken out.
type Erased struct {
	Workspaces, Sessions, Documents, Chunks int64
}

func (e *Erased) add(o Erased) {
	e.Workspaces += o.Workspaces
	e.Sessions += o.Sessions
	e.Documents += o.Documents
	e.Chunks += o.Chunks
}

// Erasure chooses sessions. Set fields are ANDed; at least one must be set.
type Erasure struct {
	Workspace *string       // those of this workspace
	Person    *string       // those that this person sent
	Before    time.Time     // those whose latest event is older
	Sessions  []session.Key // these
}

// Erase takes sessions out, workspace by workspace, each in a transaction of its
// own. An error says that some may be left; what was done before it is counted.
// A workspace that is chosen by nothing else is taken out whole, with its name.
func (t *Tenant) Erase(ctx context.Context, which Erasure) (done Erased, err error) {
	if which.Workspace == nil && which.Person == nil && which.Before.IsZero() && which.Sessions == nil {
		return done, fault.New(fault.InvalidArgs, "nothing says what is to be erased")
	}
	var some []string
	if which.Workspace != nil {
		some = []string{*which.Workspace}
	}
	names, _, err := t.scopes(ctx, some)
	if err != nil {
		return done, err
	}
	entire := which.Workspace != nil && which.Person == nil && which.Before.IsZero() && which.Sessions == nil
	for _, name := range names {
		one, err := t.eraseIn(ctx, name, which, entire)
		done.add(one)
		if err != nil {
			return done, err
		}
	}
	return done, nil
}

// eraseIn takes sessions of one workspace out.
func (t *Tenant) eraseIn(ctx context.Context, workspace string, which Erasure, entire bool) (done Erased, err error) {
	var key int64
	_, err = t.write(ctx, workspace, func(w *Writer) error {
		done, key = Erased{}, w.key
		nums, err := w.chosen(ctx, which)
		if err != nil {
			return err
		}
		for _, num := range nums {
			one, err := w.count(ctx, num)
			if err != nil {
				return err
			}
			if err := w.Delete(ctx, num); err != nil {
				return err
			}
			done.add(one)
		}
		if !entire {
			return nil
		}
		done.Workspaces = 1
		for _, table := range []string{"applied", "tombstone"} {
			if err := w.exec(ctx, `DELETE FROM yore.`+table+` WHERE ws_key = $1`, w.key); err != nil {
				return err
			}
		}
		return w.exec(ctx, `DELETE FROM yore.scope WHERE ws_key = $1`, w.key)
	})
	if err != nil || !entire {
		return done, err
	}
	// The row that says what is to be purged goes last: Purge of the whole database
	// does not need it.
	err = t.db.within(ctx, writing, reach{t.name, []int64{key}}, func(tx pgx.Tx) error {
		_, err := tx.Exec(ctx, `DELETE FROM yore.shard WHERE ws_key = $1`, key)
		return err
	})
	t.db.forget(scopeName{t.name, workspace}, key)
	return done, err
}

// chosen returns the numbers of sessions.
func (w *Writer) chosen(ctx context.Context, which Erasure) (nums []int64, err error) {
	where, args := ` WHERE ws_key = $1`, []any{w.key}
	add := func(condition string, arg any) {
		args = append(args, arg)
		where += ` AND ` + condition + strconv.Itoa(len(args))
	}
	if which.Person != nil {
		add(`person = $`, *which.Person)
	}
	if !which.Before.IsZero() {
		add(`changed < $`, which.Before.UnixMilli())
	}
	wanted := map[session.Key]bool{}
	for _, k := range which.Sessions {
		wanted[k] = true
	}
	facts, err := rowsOf(ctx, w.tx, where+` ORDER BY num`, args...)
	for _, f := range facts {
		if which.Sessions == nil || wanted[f.row.Header.Key()] {
			nums = append(nums, f.row.Num)
		}
	}
	return nums, err
}

func (w *Writer) count(ctx context.Context, num int64) (e Erased, err error) {
	err = w.tx.QueryRow(ctx, `SELECT 1, (SELECT count(*) FROM yore.document WHERE ws_key = $1 AND num = $2), (SELECT count(*) FROM yore.chunk WHERE ws_key = $1 AND num = $2)`,
		w.key, num).Scan(&e.Sessions, &e.Documents, &e.Chunks)
	return e, err
}

func tombstone(key session.Key) []byte {
	sum := sha256.Sum256([]byte(string(key.Agent) + "\x00" + string(key.ID)))
	return sum[:]
}

// Bury takes a session out, if it is there, and remembers that its owner took it
// back. What is remembered is a hash.
func (w *Writer) Bury(ctx context.Context, key session.Key) error {
	nums, err := w.chosen(ctx, Erasure{Sessions: []session.Key{key}})
	if err != nil {
		return err
	}
	for _, num := range nums {
		if err := w.Delete(ctx, num); err != nil {
			return err
		}
	}
	return w.exec(ctx, `INSERT INTO yore.tombstone (ws_key, key, at) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING`, w.key, tombstone(key), time.Now())
}

// Buried reports whether a session was taken back.
func (w *Writer) Buried(ctx context.Context, key session.Key) (is bool, err error) {
	err = w.tx.QueryRow(ctx, `SELECT EXISTS (SELECT FROM yore.tombstone WHERE ws_key = $1 AND key = $2)`, w.key, tombstone(key)).Scan(&is)
	return is, err
}

// Unbury lets a session be sent again.
func (w *Writer) Unbury(ctx context.Context, key session.Key) error {
	return w.exec(ctx, `DELETE FROM yore.tombstone WHERE ws_key = $1 AND key = $2`, w.key, tombstone(key))
}

// due reports whether deletions left something of a workspace.
func (t *Tenant) due(ctx context.Context, workspace string) (purge bool, err error) {
	err = t.look(ctx, workspace, func(tx pgx.Tx, key int64) error {
		err := tx.QueryRow(ctx, `SELECT purge FROM yore.shard WHERE ws_key = $1`, key).Scan(&purge)
		if errors.Is(err, pgx.ErrNoRows) {
			return nil
		}
		return err
	})
	return purge, err
}

// Purge removes what deletions left of a workspace in the database's files, if
// there is anything. It takes the rights of the tables' owner and, for moments,
// the tables; done is false while somebody reads for long.
func (t *Tenant) Purge(ctx context.Context, workspace string) (done bool, err error) {
	due, err := t.due(ctx, workspace)
	if err != nil || !due {
		return err == nil, err
	}
	key, err := t.keyOf(ctx, workspace)
	if err != nil {
		return false, err
	}
	if done, err = t.db.rewrite(ctx, &key); !done || err != nil {
		return false, err
	}
	return true, t.db.within(ctx, writing, reach{t.name, []int64{key}}, func(tx pgx.Tx) error {
		_, err := tx.Exec(ctx, `UPDATE yore.shard SET purge = false WHERE ws_key = $1`, key)
		return err
	})
}

// Purge removes what deletions left anywhere in the database's files. While a table
// is written anew nobody can use it: about as long as copying it takes.
func (d *Database) Purge(ctx context.Context) (done bool, err error) {
	if done, err = d.rewrite(ctx, nil); !done || err != nil {
		return false, err
	}
	return true, d.owned(ctx, func(tx pgx.Tx) error {
		_, err := tx.Exec(ctx, `UPDATE yore.shard SET purge = false WHERE purge`)
		return err
	})
}

// rewrite writes tables anew: all, or those that hold a workspace's rows.
func (d *Database) rewrite(ctx context.Context, key *int64) (done bool, err error) {
	c, err := d.pool.Acquire(ctx)
	if err != nil {
		return false, fail(ctx, err)
	}
	defer c.Release()
	var mine bool
	err = c.QueryRow(ctx, `SELECT pg_has_role(current_user, relowner, 'usage') FROM pg_class WHERE oid = 'yore.shard'::regclass`).Scan(&mine)
	if err != nil {
		return false, fail(ctx, err)
	}
	if !mine {
		return false, fault.New(fault.IndexFailed, "Purging takes the role that owns the tables.")
	}
	rows, err := c.Query(ctx, `SELECT c.oid::regclass::text FROM pg_class c LEFT JOIN pg_inherits i ON i.inhrelid = c.oid
		WHERE c.relnamespace = 'yore'::regnamespace AND c.relkind = 'r' AND c.relname <> 'migration'
		AND (i.inhparent IS NULL OR $1::bigint IS NULL OR satisfies_hash_partition(i.inhparent,
			(SELECT count(*)::int FROM pg_inherits p WHERE p.inhparent = i.inhparent), substring(c.relname FROM '_(\d+)$')::int, $1::bigint))
		ORDER BY 1`, key)
	if err != nil {
		return false, fail(ctx, err)
	}
	tables, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		return false, fail(ctx, err)
	}
	if _, err := c.Exec(ctx, `SET lock_timeout = '2s'`); err != nil {
		return false, fail(ctx, err)
	}
	defer c.Exec(context.WithoutCancel(ctx), `RESET lock_timeout`)
	for _, table := range tables {
		_, err := c.Exec(ctx, fmt.Sprintf(`VACUUM (FULL, ANALYZE) %s`, table))
		if hasCode(err, "55P03") {
			return false, nil // it is being read for long
		}
		if err != nil {
			return false, fail(ctx, err)
		}
	}
	return true, nil
}
