package corpus

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"strconv"
	"unicode/utf8"
)

// generator makes texts. Its random source is set for each session, so that a
// session's texts do not depend on how many others there are.
type generator struct {
	r       *rand.Rand
	cjkPart int // percent
	words   []string
	zipf    []uint16
	files   [][]byte
	hz      []rune
	ka      []rune
	hi      []rune
	ko      []rune
	b       []byte

	markers  []Marker
	eligible int  // texts so far that may carry a marker
	plain    bool // plant nothing
}

func newGenerator(o Options) *generator {
	// A small corpus has a small vocabulary, which is also quick to make.
	words, table, files := 6000, 1<<17, 40
	if o.Events >= 50_000 {
		words, table, files = 60_000, 1<<21, 2000
	}
	g := &generator{
		cjkPart: o.CJK, words: vocabulary(o.Seed, words), zipf: zipfTable(words, table), markers: planted(),
		hz: []rune(hanzi), ka: []rune(kata), hi: []rune(hira), ko: []rune(hangul),
	}
	g.r = rand.New(rand.NewPCG(o.Seed, 7))
	for range files {
		g.b = nil
		g.source(g.logn(6000, 0.8, 500, 60000))
		g.files = append(g.files, g.b)
	}
	return g
}

func (g *generator) word() string { return g.words[g.zipf[g.r.IntN(len(g.zipf))]] }

func (g *generator) ident() {
	n := 1 + g.r.IntN(3)
	style := g.r.IntN(3)
	for i := range n {
		w := g.word()
		switch {
		case style == 0 && i > 0:
			g.b = append(g.b, '_')
			g.b = append(g.b, w...)
		case style == 1 && i > 0, style == 2:
			g.b = append(g.b, w[0]&^0x20)
			g.b = append(g.b, w[1:]...)
		default:
			g.b = append(g.b, w...)
		}
	}
}

func (g *generator) hex(n int) {
	const d = "0123456789abcdef"
	for range n {
		g.b = append(g.b, d[g.r.IntN(16)])
	}
}

func (g *generator) path() {
	g.b = append(g.b, [...]string{"/home/dev/work/", "src/", "internal/", "./", "/usr/lib/", "packages/core/"}[g.r.IntN(6)]...)
	for range 1 + g.r.IntN(3) {
		g.b = append(g.b, g.word()...)
		g.b = append(g.b, '/')
	}
	g.b = append(g.b, g.word()...)
	g.b = append(g.b, [...]string{".go", ".ts", ".py", ".rs", ".json", ".md"}[g.r.IntN(6)]...)
}

func (g *generator) prose(n int) {
	end := len(g.b) + n
	for len(g.b) < end {
		k := 5 + g.r.IntN(14)
		for i := range k {
			if i > 0 {
				g.b = append(g.b, ' ')
			}
			switch x := g.r.IntN(60); {
			case x == 0:
				g.b = append(g.b, '`')
				g.ident()
				g.b = append(g.b, '`')
			case x == 1:
				g.path()
			case x == 2:
				g.b = strconv.AppendInt(g.b, int64(g.r.IntN(10000)), 10)
			default:
				w := g.word()
				if i == 0 {
					g.b = append(g.b, w[0]&^0x20)
					w = w[1:]
				}
				g.b = append(g.b, w...)
			}
		}
		if g.r.IntN(6) == 0 {
			g.b = append(g.b, ".\n\n"...)
		} else {
			g.b = append(g.b, ". "...)
		}
	}
}

func pick(r *rand.Rand, s []rune) rune {
	x := r.Float64()
	return s[int(x*x*float64(len(s)))]
}

func (g *generator) cjk(n int) {
	end := len(g.b) + n
	lang := g.r.IntN(10)
	for len(g.b) < end {
		for range 3 + g.r.IntN(8) {
			switch {
			case lang < 6:
				g.b = utf8.AppendRune(g.b, pick(g.r, g.hz))
				g.b = utf8.AppendRune(g.b, pick(g.r, g.hz))
			case lang < 9:
				switch g.r.IntN(3) {
				case 0:
					for range 2 + g.r.IntN(4) {
						g.b = utf8.AppendRune(g.b, g.ka[g.r.IntN(len(g.ka))])
					}
				case 1:
					g.b = utf8.AppendRune(g.b, pick(g.r, g.hz))
					g.b = utf8.AppendRune(g.b, pick(g.r, g.hz))
				}
				g.b = utf8.AppendRune(g.b, g.hi[g.r.IntN(len(g.hi))])
			default:
				for range 2 + g.r.IntN(3) {
					g.b = utf8.AppendRune(g.b, g.ko[g.r.IntN(len(g.ko))])
				}
				g.b = append(g.b, ' ')
			}
			if g.r.IntN(25) == 0 {
				g.b = append(g.b, ' ')
				g.ident()
				g.b = append(g.b, ' ')
			}
		}
		if g.r.IntN(3) == 0 {
			g.b = append(g.b, "。\n"...)
		} else {
			g.b = append(g.b, "，"...)
		}
	}
}

func (g *generator) source(n int) {
	end := len(g.b) + n
	for len(g.b) < end {
		g.b = append(g.b, "func "...)
		g.ident()
		g.b = append(g.b, "(ctx context.Context, "...)
		g.ident()
		g.b = append(g.b, " string) error {\n"...)
		for range 2 + g.r.IntN(10) {
			g.b = append(g.b, '\t')
			switch g.r.IntN(5) {
			case 0:
				g.b = append(g.b, "if err != nil {\n\t\treturn fmt.Errorf(\""...)
				g.prose(12)
				g.b = append(g.b, ": %w\", err)\n\t}"...)
			case 1:
				g.b = append(g.b, "// "...)
				g.prose(40)
			case 2:
				g.ident()
				g.b = append(g.b, " := "...)
				g.ident()
				g.b = append(g.b, '.')
				g.ident()
				g.b = append(g.b, "(ctx, "...)
				g.b = strconv.AppendInt(g.b, int64(g.r.IntN(256)), 10)
				g.b = append(g.b, ')')
			case 3:
				g.b = append(g.b, "for i := range "...)
				g.ident()
				g.b = append(g.b, " { "...)
				g.ident()
				g.b = append(g.b, "[i] += \""...)
				g.ident()
				g.b = append(g.b, "\" }"...)
			default:
				g.ident()
				g.b = append(g.b, "."...)
				g.ident()
				g.b = append(g.b, " = "...)
				g.ident()
			}
			g.b = append(g.b, '\n')
		}
		g.b = append(g.b, "}\n\n"...)
	}
}

func (g *generator) jsonOut(n int) {
	end := len(g.b) + n
	g.b = append(g.b, `{"items":[`...)
	k := []string{g.word(), g.word(), g.word(), g.word()}
	for i := 0; len(g.b) < end; i++ {
		if i > 0 {
			g.b = append(g.b, ',')
		}
		g.b = append(g.b, `{"id":"`...)
		g.hex(16)
		for _, f := range k {
			g.b = append(g.b, `","`...)
			g.b = append(g.b, f...)
			g.b = append(g.b, `":"`...)
			g.b = append(g.b, g.word()...)
		}
		g.b = append(g.b, `","status":`...)
		g.b = strconv.AppendInt(g.b, int64(200+g.r.IntN(300)), 10)
		g.b = append(g.b, `,"ok":true}`...)
	}
	g.b = append(g.b, `]}`...)
}

func (g *generator) trace(n int) {
	end := len(g.b) + n
	g.b = append(g.b, "panic: runtime error: "...)
	g.prose(30)
	g.b = append(g.b, "\n\ngoroutine "...)
	g.b = strconv.AppendInt(g.b, int64(g.r.IntN(900)), 10)
	g.b = append(g.b, " [running]:\n"...)
	for len(g.b) < end {
		g.ident()
		g.b = append(g.b, '.')
		g.ident()
		g.b = append(g.b, "(0x"...)
		g.hex(10)
		g.b = append(g.b, ", 0x"...)
		g.hex(2)
		g.b = append(g.b, ")\n\t"...)
		g.path()
		g.b = append(g.b, ':')
		g.b = strconv.AppendInt(g.b, int64(g.r.IntN(900)), 10)
		g.b = append(g.b, " +0x"...)
		g.hex(3)
		g.b = append(g.b, '\n')
	}
}

func (g *generator) grep(n int) {
	end := len(g.b) + n
	w := g.word()
	for len(g.b) < end {
		g.path()
		g.b = append(g.b, ':')
		g.b = strconv.AppendInt(g.b, int64(g.r.IntN(900)), 10)
		g.b = append(g.b, ":\t"...)
		g.b = append(g.b, w...)
		g.b = append(g.b, " "...)
		g.prose(50)
		g.b = append(g.b, '\n')
	}
}

func (g *generator) readFile(n int) {
	f := g.files[int(math.Pow(g.r.Float64(), 2)*float64(len(g.files)))]
	if n > len(f) {
		n = len(f)
	}
	s := g.r.IntN(len(f) - n + 1)
	ln := g.r.IntN(200) + 1
	num := func() {
		g.b = append(g.b, fmt.Sprintf("%6d\t", ln)...)
		ln++
	}
	num()
	for _, c := range f[s : s+n] {
		g.b = append(g.b, c)
		if c == '\n' {
			num()
		}
	}
}

func (g *generator) logn(median, sigma, lo, hi float64) int {
	x := median * math.Exp(sigma*g.r.NormFloat64())
	return int(math.Min(hi, math.Max(lo, x)))
}

// plant adds the phrases whose turn it is to an eligible text.
func (g *generator) plant() {
	if g.plain {
		return
	}
	k := g.eligible
	g.eligible++
	for i := range g.markers {
		m := &g.markers[i]
		if k%m.Every != (i+1)%m.Every {
			continue
		}
		m.Events++
		m.Occurrences += m.Times
		for range m.Times {
			if m.Text[0] >= utf8.RuneSelf { // inside a sentence, without spaces
				g.b = append(g.b, "\n我们认为"+m.Text+"的结果。"...)
			} else {
				g.b = append(g.b, "\nsee "+m.Text+" again. "...)
			}
		}
	}
}

func (g *generator) spoken(n int) {
	g.b = g.b[:0]
	if g.r.IntN(100) < g.cjkPart {
		g.cjk(n)
	} else {
		g.prose(n)
	}
}

func (g *generator) userText() string {
	g.spoken(g.logn(150, 0.9, 20, 4000))
	g.plant()
	return string(g.b)
}

func (g *generator) assistantText() string {
	g.spoken(g.logn(300, 0.8, 20, 6000))
	if g.r.IntN(8) == 0 {
		g.b = append(g.b, "\n```go\n"...)
		g.source(300)
		g.b = append(g.b, "```\n"...)
	}
	g.plant()
	return string(g.b)
}

func (g *generator) reasoning() string {
	g.spoken(g.logn(500, 0.7, 40, 6000))
	return string(g.b)
}

func (g *generator) summary() string {
	g.spoken(g.logn(2500, 0.4, 500, 9000))
	return string(g.b)
}

func (g *generator) title() string { return g.word() + " " + g.word() + " " + g.word() }

// call returns a tool's name and its raw arguments.
func (g *generator) call() (tool, arguments string) {
	g.b = g.b[:0]
	switch g.r.IntN(8) {
	case 0:
		g.path()
		at := string(g.b)
		g.b = g.b[:0]
		g.source(g.logn(700, 0.8, 100, 8000))
		return "write", `{"file_path":` + quote(at) + `,"content":` + quote(string(g.b)) + `}`
	case 1, 2, 3:
		g.path()
		return "read", `{"file_path":` + quote(string(g.b)) + `}`
	}
	g.b = append(g.b, "cd "...)
	g.path()
	g.b = append(g.b, " && go test ./... -run "...)
	g.ident()
	g.b = append(g.b, " | grep -n "...)
	g.ident()
	return "bash", `{"command":` + quote(string(g.b)) + `}`
}

func (g *generator) resultText(tool string) string {
	g.b = g.b[:0]
	n := g.logn(1200, 1.2, 30, 300000)
	switch x := g.r.IntN(6); {
	case tool == "write":
		g.b = append(g.b, "The file has been written."...)
	case tool == "read":
		g.readFile(n)
	case x < 2:
		g.jsonOut(n)
	case x == 2:
		g.trace(n)
	case x == 3:
		g.spoken(n)
	default:
		g.grep(n)
	}
	g.plant()
	return string(g.b)
}

// base64 is an opaque value of n characters.
func (g *generator) base64(n int) string {
	const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
	b := make([]byte, n)
	for i := range b {
		b[i] = letters[g.r.IntN(len(letters))]
	}
	return string(b)
}

func quote(s string) string { return string(appendJSON(nil, s)) }

const hexd = "0123456789abcdef"

// appendJSON adds s as a JSON string. s is valid UTF-8.
func appendJSON(dst []byte, s string) []byte {
	dst = append(dst, '"')
	for i := range len(s) {
		c := s[i]
		switch {
		case c == '"' || c == '\\':
			dst = append(dst, '\\', c)
		case c == '\n':
			dst = append(dst, '\\', 'n')
		case c == '\t':
			dst = append(dst, '\\', 't')
		case c < 0x20:
			dst = append(dst, '\\', 'u', '0', '0', hexd[c>>4], hexd[c&15])
		default:
			dst = append(dst, c)
		}
	}
	return append(dst, '"')
}

// uuid makes an id of version 7's shape.
func uuid(r *rand.Rand) string {
	var b [16]byte
	binary.BigEndian.PutUint64(b[:], r.Uint64())
	binary.BigEndian.PutUint64(b[8:], r.Uint64())
	b[6], b[8] = b[6]&0x0f|0x70, b[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}
