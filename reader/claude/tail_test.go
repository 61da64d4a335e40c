package claude

import (
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/yorehq/yore/reader"
	"github.com/yorehq/yore/reader/readertest"
	"github.com/yorehq/yore/session"
)

// Wherever a transcript ended when it was read first, the rest gives what it gives
// behind it, also on a line that a crash or two writers have spoiled.
func TestInTwoPiecesAnywhere(t *testing.T) {
	begin := lines(user("u0", "", "hello"))
	a, b := user("u1", "u0", "one").String(), user("u2", "u1", "two").String()
	for _, odd := range []string{
		a + `,"`, a + b, a + "  " + b + " \r", a + "\x00" + b, a + "\x00\x00", a + " \x00 ", a + "\xef\xbb\xbf" + b,
		a + ` 12 "x" ` + b, a + `}` + b, a + `{"type":` + b, "\x00\x00" + a, "\xef\xbb\xbf" + a + "\x00,", `,` + a,
	} {
		for _, whole := range []string{begin + odd, begin + odd + "\n" + b + "\n"} {
			src := project(t, whole)
			want, _, err := readertest.ReadFrom(New(), src, reader.Position{})
			if err != nil {
				t.Fatal(err)
			}
			folded(t, want)
			// Between the quotes of a record nothing can be different.
			for cut := len(begin) + 1; cut < len(whole); cut++ {
				if c := whole[cut-1]; c >= 'a' && c <= 'z' {
					continue
				}
				write := func(text string) {
					t.Helper()
					if err := os.WriteFile(src.Path, []byte(text), 0o600); err != nil {
						t.Fatal(err)
					}
				}
				write(whole[:cut])
				head, tail, err := readertest.ReadFrom(New(), src, reader.Position{})
				if err != nil {
					t.Fatal(err)
				}
				write(whole)
				rest, _, err := readertest.ReadFrom(New(), src, tail.Position)
				if err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(append([]session.Event{}, want...), append(append([]session.Event{}, head...), rest...)); diff != "" {
					t.Fatalf("%q cut at %d (-at once +in pieces):\n%s", whole[len(begin):], cut-len(begin), diff)
				}
			}
		}
	}
}
