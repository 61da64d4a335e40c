package cursor

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"
	"time"

	"github.com/yorehq/yore/reader"
	"github.com/yorehq/yore/reader/jsonl"
	"github.com/yorehq/yore/reader/rows"
	"github.com/yorehq/yore/session"
)

// The editor keeps all its sessions, which it calls composers, in one table of
// keys and values that may hold gigabytes of other things:
//
//	composerData:<composer>          the order of its bubbles, status, name
//	bubbleId:<composer>:<bubble>     a prompt, an answer, or a tool call with its result
//
// So a list looks at keys alone, by the index over them, and values are fetched
// by key. A row that is written anew gets another row number, which, with how
// long it is, tells of a change without a look at the value.
const (
	table       = "cursorDiskKV"
	composerKey = "composerData:"
	bubbleKey   = "bubbleId:"
)

const (
	inline       = 256 << 10 // a longer bubble is read piece by piece
	mostComposer = 64 << 20  // a composer's own value, which early versions put all bubbles into
	abandoned    = time.Hour // after so long without a change nothing more comes of what is not finished
)

var _ reader.Shelver = (*Reader)(nil)

// ShelfStamp implements reader.Shelver.
func (*Reader) ShelfStamp(path string) (reader.Stamp, error) { return rows.StampOf(path) }

// openStore opens a view of the editor's database.
func openStore(ctx context.Context, file string) (*rows.DB, error) {
	if !rows.IsDatabase(file) {
		if _, err := reader.StatRegular(file); err != nil {
			return nil, err
		}
		return nil, reader.ErrNoShelf
	}
	db, err := rows.Open(ctx, file)
	if err != nil {
		return nil, shelfFault(file, err)
	}
	if !db.Has(table, "key", "value") {
		db.Close()
		return nil, reader.ErrNoShelf // an editor in which nobody has talked yet
	}
	return db, nil
}

// shelfFault turns a failure of the database into one of a reader.
func shelfFault(path string, err error) error {
	var p *reader.Problem
	switch {
	case errors.As(err, &p):
		return p
	case errors.Is(err, rows.ErrChanging):
		return reader.ErrRetry
	case errors.Is(err, rows.ErrNoDatabase):
		return reader.ErrNoShelf
	case errors.Is(err, rows.ErrDamaged), errors.Is(err, rows.ErrTooLong):
		return reader.Unreadable(path, 0, 0, "%s", err)
	}
	return err
}

// listing finds composers with what changes whenever they or their bubbles are
// written. The keys of the bubbles are all that is looked at of them.
const listing = `SELECT c.rowid, substr(c.key, 14), octet_length(c.value),
	(SELECT count(*) FROM cursorDiskKV AS b WHERE b.key >= 'bubbleId:' || substr(c.key, 14) || ':' AND b.key < 'bubbleId:' || substr(c.key, 14) || ';'),
	(SELECT max(b.rowid) FROM cursorDiskKV AS b WHERE b.key >= 'bubbleId:' || substr(c.key, 14) || ':' AND b.key < 'bubbleId:' || substr(c.key, 14) || ';')
	FROM cursorDiskKV AS c WHERE `

// entry is one composer as the list has it.
type entry struct {
	reader.Listed
	rowid, length, bubbles, latest int64
	head                           head
	idle                           bool // nothing more comes of what is not finished
}

// entries runs the list, or looks for one composer.
func (r *Reader) entries(ctx context.Context, db *rows.DB, id string) (all []entry, err error) {
	where, args := `c.key >= 'composerData:' AND c.key < 'composerData;'`, []any(nil)
	if id != "" {
		where, args = `c.key = ?`, []any{composerKey + id}
	}
	err = db.Each(ctx, listing+where, args, func(row rows.Row) error {
		e := entry{rowid: row.Int(0), length: row.Int(2), bubbles: row.Int(3), latest: row.Int(4)}
		e.Header = session.Header{Agent: session.Cursor, ID: session.ID(row.Text(1))}
		all = append(all, e)
		return nil
	})
	if err != nil {
		return nil, err
	}
	heads, err := headsOf(ctx, db, id)
	if err != nil {
		return nil, err
	}
	kept := all[:0]
	for _, e := range all {
		h, known := heads[string(e.Header.ID)]
		if e.bubbles == 0 || !known {
			v, err := fetch(ctx, db, table, composerKey+string(e.Header.ID), mostComposer)
			if err != nil {
				return nil, err
			}
			if e.bubbles == 0 && len(inlineOf(v.data)) == 0 {
				continue // opened, and nobody said anything
			}
			if !known {
				h = headOf(v.data)
			}
		}
		e.head = h
		r.complete(&e)
		kept = append(kept, e)
	}
	if !db.Steady() {
		return nil, rows.ErrChanging
	}
	return kept, nil
}

// complete makes the header and the stamp.
func (r *Reader) complete(e *entry) {
	h := &e.Header
	h.CreatedAt = e.head.created
	if e.head.parent != "" && e.head.parent != string(h.ID) {
		h.ParentSession, h.Origin, h.DelegationDepth = session.ID(e.head.parent), session.OriginSubagent, 1
	}
	updated := max(e.head.updated, e.head.created)
	e.idle = r.now().UnixMilli()-updated > abandoned.Milliseconds()
	e.Name = partName(h.ID)
	e.Stamp = reader.Stamp{
		Device: jsonl.Hash(0, fmt.Appendf(nil, "%d %d %d %d %d %t", e.rowid, e.length, e.bubbles, e.latest, e.head.updated, e.idle)),
		Inode:  jsonl.Hash(0, []byte(h.ID)), Size: e.length + e.bubbles, ModTime: updated * 1e6,
	}
	if err := h.Validate(); err != nil {
		e.Problem = reader.Unreadable("", 0, 0, "%s", err)
	}
}

// partName is an id as the name of a part.
func partName(id session.ID) string {
	return strings.NewReplacer("%", "%25", "/", "%2F").Replace(string(id))
}

func idOf(name string) session.ID {
	return session.ID(strings.NewReplacer("%2F", "/", "%25", "%").Replace(name))
}

// List implements reader.Shelver.
func (r *Reader) List(ctx context.Context, _, path string, each func(reader.Listed) error) error {
	db, err := openStore(ctx, path)
	if err != nil {
		return err
	}
	defer db.Close()
	all, err := r.entries(ctx, db, "")
	if err != nil {
		return shelfFault(path, err)
	}
	spaces := spacesBeside(path)
	for _, e := range all {
		e.Header.Cwd = spaces.folder(ctx, string(e.Header.ID), &e.head)
		if e.Problem != nil {
			e.Problem.Path = reader.PartPath(path, e.Name)
		}
		if err := each(e.Listed); err != nil {
			return err
		}
	}
	return ctx.Err()
}

// find looks for the composer of a source. It fails with an error that wraps
// fs.ErrNotExist if it is not there. Which workspace it belongs to stands
// elsewhere; what the list found of that is kept.
func (r *Reader) find(ctx context.Context, db *rows.DB, src reader.Source) (e entry, err error) {
	file, name := reader.SplitPart(src.Path)
	id := src.Header.ID
	if id == "" {
		id = idOf(name)
	}
	all, err := r.entries(ctx, db, string(id))
	switch {
	case err != nil:
		return e, shelfFault(src.Path, err)
	case len(all) == 0:
		return e, fmt.Errorf("the session is not in the database: %w", fs.ErrNotExist)
	}
	e = all[0]
	if src.Header != (session.Header{}) {
		e.Header.Cwd = src.Header.Cwd
	} else {
		e.Header.Cwd = spacesBeside(file).folder(ctx, string(id), &e.head)
	}
	if e.Problem != nil {
		e.Problem.Path = src.Path
		return e, e.Problem
	}
	return e, nil
}

// value is what stands behind a key.
type value struct {
	data    []byte // a JSON object; nil: none, or something else
	there   bool
	clipped bool
}

// fetch returns the value of a key of a table. Of one that is longer than most, long texts
// are cut and lists may end early.
func fetch(ctx context.Context, db *rows.DB, table, key string, most int64) (v value, err error) {
	rowid, length := int64(0), int64(-1)
	err = db.Each(ctx, `SELECT rowid, octet_length(value), CASE WHEN octet_length(value) <= ? THEN value END FROM `+table+` WHERE key = ?`,
		[]any{inline, key}, func(row rows.Row) error {
			rowid, v.data = row.Int(0), row.Bytes(2)
			if !row.Null(1) {
				length, v.there = row.Int(1), true
			}
			return nil
		})
	if err == nil && v.data == nil && length > 0 && length <= rows.Most {
		err = v.long(ctx, db, table, rowid, length <= most)
	}
	v.data = bytes.TrimSpace(v.data)
	if !jsonl.Valid(v.data) || !jsonl.IsObject(v.data) {
		v.data = nil
	}
	return v, err
}

// long reads a value piece by piece.
func (v *value) long(ctx context.Context, db *rows.DB, table string, rowid int64, whole bool) (err error) {
	if whole {
		v.data, err = db.Whole(ctx, table, "value", rowid, rows.Most)
		return err
	}
	blob, err := db.Value(ctx, table, "value", rowid)
	if err != nil {
		return err
	}
	defer blob.Close()
	line, err := jsonl.NewLines(rows.Line(blob), jsonl.Kept(3, 4)).Next()
	v.data, v.clipped = bytes.Clone(line.Text), line.Clipped
	if errors.Is(err, io.EOF) || line.Full {
		v.data, err = nil, nil
	}
	return err
}

// stored returns the bytes behind a key as they are.
func stored(ctx context.Context, db *rows.DB, key string) (text []byte, err error) {
	rowid, found := int64(0), false
	err = db.Each(ctx, `SELECT rowid FROM `+table+` WHERE key = ?`, []any{key}, func(row rows.Row) error {
		rowid, found = row.Int(0), true
		return nil
	})
	if err != nil || !found {
		return nil, err
	}
	return db.Whole(ctx, table, "value", rowid, reader.MostWhole)
}
