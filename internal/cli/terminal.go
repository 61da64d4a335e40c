package cli

import (
	"fmt"
	"io"
	"os"
	"runtime"
	"strings"
	"time"
	"unicode"
)

// isTerminal reports whether a stream is a character device. /dev/null is one
// too, where it does not matter what is written.
func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	if !ok {
		return false
	}
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}

type style string

const (
	bold style = "1"
	dim  style = "2"
	red  style = "31;1"
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

// emitLine prints one line of JSON.
func (a *app) emitLine(line []byte) error { return a.emit(string(line) + "\n") }

// harmless escapes control and formatting characters, line ends and tabs apart.
// The only escape sequences that stay are our own styles, see emitPainted.
func harmless(text string) string {
	steers := func(r rune) bool {
		return r != '\n' && r != '\t' && (unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r))
	}
	if strings.IndexFunc(text, steers) < 0 {
		return text
	}
	var b strings.Builder
	for _, r := range text {
		if steers(r) {
			fmt.Fprintf(&b, `\u%04x`, r)
			continue
		}
		b.WriteRune(r)
	}
	return b.String()
}

// emitPainted prints a text whose lines carry the structure: on a terminal the
// first word of a line that is not indented is bold, and what names an event is
// dim.
func (a *app) emitPainted(text string) error {
	if !a.colours(a.screen) {
		return a.emit(strings.TrimSuffix(text, "\n") + "\n")
	}
	for line := range strings.Lines(strings.TrimSuffix(text, "\n") + "\n") {
		line = harmless(line)
		switch {
		case strings.HasPrefix(line, " #"):
			head, rest, _ := strings.Cut(line, ": ")
			line = a.paint(a.screen, dim, head+":") + " " + rest
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

// note tells the person something that is no part of the answer.
func (a *app) note(format string, args ...any) {
	fmt.Fprintf(a.errs, format+"\n", args...)
}

// bar shows how far indexing is, on a terminal only and not before it has
// taken a moment. done takes it away again.
func (a *app) bar() (progress func(done, total int), done func()) { return a.barOf("indexing") }

// barOf is bar for another kind of work.
func (a *app) barOf(work string) (progress func(done, total int), done func()) {
	if !a.errScreen {
		return nil, func() {}
	}
	began, drawn := time.Now(), time.Time{}
	const width = 30
	progress = func(done, total int) {
		now := time.Now()
		if total == 0 || now.Sub(began) < 300*time.Millisecond || now.Sub(drawn) < 50*time.Millisecond {
			return
		}
		drawn = now
		full := min(width, width*done/total)
		fmt.Fprintf(a.errs, "\r%s [%s%s] %d of %d sessions", work, strings.Repeat("#", full), strings.Repeat(".", width-full), done, total)
	}
	return progress, func() {
		if !drawn.IsZero() {
			fmt.Fprintf(a.errs, "\r%s\r", strings.Repeat(" ", width+40))
		}
	}
}
