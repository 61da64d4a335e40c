package reader

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"
)

// What is let out is what was allowed, to the byte, over all frames together and
// however the decoder hands it over.
func TestInflation(t *testing.T) {
	for name, in := range map[string]func(string) io.Reader{
		"at once":      func(s string) io.Reader { return strings.NewReader(s) },
		"bytewise":     func(s string) io.Reader { return iotest.OneByteReader(strings.NewReader(s)) },
		"end with it":  func(s string) io.Reader { return iotest.DataErrReader(strings.NewReader(s)) },
		"half of each": func(s string) io.Reader { return iotest.HalfReader(strings.NewReader(s)) },
	} {
		for _, c := range []struct {
			frames []string
			most   int64
			want   string
			fits   bool
		}{
			{[]string{"abcde"}, 5, "abcde", true},
			{[]string{"abcde"}, 4, "abcd", false},
			{[]string{"abc", "", "de"}, 5, "abcde", true},
			{[]string{"abc", "de"}, 4, "abcd", false},
			{[]string{"abc"}, 0, "", false},
			{[]string{""}, 0, "", true},
		} {
			i := InflationOf(c.most)
			var got bytes.Buffer
			var err error
			for _, f := range c.frames {
				if _, err = io.Copy(&got, i.Reader(in(f), 1)); err != nil {
					break
				}
			}
			if got.String() != c.want || (err == nil) != c.fits || err != nil && !errors.Is(err, ErrInflated) || i.Exceeded() == c.fits {
				t.Errorf("%s, %q of at most %d bytes: %q, %v, exceeded %t", name, c.frames, c.most, got.String(), err, i.Exceeded())
			}
		}
	}
	// Each frame adds its part to what logs may hold.
	i := NewInflation()
	i.Reader(strings.NewReader(""), 10)
	i.Reader(strings.NewReader(""), 20)
	if want := int64(256<<20 + 256*30); i.left != want {
		t.Errorf("30 bytes may hold %d bytes of text, want %d", i.left, want)
	}
}
