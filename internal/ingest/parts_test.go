package ingest_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/yorehq/yore/internal/ingest"
	"github.com/yorehq/yore/query"
	"github.com/yorehq/yore/reader"
	"github.com/yorehq/yore/reader/archive"
	"github.com/yorehq/yore/reader/claude"
	"github.com/yorehq/yore/session"
)

// inline is a record of a subagent in the session's own file.
func (f *family) inline(id, uuid, parent string, minute int) string {
	return strings.ReplaceAll(f.row(id, uuid, parent, minute, ""), `"isSidechain":false`, `"isSidechain":true`)
}

func (f *family) want(parents map[string]string, zephyrs int) {
	f.t.Helper()
	if diff := cmp.Diff(parents, f.parents()); diff != "" {
		f.t.Errorf("sessions (-want +got):\n%s", diff)
	}
	if n := f.found("zephyr"); n != zephyrs {
		f.t.Errorf("found %d of %d", n, zephyrs)
	}
}

func TestInlineSubagentsAreFoundOnceEach(t *testing.T) {
	f := newFamily(t, 1)
	text := f.row("s", "r0", "", 0, "") + f.inline("s", "a0", "", 1) + f.inline("s", "b0", "", 2) + f.inline("s", "a1", "a0", 3)
	f.put(0, "s", text)
	f.want(map[string]string{"s": " 0", "s/agent-a0": "s 0", "s/agent-b0": "s 0"}, 4)
	if cov := f.refresh(); cov != (session.Coverage{Sessions: 3}) {
		t.Errorf("coverage %+v", cov)
	}

	// The file grows: an old run, a new one and the session itself.
	grown := f.inline("s", "b1", "b0", 4) + f.row("s", "r1", "r0", 5, "") + f.inline("s", "c0", "", 6)
	f.put(0, "s", text+grown)
	before := f.in.Work().Bytes
	f.want(map[string]string{"s": " 0", "s/agent-a0": "s 0", "s/agent-b0": "s 0", "s/agent-c0": "s 0"}, 7)
	// Once for the session, and what lies between the old end of b and its new one.
	if cost, most := f.in.Work().Bytes-before, int64(len(grown)+len(text)); cost > most {
		t.Errorf("%d bytes were parsed, more than %d", cost, most)
	}
	f.open() // another process
	f.refresh()
	if w := f.in.Work(); w.Bytes != 0 || w.Identified != 0 {
		t.Errorf("an unchanged root cost %+v", w)
	}

	// What the session alone gains costs its parts nothing.
	more := f.row("s", "r2", "r1", 7, "")
	f.put(0, "s", text+grown+more)
	f.refresh()
	if w := f.in.Work(); w.Bytes != int64(len(more)) {
		t.Errorf("%d bytes were parsed for %d", w.Bytes, len(more))
	}

	// Another file stands in its place.
	f.put(0, "s", f.row("s", "q0", "", 0, "")+f.inline("s", "d0", "", 1))
	f.want(map[string]string{"s": " 0", "s/agent-d0": "s 0"}, 2)

	if err := os.Remove(filepath.Join(f.roots[0], "-w-one", "s.jsonl")); err != nil {
		t.Fatal(err)
	}
	f.want(map[string]string{}, 0)
	if rows, err := f.index.Files(t.Context(), ingest.FileLookup{}); err != nil || len(rows) != 0 {
		t.Errorf("%d files are catalogued, %v", len(rows), err)
	}
}

// A call that stopped between a file's own session and its parts is made good by
// the next one.
func TestPartsAreFoundAgainByTheShard(t *testing.T) {
	f := newFamily(t, 1)
	f.put(0, "s", f.row("s", "r0", "", 0, "")+f.inline("s", "a0", "", 1))
	f.refresh()
	rows, err := f.index.Files(t.Context(), ingest.FileLookup{})
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range rows {
		if _, part := reader.SplitPart(row.Path); part != "" {
			if err := f.index.Update(t.Context(), ingest.CatalogChange{RemoveFiles: []string{row.Path}}); err != nil {
				t.Fatal(err)
			}
		}
	}
	f.want(map[string]string{"s": " 0", "s/agent-a0": "s 0"}, 2)
}

// Who asks for a subagent alone gets what its file has gained.
func TestOnlyAPart(t *testing.T) {
	f := newFamily(t, 1)
	text := f.row("s", "r0", "", 0, "") + f.inline("s", "a0", "", 1)
	f.put(0, "s", text)
	f.refresh()
	f.put(0, "s", text+f.inline("s", "a1", "a0", 2))
	key := session.Key{Agent: session.Claude, ID: "s/agent-a0"}
	if _, err := f.in.Refresh(t.Context(), session.Scope{Workspaces: []string{workspace}, Only: &key}, nil); err != nil {
		t.Fatal(err)
	}
	if n := f.found("zephyr"); n != 3 {
		t.Errorf("found %d of 3", n)
	}
}

// A subagent that has a file too is read there, whatever its header says.
func TestAFileOutranksAPart(t *testing.T) {
	f := newFamily(t, 1)
	side := strings.ReplaceAll(f.inline("s", "a0", "", 1), `"version"`, `"agentId":"a1","version"`)
	f.put(0, "s", f.row("s", "r0", "", 0, "")+side)
	f.want(map[string]string{"s": " 0", "s/agent-a1": "s 0"}, 2)
	dir := filepath.Join(f.roots[0], "-w-one", "s", "subagents")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "agent-a1.jsonl"), []byte(strings.ReplaceAll(side, "T10:01", "T11:01")), 0o600); err != nil {
		t.Fatal(err)
	}
	f.want(map[string]string{"s": " 0", "s/agent-a1": "s 0"}, 2)
	if cov := f.refresh(); cov.Unreadable != 0 || cov.Sessions != 2 {
		t.Errorf("coverage %+v", cov)
	}
}

// Of two copies of a file one is read, and its parts with it.
func TestPartsOfCopies(t *testing.T) {
	f := newFamily(t, 2)
	text := f.row("s", "r0", "", 0, "") + f.inline("s", "a0", "", 1)
	f.put(0, "s", text)
	f.put(1, "s", text+f.inline("s", "a1", "a0", 2))
	f.want(map[string]string{"s": " 0", "s/agent-a0": "s 0"}, 3)
	f.put(0, "s", text+f.inline("s", "a1", "a0", 2)+f.inline("s", "a2", "a1", 3))
	f.want(map[string]string{"s": " 0", "s/agent-a0": "s 0"}, 4)
	f.put(0, "s", text+f.inline("s", "a1", "a0", 2)+f.inline("s", "a2", "a1", 3)+f.inline("s", "b0", "", 4))
	f.want(map[string]string{"s": " 0", "s/agent-a0": "s 0", "s/agent-b0": "s 0"}, 5)
}

// An exact read of a part returns the bytes of its own file.
func TestWindowOfAPart(t *testing.T) {
	f := newFamily(t, 1)
	side := f.inline("s", "a0", "", 1)
	f.put(0, "s", f.row("s", "r0", "", 0, "")+side)
	f.refresh()
	rows, err := f.index.Files(t.Context(), ingest.FileLookup{})
	if err != nil || len(rows) != 2 {
		t.Fatal(rows, err)
	}
	got := ""
	h, err := f.in.Window(t.Context(), rows[1].Path, session.Checkpoint{}, 0, 5, session.Every(), func(r session.Raw) error {
		got += fmt.Sprintf("%d %s\n", r.Event.Seq, r.Native)
		return nil
	})
	if err != nil || h != rows[1].Header {
		t.Errorf("%+v, %v", h, err)
	}
	if diff := cmp.Diff("0 "+side, got); diff != "" {
		t.Error(diff)
	}
}

// archive keeps what is indexed in an archive, which is a root from then on.
func (f *family) archive() {
	f.t.Helper()
	dir := f.t.TempDir()
	f.in = ingest.New(ingest.Options{
		Roots:   []ingest.Root{{Reader: claude.New(), Path: f.roots[0]}, {Reader: archive.New(), Path: dir}},
		Catalog: f.index, Shards: f.index,
	})
	rows, err := f.index.Files(f.t.Context(), ingest.FileLookup{})
	if err != nil {
		f.t.Fatal(err)
	}
	for _, row := range rows {
		var out bytes.Buffer
		enc, err := archive.NewEncoder(&out)
		if err == nil {
			err = enc.Begin(archive.Origin{Header: row.Header})
		}
		if err == nil {
			_, err = f.in.Window(f.t.Context(), row.Path, session.Checkpoint{}, 0, 9, session.Every(), func(r session.Raw) error { return enc.Add(r, 1) })
		}
		if err == nil {
			err = enc.End(reader.Position{})
		}
		path := archive.Path(dir, row.Header)
		if err == nil {
			err = os.MkdirAll(filepath.Dir(path), 0o700)
		}
		if err == nil {
			err = os.WriteFile(path, out.Bytes(), 0o600)
		}
		if err != nil {
			f.t.Fatal(err)
		}
	}
}

// A copy of a part in an archive is a copy: the file goes on, and what it gains
// is found.
func TestAPartOutranksItsArchivedCopy(t *testing.T) {
	f := newFamily(t, 1)
	text := f.row("s", "r0", "", 0, "") + f.inline("s", "a0", "", 1)
	f.put(0, "s", text)
	f.refresh()
	f.archive()
	f.want(map[string]string{"s": " 0", "s/agent-a0": "s 0"}, 2)
	f.put(0, "s", text+f.inline("s", "a1", "a0", 2))
	f.want(map[string]string{"s": " 0", "s/agent-a0": "s 0"}, 3)
	if cov := f.refresh(); cov != (session.Coverage{Sessions: 2}) {
		t.Errorf("coverage %+v", cov)
	}
	if err := os.Remove(filepath.Join(f.roots[0], "-w-one", "s.jsonl")); err != nil {
		t.Fatal(err)
	}
	f.want(map[string]string{"s": " 0", "s/agent-a0": "s 0"}, 2)
}

// Inline subagents of a fork are forks in an archive too, where each has a file:
// what was said once is found once when the agent has deleted the sessions.
func TestArchivedPartsOfForks(t *testing.T) {
	f := newFamily(t, 1)
	text := func(id string) string { return f.row(id, "r0", "", 0, "") + f.inline(id, "a0", "", 1) }
	f.put(0, "s", text("s"))
	f.put(0, "t", text("t")+f.row("t", "r1", "r0", 2, "")+f.inline("t", "a1", "a0", 3)+f.inline("t", "b0", "", 4))
	want := map[string]string{"s/agent-a0": "s 0", "t/agent-a0": "s/agent-a0 1", "t/agent-b0": "t 0"}
	f.refresh()
	f.archive()
	f.refresh()
	for _, id := range []string{"s", "t"} {
		if err := os.Remove(filepath.Join(f.roots[0], "-w-one", id+".jsonl")); err != nil {
			t.Fatal(err)
		}
		f.refresh()
		got := f.parents()
		delete(got, "s")
		delete(got, "t")
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("without the logs up to %s (-want +got):\n%s", id, diff)
		}
	}
}

// Subagents' files that were copied with their session are forks too, but two
// that one session gave the same context stay what they are.
func TestCopiedSubagentsWithFiles(t *testing.T) {
	f := newFamily(t, 1)
	for _, id := range []string{"s", "t"} {
		f.put(0, id, f.row(id, "r0", "", 0, ""))
		for i, agent := range []string{"a1", "a2"} {
			f.put(0, filepath.Join(id, "subagents", "agent-"+agent), f.inline(id, "c0", "", 1)+f.inline(id, "c1"+agent, "c0", 2+i))
		}
	}
	want := map[string]string{
		"s/agent-a1": "s 0", "s/agent-a2": "s 0", "t/agent-a1": "s/agent-a1 2", "t/agent-a2": "s/agent-a2 2",
	}
	got := f.parents()
	delete(got, "s")
	delete(got, "t")
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// When an origin is deleted, what was copied from it is what a new index says:
// a subagent is its session's again, and of other copies one is the origin.
func TestForksOfWhatIsGone(t *testing.T) {
	f := newFamily(t, 1)
	text := func(id string) string { return f.row(id, "r0", "", 0, "") + f.inline(id, "a0", "", 1) }
	f.put(0, "s", text("s")+f.row("s", "s1", "r0", 2, "")+f.inline("s", "as", "a0", 3))
	f.put(0, "t", text("t")+f.row("t", "t1", "r0", 4, "")+f.inline("t", "at", "a0", 5))
	f.put(0, "u", text("u")+f.row("u", "u1", "r0", 6, "")+f.inline("u", "au", "a0", 7))
	steps := []map[string]string{
		{"s": " 0", "t": "s 2", "u": "s 2", "s/agent-a0": "s 0", "t/agent-a0": "s/agent-a0 1", "u/agent-a0": "s/agent-a0 1"},
		{"t": " 0", "u": "t 2", "t/agent-a0": "t 0", "u/agent-a0": "t/agent-a0 1"},
		{"u": " 0", "u/agent-a0": "u 0"},
	}
	for i, want := range steps {
		got := f.parents()
		if diff := cmp.Diff(f.fresh(), got); diff != "" {
			t.Errorf("%d gone (-new index +old):\n%s", i, diff)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%d gone (-want +got):\n%s", i, diff)
		}
		if err := os.Remove(filepath.Join(f.roots[0], "-w-one", "stu"[i:i+1]+".jsonl")); err != nil {
			t.Fatal(err)
		}
	}
}

// A copy of a fork that has just been catalogued does not contradict the fork:
// what was found out of the one holds for the other.
func TestANewCopyOfAFoundFork(t *testing.T) {
	f := newFamily(t, 2)
	f.put(0, "s", f.rows("s", 2))
	f.put(0, "t", f.rows("t", 2)+f.row("t", "t2", "r1", 9, ""))
	f.put(0, "u", f.rows("u", 2)+f.row("u", "u2", "r1", 8, ""))
	f.refresh()
	for _, id := range []string{"s", "t", "u"} {
		text, err := os.ReadFile(filepath.Join(f.roots[0], "-w-one", id+".jsonl"))
		if err != nil {
			t.Fatal(err)
		}
		f.put(1, id, string(text))
	}
	if _, err := f.in.Refresh(t.Context(), session.Scope{}, nil); err != nil { // discovers, and looks at nothing
		t.Fatal(err)
	}
	known, err := f.index.Headers(t.Context(), query.Lookup{})
	if err != nil || len(known) != 6 {
		t.Fatal(known, err)
	}
	headers, forks := map[session.ID]session.Header{}, 0
	for _, k := range known {
		if h, ok := headers[k.Header.ID]; ok && h != k.Header {
			t.Errorf("%+v and %+v", h, k.Header)
		}
		headers[k.Header.ID] = k.Header
		if k.Header.ParentSession != "" {
			forks++
		}
	}
	if forks != 4 {
		t.Errorf("%d of 4 files are of forks", forks)
	}
}
