// Command picture makes an SVG of what a terminal showed, for a page:
//
//	picture OUT.svg COLUMNS ROWS FRAME...
//
// A frame is a file with what `tmux capture-pane -p -e` prints. Several frames
// are shown one after the other, three seconds each, without a script.
package main

import (
	"fmt"
	"log"
	"os"
	"strconv"
	"strings"
)

// The size of a cell, in the picture's units.
const (
	cellWidth  = 8.4
	cellHeight = 17
	margin     = 14
	seconds    = 3 // a frame
)

// The colours of a terminal: foreground, background, and the sixteen.
const (
	ink   = "#d8dee9"
	paper = "#1b1f27"
)

var sixteen = [16]string{
	"#3b4252", "#e06c75", "#98c379", "#e5c07b", "#61afef", "#c678dd", "#56b6c2", "#d8dee9",
	"#7a8494", "#ef8b93", "#b1d196", "#f0d197", "#84c3f5", "#d79aea", "#7ccad4", "#ffffff",
}

// style is how a piece of text is drawn.
type style struct {
	fore, back             string // "": the terminal's own
	bold, dim, under, swap bool
}

func main() {
	if len(os.Args) < 5 {
		log.Fatal("usage: picture OUT.svg COLUMNS ROWS FRAME...")
	}
	columns, err1 := strconv.Atoi(os.Args[2])
	rows, err2 := strconv.Atoi(os.Args[3])
	if err1 != nil || err2 != nil {
		log.Fatal("COLUMNS and ROWS are numbers")
	}
	width, height := float64(columns)*cellWidth+2*margin, float64(rows)*cellHeight+2*margin
	frames := os.Args[4:]
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %.0f %.0f" width="%.0f" height="%.0f" font-family="ui-monospace,SFMono-Regular,Menlo,Consolas,'DejaVu Sans Mono',monospace" font-size="14">`+"\n", width, height, width, height)
	if n := len(frames); n > 1 {
		// Without animation the last frame, which has the most to say, is what is seen.
		fmt.Fprintf(&b, "<style>.f{visibility:hidden;animation:f %ds infinite steps(1)}.f%d{visibility:visible}@keyframes f{0%%{visibility:visible}%.4g%%{visibility:hidden}}\n", n*seconds, n-1, 100/float64(n))
		for i := range frames {
			fmt.Fprintf(&b, ".f%d{animation-delay:%ds}", i, (i-n)*seconds)
		}
		b.WriteString("@media (prefers-reduced-motion:reduce){.f{animation:none}}</style>\n")
	}
	fmt.Fprintf(&b, `<rect width="100%%" height="100%%" rx="8" fill="%s"/>`+"\n", paper)
	for i, name := range frames {
		text, err := os.ReadFile(name)
		if err != nil {
			log.Fatal(err)
		}
		fmt.Fprintf(&b, `<g class="f f%d">`+"\n", i)
		for row, line := range strings.Split(strings.TrimRight(string(text), "\n"), "\n") {
			if row < rows {
				draw(&b, row, line)
			}
		}
		b.WriteString("</g>\n")
	}
	b.WriteString("</svg>\n")
	if err := os.WriteFile(os.Args[1], []byte(b.String()), 0o644); err != nil {
		log.Fatal(err)
	}
}

// draw writes one row: its runs of one style, each at its column.
func draw(b *strings.Builder, row int, line string) {
	var now style
	column := 0
	for line != "" {
		if rest, ok := strings.CutPrefix(line, "\x1b["); ok {
			end := strings.IndexFunc(rest, func(r rune) bool { return r >= 0x40 })
			if end < 0 {
				return
			}
			if rest[end] == 'm' {
				now.set(strings.Split(rest[:end], ";"))
			}
			line = rest[end+1:]
			continue
		}
		if line[0] == 0x1b { // a title, a hyperlink: none of it is seen
			_, line, _ = strings.Cut(line, "\x1b\\")
			continue
		}
		// As far as cells are all of one width: fonts of other scripts differ.
		first, n, cells := []rune(line)[0], 0, 0
		for i, r := range line {
			if r == 0x1b || i > 0 && (wide(r) || wide(first)) {
				break
			}
			n, cells = i+len(string(r)), cells+1
		}
		if wide(first) {
			cells = 2
		}
		now.write(b, row, column, cells, line[:n])
		column, line = column+cells, line[n:]
	}
}

// write draws a run of cells.
func (s style) write(b *strings.Builder, row, column, cells int, text string) {
	fore, back := s.fore, s.back
	if fore == "" {
		fore = ink
	}
	if s.swap {
		if back == "" {
			back = paper
		}
		fore, back = back, fore
	}
	x, y := margin+float64(column)*cellWidth, margin+float64(row)*cellHeight
	if back != "" {
		fmt.Fprintf(b, `<rect x="%.1f" y="%.1f" width="%.1f" height="%d" fill="%s"/>`, x, y, float64(cells)*cellWidth+0.3, cellHeight, back)
	}
	if strings.TrimSpace(text) == "" {
		return
	}
	fmt.Fprintf(b, `<text xml:space="preserve" x="%.1f" y="%.1f" textLength="%.1f" fill="%s"`, x, y+13, float64(cells)*cellWidth, fore)
	if s.bold {
		b.WriteString(` font-weight="bold"`)
	}
	if s.dim {
		b.WriteString(` opacity="0.65"`)
	}
	if s.under {
		b.WriteString(` text-decoration="underline"`)
	}
	fmt.Fprintf(b, ">%s</text>\n", strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;").Replace(text))
}

// set changes the style by the parameters of a sequence (ECMA-48, SGR).
func (s *style) set(codes []string) {
	for i := 0; i < len(codes); i++ {
		n, _ := strconv.Atoi(codes[i]) // nothing is 0
		switch {
		case n == 0:
			*s = style{}
		case n == 1:
			s.bold = true
		case n == 2:
			s.dim = true
		case n == 4:
			s.under = true
		case n == 7:
			s.swap = true
		case n == 22:
			s.bold, s.dim = false, false
		case n == 24:
			s.under = false
		case n == 27:
			s.swap = false
		case n >= 30 && n <= 37:
			s.fore = sixteen[n-30]
		case n >= 90 && n <= 97:
			s.fore = sixteen[n-90+8]
		case n >= 40 && n <= 47:
			s.back = sixteen[n-40]
		case n >= 100 && n <= 107:
			s.back = sixteen[n-100+8]
		case n == 39:
			s.fore = ""
		case n == 49:
			s.back = ""
		case n == 38 || n == 48:
			colour, used := extended(codes[i+1:])
			if n == 38 {
				s.fore = colour
			} else {
				s.back = colour
			}
			i += used
		}
	}
}

// extended reads a colour of 256 or of 24 bits and says how many parameters it took.
func extended(codes []string) (colour string, used int) {
	at := func(i int) int {
		if i >= len(codes) {
			return 0
		}
		n, _ := strconv.Atoi(codes[i])
		return n
	}
	switch at(0) {
	case 2:
		return fmt.Sprintf("#%02x%02x%02x", at(1), at(2), at(3)), 4
	case 5:
		n := at(1)
		switch {
		case n < 16:
			return sixteen[max(n, 0)], 2
		case n < 232:
			level := func(v int) int {
				if v == 0 {
					return 0
				}
				return 55 + 40*v
			}
			n -= 16
			return fmt.Sprintf("#%02x%02x%02x", level(n/36), level(n/6%6), level(n%6)), 2
		}
		grey := 8 + 10*(n-232)
		return fmt.Sprintf("#%02x%02x%02x", grey, grey, grey), 2
	}
	return "", len(codes)
}

// wide reports whether a character takes two cells: the scripts of East Asia.
func wide(r rune) bool {
	return r >= 0x1100 && r <= 0x115f || r >= 0x2e80 && r <= 0xa4cf || r >= 0xac00 && r <= 0xd7a3 || r >= 0xf900 && r <= 0xfaff ||
		r >= 0xfe30 && r <= 0xfe6f || r >= 0xff00 && r <= 0xff60 || r >= 0x1f300 && r <= 0x1faff || r >= 0x20000 && r <= 0x3fffd
}
