package ingest_test

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/yorehq/yore/internal/ingest"
	"github.com/yorehq/yore/reader"
	"github.com/yorehq/yore/reader/archive"
	"github.com/yorehq/yore/reader/dsh"
	"github.com/yorehq/yore/session"
)

// withCopies adds an archive to a bench and returns its folder.
func (b *bench) withCopies() string {
	dir := b.t.TempDir()
	b.in = ingest.New(ingest.Options{
		Roots:   []ingest.Root{{Reader: dsh.New(), Path: b.root}, {Reader: archive.New(), Path: dir}},
		Catalog: b.index, Shards: b.index,
	})
	return dir
}

// keep archives a session as it is now, with a later time than its log has.
func (b *bench) keep(dir, id string) string {
	b.t.Helper()
	h := session.Header{Agent: session.DSH, ID: session.ID(id), CreatedAt: 1790000000000, Cwd: workspace}
	src := reader.Source{Agent: session.DSH, Root: b.root, Path: b.path(id), Header: h}
	var out bytes.Buffer
	enc, err := archive.NewEncoder(&out)
	if err == nil {
		err = enc.Begin(archive.Origin{Header: h})
	}
	if err == nil {
		_, err = dsh.New().Window(context.Background(), src, session.Checkpoint{}, 0, 1000, session.Every(), func(raw session.Raw) error {
			return enc.Add(raw, 1)
		})
	}
	if err == nil {
		err = enc.End(reader.Position{})
	}
	path := archive.Path(dir, h)
	if err == nil {
		err = os.MkdirAll(filepath.Dir(path), 0o700)
	}
	if err == nil {
		err = os.WriteFile(path, out.Bytes(), 0o600)
	}
	if err == nil {
		later := time.Now().Add(time.Hour)
		err = os.Chtimes(path, later, later)
	}
	if err != nil {
		b.t.Fatal(err)
	}
	return path
}

// sources are the logs that the shard holds.
func (b *bench) sources() []string {
	b.t.Helper()
	rows, err := b.index.Peek(b.t.Context(), workspace, ingest.StoredLookup{})
	if err != nil {
		b.t.Fatal(err)
	}
	var all []string
	for _, s := range rows {
		all = append(all, s.Source)
	}
	return all
}

func (b *bench) holds(what string, want ...string) {
	b.t.Helper()
	got := b.sources()
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		b.t.Errorf("%s: the shard holds %v, want %v", what, got, want)
	}
}

// A copy may be newer than the log by the clock and is never used in its stead;
// what the log gains meanwhile is found.
func TestLogIsPreferredToItsCopy(t *testing.T) {
	b := newBench(t)
	dir := b.withCopies()
	b.write("a", header("a")+user(0, "first light"))
	b.keep(dir, "a")
	b.refresh()
	b.holds("both are there", b.path("a"))
	b.append("a", user(1, "more light"))
	if cov := b.refresh(); cov.Sessions != 1 || b.found("more", "light") != 1 || b.found("light") != 2 {
		t.Errorf("%+v, found %d", cov, b.found("light"))
	}
	b.holds("the log has grown", b.path("a"))
}

// When the log goes, its copy comes in within the same refresh, also when only
// this session has to be up to date.
func TestCopyTakesTheLogsPlace(t *testing.T) {
	key := session.Key{Agent: session.DSH, ID: "a"}
	for name, scope := range map[string]session.Scope{
		"the workspace": {Workspaces: []string{workspace}},
		"one session":   {Workspaces: []string{workspace}, Only: &key},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			dir := b.withCopies()
			b.write("a", header("a")+user(0, "first light"))
			b.write("b", header("b")+user(0, "another lamp"))
			kept := b.keep(dir, "a")
			b.refresh()
			if err := os.Remove(b.path("a")); err != nil {
				t.Fatal(err)
			}
			if _, err := b.in.Refresh(t.Context(), scope, nil); err != nil {
				t.Fatal(err)
			}
			b.holds("the log is gone", kept, b.path("b"))
			if b.found("light") != 1 || b.found("lamp") != 1 {
				t.Errorf("found %d and %d", b.found("light"), b.found("lamp"))
			}
			// The agent puts it back.
			b.write("a", header("a")+user(0, "second light"))
			if _, err := b.in.Refresh(t.Context(), scope, nil); err != nil {
				t.Fatal(err)
			}
			b.holds("the log is back", b.path("a"), b.path("b"))
			if b.found("light") != 1 || b.found("second", "light") != 1 {
				t.Errorf("found %d", b.found("light"))
			}
		})
	}
}

// A root that is away as a whole gives way to copies that are there; when both
// are away, what the shard holds stays.
func TestCopiesOfARootThatIsAway(t *testing.T) {
	b := newBench(t)
	dir := b.withCopies()
	b.write("a", header("a")+user(0, "first light"))
	kept := b.keep(dir, "a")
	b.refresh()
	move := func(from, to string) {
		t.Helper()
		if err := os.Rename(from, to); err != nil {
			t.Fatal(err)
		}
	}
	move(b.root, b.root+"-away")
	b.refresh()
	b.holds("the root is away", kept)
	move(dir, dir+"-away")
	b.refresh()
	b.holds("both are away", kept)
	if b.found("light") != 1 {
		t.Errorf("found %d", b.found("light"))
	}
	move(b.root+"-away", b.root)
	b.refresh()
	b.holds("the root is back", b.path("a"))
	if b.found("light") != 1 {
		t.Errorf("found %d", b.found("light"))
	}
	move(dir+"-away", dir)
	b.refresh()
	b.holds("both are back", b.path("a"))
}

// A conflict ends when one of the files that contradict each other states
// another header, or goes.
func TestConflictEnds(t *testing.T) {
	b := newBench(t)
	dir := b.withCopies()
	lines := user(0, "first light")
	b.write("a", header("a")+lines)
	b.keep(dir, "a")
	b.write("a", strings.Replace(header("a"), "1790000000000", "5", 1)+lines)
	if cov := b.refresh(); cov.Unreadable != 1 || b.found("light") != 0 {
		t.Fatalf("no conflict: %+v", cov)
	}
	b.write("a", header("a")+lines)
	if cov := b.refresh(); cov.Unreadable != 0 || b.found("light") != 1 {
		t.Errorf("the log has the same header: %+v, found %d", cov, b.found("light"))
	}
}

func TestConflictEndsWithAFile(t *testing.T) {
	b := newBench(t)
	dir := b.withCopies()
	lines := user(0, "first light")
	b.write("a", header("a")+lines)
	kept := b.keep(dir, "a")
	b.write("a", strings.Replace(header("a"), "1790000000000", "5", 1)+lines)
	b.refresh()
	if err := os.Remove(kept); err != nil {
		t.Fatal(err)
	}
	if cov := b.refresh(); cov.Unreadable != 0 || b.found("light") != 1 {
		t.Errorf("the copy is gone: %+v, found %d", cov, b.found("light"))
	}
	b.holds("the copy is gone", b.path("a"))
}

// ranked is a reader whose agent keeps sessions in a form that tells less, too:
// below the root low.
type ranked struct {
	*dsh.Reader
	low string
}

func (r ranked) Rank(root, _ string) int {
	if root == r.low {
		return 0
	}
	return 1
}

// Two forms of one session, of which one tells more, are no contradiction: the one
// that tells more is read, and the other one takes its place when it goes.
func TestLesserFormOfASession(t *testing.T) {
	b := newBench(t)
	r := ranked{dsh.New(), b.t.TempDir()}
	b.in = ingest.New(ingest.Options{
		Roots: []ingest.Root{{Reader: r, Path: r.low}, {Reader: r, Path: b.root}}, Catalog: b.index, Shards: b.index,
	})
	b.write("a", header("a")+user(0, "the whole light"))
	whole := b.path("a")
	low := filepath.Join(r.low, strings.TrimPrefix(whole, b.root))
	if err := os.MkdirAll(filepath.Dir(low), 0o700); err != nil {
		t.Fatal(err)
	}
	text := strings.Replace(header("a"), "1790000000000", "1790000000001", 1) + user(0, "less light")
	if err := os.WriteFile(low, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if cov := b.refresh(); cov.Sessions != 1 || cov.Unreadable != 0 || b.found("whole") != 1 || b.found("less") != 0 {
		t.Errorf("both: %+v, found %d and %d", cov, b.found("whole"), b.found("less"))
	}
	b.holds("both", whole)
	if err := os.RemoveAll(filepath.Dir(whole)); err != nil {
		t.Fatal(err)
	}
	if cov := b.refresh(); cov.Sessions != 1 || b.found("less") != 1 || b.found("whole") != 0 {
		t.Errorf("the lesser one: %+v, found %d", cov, b.found("less"))
	}
	b.holds("the lesser one", low)
}
