package document

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestSpans(t *testing.T) {
	tests := []struct {
		name, text, query string
		want              []string // the pieces of the text that are spans
	}{
		{"no query", "a b", "***", nil},
		{"no match", "linker step", "step linker", nil},
		{"one word, many times", "cafe, Café and CAFE\u0301", "cafe", []string{"cafe", "Café", "CAFE\u0301"}},
		{"neighbours do not merge", "cafe cafe cafe", "cafe", []string{"cafe", "cafe", "cafe"}},
		{"phrase over punctuation and lines", "the search-\npath: lost", "search path", []string{"search-\npath"}},
		{"overlapping matches are one span", "a a a a", "a a", []string{"a a a a"}},
		{"two spans of overlapping matches", "a a a b a a", "a a", []string{"a a a", "a a"}},
		{"matches that touch are two spans", "a b a b", "a b", []string{"a b", "a b"}},
		{"overlap by one of three", "a b a b a", "a b a", []string{"a b a b a"}},
		{"a false start inside a match", "a a a b", "a a b", []string{"a a b"}},
		{"a false start that holds another", "a b a b a c", "a b a c", []string{"a b a c"}},
		{"inside an unspaced sentence", "请修复数据库连接", "数据库", []string{"数据库"}},
		{"one character", "请修复数据库连接", "库", []string{"库"}},
		{"spaced query, unspaced text", "请修复数据库", "修复 数据库", []string{"修复数据库"}},
		{"unspaced query, spaced text", "修复 数据库", "修复数据库", []string{"修复 数据库"}},
		{"identifier among Han", "用foo修", "foo", []string{"foo"}},
		{"long run is found by its beginning", strings.Repeat("q", 80), strings.Repeat("q", 70), []string{strings.Repeat("q", 80)}},
		{"part of a word is no match", "camelCase", "camel", nil},
	}
	for _, tt := range tests {
		var got []string
		spans := Spans(tt.text, Terms(tt.query))
		for _, s := range spans {
			got = append(got, tt.text[s.Start:s.End])
		}
		if d := cmp.Diff(tt.want, got); d != "" {
			t.Errorf("%s: (-want +got)\n%s", tt.name, d)
		}
		if n := CountSpans(tt.text, Terms(tt.query)); n != len(tt.want) {
			t.Errorf("%s: counted %d, want %d", tt.name, n, len(tt.want))
		}
	}
}

// FuzzSpans compares with the definition: try the phrase at every token, merge
// what shares one.
func FuzzSpans(f *testing.F) {
	f.Add("a a b a a a", "a a")
	f.Add("a b a b a c a b", "a b a")
	f.Add("数据库 数据 库", "据库")
	f.Fuzz(func(t *testing.T, text, query string) {
		if len(text) > 2000 {
			return
		}
		var tokens []Token
		for tok := range Tokens(text) {
			tokens = append(tokens, tok)
		}
		phrase := Terms(query)
		var want []Span
		last := -1 // token behind the last match
		for i := 0; len(phrase) > 0 && i+len(phrase) <= len(tokens); i++ {
			same := true
			for k := range phrase {
				same = same && tokens[i+k].Text == phrase[k]
			}
			if !same {
				continue
			}
			end := tokens[i+len(phrase)-1].End
			if i < last {
				want[len(want)-1].End = end
			} else {
				want = append(want, Span{tokens[i].Start, end})
			}
			last = i + len(phrase)
		}
		if d := cmp.Diff(want, Spans(text, phrase)); d != "" {
			t.Errorf("%q in %q (-want +got)\n%s", query, text, d)
		}
	})
}
