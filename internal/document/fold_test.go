package document

import (
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/text/unicode/norm"
	"golang.org/x/text/width"
)

// reference is SQLite's unicode61 as recorded from SQLite itself.
type reference struct {
	class map[rune]string // t: token character, m: mark inside a token; absent: separator
	fold  map[rune]string // absent: itself
}

func loadReference(t *testing.T) reference {
	t.Helper()
	data, err := os.ReadFile("../../testdata/golden/unicode61.json")
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		Classes [][3]any `json:"classes"`
		Folds   [][2]any `json:"folds"`
	}
	if err := json.Unmarshal(data, &file); err != nil {
		t.Fatal(err)
	}
	ref := reference{map[rune]string{}, map[rune]string{}}
	for _, c := range file.Classes {
		for r := rune(c[0].(float64)); r <= rune(c[1].(float64)); r++ {
			ref.class[r] = c[2].(string)
		}
	}
	for _, f := range file.Folds {
		to := ""
		for _, r := range f[1].([]any) {
			to += string(rune(r.(float64)))
		}
		ref.fold[rune(f[0].(float64))] = to
	}
	return ref
}

// newLetters were vowel signs in Unicode 6.1 and are letters now (New Tai Lue,
// two Vedic signs).
var newLetters = []rune{0x19B0, 0x19C0, 0x19C8, 0x19C9, 0x1CF2, 0x1CF3}

// deliberate names the reason for which a character is folded otherwise than by
// unicode61, and says what the fold must give then; "" where there is no reason.
func deliberate(r rune, ref string) (why, want string) {
	narrow := width.LookupRune(r).Folded()
	nfc := norm.NFC.String(string(r))
	base, _ := utf8.DecodeRuneInString(norm.NFD.String(string(r)))
	switch {
	case unicode.Is(unicode.M, r), r == 0xFF9E, r == 0xFF9F:
		return "marks begin no token", ""
	case ref != "" && unicode.In(r, unicode.P, unicode.S, unicode.Cf):
		return "symbols newer than Unicode 6.1 separate", ""
	case ref == "" && (newLetters[0] <= r && r <= newLetters[1] || slices.Contains(newLetters[2:], r)):
		return "marks that became letters", string(r)
	case narrow != 0:
		return "width", strings.ToLower(string(narrow))
	case strings.ContainsRune("ЀѐЍѝ", r):
		return "Cyrillic stress", strings.ToLower(string(base))
	case base != r && unicode.In(r, unicode.Latin, unicode.Greek, unicode.Arabic, unicode.Hebrew):
		return "all marks off", strings.ToLower(string(base))
	case nfc != string(r):
		return "canonical form", nfc
	case ref == string(r) && unicode.SimpleFold(r) != r:
		return "case pairs newer than Unicode 6.1", strings.ToLower(strings.ToUpper(string(r)))
	}
	return "", ref
}

// TestFoldAgainstUnicode61 compares every code point with the recorded table.
func TestFoldAgainstUnicode61(t *testing.T) {
	ref := loadReference(t)
	reasons := map[string]int{}
	for r := rune(0); r <= unicode.MaxRune; r++ {
		if !utf8.ValidRune(r) {
			continue
		}
		was := ""
		if ref.class[r] == "t" {
			was = string(r)
			if f, ok := ref.fold[r]; ok {
				was = f
			}
		}
		got := strings.Join(Terms(string(r)), " ")
		if got == was {
			continue
		}
		why, want := deliberate(r, was)
		reasons[why]++
		if got != want || why == "" {
			t.Errorf("%U %q folds to %q, want %q (%s; unicode61: %q)", r, r, got, want, why, was)
		}
	}
	want := map[string]int{
		"marks begin no token":                    828,
		"symbols newer than Unicode 6.1 separate": 2491,
		"marks that became letters":               21,
		"width":                                   170,
		"Cyrillic stress":                         4,
		"all marks off":                           403,
		"canonical form":                          1028,
		"case pairs newer than Unicode 6.1":       399,
	}
	if d := cmp.Diff(want, reasons); d != "" {
		t.Errorf("deliberate differences (-reviewed +counted)\n%s", d)
	}
}

// TestUnicodeVersion fails when the toolchain brings other tables: what is
// unassigned in one version and a symbol in the next folds otherwise, so Version
// has to be raised with the number here.
func TestUnicodeVersion(t *testing.T) {
	for _, v := range []string{unicode.Version, norm.Version, width.UnicodeVersion} {
		if v != "15.0.0" || Version != 2 {
			t.Errorf("Unicode %s with fold version %d", v, Version)
		}
	}
}

// TestFoldAgrees: spellings that people take for the same text.
func TestFoldAgrees(t *testing.T) {
	for name, spellings := range map[string][]string{
		"Latin, one mark":        {"café", "cafe\u0301", "cafe", "CAFÉ", "ｃａｆé"},
		"Latin, two marks":       {"Kết quả", "Ke\u0302\u0301t qua\u0309", "Kêt qua", "ket qua", "KẾT QUẢ"},
		"marks in another order": {"a\u0323\u0302", "a\u0302\u0323", "ậ", "a"},
		"Turkish dotted I":       {"İstanbul", "I\u0307stanbul", "istanbul"},
		"Greek":                  {"ἄνθρωπος", "άνθρωπος", "ΑΝΘΡΩΠΟΣ", "ανθρωποσ", "α\u0313\u0301νθρωπος"},
		"Greek iota":             {"ᾳ", "α\u0345", "ᾼ", "α"},
		"Cyrillic stress":        {"за\u0301мок", "замок", "ЗАМОК"},
		"Cyrillic yot":           {"й", "и\u0306", "Й", "И\u0306"},
		"Cyrillic yo, stressed":  {"ё", "е\u0308", "е\u0308\u0301", "е\u0301\u0308", "Ё"},
		"Cyrillic grave":         {"ѝ", "и\u0300", "и", "Ѝ"},
		"Hebrew":                 {"שָׁלוֹם", "שלום", "\uFB2A\u05B8לו\u05B9ם"},
		"Arabic":                 {"مُحَمَّد", "محمد"},
		"Arabic hamza":           {"أ", "ا\u0654", "ا"},
		"Kana":                   {"データ", "ﾃﾞｰﾀ", "テ\u3099ータ"},
		"Hangul":                 {"각", "\u1100\u1161\u11A8", "가\u11A8"},
		"Devanagari nukta":       {"क़", "क\u093C"},
		"Han, compatibility":     {"豈", "\uF900"},
		"Han, variation":         {"葛", "葛\U000E0100"},
		"full-width":             {"abc 123", "ＡＢＣ　１２３"},
		"keycap":                 {"1", "1\uFE0F\u20E3"},
		"kelvin, ohm, angstrom":  {"k ω a", "\u212A \u2126 \u212B"},
		"sharp s":                {"ß", "ẞ"},
	} {
		for _, s := range spellings[1:] {
			if d := cmp.Diff(Terms(spellings[0]), Terms(s)); d != "" {
				t.Errorf("%s: %q and %q (-first +second)\n%s", name, spellings[0], s, d)
			}
		}
	}
}

// TestFoldKeepsApart: spellings that must stay different.
func TestFoldKeepsApart(t *testing.T) {
	for _, pair := range [][2]string{
		{"й", "и"}, {"ё", "е"}, {"ї", "і"}, {"ѓ", "г"}, {"が", "か"}, {"パ", "ハ"},
		{"कि", "क"}, {"कि", "की"}, {"กี", "กิ"}, {"ł", "l"}, {"ø", "o"}, {"đ", "d"}, {"ß", "ss"},
		{"æ", "ae"}, {"ﬁ", "fi"}, {"²", "2"}, {"𝐀", "a"}, {"ı", "i"}, {"½", "1 2"},
	} {
		if cmp.Equal(Terms(pair[0]), Terms(pair[1])) {
			t.Errorf("%q and %q both fold to %q", pair[0], pair[1], Terms(pair[0]))
		}
	}
}

// TestCanonicalEquivalence: what Unicode calls the same text folds the same,
// for every character, alone and inside a word.
func TestCanonicalEquivalence(t *testing.T) {
	for r := rune(0); r <= unicode.MaxRune; r++ {
		composed := string(r)
		apart := norm.NFD.String(composed)
		if apart == composed {
			continue
		}
		for _, around := range []string{"%", "x%y", "к%к", "क%क"} {
			a := Terms(strings.ReplaceAll(around, "%", composed))
			b := Terms(strings.ReplaceAll(around, "%", apart))
			if !cmp.Equal(a, b) {
				t.Errorf("%U in %q: %q, taken apart %q", r, around, a, b)
			}
		}
	}
}

// TestShortcuts: the ranges that are told apart for speed hold what they are
// taken to hold.
func TestShortcuts(t *testing.T) {
	for r := rune(0); r <= unicode.MaxRune; r++ {
		if isMark(r) != unicode.Is(unicode.M, r) {
			t.Errorf("isMark(%U) = %v", r, isMark(r))
		}
		want := r
		if p := width.LookupRune(r).Folded(); p != 0 {
			want = p
		}
		if utf8.ValidRune(r) && plain(r) != want {
			t.Errorf("plain(%U) = %U, want %U", r, plain(r), want)
		}
		if low := unicode.ToLower(unicode.ToUpper(r)); r != 'ı' && foldCase(r) != low {
			t.Errorf("foldCase(%U) = %U, want %U", r, foldCase(r), low)
		}
		if !utf8.ValidRune(r) || r < utf8.RuneSelf {
			continue
		}
		s := string(r)
		if got, slow := lookup(s, r, len(s)), foldLone(s, r); got != slow && !(got.class == slow.class && got.class < word) {
			t.Errorf("lookup(%U) = %v, want %v", r, got, slow)
		}
	}
}
