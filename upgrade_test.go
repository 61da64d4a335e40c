package yore_test

import (
	"archive/zip"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/yorehq/yore"
	"github.com/yorehq/yore/authz"
	"github.com/yorehq/yore/fault"
	"github.com/yorehq/yore/query"
	"github.com/yorehq/yore/session"
	"github.com/yorehq/yore/sqlite"
)

// storedIndex unpacks the index that the last program of a schema made of the
// tour's samples and of one log more (tools/upgrade/run.sh).
func storedIndex(t *testing.T, schema int, dir string) {
	t.Helper()
	name := filepath.Join("testdata", "upgrade", fmt.Sprintf("schema-%d.zip", schema))
	z, err := zip.OpenReader(name)
	if err != nil {
		t.Fatalf("every schema needs a stored index, see tools/upgrade/run.sh: %v", err)
	}
	defer z.Close()
	if info, err := os.Stat(name); err != nil || info.Size() > 64<<10 {
		t.Errorf("%s: %v, larger than 64 KiB", name, err)
	}
	if err := os.CopyFS(dir, z); err != nil {
		t.Fatal(err)
	}
}

// historyOf opens the samples with an index.
func historyOf(t *testing.T, index string) *yore.History {
	t.Helper()
	h, err := yore.Open(t.Context(), yore.Options{
		Sources: []yore.Source{{Agent: session.DSH, Root: "internal/demo/samples"}}, IndexDir: index, ForgetFile: filepath.Join(t.TempDir(), "forgotten"),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { h.Close() })
	return h
}

// testimony is all that a history says of the samples.
type testimony struct {
	Sessions []query.Info
	Found    map[string]int
	Hits     map[string]any
	Passages map[string][]query.Passage
	Traces   map[string]authz.Lineage
}

func testify(ctx context.Context, t *testing.T, h *yore.History) testimony {
	t.Helper()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	out := testimony{Found: map[string]int{}, Hits: map[string]any{}, Passages: map[string][]query.Passage{}, Traces: map[string]authz.Lineage{}}
	all := session.Scope{All: true}
	_, err := h.Refresh(ctx, all, nil)
	must(err)
	view, err := h.OwnerView()
	must(err)
	list, err := view.List(ctx, query.SessionFilter{Scope: all}, query.MaxLimit, "")
	must(err)
	out.Sessions = list.Sessions
	for _, text := range []string{"linker cannot find", "quota ledger", "walnut", "连接", "path", "greeting", "cormorant"} {
		page, err := view.SearchSessions(ctx, query.SessionSearch{Query: text, Sessions: query.SessionFilter{Scope: all}, Limit: 50})
		must(err)
		out.Found[text], out.Hits[text] = len(page.Hits), page.Hits
	}
	for _, s := range list.Sessions {
		key := s.Header.Key().String()
		grant, err := view.Target(ctx, &key)
		must(err)
		passages, err := grant.Passages(ctx, 0, 100, 2000)
		must(err)
		out.Passages[key] = passages.Passages
		if out.Traces[key], err = grant.Trace(ctx); err != nil {
			t.Fatal(err)
		}
	}
	return out
}

// files returns what an index's folder holds, by name.
func files(t *testing.T, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := fs.WalkDir(os.DirFS(dir), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := os.ReadFile(filepath.Join(dir, name))
		all[name] = string(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// TestUpgrade opens what each schema of the past left: the answers are those of
// a new index, and nothing of the old one is left.
func TestUpgrade(t *testing.T) {
	ctx := t.Context()
	want := testify(ctx, t, historyOf(t, filepath.Join(t.TempDir(), "index")))
	if len(want.Sessions) != 11 || want.Found["quota ledger"] == 0 || want.Found["cormorant"] != 0 {
		t.Fatalf("%d sessions, hits %v: the samples are others", len(want.Sessions), want.Found)
	}
	current := len(sqlite.SchemaHistory())
	for schema := 1; schema <= current; schema++ {
		t.Run(fmt.Sprint("schema ", schema), func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "index")
			storedIndex(t, schema, dir)
			before := files(t, dir)
			o := yore.Options{IndexDir: dir}
			u, err := yore.Upgrading(ctx, o)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(map[int]int{schema: 3}, u.Index.Shards); u.Index.Catalog != schema || u.Schema != current || diff != "" || schema < current && !u.Rebuilds() || schema == current && u.Index.Outgrown() > 0 {
				t.Errorf("Upgrading = %+v, rebuilds %v", u, u.Rebuilds())
			}
			after := files(t, dir)
			for name, text := range before {
				if after[name] != text {
					t.Errorf("%s is not what it was after a mere look", name)
				}
			}
			if len(after) != len(before) && schema < current {
				t.Errorf("a mere look left %d files where %d were", len(after), len(before))
			}

			h := historyOf(t, dir)
			if left, err := sqlite.Look(dir); err != nil || left.Outgrown() > 0 {
				t.Errorf("files of the old schema are left: %+v, %v", left, err)
			}
			got := testify(ctx, t, h)
			if schema == current {
				// Nothing is made anew, so what was indexed from another root is still there.
				if got.Found["cormorant"] != 1 {
					t.Errorf("an index of this schema was made anew")
				}
			} else if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("other answers than of a new index (-new +upgraded):\n%s", diff)
			}
			health, err := h.Health(ctx, yore.Pages, nil)
			if err != nil || !health.Sound() || health.Index.Schema != current {
				t.Errorf("Health = %+v, %v", health, err)
			}
			if err := h.Close(); err != nil {
				t.Fatal(err)
			}
			if u, err = yore.Upgrading(ctx, o); err != nil || u.Rebuilds() || u.Index.Outgrown() > 0 || schema < current && u.Index.Current() != 2 {
				t.Errorf("Upgrading, afterwards = %+v, %v", u, err)
			}
		})
	}
}

// setSchema makes a database say that it is of a schema.
func setSchema(t *testing.T, path string, schema int) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.WriteAt(binary.BigEndian.AppendUint32(nil, uint32(schema)), 60); err != nil {
		t.Fatal(err)
	}
}

// TestNewerIndexStays: a program that is older than the index refuses it and
// changes not a byte, be it the whole or one workspace of it.
func TestNewerIndexStays(t *testing.T) {
	ctx := t.Context()
	current := len(sqlite.SchemaHistory())
	for _, which := range []string{"catalog.db", "shards/6db64ab5cdc770fddd3f034b78b018be.db"} {
		t.Run(filepath.Base(which), func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "index")
			storedIndex(t, current, dir)
			path := filepath.Join(dir, filepath.FromSlash(which))
			setSchema(t, path, current+1)
			before, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if u, err := yore.Upgrading(ctx, yore.Options{IndexDir: dir}); err != nil || !u.Index.Newer() || u.Rebuilds() {
				t.Errorf("Upgrading = %+v, %v", u, err)
			}
			h := historyOf(t, dir)
			_, err = h.Refresh(ctx, session.Scope{All: true}, nil)
			view, failed := h.View(ctx, authz.Caller{Workspace: "/srv/code/alpha"})
			if failed != nil {
				t.Fatal(failed)
			}
			_, searched := view.SearchSessions(ctx, query.SessionSearch{Query: "quota", Limit: 10})
			// Refreshing all goes on with the other workspaces, if there is a catalog.
			if which == "catalog.db" && !errors.Is(err, fault.IndexFailed) || !errors.Is(searched, fault.IndexFailed) {
				t.Errorf("Refresh = %v, search = %v; want %s", err, searched, fault.IndexFailed)
			}
			if err := h.Close(); err != nil && !errors.Is(err, fault.IndexFailed) {
				t.Error(err)
			}
			if after, err := os.ReadFile(path); err != nil || !slices.Equal(before, after) {
				t.Errorf("the newer file is not what it was: %v", err)
			}
		})
	}
}

// TestUpgradingOfNothing: what is not there or not ours is said, and not touched.
func TestUpgradingOfNothing(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "index")
	u, err := yore.Upgrading(t.Context(), yore.Options{IndexDir: dir})
	if err != nil || u.Index.Catalog != 0 || u.Rebuilds() || u.Index.Foreign {
		t.Errorf("Upgrading of nothing = %+v, %v", u, err)
	}
	if _, err := os.Stat(dir); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the folder was made: %v", err)
	}
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "catalog.db"), []byte("somebody else's"), 0o600); err != nil {
		t.Fatal(err)
	}
	if u, err = yore.Upgrading(t.Context(), yore.Options{IndexDir: dir}); err != nil || !u.Index.Foreign || u.Rebuilds() {
		t.Errorf("Upgrading of a stranger's = %+v, %v", u, err)
	}
}
