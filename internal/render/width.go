package render

import (
	"strings"

	"github.com/rivo/uniseg"
)

// Width returns how many columns of a terminal a line takes: characters of East
// Asian scripts and pictographs take two, marks none.
func Width(s string) int { return uniseg.StringWidth(s) }

// Fit cuts a line to a number of columns, between grapheme clusters and ending
// in "…", which counts. A line that fits stays as it is.
func Fit(s string, width int) string {
	if Width(s) <= width {
		return s
	}
	head, _ := split(s, width-1)
	if width < 1 {
		return ""
	}
	return strings.TrimRight(head, " ") + "…"
}

// split divides a line before the first grapheme cluster that does not fit into width.
func split(s string, width int) (head, tail string) {
	used, end, state := 0, 0, -1
	for rest := s; rest != ""; {
		cluster, after, w, next := uniseg.FirstGraphemeClusterInString(rest, state)
		if used+w > width {
			break
		}
		used, end, rest, state = used+w, end+len(cluster), after, next
	}
	return s[:end], s[end:]
}

// Wrap breaks a line into pieces of at most width columns, at spaces where it
// can; width below 1 does not break.
func Wrap(s string, width int) []string {
	var lines []string
	for width > 0 && Width(s) > width {
		head, tail := split(s, width)
		if head == "" { // one cluster is wider than the line
			_, rest, _, _ := uniseg.FirstGraphemeClusterInString(s, -1)
			head, tail = s[:len(s)-len(rest)], rest
		}
		if at := strings.LastIndexByte(head, ' '); at > 0 && !strings.HasPrefix(tail, " ") && strings.TrimLeft(head[:at], " ") != "" {
			head, tail = s[:at], s[at:]
		}
		lines = append(lines, strings.TrimRight(head, " "))
		if s = strings.TrimLeft(tail, " "); s == "" {
			return lines
		}
	}
	return append(lines, s)
}

// Column is one of a table.
type Column struct {
	Head  string
	Right bool // aligned to the right, as numbers are
	Flex  bool // gives way where the table is wider than it may be
}

const (
	columnGap = 2
	minFlex   = 10 // columns that a column which gives way keeps
)

// Table aligns cells, each one safe line, below the heads of their columns.
// Where a line would be longer than width (0: no limit), the columns that may
// give way are cut, the widest first; what then is still too long stays so.
func Table(columns []Column, rows [][]string, width int) string {
	widths := make([]int, len(columns))
	for i, c := range columns {
		widths[i] = Width(c.Head)
		for _, r := range rows {
			widths[i] = max(widths[i], Width(r[i]))
		}
	}
	shrink(columns, widths, width)
	var b strings.Builder
	heads := make([]string, len(columns))
	for i, c := range columns {
		heads[i] = c.Head
	}
	tableRow(&b, columns, widths, heads)
	for _, r := range rows {
		tableRow(&b, columns, widths, r)
	}
	return b.String()
}

func shrink(columns []Column, widths []int, width int) {
	if width <= 0 || len(columns) == 0 {
		return
	}
	over := (len(columns)-1)*columnGap - width
	for _, w := range widths {
		over += w
	}
	for over > 0 {
		widest, next := -1, minFlex
		for i, c := range columns {
			if !c.Flex || widths[i] <= minFlex {
				continue
			}
			switch {
			case widest < 0 || widths[i] > widths[widest]:
				if widest >= 0 {
					next = max(next, widths[widest])
				}
				widest = i
			case widths[i] > next && widths[i] < widths[widest]:
				next = widths[i]
			}
		}
		if widest < 0 {
			return
		}
		cut := max(1, min(over, widths[widest]-next))
		widths[widest] -= cut
		over -= cut
	}
}

func tableRow(b *strings.Builder, columns []Column, widths []int, cells []string) {
	var row strings.Builder
	for i, c := range columns {
		cell := Fit(cells[i], widths[i])
		gap := strings.Repeat(" ", max(0, widths[i]-Width(cell)))
		if i > 0 {
			row.WriteString(strings.Repeat(" ", columnGap))
		}
		if c.Right {
			row.WriteString(gap + cell)
		} else {
			row.WriteString(cell + gap)
		}
	}
	b.WriteString(strings.TrimRight(row.String(), " ") + "\n")
}
