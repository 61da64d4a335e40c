package mask

import "strings"

// scan is one look at one piece of text.
type scan struct {
	*Masker
	cut   bool // the text goes on behind its end
	found []Finding

	ran        bitset // rules whose patterns were run
	ruleNumber int
}

// prepare makes what a masker needs before its first text.
func (m *Masker) prepare() {
	m.rules = make([]rule, 0, len(gitleaks)+len(ours))
	for _, list := range [][]rule{ours, gitleaks} {
		for i := range list {
			r := &list[i]
			m.rules = append(m.rules, rule{
				id: r.id, pattern: r.pattern, group: r.group, entropy: r.entropy, keywords: r.keywords, form: r.form,
				least: r.least, most: r.most, find: r.find,
				allowed: r.allowed, allowedMatch: r.allowedMatch, allowedLine: r.allowedLine, stop: r.stop,
			})
		}
	}
	m.table = &table{}
	for i := range m.rules {
		for _, k := range m.rules[i].keywords {
			m.table.add(k, i)
		}
	}
}

// maxDepth is how many times escapes are resolved: a log is JSON, an argument in
// it often JSON again, and so may be what that holds.
const maxDepth = 3

// text looks at every layer of a text.
func (s *scan) text(text string) {
	now := layer{text: text}
	look := s.layer(now)
	for depth := 0; ; depth++ {
		if look.hidden || look.foreign {
			if bare, changed := now.visible(); changed {
				now = bare
				look = s.layer(now)
			}
		}
		if !look.escapes || depth == maxDepth {
			return
		}
		decoded, changed := now.unescaped()
		if !changed {
			return
		}
		now = decoded
		look = s.layer(now)
	}
}

// layer looks at one layer.
func (s *scan) layer(l layer) looks {
	return s.table.each(l.text, func(k keyword, at int) {
		r := &s.rules[k.rule]
		end := at + len(k.text)
		if r.form != own {
			s.ruleNumber = k.rule
			s.try(r, &l, at, end)
			return
		}
		if from, to, ok := r.find(l.text, at, end, s.cut); ok {
			s.report(r.id, &l, from, to)
		}
	})
}

// report notes a credential of a layer.
func (s *scan) report(kind string, l *layer, from, to int) {
	if from >= to {
		return
	}
	start, end := l.origin(from, to)
	s.found = append(s.found, Finding{kind, start, end, points(l.text[from:to])})
}

// maxJoin is how many bytes of lines are put together for a key that a terminal
// or a person broke into several.
const maxJoin = 1 << 10

// joined runs a rule where the run of characters at a keyword ends with its line
// and the next lines go on with it: behind indentation, a frame's or a quote's
// mark. The pattern decides, so only rules with a telling beginning come here.
func (s *scan) joined(r *rule, l *layer, at, end int) {
	t := l.text
	if end == len(t) || end-at < 12 || !lineEnd(t[end:]) {
		return
	}
	b := (&layer{text: t[at:min(len(t), at+maxJoin)]}).builder()
	i, runs := 0, 0
	for i < len(b.of.text) {
		stop := tokenEnd(b.of.text, i, len(b.of.text))
		if stop == i {
			break
		}
		b.keep(i, stop)
		if runs++; !lineEnd(b.of.text[stop:]) {
			i = stop
			break
		}
		i = stop + len(b.of.text[stop:]) - len(strings.TrimLeft(b.of.text[stop:], " \t\r\n\\|>│┃*#"))
	}
	if runs < 2 {
		return
	}
	whole := b.layer()
	if len(whole.text) < r.least {
		return
	}
	c := r.compile()
	if c.bounded && at > 0 && wordByte(t[at-1]) {
		return
	}
	m := c.match.FindStringSubmatchIndex(whole.text)
	if m == nil {
		return
	}
	from, to := r.secret(m)
	if !r.accepts(c, whole.text, m[0], m[1], from, to) {
		return
	}
	first, last := int(whole.at[from]), int(whole.at[to-1])+1
	s.report(r.id, l, at+first, at+last)
}

// lineEnd reports whether a line ends at the beginning of s, perhaps behind a
// backslash or a frame.
func lineEnd(s string) bool {
	s = strings.TrimLeft(s, " \t\\|│┃")
	return s != "" && (s[0] == '\n' || s[0] == '\r')
}
