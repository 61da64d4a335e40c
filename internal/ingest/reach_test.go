package ingest_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/yorehq/yore/session"
)

// away makes a path unusable in a way that does not depend on rights, which
// mean nothing to root: a plain file stands where the folder was, so that every
// look at what is below fails with "not a directory".
func away(t *testing.T, folder string) (back func()) {
	t.Helper()
	hidden := filepath.Join(t.TempDir(), "hidden")
	if err := os.Rename(folder, hidden); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(folder, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	return func() {
		if err := os.Remove(folder); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(hidden, folder); err != nil {
			t.Fatal(err)
		}
	}
}

// ordinary reports whether rights mean something to this process. To root they
// do not: the test is then run in a process of its own, as another user.
func ordinary(t *testing.T) bool {
	t.Helper()
	if os.Geteuid() != 0 {
		return true
	}
	home, err := os.MkdirTemp("", "yore-ordinary-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(home) })
	program, err := os.ReadFile(os.Args[0])
	if err == nil {
		err = os.WriteFile(filepath.Join(home, "tests"), program, 0o755)
	}
	if err == nil {
		err = os.Chmod(home, 0o777)
	}
	if err != nil {
		t.Fatal(err)
	}
	command := "cd " + home + " && HOME=" + home + " TMPDIR=" + home + " ./tests -test.v -test.run '^" + t.Name() + "$'"
	out, err := exec.Command("su", "nobody", "-s", "/bin/sh", "-c", command).CombinedOutput()
	if err != nil || !strings.Contains(string(out), "--- PASS: "+t.Name()) {
		t.Errorf("as an ordinary user: %v\n%s", err, out)
	}
	return false
}

func TestALogOutOfReachIsNotGone(t *testing.T) {
	b := newBench(t)
	b.write("a", header("a")+user(0, "one zephyr"))
	b.write("b", header("b")+user(0, "two zephyr"))
	b.refresh()
	back := away(t, filepath.Dir(b.path("a")))
	if cov := b.refresh(); cov.Unreadable != 1 || cov.Sessions != 2 {
		t.Errorf("coverage %+v", cov)
	}
	if n := b.found("zephyr"); n != 2 {
		t.Errorf("found %d of 2: what cannot be looked at is not gone", n)
	}
	back()
	if cov := b.refresh(); cov != (session.Coverage{Sessions: 2}) {
		t.Errorf("coverage %+v after it came back", cov)
	}
}

func TestALogThatCouldNotBeOpenedAtFirst(t *testing.T) {
	if !ordinary(t) {
		return
	}
	b := newBench(t)
	b.write("a", header("a")+user(0, "late zephyr"))
	if err := os.Chmod(b.path("a"), 0); err != nil {
		t.Fatal(err)
	}
	b.refresh()
	if n := b.found("zephyr"); n != 0 {
		t.Fatalf("a file without rights was read: found %d", n)
	}
	if err := os.Chmod(b.path("a"), 0o600); err != nil {
		t.Fatal(err)
	}
	if cov := b.refresh(); cov != (session.Coverage{Sessions: 1}) {
		t.Errorf("coverage %+v", cov)
	}
	if n := b.found("zephyr"); n != 1 {
		t.Errorf("found %d times once it can be opened", n)
	}
}

func TestAContradictionThatIsCorrectedEnds(t *testing.T) {
	b := newBench(t)
	b.write("twin", header("twin")+user(0, "a zephyr"))
	other := filepath.Join(filepath.Dir(b.path("twin")), "session.jsonl.zstd")
	writeFrames(t, other, strings.Replace(header("twin"), "1790000000000", "1790000000001", 1), user(0, "a zephyr"))
	if cov := b.refresh(); cov.Unreadable != 1 {
		t.Fatalf("coverage %+v", cov)
	}
	writeFrames(t, other, header("twin"), user(0, "a zephyr"))
	later := time.Now().Add(time.Minute)
	if err := os.Chtimes(other, later, later); err != nil {
		t.Fatal(err)
	}
	if cov := b.refresh(); cov != (session.Coverage{Sessions: 1}) {
		t.Errorf("coverage %+v", cov)
	}
	if n := b.found("zephyr"); n != 1 {
		t.Errorf("found %d times", n)
	}
}

func TestTextThatIsTooLongIsCounted(t *testing.T) {
	b := newBench(t)
	b.write("a", header("a")+user(0, strings.Repeat("long words here ", 600_000)+"zephyr"))
	if cov := b.refresh(); cov.Clipped != 1 {
		t.Errorf("coverage %+v", cov)
	}
	if n := b.found("zephyr"); n != 0 {
		t.Errorf("found %d times behind the end of what is searchable", n)
	}
}

func TestDamageInTheMiddleIsCounted(t *testing.T) {
	b := newBench(t)
	b.write("a", header("a")+user(0, "early zephyr")+`{"broken`+"\n"+user(2, "late zephyr")+user(3, "later zephyr"))
	if cov := b.refresh(); cov.Damaged != 1 || cov.Unreadable != 0 {
		t.Errorf("coverage %+v", cov)
	}
	if cov := b.refresh(); cov.Damaged != 1 {
		t.Errorf("coverage %+v on the second look", cov)
	}
	if n := b.found("zephyr"); n != 1 {
		t.Errorf("found %d, want what lies before the damage", n)
	}
}

// TestAFolderThatCannotBeListedAtFirst has a workspace's folder without rights:
// it may not be forgotten, although nothing changes in it when it gets them.
func TestAFolderThatCannotBeListedAtFirst(t *testing.T) {
	if !ordinary(t) {
		return
	}
	b := newBench(t)
	b.write("a", header("a")+user(0, "a late zephyr"))
	folder := filepath.Dir(filepath.Dir(b.path("a")))
	long := time.Now().Add(-time.Hour)
	if err := os.Chtimes(folder, long, long); err != nil {
		t.Fatal(err)
	}
	if err := os.Chtimes(b.root, long, long); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(folder, 0); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.Chmod(folder, 0o700) })
	for range 2 {
		cov, err := b.in.Refresh(t.Context(), session.Scope{All: true}, nil)
		if err != nil {
			t.Fatal(err)
		}
		if cov.Unreadable != 1 {
			t.Errorf("coverage %+v", cov)
		}
	}
	if err := os.Chmod(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	b.refresh()
	if n := b.found("zephyr"); n != 1 {
		t.Errorf("found %d once the folder can be listed", n)
	}
}

func TestTextOfARewrittenLogLeavesTheIndex(t *testing.T) {
	b := newBench(t)
	b.write("a", header("a")+user(0, "topsecretword xqzjvkw"))
	b.refresh()
	b.write("a", header("a")+user(0, "harmless text"))
	b.refresh()
	// A process that is stopped before it tidies up: the next one does.
	b.index.Close()
	b.open()
	b.refresh()
	if err := b.in.Tidy(t.Context()); err != nil {
		t.Fatal(err)
	}
	if n := b.found("harmless", "text"); n != 1 {
		t.Errorf("after tidying up the new text is found %d times", n)
	}
	err := filepath.WalkDir(b.dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		if strings.Contains(string(data), "topsecretword") || strings.Contains(string(data), "xqzjvkw") {
			t.Errorf("%s still holds the text", filepath.Base(path))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}
