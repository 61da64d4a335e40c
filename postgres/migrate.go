package postgres

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/yorehq/yore/fault"
)

// migration is one step from a version of the schema to the next. Steps are
// ordered, never change once they are out, and run while servers of the version
// before go on: they add, and take away only what no such server uses.
type migration struct {
	name string

	// sql runs in one transaction with the note that it was done. It takes locks
	// for short: what needs time is done by online.
	sql string

	// online runs after sql, outside of a transaction, statement by statement; it
	// may have been cut short before, so each may be repeated. nil: nothing.
	online func(ctx context.Context, c *pgx.Conn) error
}

// migrations are all steps, the first first. Their number is the version of the
// schema. The partitions of a table are made by the first one.
func migrations(partitions int) []migration {
	return []migration{
		{name: "the tables of documents, events and sessions", sql: firstSchema(partitions)},
		{name: "tokens and the log of what was asked", sql: tokenSchema},
		{name: "sessions with titles for others, found without reading the rest", online: indexNaming},
	}
}

// indexNaming makes an index of the few sessions that every stretch looks at. One
// that was cut short leaves an index that nobody uses.
func indexNaming(ctx context.Context, c *pgx.Conn) error {
	var broken bool
	err := c.QueryRow(ctx, `SELECT EXISTS (SELECT FROM pg_index WHERE indexrelid = to_regclass('yore.session_naming') AND NOT indisvalid)`).Scan(&broken)
	if err == nil && broken {
		_, err = c.Exec(ctx, `DROP INDEX CONCURRENTLY IF EXISTS yore.session_naming`)
	}
	if err == nil {
		_, err = c.Exec(ctx, `CREATE INDEX CONCURRENTLY IF NOT EXISTS session_naming ON yore.session (ws_key, num) WHERE naming`)
	}
	return err
}

// marker is what our table of versions says of itself, so that a stranger's
// schema of the same name is never touched.
const marker = "yore team history"

const versionTable = `
CREATE SCHEMA yore;
CREATE TABLE yore.migration (version int PRIMARY KEY, name text NOT NULL, whole boolean NOT NULL, applied timestamptz NOT NULL DEFAULT now());
COMMENT ON TABLE yore.migration IS '` + marker + `';
`

// Setup says how the tables are made.
type Setup struct {
	// Partitions is into how many parts the tables of documents and of events are
	// divided, by the hash of the workspace's key; 0: 64; 1: not at all, for what
	// distributes tables by itself. It counts when the tables are made.
	Partitions int
}

// migrationLock is the advisory lock that keeps two migrations apart: "yore".
const migrationLock = 0x796f7265

// Migrate brings the schema up to this program's version, under a lock, and
// returns the version before and now. A schema of the same name that is not ours,
// or one that a newer program made, is fault.IndexFailed and left as it is. The
// role that is logged in owns the tables; it may create a role the first time, or
// somebody has done so before.
func (d *Database) Migrate(ctx context.Context, s Setup) (from, to int, err error) {
	if s.Partitions <= 0 {
		s.Partitions = 64
	}
	c, err := d.pool.Acquire(ctx)
	if err != nil {
		return 0, 0, fail(ctx, err)
	}
	defer c.Release()
	conn := c.Conn()
	if err := lockMigrations(ctx, conn); err != nil {
		return 0, 0, fail(ctx, err)
	}
	defer conn.Exec(context.WithoutCancel(ctx), `SELECT pg_advisory_unlock($1)`, int64(migrationLock))
	from, whole, err := version(ctx, conn)
	if err != nil {
		return from, from, err
	}
	to = from
	for i, m := range migrations(s.Partitions) {
		switch {
		case i+1 < from || i+1 == from && whole:
			continue
		case i+1 > from:
			if err := apply(ctx, conn, i+1, m); err != nil {
				return from, to, fmt.Errorf("migration %d (%s): %w", i+1, m.name, err)
			}
		}
		if m.online != nil {
			if err := m.online(ctx, conn); err != nil {
				return from, to, fmt.Errorf("migration %d (%s): %w", i+1, m.name, fail(ctx, err))
			}
			if _, err := conn.Exec(ctx, `UPDATE yore.migration SET whole = true WHERE version = $1`, i+1); err != nil {
				return from, to, fail(ctx, err)
			}
		}
		to = i + 1
	}
	return from, to, nil
}

// lockMigrations waits for its turn. It asks again and again: a statement that waits
// for the lock would be a transaction that an index built online waits for.
func lockMigrations(ctx context.Context, conn *pgx.Conn) error {
	for {
		var ours bool
		if err := conn.QueryRow(ctx, `SELECT pg_try_advisory_lock($1)`, int64(migrationLock)).Scan(&ours); err != nil || ours {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(lockEvery):
		}
	}
}

// lockEvery is how often another migration's end is looked for.
const lockEvery = 100 * time.Millisecond

// apply runs a step's transaction.
func apply(ctx context.Context, conn *pgx.Conn, number int, m migration) error {
	err := pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) error {
		// Whoever waits for a lock on a table stops all who come after it.
		if _, err := tx.Exec(ctx, `SET LOCAL lock_timeout = '5s'`); err != nil {
			return err
		}
		if number == 1 {
			if err := makeRole(ctx, tx); err != nil {
				return err
			}
			if _, err := tx.Exec(ctx, versionTable); err != nil {
				return err
			}
		}
		if m.sql != "" {
			if _, err := tx.Exec(ctx, m.sql); err != nil {
				return err
			}
		}
		_, err := tx.Exec(ctx, `INSERT INTO yore.migration (version, name, whole) VALUES ($1, $2, $3)`, number, m.name, m.online == nil)
		return err
	})
	if hasCode(err, "55P03") {
		return &fault.Error{Code: fault.IndexFailed, Safe: "A table is in use for long: stop what holds it, or repeat the migration.", Cause: err}
	}
	return fail(ctx, err)
}

// makeRole makes the serving role, which all databases of a cluster share, and
// lets the owner step down to it.
func makeRole(ctx context.Context, tx pgx.Tx) error {
	_, err := tx.Exec(ctx, `DO $$ BEGIN
		IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = '`+servingRole+`') THEN
			BEGIN
				CREATE ROLE `+servingRole+` NOLOGIN NOINHERIT;
			EXCEPTION WHEN duplicate_object OR unique_violation THEN NULL; -- another database's migration
			END;
		END IF;
		IF NOT (SELECT rolsuper FROM pg_roles WHERE rolname = current_user)
			AND NOT EXISTS (SELECT FROM pg_auth_members m JOIN pg_roles r ON r.oid = m.roleid JOIN pg_roles u ON u.oid = m.member
				WHERE r.rolname = '`+servingRole+`' AND u.rolname = current_user) THEN
			EXECUTE format('GRANT `+servingRole+` TO %I', current_user);
		END IF;
	END $$`)
	if hasCode(err, "42501") {
		return &fault.Error{
			Code: fault.IndexFailed, Cause: err,
			Safe: "The role that logs in may not create roles. Let an administrator run: CREATE ROLE " + servingRole + " NOLOGIN; GRANT " + servingRole + " TO the role that logs in.",
		}
	}
	return err
}

// version returns the version of the schema, 0 where there is none, and whether
// its last step was done wholly.
func version(ctx context.Context, conn *pgx.Conn) (number int, whole bool, err error) {
	var schema, ours bool
	err = conn.QueryRow(ctx, `SELECT to_regnamespace('yore') IS NOT NULL,
		coalesce(obj_description(to_regclass('yore.migration'), 'pg_class') = $1, false)`, marker).Scan(&schema, &ours)
	switch {
	case err != nil:
		return 0, false, fail(ctx, err)
	case !schema:
		return 0, true, nil
	case !ours:
		return 0, false, fault.New(fault.IndexFailed, "The database has a schema \"yore\" that this program did not make. Give it a database of its own.")
	}
	err = conn.QueryRow(ctx, `SELECT coalesce(max(version), 0), coalesce(bool_and(whole), true) FROM yore.migration`).Scan(&number, &whole)
	if err != nil {
		return 0, false, fail(ctx, err)
	}
	if newest := len(migrations(1)); number > newest {
		return number, whole, fault.New(fault.IndexFailed,
			"The database was made by a newer version of this program (schema %d, this program knows %d). Update the program.", number, newest)
	}
	return number, whole, nil
}

// Check makes sure that the database can be served: PostgreSQL is new enough, the
// schema is this program's, and the serving role does not get around row-level
// security. A failure says what to do.
func (d *Database) Check(ctx context.Context) error {
	c, err := d.pool.Acquire(ctx)
	if err != nil {
		return fail(ctx, err)
	}
	defer c.Release()
	number, whole, err := version(ctx, c.Conn())
	if err != nil {
		return err
	}
	if newest := len(migrations(1)); number < newest || !whole {
		return fault.New(fault.IndexFailed, "The database's schema is at version %d, this program needs %d: migrate it first.", number, newest)
	}
	var server string
	var member, strong bool
	err = c.QueryRow(ctx, `SELECT current_setting('server_version_num'), pg_has_role(current_user, $1, 'member'),
		(SELECT rolsuper OR rolbypassrls FROM pg_roles WHERE rolname = $1)
		OR EXISTS (SELECT FROM pg_class WHERE relnamespace = to_regnamespace('yore') AND relowner = (SELECT oid FROM pg_roles WHERE rolname = $1))`, servingRole).
		Scan(&server, &member, &strong)
	if hasCode(err, "42704") { // no such role
		return fault.New(fault.IndexFailed, "The role %s is missing: roles are not part of a database's dump. Create it (NOLOGIN) and grant it to the role that logs in.", servingRole)
	}
	if err != nil {
		return fail(ctx, err)
	}
	n, _ := strconv.Atoi(server)
	switch {
	case n < 150000:
		return fault.New(fault.IndexFailed, "PostgreSQL 15 or newer is needed.")
	case !member:
		return fault.New(fault.IndexFailed, "The role that logs in is no member of %s: GRANT %s TO it.", servingRole, servingRole)
	case strong:
		return fault.New(fault.IndexFailed, "The role %s owns tables or gets around row-level security: take that from it.", servingRole)
	}
	return nil
}
