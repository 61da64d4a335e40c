package openclaw

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/yorehq/yore/reader"
	"github.com/yorehq/yore/reader/jsonl"
	"github.com/yorehq/yore/reader/rows"
	"github.com/yorehq/yore/session"
)

// maxDepth bounds how many spawners of a session are looked up.
const maxDepth = 64

// most is the longest text of a column beside a transcript that is read, in bytes.
const most = "500000"

// ShelfStamp implements reader.Shelver.
func (*Reader) ShelfStamp(path string) (reader.Stamp, error) { return rows.StampOf(path) }

// store is an open database.
type store struct {
	db   *rows.DB
	path string
	cold bool // there may be archived transcripts
	zstd bool // rows may be compressed
}

// entry is one session as the list has it.
type entry struct {
	reader.Listed
	key        string // of the chat or task that it is a window of
	generation string
	title      string
	last       int64 // seq of the last row; -1: none
	archive    archive
}

// archive is where a transcript went that was moved out of the rows; the zero
// value: it was not.
type archive struct {
	name, sum string
	inside    bool  // the bytes are in the row
	rowid     int64 // of it
	bytes     int64
}

// openStore opens a view of a database with the tables that are needed.
func openStore(ctx context.Context, path string) (*store, error) {
	db, err := rows.Open(ctx, path)
	if err != nil {
		return nil, faultOf(path, err)
	}
	if !db.Has("transcript_events", "session_id", "seq", "event_json", "created_at") {
		db.Close()
		return nil, reader.Unreadable(path, 0, 0, "the database does not have the tables of this agent")
	}
	return &store{
		db: db, path: path, zstd: db.Has("transcript_events", "event_zstd", "event_utf8_bytes"),
		cold: db.Has("session_transcript_cold_archives", "session_id", "generation", "archive_name", "archive_sha256", "archive_bytes", "last_seq", "storage", "archive_blob"),
	}, nil
}

// faultOf turns a failure of the database into one of a reader.
func faultOf(path string, err error) error {
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

// listing finds sessions: the windows of the agent's chats and tasks, each with
// what its chat says of it. Tables and columns of releases that do not have them
// give NULL.
func (s *store) listing() string {
	column := func(table, alias, name string) string {
		switch {
		case !s.db.Has(table, name):
			return `NULL`
		case name == "entry_json":
			return `CASE WHEN octet_length(` + alias + `.entry_json) < ` + most + ` THEN ` + alias + `.entry_json END`
		}
		return alias + `.` + name
	}
	window, from := "session_windows", ` FROM session_windows AS w`
	switch {
	case s.db.Has(window, "session_id", "session_key", "created_at"):
	case s.db.Has("sessions", "session_id", "session_key", "created_at"):
		window, from = "sessions", ` FROM sessions AS w`
	default:
		window, from = "", ` FROM (SELECT DISTINCT session_id FROM transcript_events) AS w`
	}
	node := "session_nodes"
	switch {
	case window == "":
		node = ""
	case s.db.Has(node, "session_key", "current_session_id", "entry_json"):
		from += ` LEFT JOIN session_nodes AS n ON n.session_key = w.session_key`
	case s.db.Has("session_entries", "session_key", "session_id", "entry_json"):
		node = "session_entries"
		from += ` LEFT JOIN session_entries AS n ON n.session_key = w.session_key`
	default:
		node = ""
	}
	var b strings.Builder
	b.WriteString(`SELECT w.session_id`)
	for _, name := range []string{"session_key", "created_at", "updated_at", "previous_session_id", "reason", "spawned_by", "display_name"} {
		b.WriteString(`, ` + column(window, "w", name))
	}
	for _, name := range []string{"spawned_by", "fork_source_session_id", "label", "display_name", "entry_json"} {
		b.WriteString(`, ` + column(node, "n", name))
	}
	if s.db.Has("transcript_rewrite_watermarks", "session_id", "generation") {
		b.WriteString(`, (SELECT g.generation FROM transcript_rewrite_watermarks AS g WHERE g.session_id = w.session_id)`)
	} else {
		b.WriteString(`, NULL`)
	}
	b.WriteString(`, (SELECT max(t.seq) FROM transcript_events AS t WHERE t.session_id = w.session_id)`)
	written := `, (SELECT t.created_at FROM transcript_events AS t WHERE t.session_id = w.session_id ORDER BY t.seq DESC LIMIT 1)`
	if s.cold {
		b.WriteString(`, c.rowid, c.generation, c.archive_name, c.archive_sha256, c.storage, c.archive_bytes, c.last_seq`)
		from += ` LEFT JOIN session_transcript_cold_archives AS c ON c.session_id = w.session_id`
	} else {
		b.WriteString(`, NULL, NULL, NULL, NULL, NULL, NULL, NULL`)
	}
	b.WriteString(written)
	return b.String() + from
}

// lineage is what a row says of where a session comes from.
type lineage struct {
	spawner           string // key of a chat or task
	fork              string // id of a session
	created           int64
	previous          string
	continues, forked bool
	untold            bool // it continues if it has entries of the previous one
}

// entryOf makes a session of a row of the list, but for what its transcript says.
func (s *store) entryOf(row rows.Row) (entry, lineage) {
	e := entry{key: row.Text(1), last: -1}
	h := &e.Header
	*h = session.Header{Agent: session.OpenClaw, ID: session.ID(row.Text(0)), CreatedAt: row.Int(2)}
	e.Name = partName(h.ID)
	reason := row.Text(5)
	l := lineage{
		spawner: row.Text(6), fork: row.Text(9), created: row.Int(2), previous: row.Text(4),
		continues: reason == "rewind" || reason == "compaction" || reason == "recovery", forked: reason == "fork" || reason == "initial",
	}
	if reason == "" { // 2026.9 has the column and does not fill it
		l.untold = l.previous != ""
		l.continues, l.forked = l.untold, !l.untold
	}
	if l.spawner == "" {
		l.spawner = row.Text(8)
	}
	e.title = titleIn([]byte(`{}`))
	list := row.Text(12)
	if !jsonl.Valid([]byte(list)) || !jsonl.IsObject([]byte(list)) {
		list = "{}"
	}
	for _, title := range []string{row.Text(10), row.Text(11), titleIn([]byte(list)), row.Text(7)} {
		if e.title = headline(title); e.title != "" {
			break
		}
	}
	if e.generation = row.Text(13); e.generation == "" {
		e.generation = row.Text(16)
	}
	if row.IsInt(14) {
		e.last = row.Int(14)
	}
	if e.last < 0 && row.IsText(17) {
		e.archive = archive{name: row.Text(17), sum: row.Text(18), inside: row.Text(19) == "sqlite", rowid: row.Int(15), bytes: row.Int(20)}
		e.last = row.Int(21)
	}
	updated := max(row.Int(3), row.Int(22), h.CreatedAt)
	e.Stamp = reader.Stamp{
		Device: jsonl.Hash(0, fmt.Appendf(nil, "%q %d %q %q", e.generation, e.last, e.archive.name, e.title)),
		Inode:  jsonl.Hash(0, []byte(h.ID)), Size: e.last + 1, ModTime: updated * 1e6,
	}
	if !row.IsText(0) {
		e.Problem = reader.Unreadable(s.path, 0, 0, "the id of a session is no text")
	}
	return e, l
}

// complete adds what other rows say: where the session comes from, and what the
// first entry of its transcript states. window finds the window that a key had at
// a time.
func (s *store) complete(ctx context.Context, e *entry, l lineage, window func(key string, at int64) (id, spawner string)) error {
	h := &e.Header
	for spawner, at := l.spawner, l.created; spawner != "" && h.DelegationDepth < maxDepth; h.DelegationDepth++ {
		h.Origin = session.OriginSubagent
		var id string
		if id, spawner = window(spawner, at); h.DelegationDepth == 0 {
			h.ParentSession = session.ID(id)
		}
	}
	switch {
	case h.ParentSession != "":
	case l.forked && l.fork != "":
		h.ParentSession = session.ID(l.fork)
	case l.continues:
		h.ParentSession = session.ID(l.previous)
	}
	if h.ParentSession == h.ID {
		h.ParentSession = ""
	}
	first, err := s.first(ctx, *e)
	var p *reader.Problem
	switch {
	case errors.As(err, &p):
		e.Problem = p
	case err != nil:
		return err
	default:
		var stated session.Header
		headerOf(first, &stated)
		h.Cwd = stated.Cwd
		if h.CreatedAt == 0 {
			h.CreatedAt = stated.CreatedAt
		}
	}
	if h.ParentSession != "" && h.Origin == "" && e.Problem == nil {
		if h.SeedLength, err = s.seed(ctx, *e); err != nil {
			return err
		}
		if l.untold && h.SeedLength == 0 {
			h.ParentSession = ""
		}
	}
	if err := h.Validate(); err != nil && e.Problem == nil {
		e.Problem = reader.Unreadable(reader.PartPath(s.path, e.Name), 0, 0, "%s", err)
	}
	return nil
}

func headline(title string) string { return strings.Join(strings.Fields(title), " ") }

// partName is an id as the name of a part.
func partName(id session.ID) string {
	return strings.NewReplacer("%", "%25", "/", "%2F").Replace(string(id))
}

func idOf(src reader.Source) session.ID {
	if src.Header.ID != "" {
		return src.Header.ID
	}
	_, name := reader.SplitPart(src.Path)
	return session.ID(strings.NewReplacer("%2F", "/", "%25", "%").Replace(name))
}

// span is one window of a chat or task.
type span struct {
	id, spawner string
	created     int64
}

// windowIn finds the latest span that had begun at a time, or else the first.
func windowIn(all []span, at int64) (id, spawner string) {
	var best *span
	for i := range all {
		if w := &all[i]; best == nil || w.created <= at && (w.created >= best.created || best.created > at) {
			best = w
		}
	}
	if best == nil {
		return "", ""
	}
	return best.id, best.spawner
}

// List implements reader.Shelver. A window without a row is none yet.
func (r *Reader) List(ctx context.Context, _, path string, each func(reader.Listed) error) error {
	s, err := openStore(ctx, path)
	if err != nil {
		return err
	}
	defer s.db.Close()
	var all []entry
	var from []lineage
	spans := map[string][]span{}
	err = s.db.Each(ctx, s.listing(), nil, func(row rows.Row) error {
		e, l := s.entryOf(row)
		spans[e.key] = append(spans[e.key], span{string(e.Header.ID), l.spawner, l.created})
		all, from = append(all, e), append(from, l)
		return nil
	})
	for i := range all {
		if err != nil {
			break
		}
		if all[i].last >= 0 {
			err = s.complete(ctx, &all[i], from[i], func(key string, at int64) (string, string) { return windowIn(spans[key], at) })
		}
	}
	if err == nil && !s.db.Steady() {
		err = rows.ErrChanging
	}
	if err != nil {
		return faultOf(path, err)
	}
	for _, e := range all {
		if e.last < 0 && e.Problem == nil {
			continue
		}
		if err := each(e.Listed); err != nil {
			return err
		}
	}
	return nil
}

// find looks for a session. It fails with an error that wraps fs.ErrNotExist if it
// is not there.
func (s *store) find(ctx context.Context, id session.ID) (e entry, err error) {
	found := false
	var l lineage
	err = s.db.Each(ctx, s.listing()+` WHERE w.session_id = ?`, []any{string(id)}, func(row rows.Row) error {
		e, l = s.entryOf(row)
		found = true
		return nil
	})
	if err == nil && found && e.last >= 0 {
		var failure error
		err = s.complete(ctx, &e, l, func(key string, at int64) (string, string) {
			var spans []span
			failure = errors.Join(failure, s.db.Each(ctx, s.listing()+` WHERE w.session_key = ?`, []any{key}, func(row rows.Row) error {
				e, l := s.entryOf(row)
				spans = append(spans, span{string(e.Header.ID), l.spawner, l.created})
				return nil
			}))
			return windowIn(spans, at)
		})
		err = errors.Join(err, failure)
	}
	switch {
	case err != nil:
		return e, faultOf(s.path, err)
	case !found || e.last < 0:
		return e, fmt.Errorf("the session is not in the database: %w", fs.ErrNotExist)
	case e.Problem != nil:
		return e, e.Problem
	}
	return e, nil
}

// identifyRow is Identify for a session of a database.
func (*Reader) identifyRow(ctx context.Context, root, path string) (session.Header, error) {
	s, err := openStore(ctx, reader.FileOf(path))
	if err != nil {
		return session.Header{Agent: session.OpenClaw}, err
	}
	defer s.db.Close()
	e, err := s.find(ctx, idOf(reader.Source{Root: root, Path: path}))
	return e.Header, err
}
