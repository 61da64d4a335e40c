package sqlite

import (
	"bytes"
	"context"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/yorehq/yore/internal/ingest"
)

// TestLogUnderReaders writes much under readers that never leave a moment without
// one. The write-ahead log stays short.
func TestLogUnderReaders(t *testing.T) {
	x := openAt(t, t.TempDir())
	put(t, x, "one", "text")
	ctx, stop := context.WithCancel(t.Context())
	var reading sync.WaitGroup
	for i := range 3 {
		y := openAt(t, x.dir)
		reading.Go(func() {
			time.Sleep(time.Duration(i) * 7 * time.Millisecond)
			for ctx.Err() == nil {
				view, err := y.Snapshot(t.Context(), workspace)
				if err != nil {
					t.Error(err)
					return
				}
				if _, err := view.Sessions(t.Context()); err != nil {
					t.Error(err)
				}
				time.Sleep(20 * time.Millisecond)
				view.Close()
			}
		})
	}
	most := int64(0)
	text := bytes.Repeat([]byte("x"), 1<<20)
	for i := range 96 {
		err := x.Write(t.Context(), workspace, func(w ingest.Writer) error {
			return w.(*writer).c.exec(t.Context(), `INSERT INTO texts VALUES (?, ?, ?)`, int64(1<<50+i), len(text), text)
		})
		if err != nil {
			t.Fatal(err)
		}
		info, err := os.Stat(x.shardOf(workspace).path + "-wal")
		if err != nil {
			t.Fatal(err)
		}
		most = max(most, info.Size())
	}
	stop()
	reading.Wait()
	if most > longLog+2*moreLog {
		t.Errorf("the log grew to %d bytes under %d of text", most, 96<<20)
	}
}
