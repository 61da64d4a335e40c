package dsh

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/klauspost/compress/zstd"
	"github.com/ncruces/go-sqlite3"

	"github.com/yorehq/yore/fault"
	"github.com/yorehq/yore/reader"
	"github.com/yorehq/yore/reader/readertest"
	"github.com/yorehq/yore/session"
)

// schema17 is the store's schema as docs/formats/dsh.md has it.
const schema17 = `
PRAGMA application_id = 1146308688; PRAGMA user_version = 17;
CREATE TABLE persistence_state (singleton INTEGER PRIMARY KEY CHECK (singleton = 1), store_id TEXT NOT NULL) STRICT;
CREATE TABLE sessions (id TEXT PRIMARY KEY, version INTEGER NOT NULL, created_at INTEGER NOT NULL, cwd TEXT, parent_session TEXT,
	seed_length INTEGER, origin TEXT, delegation_depth INTEGER, agent_preset TEXT, incarnation TEXT NOT NULL, revision INTEGER NOT NULL) STRICT;
CREATE TABLE events (session_id TEXT NOT NULL, seq INTEGER NOT NULL, type TEXT NOT NULL, time INTEGER NOT NULL, data ANY NOT NULL,
	source_event_seqs ANY, surface_op TEXT, ignorable INTEGER, PRIMARY KEY (session_id, seq)) STRICT;
INSERT INTO persistence_state VALUES (1, '6f1c2f5e-7f5e-4b8e-9a63-0d4c0a8a2f11');`

// store is DSH's database as a test writes it.
type store struct {
	t    testing.TB
	path string
	c    *sqlite3.Conn
	enc  *zstd.Encoder
}

func newStore(t testing.TB, path string) *store {
	t.Helper()
	c, err := sqlite3.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	enc, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1))
	if err != nil {
		t.Fatal(err)
	}
	s := &store{t, path, c, enc}
	s.exec(`PRAGMA journal_mode = wal; PRAGMA synchronous = off; PRAGMA cache_size = -1000`)
	s.exec(schema17)
	return s
}

func (s *store) exec(sql string, args ...any) {
	s.t.Helper()
	if len(args) == 0 {
		if err := s.c.Exec(sql); err != nil {
			s.t.Fatalf("%s: %v", sql, err)
		}
		return
	}
	stmt, _, err := s.c.Prepare(sql)
	if err != nil {
		s.t.Fatal(err)
	}
	defer stmt.Close()
	for i, a := range args {
		switch a := a.(type) {
		case nil:
			err = stmt.BindNull(i + 1)
		case string:
			err = stmt.BindText(i+1, a)
		case []byte:
			if len(a) == 0 {
				err = stmt.BindZeroBlob(i+1, 0)
			} else {
				err = stmt.BindBlob(i+1, a)
			}
		case int64:
			err = stmt.BindInt64(i+1, a)
		}
		if err != nil {
			s.t.Fatal(err)
		}
	}
	if err := stmt.Exec(); err != nil {
		s.t.Fatal(err)
	}
}

type members map[string]json.RawMessage

func (m members) text(name string) any {
	var s string
	if m[name] == nil || json.Unmarshal(m[name], &s) != nil {
		return nil
	}
	return s
}

func (m members) int(name string) any {
	var n int64
	if m[name] == nil || json.Unmarshal(m[name], &n) != nil {
		return nil
	}
	return n
}

// header writes a session's row from a header line.
func (s *store) header(line []byte) (id string) {
	s.t.Helper()
	var m members
	if err := json.Unmarshal(line, &m); err != nil {
		s.t.Fatal(err)
	}
	id, _ = m.text("id").(string)
	s.exec(`INSERT INTO sessions VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 0)`, id, m.int("version"), m.int("createdAt"), m.text("cwd"), m.text("parentSession"),
		m.int("seedLength"), m.text("origin"), m.int("delegationDepth"), m.text("agentPreset"), "incarnation-of-"+id)
	return id
}

// record writes a row from a record's line; ok is false for what has no row.
func (s *store) record(id string, line []byte) (ok bool) {
	s.t.Helper()
	var m members
	if json.Unmarshal(line, &m) != nil {
		return false
	}
	typ, seq, at, ignorable := m.text("type"), m.int("seq"), m.int("time"), any(nil)
	if m["seq0"] != nil {
		seq, at, ignorable = m.int("seq0"), m.int("time0"), int64(0)
	} else if string(m["ignorable"]) == "true" {
		ignorable = int64(1)
	} else if m["ignorable"] != nil {
		return false
	}
	if typ == nil || seq == nil || at == nil || m["data"] == nil {
		return false
	}
	for name := range m {
		if !slices.Contains([]string{"type", "seq", "time", "seq0", "time0", "data", "surfaceOp", "sourceEventSeqs", "ignorable"}, name) {
			return false
		}
	}
	var sources, op any
	if m["sourceEventSeqs"] != nil {
		var seqs []int64
		if json.Unmarshal(m["sourceEventSeqs"], &seqs) != nil {
			return false
		}
		sources = packSeqs(seqs)
	}
	if m["surfaceOp"] != nil {
		op = string(m["surfaceOp"])
	}
	data := any(string(m["data"]))
	if len(m["data"]) >= 4096 {
		if packed := s.enc.EncodeAll(m["data"], nil); len(packed) < len(m["data"]) {
			data = packed
		}
	}
	s.exec(`INSERT INTO events VALUES (?, ?, ?, ?, ?, ?, ?, ?)`, id, seq, typ, at, data, sources, op, ignorable)
	s.exec(`UPDATE sessions SET revision = revision + 1 WHERE id = ?`, id)
	return true
}

// packSeqs writes citations: the first as it is, each other as the ZigZag of its
// difference from the one before, as varints.
func packSeqs(seqs []int64) []byte {
	out := []byte{}
	for i, n := range seqs {
		v := uint64(n)
		if i > 0 {
			d := n - seqs[i-1]
			v = uint64(d<<1) ^ uint64(d>>63)
		}
		for v >= 0x80 {
			out, v = append(out, byte(v)|0x80), v>>7
		}
		out = append(out, byte(v))
	}
	return out
}

// linesOf returns the lines of a log.
func linesOf(t testing.TB, path string) (all [][]byte) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	in := io.Reader(bytes.NewReader(text))
	if strings.HasSuffix(path, "zstd") {
		dec, err := zstd.NewReader(in)
		if err != nil {
			t.Fatal(err)
		}
		defer dec.Close()
		in = dec
	}
	r := bufio.NewReaderSize(in, 64<<10)
	for {
		line, err := r.ReadBytes('\n')
		if err != nil {
			return all // what has no end is no line
		}
		all = append(all, bytes.TrimSuffix(line, []byte("\n")))
	}
}

// take puts a log into the database; false if it holds what has no row.
func (s *store) take(src reader.Source) bool {
	s.t.Helper()
	lines := linesOf(s.t, src.Path)
	id := s.header(lines[0])
	for _, line := range lines[1:] {
		if !s.record(id, line) {
			return false
		}
	}
	return true
}

func shelfSources(t testing.TB, path string) map[session.ID]reader.Source {
	t.Helper()
	found := map[session.ID]reader.Source{}
	err := New().List(context.Background(), filepath.Dir(path), path, func(l reader.Listed) error {
		if l.Problem == nil {
			found[l.Header.ID] = reader.Source{Agent: session.DSH, Root: filepath.Dir(path), Path: reader.PartPath(path, l.Name), Header: l.Header}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

var exceptPlace = cmpopts.IgnoreFields(session.Event{}, "Place")

// The same sessions give the same events, closing records and exact reads from a
// database as from files, and what is refused there is refused here.
func TestDatabaseGivesWhatFilesGive(t *testing.T) {
	roots := []string{genuine}
	for _, name := range []string{"main", "zst", "far", "many", "bad-gap", "bad-middle", "bad-unknown", "bad-surface", "bad-shape", "bad-version"} {
		roots = append(roots, filepath.Join(corpus, name))
	}
	compared, refused := 0, 0
	for _, root := range roots {
		s := newStore(t, filepath.Join(t.TempDir(), "no name tells.sqlite"))
		want := map[session.ID]reader.Source{}
		for _, src := range readertest.Discover(t, New(), root) {
			if _, twice := want[src.Header.ID]; !twice && s.take(src) {
				want[src.Header.ID] = src
			}
		}
		got := shelfSources(t, s.path)
		for id, file := range want {
			row, ok := got[id]
			if !ok {
				t.Errorf("%s: %s is not listed", root, id)
				continue
			}
			if row.Header != file.Header {
				t.Errorf("%s: %s: the header is %+v, want %+v", root, id, row.Header, file.Header)
			}
			wantEvents, wantTail, wantErr := readertest.ReadFrom(New(), file, reader.Position{})
			events, tail, err := readertest.ReadFrom(New(), row, reader.Position{})
			code, _ := fault.Of(err)
			if wantCode, _ := fault.Of(wantErr); code != wantCode {
				t.Errorf("%s: %s: %v, want %v", root, id, err, wantErr)
			}
			if err != nil {
				refused++
				continue
			}
			compared++
			if diff := cmp.Diff(wantEvents, events, exceptPlace); diff != "" {
				t.Errorf("%s: %s (-file +database):\n%s", root, id, diff)
			}
			if diff := cmp.Diff(wantTail.Closers, tail.Closers, exceptPlace); diff != "" || tail.Position.Next != wantTail.Position.Next {
				t.Errorf("%s: %s: closing records (-file +database):\n%s", root, id, diff)
			}
			sameWindows(t, file, row, wantEvents, events, tail.Position.Next)
		}
	}
	if compared < 20 || refused < 4 {
		t.Errorf("%d sessions were compared, %d refused", compared, refused)
	}
}

// sameWindows compares windows of a file and of a database, at checkpoints of each.
func sameWindows(t *testing.T, file, row reader.Source, fileEvents, rowEvents []session.Event, next int64) {
	t.Helper()
	random := rand.New(rand.NewPCG(1, uint64(next)))
	for round := range 2 {
		at, also, from, to := session.Checkpoint{}, session.Checkpoint{}, int64(0), next
		if round > 0 && len(fileEvents) > 0 {
			i := random.IntN(len(fileEvents))
			at = session.Checkpoint{Seq: fileEvents[i].Seq, Place: fileEvents[i].Place}
			also = session.Checkpoint{Seq: rowEvents[i].Seq, Place: rowEvents[i].Place}
			from = at.Seq + random.Int64N(3)
			to = from + random.Int64N(5)
		}
		want, _ := windowOf(t, file, at, from, to)
		got, header := windowOf(t, row, also, from, to)
		if header != row.Header {
			t.Errorf("%s: the window states %+v", row.Path, header)
		}
		if len(got) != len(want) {
			t.Fatalf("%s: %d to %d: %d events, want %d", row.Path, from, to, len(got), len(want))
		}
		for i := range want {
			if diff := cmp.Diff(want[i].Event, got[i].Event, exceptPlace); diff != "" {
				t.Errorf("%s: event %d (-file +database):\n%s", row.Path, want[i].Event.Seq, diff)
			}
			if !sameValue(want[i].Native, got[i].Native) {
				t.Errorf("%s: event %d is\n%s\nwant\n%s", row.Path, want[i].Event.Seq, got[i].Native, want[i].Native)
			}
		}
	}
}

func windowOf(t *testing.T, src reader.Source, at session.Checkpoint, from, to int64) (all []session.Raw, h session.Header) {
	t.Helper()
	h, err := New().Window(context.Background(), src, at, from, to, session.Every(), func(raw session.Raw) error {
		all = append(all, raw)
		return nil
	})
	if err != nil {
		t.Fatalf("%s: %v", src.Path, err)
	}
	return all, h
}

func sameValue(a, b []byte) bool {
	var x, y any
	return json.Unmarshal(a, &x) == nil && json.Unmarshal(b, &y) == nil && cmp.Equal(x, y)
}

// The bytes by hand of the format page.
func TestSourcesOfRows(t *testing.T) {
	got, err := unpackSeqs([]byte{0x05, 0x02, 0x06, 0x0B})
	if err != nil || !slices.Equal(got, []int64{5, 6, 9, 3}) {
		t.Errorf("%v, %v", got, err)
	}
	for _, seqs := range [][]int64{{}, {0}, {session.MaxSafe, 0, session.MaxSafe}, {300, 2, 1 << 40}} {
		if got, err := unpackSeqs(packSeqs(seqs)); err != nil || !slices.Equal(got, seqs) {
			t.Errorf("%v came back as %v, %v", seqs, got, err)
		}
	}
	for _, bad := range [][]byte{{0x80}, {0x80, 0x00}, {0x05, 0x0D}, bytes.Repeat([]byte{0xff}, 9), {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x1f}} {
		if got, err := unpackSeqs(bad); err == nil {
			t.Errorf("%x was taken for %v", bad, got)
		}
	}
}

// A database grows row by row below its reader, which reads on, and is told of
// nothing when another session grows.
func TestDatabaseGrows(t *testing.T) {
	s := newStore(t, filepath.Join(t.TempDir(), "x.db"))
	var log [][]byte
	for _, src := range readertest.Discover(t, New(), filepath.Join(corpus, "main")) {
		lines := linesOf(t, src.Path)
		if _, _, err := readertest.ReadFrom(New(), src, reader.Position{}); err == nil && len(lines) > len(log) && len(lines) < 300 {
			log = lines
		}
	}
	id := s.header(log[0])
	s.header([]byte(`{"type":"session","version":0,"id":"other","createdAt":1,"delegationDepth":0}`))
	src := shelfSources(t, s.path)[session.ID(id)]
	var at reader.Position
	var got []session.Event
	var last reader.Tail
	revise := func(want reader.Revision) {
		t.Helper()
		rev, stamp, err := New().Revise(t.Context(), src, at)
		if err != nil || rev != want {
			t.Fatalf("behind %d events: revision %d, %v; want %d", at.Next, rev, err, want)
		}
		listed := map[string]reader.Stamp{}
		New().List(t.Context(), src.Root, s.path, func(l reader.Listed) error { listed[l.Name] = l.Stamp; return nil })
		if _, name := reader.SplitPart(src.Path); listed[name] != stamp {
			t.Fatalf("the list says %+v, Revise %+v", listed[name], stamp)
		}
	}
	for n := 1; n < len(log); {
		for range 1 + rand.IntN(5) {
			if n < len(log) {
				s.record(id, log[n])
				n++
			}
		}
		if at.Next > 0 {
			revise(reader.Grown)
		}
		events, tail, err := readertest.ReadFrom(New(), src, at)
		if err != nil {
			t.Fatal(err)
		}
		if at.Next > 0 && len(events) > 5 {
			t.Fatalf("%d events came of at most 5 rows", len(events))
		}
		got, at, last = append(got, events...), tail.Position, tail
		revise(reader.Unchanged)
		s.record("other", fmt.Appendf(nil, `{"type":"feedback/record","seq":%d,"time":5,"data":{"text":"x"}}`, n))
		revise(reader.Unchanged)
	}
	want, tail, err := readertest.ReadFrom(New(), src, reader.Position{})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-at once +in pieces):\n%s", diff)
	}
	if diff := cmp.Diff(tail.Closers, last.Closers); diff != "" {
		t.Errorf("closing records (-at once +in pieces):\n%s", diff)
	}
	readertest.Stop(t, New(), src)
	readertest.Cancel(t, New(), src)
	readertest.Window(t, New(), src)

	// Rewritten, made anew, removed.
	s.exec(`UPDATE events SET data = '{"other":1}' WHERE session_id = ? AND seq = (SELECT max(seq) FROM events WHERE session_id = ?)`, id, id)
	s.exec(`UPDATE sessions SET revision = revision + 1 WHERE id = ?`, id)
	revise(reader.Replaced)
	s.exec(`UPDATE sessions SET incarnation = 'another' WHERE id = ?`, id)
	revise(reader.Replaced)
	s.exec(`DELETE FROM sessions WHERE id = ?`, id)
	if rev, _, err := New().Revise(t.Context(), src, at); err != nil || rev != reader.Gone {
		t.Errorf("revision %d, %v", rev, err)
	}
}

// What is no database of this schema is named or left alone.
func TestOtherDatabases(t *testing.T) {
	list := func(path string) (n int, err error) {
		err = New().List(t.Context(), filepath.Dir(path), path, func(reader.Listed) error { n++; return nil })
		return n, err
	}
	dir := t.TempDir()
	if _, err := list(filepath.Join(dir, "missing")); !errors.Is(err, reader.ErrNoShelf) {
		t.Errorf("missing: %v", err)
	}
	os.WriteFile(filepath.Join(dir, "notes.txt"), []byte("hello"), 0o600)
	if _, err := list(filepath.Join(dir, "notes.txt")); !errors.Is(err, reader.ErrNoShelf) {
		t.Errorf("a text: %v", err)
	}
	foreign := newStore(t, filepath.Join(dir, "foreign"))
	foreign.exec(`PRAGMA application_id = 7`)
	if _, err := list(foreign.path); !errors.Is(err, reader.ErrNoShelf) {
		t.Errorf("a stranger's: %v", err)
	}
	later := newStore(t, filepath.Join(dir, "later"))
	later.exec(`PRAGMA user_version = 18`)
	var p *reader.Problem
	if _, err := list(later.path); !errors.As(err, &p) || p.Path != later.path || !strings.Contains(p.Reason, "18") {
		t.Errorf("a later schema: %v", err)
	}
	less := newStore(t, filepath.Join(dir, "less"))
	less.exec(`ALTER TABLE events DROP COLUMN ignorable`)
	if _, err := list(less.path); !errors.As(err, &p) {
		t.Errorf("a table with a column less: %v", err)
	}
	odd := newStore(t, filepath.Join(dir, "odd"))
	odd.header([]byte(`{"id":"a/b ~é😀","version":0,"createdAt":5,"cwd":"/w"}`))
	odd.header([]byte(`{"id":"bad","version":0,"createdAt":-5,"cwd":"/w"}`))
	problems := map[string]bool{}
	if err := New().List(t.Context(), dir, odd.path, func(l reader.Listed) error {
		problems[string(l.Header.ID)] = l.Problem != nil
		if strings.Contains(l.Name, "/") || decodeSegment(l.Name) != string(l.Header.ID) {
			t.Errorf("%q is called %q", l.Header.ID, l.Name)
		}
		h, err := New().Identify(t.Context(), dir, reader.PartPath(odd.path, l.Name))
		if h != l.Header || (err == nil) != (l.Problem == nil) {
			t.Errorf("%s is identified as %+v, %v", l.Name, h, err)
		}
		return nil
	}); err != nil {
		t.Error(err)
	}
	if diff := cmp.Diff(map[string]bool{"a/b ~é😀": false, "bad": true}, problems); diff != "" {
		t.Error(diff)
	}
}

// A long value costs what is kept of it, and is given whole all the same.
func TestLongRows(t *testing.T) {
	s := newStore(t, filepath.Join(t.TempDir(), "x.db"))
	id := s.header([]byte(`{"id":"s","version":0,"createdAt":5,"cwd":"/w"}`))
	const size = 40 << 20
	line := func(seq int, text string) string {
		return fmt.Sprintf(`{"type":"user/message","seq":%d,"time":7,"surfaceOp":"append","data":{"id":"m%d","role":"user","content":[{"type":"text","text":"%s"}],"source":{"kind":"user"}}}`, seq, seq, text)
	}
	var m members
	json.Unmarshal([]byte(line(0, strings.Repeat("abcdefgh ", size/9))), &m)
	s.exec(`INSERT INTO events VALUES ('s', 0, 'user/message', 7, ?, NULL, '"append"', NULL)`, string(m["data"]))
	s.record(id, []byte(line(1, strings.Repeat("xyz", 1<<20)))) // compressed
	s.record(id, []byte(line(2, "end")))
	src := shelfSources(t, s.path)["s"]
	events := readertest.Memory(t, New(), src, 200<<20)
	if len(events) != 3 || !events[0].Body.Clipped || events[1].Body.Clipped || events[2].Body.Blocks[0].Text != "end" {
		t.Fatalf("%d events", len(events))
	}
	raws, _ := windowOf(t, src, session.Checkpoint{}, 0, 2)
	if len(raws) != 3 || len(raws[0].Native) < size || !json.Valid(raws[0].Native) || !sameValue(raws[2].Native, []byte(line(2, "end"))) {
		t.Errorf("%d windows", len(raws))
	}
	// A bomb is no reason to give in.
	s.exec(`INSERT INTO events VALUES ('s', 3, 'user/message', 7, ?, NULL, '"append"', NULL)`, []byte("no frame"))
	s.exec(`UPDATE sessions SET revision = 9`)
	var p *reader.Problem
	if _, _, err := readertest.ReadFrom(New(), src, reader.Position{}); !errors.As(err, &p) || p.Path != src.Path {
		t.Errorf("%v", err)
	}
}
