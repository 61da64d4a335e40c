package postgres

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/yorehq/yore/internal/document"
)

// TestSpans counts in the column what package document counts in the text.
func TestSpans(t *testing.T) {
	random := rand.New(rand.NewPCG(5, 6))
	words := []string{"a", "b", "ab", "é", "É", "日", "本", "ก", "ﬁ", "ß", "x1", "_", "<", ">", "\u0301", "\u037e"}
	some := len(words)
	text := func(n int) string {
		var b strings.Builder
		for range n {
			b.WriteString(words[random.IntN(some)] + []string{" ", " ", "", "-"}[random.IntN(4)])
		}
		return b.String()
	}
	bothered, found := 0, 0
	for range 5000 {
		some = []int{len(words), 2}[random.IntN(2)] // few words: matches that share some
		long, phrase := text(random.IntN(40)), document.Terms(text(1+random.IntN(4)))
		norm, tokens := normOf(long, nil)
		if want := len(document.Terms(long)); tokens != want || strings.Count(norm, "<") != want || strings.Count(norm, ">") != want {
			t.Fatalf("%q has %d tokens, its column %q says %d", long, want, norm, tokens)
		}
		what, ok := seek(phrase)
		if ok != (len(phrase) > 0) {
			t.Fatalf("%q is looked for: %v", phrase, ok)
		}
		if !ok {
			continue
		}
		want := document.CountSpans(long, phrase)
		if got := spans(norm, what.norm); int(got) != want {
			t.Fatalf("%q in %q: %d spans, want %d", phrase, long, got, want)
		}
		// What the database does where no two matches can share a token.
		if counted := strings.Count(norm, what.norm); !what.bordered && counted != want {
			t.Fatalf("%q in %q: %d by replacement, want %d", phrase, long, counted, want)
		} else if what.bordered && counted != want {
			bothered++
		}
		found += want
	}
	if found < 1000 || bothered < 10 {
		t.Errorf("only %d spans were found, and %d times the simple count is wrong", found, bothered)
	}
}

func TestBordered(t *testing.T) {
	for phrase, want := range map[string]bool{
		"a": false, "a b": false, "a a": true, "a b a": true, "a b c": false, "a b a b": true, "a b b": false, "a b c a b": true, "c c d": false,
	} {
		if got := bordered(strings.Fields(phrase)); got != want {
			t.Errorf("%q: %v", phrase, got)
		}
	}
}

// TestSeekTakesTokensAlone: what is no token of ours never reaches the database.
func TestSeekTakesTokensAlone(t *testing.T) {
	for _, token := range []string{"", "<", "a>", "a b", "A", "a\x00", "\xff", strings.Repeat("x", 65)} {
		if what, ok := seek([]string{"a", token}); ok {
			t.Errorf("%q is looked for as %+v", token, what)
		}
	}
	if _, ok := seek([]string{strings.Repeat("x", 64)}); !ok {
		t.Error("the longest token is not looked for")
	}
	if _, ok := seek([]string{fmt.Sprint(1)}); !ok {
		t.Error("a number is not looked for")
	}
}
