package archive_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/yorehq/yore/reader"
	"github.com/yorehq/yore/reader/archive"
	"github.com/yorehq/yore/reader/claude"
	"github.com/yorehq/yore/reader/codex"
	"github.com/yorehq/yore/reader/dsh"
	"github.com/yorehq/yore/reader/readertest"
	"github.com/yorehq/yore/session"
)

const testdata = "../../testdata"

// pair is an original and its archived log.
type pair struct {
	r              reader.Reader
	original, kept reader.Source
}

// keep archives every sound session below a root and returns the archive.
func keep(t *testing.T, r reader.Reader, root string) (dir string, pairs []pair) {
	t.Helper()
	dir = t.TempDir()
	for _, src := range readertest.Discover(t, r, root) {
		events, tail, err := readertest.ReadFrom(r, src, reader.Position{})
		if err != nil {
			continue
		}
		spans := map[int64]int64{}
		for _, e := range events {
			spans[e.Seq] = e.Len()
		}
		to := archive.Path(dir, src.Header)
		if err := os.MkdirAll(filepath.Dir(to), 0o700); err != nil {
			t.Fatal(err)
		}
		var b bytes.Buffer
		enc, err := archive.NewEncoder(&b)
		if err == nil {
			err = enc.Begin(archive.Origin{Header: src.Header, Source: src.Path, Mapping: "test/1", Title: "kept beside it"})
		}
		if err == nil {
			_, err = r.Window(context.Background(), src, session.Checkpoint{}, 0, tail.Position.Next-1, session.Every(), func(raw session.Raw) error {
				return enc.Add(raw, max(spans[raw.Event.Seq], 1))
			})
		}
		if err == nil {
			err = enc.End(tail.Position)
		}
		if err == nil {
			err = os.WriteFile(to, b.Bytes(), 0o600)
		}
		if err != nil {
			t.Fatalf("%s: %v", src.Path, err)
		}
		pairs = append(pairs, pair{r, src, reader.Source{Agent: archive.Agent, Root: dir, Path: to, Header: src.Header}})
	}
	if len(pairs) == 0 {
		t.Fatalf("no sound session below %s", root)
	}
	return dir, pairs
}

// corpora are the sample logs, by the reader that reads them.
func corpora() map[string]reader.Reader {
	return map[string]reader.Reader{
		filepath.Join(testdata, "golden/corpus/main"): dsh.New(),
		filepath.Join(testdata, "golden/corpus/zst"):  dsh.New(),
		filepath.Join(testdata, "dsh/sessions"):       dsh.New(),
		filepath.Join(testdata, "claude/projects"):    claude.New(),
		filepath.Join(testdata, "codex"):              codex.New(),
	}
}

func TestConformance(t *testing.T) {
	for root, r := range corpora() {
		if filepath.Base(root) == "main" {
			continue // many small logs, of the same kinds as the others
		}
		dir, _ := keep(t, r, root)
		t.Run(filepath.Base(root), func(t *testing.T) { readertest.Run(t, archive.New(), dir) })
	}
}

// An archived log gives the events that the original gives, and the same bytes
// for each, members of runs included.
func TestNothingIsLost(t *testing.T) {
	for root, r := range corpora() {
		dir, pairs := keep(t, r, root)
		if n := len(readertest.Discover(t, archive.New(), dir)); n != len(pairs) {
			t.Errorf("%s: %d sessions found of %d", root, n, len(pairs))
		}
		for _, p := range pairs {
			want, got := eventsOf(t, p.r, p.original), eventsOf(t, archive.New(), p.kept)
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s: events (-original +archived):\n%s", p.original.Path, diff)
			}
			h, err := archive.New().Identify(context.Background(), dir, p.kept.Path)
			if err != nil || h != p.original.Header {
				t.Errorf("%s: header %+v, %v", p.original.Path, h, err)
			}
			rawWant, rawGot := rawsOf(t, p.r, p.original), rawsOf(t, archive.New(), p.kept)
			if diff := cmp.Diff(rawWant, rawGot); diff != "" {
				t.Errorf("%s: exact reads (-original +archived):\n%s", p.original.Path, diff)
			}
			if title, ok, err := archive.New().Title(context.Background(), p.kept); title != "kept beside it" || !ok || err != nil {
				t.Errorf("title %q, %v, %v", title, ok, err)
			}
		}
	}
}

// A text that is longer than a reader takes in is cut for the index in the same
// place, and read exactly.
func TestLongText(t *testing.T) {
	root := t.TempDir()
	path := filepath.Join(root, "--w--", "s", "session.jsonl")
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	log := `{"type":"session","version":0,"id":"s","createdAt":1,"cwd":"/w","delegationDepth":0}` + "\n"
	for i, size := range []int{5 << 20, 10 << 20} {
		text := strings.Repeat("0123456789abcdef", size/16)
		log += fmt.Sprintf(`{"type":"user/message","seq":%d,"time":1,"data":{"id":"u","role":"user","content":[{"type":"text","text":"%s"},`+
			`{"type":"text","text":"behind"}],"source":{"kind":"user"}},"surfaceOp":"append"}`+"\n", i, text)
	}
	if err := os.WriteFile(path, []byte(log), 0o600); err != nil {
		t.Fatal(err)
	}
	_, pairs := keep(t, dsh.New(), root)
	p := pairs[0]
	want, got := eventsOf(t, p.r, p.original), eventsOf(t, archive.New(), p.kept)
	if len(want) != 2 || len(got) != 2 {
		t.Fatalf("%d events, archived %d", len(want), len(got))
	}
	if want[0].Body.Clipped || !want[1].Body.Clipped {
		t.Fatal("the second text alone should be too long")
	}
	for i := range want {
		// Compared by parts: a difference of megabytes is no message.
		for j, b := range want[i].Body.Blocks {
			if b.Text != got[i].Body.Blocks[j].Text {
				t.Errorf("event %d, block %d: %d bytes, archived %d", i, j, len(b.Text), len(got[i].Body.Blocks[j].Text))
			}
		}
		if want[i].Body.Clipped != got[i].Body.Clipped {
			t.Errorf("event %d: clipped %v, archived %v", i, want[i].Body.Clipped, got[i].Body.Clipped)
		}
	}
	exact, kept := rawsOf(t, p.r, p.original), rawsOf(t, archive.New(), p.kept)
	for i := range exact {
		if !bytes.Equal(exact[i].Native, kept[i].Native) {
			t.Errorf("event %d: %d bytes, archived %d", i, len(exact[i].Native), len(kept[i].Native))
		}
	}
}

// eventsOf reads a session; places are the reader's own and not compared.
func eventsOf(t *testing.T, r reader.Reader, src reader.Source) []session.Event {
	t.Helper()
	events, _, err := readertest.ReadFrom(r, src, reader.Position{})
	if err != nil {
		t.Fatal(err)
	}
	for i := range events {
		events[i].Place = session.Place{}
		if events[i].Span == 1 {
			events[i].Span = 0 // 0 counts as 1
		}
	}
	return events
}

func rawsOf(t *testing.T, r reader.Reader, src reader.Source) []session.Raw {
	t.Helper()
	var all []session.Raw
	_, err := r.Window(context.Background(), src, session.Checkpoint{}, 0, 1<<40, session.Every(), func(raw session.Raw) error {
		raw.Event.Place, raw.Event.Span = session.Place{}, 0
		all = append(all, raw)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// The bytes of an event may be many; they are held only where they are asked for.
func TestLongNatives(t *testing.T) {
	dir := t.TempDir()
	h := session.Header{Agent: "dsh", ID: "long", CreatedAt: 1, Cwd: "/w"}
	src := reader.Source{Agent: archive.Agent, Root: dir, Path: archive.Path(dir, h), Header: h}
	var b bytes.Buffer
	enc, err := archive.NewEncoder(&b)
	if err != nil {
		t.Fatal(err)
	}
	err = enc.Begin(archive.Origin{Header: h})
	text := bytes.Repeat([]byte("0123456789\"abcde"), 4<<20)
	coded := append([]byte{0xff}, text...)
	for seq, native := range [][]byte{[]byte("short"), text, coded, []byte("short")} {
		e := session.Event{Seq: int64(seq), Type: "tool/code-dispatch", Time: 1}
		err = errors.Join(err, enc.Add(session.Raw{Event: e, Native: native}, 1))
	}
	err = errors.Join(err, enc.End(reader.Position{Next: 4}), os.MkdirAll(filepath.Dir(src.Path), 0o700), os.WriteFile(src.Path, b.Bytes(), 0o600))
	if err != nil {
		t.Fatal(err)
	}
	const most = 80 << 20
	readertest.WindowMemory(t, archive.New(), src, session.Range{}, most)
	for seq, want := range map[int64][]byte{0: []byte("short"), 1: text, 2: coded} {
		got := readertest.WindowMemory(t, archive.New(), src, session.One(seq), uint64(most+3*len(want)))
		if len(got) != 4 || !bytes.Equal(got[seq].Native, want) || got[3].Native != nil {
			t.Errorf("event %d comes back as %d bytes of %d", seq, len(got[seq].Native), len(want))
		}
	}
}

// A long archive has many frames: windows and resumed reads find their way.
func TestManyFrames(t *testing.T) {
	dir := t.TempDir()
	h := session.Header{Agent: "dsh", ID: "long", CreatedAt: 1, Cwd: "/w"}
	src := reader.Source{Agent: archive.Agent, Root: dir, Path: archive.Path(dir, h), Header: h}
	var b bytes.Buffer
	enc, err := archive.NewEncoder(&b)
	if err != nil {
		t.Fatal(err)
	}
	if err := enc.Begin(archive.Origin{Header: h}); err != nil {
		t.Fatal(err)
	}
	text := strings.Repeat("0123456789abcdef", 4<<10)
	for seq := range int64(40) {
		e := session.Event{Seq: seq, Type: session.UserMessage, Time: seq, Op: session.Op{Kind: session.OpAppend}}
		e.Body = session.Body{Speaker: session.Human, Blocks: []session.Block{{Text: text[seq:]}}}
		if err := enc.Add(session.Raw{Event: e, Native: []byte(text[:100+seq])}, 1); err != nil {
			t.Fatal(err)
		}
	}
	// A run that is longer than frames are.
	for i := range int64(160) {
		e := session.Event{Seq: 40 + i, Type: session.AssistantChunk, Time: 100 + i, Reconstructed: true}
		span := int64(1)
		if i == 0 {
			span = 160
		}
		if err := enc.Add(session.Raw{Event: e, Native: append([]byte{0xff, byte(i)}, text...)}, span); err != nil {
			t.Fatal(err)
		}
	}
	if err := enc.End(reader.Position{Next: 200, Offset: 7, State: []byte(`{"a":1}`)}); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Dir(src.Path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(src.Path, b.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	if b.Len() > 1<<20 {
		t.Errorf("%d bytes: nothing was compressed", b.Len())
	}
	readertest.Run(t, archive.New(), dir)
	all := rawsOf(t, archive.New(), src)
	if len(all) != 200 || all[199].Event.Time != 259 || !bytes.Equal(all[199].Native, append([]byte{0xff, 159}, text...)) {
		t.Errorf("%d events; the last one is at %d", len(all), all[len(all)-1].Event.Time)
	}
	o, at, end, whole, err := archive.Last(context.Background(), bytes.NewReader(b.Bytes()), src.Path, int64(b.Len()))
	if err != nil || !whole || o.Header != h || at.Next != 200 || at.Offset != 7 || string(at.State) != `{"a":1}` || end >= int64(b.Len()) {
		t.Errorf("last: %+v, %+v, %d, %v, %v", o, at, end, whole, err)
	}
	// Without its last frame, or torn, it has no end.
	for _, size := range []int64{end, end + 5, end - 5} {
		if _, _, _, whole, err := archive.Last(context.Background(), bytes.NewReader(b.Bytes()), src.Path, size); whole || err != nil {
			t.Errorf("cut at %d: whole %v, %v", size, whole, err)
		}
	}
}
