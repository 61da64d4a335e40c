package archive_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/yorehq/yore/internal/archive"
	format "github.com/yorehq/yore/reader/archive"
	"github.com/yorehq/yore/reader/claude"
	"github.com/yorehq/yore/reader/readertest"
	"github.com/yorehq/yore/session"
)

// Subagents that stand in their session's file are archived as sessions.
func TestPartsAreArchived(t *testing.T) {
	root, dir := filepath.Join(t.TempDir(), "projects"), filepath.Join(t.TempDir(), "kept")
	path := filepath.Join(root, "-w-one", "s.jsonl")
	line := func(uuid, parent string, side bool) string {
		return fmt.Sprintf(`{"type":"user","uuid":%q,"parentUuid":%s,"isSidechain":%t,"timestamp":"2026-11-01T10:00:00.000Z","cwd":"/w/one","message":{"role":"user","content":"words of %s"}}`+"\n",
			uuid, parent, side, uuid)
	}
	text := line("r0", "null", false) + line("a0", "null", true)
	write := func() {
		t.Helper()
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	roots := []archive.Root{{Reader: claude.New(), Path: root}}
	run := func(want counts) {
		t.Helper()
		a, err := archive.New(dir, roots)
		if err != nil {
			t.Fatal(err)
		}
		report, err := a.Run(t.Context(), nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		got := counts{}
		for o, n := range report.Count {
			if n > 0 {
				got[archive.Outcome(o)] = n
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("outcomes (-want +got):\n%s%v", diff, report.Skips)
		}
		st, err := a.Status(t.Context(), nil)
		if err != nil || st.Sessions != 2 || st.Current != 2 || st.Alone != 0 || st.Missing != 0 {
			t.Errorf("status %+v, %v", st, err)
		}
	}
	write()
	run(counts{archive.Added: 2})
	run(counts{archive.Unchanged: 2})
	text += line("a1", `"a0"`, true)
	write()
	run(counts{archive.Continued: 2})

	kept := readertest.Discover(t, format.New(), dir)
	ids := map[session.ID]int{}
	for _, src := range kept {
		events := readertest.Memory(t, format.New(), src, 64<<20)
		for _, e := range events {
			if len(e.Body.Blocks) > 0 {
				ids[src.Header.ID]++
			}
		}
	}
	if diff := cmp.Diff(map[session.ID]int{"s": 1, "s/agent-a0": 2}, ids); diff != "" {
		t.Errorf("archived texts (-want +got):\n%s", diff)
	}

	due := func(want int) {
		t.Helper()
		list, err := archive.FindDue(t.Context(), roots, dir, time.Now().Add(29*24*time.Hour))
		if err != nil || len(list) != want {
			t.Errorf("%d are due, want %d: %v %v", len(list), want, list, err)
		}
	}
	due(0)
	part := session.Header{Agent: session.Claude, ID: "s/agent-a0", CreatedAt: 1793527200000, Cwd: "/w/one"}
	if err := os.Remove(format.Path(dir, part)); err != nil {
		t.Fatal(err)
	}
	due(1)
}
