package cursor

import (
	"context"
	"encoding/hex"

	"github.com/yorehq/yore/reader"
	"github.com/yorehq/yore/reader/jsonl"
	"github.com/yorehq/yore/reader/rows"
)

var _ reader.Titler = (*Reader)(nil)

// Title implements reader.Titler: a chat of the command line keeps its name in a
// database of its own, as JSON in hexadecimal digits, beside blobs that are nobody
// else's business. Sessions of the editor state theirs themselves.
func (*Reader) Title(ctx context.Context, src reader.Source) (title string, ok bool, err error) {
	if formAt(src.Path) == inStore || src.Header.Version != ofCommandLine {
		return "", false, ctx.Err()
	}
	for _, path := range chatFiles(src.Root, string(src.Header.ID), "store.db") {
		db, err := rows.Open(ctx, path)
		if err != nil {
			continue // a name is a nicety
		}
		if db.Has("meta", "value") {
			err = db.Each(ctx, `SELECT CASE WHEN octet_length(value) <= ? THEN value END FROM meta LIMIT 8`, []any{inline}, func(row rows.Row) error {
				text := make([]byte, hex.DecodedLen(len(row.Bytes(0))))
				n, err := hex.Decode(text, row.Bytes(0))
				if text = text[:n]; err != nil || !jsonl.Valid(text) {
					return nil
				}
				if name := titleOf(jsonl.Text(jsonl.Field(text, "name"))); name != "" {
					title, ok = name, true
				}
				return nil
			})
		}
		steady := db.Steady()
		db.Close()
		if ctx.Err() != nil {
			return "", false, ctx.Err()
		}
		if err != nil || !steady {
			title, ok = "", false
		}
	}
	return title, ok, nil
}
