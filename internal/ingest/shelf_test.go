package ingest_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/yorehq/yore/internal/ingest"
	"github.com/yorehq/yore/query"
	"github.com/yorehq/yore/reader"
	"github.com/yorehq/yore/session"
	"github.com/yorehq/yore/sqlite"
)

// rack is a reader whose only file, "rack", is a shelf. What it holds is in
// memory, as the database of an agent would be on disk; the file's stat changes
// with every change.
type rack struct {
	t    *testing.T
	path string

	mu       sync.Mutex
	sessions map[string]*racked
	busy     bool           // it is being rewritten
	calls    map[string]int // what was asked
	changes  int64
}

// racked is a session: its messages, and how often it was rewritten.
type racked struct {
	cwd        string
	texts      []string
	generation uint64
}

const rackAgent session.Agent = "rack"

// longAgo is when the shelf was changed, as far as its stat tells.
var longAgo = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func newRack(t *testing.T) *rack {
	r := &rack{t: t, path: filepath.Join(t.TempDir(), "rack"), sessions: map[string]*racked{}, calls: map[string]int{}}
	r.touch()
	return r
}

// touch makes the file another one, as of long ago.
func (r *rack) touch() {
	r.changes++
	if err := os.WriteFile(r.path, make([]byte, r.changes), 0o600); err != nil {
		r.t.Fatal(err)
	}
	at := longAgo
	if err := os.Chtimes(r.path, at, at); err != nil {
		r.t.Fatal(err)
	}
}

func (r *rack) put(name, cwd string, texts ...string) {
	r.sessions[name] = &racked{cwd: cwd, texts: texts}
	r.touch()
}

func (r *rack) count(what string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.calls[what]++
}

func (*rack) Agent() session.Agent                              { return rackAgent }
func (*rack) Version() int                                      { return 1 }
func (*rack) DefaultRoots(func(string) string, string) []string { return nil }
func (r *rack) ShelfStamp(path string) (reader.Stamp, error)    { return reader.StatRegular(path) }
func (r *rack) stamp(s *racked) reader.Stamp {
	return reader.Stamp{Device: s.generation + 1, Inode: uint64(len(s.texts)), Size: int64(len(s.texts)), ModTime: 1}
}

func (*rack) Classify(rel string, dir bool) reader.Kind {
	switch {
	case dir:
		return reader.Folder
	case rel == "rack" || rel == ".":
		return reader.Shelf
	}
	return reader.Ignore
}

func (r *rack) header(name string, s *racked) session.Header {
	return session.Header{Agent: rackAgent, ID: session.ID(name), CreatedAt: 5, Cwd: s.cwd}
}

func (r *rack) List(_ context.Context, _, path string, each func(reader.Listed) error) error {
	r.count("list")
	if r.busy {
		return reader.ErrRetry
	}
	for name, s := range r.sessions {
		l := reader.Listed{Name: name, Header: r.header(name, s), Stamp: r.stamp(s)}
		if s.cwd == "" {
			l.Problem = reader.Unreadable(path, 0, 0, "no workspace")
		}
		if err := each(l); err != nil {
			return err
		}
	}
	return nil
}

func (r *rack) Identify(context.Context, string, string) (session.Header, error) {
	r.count("identify")
	return session.Header{}, fs.ErrNotExist
}

func (r *rack) of(src reader.Source) *racked {
	_, name := reader.SplitPart(src.Path)
	return r.sessions[name]
}

func (r *rack) Revise(_ context.Context, src reader.Source, at reader.Position) (reader.Revision, reader.Stamp, error) {
	r.count("revise")
	s := r.of(src)
	switch {
	case r.busy:
		return reader.Replaced, reader.Stamp{}, reader.ErrRetry
	case s == nil:
		return reader.Gone, reader.Stamp{}, nil
	case at.Stamp == r.stamp(s):
		return reader.Unchanged, at.Stamp, nil
	case at.Check == s.generation && at.Next <= int64(len(s.texts)):
		return reader.Grown, r.stamp(s), nil
	}
	return reader.Replaced, r.stamp(s), nil
}

func (r *rack) event(seq int, text string) session.Event {
	return session.Event{
		Seq: int64(seq), Type: session.UserMessage, Time: 5, Op: session.Op{Kind: session.OpAppend}, Place: session.Place{Part: 1, Offset: int64(seq)},
		Body: session.Body{Speaker: session.Human, Blocks: []session.Block{{Text: text}}},
	}
}

func (r *rack) Read(_ context.Context, src reader.Source, from reader.Position, emit func(session.Event) error) (reader.Tail, error) {
	r.count("read")
	s := r.of(src)
	for i := int(from.Next); i < len(s.texts); i++ {
		r.count("event")
		if err := emit(r.event(i, s.texts[i])); err != nil {
			return reader.Tail{}, err
		}
	}
	n := int64(len(s.texts))
	return reader.Tail{Position: reader.Position{Next: n, Offset: n, Check: s.generation, Stamp: r.stamp(s), State: json.RawMessage(`{}`)}}, nil
}

func (r *rack) Window(_ context.Context, src reader.Source, _ session.Checkpoint, from, to int64, _ session.Range, emit func(session.Raw) error) (session.Header, error) {
	s := r.of(src)
	for i := from; i <= to && i < int64(len(s.texts)); i++ {
		if err := emit(session.Raw{Event: r.event(int(i), s.texts[i]), Native: []byte(s.texts[i])}); err != nil {
			return session.Header{}, err
		}
	}
	return r.header(string(src.Header.ID), s), nil
}

// library is an index over a rack.
type library struct {
	*rack
	index *sqlite.Index
	in    *ingest.Ingester
}

func newLibrary(t *testing.T, root func(r *rack) string) *library {
	l := &library{rack: newRack(t)}
	var err error
	if l.index, err = sqlite.Open(t.Context(), sqlite.Options{Dir: t.TempDir()}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.index.Close() })
	l.in = ingest.New(ingest.Options{
		Roots: []ingest.Root{{Reader: l.rack, Path: root(l.rack)}}, Catalog: l.index, Shards: l.index,
	})
	return l
}

func itself(r *rack) string { return r.path }
func folder(r *rack) string { return filepath.Dir(r.path) }

func (l *library) refresh(workspaces ...string) session.Coverage {
	l.t.Helper()
	clear(l.calls)
	c, err := l.in.Refresh(l.t.Context(), session.Scope{All: len(workspaces) == 0, Workspaces: workspaces}, nil)
	if err != nil {
		l.t.Fatal(err)
	}
	return c
}

// spent checks what the last refresh asked of the shelf.
func (l *library) spent(what string, lists, revises, reads, events int) {
	l.t.Helper()
	for name, want := range map[string]int{"list": lists, "revise": revises, "read": reads, "event": events, "identify": 0} {
		if l.calls[name] != want {
			l.t.Errorf("%s: %d of %s, want %d", what, l.calls[name], name, want)
		}
	}
}

func (l *library) has(workspace string, want ...string) {
	l.t.Helper()
	known, err := l.index.Headers(l.t.Context(), query.Lookup{Workspaces: []string{workspace}})
	if err != nil {
		l.t.Fatal(err)
	}
	var got []string
	for _, k := range known {
		if k.Problem == nil {
			got = append(got, string(k.Header.ID))
		}
	}
	slices.Sort(got)
	if !slices.Equal(got, want) {
		l.t.Errorf("%s holds %q, want %q", workspace, got, want)
	}
}

func TestOneOfFiveThousandOnAShelfHasGrown(t *testing.T) {
	const many = 5000
	l := newLibrary(t, folder)
	for i := range many {
		l.sessions[fmt.Sprintf("s%04d", i)] = &racked{cwd: fmt.Sprintf("/w/%d", i%3), texts: []string{"one"}}
	}
	l.touch()
	if c := l.refresh(); c.Sessions != many || c.Unreadable+c.Behind != 0 {
		t.Errorf("coverage %+v", c)
	}
	l.spent("at first", 1, 0, many, many)
	l.refresh()
	l.spent("unchanged", 0, 0, 0, 0)
	l.sessions["s0007"].texts = append(l.sessions["s0007"].texts, "two", "three")
	l.touch()
	before := l.in.Work()
	l.refresh("/w/1")
	l.spent("one has grown", 1, 2, 1, 2) // once for the plan, once under the lock
	if w := l.in.Work(); w.Read-before.Read != 1 || w.Listed-before.Listed != 1 || w.Identified != 0 {
		t.Errorf("%+v after %+v", w, before)
	}
	l.refresh()
	l.spent("unchanged again", 0, 0, 0, 0)

	// Another process finds all that in the index.
	in := ingest.New(ingest.Options{Roots: l.in.Roots, Catalog: l.index, Shards: l.index})
	clear(l.calls)
	if c, err := in.Refresh(t.Context(), session.Scope{All: true}, nil); err != nil || c.Sessions != many {
		t.Errorf("%+v, %v", c, err)
	}
	l.spent("in another process", 0, 0, 0, 0)
}

func TestSessionsComeChangeAndGoOnAShelf(t *testing.T) {
	for name, root := range map[string]func(*rack) string{"as root": itself, "in a folder": folder} {
		t.Run(name, func(t *testing.T) {
			l := newLibrary(t, root)
			l.put("a", "/w/one", "one")
			l.put("b", "/w/two", "one", "two")
			l.put("bad", "", "x")
			if c := l.refresh(); c.Sessions != 2 {
				t.Errorf("%+v", c)
			}
			l.has("/w/one", "a")
			l.has("/w/two", "b")

			l.sessions["b"] = &racked{cwd: "/w/two", texts: []string{"other"}, generation: 1}
			l.put("c", "/w/one", "c")
			l.refresh()
			l.spent("one rewritten, one more", 1, 2, 2, 2)
			l.has("/w/one", "a", "c")
			stored, err := l.index.Peek(t.Context(), "/w/two", ingest.StoredLookup{})
			if err != nil || len(stored) != 1 || stored[0].Events != 1 {
				t.Errorf("%+v, %v", stored, err)
			}

			// It moves to another workspace.
			l.sessions["c"].cwd = "/w/two"
			l.touch()
			l.refresh()
			l.has("/w/one", "a")
			l.has("/w/two", "b", "c")
			for workspace, want := range map[string]int{"/w/one": 1, "/w/two": 2} {
				if stored, err := l.index.Peek(t.Context(), workspace, ingest.StoredLookup{}); err != nil || len(stored) != want {
					t.Errorf("%s: %d in the shard, %v", workspace, len(stored), err)
				}
			}

			// While it is being rewritten all stays as it was.
			l.busy = true
			delete(l.sessions, "a")
			l.touch()
			if c := l.refresh(); c.Sessions != 3 {
				t.Errorf("%+v", c)
			}
			l.has("/w/one", "a")
			l.busy = false
			if c := l.refresh(); c.Sessions != 2 {
				t.Errorf("%+v", c)
			}
			l.has("/w/one")

			if err := os.Remove(l.path); err != nil {
				t.Fatal(err)
			}
			c := l.refresh()
			if name == "as root" {
				if c.Sessions != 2 { // the whole root is away: nothing can be said
					t.Errorf("%+v", c)
				}
				return
			}
			l.has("/w/two")
			if rows, err := l.index.Files(t.Context(), ingest.FileLookup{}); c.Sessions != 0 || err != nil || len(rows) != 0 {
				t.Errorf("%+v, %d files, %v", c, len(rows), err)
			}
		})
	}
}

// What was changed a moment ago is listed again: a second change in the same tick
// of the clock would leave the stamp as it is.
func TestAFreshShelfIsNotTrusted(t *testing.T) {
	l := newLibrary(t, folder)
	l.put("a", "/w/one", "one")
	now := longAgo
	l.in.Now = func() time.Time { return now }
	l.refresh()
	l.spent("at first", 1, 0, 1, 1)
	l.sessions["a"].texts = append(l.sessions["a"].texts, "two") // and no change of the file
	l.refresh()
	l.spent("in the same moment", 1, 2, 1, 1)
	now = now.Add(1e9 * 10)
	l.refresh()
	l.spent("later", 1, 0, 0, 0)
	l.refresh()
	l.spent("once it has settled", 0, 0, 0, 0)
}
