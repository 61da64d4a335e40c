package toolset_test

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"

	"github.com/yorehq/yore"
	"github.com/yorehq/yore/authz"
	"github.com/yorehq/yore/session"
	"github.com/yorehq/yore/toolset"
)

// sample is a folder of logs with what is written in them.
type sample struct {
	workspaces []string
	sessions   map[string]string // by id: the workspace
	words      []string          // in all logs, the widest first
}

// readSample looks at the logs as plain files, not through the product.
func readSample(t *testing.T, root string) sample {
	t.Helper()
	s := sample{sessions: map[string]string{}}
	lines := map[string]int{} // that hold a word
	word := regexp.MustCompile(`[a-z]{2,}`)
	workspaces := map[string]bool{}
	unpack, err := zstd.NewReader(nil)
	if err != nil {
		t.Fatal(err)
	}
	defer unpack.Close()
	err = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !strings.HasPrefix(d.Name(), "session.jsonl") {
			return err
		}
		data, err := os.ReadFile(path)
		if err == nil && strings.HasSuffix(path, ".zstd") {
			data, err = unpack.DecodeAll(data, nil)
		}
		if err != nil {
			return err
		}
		first, rest, _ := strings.Cut(string(data), "\n")
		var header struct{ ID, Cwd string }
		if json.Unmarshal([]byte(first), &header) != nil || header.Cwd == "" {
			return nil
		}
		workspaces[header.Cwd] = true
		s.sessions[header.ID] = header.Cwd
		for line := range strings.Lines(rest) {
			seen := map[string]bool{}
			for _, w := range word.FindAllString(line, -1) {
				seen[w] = true
			}
			for w := range seen {
				lines[w]++
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	s.workspaces = slices.Sorted(maps.Keys(workspaces))
	s.words = slices.SortedFunc(maps.Keys(lines), func(a, b string) int {
		return cmp.Or(cmp.Compare(lines[b], lines[a]), strings.Compare(a, b))
	})
	return s
}

// Whatever is asked of the samples, an answer to a search costs at most 1,000
// tokens in the default deployment: the widest words, rarer ones, several at
// once, in every workspace and in every session.
func TestSearchesCostAtMostThousandTokens(t *testing.T) {
	widest, longest := 0, 0
	for _, root := range []string{filepath.Join("..", "testdata", "golden", "corpus", "main"), filepath.Join("..", "testdata", "dsh", "sessions"), filepath.Join("..", "testdata", "golden", "corpus", "many")} {
		s := readSample(t, root)
		open := func(bytes int) *yore.History {
			h, err := yore.Open(t.Context(), yore.Options{
				Sources: []yore.Source{{Agent: session.DSH, Root: root}}, IndexDir: t.TempDir(), SearchBytes: bytes,
			})
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
		h, unlimited := open(0), open(-1)
		var queries []string
		for i := 0; i < len(s.words); i += 1 + i/12 {
			queries = append(queries, s.words[i])
		}
		queries = append(queries, strings.Join(s.words[:2], " "), strings.Join(s.words[:20], " "), "the", "a", "e", "1")
		ask := func(workspace, tool string, args map[string]string) {
			t.Helper()
			raw, err := json.Marshal(args)
			if err != nil {
				t.Fatal(err)
			}
			call := toolset.Call{Caller: authz.Caller{Workspace: workspace}, Tool: tool, Args: raw}
			o, whole := h.Tools().Call(t.Context(), call), unlimited.Tools().Call(t.Context(), call)
			if o.Err != nil || whole.Err != nil {
				if fmt.Sprint(o.Err) != fmt.Sprint(whole.Err) {
					t.Errorf("%s %s: %v, and without a limit %v", tool, raw, o.Err, whole.Err)
				}
				return
			}
			if n := tokens(len(o.Text)); n > 1000 {
				t.Errorf("%s %s in %s costs %d tokens", tool, raw, workspace, n)
			}
			hits := 0
			switch v := whole.Value.(type) {
			case *toolset.SessionsResult:
				hits = len(v.Hits)
			case *toolset.EventsResult:
				hits = len(v.Hits)
			}
			widest, longest = max(widest, hits), max(longest, len(whole.Text))
			// Short answers are whole, and what is left out of a long one is said.
			if cut := o.Text != whole.Text; cut != (len(whole.Text) > 3900) || cut && !strings.Contains(o.Text, "left out") {
				t.Errorf("%s %s in %s: of %d bytes\n%s", tool, raw, workspace, len(whole.Text), o.Text)
			}
		}
		for _, q := range queries {
			for _, w := range s.workspaces {
				ask(w, "session_search", map[string]string{"query": q})
			}
		}
		for i, id := range slices.Sorted(maps.Keys(s.sessions)) {
			for _, q := range queries[:12] {
				if w := s.sessions[id]; i < 20 || q == queries[0] {
					ask(w, "session_event_search", map[string]string{"query": q, "session_id": id})
				}
			}
		}
	}
	if widest < 10 || longest <= 4000 {
		t.Errorf("the widest question has %d hits and the longest answer %d bytes: ask wider ones", widest, longest)
	}
}
