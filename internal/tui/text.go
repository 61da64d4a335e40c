package tui

import (
	"strings"

	"github.com/charmbracelet/x/ansi"

	"github.com/yorehq/yore/internal/render"
)

// run is a piece of a line in one look. Its text is one safe line: words of the
// program, or something quoted.
type run struct {
	text string
	look look
}

// line is one row of the screen, or a part of one.
type line []run

// say makes a line of the program's own words.
func say(l look, words string) line { return line{{words, l}} }

// quote makes a line of what a log says, whatever that is.
func quote(l look, untrusted string) line { return line{{steady(render.Line(untrusted, 0)), l}} }

// join makes one line of several.
func join(parts ...line) line {
	var all line
	for _, p := range parts {
		all = append(all, p...)
	}
	return all
}

// text is a line without its looks.
func (l line) text() string {
	var b strings.Builder
	for _, r := range l {
		b.WriteString(r.text)
	}
	return b.String()
}

// cells is how many columns a text takes. Terminals that know nothing of
// grapheme clusters advance code point by code point, and steady sees to it that
// the others come to the same.
func cells(text string) int { return ansi.WcWidth.StringWidth(text) }

func (l line) cells() int {
	n := 0
	for _, r := range l {
		n += cells(r.text)
	}
	return n
}

// fit cuts or pads a line to exactly so many columns; a line that is cut ends
// in "…".
func (l line) fit(width int) line {
	if width <= 0 {
		return nil
	}
	n := l.cells()
	if n <= width {
		return append(l[:len(l):len(l)], run{strings.Repeat(" ", width-n), plain})
	}
	var out line
	room := width - 1
	for _, r := range l {
		kept := prefix(r.text, room)
		out = append(out, run{kept, r.look})
		room -= cells(kept)
		if len(kept) < len(r.text) {
			out = append(out, run{"…", r.look})
			break
		}
	}
	return append(out, run{strings.Repeat(" ", room), plain})
}

// prefix is the longest beginning of text that takes at most so many columns
// and ends between two grapheme clusters.
func prefix(text string, width int) string {
	end := 0
	for end < len(text) {
		cluster, n := ansi.FirstGraphemeCluster(text[end:], ansi.WcWidth)
		if width -= n; width < 0 {
			break
		}
		end += len(cluster)
	}
	return text[:end]
}

// tail is the longest end of text that takes at most so many columns, behind
// "…" where something is left out. It is for paths, which differ at their ends.
func tail(text string, width int) string {
	if cells(text) <= width {
		return text
	}
	rest := text
	for rest != "" && cells(rest) > width-1 {
		cluster, _ := ansi.FirstGraphemeCluster(rest, ansi.WcWidth)
		rest = rest[len(cluster):]
	}
	return "…" + rest
}

// steady removes what terminals disagree about: joiners, variation selectors and
// modifiers in clusters that one terminal draws as one picture and another as
// several. What is left is as wide on all of them, as far as that can be had.
func steady(text string) string {
	if ascii(text) || ansi.GraphemeWidth.StringWidth(text) == ansi.WcWidth.StringWidth(text) {
		return text
	}
	var b strings.Builder
	for rest := text; rest != ""; {
		cluster, n := ansi.FirstGraphemeCluster(rest, ansi.WcWidth)
		rest = rest[len(cluster):]
		if _, whole := ansi.FirstGraphemeCluster(cluster, ansi.GraphemeWidth); whole != n {
			cluster = strings.Map(func(r rune) rune {
				switch {
				case r == 0x200C, r == 0x200D, r == 0x20E3, 0xFE00 <= r && r <= 0xFE0F, 0x1F3FB <= r && r <= 0x1F3FF:
					return -1
				}
				return r
			}, cluster)
		}
		b.WriteString(cluster)
	}
	return b.String()
}

func ascii(text string) bool {
	for i := range len(text) {
		if text[i] >= 0x80 {
			return false
		}
	}
	return true
}

// marked makes a line of safe text with its marks in the look of a match. Marks
// are offsets in the text from base on; those outside of it are left out.
func marked(text string, base int, marks []render.Mark, l look) line {
	var out line
	at := 0
	for _, m := range marks {
		start, end := max(m.Start-base, at), min(m.End-base, len(text))
		if start >= end {
			continue
		}
		if start > at {
			out = append(out, run{text[at:start], l})
		}
		out = append(out, run{text[start:end], match})
		at = end
	}
	if at < len(text) {
		out = append(out, run{text[at:], l})
	}
	return out
}

// highlighted quotes a text with what answers a query marked.
func highlighted(l look, untrusted, query string) line {
	text := steady(render.Line(untrusted, 0))
	return marked(text, 0, render.Marks(text, query), l)
}

// wrap breaks a safe text without line ends into ranges of at most so many
// columns, at spaces where there are some. A cluster wider than that stands alone.
func wrap(text string, width int) []render.Mark {
	width = max(width, 1)
	var rows []render.Mark
	start, used := 0, 0
	space := -1 // behind the last space of the row
	for at := 0; at < len(text); {
		cluster, n := ansi.FirstGraphemeCluster(text[at:], ansi.WcWidth)
		if used+n > width && at > start {
			end := at
			if space > start {
				end = space
			}
			rows = append(rows, render.Mark{Start: start, End: end})
			start, space = end, -1
			used = cells(text[start:at])
		}
		at += len(cluster)
		if used += n; cluster == " " {
			space = at
		}
	}
	return append(rows, render.Mark{Start: start, End: len(text)})
}
