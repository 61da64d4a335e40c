package corpus

import (
	"math"
	"math/rand/v2"
)

// stopWords are the most frequent words of the vocabulary.
var stopWords = []string{"the", "to", "a", "of", "and", "in", "is", "for", "it", "that", "this", "with", "on", "be", "as", "not", "we", "are", "if", "from",
	"error", "file", "test", "can", "use", "at", "by", "or", "will", "all", "need", "should", "now", "let", "me", "check", "run", "code", "function", "an",
	"so", "but", "which", "has", "line", "then", "was", "no", "add", "new", "value", "when", "only", "build", "there", "have", "one", "do", "type", "return",
	"path", "data", "output", "first", "make", "call", "read", "set", "before", "also", "write", "change", "each", "same", "result", "case", "list", "after", "into", "fix",
	"config", "failed", "string", "any", "does", "name", "found", "directory", "already", "import", "server", "update", "index", "query", "version", "message", "session", "time", "process", "request"}

// Letters of the scripts that are written without spaces, the frequent ones first.
const (
	hanzi  = "的一是在不了有和人这中大为上个国我以要他时来用们生到作地于出就分对成会可主发年动同工也能下过子说产种面而方后多定行学法所民得经十三之进着等部度家电力里如水化高自二理起小物现实加量都两体制机当使点从业本去把性好应开它合还因由其些然前外天政四日那社义事平形相全表间样与关各重新线内数正心反你明看原又么利比或但质气第向道命此变条只没结解问意建月公无系军很情者最立代想已通并提直题党程展五果料象员革位入常文总次品式活设及管特件长求老头基资边流路级少图山统接知较将组见计别她手角期根论运农指几九区强放决西被干做必战先回则任取据处理世车价"
	hira   = "のにはをたがでてとしれさあるいるもするからなこととしてよりまで"
	kata   = "アイウエオカキクケコサシスセソタチツテトナニヌネノハヒフヘホマミムメモラリルレロンデータベースファイルサーバーエラーテスト"
	hangul = "가나다라마바사아자차카타파하검색문서파일오류결과실행시험기록저장데이터확인수정"
)

// planted are the phrases that queries look for.
func planted() []Marker {
	return []Marker{
		{Name: "rare", Text: "obsidian lantern protocol", Every: 130000, Times: 1},
		{Name: "rare-many", Text: "velvet turbine", Every: 80000, Times: 3},
		{Name: "medium", Text: "quarterly heron audit", Every: 200, Times: 1},
		{Name: "common", Text: "nominal drift", Every: 8, Times: 1},
		{Name: "zh", Text: "量子退火", Every: 16000, Times: 1},
		{Name: "ja", Text: "鯨類図鑑", Every: 40000, Times: 1},
		{Name: "ko", Text: "형태소분석", Every: 40000, Times: 1},
		{Name: "snake", Text: "frobnicate_widget_cache", Every: 8000, Times: 2},
		{Name: "camel", Text: "resolveUpstreamMirror", Every: 8000, Times: 1},
		{Name: "path", Text: "/srv/app/internal/zephyr/codec.go", Every: 8000, Times: 1},
		{Name: "code", Text: "ORA-00942", Every: 8000, Times: 1},
		{Name: "hex", Text: "9f3a7c1e55b04d2a", Every: 40000, Times: 1},
		{Name: "email", Text: "kestrel.ops@example.test", Every: 40000, Times: 1},
		{Name: "version", Text: "v3.14.15-rc.9", Every: 20000, Times: 1},
	}
}

// vocabulary invents n words; the first are the stop words.
func vocabulary(seed uint64, n int) []string {
	r := rand.New(rand.NewPCG(seed, 99))
	syl := []string{"ba", "co", "di", "fu", "gra", "hel", "in", "jo", "ker", "lo", "mi", "nar", "os", "pli", "qua", "re", "sta", "ti", "um", "vi", "wex", "yo", "zan", "ter", "ple", "ment", "sor", "dex", "cal", "rin"}
	seen := map[string]bool{}
	w := append([]string(nil), stopWords...)
	for _, s := range w {
		seen[s] = true
	}
	for len(w) < n {
		s := ""
		for range 2 + r.IntN(3) {
			s += syl[r.IntN(len(syl))]
		}
		if !seen[s] {
			seen[s] = true
			w = append(w, s)
		}
	}
	return w
}

// zipfTable maps an even draw to a word: the r-th word comes about 1/r as often
// as the first.
func zipfTable(n, size int) []uint16 {
	cum := make([]float64, n)
	t := 0.0
	for i := range cum {
		t += 1 / math.Pow(float64(i)+2.7, 1.02)
		cum[i] = t
	}
	tab := make([]uint16, size)
	j := 0
	for i := range tab {
		for cum[j] < t*float64(i)/float64(size) {
			j++
		}
		tab[i] = uint16(j)
	}
	return tab
}
