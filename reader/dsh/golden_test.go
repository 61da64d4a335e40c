package dsh

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/yorehq/yore/fault"
	"github.com/yorehq/yore/reader"
	"github.com/yorehq/yore/reader/readertest"
	"github.com/yorehq/yore/session"
)

const golden = "../../testdata/golden"

// lines decodes a file of one JSON value a line.
func goldenLines[T any](t *testing.T, name string) []T {
	t.Helper()
	f, err := os.Open(filepath.Join(golden, name))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var list []T
	s := bufio.NewScanner(f)
	s.Buffer(nil, 16<<20)
	for s.Scan() {
		var v T
		if err := json.Unmarshal(s.Bytes(), &v); err != nil {
			t.Fatal(err)
		}
		list = append(list, v)
	}
	if err := s.Err(); err != nil || len(list) == 0 {
		t.Fatalf("%s: %d cases, %v", name, len(list), err)
	}
	return list
}

// fold reads a source from its beginning and folds what it emits.
func fold(src reader.Source) (*session.Fold, reader.Tail, error) {
	f := new(session.Fold)
	tail, err := New().Read(context.Background(), src, reader.Position{}, func(e session.Event) error {
		_, err := f.Apply(&e)
		return err
	})
	if err != nil {
		return f, tail, err
	}
	for i := range tail.Closers {
		if _, err := f.Apply(&tail.Closers[i]); err != nil {
			return f, tail, err
		}
	}
	return f, tail, nil
}

func sourcesByID(t *testing.T, root string) map[session.ID]reader.Source {
	found := make(map[session.ID]reader.Source)
	for _, src := range readertest.Discover(t, New(), filepath.Join(golden, root)) {
		found[src.Header.ID] = src
	}
	return found
}

// Every session that the reference refuses is refused with its code, and every
// other session of the same roots is read.
func TestUnreadable(t *testing.T) {
	type verdict struct {
		Root    string     `json:"root"`
		ID      session.ID `json:"session_id"`
		Listing bool       `json:"listing"`
		Code    fault.Code `json:"code"`
	}
	refused := make(map[string]map[session.ID]fault.Code)
	for _, v := range goldenLines[verdict](t, "unreadable.jsonl") {
		if refused[v.Root] == nil {
			refused[v.Root] = make(map[session.ID]fault.Code)
		}
		if !v.Listing {
			refused[v.Root][v.ID] = v.Code
		}
	}
	for root, codes := range refused {
		sources := sourcesByID(t, root)
		for id := range codes {
			if _, ok := sources[id]; !ok {
				t.Errorf("%s: %s was not found", root, id)
			}
		}
		for id, src := range sources {
			_, _, err := fold(src)
			code, _ := fault.Of(err)
			if code != codes[id] {
				t.Errorf("%s: %s: %v, want %q", root, id, err, codes[id])
			}
			var p *reader.Problem
			if errors.As(err, &p) && (p.Path != src.Path || p.Line < 1 || p.Reason == "") {
				t.Errorf("%s: %s: the problem has no place or reason: %+v", root, id, p)
			}
		}
	}
}

// Files that cannot be taken for a session, and why.
func TestIdentifyRefusals(t *testing.T) {
	for _, c := range []struct{ path, reason string }{
		{"bad-identity/--srv-code-beta--/moved/session.jsonl", "does not name the folder"},
		{"bad-magic/--srv-code-alpha--/not-zstd/session.jsonl.zstd", "no zstd frame"},
		{"bad-header/--srv-code-alpha--/no-depth/session.jsonl", "delegationDepth"},
		{"bad-header/--srv-code-alpha--/negative-created/session.jsonl", "createdAt"},
		{"main/--srv-code-alpha--/no-header/session.jsonl", "no session header"},
	} {
		path := filepath.Join(golden, "corpus", filepath.FromSlash(c.path))
		root := filepath.Dir(filepath.Dir(filepath.Dir(path)))
		header, err := New().Identify(context.Background(), root, path)
		var p *reader.Problem
		if !errors.As(err, &p) || p.Code != fault.Persistence || !strings.Contains(p.Reason, c.reason) {
			t.Errorf("%s: %v, want a reason with %q", c.path, err, c.reason)
		}
		if c.reason == "does not name the folder" && header.ID != "moved" {
			t.Errorf("%s: the header is not filled in: %+v", c.path, header)
		}
	}
	for _, path := range []string{"main/--srv-code-alpha--/half-written/session.jsonl", "zst/--srv-code-alpha--/zst-torn-header/session.jsonl.zstd"} {
		path = filepath.Join(golden, "corpus", filepath.FromSlash(path))
		if _, err := New().Identify(context.Background(), filepath.Dir(filepath.Dir(filepath.Dir(path))), path); !errors.Is(err, reader.ErrPending) {
			t.Errorf("%s: %v, want pending", path, err)
		}
	}
}

// Exact reads give the events that the reference gives, as JSON values.
func TestExactReads(t *testing.T) {
	type readCase struct {
		Name   string `json:"name"`
		Root   string `json:"root"`
		Live   []any  `json:"live"`
		Tool   string `json:"tool"`
		Expect struct {
			Kind    string
			Session struct{ ID session.ID }
			Seq     int64
			Event   any
		}
	}
	compared := 0
	for _, c := range goldenLines[readCase](t, "cases.jsonl") {
		if c.Tool != "session_event_read" || c.Expect.Kind != "read" || len(c.Live) > 0 {
			continue
		}
		src, ok := sourcesByID(t, c.Root)[c.Expect.Session.ID]
		if !ok {
			continue // the caller's own live session
		}
		compared++
		var native []byte
		collect := func(raw session.Raw) { native = raw.Native }
		_, err := New().Window(context.Background(), src, session.Checkpoint{}, c.Expect.Seq, c.Expect.Seq, session.Every(), func(raw session.Raw) error {
			collect(raw)
			return nil
		})
		if err != nil {
			t.Errorf("%s: %v", c.Name, err)
			continue
		}
		if native == nil {
			_, tail, err := fold(src)
			if err != nil {
				t.Fatal(err)
			}
			for _, raw := range Closers(tail.Position.State, tail.Position.Next) {
				if raw.Event.Seq == c.Expect.Seq {
					collect(raw)
				}
			}
		}
		var got any
		if err := json.Unmarshal(native, &got); err != nil {
			t.Errorf("%s: %v in %s", c.Name, err, native)
			continue
		}
		// The sentences of made results are our own.
		own := cmp.FilterPath(func(p cmp.Path) bool {
			return p.Last().String() == `["text"]` && strings.HasPrefix(c.Name, "read/closers")
		},
			cmp.Ignore())
		if diff := cmp.Diff(c.Expect.Event, got, own); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.Name, diff)
		}
	}
	if compared < 25 {
		t.Errorf("only %d reads were compared", compared)
	}
}

// The folded surface of every golden session agrees with the recorded states of
// its events.
func TestRelations(t *testing.T) {
	type relationCase struct {
		Name   string `json:"name"`
		Root   string `json:"root"`
		Live   []any  `json:"live"`
		Expect struct {
			Kind    string
			Session struct{ ID session.ID }
			Target  struct {
				Seq     int64
				Surface string
				Type    string
			}
			Sources    []int64
			ReplacedBy *int64 `json:"replaced_by"`
		}
	}
	compared := 0
	for _, c := range goldenLines[relationCase](t, "cases.jsonl") {
		if c.Expect.Kind != "relations" || len(c.Live) > 0 {
			continue
		}
		src, ok := sourcesByID(t, c.Root)[c.Expect.Session.ID]
		if !ok {
			continue
		}
		compared++
		f, tail, err := fold(src)
		if err != nil {
			t.Errorf("%s: %v", c.Name, err)
			continue
		}
		target := c.Expect.Target
		state, by := f.State(target.Seq)
		if state.String() != target.Surface || c.Expect.ReplacedBy != nil && *c.Expect.ReplacedBy != by {
			t.Errorf("%s: event %d is %s, by %d; want %s", c.Name, target.Seq, state, by, target.Surface)
		}
		events, _, err := readertest.ReadFrom(New(), src, reader.Position{})
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range append(events, tail.Closers...) {
			if e.Seq > target.Seq || target.Seq >= e.Seq+e.Len() {
				continue
			}
			if e.Type != target.Type {
				t.Errorf("%s: event %d is a %s, want %s", c.Name, target.Seq, e.Type, target.Type)
			}
			if diff := cmp.Diff(append([]int64{}, c.Expect.Sources...), append([]int64{}, e.Sources...)); diff != "" {
				t.Errorf("%s: sources (-want +got):\n%s", c.Name, diff)
			}
		}
	}
	if compared < 20 {
		t.Errorf("only %d relations were compared", compared)
	}
}

// Titles and who spoke, as the corpus was made to have them.
func TestTitles(t *testing.T) {
	printed := func(s string) *string { return &s }
	sources := sourcesByID(t, "corpus/main")
	for _, c := range []struct {
		id    session.ID
		title *string
		fault fault.Code
	}{
		{"title-none", nil, ""},
		{"title-many", printed("  third\ttitle \x1b[31mred\x1b[0m  "), ""},
		{"title-broken", nil, fault.ToolFailed},
		{"title-newline", printed("line one\nline two"), ""},
		{"title-number", printed("42"), ""},
		{"alpha-blocks", printed(""), ""},
	} {
		events, _, err := readertest.ReadFrom(New(), sources[c.id], reader.Position{})
		if err != nil {
			t.Fatal(err)
		}
		var last session.Event
		for _, e := range events {
			if e.Type == session.TitleEvent {
				last = e
			}
		}
		if diff := cmp.Diff(c.title, last.Body.Title); diff != "" || last.Body.TitleFault != c.fault {
			t.Errorf("%s: fault %q, (-want +got):\n%s", c.id, last.Body.TitleFault, diff)
		}
	}
}
