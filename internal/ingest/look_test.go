package ingest_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/yorehq/yore/internal/ingest"
	"github.com/yorehq/yore/reader/claude"
	"github.com/yorehq/yore/reader/codex"
	"github.com/yorehq/yore/reader/dsh"
	"github.com/yorehq/yore/session"
	"github.com/yorehq/yore/sqlite"
)

// town is the folders of three agents with many more workspaces than one.
type town struct {
	*bench
	claude, codex string
}

const old = 100 * 24 * time.Hour

func newTown(t *testing.T, projects int) *town {
	w := &town{bench: &bench{t: t, root: t.TempDir(), dir: filepath.Join(t.TempDir(), "index")}, claude: t.TempDir(), codex: t.TempDir()}
	for i := range projects {
		cwd := fmt.Sprintf("/w/p%d", i)
		if i == 0 {
			cwd = workspace
		}
		name := filepath.Join(w.root, fmt.Sprintf("--w-p%d--", i))
		if i == 0 {
			name = filepath.Join(w.root, "--w-one--")
		}
		w.file(filepath.Join(name, fmt.Sprint("d", i), "session.jsonl"),
			fmt.Sprintf(`{"type":"session","version":0,"id":"d%d","createdAt":1790000000000,"cwd":%q,"delegationDepth":0}`+"\n", i, cwd)+user(0, "zephyr"))
		w.claudeLog(fmt.Sprint("-w-p", i), fmt.Sprint("c", i), cwd)
		day := time.Unix(1_790_000_000, 0).UTC().AddDate(0, 0, -i)
		w.file(filepath.Join(w.codex, "sessions", day.Format("2006/01/02"), fmt.Sprintf("rollout-%s-01a22bac-0000-7000-8000-%012x.jsonl", day.Format("2006-01-02T15-04-05"), i)),
			fmt.Sprintf(`{"timestamp":"2026-09-01T00:00:00.000Z","type":"session_meta","payload":{"id":"01a22bac-0000-7000-8000-%012x","timestamp":"2026-09-01T00:00:00.000Z","cwd":%q}}`+"\n", i, cwd)+
				`{"timestamp":"2026-09-01T00:00:01.000Z","type":"response_item","payload":{"type":"message","role":"user","content":[{"type":"input_text","text":"zephyr"}]}}`+"\n")
	}
	for _, root := range []string{w.root, w.claude, w.codex} {
		w.settle(root)
	}
	w.open()
	return w
}

func (w *town) open() {
	w.bench.open()
	w.in = ingest.New(ingest.Options{Catalog: w.index, Shards: w.index, Roots: []ingest.Root{
		{Reader: dsh.New(), Path: w.root}, {Reader: claude.New(), Path: w.claude}, {Reader: codex.New(), Path: w.codex},
	}})
}

func (w *town) file(path, content string) {
	w.t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		w.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		w.t.Fatal(err)
	}
}

func (w *town) claudeLog(folder, id, cwd string) {
	w.t.Helper()
	w.file(filepath.Join(w.claude, folder, id+".jsonl"), fmt.Sprintf(
		`{"parentUuid":null,"isSidechain":false,"type":"user","message":{"role":"user","content":"zephyr"},"uuid":"u-%s","timestamp":"2026-09-01T00:00:00.000Z","cwd":%q,"sessionId":%q}`+"\n", id, cwd, id))
}

// settle makes every folder old, as almost all of them are.
func (w *town) settle(dir string) {
	w.t.Helper()
	at := time.Now().Add(-old)
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || !d.IsDir() {
			return err
		}
		return os.Chtimes(path, at, at)
	})
	if err != nil {
		w.t.Fatal(err)
	}
}

// What a look costs does not grow with what other workspaces have gathered.
func TestALookAtOneWorkspaceIsBounded(t *testing.T) {
	var statements []int64
	for _, projects := range []int{300, 600} {
		w := newTown(t, projects)
		if cov := w.refresh(); cov != (session.Coverage{Sessions: 3}) {
			t.Fatalf("coverage %+v", cov)
		}
		w.open() // another process
		before := w.index.Work()
		w.refresh()
		work, after := w.in.Work(), w.index.Work()
		if work.Files > 3 || work.Folders > 500 || work.Identified != 0 || work.Bytes != 0 {
			t.Errorf("%d projects: an unchanged workspace of three logs cost %+v", projects, work)
		}
		if after.Rows != before.Rows {
			t.Errorf("it wrote %d rows", after.Rows-before.Rows)
		}
		statements = append(statements, after.Statements-before.Statements)
	}
	// One look in four goes to some quiet folders of two roots, by three statements each.
	if max(statements[0], statements[1]) > min(statements[0], statements[1])+6 || statements[0] > 60 {
		t.Errorf("statements %d", statements)
	}
}

// A new log is found at once wherever its agent would put it, and in a folder
// that has sessions of the workspace already, however many others there are.
func TestANewLogIsFoundAmongManyFolders(t *testing.T) {
	w := newTown(t, 300)
	w.refresh()
	want := 3
	check := func(what string) {
		t.Helper()
		if want++; w.found("zephyr") == want {
			t.Fatalf("%s: found before the look", what)
		}
		if cov := w.refresh(); cov.Sessions != want {
			t.Errorf("%s: coverage %+v, want %d sessions", what, cov, want)
		}
	}
	w.write("new", header("new")+user(0, "zephyr"))
	check("a session of DSH")
	w.claudeLog("-w-one", "fresh", workspace)
	check("a project's first session")
	w.claudeLog("-w-one", "again", workspace)
	check("its second")
	w.claudeLog("-w-p0", "moved", workspace)
	check("one in a folder that has one of the workspace")
	w.claudeLog("-w-one/again/subagents", "agent-a1", workspace)
	check("a subagent")
	day := time.Now()
	name := "rollout-2026-09-01T00-00-00-01a22bac-0000-7000-9000-000000000001.jsonl"
	w.file(filepath.Join(w.codex, "sessions", day.Format("2006/01/02"), name),
		fmt.Sprintf(`{"timestamp":"2026-09-01T00:00:00.000Z","type":"session_meta","payload":{"id":"01a22bac-0000-7000-9000-000000000001","timestamp":"2026-09-01T00:00:00.000Z","cwd":%q}}`+"\n", workspace)+
			`{"timestamp":"2026-09-01T00:00:01.000Z","type":"response_item","payload":{"type":"message","role":"user","content":[{"type":"input_text","text":"zephyr"}]}}`+"\n")
	check("a thread of today")
}

// A file that comes by hand into a quiet folder is found by one of the next
// looks, and at once by a look at everything.
func TestAQuietFolderIsLookedAtInTurn(t *testing.T) {
	w := newTown(t, 300)
	w.refresh()
	w.claudeLog("-w-p200", "stray", workspace)
	w.claudeLog("-w-p250", "other", workspace)
	for n := 0; ; n++ {
		if cov := w.refresh(); cov.Sessions == 5 {
			break
		}
		if n == 2000 {
			t.Fatal("some folder is never looked at")
		}
	}
	w.claudeLog("-w-p150", "third", workspace)
	if _, err := w.in.Refresh(t.Context(), session.Scope{All: true}, nil); err != nil {
		t.Fatal(err)
	}
	if n := w.found("zephyr"); n != 6 {
		t.Errorf("found %d of 6", n)
	}
}

// One log that grew is read under the lock with its own state and no other's.
func TestAnAppendDoesNotDependOnTheOthers(t *testing.T) {
	var costs []sqlite.Work
	for _, sessions := range []int{20, 400} {
		b := newBench(t)
		for i := range sessions {
			id := fmt.Sprint("s", i)
			b.write(id, header(id)+user(0, "zephyr"))
		}
		b.refresh()
		b.refresh() // the folders are older than the clock's grain then
		before := b.index.Work()
		b.append("s7", user(1, "heliotrope"))
		if _, err := b.in.Refresh(t.Context(), session.Scope{Workspaces: []string{workspace}}, nil); err != nil {
			t.Fatal(err)
		}
		after := b.index.Work()
		costs = append(costs, sqlite.Work{Rows: after.Rows - before.Rows, Statements: after.Statements - before.Statements, Transactions: after.Transactions - before.Transactions})
		if n := b.found("heliotrope"); n != 1 {
			t.Errorf("found %d times", n)
		}
	}
	if costs[0].Statements+5 < costs[1].Statements || costs[0].Rows+2 < costs[1].Rows {
		t.Errorf("among 20 sessions %+v, among 400 %+v", costs[0], costs[1])
	}
}
