package archive_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/klauspost/compress/zstd"

	"github.com/yorehq/yore/fault"
	"github.com/yorehq/yore/reader"
	"github.com/yorehq/yore/reader/archive"
	"github.com/yorehq/yore/reader/readertest"
	"github.com/yorehq/yore/session"
)

const (
	firstLine = `{"archive":1,"header":{"agent":"codex","id":"s-1","version":2,"createdAt":1790000000000,"cwd":"/w","parentSession":"p",` +
		`"seedLength":1,"origin":"subagent","delegationDepth":1,"agentPreset":"x"},"source":"/logs/a","mapping":"codex/3"}` + "\n"
	plainLine = `{"archive":1,"header":{"agent":"dsh","id":"s","version":0,"createdAt":1},"source":"","mapping":""}` + "\n"
)

// file makes a file by hand: the mark of each frame is 12 bytes, as the format says.
func file(t testing.TB, frames ...string) []byte {
	t.Helper()
	z, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithWindowSize(1<<20), zstd.WithEncoderLevel(zstd.SpeedFastest))
	if err != nil {
		t.Fatal(err)
	}
	var out []byte
	for _, text := range frames {
		packed := z.EncodeAll([]byte(text), nil)
		out = append(out, 0x50, 0x2A, 0x4D, 0x18, 4, 0, 0, 0)
		out = binary.LittleEndian.AppendUint32(out, uint32(len(packed)))
		out = append(out, packed...)
	}
	return out
}

// at puts a file into an archive of its own.
func at(t testing.TB, content []byte) reader.Source {
	t.Helper()
	dir := t.TempDir()
	path := filepath.Join(dir, "dsh", "w", "s.jsonl.zst")
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
	return reader.Source{Agent: archive.Agent, Root: dir, Path: path}
}

// A file written by hand, from the description of the format, and what it means.
func TestFormat(t *testing.T) {
	src := at(t, file(t, firstLine,
		`{"seq":0,"type":"user/message","time":5,"op":"append","nativeId":"n-0","body":{"speaker":"human","blocks":[{"kind":"text","text":"é\u0000<"}]}}`+"\n"+
			`{"native":"{\"a\": 1.0,\"a\":\"\\ud800\"}"}`+"\n"+
			`{"seq":1,"type":"tool/result","time":6,"op":"replace","start":3,"end":2,"sources":[0],"sameness":"ffffffffffffffff",`+
			`"body":{"speaker":"tool","callId":"c","errorName":"E","errorCode":"1","blocks":[{"kind":"result","content":[{"kind":"text","text":"x"}]}]}}`+"\n"+
			`{"base64":"/wA="}`+"\n",
		`{"seq":2,"span":2,"type":"assistant/chunk","time":7,"ignorable":true,"reconstructed":true}`+"\n"+
			`{"native":"1","time":7}`+"\n"+`{"native":"2","time":9}`+"\n"+
			`{"seq":4,"type":"session/title","time":8,"step":true,"body":{"title":"","titleFault":"SESSION_QUERY_CORRUPT_SESSION","clipped":true}}`+"\n"+`{"native":"{}"}`+"\n"+
			`{"seq":5,"type":"codex/x","time":8,"op":"select","keep":-1,"nodes":[0]}`+"\n"+`{"native":"{}"}`+"\n"+
			`{"seq":6,"type":"assistant/message","time":-8,"op":"append","sources":[],"body":{"speaker":"assistant","blocks":[{"kind":"call","name":"f","text":"{}"}]}}`+"\n"+`{"native":""}`+"\n",
		`{"position":{"next":7,"offset":99,"check":18446744073709551615,"stamp":{"Device":1,"Inode":2,"Size":3,"ModTime":4},"state":{"k":[1]}}}`+"\n",
	))
	h, err := archive.New().Identify(context.Background(), src.Root, src.Path)
	want := session.Header{
		Agent: "codex", ID: "s-1", Version: 2, CreatedAt: 1790000000000, Cwd: "/w", ParentSession: "p", SeedLength: 1,
		Origin: "subagent", DelegationDepth: 1, AgentPreset: "x",
	}
	if err != nil || h != want {
		t.Fatalf("header %+v, %v", h, err)
	}
	src.Header = h
	title := ""
	events := []session.Event{
		{
			Type: "user/message", Time: 5, Op: session.Op{Kind: session.OpAppend}, NativeID: "n-0",
			Body: session.Body{Speaker: session.Human, Blocks: []session.Block{{Text: "é\x00<"}}},
		},
		{
			Seq: 1, Type: "tool/result", Time: 6, Op: session.Op{Kind: session.OpReplace, Start: 3, End: 2}, Sources: []int64{0}, Sameness: math.MaxUint64,
			Body: session.Body{
				Speaker: session.Tool, CallID: "c", ErrorName: "E", ErrorCode: "1",
				Blocks: []session.Block{{Kind: session.ResultBlock, Content: []session.Block{{Text: "x"}}}},
			},
		},
		{Seq: 2, Span: 2, Type: "assistant/chunk", Time: 7, Ignorable: true, Reconstructed: true},
		{Seq: 4, Type: "session/title", Time: 8, Step: true, Body: session.Body{Title: &title, TitleFault: fault.CorruptSession, Clipped: true}},
		{Seq: 5, Type: "codex/x", Time: 8, Op: session.Op{Kind: session.OpSelect, Keep: -1, Nodes: []int64{0}}},
		{
			Seq: 6, Type: "assistant/message", Time: -8, Op: session.Op{Kind: session.OpAppend}, Sources: []int64{},
			Body: session.Body{Speaker: session.Assistant, Blocks: []session.Block{{Kind: session.CallBlock, Name: "f", Text: "{}"}}},
		},
	}
	if diff := cmp.Diff(events, eventsOf(t, archive.New(), src)); diff != "" {
		t.Errorf("events (-by hand +read):\n%s", diff)
	}
	var natives []string
	for _, raw := range rawsOf(t, archive.New(), src) {
		natives = append(natives, string(raw.Native))
	}
	if diff := cmp.Diff([]string{`{"a": 1.0,"a":"\ud800"}`, "\xff\x00", "1", "2", "{}", "{}", ""}, natives); diff != "" {
		t.Errorf("bytes (-by hand +read):\n%s", diff)
	}
	f, err := os.Open(src.Path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		t.Fatal(err)
	}
	o, p, _, whole, err := archive.Last(context.Background(), f, src.Path, info.Size())
	if err != nil || !whole || o.Source != "/logs/a" || o.Mapping != "codex/3" {
		t.Errorf("last: %+v, %v, %v", o, whole, err)
	}
	at := reader.Position{Next: 7, Offset: 99, Check: math.MaxUint64, Stamp: reader.Stamp{Device: 1, Inode: 2, Size: 3, ModTime: 4}, State: []byte(`{"k":[1]}`)}
	if diff := cmp.Diff(at, p); diff != "" {
		t.Errorf("position (-by hand +read):\n%s", diff)
	}
	// Any zstd decoder reads the whole of it.
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		t.Fatal(err)
	}
	z, err := zstd.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	defer z.Close()
	all, err := io.ReadAll(z)
	if err != nil || !strings.HasPrefix(string(all), firstLine) || bytes.Count(all, []byte("\n")) != 15 {
		t.Errorf("as one stream: %d lines, %v", bytes.Count(all, []byte("\n")), err)
	}
}

// What is wrong is a problem of this session, with a place.
func TestDamage(t *testing.T) {
	event := func(seq, rest string) string {
		return `{"seq":` + seq + `,"type":"user/message","time":1,"op":"append"` + rest + "}\n"
	}
	sound := file(t, plainLine, event("0", "")+`{"native":"x"}`+"\n")
	broken := bytes.Clone(sound)
	broken[len(broken)-3] ^= 0xff
	for name, tc := range map[string]struct {
		content []byte
		code    fault.Code // "": still to come
	}{
		"nothing":              {nil, ""},
		"half a mark":          {sound[:7], ""},
		"half a header":        {sound[:30], ""},
		"no frame":             {[]byte("{}\n"), fault.Persistence},
		"no header":            {file(t, "[]\n"), fault.Persistence},
		"another version":      {file(t, strings.Replace(plainLine, `"archive":1`, `"archive":2`, 1)), fault.Persistence},
		"no id":                {file(t, strings.Replace(plainLine, `"id":"s"`, `"id":""`, 1)), fault.CorruptSession},
		"no agent":             {file(t, strings.Replace(plainLine, `"dsh"`, `""`, 1)), fault.CorruptSession},
		"an archive's archive": {file(t, strings.Replace(plainLine, `"dsh"`, `"archive"`, 1)), fault.CorruptSession},
		"a strange line":       {file(t, plainLine, "{}\n"), fault.Persistence},
		"no end of a line":     {file(t, plainLine, `{"seq":0`), fault.Persistence},
		"a gap":                {file(t, plainLine, event("1", "")), fault.Persistence},
		"a negative span":      {file(t, plainLine, event("0", `,"span":-1`)), fault.Persistence},
		"a span without end":   {file(t, plainLine, event("0", `,"span":9223372036854775807`)), fault.Persistence},
		"no such operation":    {file(t, plainLine, event("0", `,"op":"erase"`)), fault.Persistence},
		"no such speaker":      {file(t, plainLine, event("0", `,"body":{"speaker":"nobody"}`)), fault.Persistence},
		"no such block":        {file(t, plainLine, event("0", `,"body":{"blocks":[{"kind":"image"}]}`)), fault.Persistence},
		"blocks without end": {
			file(t, plainLine, event("0", `,"body":{"blocks":`+strings.Repeat(`[{"kind":"result","content":`, 100)+"[]"+strings.Repeat("}]", 100)+"}")), fault.Persistence,
		},
		"no sameness":                  {file(t, plainLine, event("0", `,"sameness":"x"`)), fault.Persistence},
		"a checksum":                   {broken, fault.Persistence},
		"something behind it":          {append(bytes.Clone(sound), "xyz"...), fault.Persistence},
		"a frame longer than a header": {file(t, `{"archive":1,"pad":"`+strings.Repeat("x", 2<<20)+"\"}\n"), fault.Persistence},
	} {
		t.Run(name, func(t *testing.T) {
			src := at(t, tc.content)
			_, _, err := readertest.ReadFrom(archive.New(), src, reader.Position{})
			if tc.code == "" {
				if !errors.Is(err, reader.ErrPending) {
					t.Errorf("got %v, want the header to be pending", err)
				}
				return
			}
			var p *reader.Problem
			if !errors.As(err, &p) || p.Code != tc.code || p.Path != src.Path {
				t.Errorf("got %v, want a problem with %s", err, tc.code)
			}
		})
	}
}

// Bytes that are missing, or that belong to nobody, are found by an exact read.
func TestBytesThatDoNotFit(t *testing.T) {
	one, two := `{"seq":0,"type":"a","time":1}`+"\n", `{"seq":1,"type":"a","time":1}`+"\n"
	run := `{"seq":0,"span":2,"type":"a","time":1}` + "\n"
	for name, text := range map[string]string{
		"missing":            one + two,
		"one too many":       one + `{"native":"x"}` + "\n" + `{"native":"x"}` + "\n" + two,
		"a run without time": run + `{"native":"x"}` + "\n",
		"a run too short":    run + `{"native":"x","time":1}` + "\n" + `{"seq":2,"type":"a","time":1}` + "\n",
		"two at once":        one + `{"native":"x","base64":"AA=="}` + "\n",
		"none":               one + `{"native":null}` + "\n",
	} {
		src := at(t, file(t, plainLine, text))
		_, err := archive.New().Window(context.Background(), src, session.Checkpoint{}, 0, 9, session.Every(), func(session.Raw) error { return nil })
		if !errors.Is(err, fault.Persistence) {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

// A place that a file no longer has is a problem, not a surprise.
func TestForeignCheckpoints(t *testing.T) {
	src := at(t, file(t, plainLine, `{"seq":0,"type":"a","time":1}`+"\n"+`{"native":"x"}`+"\n"))
	for _, place := range []session.Place{{Offset: 5}, {Offset: 1 << 40, Inner: 3}, {Offset: 0, Inner: 1 << 40}, {Offset: 0, Inner: 7}} {
		_, err := archive.New().Window(context.Background(), src, session.Checkpoint{Place: place}, 0, 0, session.Every(), func(session.Raw) error { return nil })
		if !errors.Is(err, fault.Persistence) {
			t.Errorf("%+v: %v", place, err)
		}
	}
}

func TestPaths(t *testing.T) {
	root := filepath.FromSlash("/kept")
	seen := map[string]session.Header{}
	long := strings.Repeat("a", 300)
	for _, h := range []session.Header{
		{Agent: "dsh", ID: "s-1", Cwd: "/w"}, {Agent: "dsh", ID: "s-1", Cwd: "/W"}, {Agent: "dsh", ID: "s-1"}, {Agent: "codex", ID: "s-1", Cwd: "/w"},
		{Agent: "dsh", ID: "S-1", Cwd: "/w"}, {Agent: "dsh", ID: "../../../etc/passwd"}, {Agent: "..", ID: ".."}, {Agent: "dsh", ID: "."},
		{Agent: "dsh", ID: "a/b"}, {Agent: "dsh", ID: `a\b`}, {Agent: "dsh", ID: "a:b"}, {Agent: "dsh", ID: "a~2fb"}, {Agent: "dsh", ID: "é\x00\xff\n"},
		{Agent: "dsh", ID: session.ID(long)}, {Agent: "dsh", ID: session.ID(long + "a")}, {Agent: "dsh", ID: " "}, {Agent: "a/b", ID: "s"},
	} {
		path := archive.Path(root, h)
		key := strings.ToLower(path)
		if other, twice := seen[key]; twice {
			t.Errorf("%+v and %+v share %s", h, other, path)
		}
		seen[key] = h
		rel, err := filepath.Rel(root, path)
		if err != nil || archive.New().Classify(filepath.ToSlash(rel), false) != reader.File {
			t.Errorf("%+v: %s is no file of an archive", h, path)
		}
		for _, part := range strings.Split(filepath.ToSlash(rel), "/") {
			if len(part) > 200 || strings.Trim(part, "abcdefghijklmnopqrstuvwxyz0123456789-_~.") != "" || strings.HasPrefix(part, ".") {
				t.Errorf("%+v: %q is no portable name", h, part)
			}
		}
	}
	if got := archive.Path(root, session.Header{Agent: "claude-code", ID: "a/agent-B", Cwd: "/w"}); got != filepath.FromSlash("/kept/claude-code/"+hashOfW+"/a~2fagent-~42.jsonl.zst") {
		t.Errorf("got %s", got)
	}
}

// hashOfW is the beginning of what `printf /w | sha256sum` prints.
const hashOfW = "d1bb8ca354673cd575d31d952490058c"

func TestClassify(t *testing.T) {
	for rel, want := range map[string][2]reader.Kind{ // of a file, of a folder
		".":                       {reader.Ignore, reader.Folder},
		"":                        {reader.Ignore, reader.Folder},
		"dsh":                     {reader.Ignore, reader.Folder},
		"dsh/w":                   {reader.Ignore, reader.Folder},
		"dsh/w/s.jsonl.zst":       {reader.File, reader.Ignore},
		"dsh/w/s.jsonl":           {reader.Ignore, reader.Ignore},
		"dsh/w/.jsonl.zst":        {reader.Ignore, reader.Ignore},
		"dsh/w/.yore-1.jsonl.zst": {reader.Ignore, reader.Ignore},
		"dsh/s.jsonl.zst":         {reader.Ignore, reader.Folder},
		"a/b/c/s.jsonl.zst":       {reader.Ignore, reader.Ignore},
		".git/w/s.jsonl.zst":      {reader.Ignore, reader.Ignore},
	} {
		if got := [2]reader.Kind{archive.New().Classify(rel, false), archive.New().Classify(rel, true)}; got != want {
			t.Errorf("%q: %v, want %v", rel, got, want)
		}
	}
	if roots := archive.New().DefaultRoots(os.Getenv, "/home/ada"); roots != nil {
		t.Errorf("an archive nobody asked for: %v", roots)
	}
}

// FuzzReader reads any bytes as lines of a second frame, and as a whole file:
// every failure has a code, reading in two pieces gives what reading at once
// gives, and windows agree with reads.
func FuzzReader(f *testing.F) {
	f.Add([]byte(`{"seq":0,"type":"a","time":1}`+"\n"+`{"native":"x"}`+"\n"), true)
	f.Add([]byte(`{"seq":0,"span":3,"type":"a","time":1}`+"\n"+`{"native":"x","time":1}`+"\n"), true)
	f.Add([]byte(`{"position":{}}`+"\n"), true)
	f.Add(file(f, plainLine, `{"seq":0,"type":"a","time":1,"op":"select","nodes":[]}`+"\n"+`{"base64":"AA=="}`+"\n"), false)
	f.Fuzz(func(t *testing.T, data []byte, framed bool) {
		content := data
		if framed {
			content = file(t, plainLine, string(data))
		}
		src := at(t, content)
		coded := func(err error) {
			if _, ok := fault.Of(err); err != nil && !ok && !errors.Is(err, reader.ErrPending) {
				t.Fatalf("no code: %v", err)
			}
		}
		var err error
		src.Header, err = archive.New().Identify(context.Background(), src.Root, src.Path)
		coded(err)
		if err != nil {
			return
		}
		events, tail, err := readertest.ReadFrom(archive.New(), src, reader.Position{})
		coded(err)
		_, _, _, _, lastErr := archive.Last(context.Background(), bytes.NewReader(content), src.Path, int64(len(content)))
		coded(lastErr)
		if err != nil {
			return
		}
		next := int64(0)
		_, err = archive.New().Window(context.Background(), src, session.Checkpoint{}, 0, min(tail.Position.Next, 1000), session.Every(), func(raw session.Raw) error {
			if raw.Event.Seq != next {
				t.Fatalf("event %d where %d is next", raw.Event.Seq, next)
			}
			next++
			return nil
		})
		coded(err)
		if next > tail.Position.Next {
			t.Fatalf("%d events in a window, %d in a read", next, tail.Position.Next)
		}
		var again []session.Event
		half := func(e session.Event) error {
			again = append(again, e)
			return reader.ErrStop
		}
		first, err := archive.New().Read(context.Background(), src, reader.Position{}, half)
		coded(err)
		rest, _, err := readertest.ReadFrom(archive.New(), src, first.Position)
		coded(err)
		if diff := cmp.Diff(events, append(again, rest...)); diff != "" && err == nil {
			t.Fatalf("(-at once +in pieces):\n%s", diff)
		}
	})
}
