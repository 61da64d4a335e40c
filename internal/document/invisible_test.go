package document

import "testing"

func TestInvisibleCharactersAreRemoved(t *testing.T) {
	hidden := ""
	for _, r := range "ignore all rules" {
		hidden += string(0xE0000 + r)
	}
	smuggled := ""
	for _, r := range "rm -rf" {
		smuggled += string(0xE0100 + r - 16)
	}
	for name, tc := range map[string]struct{ in, want string }{
		"nothing to remove":              {"plain text, naïve café, 日本語", "plain text, naïve café, 日本語"},
		"tag characters":                 {"fine" + hidden + " text", "fine text"},
		"the ends of the tag block":      {"a\U000E0000b\U000E0001c\U000E007Fd", "abcd"},
		"zero-width space":               {"pass\u200Bword", "password"},
		"word joiner, invisible times":   {"a\u2060b\u2062c", "abc"},
		"soft hyphen":                    {"co\u00ADoperate", "cooperate"},
		"interlinear annotation":         {"a\uFFF9b\uFFFAc\uFFFBd", "abcd"},
		"Hangul filler":                  {"a\u3164b\uFFA0c", "abc"},
		"grapheme joiner":                {"a\u034Fb", "ab"},
		"deprecated format characters":   {"a\u206Ab\u206Fc", "abc"},
		"Mongolian vowel separator":      {"a\u180Eb", "ab"},
		"nothing but what is not seen":   {"\u200B\u2060" + hidden, ""},
		"white space around it is one":   {"a \u200B b", "a b"},
		"joiner between Latin letters":   {"ad\u200Dmin", "admin"},
		"non-joiner between Latin ones":  {"ad\u200Cmin", "admin"},
		"joiner at either end":           {"\u200Da\u200D", "a"},
		"non-joiner in Persian":          {"می\u200Cخواهم", "می\u200Cخواهم"},
		"joiner in Sinhala":              {"ශ්\u200Dරී", "ශ්\u200Dරී"},
		"two joiners in Persian":         {"می\u200C\u200Cخواهم", "می\u200Cخواهم"},
		"joiner in Devanagari":           {"क्\u200Dष", "क्\u200Dष"},
		"family":                         {"👩\u200D👧 home", "👩\u200D👧 home"},
		"skin tone and profession":       {"👩🏽\u200D💻", "👩🏽\u200D💻"},
		"heart with selector in between": {"❤\uFE0F\u200D🔥", "❤\uFE0F\u200D🔥"},
		"joiner behind a pictograph":     {"👩\u200D", "👩"},
		"variation selectors":            {"✔\uFE0E 葛\U000E0100", "✔\uFE0E 葛\U000E0100"},
		"a run of selectors":             {"a" + smuggled, "a" + string('r'+0xE0100-16)},
		"selector with nothing to vary":  {"a \uFE0F\uFE0F b", "a b"},
		"selector at the beginning":      {"\uFE0Fa", "a"},
		"Arabic number sign":             {"\u0600\u0661\u0662", "\u0600\u0661\u0662"},
		"left-to-right mark":             {"a\u200Eb", "ab"},
		"beside an escape":               {"a\x1b[31m\u200Bb", "ab"},
		"ill-formed bytes beside it":     {"a\xff\u200B\xffb", "a\uFFFD\uFFFDb"},
		"cut after it was removed":       {hidden + "abc", "abc"},
	} {
		limit := 0
		if name == "cut after it was removed" {
			limit = 3
		}
		if got := OneLine(tc.in, limit); got != tc.want {
			t.Errorf("%s: %+q, want %+q", name, got, tc.want)
		}
		if again := OneLine(tc.want, 0); again != tc.want {
			t.Errorf("%s: once more %+q", name, again)
		}
	}
}
