package cursor

import (
	"context"

	"github.com/yorehq/yore/reader/jsonl"
	"github.com/yorehq/yore/reader/rows"
)

// head is what is stated of a composer as a whole: by the composer itself, and by
// later versions in a table, or a list, of heads too, which spares the value.
type head struct {
	created, updated int64 // epoch milliseconds
	name             string
	parent           string // of a subagent
	space            string // id of the workspace's storage
	folder           string // the workspace's folder
}

func headOf(data []byte) head {
	h := head{name: jsonl.Text(jsonl.Field(data, "name"))}
	h.created, _ = moment(jsonl.Field(data, "createdAt"))
	h.updated, _ = moment(jsonl.Field(data, "lastUpdatedAt"))
	h.parent = jsonl.Text(jsonl.Field(jsonl.Field(data, "subagentInfo"), "parentComposerId"))
	space := jsonl.Field(data, "workspaceIdentifier")
	h.space = jsonl.Text(jsonl.Field(space, "id"))
	switch uri := jsonl.Field(space, "uri"); {
	case jsonl.IsString(uri):
		h.folder = folderOf(jsonl.Text(uri))
	case jsonl.IsObject(uri) && jsonl.Filled(jsonl.Field(uri, "external")):
		h.folder = folderOf(jsonl.Text(jsonl.Field(uri, "external")))
	case jsonl.IsObject(uri) && jsonl.Is(jsonl.Field(uri, "scheme"), "file"):
		h.folder = localPath("", jsonl.Text(jsonl.Field(uri, "path")))
	}
	return h
}

// moment reads a time: milliseconds, or text.
func moment(v []byte) (ms int64, ok bool) {
	if ms, ok := jsonl.Natural(v); ok {
		return ms, ms > 0
	}
	if t, ok := jsonl.Instant(v); ok && t.UnixMilli() > 0 {
		return t.UnixMilli(), true
	}
	return 0, false
}

// headsOf returns the heads that are kept apart from their composers; of one
// composer where an id is given.
func headsOf(ctx context.Context, db *rows.DB, id string) (map[string]head, error) {
	found := map[string]head{}
	if db.Has("composerHeaders", "composerId", "value") {
		query, args := `SELECT composerId, CASE WHEN octet_length(value) <= ? THEN value END FROM composerHeaders`, []any{inline}
		if id != "" {
			query, args = query+` WHERE composerId = ?`, append(args, id)
		}
		err := db.Each(ctx, query, args, func(row rows.Row) error {
			if data := row.Bytes(1); jsonl.Valid(data) {
				if h := headOf(data); h.created > 0 {
					found[row.Text(0)] = h
				}
			}
			return nil
		})
		return found, err
	}
	list, err := item(ctx, db, "composer.composerHeaders")
	eachComposer(list, func(composer string, data []byte) {
		if h := headOf(data); h.created > 0 && (id == "" || id == composer) {
			found[composer] = h
		}
	})
	return found, err
}

// item returns a value of the editor's other table; nil: none that is an object.
func item(ctx context.Context, db *rows.DB, key string) ([]byte, error) {
	const items = "ItemTable"
	if !db.Has(items, "key", "value") {
		return nil, nil
	}
	v, err := fetch(ctx, db, items, key, mostComposer)
	return v.data, err
}

// eachComposer visits the composers of such a list.
func eachComposer(data []byte, visit func(id string, data []byte)) {
	list := jsonl.Field(data, "allComposers")
	if !jsonl.IsArray(list) {
		return
	}
	c := jsonl.Enter(list)
	for v, ok := c.Element(); ok; v, ok = c.Element() {
		if id := jsonl.Text(jsonl.Field(v, "composerId")); id != "" {
			visit(id, v)
		}
	}
}
