package postgres

import (
	"fmt"
	"strings"
)

// What comes from logs may hold any bytes, NUL included, which text refuses: such
// columns are bytea. Only the tokens, which are letters, digits and marks, are text.
//
//   - scope hands out the key of a tenant's workspace; hash is SHA-256 of its name.
//   - shard is a workspace: one row, locked by whoever writes to it, with its
//     generation and the counters that change in the same transaction.
//   - session is what ingest remembers (row, rest: pack.go) and what it is looked
//     up by; hashes are 64 bits, and whoever looks compares what they stand for.
//     person is who sent it.
//   - document is a searchable event or one of the surface: n counts them within
//     the session from 0, in ascending seq; norm is its tokens (norm.go), body its
//     searchable text, own a hash by flags. Rows never change, but are deleted.
//   - chunk is the exact bytes of a run of events (events.go).
//   - position: keys on the surface, only where they are not the default of an append.
//   - removed: what each event took off the surface, in surface order (n), as runs:
//     all surface events from first to last.
//   - shadow: who shadows whom at present, as runs in the same sense.
//   - citation: runs of seqs that an event cites. whole: all surface events from
//     first to last, else all seqs. level is the bit length of last-first, so that
//     whoever cites a seq is found by one short range a level.
//   - checkpoint, break: places in the source, as sqlite keeps them.
//   - applied: batches that were taken in, and the generation of each.
//   - tombstone: sessions that were taken back; key is SHA-256 of agent, NUL, id.
//
// Nothing here refers to another table's rows, no unique key is without ws_key
// but scope's, and no default is volatile but scope's: all but scope can be
// distributed by ws_key.
const tables = `
CREATE TABLE yore.scope (
	ws_key bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, tenant text COLLATE "C" NOT NULL, workspace bytea NOT NULL, hash bytea NOT NULL,
	UNIQUE (tenant, hash)
);
CREATE TABLE yore.shard (
	ws_key bigint PRIMARY KEY, generation bigint NOT NULL, documents bigint NOT NULL DEFAULT 0, tokens bigint NOT NULL DEFAULT 0,
	next bigint NOT NULL DEFAULT 1, purge boolean NOT NULL DEFAULT false
);
CREATE TABLE yore.session (
	ws_key bigint, num bigint, entries int NOT NULL DEFAULT 0,
	id_hash bigint NOT NULL, parent_hash bigint NOT NULL, source_hash bigint NOT NULL, root_hash bigint NOT NULL,
	changed bigint NOT NULL, naming boolean NOT NULL, person text COLLATE "C" NOT NULL,
	"row" bytea NOT NULL, rest bytea NOT NULL,
	PRIMARY KEY (ws_key, num)
);
CREATE INDEX session_id ON yore.session (ws_key, id_hash);
CREATE INDEX session_parent ON yore.session (ws_key, parent_hash);
CREATE INDEX session_source ON yore.session (ws_key, source_hash);
CREATE INDEX session_root ON yore.session (ws_key, root_hash);
CREATE TABLE yore.document (
	ws_key bigint NOT NULL, num bigint NOT NULL, seq bigint NOT NULL, at bigint NOT NULL, own bigint NOT NULL,
	n int NOT NULL, points int NOT NULL, tokens int NOT NULL, role smallint NOT NULL, flags smallint NOT NULL,
	kind bytea NOT NULL, tool bytea NOT NULL, norm text COLLATE "C" NOT NULL, body bytea NOT NULL,
	PRIMARY KEY (ws_key, num, n)
)%[1]s;
CREATE TABLE yore.chunk (
	ws_key bigint NOT NULL, num bigint NOT NULL, first bigint NOT NULL, last bigint NOT NULL, provisional boolean NOT NULL, data bytea NOT NULL,
	PRIMARY KEY (ws_key, num, first)
)%[1]s;
CREATE TABLE yore.position (ws_key bigint, num bigint, n int, key bigint NOT NULL, PRIMARY KEY (ws_key, num, n));
CREATE INDEX position_key ON yore.position (ws_key, num, key);
CREATE TABLE yore.removed (
	ws_key bigint, num bigint, by bigint, n int, first bigint NOT NULL, last bigint NOT NULL, PRIMARY KEY (ws_key, num, by, n)
);
CREATE TABLE yore.shadow (ws_key bigint, num bigint, first bigint, last bigint NOT NULL, by bigint NOT NULL, PRIMARY KEY (ws_key, num, first));
CREATE TABLE yore.citation (
	ws_key bigint, num bigint, level smallint, first bigint, by bigint, last bigint NOT NULL, whole boolean NOT NULL,
	PRIMARY KEY (ws_key, num, level, first, by)
);
CREATE TABLE yore.checkpoint (
	ws_key bigint, num bigint, seq bigint, part bigint NOT NULL, place bigint NOT NULL, inside bigint NOT NULL, state bytea NOT NULL,
	PRIMARY KEY (ws_key, num, seq)
);
CREATE TABLE yore.break (ws_key bigint, num bigint, seq bigint, PRIMARY KEY (ws_key, num, seq));
CREATE TABLE yore.applied (ws_key bigint, batch bytea, generation bigint NOT NULL, at timestamptz NOT NULL, PRIMARY KEY (ws_key, batch));
CREATE TABLE yore.tombstone (ws_key bigint, key bytea, at timestamptz NOT NULL, PRIMARY KEY (ws_key, key));
`

// indexes are of documents: by seq, by time (the newest window), by the records'
// own ids, and by their tokens. The last costs most of what loading costs: its
// list of what is still to be sorted in is bounded, so that a search right after
// a load stays quick.
const indexes = `
CREATE INDEX document_seq ON yore.document (ws_key, num, seq);
CREATE INDEX document_at ON yore.document (ws_key, at);
CREATE INDEX document_own ON yore.document (ws_key, own) WHERE flags & 8 <> 0;
CREATE INDEX document_tokens ON yore.document USING gin (ws_key, yore.tokens(norm)) WITH (fastupdate = on, gin_pending_list_limit = 4096);
`

// functions are what tables and policies need. tokens is dear on purpose: the
// planner would else evaluate it for each row instead of using the index.
const functions = `
CREATE FUNCTION yore.tokens(norm text) RETURNS text[] LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE COST 5000
	AS $$ BEGIN RETURN string_to_array(left(norm, -1), '>'); END $$;
CREATE FUNCTION yore.allowed() RETURNS bigint[] LANGUAGE sql STABLE
	AS $$ SELECT string_to_array(nullif(current_setting('yore.ws_keys', true), ''), ',')::bigint[] $$;
`

// heldColumns are what a match returns of a document; see match.go.
const heldColumns = `num, n, seq, at, own, points, tokens, role, flags, kind`

// spansOf counts a phrase by what its tokens leave behind. It is right where no
// two matches can share a token; match.go asks for the tokens otherwise.
const spansOf = `(octet_length(norm) - octet_length(replace(norm, phrase, ''))) / octet_length(phrase)`

// holding finds candidates by the index. PostgreSQL does not use an index for an
// operator that might tell of rows that a policy hides (it is not "leakproof"), so
// this one function has the owner's rights and compares the key itself. all says
// that the tokens are returned, to be counted by whoever asks.
const holding = `
CREATE FUNCTION yore.holding(ws bigint, phrase text, words text[], nums bigint[], most int, every boolean)
	RETURNS TABLE (num bigint, n int, seq bigint, at bigint, own bigint, points int, tokens int, role smallint, flags smallint, kind bytea, spans int, raw text)
	LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp ROWS 100 AS $$
	#variable_conflict use_column
	BEGIN
		IF (ws = ANY (yore.allowed())) IS NOT TRUE THEN
			RAISE EXCEPTION 'the workspace is outside of what the transaction may see' USING ERRCODE = 'insufficient_privilege';
		END IF;
		IF nums IS NULL THEN
			RETURN QUERY SELECT d.num, d.n, d.seq, d.at, d.own, d.points, d.tokens, d.role, d.flags, d.kind,
					CASE WHEN every THEN 0 ELSE ` + spansOf + ` END, CASE WHEN every THEN d.norm END
				FROM yore.document d WHERE d.ws_key = ws AND yore.tokens(d.norm) @> words LIMIT most;
		ELSE
			RETURN QUERY SELECT d.num, d.n, d.seq, d.at, d.own, d.points, d.tokens, d.role, d.flags, d.kind,
					CASE WHEN every THEN 0 ELSE ` + spansOf + ` END, CASE WHEN every THEN d.norm END
				FROM yore.document d WHERE d.ws_key = ws AND yore.tokens(d.norm) @> words AND d.num = ANY (nums) LIMIT most;
		END IF;
	END $$;
`

// walled are the tables whose rows belong to workspaces.
var walled = []string{
	"shard", "session", "document", "chunk", "position", "removed", "shadow", "citation", "checkpoint", "break", "applied", "tombstone",
}

// secret are the columns that hold what people and models said, or names of
// theirs. No statistics are kept of them: those would outlive what is erased.
var secret = []struct {
	table   string
	columns []string
}{
	{"scope", []string{"workspace", "hash"}},
	{"session", []string{"id_hash", "parent_hash", "source_hash", "root_hash", "person", `"row"`, "rest"}},
	{"document", []string{"own", "kind", "tool", "norm", "body"}},
	{"chunk", []string{"data"}}, {"checkpoint", []string{"state"}}, {"applied", []string{"batch"}}, {"tombstone", []string{"key"}},
}

// wall has a table show and take the rows of the transaction's workspaces alone.
const wall = `
ALTER TABLE yore.%[1]s ENABLE ROW LEVEL SECURITY;
CREATE POLICY workspaces ON yore.%[1]s TO ` + servingRole + `
	USING (ws_key = ANY ((SELECT yore.allowed())::bigint[])) WITH CHECK (ws_key = ANY ((SELECT yore.allowed())::bigint[]));
GRANT SELECT, INSERT, UPDATE, DELETE ON yore.%[1]s TO ` + servingRole + `;
`

const scopeWall = `
ALTER TABLE yore.scope ENABLE ROW LEVEL SECURITY;
CREATE POLICY tenant ON yore.scope TO ` + servingRole + `
	USING (tenant = (SELECT current_setting('yore.tenant', true))) WITH CHECK (tenant = (SELECT current_setting('yore.tenant', true)));
GRANT SELECT, INSERT, DELETE ON yore.scope TO ` + servingRole + `;
GRANT USAGE ON SCHEMA yore TO ` + servingRole + `;
REVOKE ALL ON FUNCTION yore.tokens(text), yore.allowed(), yore.holding(bigint, text, text[], bigint[], int, boolean) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION yore.tokens(text), yore.allowed(), yore.holding(bigint, text, text[], bigint[], int, boolean) TO ` + servingRole + `;
`

// firstSchema is the first migration.
func firstSchema(partitions int) string {
	var b strings.Builder
	divided := ""
	if partitions > 1 {
		divided = " PARTITION BY HASH (ws_key)"
	}
	// btree_gin lets the workspace's key stand in the index of tokens.
	b.WriteString("CREATE EXTENSION IF NOT EXISTS btree_gin;\n" + functions)
	fmt.Fprintf(&b, tables, divided)
	if partitions > 1 {
		fmt.Fprintf(&b, `DO $$ BEGIN FOR i IN 0..%[1]d LOOP
			EXECUTE format('CREATE TABLE yore.document_%%s PARTITION OF yore.document FOR VALUES WITH (MODULUS %[2]d, REMAINDER %%s)', i, i);
			EXECUTE format('CREATE TABLE yore.chunk_%%s PARTITION OF yore.chunk FOR VALUES WITH (MODULUS %[2]d, REMAINDER %%s)', i, i);
		END LOOP; END $$;
		`, partitions-1, partitions)
	}
	for _, s := range secret {
		for _, c := range s.columns {
			fmt.Fprintf(&b, "ALTER TABLE yore.%s ALTER COLUMN %s SET STATISTICS 0;\n", s.table, c)
		}
	}
	b.WriteString("ALTER TABLE yore.chunk ALTER COLUMN data SET STORAGE EXTERNAL; -- it is packed already\n")
	b.WriteString(indexes + holding)
	for _, table := range walled {
		fmt.Fprintf(&b, wall, table)
	}
	b.WriteString(scopeWall + quietIndexes + packing)
	return b.String()
}

// quietIndexes keeps the statistics of expressions off, as secret does of columns.
const quietIndexes = `
DO $$ DECLARE i regclass; BEGIN
	FOR i IN SELECT indexrelid::regclass FROM pg_index WHERE indexprs IS NOT NULL AND indrelid IN
		(SELECT oid FROM pg_class WHERE relnamespace = 'yore'::regnamespace AND relkind = 'r') LOOP
		EXECUTE format('ALTER INDEX %s ALTER COLUMN 2 SET STATISTICS 0', i);
	END LOOP;
END $$;
`

// packing has long rows packed the quick way, where the server can.
const packing = `
DO $$ DECLARE t regclass; BEGIN
	FOR t IN SELECT oid::regclass FROM pg_class WHERE relnamespace = 'yore'::regnamespace AND (relname = 'document' OR relname LIKE 'document\_%') AND relkind IN ('r', 'p') LOOP
		EXECUTE format('ALTER TABLE %s ALTER COLUMN norm SET COMPRESSION lz4, ALTER COLUMN body SET COMPRESSION lz4', t);
	END LOOP;
EXCEPTION WHEN feature_not_supported OR invalid_parameter_value THEN NULL;
END $$;
`
