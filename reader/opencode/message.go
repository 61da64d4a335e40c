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

// A row's data, or what a file holds, as it is kept here: long texts in it may be
// cut.
type value struct {
	table   string
	rowid   int64 // of a file: a number that no other one of the session has
	path    string
	id      string
	created int64 // epoch milliseconds, of the row
	updated int64 // of a file: its time in nanoseconds
	data    []byte
	clipped bool
	bad     bool   // it is no JSON object
	raw     []byte // its own bytes, where they are a piece of a file
}

// message is a message with its parts, in the agent's order.
type message struct {
	value
	index int
	mark  int64 // what the digest knows of its row
	parts []value
}

// role is who the message is from.
func (m *message) role() string { return jsonl.Text(jsonl.Field(m.data, "role")) }

// kept is what is kept of a long row: its own members, a tool's state and that
// state's members; lists and objects below them may end early.
func kept() jsonl.Bounds { return jsonl.Kept(3, 4) }

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
		v := &all[i]
		if err == nil && v.data == nil && !v.bad {
			err = v.clipRow(ctx, db)
		}
		v.check()
	}
	return all, err
}

// check looks whether a value is what it should be.
func (v *value) check() {
	if !v.bad {
		v.data = bytes.TrimSpace(v.data)
		v.bad = !jsonl.Valid(v.data) || !jsonl.IsObject(v.data)
	}
	if v.bad {
		v.data = nil
	}
}

// clipRow reads a long row piece by piece and keeps what a document can use.
func (v *value) clipRow(ctx context.Context, db *rows.DB) error {
	blob, err := db.Value(ctx, v.table, "data", v.rowid)
	if err != nil {
		return err
	}
	defer blob.Close()
	return v.clip(blob)
}

func (v *value) clip(in io.Reader) error {
	line, err := jsonl.NewLines(rows.Line(in), kept()).Next()
	v.data, v.clipped = bytes.Clone(line.Text), line.Clipped
	if errors.Is(err, io.EOF) || line.Full {
		v.bad, err = true, nil
	}
	return err
}

// digest sums up what tells whether rows changed. An agent writes to messages
// after they are finished (summaries of changed files), which changes no event.
func (m *message) digest(sum uint64) uint64 {
	sum = jsonl.Hash(sum, fmt.Appendf(nil, "m %s %d", m.id, m.mark))
	for i := range m.parts {
		if m.parts[i].raw != nil {
			continue // it stands in the message, which is marked
		}
		sum = jsonl.Hash(sum, fmt.Appendf(nil, "p %s %d", m.parts[i].id, m.parts[i].updated))
	}
	return sum
}
