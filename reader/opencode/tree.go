package opencode

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/yorehq/yore/reader"
	"github.com/yorehq/yore/reader/jsonl"
	"github.com/yorehq/yore/reader/rows"
)

// Before there was a database, a session was a file, each of its messages
// another one and each part of a message another one again:
//
//	storage/session/<project>/<session>.json          storage/message/<session>/<message>.json
//	                                                  storage/part/<message>/<part>.json
//	project/<name>/storage/session/info/<session>.json            the oldest releases
//	project/<name>/storage/session/message/<session>/<message>.json
//	project/<name>/storage/session/part/<session>/<message>/<part>.json
//
// The agent reads messages and parts in the order of their ids, which are the
// names of the files. It writes into files that are there, so a folder tells of
// new ones alone.

// tree is a session whose messages are files.
type tree struct {
	path     string // of the session's own file
	form     form
	home     string // the folder that holds both of these
	messages string // the folder of its messages
	parts    string // the folder of the folders of their parts
}

func treeOf(root, path string) *tree {
	t := &tree{path: path, form: formOf(root, path)}
	id := strings.TrimSuffix(filepath.Base(path), fileEnding)
	if t.form == inProject {
		t.home = filepath.Dir(filepath.Dir(path))
		t.messages, t.parts = filepath.Join(t.home, "message", id), filepath.Join(t.home, "part", id)
		return t
	}
	t.home = filepath.Dir(filepath.Dir(filepath.Dir(path)))
	t.messages, t.parts = filepath.Join(t.home, "message", id), filepath.Join(t.home, "part")
	return t
}

func (t *tree) partsOf(message string) string { return filepath.Join(t.parts, message) }

func (t *tree) file(message string) string { return filepath.Join(t.messages, message+fileEnding) }

// steady implements store: what is read of a file is looked at while it is read.
func (t *tree) steady() bool { return true }

func (t *tree) close() {}

// ids returns the names of the plain JSON files of a folder below the home, without
// their ending, in order; none of a folder that is not there. As wherever sessions
// are looked for, no link is followed: it could lead anywhere.
func (t *tree) ids(folder string) (names []string, err error) {
	for at := folder; len(at) > len(t.home); at = filepath.Dir(at) {
		if info, err := os.Lstat(at); errors.Is(err, fs.ErrNotExist) || err == nil && !info.IsDir() {
			return nil, nil
		} else if err != nil {
			return nil, err
		}
	}
	entries, err := os.ReadDir(folder)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	for _, e := range entries {
		if name, ok := strings.CutSuffix(e.Name(), fileEnding); ok && name != "" && e.Type().IsRegular() {
			names = append(names, name)
		}
	}
	return names, err
}

// Numbers in the place of rows: of a message, and behind it those of its parts.
const (
	messageStep = 1 << 20
	mostParts   = messageStep - 1
)

func (t *tree) outlines(ctx context.Context) (all []outline, err error) {
	names, err := t.ids(t.messages)
	for i, name := range names {
		all = append(all, outline{rowid: int64(i+1) * messageStep, id: name})
	}
	return all, errors.Join(err, ctx.Err())
}

func (t *tree) isAnswer(ctx context.Context, o outline) (bool, error) {
	m, err := t.head(ctx, o)
	return m.role() == "assistant", err
}

// head takes a message; parts that stand within it are its own.
func (t *tree) head(ctx context.Context, o outline) (m message, err error) {
	v, err := load(ctx, t.file(o.id))
	if err != nil {
		return m, gone(err)
	}
	v.table, v.rowid, v.id = "message", o.rowid, o.id
	m.value = v
	if t.form == inProject {
		m.mark = v.updated
		m.split()
	}
	m.data = bare(m.data)
	m.created, _ = jsonl.Natural(jsonl.Field(jsonl.Field(m.data, "time"), "created"))
	return m, nil
}

func (t *tree) message(ctx context.Context, o outline) (message, error) {
	m, err := t.head(ctx, o)
	if err != nil || len(m.parts) > 0 {
		return m, err
	}
	names, err := t.ids(t.partsOf(o.id))
	for i, name := range names {
		if err != nil || i == mostParts {
			break
		}
		var v value
		if v, err = load(ctx, filepath.Join(t.partsOf(o.id), name+fileEnding)); err != nil {
			return m, gone(err)
		}
		v.table, v.rowid, v.id, v.data = "part", o.rowid+1+int64(i), name, bare(v.data)
		m.parts = append(m.parts, v)
	}
	return m, err
}

func (t *tree) marks(ctx context.Context, o outline) (m message, err error) {
	m.id = o.id
	if t.form == inProject {
		stamp, err := reader.StatRegular(t.file(o.id))
		if err != nil {
			return m, gone(err)
		}
		m.mark = stamp.ModTime
	}
	names, err := t.ids(t.partsOf(o.id))
	for i, name := range names {
		if err != nil || i == mostParts {
			break
		}
		stamp, err := reader.StatRegular(filepath.Join(t.partsOf(o.id), name+fileEnding))
		if err != nil {
			return m, gone(err)
		}
		m.parts = append(m.parts, value{id: name, updated: stamp.ModTime})
	}
	return m, errors.Join(err, ctx.Err())
}

func (t *tree) native(ctx context.Context, v *value) ([]byte, error) {
	if v.raw != nil {
		return bytes.Clone(v.raw), ctx.Err()
	}
	f, stamp, err := reader.OpenRegular(v.path)
	if err != nil {
		return nil, gone(err)
	}
	defer f.Close()
	if stamp.Size > reader.MostWhole {
		return nil, rows.ErrTooLong
	}
	text, err := io.ReadAll(io.LimitReader(f, stamp.Size))
	if len(text) == 0 && err == nil {
		return nil, fmt.Errorf("%w: a file is empty", rows.ErrChanging)
	}
	return text, errors.Join(err, ctx.Err())
}

// load takes what a file holds; of a long one what a document can use.
func load(ctx context.Context, path string) (v value, err error) {
	if err := ctx.Err(); err != nil {
		return v, err
	}
	f, before, err := reader.OpenRegular(path)
	if err != nil {
		return v, err
	}
	defer f.Close()
	v = value{path: path, updated: before.ModTime}
	switch {
	case before.Size > rows.Most:
		v.bad = true
	case before.Size > inline:
		err = v.clip(io.LimitReader(f, before.Size))
	default:
		v.data, err = io.ReadAll(io.LimitReader(f, before.Size))
	}
	if err != nil {
		return v, err
	}
	if info, err := f.Stat(); err != nil || reader.StampOf(info) != before {
		return v, errors.Join(rows.ErrChanging, err)
	}
	v.check()
	return v, ctx.Err()
}

// bare returns an object without the ids that a copy in a fork does not keep, and
// without spaces: as a row of the database holds it.
func bare(object []byte) []byte {
	if !jsonl.IsObject(object) {
		return nil
	}
	out := bytes.NewBuffer(make([]byte, 0, len(object)))
	out.WriteByte('{')
	c := jsonl.Enter(object)
	for {
		name, value, ok := c.Member()
		if !ok {
			break
		}
		switch string(name) {
		case "id", "sessionID", "messageID":
			continue
		}
		if out.Len() > 1 {
			out.WriteByte(',')
		}
		quoted, err := json.Marshal(string(name))
		if err != nil {
			return object // no name of the agent's
		}
		out.Write(quoted)
		out.WriteByte(':')
		if json.Compact(out, value) != nil {
			return object // nested deeper than anything of the agent's
		}
	}
	out.WriteByte('}')
	return out.Bytes()
}

// compact returns a value without spaces.
func compact(v []byte) []byte {
	var out bytes.Buffer
	if json.Compact(&out, v) != nil {
		return v
	}
	return out.Bytes()
}
