package corpus_test

import (
	"bytes"
	"encoding/json"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/klauspost/compress/zstd"

	"github.com/yorehq/yore/internal/corpus"
	"github.com/yorehq/yore/session"
)

// knownTypes are those of DSH that the generator may use.
var knownTypes = strings.Fields(`turn/start turn/end step/start step/end user/message assistant/message tool/call tool/result
	session/title session/end-seed request/header todo/write compaction/start compaction/summary compaction/end compaction/prune
	text-chunks reasoning-chunks`)

type record struct {
	Type            string          `json:"type"`
	Seq             int64           `json:"seq"`
	Time            int64           `json:"time"`
	Seq0            int64           `json:"seq0"`
	Time0           int64           `json:"time0"`
	Data            json.RawMessage `json:"data"`
	SurfaceOp       json.RawMessage `json:"surfaceOp"`
	SourceEventSeqs []int64         `json:"sourceEventSeqs"`
}

type message struct {
	ID      string `json:"id"`
	Role    string `json:"role"`
	Content []struct {
		Type, Text, ID, Name, Arguments, ToolCallID string
		Content                                     []struct{ Type, Text string }
	} `json:"content"`
	Source struct{ Kind, Provider, Model, CallID string } `json:"source"`
}

type body struct {
	message
	Turn, Step int
	Message    *message
	DT         []int64  `json:"dt"`
	Texts      []string `json:"texts"`
	CallID     string   `json:"callId"`
}

// lines reads a log and, if it is compressed, checks how it is framed: the
// header alone in the first frame, whole lines in every other.
func lines(t *testing.T, s *corpus.Session) [][]byte {
	t.Helper()
	text, err := os.ReadFile(s.Path)
	if err != nil {
		t.Fatal(err)
	}
	if s.Encoding == corpus.Zstd {
		text = unpack(t, text)
	}
	if !bytes.HasSuffix(text, []byte("\n")) {
		t.Fatalf("%s ends inside a line", s.Path)
	}
	split := bytes.SplitAfter(text, []byte("\n"))
	return split[:len(split)-1]
}

func unpack(t *testing.T, packed []byte) []byte {
	t.Helper()
	magic := []byte{0x28, 0xb5, 0x2f, 0xfd}
	var text []byte
	frames := 0
	for len(packed) > 0 {
		// The end of the first frame: the shortest prefix before a magic number
		// that is a sound frame by itself.
		for at := 4; ; {
			next := bytes.Index(packed[at:], magic)
			end := len(packed)
			if next >= 0 {
				end = at + next
			}
			one, err := zstd.NewReader(bytes.NewReader(packed[:end]), zstd.WithDecoderConcurrency(1))
			if err != nil {
				t.Fatal(err)
			}
			plain, err := io.ReadAll(one)
			one.Close()
			if err != nil {
				if next < 0 {
					t.Fatalf("frame %d: %v", frames, err)
				}
				at = end + 1
				continue
			}
			if packed[4]&0x04 == 0 {
				t.Errorf("frame %d has no checksum", frames)
			}
			if frames == 0 && bytes.Count(plain, []byte("\n")) != 1 || !bytes.HasSuffix(plain, []byte("\n")) {
				t.Errorf("frame %d holds %d lines and ends in %q", frames, bytes.Count(plain, []byte("\n")), plain[len(plain)-1])
			}
			text, packed = append(text, plain...), packed[end:]
			frames++
			break
		}
	}
	if frames < 3 {
		t.Errorf("only %d frames", frames)
	}
	return text
}

// check reads one log by the rules of its format and returns its events' texts.
func check(t *testing.T, s *corpus.Session) (texts []string) {
	t.Helper()
	all := lines(t, s)
	var head struct {
		Type, ID, Cwd, ParentSession              string
		Version, CreatedAt, SeedLength, Depth     int64
		DelegationDepth                           *int64
		Origin, AgentPreset, SandboxMode, Unknown *string
	}
	if err := json.Unmarshal(all[0], &head); err != nil {
		t.Fatal(err)
	}
	if head.Type != "session" || head.ID != s.ID || head.Cwd != s.Cwd || head.CreatedAt != s.CreatedAt ||
		head.ParentSession != s.Parent || head.SeedLength != s.Seed || head.DelegationDepth == nil {
		t.Errorf("header %s does not fit %+v", all[0], s)
	}
	var f session.Fold
	for n, line := range all[1:] {
		var r record
		var b body
		if err := json.Unmarshal(line, &r); err != nil {
			t.Fatalf("line %d: %v", n+2, err)
		}
		if err := json.Unmarshal(r.Data, &b); err != nil {
			t.Fatalf("line %d: %v", n+2, err)
		}
		if !slices.Contains(knownTypes, r.Type) {
			t.Fatalf("line %d: unknown type %s", n+2, r.Type)
		}
		e := session.Event{Seq: r.Seq, Type: r.Type, Time: r.Time, Sources: r.SourceEventSeqs}
		text := ""
		switch r.Type {
		case "text-chunks", "reasoning-chunks":
			e = session.Event{Seq: r.Seq0, Time: r.Time0, Type: session.AssistantChunk, Span: int64(len(b.Texts))}
			if len(b.DT) != len(b.Texts)-1 || len(b.Texts) < 3 {
				t.Fatalf("line %d: %d gaps for %d members", n+2, len(b.DT), len(b.Texts))
			}
		case "user/message":
			text = speech(t, n, &b.message, "user")
		case "assistant/message":
			text = speech(t, n, b.Message, "assistant")
			if b.Message.Source.Kind != "model" || b.Message.Source.Provider == "" || b.Message.Source.Model == "" {
				t.Errorf("line %d: source %+v", n+2, b.Message.Source)
			}
		case "tool/result":
			c := b.Message.Content
			if len(c) != 1 || c[0].Type != "tool-result" || c[0].ToolCallID == "" || c[0].ToolCallID != b.Message.Source.CallID {
				t.Fatalf("line %d: not one result of its call", n+2)
			}
			text = speech(t, n, b.Message, "user") + c[0].Content[0].Text
		}
		texts = append(texts, text)
		var op struct {
			Op         string
			Start, End int64
		}
		switch {
		case len(r.SurfaceOp) == 0:
		case string(r.SurfaceOp) == `"append"`:
			e.Op.Kind = session.OpAppend
		default:
			if err := json.Unmarshal(r.SurfaceOp, &op); err != nil || op.Op != "replace" {
				t.Fatalf("line %d: surfaceOp %s", n+2, r.SurfaceOp)
			}
			e.Op = session.Op{Kind: session.OpReplace, Start: op.Start, End: op.End}
		}
		if _, err := f.Apply(&e); err != nil {
			t.Fatalf("line %d: %v", n+2, err)
		}
	}
	if f.Next() != s.Events {
		t.Errorf("%s has %d events, %d are stated", s.ID, f.Next(), s.Events)
	}
	if last := all[len(all)-1]; !bytes.Contains(last, []byte(`"turn/end"`)) {
		t.Errorf("%s ends in an open turn: %.80s", s.ID, last)
	}
	return texts
}

func speech(t *testing.T, n int, m *message, role string) string {
	t.Helper()
	if m == nil || m.ID == "" || m.Role != role || m.Source.Kind == "" || len(m.Content) == 0 {
		t.Fatalf("line %d: message %+v", n+2, m)
	}
	var text []string
	for _, c := range m.Content {
		if c.Type == "text" {
			text = append(text, c.Text)
		}
	}
	return strings.Join(text, "\n")
}

func TestGenerate(t *testing.T) {
	for _, o := range []corpus.Options{
		{},
		{Seed: 7, Sessions: 40, Events: 8000, Workspaces: 2, Encoding: corpus.Raw, Chunks: true},
		{Seed: 3, Sessions: 6, Events: 1500, Workspaces: 1, Encoding: corpus.Zstd, Chunks: true, CJK: 50},
		{Seed: 4, Sessions: 2, Events: 300, Encoding: corpus.Zstd, Largest: 3000, CJK: -1},
	} {
		dir := t.TempDir()
		stats, err := corpus.Generate(dir, o)
		if err != nil {
			t.Fatal(err)
		}
		if o.Sessions > 0 && len(stats.Sessions) != o.Sessions || stats.Events < int64(max(o.Events, o.Largest)*9/10) {
			t.Errorf("%+v: %d sessions, %d events", o, len(stats.Sessions), stats.Events)
		}
		if stats.Sessions[0].Events < int64(o.Largest) {
			t.Errorf("%+v: the largest has %d events", o, stats.Sessions[0].Events)
		}
		count := map[string][2]int{}
		bySession := map[string][][]byte{}
		for _, s := range stats.Sessions {
			texts := check(t, s)
			bySession[s.ID] = lines(t, s)[1:]
			own := texts
			if s.Seed > 0 {
				own = texts[inheritedLines(t, bySession[s.ID], bySession[s.Parent], s):]
			}
			for _, text := range own {
				for _, m := range stats.Markers {
					if n := strings.Count(text, m.Text); n > 0 {
						c := count[m.Name]
						count[m.Name] = [2]int{c[0] + 1, c[1] + n}
					}
				}
			}
		}
		for _, m := range stats.Markers {
			if got := count[m.Name]; got != [2]int{m.Events, m.Occurrences} || m.Events == 0 {
				t.Errorf("%+v: %s is in %d events, %d times; stated are %d and %d", o, m.Name, got[0], got[1], m.Events, m.Occurrences)
			}
		}
	}
}

// inheritedLines checks that a fork begins with its parent's own lines and
// returns how many these are.
func inheritedLines(t *testing.T, child, parent [][]byte, s *corpus.Session) int {
	t.Helper()
	n := 0
	for n < len(child) && n < len(parent) && bytes.Equal(child[n], parent[n]) {
		n++
	}
	if n == 0 || !bytes.Contains(child[n], []byte(`"session/end-seed"`)) {
		t.Errorf("fork %s of %s shares %d lines, then comes %.80s", s.ID, s.Parent, n, child[n])
	}
	return n
}

// The shapes that make a corpus worth testing against must be there at all.
func TestShapes(t *testing.T) {
	dir := t.TempDir()
	stats, err := corpus.Generate(dir, corpus.Options{Sessions: 60, Events: 12000, Workspaces: 3, Chunks: true, Largest: 8000})
	if err != nil {
		t.Fatal(err)
	}
	count := map[string]int{}
	cjk, forks, prunes := 0, 0, 0
	workspaces := map[string]int{}
	for _, s := range stats.Sessions {
		workspaces[s.Cwd]++
		if s.Parent != "" {
			forks++
		}
		for _, line := range lines(t, s)[1:] {
			var r record
			if err := json.Unmarshal(line, &r); err != nil {
				t.Fatal(err)
			}
			count[r.Type]++
			if bytes.Contains(line, []byte("。")) {
				cjk++
			}
			if r.Type == session.ToolResult && bytes.Contains(r.SurfaceOp, []byte("replace")) {
				prunes++
			}
		}
	}
	for _, typ := range knownTypes {
		if count[typ] == 0 {
			t.Errorf("no %s", typ)
		}
	}
	if forks == 0 || prunes == 0 || cjk == 0 || len(workspaces) != 3 {
		t.Errorf("%d forks, %d pruned results, %d CJK records, %d workspaces", forks, prunes, cjk, len(workspaces))
	}
	if prunes != count["compaction/prune"] {
		t.Errorf("%d results replaced, %d prunes announced", prunes, count["compaction/prune"])
	}
}

func tree(t *testing.T, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		rel, _ := filepath.Rel(dir, path)
		all[rel] = string(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func TestSameSeedSameBytes(t *testing.T) {
	for _, encoding := range []corpus.Encoding{corpus.Raw, corpus.Zstd} {
		var trees []map[string]string
		for _, seed := range []uint64{5, 5, 6} {
			dir := t.TempDir()
			if _, err := corpus.Generate(dir, corpus.Options{Seed: seed, Sessions: 5, Events: 600, Encoding: encoding}); err != nil {
				t.Fatal(err)
			}
			trees = append(trees, tree(t, dir))
		}
		if !cmp.Equal(trees[0], trees[1]) {
			t.Errorf("%s: one seed gives two corpora", encoding)
		}
		if cmp.Equal(trees[0], trees[2]) {
			t.Errorf("%s: two seeds give one corpus", encoding)
		}
		for rel := range trees[0] {
			if zstd := strings.HasSuffix(rel, "session.jsonl.zstd"); zstd != (encoding == corpus.Zstd) {
				t.Errorf("%s: file %s", encoding, rel)
			}
		}
	}
}

func TestAppend(t *testing.T) {
	for _, encoding := range []corpus.Encoding{corpus.Raw, corpus.Zstd} {
		stats, err := corpus.Generate(t.TempDir(), corpus.Options{Sessions: 1, Events: 500, Encoding: encoding, Chunks: true})
		if err != nil {
			t.Fatal(err)
		}
		s := stats.Sessions[0]
		before, events := lines(t, s), s.Events
		for i, text := range []string{"the heliotrope question", "the second question"} {
			n, err := corpus.Append(s, 10, text)
			if err != nil {
				t.Fatal(err)
			}
			if n < 10 || n > 15 || s.Events != events+n {
				t.Errorf("%s: append %d added %d events to %d, now %d", encoding, i, n, events, s.Events)
			}
			events = s.Events
			if texts := check(t, s); !slices.Contains(texts, text) {
				t.Errorf("%s: %q is not in the log", encoding, text)
			}
		}
		if !slices.EqualFunc(before, lines(t, s)[:len(before)], bytes.Equal) {
			t.Errorf("%s: append changed what was there", encoding)
		}
	}
}

func TestGenerateRefuses(t *testing.T) {
	for _, o := range []corpus.Options{{Encoding: "gzip"}, {Sessions: -1}, {Events: -1}, {Workspaces: -2}, {Largest: -1}} {
		if _, err := corpus.Generate(t.TempDir(), o); err == nil {
			t.Errorf("%+v is accepted", o)
		}
	}
	stats := corpus.Stats{}
	if m, err := stats.Marker("rare"); err == nil {
		t.Errorf("an unplanted marker is %+v", m)
	}
}
