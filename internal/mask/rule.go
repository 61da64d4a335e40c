package mask

import (
	"math"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// form is the shape of what a rule finds. It tells how to see cheaply, without
// running the pattern, that a keyword is part of no credential.
type form uint8

const (
	free       form = iota // anything: the pattern decides
	leading                // one run of characters that begins with the keyword
	assignment             // the keyword in a name, an operator, a value
	own                    // no pattern but a function
)

// rule is one kind of credential.
type rule struct {
	id       string
	pattern  string
	group    int // of the pattern, which is the credential; 0: the first that matched, else all
	entropy  float64
	keywords []string
	form     form
	least    int // length of the shortest credential (assignment), else of the shortest match
	most     int // length of the longest match; 0: no end
	find     finder

	allowed      []string // patterns of credentials that are none
	allowedMatch []string // of whole matches that are none
	allowedLine  []string
	stop         string // words that no credential holds, separated by spaces

	once  sync.Once
	ready compiled
}

// finder looks at a keyword's place and returns the credential there.
type finder func(t string, at, end int, cut bool) (from, to int, ok bool)

// compiled is a rule that has been needed.
type compiled struct {
	match                                     *regexp.Regexp
	allowed, allowedMatch, allowedLine, never []*regexp.Regexp
	stop                                      []string
	bounded                                   bool // nothing of a word stands before it
}

// What gitleaks asks to stand behind a credential lacks what stands there in
// prose, in calls, in addresses and in markup.
const (
	theirEnd = "(?:[\\x60'\"\\s;]|\\\\[nr]|$)"
	ourEnd   = "(?:[\\x60'\"\\s;,&)\\]}<|]|\\\\[nrt\"'\\\\]|$)"
)

// compile makes the patterns of a rule.
func (r *rule) compile() *compiled {
	r.once.Do(func() {
		p := r.pattern
		switch r.form {
		case leading:
			// It is looked for where its keyword stands, and what follows is looked at there.
			p = strings.TrimSuffix(p, theirEnd)
			bare := strings.TrimLeft(strings.TrimPrefix(p, "(?i)"), "(")
			r.ready.bounded = strings.HasPrefix(bare, `\b`)
			p = "^(?:" + p + ")"
		case assignment:
			p = "^(?:" + strings.TrimSuffix(p, theirEnd) + ourEnd + ")"
		}
		r.ready.match = regexp.MustCompile(p)
		r.ready.allowed = compileAll(r.allowed)
		r.ready.allowedMatch = compileAll(r.allowedMatch)
		r.ready.allowedLine = compileAll(r.allowedLine)
		if r.form == assignment {
			r.ready.never = compileAll(gitleaksAllowed)
		}
		r.ready.stop = strings.Fields(r.stop)
	})
	return &r.ready
}

func compileAll(patterns []string) []*regexp.Regexp {
	var all []*regexp.Regexp
	for _, p := range patterns {
		all = append(all, regexp.MustCompile(p))
	}
	return all
}

// The longest piece of text behind a keyword that a pattern is run on, and what
// is before it for one that does not begin there.
const (
	reach  = 8 << 10
	before = 256
	nearby = 2 << 10
)

// shortened is how many characters of a credential that was cut are enough to
// recognize it: of fewer nobody can make use.
const shortened = 8

// try runs a rule's pattern where one of its keywords stands.
func (s *scan) try(r *rule, l *layer, at, end int) {
	t := l.text
	from, to := at, min(len(t), at+reach)
	switch r.form {
	case leading:
		run := tokenEnd(t, end, at+reach)
		if s.cut && run == len(t) && run-at >= shortened && telling(t, at, end, run) {
			s.report(r.id, l, at, run)
			return
		}
		if run-at < r.least {
			s.joined(r, l, at, run)
			return
		}
		if r.most > 0 {
			to = min(to, at+r.most+1)
		}
	case assignment:
		value, ok := valueAt(t, end)
		if !ok {
			return
		}
		stop := tokenEnd(t, value, value+reach)
		if s.cut && stop == len(t) && stop-value >= shortened && hasDigit(t[value:stop]) {
			s.report(r.id, l, value, stop)
			return
		}
		if stop-value < r.least {
			return
		}
		if r.id == "generic-api-key" && !mixed(t[value:stop]) {
			return // its own list of exceptions says so
		}
		for from > 0 && at-from < 50 && nameByte(t[from-1]) {
			from--
		}
		to = min(len(t), stop+16)
	case free:
		from, to = max(0, at-before), min(len(t), at+nearby)
	}
	s.ran.add(s.ruleNumber)
	c := r.compile()
	if c.bounded && at > 0 && wordByte(t[at-1]) {
		return
	}
	window := t[from:to]
	for {
		m := c.match.FindStringSubmatchIndex(window)
		if m == nil {
			return
		}
		a, b := r.secret(m)
		if r.accepts(c, window, m[0], m[1], a, b) {
			start, stop := from+a, from+b
			if r.form == leading {
				// A longer one than the rule knows is one of a later make, if its beginning
				// can be nothing else.
				if end-at < 4 && strings.HasSuffix(r.pattern, theirEnd) && stop < len(t) && wordByte(t[stop]) {
					return
				}
				for stop < len(t) && (wordByte(t[stop]) || t[stop] == '-') {
					stop++
				}
			}
			s.report(r.id, l, start, stop)
		}
		if r.form != free || m[1] == 0 {
			return
		}
		from += m[1]
		window = t[from:to]
	}
}

// telling reports whether a run that was cut begins as no word does: with a long
// enough keyword, or with a short one and more that is no word's.
func telling(t string, at, end, run int) bool {
	if at > 0 && wordByte(t[at-1]) {
		return false
	}
	return end-at > 3 || hasDigit(t[end:run]) || run-at >= 12 && (end-at > 2 || innerCase(t[at:run]))
}

// secret returns which part of a match is the credential.
func (r *rule) secret(m []int) (int, int) {
	if r.group > 0 && 2*r.group+1 < len(m) && m[2*r.group] >= 0 {
		return m[2*r.group], m[2*r.group+1]
	}
	for i := 2; i+1 < len(m); i += 2 {
		if m[i] >= 0 && m[i+1] > m[i] {
			return m[i], m[i+1]
		}
	}
	return m[0], m[1]
}

// accepts applies what a rule says about a match beside its pattern.
func (r *rule) accepts(c *compiled, t string, from, to, a, b int) bool {
	secret := t[a:b]
	if r.entropy > 0 && entropy(secret) < r.entropy {
		return false
	}
	any := func(list []*regexp.Regexp, s string) bool {
		return slices.ContainsFunc(list, func(p *regexp.Regexp) bool { return p.MatchString(s) })
	}
	if any(c.allowed, secret) || any(c.never, secret) || any(c.allowedMatch, t[from:to]) {
		return false
	}
	if len(c.allowedLine) > 0 {
		line := t[strings.LastIndexByte(t[:from], '\n')+1:]
		line, _, _ = strings.Cut(line, "\n")
		if any(c.allowedLine, line) {
			return false
		}
	}
	if len(c.stop) > 0 {
		lower := strings.ToLower(secret)
		if slices.ContainsFunc(c.stop, func(w string) bool { return strings.Contains(lower, w) }) {
			return false
		}
	}
	return true
}

// entropy is Shannon's, in bits a character.
func entropy(s string) float64 {
	if s == "" {
		return 0
	}
	var count [256]int
	for _, c := range []byte(s) {
		count[c]++
	}
	var sum float64
	for _, n := range count {
		if n > 0 {
			p := float64(n) / float64(len(s))
			sum -= p * math.Log2(p)
		}
	}
	return sum
}

func wordByte(c byte) bool {
	return 'a' <= c|0x20 && c|0x20 <= 'z' && c < 0x80 || '0' <= c && c <= '9' || c == '_'
}

func nameByte(c byte) bool { return wordByte(c) || c == '.' || c == '-' }

// tokenByte reports what a credential that is one run of characters may hold.
func tokenByte(c byte) bool {
	return nameByte(c) || c == '+' || c == '/' || c == '=' || c == '~' || c == ':' || c == '%' || c == '|' || c == '@'
}

// tokenEnd returns where the run of such bytes ends, looking no further than limit.
func tokenEnd(t string, i, limit int) int {
	for limit = min(limit, len(t)); i < limit && tokenByte(t[i]); i++ {
	}
	return i
}

// mixed reports whether a value holds more than letters, '_', '.' and '-'.
func mixed(s string) bool {
	for _, c := range []byte(s) {
		if !('a' <= c|0x20 && c|0x20 <= 'z' && c < 0x80 || c == '_' || c == '.' || c == '-') {
			return true
		}
	}
	return false
}

// valueAt returns where the value begins that is assigned to the name in which
// a keyword ends at i.
func valueAt(t string, i int) (int, bool) {
	for n := 0; n < 20 && i < len(t) && (nameByte(t[i]) || t[i] == ' ' || t[i] == '\t'); n++ {
		i++
	}
	for n := 0; n < 3 && i < len(t) && (space(t[i]) || t[i] == '\'' || t[i] == '"'); n++ {
		i++
	}
	if i == len(t) || !strings.ContainsRune("=>:|?,", rune(t[i])) {
		return 0, false
	}
	for n := 0; n < 3 && i < len(t) && strings.ContainsRune("=>:|?,", rune(t[i])); n++ {
		i++
	}
	for n := 0; n < 5 && i < len(t) && (space(t[i]) || strings.ContainsRune("`'\"=", rune(t[i]))); n++ {
		i++
	}
	return i, i < len(t)
}

func space(c byte) bool { return c == ' ' || '\t' <= c && c <= '\r' }
