package e2e

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/yorehq/yore/internal/mockmodel"
	"github.com/yorehq/yore/reader"
	"github.com/yorehq/yore/reader/readertest"
	"github.com/yorehq/yore/session"
)

// What a client sends to its model is the proof of the surface: whatever it has
// compacted, forked or lost, its next request holds what it takes the
// conversation for. So each request must be, in order, what some session shows
// at some moment, by the reader's reading of the files that are left in the end.

// TestRuns lets each client work, be resumed, compact, fork and be killed as far
// as it can without a person, and compares.
func TestRuns(t *testing.T) {
	for _, c := range clients {
		if c.run == nil {
			continue
		}
		t.Run(c.name, func(t *testing.T) {
			need(t, c.name)
			c.run(newHome(t))
		})
	}
}

// kept is one session of a client, as the reader reads it.
type kept struct {
	header session.Header
	events []session.Event
}

// keeps reads everything that a client has left, in the order it was made.
func (h *home) keeps(r reader.Reader, env ...string) []kept {
	h.t.Helper()
	var all []kept
	for _, root := range r.DefaultRoots(h.lookup(env), h.dir) {
		if _, err := os.Stat(root); err != nil {
			continue // of another release
		}
		for _, src := range sourcesBelow(h.t, r, root) {
			events, tail, err := readertest.ReadFrom(r, src, reader.Position{})
			if err != nil {
				h.t.Fatalf("%s: %v", src.Path, err)
			}
			for _, s := range tail.Skips {
				h.t.Errorf("%s: passed over: %+v", src.Path, s)
			}
			for _, e := range events {
				if e.Type == "x/unparsed" || strings.HasSuffix(e.Type, "/unknown") {
					h.t.Errorf("%s: event %d is %s", src.Path, e.Seq, e.Type)
				}
			}
			all = append(all, kept{src.Header, events})
		}
	}
	slices.SortStableFunc(all, func(a, b kept) int { return int(a.header.CreatedAt - b.header.CreatedAt) })
	return all
}

func (h *home) lookup(env []string) func(string) string {
	return func(name string) string {
		for _, e := range env {
			if value, ok := strings.CutPrefix(e, name+"="); ok {
				return value
			}
		}
		return ""
	}
}

func sourcesBelow(t *testing.T, r reader.Reader, root string) []reader.Source {
	t.Helper()
	shelver, ok := r.(reader.Shelver)
	if !ok {
		return readertest.Discover(t, r, root)
	}
	var all []reader.Source
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || path == root {
			return err
		}
		rel, err := filepath.Rel(root, path)
		switch kind := r.Classify(filepath.ToSlash(rel), entry.IsDir()); {
		case err != nil:
			return err
		case entry.IsDir() && kind == reader.Ignore:
			return fs.SkipDir
		case kind != reader.Shelf:
			return nil
		}
		return shelver.List(context.Background(), root, path, func(l reader.Listed) error {
			if l.Problem != nil {
				t.Errorf("%s: %s: %+v", path, l.Name, l.Problem)
				return nil
			}
			all = append(all, reader.Source{Agent: r.Agent(), Root: root, Path: reader.PartPath(path, l.Name), Header: l.Header})
			return nil
		})
	})
	if err != nil {
		t.Fatal(err)
	}
	return append(all, readertest.Discover(t, r, root)...) // files may lie beside databases
}

// member is what must be known of a session of a run.
type member struct {
	title  string
	parent string // its id; "": none
}

// family checks how the sessions of a run hang together, in the order they were made.
func (h *home) family(all []kept, want ...member) {
	h.t.Helper()
	var got []member
	for _, k := range all {
		m := member{parent: string(k.header.ParentSession)}
		for _, e := range k.events {
			if e.Body.Title != nil {
				m.title = *e.Body.Title
			}
		}
		if k.header.Cwd != h.here {
			h.t.Errorf("%s is of %s, want %s", k.header.ID, k.header.Cwd, h.here)
		}
		got = append(got, m)
	}
	if !slices.Equal(got, want) {
		h.t.Errorf("sessions %+v\nwant %+v", got, want)
	}
}

// wire says how a client's requests and its log are made comparable, where they
// differ by design. Both give lines as "user: text", "assistant: text",
// "result of the call with this id: text".
type wire struct {
	sent func(mockmodel.Message) []mockmodel.Message      // takes out what the client puts around a text; nil: as it is
	said func(e *session.Event) (lines []string, ok bool) // nil or !ok: lines
}

// rewritten makes a wire's sent of what changes the text of one message; one
// that becomes "" is left out.
func rewritten(change func(m *mockmodel.Message)) func(mockmodel.Message) []mockmodel.Message {
	return func(m mockmodel.Message) []mockmodel.Message {
		change(&m)
		return []mockmodel.Message{m}
	}
}

func line(m mockmodel.Message) (string, bool) {
	said := strings.TrimSpace(m.Text)
	switch m.Role {
	case "call":
		return "", false // not on the surface; its answer is
	case "result":
		return fmt.Sprintf("result of %s: %s", m.Call, said), true
	}
	return m.Role + ": " + said, said != ""
}

func lines(e *session.Event) []string {
	var out []string
	switch e.Type {
	case session.ToolResult:
		id := e.Body.CallID
		_, said, _ := strings.Cut(readertest.Said(e), ": ")
		return append(out, fmt.Sprintf("result of %s: %s", id[strings.LastIndex("call_"+id, "call_"):], strings.TrimSpace(said)))
	case session.AssistantMessage:
		return texts(e, "assistant: ")
	}
	return texts(e, "user: ")
}

func texts(e *session.Event, role string) (out []string) {
	for _, b := range e.Body.Blocks {
		if said := strings.TrimSpace(b.Text); b.Kind == session.TextBlock && said != "" {
			out = append(out, role+said)
		}
	}
	return out
}

// compare holds sessions to the requests of their client.
func (h *home) compare(all []kept, requests []mockmodel.Request, w wire) {
	h.t.Helper()
	moments := make([][][]string, len(all))
	for i, k := range all {
		var f session.Fold
		for n := range k.events {
			if _, err := f.Apply(&k.events[n]); err != nil {
				h.t.Fatalf("%s: %v", k.header.ID, err)
			}
			moment := []string{}
			for _, seq := range f.Surface() {
				e := &k.events[seq]
				said, ok := []string(nil), false
				if w.said != nil {
					said, ok = w.said(e)
				}
				if !ok {
					said = lines(e)
				}
				moment = append(moment, said...)
			}
			moments[i] = append(moments[i], inOrder(moment))
		}
	}
	next, compared := make([]int, len(all)), 0
	for n, q := range requests {
		if len(q.Tools) == 0 || aside(q) {
			continue
		}
		want := []string{}
		for _, m := range q.Messages {
			as := []mockmodel.Message{m}
			if w.sent != nil {
				as = w.sent(m)
			}
			for _, m := range as {
				if said, ok := line(m); ok {
					want = append(want, said)
				}
			}
		}
		want = inOrder(want)
		compared++
		// The latest session first: a fork begins with what its origin showed.
		found := false
		for i := len(all) - 1; i >= 0 && !found; i-- {
			at := slices.IndexFunc(moments[i][next[i]:], func(m []string) bool { return slices.Equal(m, want) })
			if found = at >= 0; found {
				next[i] += at
			}
		}
		if !found {
			h.t.Errorf("request %d was never a surface:\n  %s\nnearest:\n  %s", n, strings.Join(want, "\n  "), strings.Join(nearest(moments, want), "\n  "))
		}
	}
	h.t.Logf("%d requests compared with %d sessions", compared, len(all))
}

// aside tells of a request that it is no step of a session.
func aside(q mockmodel.Request) bool {
	last := q.Messages[len(q.Messages)-1]
	return last.Role == "user" && slices.ContainsFunc(slices.Concat(askSummary, asides), func(a string) bool { return strings.Contains(last.Text, a) })
}

// inOrder sorts the results of one answer among themselves: the wire has them in
// the order of the calls, a log may have them in that of their coming.
func inOrder(list []string) []string {
	for i := 0; i < len(list); i++ {
		j := i
		for j < len(list) && strings.HasPrefix(list[j], "result of ") {
			j++
		}
		slices.Sort(list[i:j])
		i = max(i, j-1)
	}
	return list
}

// nearest is the moment that shares the most lines with a list, for a message.
func nearest(moments [][][]string, want []string) (best []string) {
	most := -1
	for _, of := range moments {
		for _, m := range of {
			n := 0
			for _, l := range m {
				if slices.Contains(want, l) {
					n += 2
				} else {
					n--
				}
			}
			if n > most {
				best, most = m, n
			}
		}
	}
	return best
}
