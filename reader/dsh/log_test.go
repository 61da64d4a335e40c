package dsh

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/klauspost/compress/zstd"

	"github.com/yorehq/yore/fault"
	"github.com/yorehq/yore/reader"
	"github.com/yorehq/yore/reader/readertest"
	"github.com/yorehq/yore/session"
)

const sampleHeader = `{"type":"session","version":0,"id":"s","createdAt":1,"cwd":"/w","delegationDepth":0}` + "\n"

// logFile writes a session file where its header says that it belongs.
func logFile(t testing.TB, name string, content []byte) reader.Source {
	t.Helper()
	root := t.TempDir()
	path := filepath.Join(root, "--w--", "s", name)
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, content, 0o600)); err != nil {
		t.Fatal(err)
	}
	return reader.Source{Agent: session.DSH, Root: root, Path: path}
}

// rawLog writes lines behind the sample header, and then the tail as it is.
func rawLog(t testing.TB, tail []byte, lines ...string) reader.Source {
	t.Helper()
	content := []byte(sampleHeader)
	for _, l := range lines {
		content = append(append(content, l...), '\n')
	}
	return logFile(t, rawName, append(content, tail...))
}

func zstdFrame(t testing.TB, text string, options ...zstd.EOption) []byte {
	t.Helper()
	enc, err := zstd.NewWriter(nil, append([]zstd.EOption{zstd.WithEncoderConcurrency(1)}, options...)...)
	if err != nil {
		t.Fatal(err)
	}
	defer enc.Close()
	return enc.EncodeAll([]byte(text), nil)
}

// zstdLog writes each text as a frame behind the sample header's.
func zstdLog(t testing.TB, tail []byte, texts ...string) reader.Source {
	t.Helper()
	content := zstdFrame(t, sampleHeader)
	for _, text := range texts {
		content = append(content, zstdFrame(t, text)...)
	}
	return logFile(t, zstdName, append(content, tail...))
}

func mustRead(t *testing.T, src reader.Source) []session.Event {
	t.Helper()
	events, _, err := readertest.ReadFrom(New(), src, reader.Position{})
	if err != nil {
		t.Fatal(err)
	}
	return events
}

func readWindow(t *testing.T, src reader.Source, at session.Checkpoint, from, to int64) []session.Raw {
	t.Helper()
	var out []session.Raw
	_, err := New().Window(context.Background(), src, at, from, to, session.Every(), func(raw session.Raw) error {
		out = append(out, raw)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func turnStart(seq int) string {
	return fmt.Sprintf(`{"type":"turn/start","seq":%d,"time":%d,"data":{"turn":1}}`, seq, seq)
}

func turnEnded(seq int) string {
	return fmt.Sprintf(`{"type":"turn/end","seq":%d,"time":%d,"data":{"turn":1,"reason":{"kind":"completed"}}}`, seq, seq)
}

// A line that is no next record ends the log for now, unless a turn ends behind it.
func TestTornTails(t *testing.T) {
	for _, c := range []struct {
		name   string
		lines  []string
		events int
		skip   int64
		code   fault.Code
	}{
		{"noise at the end", []string{turnStart(0), "noise"}, 1, 3, ""},
		{"a gap at the end", []string{turnStart(0), turnStart(2), turnStart(3)}, 1, 3, ""},
		{"the torn line ends a turn itself", []string{turnStart(0), turnEnded(5)}, 1, 3, ""},
		{"noise, then the end of a turn", []string{turnStart(0), "noise", "more", turnEnded(1)}, 0, 0, persistence},
		{"a repeated record, then the end of a turn", []string{turnStart(0), turnStart(0), turnEnded(1)}, 0, 0, persistence},
		{"noise, then one that only looks like it", []string{turnStart(0), "noise", `{"type":"turn/end"`, `{"note":"turn/end"}`}, 1, 3, ""},
		{"an empty line", []string{turnStart(0), "", turnStart(1)}, 1, 3, ""},
		{"what breaks a rule behind the tear is not looked at", []string{turnStart(0), "noise", `{"type":"stranger","seq":1,"time":1,"data":{}}`}, 1, 3, ""},
	} {
		events, tail, err := readertest.ReadFrom(New(), rawLog(t, nil, c.lines...), reader.Position{})
		if code, _ := fault.Of(err); code != c.code {
			t.Errorf("%s: %v", c.name, err)
		}
		if err != nil {
			continue
		}
		if len(events) != c.events || len(tail.Skips) != 1 || tail.Skips[0].Line != c.skip {
			t.Errorf("%s: %d events, skipped %+v", c.name, len(events), tail.Skips)
		}
		if want := int64(len(sampleHeader) + len(turnStart(0)) + 1); tail.Position.Offset != want {
			t.Errorf("%s: the position is %d, want %d: before the torn line", c.name, tail.Position.Offset, want)
		}
	}
}

// A tear is found again from the saved position once the end of a turn follows,
// and is gone when the agent has cut it off.
func TestTearInAGrowingLog(t *testing.T) {
	src := rawLog(t, nil, turnStart(0), "noise")
	src.Header, _ = New().Identify(context.Background(), src.Root, src.Path)
	_, tail, err := readertest.ReadFrom(New(), src, reader.Position{})
	if err != nil {
		t.Fatal(err)
	}
	content, _ := os.ReadFile(src.Path)
	if err := os.WriteFile(src.Path, append(content, turnEnded(1)+"\n"...), 0o600); err != nil {
		t.Fatal(err)
	}
	_, _, err = readertest.ReadFrom(New(), src, tail.Position)
	var p *reader.Problem
	if !errors.As(err, &p) || p.Code != persistence || p.Line != 3 || p.Offset != tail.Position.Offset {
		t.Errorf("a turn ends behind the tear: %v", err)
	}
	repaired := append(bytes.TrimSuffix(content, []byte("noise\n")), turnEnded(1)+"\n"...)
	if err := os.WriteFile(src.Path, repaired, 0o600); err != nil {
		t.Fatal(err)
	}
	if revision, _, err := New().Revise(context.Background(), src, tail.Position); err != nil || revision != reader.Grown {
		t.Errorf("after the repair: revision %d, %v", revision, err)
	}
	events, _, err := readertest.ReadFrom(New(), src, tail.Position)
	if err != nil || len(events) != 1 || events[0].Seq != 1 {
		t.Errorf("after the repair: %+v, %v", events, err)
	}
}

func TestDamagedFrames(t *testing.T) {
	lines := turnStart(0) + "\n" + turnStart(1) + "\n"
	whole := zstdFrame(t, lines)
	flipped := bytes.Clone(whole)
	flipped[len(flipped)-1] ^= 1
	empty := zstdFrame(t, "", zstd.WithZeroFrames(true))
	reserved := bytes.Clone(whole)
	reserved[4] |= 0x08
	dictionary := bytes.Clone(whole)
	dictionary[4] |= 0x01
	wide := bytes.NewBuffer(nil)
	enc, err := zstd.NewWriter(wide, zstd.WithWindowSize(64<<20), zstd.WithEncoderConcurrency(1))
	if err != nil {
		t.Fatal(err)
	}
	// A stream of unknown length keeps its window.
	_, err = enc.Write([]byte(lines))
	if err := errors.Join(err, enc.Flush(), enc.Close()); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name   string
		tail   []byte
		events int
		code   fault.Code
	}{
		{"nothing", nil, 0, ""},
		{"whole", whole, 2, ""},
		{"torn in its magic", whole[:3], 0, ""},
		{"torn in its header", whole[:5], 0, ""},
		{"torn in its checksum", whole[:len(whole)-2], 2, ""},
		{"a flipped checksum", flipped, 0, persistence},
		{"no frame", []byte("{}\n"), 0, persistence},
		{"a skippable frame", []byte{0x50, 0x2A, 0x4D, 0x18, 0, 0, 0, 0}, 0, persistence},
		{"a reserved bit", reserved, 0, persistence},
		{"a dictionary", dictionary, 0, persistence},
		{"a window that is too large", wide.Bytes(), 0, persistence},
		{"no newline", zstdFrame(t, turnStart(0)), 0, persistence},
		{"half a line", zstdFrame(t, lines+`{"type"`), 0, persistence},
		{"an empty frame", empty, 0, ""},
		{"an empty frame between others", slices.Concat(whole, empty, empty, zstdFrame(t, turnStart(2)+"\n")), 3, ""},
		{"a frame without checksum", zstdFrame(t, lines, zstd.WithEncoderCRC(false)), 2, ""},
	} {
		events, _, err := readertest.ReadFrom(New(), zstdLog(t, c.tail), reader.Position{})
		if code, _ := fault.Of(err); code != c.code || err == nil && len(events) != c.events {
			t.Errorf("%s: %d events, %v; want %d, %q", c.name, len(events), err, c.events, c.code)
		}
	}
}

// Every whole block of a torn frame gives up its lines.
func TestTornBlocks(t *testing.T) {
	var text strings.Builder
	const events = 9000
	for i := range events {
		fmt.Fprintf(&text, "{\"type\":\"goal/change\",\"seq\":%d,\"time\":1,\"data\":{\"x\":%d}}\n", i, i*7919%1009)
	}
	whole := zstdFrame(t, text.String())
	seen, last := make(map[int]bool), 0
	for cut := 0; cut <= len(whole); cut += max(1, len(whole)/60) {
		got := mustRead(t, zstdLog(t, whole[:cut]))
		if len(got) < last {
			t.Errorf("%d bytes give %d events, fewer bytes gave %d", cut, len(got), last)
		}
		last, seen[len(got)] = len(got), true
	}
	if got := mustRead(t, zstdLog(t, whole[:len(whole)-1])); len(got) != events {
		t.Errorf("all but the last byte of the checksum: %d events", len(got))
	}
	// Blocks hold at most 128 KiB of some 570 KB.
	if len(seen) < 4 {
		t.Errorf("only %d different numbers of events were given up", len(seen))
	}
}

// A first frame that holds more than the header, or not a line of its own.
func TestFirstFrame(t *testing.T) {
	for name, text := range map[string]string{
		"two lines":  sampleHeader + turnStart(0) + "\n",
		"no newline": strings.TrimSuffix(sampleHeader, "\n"),
		"a rest":     sampleHeader + "x",
	} {
		src := logFile(t, zstdName, zstdFrame(t, text))
		_, err := New().Identify(context.Background(), src.Root, src.Path)
		if code, _ := fault.Of(err); code != persistence {
			t.Errorf("%s: %v", name, err)
		}
	}
	for name, content := range map[string][]byte{
		zstdName: {},
		rawName:  []byte(sampleHeader[:20]),
	} {
		src := logFile(t, name, content)
		if _, err := New().Identify(context.Background(), src.Root, src.Path); !errors.Is(err, reader.ErrPending) {
			t.Errorf("%s of %d bytes: %v", name, len(content), err)
		}
		if _, _, err := readertest.ReadFrom(New(), src, reader.Position{}); !errors.Is(err, reader.ErrPending) {
			t.Errorf("reading %s of %d bytes: %v", name, len(content), err)
		}
	}
}

// A frame that was read while it was torn, and came out otherwise in the end.
func TestTornFrameRewritten(t *testing.T) {
	first := zstdFrame(t, turnStart(0)+"\n"+turnStart(1)+"\n")
	src := zstdLog(t, first[:len(first)-2])
	src.Header, _ = New().Identify(context.Background(), src.Root, src.Path)
	events, tail, err := readertest.ReadFrom(New(), src, reader.Position{})
	if err != nil || len(events) != 2 {
		t.Fatalf("%d events, %v", len(events), err)
	}
	head, _ := os.ReadFile(src.Path)
	head = head[:tail.Position.Offset]
	other := zstdFrame(t, turnStart(0)+"\n"+turnStart(1)+"\n"+turnStart(2)+"\n"+turnEnded(3)+"\n")
	for _, c := range []struct {
		name string
		tail []byte
		want reader.Revision
	}{
		{"completed", append(bytes.Clone(first), other...), reader.Grown},
		{"cut off", nil, reader.Replaced},
		{"another frame", other, reader.Replaced},
	} {
		if err := os.WriteFile(src.Path, append(bytes.Clone(head), c.tail...), 0o600); err != nil {
			t.Fatal(err)
		}
		if got, _, err := New().Revise(context.Background(), src, tail.Position); err != nil || got != c.want {
			t.Errorf("%s: revision %d, %v; want %d", c.name, got, err, c.want)
		}
	}
}

// What closes a turn that is open at the end, and what does not need closing.
func TestClosers(t *testing.T) {
	message := func(seq int, calls ...string) string {
		var blocks []string
		for _, c := range calls {
			blocks = append(blocks, `{"type":"tool-call","id":"`+c+`","name":"n","arguments":""}`)
		}
		return fmt.Sprintf(`{"type":"assistant/message","seq":%d,"time":%d,"surfaceOp":"append","data":{"message":{"id":"m","role":"assistant","content":[%s],"source":{"kind":"model","provider":"p","model":"m"}}}}`, seq, seq, strings.Join(blocks, ","))
	}
	call := func(seq int, id string) string {
		return fmt.Sprintf(`{"type":"tool/call","seq":%d,"time":%d,"data":{"callId":"%s","name":"n","arguments":""}}`, seq, seq, id)
	}
	result := func(seq int, id string) string {
		return fmt.Sprintf(`{"type":"tool/result","seq":%d,"time":%d,"surfaceOp":"append","data":{"message":{"id":"r","role":"user","source":{"kind":"tool","callId":"%s"},"content":[{"type":"tool-result","toolCallId":"%s","content":[]}]}}}`, seq, seq, id, id)
	}
	step := func(seq int, typ string) string {
		return fmt.Sprintf(`{"type":"step/%s","seq":%d,"time":%d,"data":{"turn":1,"step":4}}`, typ, seq, seq)
	}
	for _, c := range []struct {
		name  string
		lines []string
		want  []string
	}{
		{"nothing", nil, nil},
		{"a closed turn", []string{turnStart(0), step(1, "start"), message(2, "a"), turnEnded(3)}, nil},
		{"an open turn", []string{turnStart(0)}, []string{"turn/end"}},
		{"between steps", []string{turnStart(0), step(1, "start"), message(2, "a"), step(3, "end")}, []string{"turn/end"}},
		{"an open step", []string{turnStart(0), step(1, "start")}, []string{"step/end", "turn/end"}},
		{"calls in every state", []string{turnStart(0), step(1, "start"), message(2, "a", "b", "c"), call(3, "a"), call(4, "b"), result(5, "a")},
			[]string{"TOOL_OUTCOME_UNKNOWN b [4]", "TOOL_NOT_STARTED c []", "step/end", "turn/end"}},
		{"a call without a message", []string{turnStart(0), step(1, "start"), call(2, "x")}, []string{"TOOL_OUTCOME_UNKNOWN x [2]", "step/end", "turn/end"}},
		{"calls of an earlier step", []string{turnStart(0), step(1, "start"), message(2, "a"), step(3, "end"), step(4, "start")}, []string{"step/end", "turn/end"}},
	} {
		src := rawLog(t, []byte(`{"type":"step/`), c.lines...)
		f, tail, err := fold(src)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		raws := Closers(tail.Position.State, tail.Position.Next)
		var got []string
		var events []session.Event
		for i, raw := range raws {
			e := raw.Event
			events = append(events, e)
			if e.Seq != int64(len(c.lines)+i) || !e.Provisional || !e.Reconstructed || e.Time != int64(len(c.lines)-1) {
				t.Errorf("%s: closing record %d is %+v", c.name, i, e)
			}
			if e.Type == session.ToolResult {
				got = append(got, fmt.Sprintf("%s %s %v", e.Body.ErrorCode, e.Body.CallID, e.Sources))
			} else {
				got = append(got, e.Type)
			}
			checkMade(t, raw)
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, diff)
		}
		if diff := cmp.Diff(events, tail.Closers); diff != "" {
			t.Errorf("%s: the tail's records differ (-made +tail):\n%s", c.name, diff)
		}
		if want := int64(len(c.lines) + len(raws)); f.Next() != want {
			t.Errorf("%s: the fold stands at %d, want %d", c.name, f.Next(), want)
		}
	}
	if got := Closers(json.RawMessage(`"strange"`), 3); got != nil {
		t.Errorf("a strange state has closing records: %v", got)
	}
}

// checkMade decodes the JSON made for an event: it must give the same event.
func checkMade(t *testing.T, raw session.Raw) {
	t.Helper()
	d := NewDecoder(session.Header{Agent: session.DSH, ID: "s"})
	d.next = raw.Event.Seq
	again, err := d.Event(raw.Native)
	if err != nil || len(again) != 1 {
		t.Fatalf("%s: %v", raw.Native, err)
	}
	got := again[0].Event
	got.Provisional, got.Reconstructed, got.Place = raw.Event.Provisional, raw.Event.Reconstructed, raw.Event.Place
	if diff := cmp.Diff(raw.Event, got); diff != "" {
		t.Errorf("made JSON (-event +JSON):\n%s", diff)
	}
}

func TestReadRefusesAnotherHeader(t *testing.T) {
	src := rawLog(t, nil, turnStart(0))
	src.Header = session.Header{Agent: session.DSH, ID: "other"}
	if _, _, err := readertest.ReadFrom(New(), src, reader.Position{}); !errors.Is(err, persistence) {
		t.Errorf("another header is read: %v", err)
	}
}
