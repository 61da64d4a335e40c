package jsonl

import (
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
)

var small = Bounds{Line: 16, Text: 20, Total: 120, Late: 4, Most: 400, Elements: 4, Members: 6}

// clipped passes one line through the clipper, in pieces of n bytes.
func clipped(b Bounds, text string, n int) *clipper {
	c := &clipper{Bounds: b}
	c.reset()
	for len(text) > 0 {
		piece := text[:min(n, len(text))]
		c.feed([]byte(piece))
		text = text[len(piece):]
	}
	return c
}

func TestClipper(t *testing.T) {
	long := strings.Repeat("x", 50)
	fill := `{"a":[` + strings.Repeat(`"0123456789",`, 8) + `"0123456789"],`
	for _, c := range []struct {
		name, in, want string
		dropped        bool
	}{
		{"what fits stays", `{"a":[1,"b",{"c":null}]}`, `{"a":[1,"b",{"c":null}]}`, false},
		{"runs of white space shrink", "{ \t \"a\" : 1 }", `{ "a" : 1 }`, false},
		{"a long string", `{"a":"` + long + `","b":1}`, `{"a":"` + long[:20] + `","b":1}`, true},
		{"a string that just fits", `{"a":"` + long[:20] + `"}`, `{"a":"` + long[:20] + `"}`, false},
		{"not inside an escape", `["` + long[:19] + `\u00e9tail"]`, `["` + long[:19] + `\u00e9"]`, true},
		{"not inside a character", `["` + long[:19] + `étail"]`, `["` + long[:19] + `é"]`, true},
		{"escaped quotes do not end the rest", `["` + long + `\"\\","b"]`, `["` + long[:20] + `","b"]`, true},
		{"late strings are short", fill + `"late":"` + long + `"}`, fill + `"late":"` + long[:4] + `"}`, true},
		{"late lists near the top go on", fill + `"s":[1,2,3]}`, fill + `"s":[1,2,3]}`, false},
		{"late lists below end early", fill + `"b":{"c":{"d":[1,"]",3,[4]],"e":5}}}`, fill + `"b":{"c":{"d":[1],"e":5}}}`, true},
		{"late members near the top stay", fill + `"b":{"c":{"d":1,"e":5}}}`, fill + `"b":{"c":{"d":1,"e":5}}}`, false},
		{"late members below go", fill + `"b":{"c":{"d":{"e":{"f":{"g":1,"h":{"}":2}},"i":3}}}}}`,
			fill + `"b":{"c":{"d":{"e":{"f":{"g":1},"i":3}}}}}`, true},
	} {
		for _, n := range []int{1, 2, 3, 7, 1000} {
			got := clipped(small, c.in, n)
			if diff := cmp.Diff(c.want, string(got.out)); diff != "" || got.dropped != c.dropped || got.broken || got.full {
				t.Errorf("%s, by %d: dropped %t, broken %t, full %t (-want +got):\n%s", c.name, n, got.dropped, got.broken, got.full, diff)
			}
		}
	}
	if got := clipped(small, `{"a":[`+strings.Repeat("1,", 500)+`1]}`, 7); !got.full {
		t.Error("a list of more than can be kept, near the top, is not refused")
	}
	for _, in := range []string{`]`, `{]`, `{"a":1}}`} {
		if got := clipped(Bounds{Text: 10, Total: 1 << 20, Most: 1 << 20, Elements: 4, Members: 6}, in, 7); !got.broken {
			t.Errorf("%.20s is not noticed", in)
		}
	}
}

// A line may be nested as deeply as it is long: what is deep is emptied once there
// is much of the rest, and costs neither stack nor memory.
func TestClipperDeep(t *testing.T) {
	for _, c := range []struct {
		name, open, inner, shut string
		n                       int
	}{
		{"lists", "[", "1", "]", 3_000_000},
		{"objects", `{"a":`, "1", "}", 1_000_000},
		{"both, with more behind", `[{"a":`, "[1,2]", `,"b":2},3]`, 1_000_000},
	} {
		bounds := Bounds{Text: 100, Total: 10_000, Late: 4, Most: 30_000, Elements: 4, Members: 6}
		in := strings.Repeat(c.open, c.n) + c.inner + strings.Repeat(c.shut, c.n)
		got := clipped(bounds, `{"seq":1,"data":`+in+`,"op":"x"}`, 1<<20)
		if got.broken || got.full || !got.dropped || !Valid(got.out) || !Is(Field(got.out, "op"), "x") {
			t.Errorf("%s: broken %t, full %t, dropped %t: %.60s", c.name, got.broken, got.full, got.dropped, got.out)
		}
		if words := cap(got.open.bits); words > 10_000 {
			t.Errorf("%s: %d words remember the brackets", c.name, words)
		}
	}
}

// From valid JSON comes valid JSON, whatever is dropped and however it arrives.
func FuzzClipper(f *testing.F) {
	f.Add([]byte(`{"a":["x","\ud800\"",{"b":[[[[1,2],3],4],5]}],"c":{"d":{"e":{"f":{"g":1,"h":2}}}}}`), 3)
	f.Add([]byte("[\"\\u00e9\xff\", -1e9 , true]"), 1)
	f.Fuzz(func(t *testing.T, in []byte, n int) {
		if !Valid(in) || strings.ContainsRune(string(in), '\n') {
			return
		}
		got := clipped(Bounds{Text: 6, Total: 40, Late: 2, Most: 1 << 20, Elements: 4, Members: 6}, string(in), 1+n&15)
		if got.broken || got.full || !Valid(got.out) {
			t.Errorf("%q becomes %q", in, got.out)
		}
		if again := clipped(Bounds{Text: 6, Total: 40, Late: 2, Most: 1 << 20, Elements: 4, Members: 6}, string(in), 1000); string(again.out) != string(got.out) {
			t.Errorf("%q becomes %q in pieces, %q at once", in, got.out, again.out)
		}
	})
}

func TestLines(t *testing.T) {
	const text = "one\n\n{\"a\":\"0123456789012345678901234567890\"}\nlast\nrest"
	for name, in := range map[string]io.Reader{
		"at once":         strings.NewReader(text),
		"by bytes":        iotest.OneByteReader(strings.NewReader(text)),
		"end with data":   iotest.DataErrReader(strings.NewReader(text)),
		"halves of reads": iotest.HalfReader(strings.NewReader(text)),
	} {
		l := NewLines(nil, Kept(4, 6))
		l.clip.Bounds = small
		l.Reset(in, 100)
		var got []string
		for {
			one, err := l.Next()
			if err == io.EOF {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, fmt.Sprintf("%d-%d %s", one.Start, one.End, one.Text))
		}
		want := []string{"100-104 one", "104-105 ", `105-145 {"a":"0123456789012345678901234567890"}`, "145-150 last"}
		if name == "by bytes" {
			// Only a line that does not come at once is clipped.
			want[2] = `105-145 {"a":"01234567890123456789"}`
		}
		if diff := cmp.Diff(want, got); diff != "" || l.Rest() != 4 {
			t.Errorf("%s: rest %d (-want +got):\n%s", name, l.Rest(), diff)
		}
	}
	l := NewLines(iotest.TimeoutReader(iotest.OneByteReader(strings.NewReader(text))), Kept(4, 6))
	if _, err := l.Next(); err != iotest.ErrTimeout {
		t.Errorf("a failing stream gives %v", err)
	}
}
