// Package mask finds credentials in text and puts a mark in their place that
// keeps the kind and the length: [github-pat, 40 characters, masked].
//
// The rules are those of gitleaks (gitleaks.go, made by tools/maskrules) and a
// few of our own (own.go). Their patterns are dear, so a pattern is compiled,
// and run, only where one of its keywords stands (trigger.go) and what is around
// the keyword has the shape of a credential (rule.go). A text is looked at as it
// is written, as it looks once escape sequences and what nobody can see are gone,
// and with JSON's escapes resolved (layer.go), since a key may hide behind either.
//
// The package is pure: it reads no files, keeps no text and knows nothing of
// sessions. What it cannot know it says in docs/masking.md. Start at Masker.Text.
package mask

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"
)

// Finding is one credential in a text.
type Finding struct {
	Kind       string // the rule that found it: "github-pat", "private-key", …
	Start, End int    // bytes of the text
	Points     int    // length in characters, escapes of JSON resolved
}

// mark is what stands in a credential's place. It holds nothing that JSON,
// HTML or Markdown would have to escape within a string, and no line end.
func (f Finding) mark() string {
	noun := "characters"
	if f.Points == 1 {
		noun = "character"
	}
	return fmt.Sprintf("[%s, %d %s, masked]", f.Kind, f.Points, noun)
}

// Masker masks credentials. It is safe for concurrent use. A nil Masker masks
// nothing: it is what the owner asks for by --reveal.
type Masker struct {
	rules []rule
	table *table
	once  sync.Once
}

// New makes a masker. That costs nothing; rules are compiled when they are
// first needed.
func New() *Masker { return &Masker{} }

// Text returns a text with every credential masked, and how many were.
func (m *Masker) Text(text string) (masked string, n int) {
	return replace(text, m.Find(text, false))
}

// Head is Text for a text that is the beginning of a longer one: what the cut
// has shortened is recognized by its beginning.
func (m *Masker) Head(text string) (masked string, n int) {
	return replace(text, m.Find(text, true))
}

// Texts are looked at in pieces of this many bytes, each with what surrounds it.
const (
	piece   = 1 << 20
	overlap = 64 << 10
)

// Find returns the credentials in a text, ascending and disjoint. cut says that
// the text goes on behind its end.
func (m *Masker) Find(text string, cut bool) []Finding {
	if m == nil || text == "" {
		return nil
	}
	m.once.Do(m.prepare)
	if len(text) <= piece+2*overlap {
		return united(m.find(text, cut))
	}
	var all []Finding
	for at := 0; at < len(text); at += piece {
		from, to := max(0, at-overlap), min(len(text), at+piece+overlap)
		for _, f := range m.find(text[from:to], cut && to == len(text)) {
			f.Start, f.End = f.Start+from, f.End+from
			all = append(all, f)
		}
	}
	return united(all)
}

// find looks at one piece in every layer.
func (m *Masker) find(text string, cut bool) []Finding {
	s := scan{Masker: m, cut: cut}
	s.text(text)
	return s.found
}

// united sorts findings and merges those that touch the same bytes. The most
// telling kind stays.
func united(all []Finding) []Finding {
	if len(all) < 2 {
		return all
	}
	slices.SortFunc(all, func(a, b Finding) int {
		if a.Start != b.Start {
			return a.Start - b.Start
		}
		return b.End - a.End
	})
	out := all[:1]
	for _, f := range all[1:] {
		last := &out[len(out)-1]
		if f.Start >= last.End {
			out = append(out, f)
			continue
		}
		if vague(last.Kind) && !vague(f.Kind) {
			last.Kind = f.Kind
		}
		if f.End > last.End {
			last.Points += f.Points * (f.End - last.End) / max(1, f.End-f.Start)
			last.End = f.End
		} else if f.Start == last.Start && f.End == last.End {
			last.Points = min(last.Points, f.Points)
		}
	}
	return out
}

// vague reports whether a kind says only that something is secret.
func vague(kind string) bool { return kind == "generic-api-key" || kind == password }

func replace(text string, found []Finding) (string, int) {
	if len(found) == 0 {
		return text, 0
	}
	var b strings.Builder
	b.Grow(len(text))
	at := 0
	for _, f := range found {
		b.WriteString(text[at:f.Start])
		b.WriteString(f.mark())
		at = f.End
	}
	b.WriteString(text[at:])
	return b.String(), len(found)
}

func points(s string) int { return utf8.RuneCountInString(s) }
