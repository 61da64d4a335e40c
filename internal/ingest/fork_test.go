package ingest_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/yorehq/yore/internal/ingest"
	"github.com/yorehq/yore/query"
	"github.com/yorehq/yore/reader/claude"
	"github.com/yorehq/yore/session"
	"github.com/yorehq/yore/sqlite"
)

// The sample logs of the real client: a session and its unmarked fork.
const (
	origin   = "383185b8-6109-4b67-8987-327d41cf174f"
	fork     = "7624157f-e99f-4018-9d2b-6855b7b6092a"
	sampleWs = "/home/dev/proj"
)

// TestAnUnmarkedForkIsFound copies the two sample logs in either order, at once
// and one after the other: the answer must not depend on it.
func TestAnUnmarkedForkIsFound(t *testing.T) {
	samples := filepath.Join("..", "..", "testdata", "claude", "projects")
	for name, order := range map[string][][]string{
		"at once":      {{origin, fork}},
		"origin first": {{origin}, {fork}},
		"fork first":   {{fork}, {origin}},
	} {
		t.Run(name, func(t *testing.T) {
			root := t.TempDir()
			index, err := sqlite.Open(t.Context(), sqlite.Options{Dir: filepath.Join(t.TempDir(), "index")})
			if err != nil {
				t.Fatal(err)
			}
			defer index.Close()
			in := ingest.New(ingest.Options{Roots: []ingest.Root{{Reader: claude.New(), Path: root}}, Catalog: index, Shards: index})
			for _, step := range order {
				for _, id := range step {
					copySession(t, samples, root, id)
				}
				if _, err := in.Refresh(t.Context(), session.Scope{Workspaces: []string{sampleWs}}, nil); err != nil {
					t.Fatal(err)
				}
			}
			known, err := index.Headers(t.Context(), query.Lookup{})
			if err != nil {
				t.Fatal(err)
			}
			parents := map[session.ID]session.ID{}
			for _, k := range known {
				if k.Header.Origin == "" {
					parents[k.Header.ID] = k.Header.ParentSession
				}
				if k.Header.ID == fork && (k.Header.SeedLength < 50 || k.Header.CreatedAt == 0) {
					t.Errorf("the fork's header is %+v", k.Header)
				}
			}
			want := map[session.ID]session.ID{origin: "", fork: origin}
			if diff := cmp.Diff(want, parents); diff != "" {
				t.Error(diff)
			}
			snap, err := index.Snapshot(t.Context(), sampleWs)
			if err != nil {
				t.Fatal(err)
			}
			defer snap.Close()
			rows, err := snap.Sessions(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			i := slices.IndexFunc(rows, func(r query.Row) bool { return r.Header.ID == fork })
			if i < 0 || rows[i].Header.ParentSession != origin {
				t.Errorf("the shard says %+v", rows)
			}
		})
	}
}

// copySession copies one session with everything beside it.
func copySession(t *testing.T, from, to, id string) {
	t.Helper()
	err := filepath.WalkDir(from, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		rel, err := filepath.Rel(from, path)
		if err != nil || !strings.Contains(rel, id) {
			return err
		}
		data, err := os.ReadFile(path)
		if err == nil {
			err = os.MkdirAll(filepath.Dir(filepath.Join(to, rel)), 0o700)
		}
		if err == nil {
			err = os.WriteFile(filepath.Join(to, rel), data, 0o600)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}
