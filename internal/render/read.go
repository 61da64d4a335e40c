package render

import (
	"encoding/base64"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/yorehq/yore/internal/document"
	"github.com/yorehq/yore/query"
)

// WindowText prints the session's line, the event exactly as its log has it
// between two equal fences, and the neighbours as headings with their text
// indented. Characters that steer a screen or cannot be seen are written as JSON
// writes them, and counted; bytes that are no text (not UTF-8, or with control
// characters that JSON has no way to hold) are printed as base64. Both are
// labelled. Where credentials are masked, the bytes that are counted are those
// that are shown.
func WindowText(w query.Window) string {
	var b strings.Builder
	b.WriteString(heading(w.Info) + "\n")
	b.WriteString(event(w.Entry.Seq, w.Entry.Type, w.Entry.State, w.Entry.Time))
	what, body := "as logged", string(w.Event.Native)
	if w.Event.Event.Reconstructed {
		what = "reconstructed: the log has no bytes of its own for this event"
	}
	if !isText(w.Event.Native) {
		what, body = what+", in base64 because they are no text", base64.StdEncoding.EncodeToString(w.Event.Native)
	}
	if w.Masked > 0 {
		what += " but for masked credentials"
	}
	if shown, n := document.Escaped(body); n > 0 {
		body, what = shown, what+fmt.Sprintf(", but for %s written as \\u escapes", count(n, "invisible or control character"))
	}
	mark := fence(body)
	fmt.Fprintf(&b, "\n%s %d bytes, %s\n%s\n%s\n", mark, len(w.Event.Native), what, body, mark)
	neighbours(&b, "before", w.Before)
	neighbours(&b, "after", w.After)
	b.WriteString(MaskedText(MaskedWindow(w)))
	return strings.TrimSuffix(b.String(), "\n")
}

func neighbours(b *strings.Builder, where string, list []query.Entry) {
	if len(list) == 0 {
		return
	}
	b.WriteString(where + ":\n")
	for _, e := range list {
		b.WriteString(event(e.Seq, e.Type, e.State, e.Time))
		if e.Text == "" {
			b.WriteString(" (no text)\n")
			continue
		}
		b.WriteByte('\n')
		indented(b, "  ", e.Text)
	}
}

// isText reports whether bytes can be shown as they are: JSON never holds raw
// control characters but white space.
func isText(native []byte) bool {
	for _, c := range native {
		if c < ' ' && c != '\n' && c != '\r' && c != '\t' || c == 0x7f {
			return false
		}
	}
	return utf8.Valid(native)
}

// fence returns a run of '=' that is longer than any with which a line of the
// body begins, so that no line of it can be taken for the fence.
func fence(body string) string {
	longest, run, start := 0, 0, true
	for _, r := range body {
		switch {
		case r == '\n' || r == '\r' || r == '\v' || r == '\f' || r == 0x85 || r == 0x2028 || r == 0x2029:
			run, start = 0, true
		case start && r == '=':
			run++
			longest = max(longest, run)
		case start && (r == ' ' || r == '\t'):
		default:
			start = false
		}
	}
	return strings.Repeat("=", max(5, longest+1))
}
