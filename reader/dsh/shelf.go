package dsh

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strconv"
	"unicode/utf16"

	"github.com/yorehq/yore/fault"
	"github.com/yorehq/yore/reader"
	"github.com/yorehq/yore/reader/jsonl"
	"github.com/yorehq/yore/reader/rows"
	"github.com/yorehq/yore/session"
)

var _ reader.Shelver = (*Reader)(nil)

// ShelfStamp implements reader.Shelver.
func (*Reader) ShelfStamp(path string) (reader.Stamp, error) { return rows.StampOf(path) }

// listing finds the sessions of a database, or one of them. The time of a
// session is that of its last record.
const listing = `SELECT s.id, s.version, s.created_at, s.cwd, s.parent_session, s.seed_length, s.origin, s.delegation_depth,
	s.agent_preset, s.incarnation, s.revision, (SELECT e.time FROM events AS e WHERE e.session_id = s.id ORDER BY e.seq DESC LIMIT 1)
	FROM sessions AS s`

// List implements reader.Shelver.
func (*Reader) List(ctx context.Context, _, path string, each func(reader.Listed) error) error {
	if !rows.IsDatabase(path) {
		return reader.ErrNoShelf
	}
	db, err := rows.Open(ctx, path)
	if err != nil {
		return shelfFault(path, err)
	}
	defer db.Close()
	if err := check17(db); err != nil {
		return shelfFault(path, err)
	}
	store, err := storeID(ctx, db)
	if err != nil {
		return shelfFault(path, err)
	}
	var all []reader.Listed
	err = db.Each(ctx, listing, nil, func(r rows.Row) error {
		l, _ := listed(r, store)
		if l.Problem != nil {
			l.Problem.Path = reader.PartPath(path, l.Name)
		}
		all = append(all, l)
		return nil
	})
	if err == nil && !db.Steady() {
		err = rows.ErrChanging
	}
	if err != nil {
		return shelfFault(path, err)
	}
	for _, l := range all {
		if err := each(l); err != nil {
			return err
		}
	}
	return nil
}

// storeID returns the name that a database gives itself.
func storeID(ctx context.Context, db *rows.DB) (store string, err error) {
	if !db.Has("persistence_state", "store_id") {
		return "", nil
	}
	err = db.Each(ctx, `SELECT store_id FROM persistence_state LIMIT 1`, nil, func(r rows.Row) error {
		store = r.Text(0)
		return nil
	})
	return store, err
}

// oneOf finds one session.
func oneOf(ctx context.Context, db *rows.DB, id string) (l reader.Listed, state tableState, err error) {
	store, err := storeID(ctx, db)
	found := false
	if err == nil {
		err = db.Each(ctx, listing+` WHERE s.id = ?`, []any{id}, func(r rows.Row) error {
			l, state = listed(r, store)
			found = true
			return nil
		})
	}
	if err == nil && !found {
		err = fmt.Errorf("the session is not in the database: %w", fs.ErrNotExist)
	}
	return l, state, err
}

// listed makes a session of a row of the listing.
func listed(r rows.Row, store string) (l reader.Listed, state tableState) {
	h := &l.Header
	*h = session.Header{
		Agent: session.DSH, ID: session.ID(r.Text(0)), Version: r.Int(1), CreatedAt: r.Int(2), Cwd: r.Text(3), ParentSession: session.ID(r.Text(4)),
		SeedLength: r.Int(5), Origin: r.Text(6), DelegationDepth: r.Int(7), AgentPreset: r.Text(8),
	}
	l.Name = encodeSegment(utf16.Encode([]rune(r.Text(0))))
	state = tableState{store + "/" + r.Text(9), r.Int(10)}
	l.Stamp = reader.Stamp{
		Device: jsonl.Hash(0, []byte(state.Incarnation)), Inode: jsonl.Hash(0, []byte(h.ID)), Size: state.Revision, ModTime: max(r.Int(11), h.CreatedAt) * 1e6,
	}
	reason := ""
	for i, text := range [...]bool{true, false, false, true, true, false, true, false, true, true, false} {
		if !r.Null(i) && (text && !r.IsText(i) || !text && !r.IsInt(i)) {
			reason = "a value of the session's row is of another kind"
		}
	}
	switch err := h.Validate(); {
	case reason != "":
	case !r.IsInt(1):
		reason = "the session has no numeric version"
	case !r.IsInt(2):
		reason = "createdAt is no safe non-negative integer"
	case err != nil:
		reason = err.Error()
	case r.Text(9) == "" || !r.IsInt(10):
		reason = "the session's row does not say which state it is in"
	}
	if reason != "" {
		l.Problem = reader.Unreadable("", 0, 0, "%s", reason)
	}
	return l, state
}

// decodeSegment is the inverse of encodeSegment.
func decodeSegment(name string) string {
	var units []uint16
	for i := 0; i < len(name); {
		if name[i] == '~' && i+5 <= len(name) {
			if v, err := strconv.ParseUint(name[i+1:i+5], 16, 16); err == nil {
				units = append(units, uint16(v))
				i += 5
				continue
			}
		}
		units = append(units, uint16(name[i]))
		i++
	}
	return string(utf16.Decode(units))
}

func onShelf(src reader.Source) bool { return reader.FileOf(src.Path) != src.Path }

// reviseRow is Revise for a session in a database. Records are only added to an
// incarnation of a session; that the last one which was read is still the same
// one is looked at all the same.
func reviseRow(ctx context.Context, src reader.Source, at reader.Position) (reader.Revision, reader.Stamp, error) {
	t, _, err := openTable(ctx, src)
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, reader.ErrNoShelf):
		return reader.Gone, reader.Stamp{}, nil
	case err != nil:
		return reader.Replaced, reader.Stamp{}, err
	}
	defer t.close()
	st, err := parseState(at.State)
	switch {
	case err != nil || st.Table == nil:
		return reader.Replaced, t.stamp, nil
	case t.stamp == at.Stamp:
		return reader.Unchanged, t.stamp, nil
	case st.Table.Incarnation != t.state.Incarnation:
		return reader.Replaced, t.stamp, nil
	}
	check, ok, err := t.last(ctx, at.Offset)
	switch {
	case err != nil:
		return reader.Replaced, t.stamp, err
	case !t.db.Steady():
		return reader.Replaced, t.stamp, reader.ErrRetry
	case at.Offset > 0 && (!ok || check != at.Check):
		return reader.Replaced, t.stamp, nil
	}
	return reader.Grown, t.stamp, nil
}

// readRows is Read for a session in a database.
func readRows(ctx context.Context, src reader.Source, from reader.Position, emit func(session.Event) error) (reader.Tail, error) {
	t, h, err := openTable(ctx, src)
	if errors.Is(err, reader.ErrRetry) {
		from.Stamp = reader.Stamp{}
		return reader.Tail{Position: from}, nil // nothing for now
	}
	if err != nil {
		return reader.Tail{}, err
	}
	defer func() { t.close() }()
	if src.Header != (session.Header{}) && src.Header != h {
		return reader.Tail{}, reader.Unreadable(src.Path, 1, 0, "the header is not the one that was identified")
	}
	if err := readable(h, src.Path); err != nil {
		return reader.Tail{}, err
	}
	d := NewDecoder(h)
	if from.Offset > 0 {
		if d.st, err = parseState(from.State); err != nil {
			return reader.Tail{}, fmt.Errorf("%w: the state of a position in %s: %w", fault.Persistence, src.Path, err)
		}
		d.next = from.Next
	}
	s := tableSource(t, mark{offset: from.Offset}, d.st.Line)
	d.st.Tear = nil
	tail, err := d.readAll(ctx, s, emit)
	if err != nil {
		return reader.Tail{}, err
	}
	p := &tail.Position
	if check, ok, err := t.last(ctx, p.Offset); err == nil && ok && t.db.Steady() {
		p.Check = check
	} else {
		t.torn = true // the next Revise finds no check and has it read anew
	}
	d.st.Tear, d.st.Table = nil, &t.state
	p.Next, p.Stamp = d.next, t.stamp
	if t.torn {
		p.Stamp = reader.Stamp{}
	}
	if p.State, err = json.Marshal(&d.st); err != nil {
		return reader.Tail{}, fmt.Errorf("state of %s: %w", src.Path, err)
	}
	if s.stop || t.torn {
		return tail, nil // not the end: nothing is to be closed
	}
	for _, c := range d.st.closers(d.next) {
		tail.Closers = append(tail.Closers, c.Event)
	}
	return tail, nil
}

// windowRows is Window for a session in a database.
func windowRows(ctx context.Context, src reader.Source, at session.Checkpoint, from, to int64, natives session.Range, emit func(session.Raw) error) (session.Header, error) {
	t, h, err := openTable(ctx, src)
	if err != nil {
		return h, err
	}
	defer func() { t.close() }()
	if err := readable(h, src.Path); err != nil {
		return h, err
	}
	w := window{table: t, path: src.Path, header: h, from: from, to: to, natives: natives}
	if at.Place == (session.Place{}) {
		at.Seq = 0
	}
	err = w.read(ctx, at, emit)
	if err == nil && t.torn {
		err = reader.ErrRetry
	}
	return h, err
}

// tableSource yields the rows of a session from a mark on.
func tableSource(t *table, at mark, number int64) *source {
	t.queue, t.ended = nil, false
	return &source{path: t.path, table: t, at: at, number: number, lines: jsonl.NewLines(nil, kept())}
}

// wholeRow returns the line of a row that has so many bytes.
func (t *table) wholeRow(ctx context.Context, seq, length int64) ([]byte, error) {
	if err := t.fetch(ctx, seq); err != nil {
		return nil, err
	}
	queue := t.queue
	t.queue, t.ended = nil, false
	if len(queue) == 0 || queue[0].seq != seq {
		return nil, reader.Unreadable(t.path, 0, seq, "a row is not there any more")
	}
	stream, closing, err := t.stream(ctx, &queue[0])
	if err != nil {
		return nil, shelfFault(t.path, err)
	}
	defer closing()
	text, err := reader.Room(t.path, 0, length)
	if err != nil {
		return nil, err
	}
	_, err = io.ReadFull(stream, text)
	if (err == nil || errors.Is(err, io.ErrUnexpectedEOF)) && !t.db.Steady() {
		err = reader.ErrRetry
	}
	if err != nil {
		return nil, shelfFault(t.path, err)
	}
	return text, nil
}
