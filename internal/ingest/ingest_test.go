package ingest_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/yorehq/yore/internal/ingest"
	"github.com/yorehq/yore/query"
	"github.com/yorehq/yore/reader/dsh"
	"github.com/yorehq/yore/session"
	"github.com/yorehq/yore/sqlite"
)

const workspace = "/w/one"

// bench is a root, an index and an ingester over them.
type bench struct {
	t     *testing.T
	root  string
	dir   string
	index *sqlite.Index
	in    *ingest.Ingester
}

func newBench(t *testing.T) *bench {
	b := &bench{t: t, root: t.TempDir(), dir: filepath.Join(t.TempDir(), "index")}
	b.open()
	return b
}

func (b *bench) open() {
	b.t.Helper()
	var err error
	if b.index, err = sqlite.Open(b.t.Context(), sqlite.Options{Dir: b.dir}); err != nil {
		b.t.Fatal(err)
	}
	index := b.index
	b.t.Cleanup(func() { index.Close() })
	b.in = ingest.New(ingest.Options{
		Roots: []ingest.Root{{Reader: dsh.New(), Path: b.root}}, Catalog: b.index, Shards: b.index,
	})
}

// path is where the log of a session in the workspace lies.
func (b *bench) path(id string) string {
	return filepath.Join(b.root, "--w-one--", id, "session.jsonl")
}

func header(id string) string {
	return fmt.Sprintf(`{"type":"session","version":0,"id":%q,"createdAt":1790000000000,"cwd":%q,"delegationDepth":0}`+"\n", id, workspace)
}

func user(seq int, text string) string {
	return fmt.Sprintf(`{"type":"user/message","seq":%d,"time":%d,"data":{"id":"u-%d","role":"user","content":[{"type":"text","text":%q}],"source":{"kind":"user"}},"surfaceOp":"append"}`+"\n",
		seq, 1790000000000+seq, seq, text)
}

func (b *bench) write(id, content string) {
	b.t.Helper()
	if err := os.MkdirAll(filepath.Dir(b.path(id)), 0o700); err != nil {
		b.t.Fatal(err)
	}
	if err := os.WriteFile(b.path(id), []byte(content), 0o600); err != nil {
		b.t.Fatal(err)
	}
}

func (b *bench) append(id, content string) {
	b.t.Helper()
	f, err := os.OpenFile(b.path(id), os.O_APPEND|os.O_WRONLY, 0)
	if err == nil {
		_, err = f.WriteString(content)
	}
	if err == nil {
		err = f.Close()
	}
	if err != nil {
		b.t.Fatal(err)
	}
}

func (b *bench) refresh() session.Coverage {
	b.t.Helper()
	cov, err := b.in.Refresh(b.t.Context(), session.Scope{Workspaces: []string{workspace}}, nil)
	if err != nil {
		b.t.Fatal(err)
	}
	return cov
}

// found returns how many documents of the workspace hold a phrase.
func (b *bench) found(phrase ...string) int {
	b.t.Helper()
	snap, err := b.index.Snapshot(b.t.Context(), workspace)
	if err != nil {
		b.t.Fatal(err)
	}
	if snap == nil {
		return 0
	}
	defer snap.Close()
	hits, err := query.Collect(b.t.Context(), snap, phrase, nil)
	if err != nil {
		b.t.Fatal(err)
	}
	return len(hits)
}

func TestUnchangedRootParsesNothing(t *testing.T) {
	b := newBench(t)
	b.write("a", header("a")+user(0, "first light"))
	b.write("b", header("b")+user(0, "second light"))
	b.refresh()
	if n := b.found("light"); n != 2 {
		t.Fatalf("found %d of 2", n)
	}
	b.open() // another process
	before := b.index.Work()
	cov := b.refresh()
	w := b.in.Work()
	if w.Bytes != 0 || w.Identified != 0 {
		t.Errorf("an unchanged root cost %+v", w)
	}
	if w.Files > 2 || w.Folders > 3 {
		t.Errorf("looked at %d files and %d folders", w.Files, w.Folders)
	}
	if after := b.index.Work(); after.Rows != before.Rows && w.Folders == 0 {
		t.Errorf("wrote %d rows", after.Rows-before.Rows)
	}
	if cov != (session.Coverage{Sessions: 2}) {
		t.Errorf("coverage %+v", cov)
	}
}

func TestAppendCostsWhatItAdds(t *testing.T) {
	b := newBench(t)
	var log strings.Builder
	log.WriteString(header("long"))
	const events = 100_000
	for i := range events {
		log.WriteString(user(i, fmt.Sprintf("event number %d of the long log", i)))
	}
	b.write("long", log.String())
	b.refresh()
	if n := b.found("long", "log"); n != events {
		t.Fatalf("found %d of %d", n, events)
	}
	other, err := sqlite.Open(t.Context(), sqlite.Options{Dir: b.dir})
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	added := user(events, "a heliotrope at the end")
	b.append("long", added)
	parsed, rows := b.in.Work().Bytes, b.index.Work().Rows
	b.refresh()
	if got := b.in.Work().Bytes - parsed; got != int64(len(added)) {
		t.Errorf("parsed %d bytes for %d appended", got, len(added))
	}
	if got := b.index.Work().Rows - rows; got > 40 {
		t.Errorf("wrote %d rows for one event", got)
	}
	snap, err := other.Snapshot(t.Context(), workspace)
	if err != nil {
		t.Fatal(err)
	}
	defer snap.Close()
	if hits, err := query.Collect(t.Context(), snap, []string{"heliotrope"}, nil); err != nil || len(hits) != 1 {
		t.Errorf("another reader sees %v, %v", hits, err)
	}
}

func TestGrowthRewriteAndRemoval(t *testing.T) {
	b := newBench(t)
	b.write("a", header("a")+user(0, "an early zephyr"))
	b.refresh()
	b.append("a", user(1, "a later zephyr"))
	b.refresh()
	if n := b.found("zephyr"); n != 2 {
		t.Fatalf("after growth found %d of 2", n)
	}
	b.write("a", header("a")+user(0, "a rewritten mistral"))
	b.refresh()
	if z, m := b.found("zephyr"), b.found("mistral"); z != 0 || m != 1 {
		t.Fatalf("after the rewrite found %d old and %d new", z, m)
	}
	if err := os.RemoveAll(filepath.Dir(b.path("a"))); err != nil {
		t.Fatal(err)
	}
	if cov := b.refresh(); cov.Sessions != 0 {
		t.Errorf("coverage %+v after the removal", cov)
	}
	if n := b.found("mistral"); n != 0 {
		t.Errorf("a removed session is found %d times", n)
	}
}

func TestAnAbsentRootRemovesNothing(t *testing.T) {
	b := newBench(t)
	b.write("a", header("a")+user(0, "kept zephyr"))
	b.refresh()
	away := b.root + "-away"
	if err := os.Rename(b.root, away); err != nil {
		t.Fatal(err)
	}
	b.refresh()
	if n := b.found("zephyr"); n != 1 {
		t.Errorf("an unmounted root lost its sessions: found %d", n)
	}
	if err := os.Rename(away, b.root); err != nil {
		t.Fatal(err)
	}
	b.refresh()
	if n := b.found("zephyr"); n != 1 {
		t.Errorf("after the root came back found %d", n)
	}
}

func TestAnotherEncodingInTheSameFolder(t *testing.T) {
	b := newBench(t)
	b.write("a", header("a")+user(0, "plain zephyr"))
	b.refresh()
	// The agent replaces its file by one of another name in the same folder.
	other := filepath.Join(filepath.Dir(b.path("a")), "session.jsonl.zstd")
	if err := os.Remove(b.path("a")); err != nil {
		t.Fatal(err)
	}
	writeFrames(t, other, header("a"), user(0, "packed zephyr"))
	b.refresh()
	if n := b.found("packed", "zephyr"); n != 1 {
		t.Errorf("the other encoding is found %d times", n)
	}
	if n := b.found("plain", "zephyr"); n != 0 {
		t.Errorf("the removed file is found %d times", n)
	}
}

func TestClosingRecordsComeAndGo(t *testing.T) {
	b := newBench(t)
	open := `{"type":"turn/start","seq":0,"time":1790000000000,"data":{"turn":1}}` + "\n"
	b.write("a", header("a")+open+user(1, "half a turn"))
	b.refresh()
	if n := b.found("interrupted"); n != 1 {
		t.Fatalf("the open turn is closed %d times", n)
	}
	b.append("a", user(2, "and on"))
	b.refresh()
	if n := b.found("interrupted"); n != 1 {
		t.Errorf("after growth the open turn is closed %d times", n)
	}
	b.append("a", `{"type":"turn/end","seq":3,"time":1790000000009,"data":{"turn":1,"reason":{"kind":"completed"}}}`+"\n")
	b.refresh()
	if n := b.found("interrupted"); n != 0 {
		t.Errorf("a finished turn is closed %d times", n)
	}
}

func TestSourcesThatContradictEachOtherStayOut(t *testing.T) {
	b := newBench(t)
	b.write("a", header("a")+user(0, "a sound zephyr"))
	b.write("twin", header("twin")+user(0, "a zephyr in conflict"))
	dir := filepath.Join(b.root, "--w-one--", "twin")
	writeFrames(t, filepath.Join(dir, "session.jsonl.zstd"), strings.Replace(header("twin"), "1790000000000", "1790000000001", 1), user(0, "another zephyr in conflict"))
	if cov := b.refresh(); cov.Unreadable != 1 {
		t.Errorf("coverage %+v", cov)
	}
	if n := b.found("zephyr"); n != 1 {
		t.Errorf("found %d, want the sound one alone", n)
	}
}

func TestTheSameLogTwiceIsOneSession(t *testing.T) {
	b := newBench(t)
	b.write("a", header("a")+user(0, "one zephyr"))
	writeFrames(t, filepath.Join(filepath.Dir(b.path("a")), "session.jsonl.zstd"), header("a"), user(0, "one zephyr"))
	if cov := b.refresh(); cov != (session.Coverage{Sessions: 1}) {
		t.Errorf("coverage %+v", cov)
	}
	if n := b.found("zephyr"); n != 1 {
		t.Errorf("found %d times", n)
	}
}

func TestManySmallSlices(t *testing.T) {
	b := newBench(t)
	// More text than one transaction takes, in one log.
	long := strings.Repeat("padding words here ", 4000)
	var log strings.Builder
	log.WriteString(header("big"))
	for i := range 300 {
		log.WriteString(user(i, fmt.Sprintf("marker%d %s", i, long)))
	}
	b.write("big", log.String())
	var steps []int
	cov, err := b.in.Refresh(t.Context(), session.Scope{Workspaces: []string{workspace}}, func(done, total int) { steps = append(steps, done) })
	if err != nil || cov.Behind != 0 {
		t.Fatalf("%+v, %v", cov, err)
	}
	if len(steps) < 2 {
		t.Errorf("22 MB of text went in %d transactions", len(steps))
	}
	for _, i := range []int{0, 150, 299} {
		if n := b.found(fmt.Sprintf("marker%d", i)); n != 1 {
			t.Errorf("marker%d is found %d times", i, n)
		}
	}
	if got := b.in.Work().Bytes; got > int64(log.Len())*11/10 {
		t.Errorf("parsed %d bytes of a log of %d", got, log.Len())
	}
}

func TestCancelledRefreshLosesNothing(t *testing.T) {
	b := newBench(t)
	for i := range 50 {
		id := fmt.Sprintf("s%d", i)
		b.write(id, header(id)+user(0, "a zephyr"))
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := b.in.Refresh(ctx, session.Scope{Workspaces: []string{workspace}}, nil); err == nil {
		t.Fatal("a cancelled refresh succeeded")
	}
	b.refresh()
	if n := b.found("zephyr"); n != 50 {
		t.Errorf("found %d of 50", n)
	}
}

func TestReplaceOfEventsFromAnEarlierRun(t *testing.T) {
	b := newBench(t)
	b.write("a", header("a")+user(0, "one")+user(1, "two")+user(2, "three"))
	b.refresh()
	b.append("a", user(3, "four"))
	b.refresh()
	summary := `{"type":"user/message","seq":4,"time":1790000000009,"data":{"id":"m","role":"user","content":[{"type":"text","text":"sum"}],"source":{"kind":"plugin","plugin":"compaction"}},"surfaceOp":{"op":"replace","start":0,"end":3},"sourceEventSeqs":[0,1,2,3]}` + "\n"
	b.append("a", summary+user(5, "five"))
	b.refresh()
	snap, err := b.index.Snapshot(t.Context(), workspace)
	if err != nil {
		t.Fatal(err)
	}
	defer snap.Close()
	rows, err := snap.Sessions(t.Context())
	if err != nil || len(rows) != 1 {
		t.Fatal(rows, err)
	}
	log := snap.Log(rows[0].Num)
	if got, err := log.Surface(t.Context()); err != nil || fmt.Sprint(got) != "[4 5]" {
		t.Errorf("surface %v, %v", got, err)
	}
	if got, err := log.Removed(t.Context(), 4); err != nil || fmt.Sprint(got) != "[0 1 2 3]" {
		t.Errorf("removed %v, %v", got, err)
	}
	if got, err := log.Derived(t.Context(), 2); err != nil || fmt.Sprint(got) != "[4]" {
		t.Errorf("derived %v, %v", got, err)
	}
	if got, err := log.States(t.Context()); err != nil || len(got) != 1 || got[0] != (query.Shadow{From: 0, To: 3, By: 4}) {
		t.Errorf("states %v, %v", got, err)
	}
}

func TestLateFilesAreDiscovered(t *testing.T) {
	b := newBench(t)
	b.write("a", header("a")+user(0, "zephyr"))
	b.refresh()
	time.Sleep(10 * time.Millisecond)
	b.write("b", header("b")[:20]) // half a header
	b.refresh()
	b.write("b", header("b")+user(0, "zephyr"))
	// A folder whose file comes later than the folder itself.
	if err := os.MkdirAll(filepath.Dir(b.path("c")), 0o700); err != nil {
		t.Fatal(err)
	}
	b.refresh()
	b.write("c", header("c")+user(0, "zephyr"))
	b.refresh()
	if n := b.found("zephyr"); n != 3 {
		t.Errorf("found %d of 3", n)
	}
}
