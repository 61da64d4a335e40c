package postgres

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/yorehq/yore/fault"
	"github.com/yorehq/yore/internal/ingest"
	"github.com/yorehq/yore/query"
	"github.com/yorehq/yore/reader"
	"github.com/yorehq/yore/session"
)

// Tenant is one tenant's part of a database: its workspaces, or some of them. It
// is safe for concurrent use, costs nothing to make, and shows nothing of any
// other tenant.
type Tenant struct {
	db     *Database
	name   string
	only   []string // sorted; nil: every workspace
	person string
}

var (
	_ query.Store   = (*Tenant)(nil)
	_ query.Logs    = (*Tenant)(nil)
	_ ingest.Shards = (*Tenant)(nil)
)

// Tenant returns a tenant's part. A tenant is there once something was written
// for it. The name is not empty, at most 200 bytes, and has no NUL.
func (d *Database) Tenant(name string) *Tenant { return &Tenant{db: d, name: name} }

// Within returns the tenant with some of its workspaces alone: whatever is asked,
// rows of others are out of reach of the transaction. nil is none.
func (t *Tenant) Within(workspaces []string) *Tenant {
	some := *t
	some.only = slices.Clone(workspaces)
	if some.only == nil {
		some.only = []string{}
	}
	if t.only != nil {
		some.only = slices.DeleteFunc(some.only, func(w string) bool { _, ok := slices.BinarySearch(t.only, w); return !ok })
	}
	slices.Sort(some.only)
	some.only = slices.Compact(some.only)
	return &some
}

// As returns the tenant for writing on behalf of a person: new sessions are theirs.
func (t *Tenant) As(person string) *Tenant {
	theirs := *t
	theirs.person = person
	return &theirs
}

// scopeName names a workspace of a tenant.
type scopeName struct{ tenant, workspace string }

// hashOf is what a text is looked up by; whoever finds it compares the text.
func hashOf(text string) int64 {
	sum := sha256.Sum256([]byte(text))
	return int64(binary.LittleEndian.Uint64(sum[:]))
}

// keyOf returns the key of a workspace, 0 if there is none or the tenant is not
// to see it. Keys are never given anew, so they are remembered.
func (t *Tenant) keyOf(ctx context.Context, workspace string) (int64, error) {
	if _, ok := slices.BinarySearch(t.only, workspace); t.only != nil && !ok {
		return 0, nil
	}
	name := scopeName{t.name, workspace}
	t.db.mu.Lock()
	key := t.db.keys[name]
	t.db.mu.Unlock()
	if key != 0 {
		return key, nil
	}
	hash := sha256.Sum256([]byte(workspace))
	err := t.db.within(ctx, reading, reach{tenant: t.name}, func(tx pgx.Tx) error {
		err := tx.QueryRow(ctx, `SELECT ws_key FROM yore.scope WHERE tenant = $1 AND hash = $2`, t.name, hash[:]).Scan(&key)
		if errors.Is(err, pgx.ErrNoRows) {
			return nil
		}
		return err
	})
	if err == nil && key != 0 {
		t.db.remember(name, key)
	}
	return key, err
}

// mostKeys bounds the keys that are remembered.
const mostKeys = 100_000

func (d *Database) remember(name scopeName, key int64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.keys) >= mostKeys {
		clear(d.keys)
	}
	d.keys[name] = key
}

// forget drops what is remembered of a workspace.
func (d *Database) forget(name scopeName, key int64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.keys, name)
	delete(d.rows, key)
}

// makeKey returns the key of a workspace, which is made if it is not there.
func (t *Tenant) makeKey(ctx context.Context, workspace string) (int64, error) {
	if _, ok := slices.BinarySearch(t.only, workspace); t.only != nil && !ok {
		return 0, fmt.Errorf("%w: the workspace is out of reach", fault.Unauthorized)
	}
	if t.name == "" || len(t.name) > 200 {
		return 0, fault.New(fault.InvalidConfig, "a tenant's name has 1 to 200 bytes")
	}
	key, err := t.keyOf(ctx, workspace)
	if key != 0 || err != nil {
		return key, err
	}
	hash := sha256.Sum256([]byte(workspace))
	err = t.db.within(ctx, writing, reach{tenant: t.name}, func(tx pgx.Tx) error {
		_, err := tx.Exec(ctx, `INSERT INTO yore.scope (tenant, workspace, hash) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING`, t.name, []byte(workspace), hash[:])
		return err
	})
	if err != nil {
		return 0, err
	}
	return t.keyOf(ctx, workspace)
}

// scopes returns the tenant's workspaces and their keys, or those of some names.
func (t *Tenant) scopes(ctx context.Context, some []string) (names []string, keys []int64, err error) {
	err = t.db.within(ctx, reading, reach{tenant: t.name}, func(tx pgx.Tx) error {
		rows, err := tx.Query(ctx, `SELECT ws_key, workspace FROM yore.scope WHERE tenant = $1`, t.name)
		if err != nil {
			return err
		}
		var key int64
		var name []byte
		_, err = pgx.ForEachRow(rows, []any{&key, &name}, func() error {
			w := string(name)
			if _, ok := slices.BinarySearch(t.only, w); t.only != nil && !ok || some != nil && !slices.Contains(some, w) {
				return nil
			}
			names, keys = append(names, w), append(keys, key)
			return nil
		})
		return err
	})
	return names, keys, err
}

// keysOf returns the keys of some workspaces (nil: all that the tenant has).
func (t *Tenant) keysOf(ctx context.Context, workspaces []string) (keys []int64, err error) {
	if workspaces == nil {
		_, keys, err = t.scopes(ctx, nil)
		return keys, err
	}
	for _, w := range workspaces {
		key, err := t.keyOf(ctx, w)
		if err != nil {
			return nil, err
		}
		if key != 0 {
			keys = append(keys, key)
		}
	}
	return keys, nil
}

// Workspaces returns the workspaces that something was written to, sorted.
func (t *Tenant) Workspaces(ctx context.Context) ([]string, error) {
	names, keys, err := t.scopes(ctx, nil)
	if err != nil || len(keys) == 0 {
		return nil, err
	}
	written := map[int64]bool{}
	err = t.db.within(ctx, reading, reach{t.name, keys}, func(tx pgx.Tx) error {
		rows, err := tx.Query(ctx, `SELECT ws_key FROM yore.shard WHERE ws_key = ANY ($1)`, keys)
		if err != nil {
			return err
		}
		var key int64
		_, err = pgx.ForEachRow(rows, []any{&key}, func() error { written[key] = true; return nil })
		return err
	})
	var all []string
	for i, name := range names {
		if written[keys[i]] {
			all = append(all, name)
		}
	}
	slices.Sort(all)
	return all, err
}

// Headers returns the sessions that the tenant has, by workspace and number.
func (t *Tenant) Headers(ctx context.Context, which query.Lookup) (all []query.Known, err error) {
	keys, err := t.keysOf(ctx, which.Workspaces)
	if err != nil || len(keys) == 0 || which.IDs != nil && len(which.IDs) == 0 {
		return nil, err
	}
	where, args := ` WHERE ws_key = ANY ($1)`, []any{keys}
	if which.IDs != nil {
		hashes := make([]int64, len(which.IDs))
		for i, id := range which.IDs {
			hashes[i] = hashOf(string(id))
		}
		where, args = where+` AND id_hash = ANY ($2)`, append(args, hashes)
	}
	if which.Parent != nil {
		args = append(args, hashOf(string(*which.Parent)))
		where += fmt.Sprintf(` AND parent_hash = $%d`, len(args))
	}
	err = t.db.within(ctx, reading, reach{t.name, keys}, func(tx pgx.Tx) error {
		facts, err := rowsOf(ctx, tx, where+` ORDER BY ws_key, num`, args...)
		for _, f := range facts {
			h := f.row.Header
			if which.IDs != nil && !slices.Contains(which.IDs, h.ID) || which.Parent != nil && h.ParentSession != *which.Parent {
				continue
			}
			// What is wrong with its records, its row says: here it is one of the corpus.
			all = append(all, query.Known{Header: h, Path: f.row.Source})
		}
		return err
	})
	slices.SortStableFunc(all, func(a, b query.Known) int { return cmp.Compare(a.Path, b.Path) })
	return all, err
}

// rowsOf reads the packed rows of sessions.
func rowsOf(ctx context.Context, tx pgx.Tx, where string, args ...any) (all []rowFacts, err error) {
	rows, err := tx.Query(ctx, `SELECT num, entries, "row" FROM yore.session`+where, args...)
	if err != nil {
		return nil, err
	}
	var num int64
	var entries int32
	var data pgtype.DriverBytes
	_, err = pgx.ForEachRow(rows, []any{&num, &entries, &data}, func() error {
		f, err := unpackRow(num, entries, data)
		all = append(all, f)
		return err
	})
	return all, err
}

// Peek returns the saved state of sessions, in ascending Num.
func (t *Tenant) Peek(ctx context.Context, workspace string, which ingest.StoredLookup) (all []ingest.Stored, err error) {
	err = t.look(ctx, workspace, func(tx pgx.Tx, key int64) error {
		all, err = storedOf(ctx, tx, key, which)
		return err
	})
	return all, err
}

// Glances returns what tells whether sessions are up to date, in ascending Num.
func (t *Tenant) Glances(ctx context.Context, workspace string, only *session.Key) (all []ingest.Glance, err error) {
	err = t.look(ctx, workspace, func(tx pgx.Tx, key int64) error {
		where, args := ` WHERE ws_key = $1`, []any{key}
		if only != nil {
			where, args = where+` AND id_hash = $2`, append(args, hashOf(string(only.ID)))
		}
		facts, err := rowsOf(ctx, tx, where+` ORDER BY num`, args...)
		for _, f := range facts {
			if only == nil || f.row.Header.Key() == *only {
				all = append(all, f.glance)
			}
		}
		return err
	})
	return all, err
}

// look reads in a transaction of its own; a workspace that is not there is not read.
func (t *Tenant) look(ctx context.Context, workspace string, work func(tx pgx.Tx, key int64) error) error {
	key, err := t.keyOf(ctx, workspace)
	if key == 0 || err != nil {
		return err
	}
	return t.db.within(ctx, reading, reach{t.name, []int64{key}}, func(tx pgx.Tx) error { return work(tx, key) })
}

// storedOf reads the state of sessions.
func storedOf(ctx context.Context, tx pgx.Tx, key int64, which ingest.StoredLookup) (all []ingest.Stored, err error) {
	where, args := ` WHERE ws_key = $1`, []any{key}
	passes := func(*ingest.Stored) bool { return true }
	switch {
	case which.Root != "":
		where, args = where+` AND root_hash = $2`, append(args, hashOf(which.Root))
		passes = func(s *ingest.Stored) bool { return s.Root == which.Root }
	case which.PartsOf != "":
		passes = func(s *ingest.Stored) bool {
			return reader.FileOf(s.Source) == which.PartsOf && s.Source != which.PartsOf
		}
	case which.Naming:
		where += ` AND naming`
	case which.Unrelated:
		return nil, nil // no families are found out about here
	case which.Sources != nil:
		hashes := make([]int64, len(which.Sources))
		for i, s := range which.Sources {
			hashes[i] = hashOf(s)
		}
		where, args = where+` AND source_hash = ANY ($2)`, append(args, hashes)
		passes = func(s *ingest.Stored) bool { return slices.Contains(which.Sources, s.Source) }
	}
	if which.After > 0 {
		args = append(args, which.After)
		where += fmt.Sprintf(` AND num > $%d`, len(args))
	}
	rows, err := tx.Query(ctx, `SELECT num, rest FROM yore.session`+where+` ORDER BY num`, args...)
	if err != nil {
		return nil, err
	}
	var num int64
	var data pgtype.DriverBytes
	_, err = pgx.ForEachRow(rows, []any{&num, &data}, func() error {
		s, err := unpackRest(num, data)
		if err == nil && passes(&s) && (which.Most == 0 || len(all) < which.Most) {
			all = append(all, s)
		}
		return err
	})
	return all, err
}

// newGeneration is where a workspace's generations begin. The time keeps them
// apart from those of one of the same name that was erased before.
func newGeneration() int64 { return time.Now().UnixMicro() }
