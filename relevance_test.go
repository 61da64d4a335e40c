package yore_test

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"
	"github.com/rogpeppe/go-internal/txtar"

	"github.com/yorehq/yore"
	"github.com/yorehq/yore/authz"
	"github.com/yorehq/yore/internal/corpus"
	"github.com/yorehq/yore/query"
	"github.com/yorehq/yore/session"
)

var update = flag.Bool("update", false, "rewrite testdata/relevance/figures.txt")

const (
	relevanceData      = "testdata/relevance"
	relevanceWorkspace = "/srv/code/alpha"
	relevanceFolder    = "--srv-code-alpha--" // as DSH names the workspace's folder
	minReciprocalRank  = 0.85
)

// TestRelevance is a known-item test: each question has one session as its
// answer, among all others of the workspace. The rank of every answer is
// committed, so that a change of ranking shows as a difference; the floor of
// the mean reciprocal rank holds whatever is committed.
func TestRelevance(t *testing.T) {
	t.Setenv("HOME", t.TempDir())
	root := t.TempDir()
	writeRelevanceCorpus(t, root)
	questions := readQuestions(t)
	if len(questions) < 60 {
		t.Fatalf("%d questions, want at least 60", len(questions))
	}

	history, err := yore.Open(t.Context(), yore.Options{
		Sources: []yore.Source{{Agent: session.DSH, Root: root}}, IndexDir: t.TempDir(),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := history.Close(); err != nil {
			t.Error(err)
		}
	})
	view, err := history.View(t.Context(), authz.Caller{Workspace: relevanceWorkspace})
	if err != nil {
		t.Fatal(err)
	}
	list := everySession(t, view)
	for _, q := range questions {
		if !list[q.answer] {
			t.Errorf("session %s of question %q is not in the corpus", q.answer, q.text)
		}
	}
	if len(list) < 300 {
		t.Errorf("only %d sessions in the workspace: its noise is missing", len(list))
	}

	modes := []*mode{
		{name: "default"},
		{name: "matches", order: query.Matches},
		{name: "literal", match: query.Literal},
	}
	var text strings.Builder
	fmt.Fprintf(&text, "# Rank of the answer among %d sessions; - is not found.\n#", len(list))
	for _, m := range modes {
		fmt.Fprintf(&text, " %8s", m.name)
	}
	text.WriteString("  question\n")
	for _, q := range questions {
		text.WriteString(" ")
		for _, m := range modes {
			rank := "-"
			if n := m.ask(t, view, q); n > 0 {
				rank = strconv.Itoa(n)
			}
			fmt.Fprintf(&text, " %8s", rank)
		}
		fmt.Fprintf(&text, "  %s: %s\n", q.answer, q.text)
	}
	text.WriteString("\n")
	for _, m := range modes {
		fmt.Fprintf(&text, "%-8s MRR %.4f  hit@1 %.4f  hit@5 %.4f  of %d questions\n",
			m.name, m.reciprocal/float64(m.asked), float64(m.first)/float64(m.asked), float64(m.five)/float64(m.asked), m.asked)
	}

	if got := modes[0].reciprocal / float64(modes[0].asked); got < minReciprocalRank {
		t.Errorf("mean reciprocal rank with default options is %.4f, want at least %.2f", got, minReciprocalRank)
	}
	compareFigures(t, text.String())
}

// compareFigures compares with the committed figures, or rewrites them.
func compareFigures(t *testing.T, got string) {
	t.Helper()
	path := filepath.Join(relevanceData, "figures.txt")
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	// Line by line, whole lines, so that a rank can be read in its question.
	was, now := strings.Split(string(want), "\n"), strings.Split(got, "\n")
	var diff strings.Builder
	for i := range max(len(was), len(now)) {
		var a, b string
		if i < len(was) {
			a = was[i]
		}
		if i < len(now) {
			b = now[i]
		}
		if a != b {
			fmt.Fprintf(&diff, "-%s\n+%s\n", a, b)
		}
	}
	if diff.Len() > 0 {
		t.Errorf("the figures have changed; if that is meant, run with -update (-committed +now):\n%s", diff.String())
	}
}

// mode is one way to search, with what it has scored so far.
type mode struct {
	name  string
	match query.Match
	order query.Order

	asked, first, five int
	reciprocal         float64
}

// ask returns the rank of a question's answer among the first hundred, 0 for none.
func (m *mode) ask(t *testing.T, view *authz.View, q question) int {
	t.Helper()
	page, err := view.SearchSessions(t.Context(), query.SessionSearch{
		Query: q.text, Match: m.match, Order: m.order, Limit: 100,
	})
	if err != nil {
		t.Fatalf("%s: %v", q.text, err)
	}
	m.asked++
	for i, hit := range page.Hits {
		if string(hit.Info.Header.ID) != q.answer {
			continue
		}
		m.reciprocal += 1 / float64(i+1)
		if i == 0 {
			m.first++
		}
		if i < 5 {
			m.five++
		}
		return i + 1
	}
	return 0
}

// question is what is asked and the one session that answers it.
type question struct{ answer, text string }

// readQuestions reads one question a line: the answer's id, then the text.
func readQuestions(t *testing.T) []question {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(relevanceData, "questions.txt"))
	if err != nil {
		t.Fatal(err)
	}
	var list []question
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		answer, asked, ok := strings.Cut(line, " ")
		if !ok {
			t.Fatalf("a question without text: %q", line)
		}
		list = append(list, question{answer, strings.TrimSpace(asked)})
	}
	return list
}

// everySession indexes the workspace and returns the ids in it.
func everySession(t *testing.T, view *authz.View) map[string]bool {
	t.Helper()
	first, err := view.SearchSessions(t.Context(), query.SessionSearch{Query: "index", Limit: 1})
	if err != nil {
		t.Fatal(err)
	}
	if c := first.Coverage; c.Behind != 0 || c.Unreadable != 0 {
		t.Fatalf("%d logs are not indexed and %d cannot be read, want none", c.Behind, c.Unreadable)
	}
	all := map[string]bool{}
	for cursor := ""; ; {
		page, err := view.List(t.Context(), query.SessionFilter{}, query.MaxLimit, cursor)
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range page.Sessions {
			all[string(s.Header.ID)] = true
		}
		if cursor = page.Next; cursor == "" {
			return all
		}
	}
}

// writeRelevanceCorpus fills a root with one workspace: the described sessions,
// the shipped samples, and generated ones.
func writeRelevanceCorpus(t *testing.T, root string) {
	t.Helper()
	quotes := map[string]string{}
	for _, f := range readArchive(t, "noise.txtar") {
		quotes[f.Name] = strings.TrimSuffix(string(f.Data), "\n")
	}
	n := 0
	for _, name := range []string{"services.txtar", "interface.txtar", "cjk.txtar", "chores.txtar"} {
		for _, f := range readArchive(t, name) {
			log, err := describedLog(f, quotes, n)
			if err != nil {
				t.Fatalf("%s: %s: %v", name, f.Name, err)
			}
			putLog(t, root, f.Name, log)
			n++
		}
	}
	if err := os.CopyFS(filepath.Join(root, relevanceFolder),
		os.DirFS(filepath.Join("testdata/golden/corpus/main", relevanceFolder))); err != nil {
		t.Fatal(err)
	}
	adopt(t, root, "testdata/dsh/sessions")
	generated := t.TempDir()
	if _, err := corpus.Generate(generated, corpus.Options{Seed: 11, Sessions: 200, Events: 4000, Workspaces: 1}); err != nil {
		t.Fatal(err)
	}
	adopt(t, root, generated)
}

func readArchive(t *testing.T, name string) []txtar.File {
	t.Helper()
	archive, err := txtar.ParseFile(filepath.Join(relevanceData, name))
	if err != nil {
		t.Fatal(err)
	}
	if len(archive.Files) == 0 {
		t.Fatalf("%s describes nothing", name)
	}
	return archive.Files
}

// adopt copies the logs of another root, moved into the workspace.
func adopt(t *testing.T, root, from string) {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(from, "*", "*", "session.jsonl*"))
	if err != nil || len(paths) == 0 {
		t.Fatalf("no logs below %s: %v", from, err)
	}
	decoder, err := zstd.NewReader(nil)
	if err != nil {
		t.Fatal(err)
	}
	defer decoder.Close()
	for _, path := range paths {
		log, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if strings.HasSuffix(path, ".zstd") {
			if log, err = decoder.DecodeAll(log, nil); err != nil {
				t.Fatal(err)
			}
		}
		putLog(t, root, filepath.Base(filepath.Dir(path)), moved(t, log))
	}
}

// moved replaces the workspace that a log's header states.
func moved(t *testing.T, log []byte) []byte {
	t.Helper()
	const name = `"cwd":"`
	header, _, _ := bytes.Cut(log, []byte("\n"))
	at := bytes.Index(header, []byte(name))
	if at < 0 {
		t.Fatalf("no workspace in header %s", header)
	}
	at += len(name)
	end := at + bytes.IndexByte(header[at:], '"')
	return bytes.Join([][]byte{log[:at], []byte(relevanceWorkspace), log[end:]}, nil)
}

func putLog(t *testing.T, root, folder string, log []byte) {
	t.Helper()
	dir := filepath.Join(root, relevanceFolder, folder)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "session.jsonl"), log, 0o600); err != nil {
		t.Fatal(err)
	}
}
