package document

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

func TestTerms(t *testing.T) {
	long := strings.Repeat("x", 70)
	tests := []struct {
		name, text string
		want       []string
	}{
		{"nothing", "", nil},
		{"separators only", "*** -- \t🚀 ¿?", nil},
		{"case and punctuation", "Hello, World_of foo-bar.baz/qux", []string{"hello", "world", "of", "foo", "bar", "baz", "qux"}},
		{"digits join letters", "v2 3.14 x86_64", []string{"v2", "3", "14", "x86", "64"}},
		{"apostrophes", "don't don’t canʼt", []string{"don", "t", "don", "t", "canʼt"}},
		{"Han", "请修复 db库x", []string{"请", "修", "复", "db", "库", "x"}},
		{"Kana", "データ々", []string{"デ", "ー", "タ", "々"}},
		{"Hangul", "연결 DB", []string{"연", "결", "db"}},
		{"Thai keeps vowels on their consonant", "ที่นี่", []string{"ที่", "นี่"}},
		{"Lao, Khmer, Myanmar", "ກິ កា ကို", []string{"ກິ", "កា", "ကို"}},
		{"Devanagari is a word", "हिन्दी भाषा", []string{"हिन्दी", "भाषा"}},
		{"new emoji separate like old ones", "a🤖b🚀c👍🏽d", []string{"a", "b", "c", "d"}},
		{"marks without a base are nothing", "\u0301 \u0301a ❤️ \u20E3", []string{"a"}},
		{"a mark does not end a word", "ab\u0301cd e\u0301", []string{"abcd", "e"}},
		{"ill-formed bytes separate", "a\xffb\xed\xa0\x80c", []string{"a", "b", "c"}},
		{"replaced characters separate", "a\uFFFDb\x00c\x07d", []string{"a", "b", "c", "d"}},
		{"private use", "\uE000x", []string{"\uE000x"}},
		{"joiners separate", "zero\u200Bwidth\u200Djoin\u00ADsoft\uFEFFbom", []string{"zero", "width", "join", "soft", "bom"}},
		{"cut at 64", long + " a" + long, []string{long[:64], "a" + long[:63]}},
		{"cut counts code points", strings.Repeat("ж", 65) + "a", []string{strings.Repeat("ж", 64)}},
		{"cut inside a segment", strings.Repeat("x", 63) + "कि", []string{strings.Repeat("x", 63) + "क"}},
		{"a cut run ends at a character of its own", long + "库" + long, []string{long[:64], "库", long[:64]}},
	}
	for _, tt := range tests {
		if d := cmp.Diff(tt.want, Terms(tt.text)); d != "" {
			t.Errorf("%s: (-want +got)\n%s", tt.name, d)
		}
	}
}

func TestTokensPointIntoTheText(t *testing.T) {
	text := "Ａb é, e\u0301x 데\u1100\u1161\u11A8ﾃﾞ " + strings.Repeat("y", 66) + "!"
	want := []string{"Ａb", "é", "e\u0301x", "데", "\u1100\u1161\u11A8", "ﾃﾞ", strings.Repeat("y", 66)}
	var got []string
	for tok := range Tokens(text) {
		got = append(got, text[tok.Start:tok.End])
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("(-want +got)\n%s", d)
	}
	for tok := range Tokens(text) { // stopping early must not panic
		if tok.Text != "ab" {
			t.Errorf("first token %q", tok.Text)
		}
		break
	}
}

func TestAppendFolded(t *testing.T) {
	got, n := AppendFolded([]byte("before "), "Die Straße, 库存!")
	if string(got) != "before die straße 库 存" || n != 4 {
		t.Errorf("%q, %d", got, n)
	}
	if got, n = AppendFolded(nil, " -- "); len(got) != 0 || n != 0 {
		t.Errorf("of nothing: %q, %d", got, n)
	}
	dst := make([]byte, 0, 4096)
	for _, text := range []string{"plain ASCII text", "Größe Ελλάδα й ё", "请修复数据库", "e\u0301 ά\u0301 हिन्दी ที่ ﾃ１ مُحَمَّد 🚀"} {
		if allocs := testing.AllocsPerRun(20, func() { AppendFolded(dst, text) }); allocs > 0 {
			t.Errorf("%q: %v allocations", text, allocs)
		}
	}
}

// TestManyMarks: a text of marks costs no more than its length and no token
// grows past the cut.
func TestManyMarks(t *testing.T) {
	for _, base := range []string{"a", "и", "क", "か", "ก"} {
		text := base + strings.Repeat("\u0308\u0327", 100_000) + " end"
		terms := Terms(text)
		if len(terms) != 2 || terms[1] != "end" || utf8.RuneCountInString(terms[0]) > maxPoints {
			t.Errorf("%q: %d terms, first of %d bytes", base, len(terms), len(terms[0]))
		}
	}
}

func FuzzTokens(f *testing.F) {
	for _, s := range []string{
		"Hello, foo_bar", "Ke\u0302\u0301t qua\u0309", "데이터 \u1100\u1161\u11A8", "ﾃﾞｰﾀ １２３", "a\xffb\xed\xa0\x80",
		"हिन्दी ภาษา ကို", "\u0301a 👨‍👩‍👧 1\uFE0F\u20E3", "е\u0301\u0308", strings.Repeat("z", 70), "\u0958\u0344\u1FBE\uFB2A", "\u00B5\u0327",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		end := 0
		var terms []string
		for tok := range Tokens(s) {
			if tok.Start < end || tok.End <= tok.Start || tok.End > len(s) {
				t.Fatalf("range %d:%d after %d in %q", tok.Start, tok.End, end, s)
			}
			end = tok.End
			terms = append(terms, tok.Text)
			if !utf8.ValidString(tok.Text) || tok.Text == "" || utf8.RuneCountInString(tok.Text) > maxPoints {
				t.Fatalf("token %q in %q", tok.Text, s)
			}
			for i := range len(tok.Text) {
				if c := tok.Text[i]; c < utf8.RuneSelf && !('0' <= c && c <= '9' || 'a' <= c && c <= 'z') {
					t.Fatalf("byte %q in token %q of %q", c, tok.Text, s)
				}
			}
		}
		joined, n := AppendFolded(nil, s)
		if string(joined) != strings.Join(terms, " ") || n != len(terms) {
			t.Fatalf("AppendFolded(%q) = %q, %d; terms %q", s, joined, n, terms)
		}
		var each []string
		if n := EachFolded(s, nil, func(token []byte) { each = append(each, string(token)) }); n != len(terms) || !cmp.Equal(each, terms) {
			t.Fatalf("EachFolded(%q) gives %q, %d; terms %q", s, each, n, terms)
		}
		if again := Terms(string(joined)); !cmp.Equal(again, terms) {
			t.Fatalf("folding twice: %q, then %q", terms, again)
		}
	})
}

func BenchmarkAppendFolded(b *testing.B) {
	for name, text := range map[string]string{
		"prose":    "The linker cannot find libmarble because the search path lost its last entry; ",
		"code":     "\tif err := json.Unmarshal(line, &e); err != nil {\n\t\treturn fmt.Errorf(\"x_%d: %w\", i, err)\n\t}\n",
		"quotes":   "He said “yes” — and then… left the café at 5°C → home. Nothing else to be said about it all, is there? ",
		"Russian":  "Компоновщик не может найти библиотеку, потому что путь потерял последнюю запись; ",
		"Chinese":  "请修复数据库连接超时的问题，然后重新运行测试。",
		"Vietnam":  "Kết quả kiểm thử: đậu tất cả, không có lỗi nào. ",
		"Hindi":    "लिंकर लाइब्रेरी नहीं ढूँढ सकता क्योंकि पथ खो गया ",
		"no space": strings.Repeat("QUJDREVGR0g", 12),
	} {
		b.Run(name, func(b *testing.B) {
			text := strings.Repeat(text, 1+(1<<20)/len(text))
			dst := make([]byte, 0, 4*len(text))
			b.SetBytes(int64(len(text)))
			b.ReportAllocs()
			for b.Loop() {
				AppendFolded(dst, text)
			}
		})
	}
}

// Each token is folded in the given room; none of it is left over for the next.
func TestEachFolded(t *testing.T) {
	text := "The " + strings.Repeat("LONG", 40) + " Straße, Köln 東京 " + strings.Repeat("é", 100) + " x"
	buf := make([]byte, 0, FoldedRoom)
	var got []string
	n := EachFolded(text, buf, func(token []byte) {
		got = append(got, string(token))
		for i := range token {
			token[i] = '?'
		}
	})
	if want := Terms(text); !cmp.Equal(got, want) || n != len(want) || len(want) < 7 {
		t.Errorf("%d tokens (-want +got):\n%s", n, cmp.Diff(want, got))
	}
	if allocs := testing.AllocsPerRun(20, func() { EachFolded(text, buf, func([]byte) {}) }); allocs > 0 {
		t.Errorf("%v allocations", allocs)
	}
}
