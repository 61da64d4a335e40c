package opencode

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"time"

	"github.com/yorehq/yore/reader"
	"github.com/yorehq/yore/reader/jsonl"
	"github.com/yorehq/yore/reader/rows"
	"github.com/yorehq/yore/session"
)

// abandoned is after how long without a change an unfinished answer is taken for
// all that there will be of it: its process was killed.
const abandoned = time.Hour

// maxDepth bounds how many parents of a session are looked up.
const maxDepth = 64

// ShelfStamp implements reader.Shelver.
func (*Reader) ShelfStamp(path string) (reader.Stamp, error) { return rows.StampOf(path) }

// entry is one session as the list has it.
type entry struct {
	reader.Listed
	rowid  int64
	title  string
	app    string // the version that made it
	revert string // JSON; "": none
	idle   bool   // an unfinished answer at its end is abandoned

	updated int64 // epoch milliseconds
	files   bool  // it is kept in a tree
	tree    state // what a tree adds to the state of a position
}

// openStore opens a view of a database with the tables that are needed.
func openStore(ctx context.Context, file string) (*rows.DB, error) {
	db, err := rows.Open(ctx, file)
	if err != nil {
		return nil, shelfFault(file, err)
	}
	if !db.Has("session", "id", "parent_id", "directory", "title", "version", "time_created", "time_updated") ||
		!db.Has("message", "id", "session_id", "time_created", "data") || !db.Has("part", "id", "message_id", "time_updated", "data") {
		db.Close()
		return nil, reader.Unreadable(file, 0, 0, "the database does not have the tables of this agent")
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
	case errors.Is(err, rows.ErrNoDatabase), errors.Is(err, rows.ErrDamaged), errors.Is(err, rows.ErrTooLong):
		return reader.Unreadable(path, 0, 0, "%s", err)
	}
	return err
}

// listing finds sessions. What changes with a session's rows: the number of its
// events where the agent keeps them, how many messages it has, when the last one
// was updated, whether that is an unfinished answer, the title, the revert.
func listing(db *rows.DB) string {
	events, join, revert, updated, later := `NULL`, ``, `NULL`, `m.time_created`, `0`
	if db.Has("event_sequence", "aggregate_id", "seq") {
		events, join = `e.seq`, ` LEFT JOIN event_sequence AS e ON e.aggregate_id = s.id`
	}
	if db.Has("session", "revert") {
		revert = `CASE WHEN octet_length(s.revert) < 500000 THEN s.revert END`
	}
	if db.Has("message", "time_updated") {
		updated = `m.time_updated`
	}
	if db.Has("session_message", "session_id") {
		later = `(SELECT count(*) FROM session_message AS n WHERE n.session_id = s.id)`
	}
	last := func(what string) string {
		return `(SELECT ` + what + ` FROM message AS m WHERE m.session_id = s.id ORDER BY m.time_created DESC, m.id DESC LIMIT 1)`
	}
	return `SELECT s.rowid, s.id, s.parent_id, s.directory, s.title, s.version, s.time_created, s.time_updated, ` + revert + `, ` + events + `,
		(SELECT count(*) FROM message AS m WHERE m.session_id = s.id), ` + last(updated) + `, ` +
		last(`CASE WHEN octet_length(m.data) < 500000 AND json_valid(m.data) THEN
			json_extract(m.data, '$.role') = 'assistant' AND json_extract(m.data, '$.time.completed') IS NULL END`) + `, ` + later + `
		FROM session AS s` + join
}

// entryOf makes a session of a row of the list.
func (r *Reader) entryOf(row rows.Row, file string) (e entry, parent string) {
	h := &e.Header
	*h = session.Header{Agent: r.agent, ID: session.ID(row.Text(1)), CreatedAt: row.Int(6), Cwd: row.Text(3), ParentSession: session.ID(row.Text(2))}
	if h.ParentSession != "" {
		h.Origin, h.DelegationDepth = session.OriginSubagent, 1
	}
	e.rowid, e.title, e.app, e.revert = row.Int(0), row.Text(4), row.Text(5), row.Text(8)
	e.Name = partName(h.ID)
	updated := max(row.Int(7), row.Int(11), h.CreatedAt)
	e.updated = updated
	e.idle = row.Int(12) == 1 && r.now().UnixMilli()-updated > abandoned.Milliseconds()
	e.Stamp = reader.Stamp{
		Device: jsonl.Hash(0, fmt.Appendf(nil, "%d %d %d %d %t %q %q", row.Int(7), row.Int(9), row.Int(10), row.Int(11), e.idle, e.title, e.revert)),
		Inode:  jsonl.Hash(0, []byte(h.ID)), Size: max(row.Int(9), row.Int(10)), ModTime: updated * 1e6,
	}
	err := h.Validate()
	reason := ""
	switch {
	case err != nil:
		reason = err.Error()
	case !row.IsText(1) || !row.IsText(3) || !row.IsInt(6):
		reason = "a value of the session's row is of another kind"
	case row.Int(10) == 0 && row.Int(13) > 0:
		reason = "the session is kept in the tables of a later version, which are not read"
	}
	if reason != "" {
		e.Problem = reader.Unreadable(reader.PartPath(file, e.Name), 0, 0, "%s", reason)
	}
	return e, string(h.ParentSession)
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
	var all []entry
	parents := map[string]string{}
	err = db.Each(ctx, listing(db), nil, func(row rows.Row) error {
		e, parent := r.entryOf(row, path)
		all = append(all, e)
		parents[string(e.Header.ID)] = parent
		return nil
	})
	if err == nil && !db.Steady() {
		err = rows.ErrChanging
	}
	if err != nil {
		return shelfFault(path, err)
	}
	for _, e := range all {
		depth := int64(0)
		for id := string(e.Header.ID); parents[id] != "" && depth < maxDepth; id = parents[id] {
			depth++
		}
		e.Header.DelegationDepth = depth
		if err := each(e.Listed); err != nil {
			return err
		}
	}
	return nil
}

// find looks for the session of a source. It fails with an error that wraps
// fs.ErrNotExist if the session is not there.
func (r *Reader) find(ctx context.Context, db *rows.DB, src reader.Source) (e entry, err error) {
	file, name := reader.SplitPart(src.Path)
	id := src.Header.ID
	if id == "" {
		id = idOf(name)
	}
	found, parent := false, ""
	err = db.Each(ctx, listing(db)+` WHERE s.id = ?`, []any{string(id)}, func(row rows.Row) error {
		e, parent = r.entryOf(row, file)
		found = true
		return nil
	})
	depth := int64(0)
	for err == nil && parent != "" && depth < maxDepth {
		depth++
		above := ""
		err = db.Each(ctx, `SELECT parent_id FROM session WHERE id = ?`, []any{parent}, func(row rows.Row) error {
			above = row.Text(0)
			return nil
		})
		parent = above
	}
	e.Header.DelegationDepth = depth
	switch {
	case err != nil:
		return e, shelfFault(src.Path, err)
	case !found:
		return e, fmt.Errorf("the session is not in the database: %w", fs.ErrNotExist)
	case e.Problem != nil:
		return e, e.Problem
	}
	return e, nil
}
