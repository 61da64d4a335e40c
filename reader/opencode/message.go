package opencode

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/yorehq/yore/reader/jsonl"
	"github.com/yorehq/yore/reader/rows"
)

const (
	chunkMessages = 24      // fetched at a time
	chunkBytes    = 8 << 20 // of data; a chunk ends behind the message that reaches it
	inline        = 256 << 10
)

// A row's data as it is kept here: long texts in it may be cut.
type value struct {
	table   string
	rowid   int64
	id      string
	created int64 // epoch milliseconds, of the row
	updated int64
	data    []byte
	clipped bool
	bad     bool // it is no JSON object
}

// message is a message with its parts, in the agent's order.
type message struct {
	value
	index int
	parts []value
}

// role is who the message is from.
func (m *message) role() string { return jsonl.Text(jsonl.Field(m.data, "role")) }

// kept is what is kept of a long row: its own members, a tool's state and that
// state's members; lists and objects below them may end early.
func kept() jsonl.Bounds { return jsonl.Kept(3, 4) }

// outline is a message before its data is looked at.
type outline struct {
	rowid, created int64
	id             string
}

// outlines returns the messages of a session in the agent's order.
func outlines(ctx context.Context, db *rows.DB, id string) (all []outline, err error) {
	err = db.Each(ctx, `SELECT rowid, id, time_created FROM message WHERE session_id = ? ORDER BY time_created, id`, []any{id}, func(r rows.Row) error {
		all = append(all, outline{r.Int(0), r.Int(2), r.Text(1)})
		return nil
	})
	return all, err
}

// lastAnswers is how many messages at a session's end are looked at for the last
// answer.
const lastAnswers = 64

// lastAnswer returns the index of the last assistant message; -1: none.
func lastAnswer(ctx context.Context, db *rows.DB, all []outline) (int, error) {
	for i := len(all) - 1; i >= max(0, len(all)-lastAnswers); i-- {
		answer := false
		err := db.Each(ctx, `SELECT CASE WHEN octet_length(data) <= ? AND json_valid(data) THEN json_extract(data, '$.role') END FROM message WHERE rowid = ?`,
			[]any{inline, all[i].rowid}, func(r rows.Row) error { answer = r.Text(0) == "assistant"; return nil })
		if err != nil || answer {
			return i, err
		}
	}
	return -1, nil
}

// fetch takes the next messages from an index on, whole with their parts.
func fetch(ctx context.Context, db *rows.DB, all []outline, from int) ([]message, error) {
	var got []message
	size := 0
	for i := from; i < len(all) && len(got) < chunkMessages && size < chunkBytes; i++ {
		m := message{index: i}
		list, err := values(ctx, db, "message", `rowid = ?`, all[i].rowid)
		if err != nil {
			return nil, err
		}
		if len(list) == 0 {
			return nil, rows.ErrChanging
		}
		m.value = list[0]
		m.created = all[i].created
		if m.parts, err = values(ctx, db, "part", `message_id = ? ORDER BY id`, all[i].id); err != nil {
			return nil, err
		}
		for _, v := range append(m.parts, m.value) {
			size += len(v.data)
		}
		got = append(got, m)
	}
	if !db.Steady() {
		return nil, rows.ErrChanging
	}
	return got, nil
}

// values returns rows of a table that has a column data.
func values(ctx context.Context, db *rows.DB, table, where string, arg any) (all []value, err error) {
	updated := `time_created`
	if db.Has(table, "time_updated") {
		updated = `time_updated`
	}
	err = db.Each(ctx, `SELECT rowid, id, time_created, `+updated+`, CASE WHEN octet_length(data) <= ? THEN data END, typeof(data), octet_length(data) FROM `+table+` WHERE `+where,
		[]any{inline, arg}, func(r rows.Row) error {
			v := value{table: table, rowid: r.Int(0), id: r.Text(1), created: r.Int(2), updated: r.Int(3), data: r.Bytes(4)}
			v.bad = r.Text(5) != "text" || r.Int(6) > rows.Most
			all = append(all, v)
			return nil
		})
	for i := range all {
		if v := &all[i]; err == nil && v.data == nil && !v.bad {
			err = v.clip(ctx, db)
		}
		if v := &all[i]; !v.bad {
			v.data = bytes.TrimSpace(v.data)
			v.bad = !jsonl.Valid(v.data) || !jsonl.IsObject(v.data)
		}
		if all[i].bad {
			all[i].data = nil
		}
	}
	return all, err
}

// clip reads a long row piece by piece and keeps what a document can use.
func (v *value) clip(ctx context.Context, db *rows.DB) error {
	blob, err := db.Value(ctx, v.table, "data", v.rowid)
	if err != nil {
		return err
	}
	defer blob.Close()
	line, err := jsonl.NewLines(rows.Line(blob), kept()).Next()
	v.data, v.clipped = bytes.Clone(line.Text), line.Clipped
	if errors.Is(err, io.EOF) || line.Full {
		v.bad, err = true, nil
	}
	return err
}

// digest sums up what tells whether rows changed. An agent writes to messages
// after they are finished (summaries of changed files), which changes no event.
func (m *message) digest(sum uint64) uint64 {
	sum = jsonl.Hash(sum, fmt.Appendf(nil, "m %s %d", m.id, m.created))
	for i := range m.parts {
		sum = jsonl.Hash(sum, fmt.Appendf(nil, "p %s %d", m.parts[i].id, m.parts[i].updated))
	}
	return sum
}

// digestOf is the digest over the first n messages of a session, without a look
// at their data.
func digestOf(ctx context.Context, db *rows.DB, id string, n int64) (sum uint64, ok bool, err error) {
	all, err := outlines(ctx, db, id)
	if err != nil || int64(len(all)) < n {
		return 0, false, err
	}
	for _, o := range all[:n] {
		m := message{value: value{id: o.id, created: o.created}}
		err := db.Each(ctx, `SELECT id, time_updated FROM part WHERE message_id = ? ORDER BY id`, []any{o.id}, func(r rows.Row) error {
			m.parts = append(m.parts, value{id: r.Text(0), updated: r.Int(1)})
			return nil
		})
		if err != nil {
			return 0, false, err
		}
		sum = m.digest(sum)
	}
	return sum, true, nil
}
