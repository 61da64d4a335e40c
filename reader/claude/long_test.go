package claude

import (
	"bytes"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/yorehq/yore/reader"
	"github.com/yorehq/yore/reader/readertest"
	"github.com/yorehq/yore/session"
)

// window returns events as an exact read gives them.
func window(t testing.TB, src reader.Source, from, to int64) []session.Raw {
	t.Helper()
	var got []session.Raw
	_, err := New().Window(t.Context(), src, session.Checkpoint{}, from, to, session.Every(), func(r session.Raw) error {
		got = append(got, r)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return got
}

// An exact read gives a block's own bytes for a call or a result, the record's
// for everything else, and made JSON for a select.
func TestNativeBytes(t *testing.T) {
	hello := user("u1", "", "hi").String()
	block := `{ "type":"tool_use", "id":"c1","name":"T", "input":{"n":1.0, "n":1e2}}`
	reply := `{"uuid":"a1","parentUuid":"u1","type":"assistant","message":{"id":"m","content":[` + block + `]}}`
	back := `{"type":"tool_result","tool_use_id":"c1","content":"o\ud800t"}`
	answered := `{"uuid":"r1","parentUuid":"a1","type":"user","message":{"content":[` + back + `]}}`
	src := project(t, hello+reply+"\n"+answered+" \r\n\x00{torn\n"+user("u2", "u1", "again").String())
	var got []string
	for _, r := range window(t, src, 0, 100) {
		got = append(got, string(r.Native))
	}
	want := []string{
		hello, reply, block, back, "{torn",
		`{"type":"claude/rewind","seq":5,"time":1793527200000,"data":{},"surfaceOp":{"op":"select","keep":0,"nodes":[]}}`,
		user("u2", "u1", "again").String(),
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// A line of any length costs bounded memory, its ids are understood, and an
// exact read still gives all of it.
func TestLongLines(t *testing.T) {
	const size = 64 << 20
	text := strings.Repeat("long text ", size/10)
	long := blocks("r1", "a1", "user", resultBlock("c1", "short"), object{"type": "image", "source": object{"data": text}}, resultBlock("c2", text)).String()
	junk := `{"type":"user",` + strings.Repeat("x", 5<<20)
	src := project(t, lines(user("u1", "", "hi"), answer("a1", "u1", "m", callBlock("c1", "T", object{}), callBlock("c2", "T", object{})))+
		long+"\n"+junk+"\n"+lines(user("u2", "r1", "on")))
	events := readertest.Memory(t, New(), src, 160<<20)
	want := []string{"user/message", "assistant/message", "tool/call", "tool/call", "tool/result", "tool/result", "user/message", "x/unparsed", "user/message"}
	var got []string
	for _, e := range events {
		got = append(got, e.Type)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Fatalf("types (-want +got):\n%s", diff)
	}
	kept := events[5].Body
	if n := len(kept.Blocks[0].Content[0].Text); kept.CallID != "c2" || n < 8<<20 || n > 9<<20 || !kept.Clipped {
		t.Errorf("of the long result %d bytes are kept, call %q, clipped %t", n, kept.CallID, kept.Clipped)
	}
	for _, r := range window(t, src, 0, 100) {
		switch seq := r.Event.Seq; seq {
		case 4:
			if string(r.Native) != `{"content":"short","tool_use_id":"c1","type":"tool_result"}` {
				t.Errorf("the short block is %.80s", r.Native)
			}
		case 5:
			if len(r.Native) < size || !bytes.HasPrefix(r.Native, []byte(`{"content":"long text`)) || !bytes.HasSuffix(r.Native, []byte(`"tool_result"}`)) {
				t.Errorf("the long block has %d bytes", len(r.Native))
			}
		case 6:
			if string(r.Native) != long {
				t.Errorf("the long record has %d bytes of %d", len(r.Native), len(long))
			}
		case 7:
			if string(r.Native) != junk {
				t.Errorf("the line that is no JSON has %d bytes of %d", len(r.Native), len(junk))
			}
		}
	}
}

// A window holds no more of a long line than a read does, but for the bytes that
// are asked for.
func TestLongLinesInWindow(t *testing.T) {
	const most = 160 << 20
	long := blocks("r1", "a1", "user", resultBlock("c1", strings.Repeat("long text ", 6<<20))).String()
	src := project(t, lines(user("u1", "", "hi"), answer("a1", "u1", "m", callBlock("c1", "T", object{})))+long+"\n"+lines(user("u2", "r1", "on")))
	for _, seq := range []int64{-1, 1, 3, 4} {
		room := most
		if seq == 3 {
			room += len(long)
		}
		raws := readertest.WindowMemory(t, New(), src, session.One(seq), uint64(room))
		for _, r := range raws {
			if (r.Native != nil) != (r.Event.Seq == seq) {
				t.Errorf("the bytes of %d asked for: %d has %d", seq, r.Event.Seq, len(r.Native))
			}
		}
		if seq == 3 && len(raws[3].Native) < 60<<20 {
			t.Errorf("the long block has %d bytes", len(raws[3].Native))
		}
	}
}

// Values may lie as deep in one another as a line is long.
func TestDeepLines(t *testing.T) {
	var text string
	var want []string
	parent := ""
	for i, n := range []int{9_998, 9_999, 10_000, 10_001, 200_000, 6_000_000} {
		id := fmt.Sprint("u", i)
		line := user(id, parent, fmt.Sprint("prompt ", i)).String()
		text += line[:len(line)-1] + `,"toolUseResult":` + strings.Repeat("[", n) + strings.Repeat("]", n) + "}\n"
		want, parent = append(want, fmt.Sprint("prompt ", i)), id
	}
	events, fold, tail := readAll(t, project(t, text))
	var got []string
	for _, e := range events {
		got = append(got, plainBody(e.Body.Blocks))
	}
	if diff := cmp.Diff(want, got); diff != "" || len(fold.Surface()) != len(want) || len(tail.Skips) > 0 {
		t.Errorf("surface %v, skips %+v (-want +got):\n%s", fold.Surface(), tail.Skips, diff)
	}
}

// What is passed over is named with its place, its line, its length and why.
func TestSkips(t *testing.T) {
	first := lines(user("u1", "", "hi"))
	const torn = `{"type":"user"`
	second := lines(user("u2", "u1", "on"))
	src := project(t, first+torn+"\n"+second)
	_, _, tail := readAll(t, src)
	want := []reader.Skip{{
		Place: session.Place{Offset: int64(len(first))}, Line: 2, Length: int64(len(torn)) + 1, Reason: "the line is no JSON record",
	}}
	if diff := cmp.Diff(want, tail.Skips); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	appendTo(t, src.Path, "noise\n")
	_, tail, err := readertest.ReadFrom(New(), src, tail.Position)
	want[0].Place.Offset += int64(len(torn) + 1 + len(second))
	want[0].Line, want[0].Length = 4, int64(len("noise\n"))
	if diff := cmp.Diff(want, tail.Skips); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
}

// talk makes a log of n turns with a question, a call, its result and an answer.
func talk(n int) string {
	var b strings.Builder
	parent := ""
	for i := range n {
		id := func(kind string) string { return fmt.Sprintf("%s%06d-0000-4000-8000-000000000000", kind, i) }
		msg := fmt.Sprintf("msg%d", i)
		b.WriteString(lines(
			user(id("u"), parent, fmt.Sprintf("question %d", i)),
			answer(id("a"), id("u"), msg, textBlock("let me see")),
			answer(id("c"), id("a"), msg, callBlock(id("toolu"), "Bash", object{"command": "ls"})),
			result(id("r"), id("c"), id("toolu"), strings.Repeat("output line\n", 100)),
			answer(id("d"), id("r"), msg+"b", textBlock("done")),
		))
		parent = id("d")
	}
	return b.String()
}

// The position of a long log is small, and ordinary growth does not look back:
// what lies before it may even be unreadable by then. A rewind looks back.
func TestGrowthDoesNotLookBack(t *testing.T) {
	text := talk(1500)
	src := project(t, text)
	before, tail, err := readertest.ReadFrom(New(), src, reader.Position{})
	if err != nil {
		t.Fatal(err)
	}
	if n := len(tail.Position.State); n > 64<<10 {
		t.Errorf("the state has %d bytes", n)
	}
	next := strings.ReplaceAll(talk(1), "000000", "999999")
	next = strings.Replace(next, `"parentUuid":null`, `"parentUuid":"d001499-0000-4000-8000-000000000000"`, 1)
	next = strings.ReplaceAll(next, "msg0", "msg9999")
	appendTo(t, src.Path, next)
	f, err := os.OpenFile(src.Path, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteAt(bytes.Repeat([]byte("no JSON\n"), 1000), int64(len(text)/2)); err != nil {
		t.Fatal(err)
	}
	f.Close()
	grown, tail, err := readertest.ReadFrom(New(), src, tail.Position)
	if err != nil {
		t.Fatal(err)
	}
	if tail.Bytes != int64(len(next)) { // but for false alarms, which these ids do not raise
		t.Errorf("%d bytes were parsed of %d new ones", tail.Bytes, len(next))
	}
	want := []string{
		"user/message append human: question 0", "assistant/message append step assistant: let me see", "assistant/message append",
		`tool/call action: Bash {"command":"ls"}`, "tool/result append tool: " + strings.Repeat("output line\n", 100),
		"assistant/message append step assistant: done",
	}
	if diff := cmp.Diff(want, described(grown)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	// Seen again whole, a rewind to the beginning.
	whole := project(t, text)
	_, tail, err = readertest.ReadFrom(New(), whole, reader.Position{})
	if err != nil {
		t.Fatal(err)
	}
	appendTo(t, whole.Path, lines(user("back", "u000000-0000-4000-8000-000000000000", "once more")))
	after, tail, err := readertest.ReadFrom(New(), whole, tail.Position)
	if err != nil {
		t.Fatal(err)
	}
	if tail.Bytes < int64(len(text)) {
		t.Errorf("looking back at %d bytes counts as %d", len(text), tail.Bytes)
	}
	if diff := cmp.Diff([]string{"claude/rewind select 0 []", "user/message append human: once more"}, described(after)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	folded(t, append(before, after...))
}

// A read that is stopped goes on where it stopped.
func TestStop(t *testing.T) {
	src := project(t, talk(3)+user("x", "", "a").String()+user("y", "x", "b").String()+"\n")
	want, _, _ := readAll(t, src)
	var got []session.Event
	for at := (reader.Position{}); ; {
		n := len(got)
		tail, err := New().Read(t.Context(), src, at, func(e session.Event) error {
			e.Resume, e.Breaks = "", false // these may depend on where a reading began
			got = append(got, e)
			return reader.ErrStop
		})
		if err != nil {
			t.Fatal(err)
		}
		if len(got) == n {
			break
		}
		at = tail.Position
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-at once +stopped):\n%s", diff)
	}
}

// Whatever a file and a position hold, reading neither fails nor breaks the
// model's rules, resuming gives what reading at once gives, and an exact read
// agrees.
func FuzzRead(f *testing.F) {
	f.Add([]byte(lines(user("u1", "", "hi"), answer("a1", "u1", "m", callBlock("c1", "T", object{})), result("r1", "a1", "c1", "x"),
		user("u2", "u1", "back"), user("u3", "r1", "forth"))), 3)
	f.Add([]byte(lines(user("u1", "", "hi"), user("u2", "u1", "ho"), compactBoundary("b", object{"preservedMessages": object{"uuids": []string{"u2"}}}),
		compactSummary("s", "b", "sum"), user("u2", "s", "ho"), meta("last-prompt", object{"leafUuid": "u1", "rewound": true}))), 40)
	f.Add([]byte(user("u1", "", "hi").String()+`{"type":"user"}{"`+"\n\x00\n7\n"), 9)
	f.Fuzz(func(t *testing.T, text []byte, cut int) {
		src := project(t, string(text))
		events, _, err := readertest.ReadFrom(New(), src, reader.Position{})
		if err != nil {
			t.Fatal(err)
		}
		folded(t, events)
		if src.Header.ID != "" {
			raw := window(t, src, 0, int64(len(events))+5)
			if len(raw) != len(events) {
				t.Fatalf("%d events, %d in the window", len(events), len(raw))
			}
			for i := range raw {
				if diff := cmp.Diff(events[i], raw[i].Event); diff != "" || len(raw[i].Native) == 0 {
					t.Fatalf("event %d, %q (-read +window):\n%s", i, raw[i].Native, diff)
				}
			}
		}
		if cut < 0 || cut > len(text) {
			return
		}
		if err := os.WriteFile(src.Path, text[:cut], 0o600); err != nil {
			t.Fatal(err)
		}
		var got []session.Event
		var at reader.Position
		most := room{whole: 0, tail: 2}
		for range 2 {
			tail, err := read(t.Context(), src, at, most, func(e session.Event) error { got = append(got, e); return nil })
			if err != nil {
				t.Fatal(err)
			}
			at = tail.Position
			if err := os.WriteFile(src.Path, text, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if diff := cmp.Diff(events, got); diff != "" {
			t.Fatalf("cut at %d (-at once +in two):\n%s", cut, diff)
		}
	})
}

// A state that was not saved here is refused, or makes a graph; it never panics.
func FuzzState(f *testing.F) {
	d := &decoder{g: newGraph()}
	for _, r := range []rec{user("u1", "", "hi"), answer("a1", "u1", "m", callBlock("c", "T", object{})), compactBoundary("b", object{})} {
		if _, err := d.value([]byte(r.String()), session.Place{}); err != nil {
			f.Fatal(err)
		}
	}
	st := d.save(room{whole: 1 << 20})
	f.Add(st.Graph, true, 2)
	st = d.save(room{tail: 1})
	f.Add(st.Graph, false, 2)
	f.Fuzz(func(t *testing.T, nodes []byte, pending bool, last int) {
		for _, seen := range []filter{nil, make(filter, minFilter), make(filter, 3)} {
			st := state{Graph: nodes, Pending: pending, Path: []int{0, last}, Seen: seen}
			g, err := st.graph()
			if err != nil {
				continue
			}
			d := &decoder{g: g}
			d.expand = func() error { d.g = newGraph(); return nil }
			again := d.save(room{whole: 1 << 20, tail: 1 << 20})
			if seen == nil {
				if diff := cmp.Diff(nodes, again.Graph); diff != "" && len(nodes) > 0 {
					twice, _, ok := parseNode(again.Graph)
					if !ok || twice == nil {
						t.Fatalf("saved again it cannot be read:\n%s", diff)
					}
				}
			}
			if _, err := d.value([]byte(user("u9", "u1", "more").String()), session.Place{}); err != nil {
				t.Fatal(err)
			}
		}
	})
}
