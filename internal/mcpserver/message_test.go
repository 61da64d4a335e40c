package mcpserver

import (
	"bufio"
	"encoding/json"
	"io"
	"reflect"
	"strings"
	"testing"
)

func TestPlain(t *testing.T) {
	for in, want := range map[string]string{
		`"\u003ca\u003e \u0026"`:     `"<a> &"`,
		`"\\u003c"`:                  `"\\u003c"`, // a backslash and a text
		`"\\\u003c"`:                 `"\\<"`,
		`"\u0000\u2028\u003d\u00e9"`: `"\u0000\u2028\u003d\u00e9"`,
		`"\""`:                       `"\""`,
		`"\u003`:                     `"\u003`,
		`\`:                          `\`,
	} {
		if got := string(plain([]byte(in))); got != want {
			t.Errorf("%s becomes %s, want %s", in, got, want)
		}
	}
}

func FuzzPlain(f *testing.F) {
	f.Add(`a<b\u003c\\u003e&`)
	f.Fuzz(func(t *testing.T, text string) {
		line, err := json.Marshal(text)
		if err != nil {
			t.Fatal(err)
		}
		var want, got any
		if err := json.Unmarshal(line, &want); err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(plain(line), &got); err != nil || !reflect.DeepEqual(got, want) {
			t.Fatalf("%q became %q, %v", want, got, err)
		}
	})
}

func TestReadLine(t *testing.T) {
	type line struct {
		text  string
		whole bool
	}
	for _, tc := range []struct {
		in   string
		want []line
	}{
		{"", []line{{"", true}}},
		{"a", []line{{"a", true}}},
		{"a\n", []line{{"a", true}, {"", true}}},
		{"\n\nb", []line{{"", true}, {"", true}, {"b", true}}},
		{strings.Repeat("x", 40) + "\ny", []line{{strings.Repeat("x", 40), true}, {"y", true}}},
		{strings.Repeat("x", 41) + "\ny", []line{{strings.Repeat("x", 40), false}, {"y", true}}},
		{strings.Repeat("x", 500), []line{{strings.Repeat("x", 40), false}}},
	} {
		r := bufio.NewReaderSize(strings.NewReader(tc.in), 16) // the smallest there is
		var got []line
		for {
			text, whole, err := readLine(r, 40)
			got = append(got, line{string(text), whole})
			if err != nil {
				if err != io.EOF {
					t.Fatal(err)
				}
				break
			}
		}
		if !reflect.DeepEqual(got, tc.want) {
			t.Errorf("%q: got %v, want %v", tc.in, got, tc.want)
		}
	}
}

func TestCertainID(t *testing.T) {
	for message, want := range map[string]string{
		`{"id":7}`:                    `7`,
		`{"id":"a"}`:                  `"a"`,
		`{"id":-7,"x":`:               `-7`, // the beginning of a long one
		`{"id":7`:                     ``,
		`{"x":{"id":1},"id":2}`:       `2`,
		`{"id":"a`:                    ``,
		`{"x":"`:                      ``,
		`{"id":-0}`:                   ``,
		`{"id":1.0}`:                  ``,
		`{"id":1e3}`:                  ``,
		`{"id":9007199254740991}`:     `9007199254740991`,
		`{"id":9007199254740992}`:     ``,
		`{"id":99999999999999999999}`: ``,
		`{"id":null}`:                 ``,
		`{"id":true}`:                 ``,
		`{"id":[1]}`:                  ``,
		`{"id":1,"id":1}`:             ``,
		`{"Id":1}`:                    ``,
		`[{"id":1}]`:                  ``,
		``:                            ``,
	} {
		if got := string(envelopeOf([]byte(message)).certainID()); got != want {
			t.Errorf("%s: %q, want %q", message, got, want)
		}
	}
}
