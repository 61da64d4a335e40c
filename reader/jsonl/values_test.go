package jsonl

import (
	"bytes"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"
)

func TestValues(t *testing.T) {
	for _, c := range []struct {
		name, line string
		want       []string
		rest       string
	}{
		{"one", ` {"a":1} `, []string{`{"a":1}`}, ""},
		{"glued", `{"a":1}{"b":"}{"}`, []string{`{"a":1}`, `{"b":"}{"}`}, ""},
		{"glued with a gap", `{"a":1} 7 "x"`, []string{`{"a":1}`, `7`, `"x"`}, ""},
		{"a torn line before a whole one", `{"a":"x{"b":1}`, nil, `{"a":"x{"b":1}`},
		{"a torn line behind a whole one", `{"a":1}{"b":`, []string{`{"a":1}`}, `{"b":`},
		{"NULs around", "\x00\x00{\"a\":1}\x00", []string{`{"a":1}`}, ""},
		{"names twice, lone surrogates", `{"a":"\ud800","a":2}`, []string{`{"a":"\ud800","a":2}`}, ""},
		{"nothing", " \t", nil, ""},
		{"no JSON", "hello", nil, "hello"},
	} {
		values, rest := Values([]byte(c.line))
		var got []string
		for _, v := range values {
			got = append(got, string(v))
		}
		if diff := cmp.Diff(c.want, got); diff != "" || string(rest) != c.rest {
			t.Errorf("%s: rest %q (-want +got):\n%s", c.name, rest, diff)
		}
	}
}

// Whatever a line holds, its values and the rest are all of it, in order.
func FuzzValues(f *testing.F) {
	f.Add([]byte(`{"a":1}[2]x`))
	f.Add([]byte("\x00{}{"))
	f.Fuzz(func(t *testing.T, line []byte) {
		values, rest := Values(line)
		at := 0
		for _, v := range values {
			if !Valid(v) {
				t.Fatalf("%q is no value", v)
			}
			for at < len(line) && string(line[at:min(len(line), at+len(v))]) != string(v) {
				at++
			}
			at += len(v)
		}
		if at > len(line) || at+len(rest) > len(line) {
			t.Fatalf("%d bytes give values up to %d and a rest of %d", len(line), at, len(rest))
		}
	})
}

// The parser that is written by others is the witness for escapes.
func TestText(t *testing.T) {
	for _, in := range []string{
		`""`, `"a"`, `"a\"b"`, `"\\\/\b\f\n\r\t"`, `"\u0041\u00e9\u20AC"`, `"\ud83d\ude80x"`, `"\ud83d"`, `"\ud83dx"`, `"\ude80"`,
		`"\ud83d\ud83d\ude80"`, `"\ud83d\n"`, `"\ud83d\u0041"`, `"\ufffd\ud83d\udEfF"`, "\"\xff\\n\xfe\"", `"é\u0000"`,
	} {
		text, _ := jsontext.AppendUnquote(nil, in)
		if got := Text([]byte(in)); got != string(text) {
			t.Errorf("%s gives %q, want %q", in, got, text)
		}
	}
}

func FuzzText(f *testing.F) {
	f.Add([]byte(`"\ud83d\ude80 a\"b\\ \ud800\u0041"`))
	f.Fuzz(func(t *testing.T, in []byte) {
		if !Valid(in) || !IsString(in) {
			return
		}
		in = bytes.TrimRight(in, " \t\r\n")
		text, _ := jsontext.AppendUnquote(nil, in)
		if got := Text(in); got != string(text) {
			t.Errorf("%s gives %q, want %q", in, got, text)
		}
	})
}

func TestWalk(t *testing.T) {
	v := []byte(`{ "a" : 1 , "b":[true,"]",{"c":null}],"\u0061":2 }`)
	if got := string(Field(v, "a")); got != "2" {
		t.Errorf("the last of two equal names is %s", got)
	}
	c := Enter(Field(v, "b"))
	var got []string
	for {
		e, ok := c.Element()
		if !ok {
			break
		}
		got = append(got, string(e))
	}
	if diff := cmp.Diff([]string{"true", `"]"`, `{"c":null}`}, got); diff != "" {
		t.Errorf("elements (-want +got):\n%s", diff)
	}
	for in, want := range map[string]int64{"6": 6, "6.0": 6, "0.6e1": 6, "-3": -3} {
		if got, ok := SafeInt([]byte(in)); !ok || got != want {
			t.Errorf("%s is %d, %t", in, got, ok)
		}
	}
	for _, in := range []string{"6.5", "9007199254740993", "1e400", `"6"`} {
		if got, ok := SafeInt([]byte(in)); ok {
			t.Errorf("%s is %d", in, got)
		}
	}
}

func TestLists(t *testing.T) {
	for in, want := range map[string]int64{
		`[]`: 0, `[ ]`: 0, `["a"]`: 1, ` ["]","\"," , "x\\"]`[1:]: 3, `["a",1]`: -1, `[["a"]]`: -1, `[null]`: -1, `["` + string(bytes.Repeat([]byte("z"), 100)) + `"]`: 1,
	} {
		if n, ok := CountStrings([]byte(in)); ok != (want >= 0) || ok && n != want {
			t.Errorf("%s: %d strings, %t", in, n, ok)
		}
	}
	for in, want := range map[string][]int64{
		`[]`: nil, `[ 1 ,-2, 30]`: {1, -2, 30}, `[1.0,2e3,-0]`: {1, 2000, 0}, `[9007199254740991]`: {9007199254740991},
		`[123456789012345,1234567890123456]`: {123456789012345, 1234567890123456},
	} {
		var got []int64
		n, ok := EachInt([]byte(in), func(v int64) bool { got = append(got, v); return true })
		if diff := cmp.Diff(want, got); diff != "" || !ok || n != int64(len(want)) {
			t.Errorf("%s: %d, %t (-want +got):\n%s", in, n, ok, diff)
		}
	}
	for _, in := range []string{`[1.5]`, `["1"]`, `[[1]]`, `[9007199254740993]`, `[1,null]`, `[12,{}]`} {
		if _, ok := EachInt([]byte(in), func(int64) bool { return true }); ok {
			t.Errorf("%s is taken", in)
		}
	}
	if n, ok := EachInt([]byte(`[1,2,3]`), func(v int64) bool { return v < 2 }); ok || n != 2 {
		t.Errorf("a visit that refuses: %d, %t", n, ok)
	}
}

// The walk by elements is the witness of the two that count and add.
func FuzzLists(f *testing.F) {
	f.Add([]byte(`["a","\"",1]`))
	f.Add([]byte(`[1, -2 ,3.0,1e3,9007199254740993]`))
	f.Fuzz(func(t *testing.T, in []byte) {
		if !IsArray(in) || !Valid(in) {
			return
		}
		strings, count, ints, sum := true, int64(0), true, int64(0)
		c := Enter(in)
		for v, ok := c.Element(); ok; v, ok = c.Element() {
			count++
			strings = strings && IsString(v)
			n, ok := SafeInt(v)
			ints = ints && ok
			sum += n
		}
		if n, ok := CountStrings(in); ok != strings || ok && n != count {
			t.Errorf("%s: %d strings, %t", in, n, ok)
		}
		total := int64(0)
		if n, ok := EachInt(in, func(v int64) bool { total += v; return true }); ok != ints || ok && (n != count || total != sum) {
			t.Errorf("%s: %d numbers, %t, sum %d, want %d, %t, %d", in, n, ok, total, count, ints, sum)
		}
	})
}
