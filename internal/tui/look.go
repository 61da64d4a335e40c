package tui

import (
	"image/color"
	"strings"

	"github.com/charmbracelet/x/ansi"
)

// look is what a run of text is, which says how it is shown.
type look uint8

const (
	plain   look = iota
	strong       // titles, what is chosen
	faint        // what stands around
	match        // what answers the query
	chip         // a filter
	accent       // marks of the program, keys
	warning      // something is wrong, or missing
	current      // the states of events
	shadowed
	logOnly
	looks // how many there are
)

// palette gives each look its style.
type palette [looks]ansi.Style

// newPalette makes the styles for a dark or a light background; what a terminal
// cannot show is brought down to what it can when it is written. Without colours
// everything is told apart by weight and lines alone.
func newPalette(dark, colours bool) palette {
	bold := ansi.NewStyle().Bold()
	p := palette{strong: bold, match: bold, warning: bold}
	if !colours {
		p[match] = bold.Underline(true)
		p[chip] = ansi.NewStyle().Reverse(true)
		p[accent] = bold
		p[faint] = ansi.NewStyle().Faint()
		return p
	}
	pick := func(light, ofDark uint32) color.Color {
		c := light
		if dark {
			c = ofDark
		}
		return color.RGBA{uint8(c >> 16), uint8(c >> 8), uint8(c), 0xff}
	}
	letters := func(light, dark uint32) ansi.Style { return ansi.NewStyle().ForegroundColor(pick(light, dark)) }
	p[faint] = letters(0x6a6a72, 0x9a9aa4)
	p[accent] = letters(0x005f87, 0x87d7ff).Bold()
	p[warning] = letters(0xaf0000, 0xff8787).Bold()
	p[match] = letters(0x000000, 0xffffd7).BackgroundColor(pick(0xffdf5f, 0x5f5f00)).Bold()
	p[chip] = letters(0x005f5f, 0xafffff).BackgroundColor(pick(0xd7ffff, 0x005f5f))
	p[current] = letters(0x006000, 0x87d787)
	p[shadowed] = letters(0x875f00, 0xd7af5f)
	p[logOnly] = p[faint]
	return p
}

// paint gives the rows of a screen as text with styles. Neighbours in one look
// are one stretch.
func (p *palette) paint(rows []line) string {
	var b strings.Builder
	for i, l := range rows {
		if i > 0 {
			b.WriteByte('\n')
		}
		for at := 0; at < len(l); {
			end := at + 1
			for end < len(l) && l[end].look == l[at].look {
				end++
			}
			text := l[at:end].text()
			if len(p[l[at].look]) == 0 || text == "" {
				b.WriteString(text)
			} else {
				b.WriteString(p[l[at].look].Styled(text))
			}
			at = end
		}
	}
	return b.String()
}
