package codex

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/yorehq/yore/reader"
	"github.com/yorehq/yore/session"
)

// The kernel's table of locks, proc_locks(5).
func TestFlocks(t *testing.T) {
	got := flocks([]byte(`1: POSIX  ADVISORY  WRITE 699 00:0f:256 0 0
2: FLOCK  ADVISORY  WRITE 4711 08:01:131 0 EOF
3: FLOCK  ADVISORY  READ  4712 08:01:132 0 EOF
4: -> FLOCK  ADVISORY  WRITE 4713 08:01:131 0 EOF
5: FLOCK  ADVISORY  WRITE 4714 fd:00:131 0 EOF
6: FLOCK  ADVISORY  WRITE -1 08:01:133 0 EOF
7: FLOCK
`))
	if diff := cmp.Diff(map[uint64][]int{131: {4711, 4714}}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestRunning(t *testing.T) {
	root := home(t, map[string]string{
		rollout(idA):                      lines(metaLine(idA, ""), eventLine(1, `{"type":"task_complete"}`), eventLine(2, `{"type":"task_started"}`)),
		rollout(idB):                      lines(metaLine(idB, ""), eventLine(1, `{"type":"task_started"}`), eventLine(2, `{"type":"turn_aborted"}`)),
		lockDir + "/" + idA + ".lock":     "",
		lockDir + "/" + idB + ".lock":     "",
		lockDir + "/" + idC + ".lock":     "", // nobody holds it: its process crashed
		lockDir + "/" + idD + ".lock":     "", // its holder has another file with that inode number
		lockDir + "/another-file":         "",
		lockDir + "/$(reboot).lock":       "",
		lockDir + "/directory.lock/inner": "",
	})
	real, err := filepath.EvalSymlinks(root)
	if err != nil {
		t.Fatal(err)
	}
	proc := t.TempDir()
	table := ""
	for pid, id := range map[int]string{101: idA, 102: idB, 104: idD} {
		path := filepath.Join(real, lockDir, id+".lock")
		stamp, err := reader.StatRegular(path)
		if err != nil {
			t.Fatal(err)
		}
		if id == idD {
			path = "/elsewhere"
		}
		table += fmt.Sprintf("%d: FLOCK  ADVISORY  WRITE %d 08:01:%d 0 EOF\n", pid, pid, stamp.Inode)
		dir := filepath.Join(proc, fmt.Sprint(pid), "fd")
		if err := errors.Join(os.MkdirAll(dir, 0o700), os.Symlink(path, filepath.Join(dir, "7"))); err != nil {
			t.Fatal(err)
		}
	}
	put(t, proc, "locks", table)
	got, err := running(context.Background(), root, proc)
	if err != nil {
		t.Fatal(err)
	}
	want := map[session.ID]reader.Process{idA: {PID: 101, Busy: true}, idB: {PID: 102}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for name, root := range map[string]string{"no locks": t.TempDir(), "no folder": filepath.Join(root, "none")} {
		if got, err := New().Running(context.Background(), root); err != nil || len(got) > 0 {
			t.Errorf("%s: %v, %v", name, got, err)
		}
	}
	if got, err := running(context.Background(), root, t.TempDir()); err != nil || len(got) > 0 {
		t.Errorf("a system without a table: %v, %v", got, err)
	}
}

func TestFindCall(t *testing.T) {
	log := func(id, cwd, call string) string {
		return lines(fmt.Sprintf(`{"timestamp":"%s","type":"session_meta","payload":{"id":"%s","timestamp":"%s","cwd":"%s"}}`, at(0), id, at(0), cwd),
			itemLine(1, userItem("", "the words call_quoted are no call")), itemLine(2, callItem(call, "search", `{"query":"x"}`)))
	}
	root := home(t, map[string]string{
		rollout(idA): log(idA, "/w", "call_1"), rollout(idB): log(idB, "/w", "call_2"),
		rollout(idC): log(idC, "/v", "call_3"), rollout(idD): log(idD, "/w", "call_2"),
	})
	old := time.Now().Add(-time.Hour)
	if err := os.Chtimes(filepath.Join(root, rollout(idB)), old, old); err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		call string
		want session.ID
	}{{"call_1", idA}, {"call_2", idD}, {"call_3", ""}, {"call_4", ""}, {"call_quoted", ""}, {"", ""}} {
		got, ok, err := New().FindCall(context.Background(), root, "/w", tc.call)
		if err != nil || got != tc.want || ok != (tc.want != "") {
			t.Errorf("%s: %q, %v, %v; want %q", tc.call, got, ok, err, tc.want)
		}
	}
}

func TestTitle(t *testing.T) {
	src := reader.Source{Root: t.TempDir(), Header: session.Header{ID: idA}}
	title := func() string {
		t.Helper()
		got, ok, err := New().Title(context.Background(), src)
		if err != nil || ok != (got != "") {
			t.Fatalf("%q, %v, %v", got, ok, err)
		}
		return got
	}
	if got := title(); got != "" {
		t.Errorf("without an index: %q", got)
	}
	put(t, src.Root, indexName, `{"id":"`+idA+`","thread_name":"first"}
{"id":"`+idB+`","thread_name":"another's"}
not JSON
{"id":"`+idA+`","thread_name":" second\tname "}
{"id":"`+idA+`","thread_na`)
	if got := title(); got != "second name" {
		t.Errorf("%q", got)
	}
}
