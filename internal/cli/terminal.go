package cli

import (
	"fmt"
	"io"
	"os"
	"runtime"
	"strings"

	"golang.org/x/term"

	"github.com/yorehq/yore/internal/render"
)

// isTerminal reports whether a stream is a terminal.
func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// width returns how many columns the terminal has that the answer goes to; 0
// where it goes elsewhere, or where nobody can tell.
func (a *app) width() int { return columns(a.screen, a.raw) }

func columns(screen bool, w io.Writer) int {
	f, ok := w.(*os.File)
	if !screen || !ok {
		return 0
	}
	n, _, err := term.GetSize(int(f.Fd()))
	if err != nil || n < 1 {
		return 0
	}
	return n
}

type style string

const (
	bold    style = "1"
	dim     style = "2"
	red     style = "31;1"
	green   style = "32;1"
	yellow  style = "33"
	blue    style = "34;1"
	magenta style = "35"
	marked  style = "1;4"
)

// colours reports whether styles may be used on a screen.
func (a *app) colours(screen bool) bool {
	if !screen || a.getenv("NO_COLOR") != "" || a.getenv("TERM") == "dumb" {
		return false
	}
	// An old console shows escapes as they are.
	return runtime.GOOS != "windows" || a.getenv("WT_SESSION") != "" || a.getenv("TERM") != ""
}

func (a *app) paint(screen bool, s style, text string) string {
	if !a.colours(screen) || text == "" {
		return text
	}
	return "\x1b[" + string(s) + "m" + text + "\x1b[0m"
}

// emit prints an answer. On a terminal no character of it can steer the screen:
// what may be left in exact records and in JSON is shown as its JSON escape.
func (a *app) emit(text string) error {
	if a.screen {
		text = harmless(text)
	}
	_, err := a.out.WriteString(text)
	return err
}

// emitLine prints one line of JSON, into pipes too with everything escaped that
// steers a screen: it is the same JSON, and who shows it may be less careful.
func (a *app) emitLine(line []byte) error { return a.emit(harmless(string(line)) + "\n") }

// harmless escapes control characters and what cannot be seen, line ends and tabs
// apart. The only escape sequences that stay are our own styles, see emitPainted.
func harmless(text string) string { return render.Escaped(text) }

// emitPainted prints a text whose lines carry the structure: on a terminal the
// first word of a line that is not indented is bold, and what names an event is
// dim.
func (a *app) emitPainted(text string) error { return a.emitMarked(text, "") }

// emitMarked is emitPainted with what answers a query marked in the snippets.
func (a *app) emitMarked(text, query string) error {
	if !a.colours(a.screen) {
		return a.emit(strings.TrimSuffix(text, "\n") + "\n")
	}
	for line := range strings.Lines(strings.TrimSuffix(text, "\n") + "\n") {
		line = harmless(line)
		switch {
		case strings.HasPrefix(line, " #"):
			head, rest, _ := strings.Cut(line, ": ")
			line = a.paint(a.screen, dim, head+":") + " " + a.markMatches(rest, query)
		case strings.HasPrefix(line, " resume: "):
			line = a.paint(a.screen, dim, strings.TrimSuffix(line, "\n")) + "\n"
		case line[0] != ' ' && line[0] != '\n':
			head, rest, more := strings.Cut(line, " ")
			if more {
				line = a.paint(a.screen, bold, head) + " " + rest
			}
		}
		if _, err := a.out.WriteString(line); err != nil {
			return err
		}
	}
	return nil
}

// markMatches paints what of a line answers a query.
func (a *app) markMatches(line, query string) string {
	var b strings.Builder
	at := 0
	for _, m := range render.Marks(line, query) {
		b.WriteString(line[at:m.Start] + a.paint(a.screen, marked, line[m.Start:m.End]))
		at = m.End
	}
	return b.String() + line[at:]
}

// note tells the person something that is no part of the answer.
func (a *app) note(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	if a.errScreen {
		text = harmless(text)
	}
	fmt.Fprintln(a.errs, text)
}
