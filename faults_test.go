package yore_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/yorehq/yore"
	"github.com/yorehq/yore/authz"
	"github.com/yorehq/yore/fault"
	"github.com/yorehq/yore/query"
	"github.com/yorehq/yore/session"
)

// fileTooLarge is SIGXFSZ, which Windows has no name for.
const fileTooLarge = syscall.Signal(25)

// TestDiskFull gives a process files of so many kilobytes and no more, as a full
// disk does: it may fail with a code or say that it is behind, its own health may
// not call that sound, and who has room afterwards answers as a rebuild does.
func TestDiskFull(t *testing.T) {
	if runtime.GOOS == "windows" {
		return // there is no limit to set
	}
	root := t.TempDir()
	for i := range 40 {
		path := writeLog(t, root, fmt.Sprintf("old-%d", i), fmt.Sprintf("an old zephyr of session %d with 数据库连接", i))
		for n := range 60 {
			appendLine(t, path, userLine(n+1, fmt.Sprintf("round %d: %x appended %x", n, n*i*7919, n*n*i*104729)))
		}
	}
	want := answers(t.Context(), t, openOver(t, root, filepath.Join(t.TempDir(), "fresh")))
	failed := 0
	for _, kilobytes := range []int{0, 4, 40, 120, 300, 500, 4000} {
		index := filepath.Join(t.TempDir(), "index")
		cmd := exec.Command("sh", "-c", `ulimit -f "$0" && exec "$@"`, fmt.Sprint(kilobytes*blocksPerKilobyte(t)), os.Args[0], "-test.run=^TestFullChild$", "-test.v=false")
		cmd.Env = append(os.Environ(), "YORE_TEST_FULL="+root, "YORE_TEST_INDEX="+index)
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%d KB: %v\n%s", kilobytes, err, out)
		}
		if bytes.Contains(out, []byte("failed")) {
			failed++
		}
		if diff := cmp.Diff(want, answers(t.Context(), t, openOver(t, root, index))); diff != "" {
			t.Errorf("%d KB, then room: it answers otherwise than a rebuild:\n%s", kilobytes, diff)
		}
	}
	if failed < 3 || failed == 7 {
		t.Errorf("%d of 7 were too small", failed)
	}
}

// blocksPerKilobyte is in what the shell counts.
func blocksPerKilobyte(t *testing.T) int {
	t.Helper()
	path := filepath.Join(t.TempDir(), "large")
	_ = exec.Command("sh", "-c", `trap "" XFSZ; ulimit -f 8; head -c 100000 /dev/zero > "$0"`, path).Run() // it fails, at a place that tells
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if info.Size() == 4096 {
		return 2
	}
	return 1
}

// TestFullChild is the process that has no room.
func TestFullChild(t *testing.T) {
	root := os.Getenv("YORE_TEST_FULL")
	if root == "" {
		return
	}
	signal.Ignore(fileTooLarge) // a full disk sends none
	h, err := yore.Open(t.Context(), yore.Options{Sources: []yore.Source{{Agent: session.DSH, Root: root}}, IndexDir: os.Getenv("YORE_TEST_INDEX")})
	if err != nil {
		t.Fatal(err)
	}
	scope := session.Scope{All: true}
	coverage, err := h.Refresh(t.Context(), scope, nil)
	if err != nil {
		if code, ok := fault.Of(err); !ok || code != fault.IndexFailed {
			t.Errorf("refresh: %v", err)
		}
		fmt.Println("failed")
	}
	health, healthErr := h.Health(t.Context(), yore.Pages, nil)
	if whole := err == nil && coverage.Behind == 0 && coverage.Unreadable == 0; healthErr == nil && health.Sound() && !whole {
		t.Errorf("its health is sound, although %v, %+v", err, coverage)
	}
	view, viewErr := h.View(t.Context(), authz.Caller{Workspace: childWorkspace})
	if viewErr != nil {
		t.Fatal(viewErr)
	}
	page, searchErr := view.SearchSessions(t.Context(), query.SessionSearch{Query: "zephyr", Limit: 100})
	if searchErr == nil && len(page.Hits) < 40 && page.Coverage.Behind == 0 && page.Coverage.Unreadable == 0 {
		t.Errorf("%d of 40 sessions are found, and nothing is said: %+v", len(page.Hits), page.Coverage)
	}
	_ = h.Close() // it may have nowhere to write to
}

// TestForgetBesideAnotherProcess forgets the session that another process
// indexes, searches and appends to at this moment. From then on no byte of it is
// in a file of the index, also while that process goes on.
func TestForgetBesideAnotherProcess(t *testing.T) {
	root, index, list := t.TempDir(), filepath.Join(t.TempDir(), "index"), filepath.Join(t.TempDir(), "config", "forgotten")
	for i := range 12 {
		writeLog(t, root, fmt.Sprint("old-", i), fmt.Sprintf("an old zephyr of session %d", i))
	}
	path := writeLog(t, root, "secret", "the zqsecretzq begins")
	cmd := exec.Command(os.Args[0], "-test.run=^TestForgetfulChild$", "-test.v=false")
	cmd.Env = append(os.Environ(), "YORE_TEST_FORGETFUL="+root, "YORE_TEST_INDEX="+index, "YORE_TEST_LIST="+list, "YORE_TEST_LOG="+path)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	pipe, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	out := bufio.NewReader(pipe)
	if line, err := out.ReadString('\n'); err != nil || line != "found\n" {
		t.Fatalf("child: %q, %v", line, err)
	}
	h, err := yore.Open(t.Context(), yore.Options{Sources: []yore.Source{{Agent: session.DSH, Root: root}}, IndexDir: index, ForgetFile: list})
	if err != nil {
		t.Fatal(err)
	}
	key := session.Key{Agent: session.DSH, ID: "secret"}
	done, err := h.Forget(t.Context(), []session.Key{key})
	for range 5 {
		if err != nil || done {
			break
		}
		done, err = h.Forget(t.Context(), []session.Key{key})
	}
	if err != nil || !done {
		t.Fatalf("Forget = %v, %v", done, err)
	}
	for range 20 {
		if holders := holding(t, index, "zqsecretzq"); len(holders) > 0 {
			t.Fatalf("it is in %v", holders)
		}
		time.Sleep(50 * time.Millisecond)
	}
	if err := h.Close(); err != nil {
		t.Error(err)
	}
	in.Close()
	var rounds struct{ Before, After, Wrong int }
	if err := json.NewDecoder(out).Decode(&rounds); err != nil || rounds.Before == 0 || rounds.After == 0 || rounds.Wrong != 0 {
		t.Errorf("child: %+v, %v", rounds, err)
	}
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
	if holders := holding(t, index, "zqsecretzq"); len(holders) > 0 {
		t.Errorf("it is in %v again", holders)
	}
}

// TestForgetfulChild is the other process. A session that is gone from its
// answers must not come back.
func TestForgetfulChild(t *testing.T) {
	root := os.Getenv("YORE_TEST_FORGETFUL")
	if root == "" {
		return
	}
	h, err := yore.Open(t.Context(), yore.Options{
		Sources: []yore.Source{{Agent: session.DSH, Root: root}}, IndexDir: os.Getenv("YORE_TEST_INDEX"), ForgetFile: os.Getenv("YORE_TEST_LIST"),
	})
	if err != nil {
		t.Fatal(err)
	}
	view, err := h.View(t.Context(), authz.Caller{Workspace: childWorkspace})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	go func() {
		_, _ = bufio.NewReader(os.Stdin).ReadString('\n') // its end is the sign
		stop()
	}()
	var rounds struct{ Before, After, Wrong int }
	for seq := 1; ctx.Err() == nil; seq++ {
		appendLine(t, os.Getenv("YORE_TEST_LOG"), userLine(seq, fmt.Sprintf("zqsecretzq goes on in round %d", seq)))
		page, err := view.SearchSessions(t.Context(), query.SessionSearch{Query: "zqsecretzq", Limit: 5, Match: query.Literal})
		switch {
		case err != nil:
			t.Fatal(err)
		case len(page.Hits) == 0 && rounds.Before > 0:
			rounds.After++
		case len(page.Hits) > 0 && rounds.After > 0:
			rounds.Wrong++
		case len(page.Hits) > 0:
			if rounds.Before++; rounds.Before == 1 {
				fmt.Println("found")
			}
		}
	}
	if err := h.Close(); err != nil {
		t.Fatal(err)
	}
	out, _ := json.Marshal(rounds)
	fmt.Println(string(out))
}

// holding names the files below a folder that hold a text.
func holding(t *testing.T, dir, text string) (names []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			if os.IsNotExist(err) {
				return nil // it went this moment
			}
			return err
		}
		data, err := os.ReadFile(path)
		if err == nil && strings.Contains(string(data), text) {
			names = append(names, path)
		}
		if os.IsNotExist(err) {
			return nil
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}
