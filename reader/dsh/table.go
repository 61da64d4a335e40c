package dsh

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"

	"github.com/yorehq/yore/reader"
	"github.com/yorehq/yore/reader/jsonl"
	"github.com/yorehq/yore/reader/rows"
	"github.com/yorehq/yore/session"
)

// DSH's other backend keeps the same records in SQLite. A row is put together to
// the line that the JSONL backend would have written, and from there on
// everything is as it is with lines; a mark's offset is then the seq of the next
// row.

// What marks a database as DSH's.
const (
	applicationID = 0x44534850 // "DSHP"
	schema        = 17
)

const (
	chunkRows  = 512     // of one query
	chunkBytes = 2 << 20 // of data, that a query ends behind
	tries      = 5       // to read on after the database was written over
)

// tableState is what a position in a database keeps: which incarnation of the
// session it is in.
type tableState struct {
	Incarnation string `json:"incarnation"`
	Revision    int64  `json:"revision"`
}

// table yields the rows of one session as lines.
type table struct {
	path  string
	id    string
	db    *rows.DB
	state tableState // as first seen; another incarnation ends the reading
	stamp reader.Stamp
	queue []row17
	ended bool // the last query gave fewer rows than it asked for
	torn  bool // it could not be read on: the database is being rewritten
	text  *frameText
	out   *reader.Inflation // of all rows
	lines *jsonl.Lines
}

// row17 is a row of the table events.
type row17 struct {
	seq, time    int64
	rowid        int64 // of a long value
	typ          string
	data         []byte // nil: long
	blob, packed bool
	ignorable    bool
	op           string
	sources      []byte
	cites        bool
	bad          string // why it cannot be a row of the format
}

// openTable opens a view of a database and finds the session in it. It fails
// with reader.ErrNoShelf where there is no database of DSH's, and with an error
// that wraps fs.ErrNotExist where there is no session.
func openTable(ctx context.Context, src reader.Source) (*table, session.Header, error) {
	file, name := reader.SplitPart(src.Path)
	t := &table{path: src.Path, id: string(src.Header.ID), out: reader.NewInflation()}
	if t.id == "" {
		t.id = decodeSegment(name)
	}
	if err := t.open(ctx, file); err != nil {
		t.close()
		return nil, session.Header{}, err
	}
	l, state, err := oneOf(ctx, t.db, t.id)
	if err == nil && l.Problem != nil {
		l.Problem.Path = src.Path
		err = l.Problem
	}
	if err == nil && !t.db.Steady() {
		err = reader.ErrRetry
	}
	t.state, t.stamp = state, l.Stamp
	if err != nil {
		t.close()
		return nil, l.Header, shelfFault(src.Path, err)
	}
	return t, l.Header, nil
}

func (t *table) open(ctx context.Context, file string) (err error) {
	if t.db, err = rows.Open(ctx, file); err == nil {
		err = check17(t.db)
	}
	return shelfFault(file, err)
}

func (t *table) close() {
	if t.text != nil {
		t.text.Close()
	}
	if t.db != nil {
		t.db.Close()
	}
}

// check17 refuses databases of others and of another schema.
func check17(db *rows.DB) error {
	application, version := db.Marks()
	switch {
	case application != applicationID:
		return reader.ErrNoShelf
	case version != schema:
		return reader.Unreadable("", 0, 0, "version %d of the database's schema is not known", version)
	case !db.Has("sessions", "id", "version", "created_at", "cwd", "parent_session", "seed_length", "origin", "delegation_depth", "agent_preset", "incarnation", "revision"),
		!db.Has("events", "session_id", "seq", "type", "time", "data", "source_event_seqs", "surface_op", "ignorable"):
		return reader.Unreadable("", 0, 0, "the database does not have the tables of its schema")
	}
	return nil
}

// shelfFault turns a failure of the database into one of a reader.
func shelfFault(path string, err error) error {
	var p *reader.Problem
	switch {
	case errors.As(err, &p) && p.Path == "":
		p.Path = path
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

// next yields the next row as a line; io.EOF at the end, or where the database
// could not be read on for now.
func (t *table) next(ctx context.Context, s *source) (record, error) {
	for range tries {
		if err := ctx.Err(); err != nil {
			return record{}, err
		}
		if len(t.queue) == 0 {
			if t.ended || s.stop {
				return record{}, io.EOF
			}
			switch err := t.fetch(ctx, s.at.offset); {
			case errors.Is(err, reader.ErrRetry):
				if err := t.again(ctx); err != nil {
					return record{}, t.give(err)
				}
				continue
			case err != nil:
				return record{}, err
			}
			continue
		}
		if s.stop {
			return record{}, io.EOF
		}
		r := &t.queue[0]
		line, err := t.line(ctx, r)
		if err != nil && shelfFault(t.path, err) == reader.ErrRetry {
			t.queue = nil
			if err := t.again(ctx); err != nil {
				return record{}, t.give(err)
			}
			continue
		}
		var bad *failure
		if errors.As(err, &bad) {
			return record{}, bad.problem(t.path, 0, r.seq)
		}
		if err != nil {
			return record{}, shelfFault(t.path, err)
		}
		t.queue = t.queue[1:]
		if s.number != unknown {
			s.number++
		}
		rec := record{Line: line, number: max(s.number, 0), before: s.at, place: session.Place{Part: 1, Offset: r.seq}}
		s.at.offset = r.seq + 1
		s.bytes += line.End - line.Start
		return rec, nil
	}
	return record{}, t.give(reader.ErrRetry)
}

// give ends a reading that cannot go on for now.
func (t *table) give(err error) error {
	if errors.Is(err, reader.ErrRetry) {
		t.torn = true
		return io.EOF
	}
	return err
}

// again opens the database anew, for it was written over.
func (t *table) again(ctx context.Context) error {
	file, _ := reader.SplitPart(t.path)
	t.db.Close()
	t.db = nil
	if err := t.open(ctx, file); err != nil {
		return err
	}
	_, state, err := oneOf(ctx, t.db, t.id)
	if err == nil && state.Incarnation != t.state.Incarnation {
		err = reader.ErrRetry // another log stands in its place; what was read of this one is no use
	}
	return shelfFault(t.path, err)
}

// fetch takes the next rows.
func (t *table) fetch(ctx context.Context, from int64) error {
	var got []row17
	bytes := 0
	full := errors.New("enough")
	err := t.db.Each(ctx, `SELECT seq, type, time, ignorable, surface_op, source_event_seqs, octet_length(data),
		typeof(data), CASE WHEN octet_length(data) <= ? THEN data END FROM events WHERE session_id = ? AND seq >= ? ORDER BY seq LIMIT ?`,
		[]any{rows.Inline / 2, t.id, from, chunkRows}, func(r rows.Row) error {
			e := row17{seq: r.Int(0), typ: r.Text(1), time: r.Int(2), op: r.Text(4), cites: !r.Null(5), sources: r.Bytes(5), blob: r.Text(7) == "blob"}
			e.data = r.Bytes(8)
			flag := r.Int(3)
			e.packed, e.ignorable = r.IsInt(3) && flag == 0, r.IsInt(3) && flag == 1
			switch {
			case !r.IsInt(0) || !r.IsInt(2) || !r.IsText(1):
				e.bad = "a row's seq, time or type is of another kind"
			case !r.Null(3) && flag != 0 && flag != 1 || !r.Null(3) && !r.IsInt(3):
				e.bad = "ignorable is something else than 0 or 1"
			case !r.Null(4) && !r.IsText(4) || e.cites && !r.IsBlob(5):
				e.bad = "a row's operation or sources are of another kind"
			case e.packed && (e.cites || !r.Null(4)):
				e.bad = "a packed row has an operation or sources"
			case e.data == nil && r.Text(7) != "text" && r.Text(7) != "blob":
				e.bad = "a row's data is neither text nor blob"
			}
			got = append(got, e)
			if bytes += len(e.data); bytes >= chunkBytes {
				return full
			}
			return nil
		})
	if err != nil && err != full {
		return shelfFault(t.path, err)
	}
	for i := range got {
		if got[i].data == nil && got[i].bad == "" {
			if err := t.db.Each(ctx, `SELECT rowid FROM events WHERE session_id = ? AND seq = ?`, []any{t.id, got[i].seq}, func(r rows.Row) error {
				got[i].rowid = r.Int(0)
				return nil
			}); err != nil {
				return shelfFault(t.path, err)
			}
		}
	}
	if !t.db.Steady() {
		return reader.ErrRetry
	}
	t.queue, t.ended = got, err == nil && len(got) < chunkRows
	return nil
}

// line puts a row together to a line.
func (t *table) line(ctx context.Context, r *row17) (jsonl.Line, error) {
	if r.bad == "" && r.data != nil && !r.blob {
		text, bad := r.around(r.data)
		return jsonl.Line{Text: text, End: int64(len(text)) + 1}, bad
	}
	stream, closing, err := t.stream(ctx, r)
	if err != nil {
		return jsonl.Line{}, err
	}
	defer closing()
	if t.lines == nil {
		t.lines = jsonl.NewLines(nil, kept())
	}
	t.lines.Reset(stream, 0)
	line, err := t.lines.Next()
	switch {
	case !t.db.Steady():
		return line, reader.ErrRetry
	case errors.Is(err, io.EOF):
		return line, reader.Unreadable(t.path, 0, r.seq, "a row holds no line")
	case t.out.Exceeded():
		return line, reader.Unreadable(t.path, 0, r.seq, "%s", reader.ErrInflated)
	case err != nil && ctx.Err() == nil && r.blob:
		return line, reader.Unreadable(t.path, 0, r.seq, "the data of a row cannot be decoded")
	}
	return line, err
}

// stream yields the whole line of a row, with its newline.
func (t *table) stream(ctx context.Context, r *row17) (io.Reader, func(), error) {
	if r.bad != "" {
		return nil, nil, reader.Unreadable(t.path, 0, r.seq, "%s", r.bad)
	}
	var data io.Reader = bytes.NewReader(r.data)
	closing, packed := func() {}, int64(len(r.data))
	if r.data == nil {
		v, err := t.db.Value(ctx, "events", "data", r.rowid)
		if err != nil {
			return nil, nil, err
		}
		data, closing, packed = v, v.Close, v.Size()
	}
	if r.blob {
		if t.text == nil {
			var err error
			if t.text, err = newFrameText(); err != nil {
				return nil, nil, err
			}
		}
		if err := t.text.dec.Reset(data); err != nil {
			closing()
			return nil, nil, reader.Unreadable(t.path, 0, r.seq, "the data of a row cannot be decoded")
		}
		data = t.out.Reader(t.text, packed)
	}
	head, err := r.head()
	if err != nil {
		closing()
		return nil, nil, err
	}
	return rows.Line(io.MultiReader(bytes.NewReader(head), data, bytes.NewReader([]byte{'}'}))), closing, nil
}

// around returns the line of a row with this data, without a newline.
func (r *row17) around(data []byte) ([]byte, error) {
	head, err := r.head()
	return append(append(head, data...), '}'), err
}

// head returns a line up to its data.
func (r *row17) head() ([]byte, error) {
	b := append([]byte(`{"type":`), quoted(r.typ)...)
	if r.packed {
		b = append(b, `,"seq0":`...)
		b = strconv.AppendInt(b, r.seq, 10)
		b = append(b, `,"time0":`...)
		b = strconv.AppendInt(b, r.time, 10)
		return append(b, `,"data":`...), nil
	}
	b = append(b, `,"seq":`...)
	b = strconv.AppendInt(b, r.seq, 10)
	b = append(b, `,"time":`...)
	b = strconv.AppendInt(b, r.time, 10)
	if r.ignorable {
		b = append(b, `,"ignorable":true`...)
	}
	if r.op != "" {
		if !jsonl.Valid([]byte(r.op)) {
			return b, broken("surfaceOp is no JSON")
		}
		b = append(append(b, `,"surfaceOp":`...), r.op...)
	}
	if r.cites {
		seqs, err := unpackSeqs(r.sources)
		if err != nil {
			return b, err
		}
		b = append(b, `,"sourceEventSeqs":[`...)
		for i, n := range seqs {
			if i > 0 {
				b = append(b, ',')
			}
			b = strconv.AppendInt(b, n, 10)
		}
		b = append(b, ']')
	}
	return append(b, `,"data":`...), nil
}

// unpackSeqs reads citations: canonical LEB128 varints, the first a seq, each
// other the ZigZag of its difference from the one before.
func unpackSeqs(b []byte) ([]int64, error) {
	bad := broken("the sources of a row cannot be decoded")
	seqs := make([]int64, 0, len(b))
	for i := 0; i < len(b); {
		v := uint64(0)
		for shift := 0; ; shift += 7 {
			if i >= len(b) || shift > 49 {
				return nil, bad
			}
			c := b[i]
			i++
			v |= uint64(c&0x7f) << shift
			if c < 0x80 {
				if c == 0 && shift > 0 {
					return nil, bad // not the shortest form
				}
				break
			}
		}
		n := int64(v)
		if len(seqs) > 0 {
			n = seqs[len(seqs)-1] + int64(v>>1)
			if v&1 != 0 {
				n = seqs[len(seqs)-1] - int64(v>>1) - 1
			}
		}
		if n < 0 || n > session.MaxSafe {
			return nil, bad
		}
		seqs = append(seqs, n)
	}
	return seqs, nil
}

// last is a check over the row before a seq; ok says that there is one.
func (t *table) last(ctx context.Context, before int64) (check uint64, ok bool, err error) {
	err = t.db.Each(ctx, `SELECT seq, type, time, ignorable, octet_length(data), CASE WHEN octet_length(data) <= ? THEN data END
		FROM events WHERE session_id = ? AND seq < ? ORDER BY seq DESC LIMIT 1`, []any{rows.Inline / 2, t.id, before}, func(r rows.Row) error {
		h := jsonl.Hash(0, fmt.Appendf(nil, "%d %s %d %d %d", r.Int(0), r.Text(1), r.Int(2), r.Int(3), r.Int(4)))
		check, ok = jsonl.Hash(h, r.Bytes(5)), true
		return nil
	})
	return check, ok, shelfFault(t.path, err)
}
