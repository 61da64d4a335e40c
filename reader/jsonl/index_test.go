package jsonl

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"
)

// walked lists what stands in a value, through the given index.
func walked(out []string, x *Index, v []byte) []string {
	switch {
	case IsObject(v):
		out = append(out, "{")
		c := x.Enter(v)
		for name, value, ok := c.Member(); ok; name, value, ok = c.Member() {
			out = walked(append(out, fmt.Sprintf("%q", string([]rune(string(name))))), x, value)
		}
		return append(out, "}")
	case IsArray(v):
		out = append(out, "[")
		c := x.Enter(v)
		for value, ok := c.Element(); ok; value, ok = c.Element() {
			out = walked(out, x, value)
		}
		return append(out, "]")
	case IsString(v):
		return append(out, fmt.Sprintf("%q", Text(v)))
	}
	return append(out, string(v))
}

// tokensOf lists the same with a library's decoder.
func tokensOf(t *testing.T, v []byte) (out []string) {
	t.Helper()
	dec := jsontext.NewDecoder(bytes.NewReader(v), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	for {
		switch token, err := dec.ReadToken(); {
		case errors.Is(err, io.EOF):
			return out
		case err != nil:
			t.Fatalf("%q: %v", v, err)
		case token.Kind() == '"':
			out = append(out, fmt.Sprintf("%q", token.String()))
		default:
			out = append(out, token.String())
		}
	}
}

var indexed = []string{
	`{"a":[1],"b":[1],"a":[2]}`,
	`  {"a" : "` + strings.Repeat("x", 80) + `" , "b":{"c":[ "` + strings.Repeat(`y\"\\ `, 30) + `" ,{"d":1.50}, "e"],"f":[]},"g":-0}  `,
	`[[[[["` + strings.Repeat("é", 60) + `"]],"` + strings.Repeat(`\ud83d\ude80\ud800`, 9) + `"],{}],[` + strings.Repeat("12345,", 30) + `6]]`,
	`{"` + strings.Repeat("n", 90) + `":{"` + strings.Repeat(`\u0061`, 20) + `":null},"a":"` + strings.Repeat("\xff\xc3", 50) + `"}`,
	`"` + strings.Repeat("z", 100) + `"`,
	"true", "[]", ` {} `, `{"":""}`,
	`[` + strings.Repeat(`{"a":"`+strings.Repeat("t", 70)+`"},`, 100) + `1]`,
}

// An index changes nothing of what a walk gives, and a library gives the same.
func TestIndex(t *testing.T) {
	var x Index
	for _, in := range indexed {
		line := append([]byte("before\n"), in+"\nbehind"...)[7 : 7+len(in)]
		if !x.Valid(line) {
			t.Fatalf("%q is not valid", in)
		}
		v := line[SkipSpace(line, 0):]
		want := tokensOf(t, []byte(in))
		if diff := cmp.Diff(want, walked(nil, &x, v)); diff != "" {
			t.Errorf("%.80q with an index (-want +got):\n%s", in, diff)
		}
		if diff := cmp.Diff(want, walked(nil, nil, v)); diff != "" {
			t.Errorf("%.80q without (-want +got):\n%s", in, diff)
		}
	}
}

// What is not of the line at hand is walked: an equal value elsewhere, a slice
// whose array only looks alike, a value before the line.
func TestIndexOfAnotherLine(t *testing.T) {
	text := `{"a":"` + strings.Repeat("x", 80) + `","b":[1,2]}`
	other := `{"b":[` + strings.Repeat("7,", 50) + `7],"a":1}`
	buf := []byte(other + text)
	var x Index
	if !x.Valid(buf[len(other):]) {
		t.Fatal("not valid")
	}
	for name, v := range map[string][]byte{
		"a copy":          []byte(text),
		"a copy as large": append(make([]byte, 0, len(text)), text...),
		"before the line": buf[:len(other)],
		"cut off":         buf[len(other):len(buf):len(buf)],
	} {
		if diff := cmp.Diff(tokensOf(t, v), walked(nil, &x, v)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	if x.Valid([]byte(`{"a":[`)) || x.Valid([]byte(`{} x`)) {
		t.Error("what is not valid is taken")
	}
	if got := string(x.Field([]byte(text), "b")); got != "[1,2]" {
		t.Errorf("behind a line that is not valid: %s", got)
	}
}

// However many long values a line has, an index holds a bounded number of them,
// and the walk goes on without it.
func TestIndexBounds(t *testing.T) {
	one := `{"s":["` + strings.Repeat("v", 70) + `",{"t":"` + strings.Repeat("w", 70) + `"}]}`
	const n = 10_000
	in := []byte("[" + strings.Repeat(one+",", n) + one + `,[[["` + strings.Repeat("u", 99) + `"]]]]`)
	var x Index
	if !x.Valid(in) || len(x.longs) != maxLongs {
		t.Fatalf("%d values are noted", len(x.longs))
	}
	if diff := cmp.Diff(tokensOf(t, in), walked(nil, &x, in)); diff != "" {
		t.Error("the walk differs")
	}
	deep := []byte(strings.Repeat(`{"a":[`, 1_000_000) + strings.Repeat(`]}`, 1_000_000))
	if !x.Valid(deep) || len(x.longs) != maxLongs || len(x.Field(deep, "a")) != len(deep)-6 {
		t.Errorf("deep: %d values are noted", len(x.longs))
	}
}

// A walk with an index looks at what is long once, however often and from how
// many levels it is asked.
func TestIndexJumps(t *testing.T) {
	line := []byte(`{"a":{"b":{"c":"` + strings.Repeat("x", 1<<20) + `"},"d":1}}`)
	var x Index
	if !x.Valid(line) {
		t.Fatal("not valid")
	}
	// Spoil the long text: whoever walked through it would end there.
	line[1000] = '"'
	line[1001] = '}'
	if got := string(x.Field(x.Field(line, "a"), "d")); got != "1" {
		t.Errorf("the walk went through the text: %.40s", got)
	}
}

func TestIndexValues(t *testing.T) {
	long := `{"a":"` + strings.Repeat("x", 80) + `","b":{"c":"` + strings.Repeat("y", 80) + `"}}`
	var x Index
	values, rest := x.Values([]byte("\x00 " + long + " 7" + long + `{"a":"` + strings.Repeat("z", 80)))
	if len(values) != 3 || len(rest) != 86 {
		t.Fatalf("%d values, %d bytes more", len(values), len(rest))
	}
	for _, i := range []int{0, 2} {
		if diff := cmp.Diff(tokensOf(t, []byte(long)), walked(nil, &x, values[i])); diff != "" {
			t.Errorf("value %d (-want +got):\n%s", i, diff)
		}
	}
}

func FuzzIndex(f *testing.F) {
	for _, in := range indexed {
		f.Add([]byte(in))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		var x Index
		if x.Valid(in) != Valid(in) {
			t.Fatalf("%q: two answers", in)
		}
		if !Valid(in) || bytes.Count(in, []byte("["))+bytes.Count(in, []byte("{")) > 5000 {
			return
		}
		v := bytes.TrimRight(in[SkipSpace(in, 0):], " \t\r\n")
		want := tokensOf(t, in)
		if diff := cmp.Diff(want, walked(nil, &x, v)); diff != "" {
			t.Errorf("%q with an index (-want +got):\n%s", in, diff)
		}
		if diff := cmp.Diff(want, walked(nil, nil, v)); diff != "" {
			t.Errorf("%q without (-want +got):\n%s", in, diff)
		}
		twice := append(append([]byte{}, in...), in...)
		values, rest := x.Values(twice)
		again, left := Values(twice)
		if len(values) != len(again) || !bytes.Equal(rest, left) {
			t.Errorf("%q: %d values and %q, want %d and %q", twice, len(values), rest, len(again), left)
		}
		for i := range min(len(values), len(again)) {
			if diff := cmp.Diff(walked(nil, nil, again[i]), walked(nil, &x, values[i])); diff != "" {
				t.Errorf("%q, value %d (-want +got):\n%s", twice, i, diff)
			}
		}
	})
}

// Names are what Text gives, remembered within bounds.
func TestNames(t *testing.T) {
	var x Index
	for range 2 {
		for i := range 2 * maxNames {
			in := fmt.Sprintf(`"name %d"`, i)
			if got := x.Name([]byte(in)); got != in[1:len(in)-1] {
				t.Fatalf("%s is %q", in, got)
			}
		}
		for _, in := range []string{`""`, `"a\nb"`, `"\ud800"`, "\"\xff\"", `17`, `null`, ``, `"` + strings.Repeat("long", 100) + `"`} {
			if got, want := x.Name([]byte(in)), Text([]byte(in)); got != want {
				t.Errorf("%s is %q, want %q", in, got, want)
			}
			if got, want := (*Index)(nil).Name([]byte(in)), Text([]byte(in)); got != want {
				t.Errorf("%s without an index is %q, want %q", in, got, want)
			}
		}
	}
	if len(x.names) != maxNames {
		t.Errorf("%d names are remembered", len(x.names))
	}
	name := []byte(`"assistant"`)
	x.names = nil
	x.Name(name)
	if n := testing.AllocsPerRun(100, func() { x.Name(name) }); n != 0 {
		t.Errorf("a name that is known costs %v allocations", n)
	}
}
