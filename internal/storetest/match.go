package storetest

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/yorehq/yore/internal/document"
	"github.com/yorehq/yore/internal/ingest"
	"github.com/yorehq/yore/query"
)

// counted is what Match must return: a count over the texts.
func counted(texts map[query.DocID]string, phrase []string, within []query.Span) []query.Posting {
	var want []query.Posting
	for id, text := range texts {
		inside := within == nil || slices.ContainsFunc(within, func(s query.Span) bool { return s.From <= id && id <= s.To })
		if n := document.CountSpans(text, phrase); n > 0 && inside {
			want = append(want, query.Posting{Doc: id, Count: int32(n)})
		}
	}
	slices.SortFunc(want, func(a, b query.Posting) int { return int(a.Doc - b.Doc) })
	return want
}

func testMatches(t *testing.T, s Store) {
	num := begin(t, s, "one")
	for i, text := range []string{
		"a a a a", "a a b a a", "a b a b a", "foo_bar foo-bar foo.bar foobar", "Naïve café", "全文検索の索引", "索引索引索引", "x", "a", "the end of the a", "c d c c d c d c",
	} {
		appendBatch(t, s, num, ingest.Batch{Entries: []ingest.Entry{talk(int64(i), text)}})
	}
	view := snapshot(t, s)
	for _, c := range []struct {
		phrase string
		want   map[int64]int32 // number to count, by hand
	}{
		{"a", map[int64]int32{0: 4, 1: 4, 2: 3, 8: 1, 9: 1}},
		{"a a", map[int64]int32{0: 1, 1: 2}},
		{"a a a a", map[int64]int32{0: 1}},
		{"a a a a a", nil},
		{"c d c", map[int64]int32{10: 2}},
		{"c", map[int64]int32{10: 5}},
		{"a b a", map[int64]int32{1: 1, 2: 1}},
		{"b a", map[int64]int32{1: 1, 2: 2}},
		{"foo bar", map[int64]int32{3: 3}},
		{"foobar", map[int64]int32{3: 1}},
		{"naive cafe", map[int64]int32{4: 1}},
		{"索引", map[int64]int32{5: 1, 6: 3}},
		{"引索", map[int64]int32{6: 2}},
		{"索引索引", map[int64]int32{6: 1}},
		{"引", map[int64]int32{5: 1, 6: 3}},
		{"the", map[int64]int32{9: 2}},
		{"end the", nil},
		{"absent", nil},
	} {
		var want []query.Posting
		for n := range int64(11) {
			if count, ok := c.want[n]; ok {
				want = append(want, query.Posting{Doc: query.NewDocID(num, n), Count: count})
			}
		}
		same(t, c.phrase, must[[]query.Posting](t)(query.Collect(t.Context(), view, document.Terms(c.phrase), nil)), want)
	}
}

func testRandomMatches(t *testing.T, s Store) {
	random := rand.New(rand.NewPCG(1, 2))
	words := []string{"a", "b", "ab", "ba", "c", "é", "É", "日", "本", "ก", "x1", "_", "…", "ﬁ", "K", "ｋ", ";", "ß", "\u037e", "i\u0307", "\u0301"}
	text := func(n int) string {
		var b strings.Builder
		for range n {
			b.WriteString(words[random.IntN(len(words))])
			b.WriteString([]string{" ", "", "-", "\n"}[random.IntN(4)])
		}
		return b.String()
	}
	texts := map[query.DocID]string{}
	var nums []int64
	for i := range 4 {
		num := begin(t, s, fmt.Sprint("session ", i))
		nums = append(nums, num)
		var b ingest.Batch
		for n := range int64(60) {
			e := talk(n, text(random.IntN(40)))
			texts[query.NewDocID(num, n)] = e.Text
			b.Entries = append(b.Entries, e)
		}
		appendBatch(t, s, num, b)
	}
	all := query.SpanOf(nums[1])
	all.To = query.SpanOf(nums[2]).To
	scopes := [][]query.Span{
		nil, {}, {query.SpanOf(nums[2])}, {query.SpanOf(nums[3]), query.SpanOf(nums[0])}, {all, query.SpanOf(nums[1])},
		{{From: query.NewDocID(nums[0], 7), To: query.NewDocID(nums[0], 7)}}, {{From: all.To, To: all.From}},
	}
	view := snapshot(t, s)
	hits := 0
	for i := range 400 {
		phrase := document.Terms(text(1 + random.IntN(4)))
		within := scopes[i%len(scopes)]
		got := must[[]query.Posting](t)(query.Collect(t.Context(), view, phrase, within))
		same(t, fmt.Sprintf("%q within %v", phrase, within), got, counted(texts, phrase, within))
		hits += len(got)
	}
	if hits == 0 {
		t.Error("no phrase was found anywhere")
	}
}

func testLongPhrases(t *testing.T, s Store) {
	num := begin(t, s, "one")
	var words []string
	for i := range 100 {
		words = append(words, fmt.Sprint("w", i%50))
	}
	texts := map[query.DocID]string{}
	var b ingest.Batch
	for i, text := range []string{
		strings.Join(words, " "),
		strings.Join(words[:64], " "),
		strings.Join(words[:63], " "),
		strings.Join(words[:32], " ") + " gap " + strings.Join(words[32:64], " "),
		strings.Join(words[32:64], " ") + " " + strings.Join(words[:32], " "),
		strings.Repeat("w ", 300),
	} {
		texts[query.NewDocID(num, int64(i))] = text
		b.Entries = append(b.Entries, talk(int64(i), text))
	}
	appendBatch(t, s, num, b)
	view := snapshot(t, s)
	check := func(phrase []string, documents int) {
		t.Helper()
		got := must[[]query.Posting](t)(query.Collect(t.Context(), view, phrase, nil))
		same(t, fmt.Sprint(len(phrase), " tokens"), got, counted(texts, phrase, nil))
		if len(got) != documents {
			t.Errorf("%d tokens are in %d documents, want %d", len(phrase), len(got), documents)
		}
	}
	check(words[:64], 2)
	check(words[:33], 3)
	check(words[:32], 5)
	check(words[1:64], 2)
	check(slices.Repeat([]string{"w"}, 64), 1)
	check(slices.Repeat([]string{"w"}, 33), 1)
	if _, err := query.Collect(t.Context(), view, slices.Repeat([]string{"w"}, 65), nil); err == nil {
		t.Error("a phrase of 65 tokens was taken")
	}
}

// testQueriesAreData sends what a query language would take for syntax. Such
// strings are no tokens, so no document can hold them.
func testQueriesAreData(t *testing.T, s Store) {
	num := begin(t, s, "one")
	appendBatch(t, s, num, ingest.Batch{Entries: []ingest.Entry{talk(0, "and or not near foo bar t f rowid")}})
	view := snapshot(t, s)
	for _, token := range []string{``, `"`, `""`, `foo"`, `foo" OR "bar`, `foo*`, `^foo`, `t:foo`, `-foo`, `{t}`, `(`, `'`, `foo bar`, "foo\x00", `FOO`, `foo;`, `%`, `\`, "\xff"} {
		for _, phrase := range [][]string{{token}, {"foo", token}, {token, "foo"}} {
			same(t, fmt.Sprintf("%q", phrase), must[[]query.Posting](t)(query.Collect(t.Context(), view, phrase, nil)), []query.Posting(nil))
		}
	}
	same(t, "no tokens", must[[]query.Posting](t)(query.Collect(t.Context(), view, nil, nil)), []query.Posting(nil))
	for _, phrase := range [][]string{{"and"}, {"or"}, {"not"}, {"near"}, {"and", "or"}, {"t"}, {"f"}, {"rowid"}} {
		same(t, fmt.Sprint(phrase), len(must[[]query.Posting](t)(query.Collect(t.Context(), view, phrase, nil))), 1)
	}
}
