package kimi

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/yorehq/yore/reader/readertest"
	"github.com/yorehq/yore/session"
)

// Wherever a file ended when it was read first, the rest gives what it gives
// behind it, also on a line that a crash or two writers have spoiled.
func TestInTwoPiecesAnywhere(t *testing.T) {
	a, b := `{"type":"turn.prompt"}`, `{"type":"turn.ended"}`
	for _, odd := range []string{
		a + `,"`, a + b, a + "  " + b + " \r", a + "\x00" + b, a + "\x00\x00", a + " \x00 ", a + "\xef\xbb\xbf" + b,
		a + ` 12 "x" ` + b, a + `}` + b, a + `{"type":` + b, "\x00\x00" + a, "\xef\xbb\xbf" + a + "\x00,", `,` + a,
	} {
		for _, whole := range []string{meta + "\n" + odd, meta + "\n" + odd + "\n" + b + "\n"} {
			src := source(t, rel, whole, "")
			want, _ := readAll(t, src)
			for cut := len(meta) + 1; cut < len(whole); cut++ {
				put(t, src.Path, whole[:cut])
				head, tail := readAll(t, src)
				put(t, src.Path, whole)
				rest, _, err := readertest.ReadFrom(New(), src, tail.Position)
				if err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(append([]session.Event{}, want...), append(append([]session.Event{}, head...), rest...)); diff != "" {
					t.Fatalf("%q cut at %d (-at once +in pieces):\n%s", whole[len(meta)+1:], cut, diff)
				}
			}
		}
	}
}
