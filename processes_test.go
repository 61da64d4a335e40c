package yore_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/yorehq/yore"
	"github.com/yorehq/yore/authz"
	"github.com/yorehq/yore/query"
	"github.com/yorehq/yore/session"
)

const childWorkspace = "/srv/processes"

// childQueries are asked once everything is quiet.
var childQueries = []string{"zephyr", "appended", "round", "zephyr of child 1", "数据库", "nothing of it"}

// TestTwoProcessesShareAnIndex lets two processes index, append to and search
// one workspace for ten seconds, and compares what both answer afterwards with
// a fresh rebuild.
func TestTwoProcessesShareAnIndex(t *testing.T) {
	t.Parallel()
	root, index := t.TempDir(), filepath.Join(t.TempDir(), "index")
	for i := range 20 {
		writeLog(t, root, fmt.Sprintf("old-%d", i), fmt.Sprintf("an old zephyr of session %d with 数据库连接", i))
	}
	type child struct {
		cmd *exec.Cmd
		in  io.WriteCloser
		out *bufio.Reader
	}
	var children []child
	for i := range 2 {
		cmd := exec.Command(os.Args[0], "-test.run=^TestChildProcess$", "-test.v=false")
		cmd.Env = append(os.Environ(), fmt.Sprintf("YORE_TEST_CHILD=%d", i), "YORE_TEST_ROOT="+root, "YORE_TEST_INDEX="+index)
		cmd.Stderr = os.Stderr
		in, err := cmd.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		children = append(children, child{cmd, in, bufio.NewReader(out)})
	}
	for i, c := range children {
		if line, err := c.out.ReadString('\n'); err != nil || !strings.HasPrefix(line, "rounds ") {
			t.Fatalf("child %d: %q, %v", i, line, err)
		}
	}
	fresh := openOver(t, root, filepath.Join(t.TempDir(), "fresh"))
	want := answers(t.Context(), t, fresh)
	if len(want["zephyr"]) < 22 {
		t.Fatalf("the rebuild finds only %v", want["zephyr"])
	}
	for i, c := range children {
		fmt.Fprintln(c.in, "answer")
		line, err := c.out.ReadString('\n')
		if err != nil {
			t.Fatalf("child %d: %v", i, err)
		}
		var got map[string][]string
		if err := json.Unmarshal([]byte(line), &got); err != nil {
			t.Fatalf("child %d: %q: %v", i, line, err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("child %d answers otherwise than a rebuild:\n%s", i, diff)
		}
		c.in.Close()
		if err := c.cmd.Wait(); err != nil {
			t.Errorf("child %d: %v", i, err)
		}
	}
}

// TestChildProcess is one of the two processes.
func TestChildProcess(t *testing.T) {
	name := os.Getenv("YORE_TEST_CHILD")
	if name == "" {
		return
	}
	root := os.Getenv("YORE_TEST_ROOT")
	h := openOver(t, root, os.Getenv("YORE_TEST_INDEX"))
	view, err := h.View(t.Context(), authz.Caller{Workspace: childWorkspace})
	if err != nil {
		t.Fatal(err)
	}
	id := "child-" + name
	path := writeLog(t, root, id, "the first zephyr of child "+name)
	r := rand.New(rand.NewPCG(1, uint64(len(id))))
	seq, rounds := 1, 0
	for end := time.Now().Add(10 * time.Second); time.Now().Before(end); rounds++ {
		text := fmt.Sprintf("appended in round %d by child %s: marker%s%d", rounds, name, name, rounds)
		appendLine(t, path, userLine(seq, text))
		seq++
		page, err := view.SearchSessions(t.Context(), query.SessionSearch{Query: fmt.Sprintf("marker%s%d", name, rounds), Limit: 5, Match: query.Literal})
		if err != nil {
			t.Fatalf("round %d: %v", rounds, err)
		}
		if len(page.Hits) != 1 && !page.Coverage.Stale {
			t.Fatalf("round %d: an appended event is found %d times, coverage %+v", rounds, len(page.Hits), page.Coverage)
		}
		if _, err := view.SearchSessions(t.Context(), query.SessionSearch{Query: childQueries[r.IntN(len(childQueries))], Limit: 20}); err != nil {
			t.Fatalf("round %d: %v", rounds, err)
		}
		time.Sleep(time.Duration(r.IntN(20)) * time.Millisecond)
	}
	fmt.Printf("rounds %d\n", rounds)
	if _, err := bufio.NewReader(os.Stdin).ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	out, err := json.Marshal(answers(t.Context(), t, h))
	if err != nil {
		t.Fatal(err)
	}
	fmt.Println(string(out))
}

// answers asks every query and returns the hits in order.
func answers(ctx context.Context, t *testing.T, h *yore.History) map[string][]string {
	t.Helper()
	view, err := h.View(ctx, authz.Caller{Workspace: childWorkspace})
	if err != nil {
		t.Fatal(err)
	}
	all := map[string][]string{}
	for _, q := range childQueries {
		page, err := view.SearchSessions(ctx, query.SessionSearch{Query: q, Limit: 100})
		if err != nil {
			t.Fatal(err)
		}
		all[q] = []string{}
		for _, hit := range page.Hits {
			all[q] = append(all[q], fmt.Sprintf("%s #%d %s", hit.Info.Header.ID, hit.Best.Seq, hit.Best.Snippet))
		}
	}
	return all
}

func openOver(t *testing.T, root, index string) *yore.History {
	t.Helper()
	h, err := yore.Open(t.Context(), yore.Options{Sources: []yore.Source{{Agent: session.DSH, Root: root}}, IndexDir: index})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := h.Close(); err != nil {
			t.Error(err)
		}
	})
	return h
}

func writeLog(t *testing.T, root, id, text string) string {
	t.Helper()
	dir := filepath.Join(root, "--srv-processes--", id)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "session.jsonl")
	head := fmt.Sprintf(`{"type":"session","version":0,"id":%q,"createdAt":1790000000000,"cwd":%q,"delegationDepth":0}`+"\n", id, childWorkspace)
	if err := os.WriteFile(path, []byte(head+userLine(0, text)), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func userLine(seq int, text string) string {
	return fmt.Sprintf(`{"type":"user/message","seq":%d,"time":%d,"data":{"id":"u-%d","role":"user","content":[{"type":"text","text":%q}],"source":{"kind":"user"}},"surfaceOp":"append"}`+"\n",
		seq, 1790000000000+seq, seq, text)
}

func appendLine(t *testing.T, path, line string) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
	if err == nil {
		_, err = f.WriteString(line)
	}
	if err == nil {
		err = f.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
}
