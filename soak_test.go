package yore_test

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/yorehq/yore"
	"github.com/yorehq/yore/authz"
	"github.com/yorehq/yore/session"
	"github.com/yorehq/yore/toolset"
)

// soak is how many calls the test of leaks makes. A whole one is a million:
//
//	go test . -count=1 -timeout 3h -run 'TestSoak|TestIdleHour' -soak 1000000 -idle 150 -v
var soak = flag.Int("soak", 600, "how many tool calls to look for leaks over")

// idle is how many workspaces of a hundred sessions stand idle. A whole one is 150.
var idle = flag.Int("idle", 10, "how many workspaces of a hundred sessions stand idle")

// used is what a process has taken.
type used struct {
	goroutines, files int
	heap              uint64
}

func usedNow() used {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	files, _ := os.ReadDir("/proc/self/fd") // none where there is no such folder
	return used{runtime.NumGoroutine(), len(files), m.HeapAlloc}
}

// TestSoak makes calls of every tool, good and bad, and compares what is in use
// after a tenth of them with what is in use at the end.
func TestSoak(t *testing.T) {
	h := openOver(t, filepath.Join("testdata", "golden", "corpus", "main"), filepath.Join(t.TempDir(), "index"))
	own := session.Key{Agent: session.DSH, ID: "alpha-lead"}
	callers := []authz.Caller{{Workspace: "/srv/code/alpha"}, {Workspace: "/srv/code/alpha", Session: &own}, {Workspace: "/nowhere"}}
	words := []string{"linker", "kiln", "search path", "the", "nothing of it", "数据库", "a b c d e f g"}
	call := func(n int) {
		var tool string
		args := map[string]any{}
		switch n % 6 {
		case 0:
			tool, args["query"] = "session_search", fmt.Sprint(words[n/6%len(words)], " ", n%13)
		case 1:
			tool, args["query"], args["session_id"] = "session_event_search", words[n/6%len(words)], "alpha-build-fix"
		case 2:
			tool, args["session_id"], args["seq"] = "session_event_read", "alpha-build-fix", n/6%12
		case 3:
			tool, args["session_id"] = "session_trace", "alpha-lead"
		case 4:
			tool, args["session_id"], args["seq"] = "session_event_trace", "alpha-build-fix", n/6%40
		case 5:
			tool, args["query"], args["unknown"] = "session_search", "", n
		}
		line, err := json.Marshal(args)
		if err != nil {
			t.Fatal(err)
		}
		h.Tools().Call(t.Context(), toolset.Call{Caller: callers[n%len(callers)], Tool: tool, Args: line})
		if n%50 == 0 {
			if err := h.Tidy(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
	}
	begin := time.Now()
	var early used
	for n := range *soak {
		call(n)
		if n == *soak/10 {
			early = usedNow()
		}
	}
	late := usedNow()
	t.Logf("%d calls in %v: %+v, then %+v", *soak, time.Since(begin).Round(time.Second), early, late)
	if late.goroutines > early.goroutines+2 || late.files > early.files+3 || late.heap > early.heap+early.heap/4+8<<20 {
		t.Errorf("after a tenth of %d calls %+v, at the end %+v", *soak, early, late)
	}
}

// TestIdleHour lets a server that serves one of many workspaces stand for an hour
// of a clock that does not wait, with many sessions on the machine: nothing is
// read or written, and the look after it parses nothing.
func TestIdleHour(t *testing.T) {
	root, index := t.TempDir(), filepath.Join(t.TempDir(), "index")
	const each = 100
	for w := range *idle {
		cwd := fmt.Sprintf("/srv/idle-%d", w)
		for s := range each {
			dir := filepath.Join(root, fmt.Sprintf("--srv-idle-%d--", w), fmt.Sprintf("s-%d-%d", w, s))
			if err := os.MkdirAll(dir, 0o700); err != nil {
				t.Fatal(err)
			}
			head := fmt.Sprintf(`{"type":"session","version":0,"id":"s-%d-%d","createdAt":1790000000000,"cwd":%q,"delegationDepth":0}`+"\n", w, s, cwd)
			if err := os.WriteFile(filepath.Join(dir, "session.jsonl"), []byte(head+userLine(0, "idle")), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	// What has just changed is looked at again. All of this is long past, by the
	// clock of this test and by the one of the bubble below, which begins in 2000.
	past := time.Date(1999, 12, 31, 0, 0, 0, 0, time.UTC)
	err := filepath.WalkDir(root, func(path string, _ fs.DirEntry, err error) error {
		return errors.Join(err, os.Chtimes(path, past, past))
	})
	if err != nil {
		t.Fatal(err)
	}
	own := session.Scope{Workspaces: []string{"/srv/idle-7"}}
	// Everything is discovered, and the own workspace read, by an earlier process.
	h := openOver(t, root, index)
	if _, err := h.Refresh(t.Context(), own, nil); err != nil {
		t.Fatal(err)
	}
	if err := h.Close(); err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		h, err := yore.Open(t.Context(), yore.Options{
			Sources: []yore.Source{{Agent: session.DSH, Root: root}}, IndexDir: index, Search: yore.SearchStartup, Workspaces: own.Workspaces,
		})
		if err != nil {
			t.Fatal(err)
		}
		defer h.Close()
		coverage, err := h.Refresh(t.Context(), own, nil)
		if err != nil || coverage.Sessions != each {
			t.Fatalf("coverage %+v, %v", coverage, err)
		}
		synctest.Wait()         // for the look that a start makes by itself
		time.Sleep(time.Minute) // on a busy machine it waits for the one above by the clock
		synctest.Wait()
		before := h.Work()
		time.Sleep(time.Hour)
		synctest.Wait()
		if after := h.Work(); after != before {
			t.Errorf("an idle hour took the work from %+v to %+v", before, after)
		}
		for range 60 {
			time.Sleep(time.Minute)
			if _, err := h.Refresh(t.Context(), own, nil); err != nil {
				t.Fatal(err)
			}
		}
		after := h.Work()
		if after.Bytes != before.Bytes || after.Identified != before.Identified || after.Rows != before.Rows {
			t.Errorf("sixty looks read or wrote: %+v, then %+v", before, after)
		}
		// A stat of each own log and its folder, and of a share of the others.
		if files, folders := after.Files-before.Files, after.Folders-before.Folders; files > 60*each || folders > 60*(each+400) {
			t.Errorf("sixty looks went to %d files and %d folders", files, folders)
		}
	})
}
