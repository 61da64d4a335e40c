package sqlite

import (
	"errors"
	"fmt"
	"testing"

	"github.com/yorehq/yore/internal/ingest"
	"github.com/yorehq/yore/query"
)

// TestRecordsAreChecked spoils one byte of a row of records, in turn of each part
// of one, as damage does that leaves a well-formed page: whatever reads it says
// so, and no time, type or place of it is taken for an answer.
func TestRecordsAreChecked(t *testing.T) {
	for at := range recordSize + 4 {
		x := openAt(t, t.TempDir())
		var texts []string
		for i := range 70 {
			texts = append(texts, fmt.Sprint("text ", i))
		}
		num := put(t, x, "one", texts...)
		c, err := x.acquire(t.Context(), x.shardOf(workspace), true)
		if err != nil {
			t.Fatal(err)
		}
		block := blockOf(query.NewDocID(num, 0))
		var data []byte
		err = c.rowsOf(t.Context(), `SELECT data FROM records WHERE block = ?`, func(r row) error {
			data = r.blob(0)
			return nil
		}, block)
		if err != nil {
			t.Fatal(err)
		}
		spoilt := 3*recordSize + at
		if at >= recordSize {
			spoilt = len(data) - 1 - (at - recordSize)
		}
		data[spoilt] ^= 16
		if err := c.exec(t.Context(), `UPDATE records SET data = ? WHERE block = ?`, data, block); err != nil {
			t.Fatal(err)
		}
		x.release(c)
		view, err := x.Snapshot(t.Context(), workspace)
		if err != nil {
			t.Fatal(err)
		}
		docs, err := view.Documents(t.Context(), []query.DocID{query.NewDocID(num, 3)})
		if !errors.Is(err, ingest.ErrDamaged) {
			t.Errorf("byte %d: %+v, %v", at, docs, err)
		}
		view.Close()
	}
}
