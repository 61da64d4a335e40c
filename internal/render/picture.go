package render

import (
	"fmt"
	"strings"
)

// Picture is boxes and the lines between them, laid out: what SVG and Mermaid
// are made from. Texts are as a log has them; each form escapes them.
type Picture struct {
	Title string
	Boxes []Box
	Links []Link
}

// Box is one node. Its place and size are in pixels.
type Box struct {
	X, Y, W, H int
	Lines      []string // the first is the name, the others say more; safe lines
	Kind       string   // names its look: see PictureStyle
}

// Link leads from one box to another, by their places in the list.
type Link struct {
	From, To int
	Text     string // what the relation is
	Kind     string // names its look
	Side     bool   // it leaves at the side of its first box, not below it
}

// The measures of a picture, in pixels.
const (
	margin     = 16
	lineHeight = 18
	padding    = 8
	rowGap     = 14
	levelStep  = 36
	maxLevel   = 40 // deeper levels are drawn no further to the right
	maxColumns = 56 // of a line in a box
)

// columnWidth is the width of one column of the font, in tenths of a pixel.
const columnWidth = 79

// box makes a box for lines, each cut to what fits.
func box(kind string, lines ...string) Box {
	b := Box{Kind: kind, H: 2*padding + lineHeight*len(lines)}
	widest := 0
	for _, l := range lines {
		l = Fit(line(l), maxColumns)
		b.Lines = append(b.Lines, l)
		widest = max(widest, Width(l))
	}
	b.W = 2*padding + (widest*columnWidth+9)/10
	return b
}

// size returns how much room a picture takes.
func (p Picture) size() (w, h int) {
	w = 2*margin + (Width(p.Title)*columnWidth+9)/10
	for _, b := range p.Boxes {
		w, h = max(w, b.X+b.W+margin), max(h, b.Y+b.H+margin)
	}
	return w, max(h, 3*margin)
}

// PictureStyle is the look of pictures, in light and dark. SVG carries it; a
// page that takes up a Figure has to have it. Colours stand in each rule by
// themselves: not everything that draws SVG knows variables.
const PictureStyle = `
.yore-picture { color-scheme: light dark; font: 13px ui-monospace, "DejaVu Sans Mono", monospace; }
.yore-picture text { white-space: pre; }
.yore-picture .name { font-weight: bold; }
.yore-picture path { fill: none; stroke-width: 1.5; }
.yore-picture .target rect.box, .yore-picture .current rect.box, .yore-picture .shadowed rect.box { stroke-width: 2.5; }
.yore-picture .shadowed rect.box { stroke-dasharray: 6 3; }
.yore-picture .outside rect.box { stroke-dasharray: 2 3; }
.yore-picture path.cites { stroke-dasharray: 4 3; }
.yore-picture path.subagent { stroke-dasharray: 7 3; }
.yore-picture .back { fill: #fdfdfb; }
.yore-picture rect.box { fill: #ffffff; }
.yore-picture rect.box { stroke: #9999aa; }
.yore-picture text { fill: #1d2126; }
.yore-picture .more { fill: #666677; }
.yore-picture .title { fill: #666677; }
.yore-picture path { stroke: #9999aa; }
.yore-picture path.arrow { fill: #9999aa; stroke: none; }
.yore-picture .target rect.box { stroke: #1f5fa8; }
.yore-picture .current rect.box { stroke: #1f5fa8; }
.yore-picture .fork rect.box { stroke: #26734d; }
.yore-picture .subagent rect.box { stroke: #8a5a00; }
.yore-picture .shadowed rect.box { stroke: #aa3333; }
.yore-picture .outside text { fill: #666677; }
@media (prefers-color-scheme: dark) {
  .yore-picture .back { fill: #16181c; }
  .yore-picture rect.box { fill: #1d2025; }
  .yore-picture rect.box { stroke: #666677; }
  .yore-picture text { fill: #dfe3e8; }
  .yore-picture .more { fill: #98a0aa; }
  .yore-picture .title { fill: #98a0aa; }
  .yore-picture path { stroke: #666677; }
  .yore-picture path.arrow { fill: #666677; }
  .yore-picture .target rect.box { stroke: #7db3f0; }
  .yore-picture .current rect.box { stroke: #7db3f0; }
  .yore-picture .fork rect.box { stroke: #7fd1a5; }
  .yore-picture .subagent rect.box { stroke: #e0b060; }
  .yore-picture .shadowed rect.box { stroke: #f08a8a; }
  .yore-picture .outside text { fill: #98a0aa; }
}
`

// SVG gives a picture as a file of its own, which asks for nothing else.
func (p Picture) SVG() string {
	return `<?xml version="1.0" encoding="UTF-8"?>` + "\n" + p.svg("<style>"+xmlText(PictureStyle)+"</style>\n") + "\n"
}

// Figure gives a picture as an element of a page that has PictureStyle.
func (p Picture) Figure() string { return p.svg("") }

func (p Picture) svg(style string) string {
	var b strings.Builder
	w, h := p.size()
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" class="yore-picture" width="%d" height="%d" viewBox="0 0 %d %d" role="img">`+"\n", w, h, w, h)
	fmt.Fprintf(&b, "<title>%s</title>\n%s<rect class=\"back\" width=\"%d\" height=\"%d\"/>\n", xmlText(line(p.Title)), style, w, h)
	fmt.Fprintf(&b, "<text class=\"title\" x=\"%d\" y=\"%d\">%s</text>\n", margin, margin+4, xmlText(line(p.Title)))
	for _, l := range p.Links {
		p.link(&b, l)
	}
	for _, x := range p.Boxes {
		fmt.Fprintf(&b, "<g class=\"%s\"><title>%s</title><rect class=\"box\" x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" rx=\"4\"/>", x.Kind, xmlText(strings.Join(x.Lines, "\n")), x.X, x.Y, x.W, x.H)
		for i, l := range x.Lines {
			class := "name"
			if i > 0 {
				class = "more"
			}
			fmt.Fprintf(&b, "<text class=\"%s\" x=\"%d\" y=\"%d\">%s</text>", class, x.X+padding, x.Y+padding+lineHeight*i+13, xmlText(l))
		}
		b.WriteString("</g>\n")
	}
	b.WriteString("</svg>")
	return b.String()
}

// link draws a line with an arrow at its end. Its text is told to whoever
// points at it.
func (p Picture) link(b *strings.Builder, l Link) {
	from, to := p.Boxes[l.From], p.Boxes[l.To]
	fmt.Fprintf(b, "<g><title>%s</title>", xmlText(l.Text))
	switch {
	case !l.Side && to.X > from.X: // down, then right into the side of a box further in
		x, y := from.X+levelStep/2, to.Y+to.H/2
		fmt.Fprintf(b, "<path class=\"%s\" d=\"M%d %dV%dH%d\"/><path class=\"arrow\" d=\"M%d %dl-7 -4v8z\"/>", l.Kind, x, from.Y+from.H, y, to.X-6, to.X, y)
	case !l.Side: // straight down
		x := from.X + levelStep/2
		fmt.Fprintf(b, "<path class=\"%s\" d=\"M%d %dV%d\"/><path class=\"arrow\" d=\"M%d %dl-4 -7h8z\"/>", l.Kind, x, from.Y+from.H, to.Y-6, x, to.Y)
	default:
		x1, y1, x2, y2 := from.X+from.W, from.Y+from.H/2, to.X, to.Y+to.H/2
		mid := (x1 + x2) / 2
		fmt.Fprintf(b, "<path class=\"%s\" d=\"M%d %dC%d %d %d %d %d %d\"/><path class=\"arrow\" d=\"M%d %dl-7 -4v8z\"/>", l.Kind, x1, y1, mid, y1, mid, y2, x2-6, y2, x2, y2)
	}
	b.WriteString("</g>\n")
}

// xmlText escapes text for XML, and leaves out what XML has no way to say.
func xmlText(s string) string {
	var b strings.Builder
	for _, r := range s {
		switch {
		case r == '&':
			b.WriteString("&amp;")
		case r == '<':
			b.WriteString("&lt;")
		case r == '>':
			b.WriteString("&gt;")
		case r == '"':
			b.WriteString("&#34;")
		case r == '\'':
			b.WriteString("&#39;")
		case r < ' ' && r != '\n' && r != '\t', r == 0xFFFE, r == 0xFFFF:
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

// Mermaid gives a picture as the source of a flowchart.
func (p Picture) Mermaid() string {
	var b strings.Builder
	direction := "TD"
	for _, l := range p.Links {
		if l.Side {
			direction = "LR"
		}
	}
	b.WriteString("flowchart " + direction + "\n")
	for i, x := range p.Boxes {
		var lines []string
		for _, l := range x.Lines {
			lines = append(lines, mermaidText(l))
		}
		fmt.Fprintf(&b, "  n%d[\"%s\"]\n", i, strings.Join(lines, "<br/>"))
	}
	for _, l := range p.Links {
		arrow := "-->"
		if l.Kind == "cites" || l.Kind == "subagent" {
			arrow = "-.->"
		}
		fmt.Fprintf(&b, "  n%d %s|\"%s\"| n%d\n", l.From, arrow, mermaidText(l.Text), l.To)
	}
	return b.String()
}

// mermaidText writes whatever could be syntax as the number of its character.
func mermaidText(s string) string {
	var b strings.Builder
	for _, r := range s {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r > 0xA0 && r != 0xFFFD || strings.ContainsRune(" -._/:,", r) {
			b.WriteRune(r)
			continue
		}
		fmt.Fprintf(&b, "#%d;", r)
	}
	return b.String()
}
