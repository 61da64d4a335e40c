package codex

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/yorehq/yore/reader"
	"github.com/yorehq/yore/reader/readertest"
	"github.com/yorehq/yore/session"
)

// Lines that are not one record each. Want are the events behind the header,
// natives their bytes.
func TestLines(t *testing.T) {
	a, b := itemLine(1, userItem("", "a")), itemLine(2, assistantItem("", "b"))
	const ea, eb = `1 user/message append title="a" human: a`, "2 assistant/message step append assistant: b"
	for _, tc := range []struct {
		name    string
		log     string
		want    []string
		natives []string
	}{
		{"as it should be", a + "\n" + b + "\n", []string{ea, eb}, []string{a, b}},
		{"without a last newline", a + "\n" + b, []string{ea, eb}, []string{a, b}},
		{"two glued together", a + b + "\n", []string{ea, eb}, []string{a, b}},
		{"blank lines and CRLF", "\n" + a + "\r\n \r\n\t" + b + " \r\n\n", []string{ea, eb}, []string{a, b}},
		{"NUL bytes of a power failure", a + "\n\x00\x00\x00\n" + "\x00\x00" + b + "\n", []string{ea, eb}, []string{a, b}},
		{"torn at the end", a + "\n" + b[:30], []string{ea}, []string{a}},
		{"whole and torn at the end", a + b[:30], []string{ea}, []string{a}},
		{"torn, then glued to the next", a + "\n" + b[:30] + b + "\n", []string{ea, "2 x/unparsed"}, []string{a, b[:30] + b}},
		{"a record, then a torn one", a + b[:30] + "\n" + b + "\n", []string{ea, "2 x/unparsed", "3" + eb[1:]}, []string{a, b[:30], b}},
		{"no JSON", "hello\n" + a + "\n", []string{"1 x/unparsed", "2" + ea[1:]}, []string{"hello", a}},
		{"JSON but no record", "[1]\n7 \"x\"\nnull\n", []string{"1 x/unparsed", "2 x/unparsed", "3 x/unparsed", "4 x/unparsed"}, []string{"[1]", "7", `"x"`, "null"}},
		{"an empty record", "{}\n", []string{"1 codex/unknown"}, []string{"{}"}},
		{"payloads of other kinds", `{"type":"response_item","payload":"x"}` + "\n" + `{"type":"event_msg","payload":null}` + "\n" + `{"type":"compacted","payload":[]}` + "\n",
			[]string{"1 codex/response_item", "2 codex/event_msg", "3 user/message append summary", "4 codex/compacted"},
			nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			head := metaLine(idA, "") + "\n"
			if !strings.Contains(tc.log, a) {
				head += " "
			}
			root := home(t, map[string]string{rollout(idA): head + tc.log})
			src := reader.Source{Agent: session.Codex, Root: root, Path: filepath.Join(root, rollout(idA)), Header: session.Header{ID: idA}}
			events, _ := readAll(t, src)
			if diff := cmp.Diff(tc.want, outline(events)[1:]); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if tc.natives != nil {
				if diff := cmp.Diff(tc.natives, natives(window(t, src, 1, 99))); diff != "" {
					t.Errorf("natives (-want +got):\n%s", diff)
				}
			}
			everyWay(t, src)
			for n := 1; n < len(head+tc.log); n += 13 {
				grows(t, root, rollout(idA), head+tc.log, n)
			}
		})
	}
}

func TestByteOrderMark(t *testing.T) {
	root := home(t, map[string]string{rollout(idA): "\xEF\xBB\xBF" + lines(metaLine(idA, ""), itemLine(1, userItem("", "a")))})
	events, _ := readAll(t, source(t, root, rollout(idA)))
	if len(events) != 2 || events[0].Type != "codex/session_meta" || events[0].Place.Offset != 3 {
		t.Errorf("%v", outline(events))
	}
}

// Layouts without an envelope.
func TestOldLayouts(t *testing.T) {
	items := []string{userItem("", "<user_instructions>\nx"), userItem("", "hello"), `{"type":"reasoning","id":"r","summary":[]}`,
		callItem("c", "shell", "{}"), outputItem("c", "ok"), assistantItem("", "bye")}
	want := []string{
		"0 codex/session_meta", "1 user/message append injected", `2 user/message append title="hello" human: hello`,
		"3 assistant/message step append assistant", "4 tool/call #c action: shell({})", "5 tool/result append #c tool: ok",
		"6 assistant/message step append assistant: bye",
	}
	meta := `{"id":"` + idA + `","timestamp":"2025-06-01T10:00:00.000Z","instructions":""}`
	document := "sessions/rollout-2025-04-20-" + idA + ".json"
	for rel, content := range map[string]string{
		rollout(idA): lines(append([]string{meta}, items...)...),
		document:     fmt.Sprintf("{\n \"session\": %s,\n \"items\": [\n  %s\n ]\n}\n", meta, strings.Join(items, ",\n  ")),
	} {
		root := home(t, map[string]string{rel: content})
		src := source(t, root, rel)
		events, tail := readAll(t, src)
		if diff := cmp.Diff(want, outline(events)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", rel, diff)
		}
		if diff := cmp.Diff(append([]string{meta}, items...), natives(window(t, src, 0, 99))); diff != "" {
			t.Errorf("%s: natives (-want +got):\n%s", rel, diff)
		}
		for _, e := range events {
			if e.Time != 1748772000000 {
				t.Errorf("%s: event %d has the time %d", rel, e.Seq, e.Time)
			}
		}
		everyWay(t, src)
		if rel == document {
			put(t, root, rel, strings.Replace(content, "hello", "hello!", 1))
			if rev, _, err := New().Revise(context.Background(), src, tail.Position); err != nil || rev != reader.Replaced {
				t.Errorf("a document written anew: revision %d, %v", rev, err)
			}
		}
	}
}

// A line without a time has the latest one.
func TestMissingTimes(t *testing.T) {
	untimed := `{"type":"response_item","payload":` + userItem("", "x") + `}`
	root := home(t, map[string]string{rollout(idA): lines(metaLine(idA, ""), untimed, itemLine(9, userItem("", "y")), untimed, itemLine(3, userItem("", "z")))})
	src := source(t, root, rollout(idA))
	events, _ := readAll(t, src)
	var got []int64
	for _, e := range events {
		got = append(got, (e.Time-nine)/1000)
	}
	if diff := cmp.Diff([]int64{0, 0, 9, 9, 3}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	everyWay(t, src)
}

// Compressed logs read as plain ones do; torn ones keep what is whole.
func TestCompressed(t *testing.T) {
	root := home(t, nil)
	for i, src := range readertest.Discover(t, New(), genuine) {
		content := readFile(t, src.Path)
		rel := "archived_sessions/" + filepath.Base(src.Path) + ".zst"
		put(t, root, rel, compress(t, content))
		packed := source(t, root, rel)
		if packed.Header != src.Header {
			t.Errorf("header %+v, of the plain file %+v", packed.Header, src.Header)
		}
		want, _ := readAll(t, src)
		got, _ := readAll(t, packed)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("(-plain +compressed):\n%s", diff)
		}
		if i > 0 {
			continue
		}
		readertest.Cut(t, New(), packed)
		readertest.Stop(t, New(), packed)
		readertest.Window(t, New(), packed)
		readertest.Cancel(t, New(), packed)
	}
}

func TestDamagedCompressed(t *testing.T) {
	var records []string
	for i := range 20_000 {
		records = append(records, itemLine(i%3600, userItem("", fmt.Sprint("prompt ", i*i*7919))))
	}
	whole := compress(t, lines(append([]string{metaLine(idA, "")}, records...)...))
	root := home(t, map[string]string{rollout(idA) + ".zst": whole[:len(whole)/2]})
	src := source(t, root, rollout(idA)+".zst")
	events, tail := readAll(t, src)
	if len(events) < 1000 || len(events) > 20_000 || len(tail.Skips) != 1 {
		t.Errorf("%d events, skips %+v", len(events), tail.Skips)
	}
	text := lines(append([]string{metaLine(idA, "")}, records[:len(events)-1]...)...)
	skip := tail.Skips[0]
	if skip.Place != (session.Place{Offset: int64(len(text))}) || skip.Line != int64(len(events))+1 || skip.Rest != -1 || skip.Reason == "" {
		t.Errorf("behind %d events of %d bytes: %+v", len(events), len(text), skip)
	}
	// Damaged in the middle, the rest of the file is not read; each read says so.
	damaged := []byte(whole)
	for i := range 64 {
		damaged[len(damaged)/2+i] ^= 0x55
	}
	put(t, root, rollout(idB)+".zst", string(damaged))
	src = source(t, root, rollout(idB)+".zst")
	_, tail = readAll(t, src)
	for range 2 {
		if len(tail.Skips) != 1 || tail.Skips[0].Rest < int64(len(damaged)/4) || tail.Skips[0].Rest > int64(len(damaged)/2) {
			t.Errorf("of %d bytes, damaged in the middle: %+v", len(damaged), tail.Skips)
		}
		var err error
		if _, tail, err = readertest.ReadFrom(New(), src, tail.Position); err != nil {
			t.Fatal(err)
		}
	}
}

// What is no record is named with its place, its line, its length and why.
func TestSkips(t *testing.T) {
	first := lines(metaLine(idA, ""), itemLine(1, userItem("", "hi")))
	root := home(t, map[string]string{rollout(idA): first + "noise\n" + lines(itemLine(2, assistantItem("", "ho")))})
	_, tail := readAll(t, source(t, root, rollout(idA)))
	var got []string
	for _, s := range tail.Skips {
		got = append(got, fmt.Sprintf("%d+%d, line %d, %d: %s", s.Place.Offset, s.Length, s.Line, s.Rest, s.Reason))
	}
	want := []string{fmt.Sprintf("%d+5, line 3, 0: the line is no JSON record", len(first))}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// Values may lie as deep in one another as a line is long.
func TestDeepLines(t *testing.T) {
	records := []string{metaLine(idA, "")}
	var want []string
	for i, n := range []int{9_998, 9_999, 10_000, 10_001, 200_000, 6_000_000} {
		line := itemLine(i+1, userItem("", fmt.Sprint("prompt ", i)))
		records = append(records, line[:len(line)-1]+`,"more":`+strings.Repeat("[", n)+strings.Repeat("]", n)+"}")
		want = append(want, fmt.Sprint("human: prompt ", i))
	}
	events, tail := readAll(t, source(t, home(t, map[string]string{rollout(idA): lines(records...)}), rollout(idA)))
	if diff := cmp.Diff(want, surface(t, events)); diff != "" || len(tail.Skips) > 0 {
		t.Errorf("skips %+v (-want +got):\n%s", tail.Skips, diff)
	}
}

// A line of any length is taken in within bounds, and read back whole.
func TestLongLine(t *testing.T) {
	const size = 24 << 20
	long := itemLine(1, outputItem("c", strings.Repeat("x", size)))
	image := itemLine(2, `{"type":"message","role":"user","content":[{"type":"input_image","image_url":"data:image/png;base64,`+strings.Repeat("A", size)+`"},{"type":"input_text","text":"what is it?"}]}`)
	root := home(t, map[string]string{rollout(idA): lines(metaLine(idA, ""), long, image, itemLine(3, assistantItem("", "a cat")))})
	src := source(t, root, rollout(idA))
	events := readertest.Memory(t, New(), src, 100<<20)
	if len(events) != 4 {
		t.Fatalf("%d events", len(events))
	}
	if b := events[1].Body; !b.Clipped || len(texts(b.Blocks)) < 8<<20 || len(texts(b.Blocks)) > 9<<20 {
		t.Errorf("%d bytes of text, clipped: %v", len(texts(b.Blocks)), b.Clipped)
	}
	if got := said(&events[2]); got != "human: what is it?" {
		t.Errorf("%q", got)
	}
	readertest.WindowMemory(t, New(), src, session.Range{}, 100<<20)
	if got := readertest.WindowMemory(t, New(), src, session.One(1), uint64(100<<20+len(long))); string(got[1].Native) != long || got[2].Native != nil {
		t.Error("the bytes of one event are not those of its line")
	}
	raws := window(t, src, 1, 3)
	if string(raws[0].Native) != long || string(raws[1].Native) != image {
		t.Error("a long line does not come back as it was written")
	}
}
