package ingest_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/yorehq/yore/internal/ingest"
	"github.com/yorehq/yore/query"
	"github.com/yorehq/yore/reader/claude"
	"github.com/yorehq/yore/session"
	"github.com/yorehq/yore/sqlite"
)

// family is a root of Claude Code transcripts.
type family struct {
	*bench
	roots []string
}

func newFamily(t *testing.T, roots int) *family {
	f := &family{bench: &bench{t: t, dir: filepath.Join(t.TempDir(), "index")}}
	for range roots {
		f.roots = append(f.roots, t.TempDir())
	}
	f.open()
	return f
}

func (f *family) open() {
	f.t.Helper()
	index, err := sqlite.Open(f.t.Context(), sqlite.Options{Dir: f.dir})
	if err != nil {
		f.t.Fatal(err)
	}
	f.t.Cleanup(func() { index.Close() })
	f.index = index
	var roots []ingest.Root
	for _, r := range f.roots {
		roots = append(roots, ingest.Root{Reader: claude.New(), Path: r})
	}
	f.in = ingest.New(ingest.Options{Roots: roots, Catalog: index, Shards: index})
}

// row is a record of a conversation; minute orders it in time.
func (f *family) row(id, uuid, parent string, minute int, extra string) string {
	p := "null"
	if parent != "" {
		p = fmt.Sprintf("%q", parent)
	}
	return fmt.Sprintf(`{"type":"user","uuid":%q,"parentUuid":%s,"isSidechain":false,"sessionId":%q,"timestamp":"2026-11-01T10:%02d:00.000Z","cwd":%q,"version":"2.1.332"%s,"message":{"role":"user","content":"words of %s zephyr"}}`+"\n",
		uuid, p, id, minute, workspace, extra, uuid)
}

func (f *family) put(root int, id, content string) {
	f.t.Helper()
	path := filepath.Join(f.roots[root], "-w-one", id+".jsonl")
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		f.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		f.t.Fatal(err)
	}
	// Two writes within a tick of the file system's clock must differ.
	at := time.Now().Add(time.Duration(len(content)) * time.Millisecond)
	if err := os.Chtimes(path, at, at); err != nil {
		f.t.Fatal(err)
	}
}

// parents returns what the catalog and the shard say; they must agree.
func (f *family) parents() map[string]string {
	f.t.Helper()
	f.refresh()
	known, err := f.index.Headers(f.t.Context(), query.Lookup{})
	if err != nil {
		f.t.Fatal(err)
	}
	all := map[string]string{}
	headers := map[session.ID]session.Header{}
	for _, k := range known {
		if h, ok := headers[k.Header.ID]; ok && h != k.Header {
			f.t.Errorf("two files of one session say %+v and %+v", h, k.Header)
		}
		headers[k.Header.ID] = k.Header
		all[string(k.Header.ID)] = fmt.Sprintf("%s %d", k.Header.ParentSession, k.Header.SeedLength)
	}
	return all
}

// fresh returns what a new index says.
func (f *family) fresh() map[string]string {
	f.t.Helper()
	g := &family{bench: &bench{t: f.t, dir: filepath.Join(f.t.TempDir(), "index")}, roots: f.roots}
	g.open()
	return g.parents()
}

func (f *family) rows(id string, n int) string {
	var b strings.Builder
	for i := range n {
		parent := ""
		if i > 0 {
			parent = fmt.Sprintf("r%d", i-1)
		}
		b.WriteString(f.row(id, fmt.Sprintf("r%d", i), parent, i, ""))
	}
	return b.String()
}

func TestAForkThatIsSeenWhileItIsCopied(t *testing.T) {
	f := newFamily(t, 1)
	f.put(0, "origin", f.rows("origin", 6)+f.row("origin", "o6", "r5", 20, ""))
	f.parents()
	// The copy grows over several looks; its own part comes last.
	for n := 1; n <= 6; n++ {
		f.put(0, "fork", f.rows("fork", n))
		f.parents()
	}
	f.put(0, "fork", f.rows("fork", 6)+f.row("fork", "f6", "r5", 30, ""))
	got := f.parents()
	if diff := cmp.Diff(f.fresh(), got); diff != "" {
		t.Errorf("seen in pieces and seen at once differ:\n%s", diff)
	}
	if diff := cmp.Diff(map[string]string{"origin": " 0", "fork": "origin 6"}, got); diff != "" {
		t.Error(diff)
	}
}

func TestAStatedParentIsNotMadeAChild(t *testing.T) {
	f := newFamily(t, 1)
	// A marked fork whose own part is earlier than its origin's beginning, by the
	// clock of another machine: by its time alone it would be the origin.
	late := func(rows string) string { return strings.ReplaceAll(rows, "T10:0", "T10:3") }
	marked := strings.ReplaceAll(late(f.rows("fork", 3)), `"version"`, `"forkedFrom":{"sessionId":"origin","messageUuid":"r0"},"version"`)
	f.put(0, "origin", late(f.rows("origin", 3))+f.row("origin", "o3", "r2", 50, ""))
	f.put(0, "fork", marked+f.row("fork", "f3", "r2", 10, ""))
	got := f.parents()
	if !strings.HasPrefix(got["fork"], "origin ") || got["origin"] != " 0" {
		t.Errorf("%v", got)
	}
}

func TestTwoCopiesOfAForkAreOneSession(t *testing.T) {
	f := newFamily(t, 2)
	f.put(0, "origin", f.rows("origin", 3)+f.row("origin", "o3", "r2", 20, ""))
	fork := f.rows("fork", 3) + f.row("fork", "f3", "r2", 30, "")
	f.put(0, "fork", fork)
	f.parents()
	f.put(1, "fork", fork)
	for range 2 {
		if diff := cmp.Diff(map[string]string{"origin": " 0", "fork": "origin 3"}, f.parents()); diff != "" {
			t.Error(diff)
		}
	}
	if cov := f.refresh(); cov.Unreadable != 0 || cov.Sessions != 2 {
		t.Errorf("coverage %+v", cov)
	}
}

func TestTheCopyThatGrowsIsRead(t *testing.T) {
	f := newFamily(t, 2)
	f.put(1, "a", f.rows("a", 2))
	f.put(0, "a", f.rows("a", 2))
	f.refresh()
	for n := 3; n <= 5; n++ {
		f.put(0, "a", f.rows("a", n))
		f.refresh()
		if found := f.found("zephyr"); found != n {
			t.Errorf("found %d of %d", found, n)
		}
	}
	// One of the two states something else by now: they contradict each other.
	f.put(1, "a", strings.ReplaceAll(f.rows("a", 9), "T10:", "T09:"))
	if cov := f.refresh(); cov.Unreadable != 1 {
		t.Errorf("coverage %+v", cov)
	}
}

// TestADescriptionThatComesLate has a subagent whose description, written after
// its log was read, names another parent.
func TestADescriptionThatComesLate(t *testing.T) {
	f := newFamily(t, 1)
	f.put(0, "main", f.rows("main", 2))
	dir := filepath.Join(f.roots[0], "-w-one", "main", "subagents")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	log := strings.ReplaceAll(f.row("main", "s0", "", 5, `,"agentId":"a1"`), `"isSidechain":false`, `"isSidechain":true`)
	if err := os.WriteFile(filepath.Join(dir, "agent-a1.jsonl"), []byte(log), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := f.parents()["main/agent-a1"]; got != "main 0" {
		t.Fatalf("parent %q", got)
	}
	meta := `{"agentType":"general","parentAgentId":"a0","spawnDepth":2}`
	if err := os.WriteFile(filepath.Join(dir, "agent-a1.meta.json"), []byte(meta), 0o600); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff("main/agent-a0 0", f.parents()["main/agent-a1"]); diff != "" {
		t.Error(diff)
	}
}
