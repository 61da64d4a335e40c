package jsonl

import (
	"encoding/json"
	"strings"
	"testing"
)

// The standard library's scanner is the witness, as far down as it goes.
func TestValid(t *testing.T) {
	for _, in := range []string{
		"", " ", "1", "-", "-0", "01", "1.", "1.5", ".5", "1e", "1e+", "1E-9", "-1.25e+3", "0x1", "1 2", "+1", "--1",
		"true", "tru", "truex", "null", "nul", "false", "True", "NaN", "Infinity",
		`""`, `"`, `"a`, `"\"`, `"\"""`, `"\u12"`, `"\u12g4"`, `"\u12aF"`, `"\x"`, `"\/\b\f\n\r\t\\"`, `"\ud800"`, "\"\x1f\"", "\"\x20\"", "\"a\nb\"", "\"\x7f\"",
		"\"0123456789abcdef\x01\"", "\"\xff\xfe\"", `"01234567\"`, `"0123456\""`, `"é "`,
		"{}", "{", "}", "{]", "[}", "[", "]", "[]", "[ ]", "{ }", "[1,]", "[,1]", "[1,,2]", "[1 2]", "[1]]", "[[],{}]",
		`{"a"}`, `{"a":}`, `{"a":1,}`, `{,"a":1}`, `{"a":1 "b":2}`, `{"a":1,"a":2}`, `{a:1}`, `{1:1}`, `{"a":1}x`, `{"a":[1,{"b":[]}]}`,
		" \t\r\n[ \t\r\n1 \t\r\n, \t\r\n{ \t\r\n\"a\" \t\r\n: \t\r\n1 \t\r\n} \t\r\n] \t\r\n", "\v1", "\u00a01", "\xef\xbb\xbf1",
	} {
		if got, want := Valid([]byte(in)), json.Valid([]byte(in)); got != want {
			t.Errorf("%q: valid %t, want %t", in, got, want)
		}
	}
}

func FuzzValid(f *testing.F) {
	f.Add([]byte(`{"a":["x","\ud800\"",{"b":[[[[1,2],3],-4.5e+6],true]}],"c":{"d":{"e":null}}}`))
	f.Add([]byte("[\"0123456789abcdef\\u00e9\xff\", -1e9 , false] "))
	f.Fuzz(func(t *testing.T, in []byte) {
		if got, want := Valid(in), json.Valid(in); got != want && strings.Count(string(in), "[")+strings.Count(string(in), "{") < 10_000 {
			t.Errorf("%q: valid %t, want %t", in, got, want)
		}
	})
}

// Depth is bounded by nothing but length, in all that walks values.
func TestDeepValues(t *testing.T) {
	for _, depth := range []int{9_999, 10_000, 10_001, 3_000_000} {
		in := []byte(strings.Repeat(`[`, depth) + strings.Repeat(`]`, depth))
		if !Valid(in) || Valid(in[1:]) || Valid(in[:len(in)-1]) {
			t.Errorf("lists %d deep are not judged", depth)
		}
		in = []byte(strings.Repeat(`{"a":`, depth) + "1" + strings.Repeat("}", depth))
		if !Valid(in) || Valid(in[:len(in)-1]) || string(Field(in, "b")) != "" || len(Field(in, "a")) != len(in)-6 {
			t.Errorf("objects %d deep are not judged", depth)
		}
		two := append(append([]byte{}, in...), in...)
		if values, rest := Values(two); len(values) != 2 || len(rest) > 0 {
			t.Errorf("two objects %d deep: %d values, %d bytes more", depth, len(values), len(rest))
		}
	}
}
