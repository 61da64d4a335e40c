package ingest_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/yorehq/yore/internal/ingest"
	"github.com/yorehq/yore/query"
	"github.com/yorehq/yore/session"
)

// TestRefreshOverDamage: whatever page of the catalog or of a shard is damaged,
// Refresh gets over it by itself, and what a search meets later is gone with the
// next one.
func TestRefreshOverDamage(t *testing.T) {
	b := newBench(t)
	const sessions, events = 6, 40
	for i := range sessions {
		var log strings.Builder
		log.WriteString(header(fmt.Sprint("s", i)))
		for j := range events {
			log.WriteString(user(j, fmt.Sprintf("light %s", strings.Repeat(fmt.Sprintf("w%dx%d ", i, j), 20))))
		}
		b.write(fmt.Sprint("s", i), log.String())
	}
	b.refresh()
	scope := session.Scope{Workspaces: []string{workspace}}
	search := func() (int, error) {
		if _, err := b.in.Refresh(t.Context(), scope, nil); err != nil {
			t.Errorf("Refresh: %v", err)
		}
		view, err := b.index.Snapshot(t.Context(), workspace)
		if view == nil || err != nil {
			return 0, err
		}
		defer view.Close()
		hits, err := query.Collect(t.Context(), view, []string{"light"}, nil)
		return len(hits), err
	}
	noise := make([]byte, 4096)
	rand.NewChaCha8([32]byte{}).Read(noise)
	shards, err := filepath.Glob(filepath.Join(b.dir, "shards", "*.db"))
	if err != nil || len(shards) != 1 {
		t.Fatalf("shards %v, %v", shards, err)
	}
	for _, path := range []string{shards[0], filepath.Join(b.dir, "catalog.db")} {
		size := int64(0)
		for page := int64(0); page*4096 <= size; page++ {
			if err := b.index.Close(); err != nil {
				t.Fatal(err)
			}
			f, err := os.OpenFile(path, os.O_WRONLY, 0)
			if err != nil {
				t.Fatal(err)
			}
			if info, err := f.Stat(); err == nil {
				size = info.Size() - 4096
			}
			_, err = f.WriteAt(noise, page*4096)
			if err := errors.Join(err, f.Close()); err != nil {
				t.Fatal(err)
			}
			b.open()
			n, err := search()
			if err != nil {
				if !errors.Is(err, ingest.ErrDamaged) {
					t.Errorf("%s, page %d: %v", filepath.Base(path), page, err)
				}
				n, err = search()
			}
			if n != sessions*events || err != nil {
				t.Errorf("%s, page %d: %d found, %v", filepath.Base(path), page, n, err)
			}
		}
	}
}
