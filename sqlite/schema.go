package sqlite

import (
	"context"
	"fmt"
	"slices"
	"time"
)

const (
	// application marks our databases ("yore"), so that a stranger's is never touched.
	application = 0x796f7265

	// schemaVersion rises with every change of the tables; schemaHistory says
	// what each was for. An older database is made anew.
	schemaVersion = 12
)

// schemaHistory has a line for each version of the schema, from 1 on.
var schemaHistory = [schemaVersion]string{
	"the first",
	"where a log's history comes from, if the log does not state it; the product's own calls",
	"how many texts of a session are longer than what is searchable; where a log ends before damage",
	"the records' own ids, by which copies in forks are recognised",
	"the tools of calls and results",
	"titles that sessions have for others",
	"segments of our own in place of a virtual table",
	"what a look at an unchanged log needs stands before what it does not",
	"what readers need to go on at checkpoints",
	"checksums of texts and plans, and over the numbers of rows",
	"checksums of records",
	"an index of position keys",
}

// SchemaHistory says what each version of the index's schema was for, from
// version 1 on; the last is the one that this program makes. Ascending.
func SchemaHistory() []string { return slices.Clone(schemaHistory[:]) }

// headerColumns are the columns of a session's header, in the order of
// bindHeader: those that something is looked up by, and the whole of it packed.
const headerColumns = `agent, id, cwd, parent, head`

const headerSchema = `agent TEXT NOT NULL, id TEXT NOT NULL, cwd TEXT NOT NULL, parent TEXT NOT NULL, head BLOB NOT NULL`

// forkColumns are in the order of bindFork.
const forkColumns = `f_parent, f_seed, f_created`

const forkSchema = `f_parent TEXT NOT NULL, f_seed INTEGER NOT NULL, f_created INTEGER NOT NULL`

// problemColumns are null where there is none, in the order of bindProblem.
const problemColumns = `p_code, p_path, p_line, p_offset, p_reason`

const problemSchema = `p_code TEXT, p_path TEXT, p_line INTEGER, p_offset INTEGER, p_reason TEXT`

const stampColumns = `device, inode, size, mtime`

const stampSchema = `device INTEGER NOT NULL, inode INTEGER NOT NULL, size INTEGER NOT NULL, mtime INTEGER NOT NULL`

const catalogSchema = `
CREATE TABLE folders (
	path TEXT PRIMARY KEY, root TEXT NOT NULL, leaf INTEGER NOT NULL, modified INTEGER NOT NULL, listed INTEGER NOT NULL
) WITHOUT ROWID;
CREATE INDEX folders_root ON folders (root);
CREATE INDEX folders_changed ON folders (root, modified, path, leaf, listed);

CREATE TABLE files (
	path TEXT NOT NULL, root TEXT NOT NULL, folder TEXT NOT NULL, reader TEXT NOT NULL, pending INTEGER NOT NULL,
	` + headerSchema + `, ` + forkSchema + `, ` + stampSchema + `, ` + problemSchema + `,
	PRIMARY KEY (cwd, path)
) WITHOUT ROWID;
CREATE UNIQUE INDEX files_path ON files (path);
CREATE INDEX files_folder ON files (folder);
CREATE INDEX files_pending ON files (mtime) WHERE pending;
CREATE INDEX files_id ON files (id);
CREATE INDEX files_parent ON files (parent);
CREATE INDEX files_fork ON files (f_parent) WHERE f_parent <> '';
`

// shardSchema is one workspace. The numbers of the documents of one session
// (query.DocID) are contiguous from 0, in ascending seq.
//
//   - shard: one row; its counters change in the transaction that changes the rest.
//     purge says what deletions left to do: see purge.go; 0 is nothing. birth
//     tells a shard from one that was there before.
//   - records: 64 packed records a row (record.go) and a checksum, keyed by document number / 64.
//   - texts: the documents' texts in compressed blocks (text.go), keyed by the
//     number of the first; size is uncompressed. A block never spans sessions.
//   - types, tools: the names of event types and of tools, by the numbers in records.
//   - orders: position keys on the surface, only where they are not the default
//     of an append.
//   - removed: what each event took off the surface, in surface order (n), as
//     runs: all surface events from first to last. Never changes.
//   - shadow: who shadows whom at present, as runs in the same sense.
//   - citations: runs of seqs that an event cites. whole 1: all surface events
//     from first to last; 0: all seqs. level is the bit length of last-first, so
//     that whoever cites a seq is found by one short range a level.
//   - checkpoints: sparse places in the source; of a reader that gives states,
//     those alone, and breaks are the events that end what a state is good for.
const shardSchema = `
CREATE TABLE shard (
	one INTEGER PRIMARY KEY CHECK (one = 1), workspace TEXT NOT NULL, generation INTEGER NOT NULL,
	documents INTEGER NOT NULL, tokens INTEGER NOT NULL, next INTEGER NOT NULL, purge INTEGER NOT NULL, birth INTEGER NOT NULL
);
CREATE TABLE sessions (
	num INTEGER PRIMARY KEY, entries INTEGER NOT NULL DEFAULT 0, source TEXT NOT NULL,
	` + stampSchema + `, sum INTEGER NOT NULL, marks INTEGER NOT NULL, clipped INTEGER NOT NULL,
	` + headerSchema + `, ` + forkSchema + `,
	events INTEGER NOT NULL, provisional INTEGER NOT NULL, shown TEXT, title TEXT, title_fail TEXT NOT NULL, step INTEGER NOT NULL, changed INTEGER NOT NULL,
	` + problemSchema + `,
	p_next INTEGER NOT NULL, p_read INTEGER NOT NULL, p_check INTEGER NOT NULL, mapping TEXT NOT NULL, prompted INTEGER NOT NULL,
	root TEXT NOT NULL, settled INTEGER NOT NULL, skip TEXT NOT NULL, footprints TEXT NOT NULL, calls TEXT NOT NULL, naming TEXT NOT NULL, state BLOB
);
CREATE INDEX sessions_source ON sessions (source);
CREATE INDEX sessions_id ON sessions (id);
CREATE INDEX sessions_naming ON sessions (num) WHERE marks & 32 <> 0; -- markNaming
CREATE INDEX sessions_root ON sessions (root) WHERE root <> '';
CREATE TABLE types (num INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE);
CREATE TABLE tools (num INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE);
CREATE TABLE records (block INTEGER PRIMARY KEY, data BLOB NOT NULL);
CREATE TABLE texts (first INTEGER PRIMARY KEY, size INTEGER NOT NULL, data BLOB NOT NULL);
CREATE TABLE orders (doc INTEGER PRIMARY KEY, key INTEGER NOT NULL);
CREATE INDEX orders_key ON orders (doc >> 24, key); -- query.docBits
CREATE TABLE removed (
	num INTEGER, by INTEGER, n INTEGER, first INTEGER NOT NULL, last INTEGER NOT NULL, PRIMARY KEY (num, by, n)
) WITHOUT ROWID;
CREATE TABLE shadow (
	num INTEGER, first INTEGER, last INTEGER NOT NULL, by INTEGER NOT NULL, PRIMARY KEY (num, first)
) WITHOUT ROWID;
CREATE TABLE citations (
	num INTEGER, level INTEGER, first INTEGER, by INTEGER, last INTEGER NOT NULL, whole INTEGER NOT NULL,
	PRIMARY KEY (num, level, first, by)
) WITHOUT ROWID;
CREATE TABLE checkpoints (
	num INTEGER, seq INTEGER, part INTEGER NOT NULL, place INTEGER NOT NULL, inner INTEGER NOT NULL, state BLOB NOT NULL, PRIMARY KEY (num, seq)
) WITHOUT ROWID;
CREATE TABLE breaks (num INTEGER, seq INTEGER, PRIMARY KEY (num, seq)) WITHOUT ROWID;
` + segmentSchema

// isOurs checks what a database says of itself. It returns whether the schema
// is older than ours and has to be made anew.
func (c *conn) isOurs(ctx context.Context) (older bool, err error) {
	id, err := c.integer(ctx, `PRAGMA application_id`)
	if err != nil {
		return false, err
	}
	version, err := c.integer(ctx, `PRAGMA user_version`)
	if err != nil {
		return false, err
	}
	switch {
	case id != application:
		return false, unusable("the index holds a database of another application").fault()
	case version > schemaVersion:
		return false, unusable(fmt.Sprintf("the index was made by a newer version (schema %d, this program knows %d)", version, schemaVersion)).fault()
	}
	return version < schemaVersion, nil
}

// build makes the tables of a database that has none, in one transaction of the caller.
func (c *conn) build(ctx context.Context, at place) error {
	schema := catalogSchema
	if !at.catalog {
		schema = shardSchema
	}
	// The time keeps generations of a shard that was made anew apart from earlier ones.
	err := c.execAll(schema + fmt.Sprintf(`PRAGMA application_id = %d; PRAGMA user_version = %d;`, application, schemaVersion))
	if err == nil && !at.catalog {
		err = c.exec(ctx, `INSERT INTO shard VALUES (1, ?1, ?2, 0, 0, 1, 0, ?2)`, at.workspace, time.Now().UnixNano())
	}
	return err
}
