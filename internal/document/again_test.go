package document

import (
	"math/rand/v2"
	"testing"
)

// TestAgainChangesNothing makes texts of characters that lean on their neighbours:
// what is safe to show stays as it is when it is made safe once more.
func TestAgainChangesNothing(t *testing.T) {
	letters := []rune("a❤👨اᠠកक\u094d\u0301\u0651\u200d\u200c\ufe0f\u180b\u17b4\u034f\u2060\u00ad\u202e\x1b\ufffd \n\r\"\\\U000e0041")
	r := rand.New(rand.NewPCG(5, 0))
	for range 20_000 {
		var text []rune
		for range 1 + r.IntN(14) {
			c, times := letters[r.IntN(len(letters))], 1
			if r.IntN(12) == 0 {
				times += r.IntN(9)
			}
			for range times {
				text = append(text, c)
			}
		}
		s := string(text)
		if r.IntN(4) == 0 {
			s = s[:len(s)-1] + "\xff" + s
		}
		escaped, _ := Escaped(s)
		if again, n := Escaped(escaped); again != escaped || n != 0 {
			t.Fatalf("%q escaped is %q, again %q", s, escaped, again)
		}
		for _, limit := range []int{0, 5} {
			line := OneLine(s, limit)
			if again := OneLine(line, 0); again != line {
				t.Fatalf("%q in %d is %q, again %q", s, limit, line, again)
			}
		}
		lines := MultiLine(s)
		if again := MultiLine(lines); again != lines {
			t.Fatalf("%q over lines is %q, again %q", s, lines, again)
		}
	}
}
