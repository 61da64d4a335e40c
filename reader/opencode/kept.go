package opencode

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"github.com/yorehq/yore/reader"
	"github.com/yorehq/yore/reader/rows"
	"github.com/yorehq/yore/session"
)

// store is where the messages of one session are kept: rows of a database, or
// files of a tree. A failure because its owner writes there is rows.ErrChanging.
type store interface {
	// outlines returns the messages in the agent's order.
	outlines(ctx context.Context) ([]outline, error)

	// isAnswer reports whether a message is the assistant's.
	isAnswer(ctx context.Context, o outline) (bool, error)

	// message takes a message with its parts, in the agent's order.
	message(ctx context.Context, o outline) (message, error)

	// marks is message without data: ids, and when parts were updated.
	marks(ctx context.Context, o outline) (message, error)

	// native returns a value's bytes as they are stored.
	native(ctx context.Context, v *value) ([]byte, error)

	// steady reports whether what was read so far belongs together.
	steady() bool

	close()
}

// outline is a message before its data is looked at.
type outline struct {
	rowid, created int64 // created: 0 where it is not known yet
	id             string
}

// open opens the store of a source and finds its session there. It fails with an
// error that wraps fs.ErrNotExist if the session is not there.
func (r *Reader) open(ctx context.Context, src reader.Source) (store, entry, error) {
	if formOf(src.Root, src.Path) != inDatabase {
		return r.openTree(ctx, src)
	}
	db, err := openStore(ctx, reader.FileOf(src.Path))
	if err != nil {
		return nil, entry{}, err
	}
	e, err := r.find(ctx, db, src)
	if err != nil {
		db.Close()
		return nil, e, err
	}
	return &table{db, string(e.Header.ID)}, e, nil
}

// Identify implements reader.Reader.
func (r *Reader) Identify(ctx context.Context, root, path string) (session.Header, error) {
	if err := ctx.Err(); err != nil {
		return session.Header{Agent: r.agent}, err
	}
	kept, e, err := r.open(ctx, reader.Source{Agent: r.agent, Root: root, Path: path})
	if err != nil {
		if e.Header.Agent == "" {
			e.Header.Agent = r.agent
		}
		return e.Header, err
	}
	kept.close()
	return e.Header, nil
}

// table is a session whose messages are rows.
type table struct {
	db *rows.DB
	id string
}

func (t *table) steady() bool { return t.db.Steady() }

func (t *table) close() { t.db.Close() }

func (t *table) outlines(ctx context.Context) (all []outline, err error) {
	err = t.db.Each(ctx, `SELECT rowid, id, time_created FROM message WHERE session_id = ? ORDER BY time_created, id`, []any{t.id}, func(r rows.Row) error {
		all = append(all, outline{r.Int(0), r.Int(2), r.Text(1)})
		return nil
	})
	return all, err
}

func (t *table) isAnswer(ctx context.Context, o outline) (answer bool, err error) {
	err = t.db.Each(ctx, `SELECT CASE WHEN octet_length(data) <= ? AND json_valid(data) THEN json_extract(data, '$.role') END FROM message WHERE rowid = ?`,
		[]any{inline, o.rowid}, func(r rows.Row) error { answer = r.Text(0) == "assistant"; return nil })
	return answer, err
}

func (t *table) message(ctx context.Context, o outline) (m message, err error) {
	list, err := values(ctx, t.db, "message", `rowid = ?`, o.rowid)
	if err != nil {
		return m, err
	}
	switch {
	case len(list) == 0 && t.db.Steady(): // an index names a row that its table does not have
		return m, fmt.Errorf("%w: a message is in an index alone", rows.ErrDamaged)
	case len(list) == 0:
		return m, rows.ErrChanging
	}
	m.value = list[0]
	m.created, m.mark = o.created, o.created
	m.parts, err = values(ctx, t.db, "part", `message_id = ? ORDER BY id`, o.id)
	return m, err
}

func (t *table) marks(ctx context.Context, o outline) (message, error) {
	m := message{value: value{id: o.id}, mark: o.created}
	err := t.db.Each(ctx, `SELECT id, time_updated FROM part WHERE message_id = ? ORDER BY id`, []any{o.id}, func(r rows.Row) error {
		m.parts = append(m.parts, value{id: r.Text(0), updated: r.Int(1)})
		return nil
	})
	return m, err
}

func (t *table) native(ctx context.Context, v *value) ([]byte, error) {
	return t.db.Whole(ctx, v.table, "data", v.rowid, reader.MostWhole)
}

// lastAnswers is how many messages at a session's end are looked at for the last
// answer.
const lastAnswers = 64

// lastAnswer returns the index of the last assistant message; -1: none.
func lastAnswer(ctx context.Context, s store, all []outline) (int, error) {
	for i := len(all) - 1; i >= max(0, len(all)-lastAnswers); i-- {
		if answer, err := s.isAnswer(ctx, all[i]); err != nil || answer {
			return i, err
		}
	}
	return -1, nil
}

// fetch takes the next messages from an index on, whole with their parts.
func fetch(ctx context.Context, s store, all []outline, from int) ([]message, error) {
	var got []message
	size := 0
	for i := from; i < len(all) && len(got) < chunkMessages && size < chunkBytes; i++ {
		m, err := s.message(ctx, all[i])
		if err != nil {
			return nil, err
		}
		m.index = i
		for _, v := range append(m.parts, m.value) {
			size += len(v.data)
		}
		got = append(got, m)
	}
	if !s.steady() {
		return nil, rows.ErrChanging
	}
	return got, nil
}

// digestOf is the digest over the first n messages of a session, without a look
// at their data.
func digestOf(ctx context.Context, s store, n int64) (sum uint64, ok bool, err error) {
	all, err := s.outlines(ctx)
	if err != nil || int64(len(all)) < n {
		return 0, false, err
	}
	for _, o := range all[:n] {
		m, err := s.marks(ctx, o)
		if err != nil {
			return 0, false, err
		}
		sum = m.digest(sum)
	}
	return sum, true, nil
}

// gone makes of a failure to find what was there a moment ago one of a store that
// is being written.
func gone(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%w: %w", rows.ErrChanging, err)
	}
	return err
}
